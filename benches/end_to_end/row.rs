//! One run, measured, and the line that is printed of it.

use std::process::{Command, Stdio};
use std::time::Instant;

use nix::sys::resource::{UsageWho, getrusage};

use crate::Result;
use crate::cores::Cores;
use crate::results::Before;
use crate::tls::Handshakes;

/// The head of the table of [`Row::line`].
pub const HEAD: &str = "\
| workload | binary | pages | URLs found | MB received | MB of WARC | CPU µs a page | / wget's | CPU then | / wget's then \
| new / old | user s | system s | pages/s | peak RSS MB | handshakes | resumed |
|---|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|";

/// Runs one command and says what it used: `getrusage` knows all children together, so each has such a process.
pub fn measure(mut args: impl Iterator<Item = String>) -> Result<()> {
    let program = args.next().ok_or("--measure needs a command")?;
    let start = Instant::now();
    let output = Command::new(program).args(args).stderr(Stdio::inherit()).output()?;
    let seconds = start.elapsed().as_secs_f64();
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN)?;
    let micros = |t: nix::sys::time::TimeVal| t.tv_sec() * 1_000_000 + t.tv_usec();
    print!("{}", String::from_utf8_lossy(&output.stdout));
    println!("measured_seconds {seconds}");
    println!("measured_user {}", micros(usage.user_time()));
    println!("measured_system {}", micros(usage.system_time()));
    println!("measured_rss {}", usage.max_rss());
    Ok(())
}

/// A command that [`measure`] runs on the crawler's core, below the command `under`, if any.
pub fn measured(under: &[String], cores: &Cores) -> Result<Command> {
    let mut command = Command::new(std::env::current_exe()?);
    command.arg("--measure").args(cores.crawlers()).args(under).stderr(Stdio::inherit());
    Ok(command)
}

/// One result.
pub struct Row {
    pub pages: f64,
    /// Of those below, what a program does not tell is absent.
    pub urls: Option<f64>,
    pub bytes: Option<f64>,
    pub warc: Option<f64>,
    pub handshakes: Option<Handshakes>,
    seconds: f64,
    user: f64,
    system: f64,
    rss_kib: f64,
}

impl Row {
    /// From the summary of `lycosa run`, if it is one, and what [`measure`] adds.
    pub fn read(text: &str) -> Result<Self> {
        let number = |name: &str| {
            let line = text.lines().find_map(|line| line.strip_prefix(name));
            line.and_then(|rest| rest.split_whitespace().next()).and_then(|word| word.parse::<f64>().ok())
        };
        let needed = |name| number(name).ok_or(format!("no {name:?} in {text:?}"));
        Ok(Self {
            pages: number("pages stored").unwrap_or_default(),
            urls: number("URLs discovered"),
            bytes: number("bytes received"),
            warc: None,
            handshakes: None,
            seconds: needed("measured_seconds")?,
            user: needed("measured_user")?,
            system: needed("measured_system")?,
            rss_kib: needed("measured_rss")?,
        })
    }

    /// Microseconds of user and system time.
    pub fn cpu_a_page(&self) -> f64 {
        (self.user + self.system) / self.pages.max(1.0)
    }

    /// Beside wget's CPU a page before and after it, and what stands in `benches/RESULTS.md`.
    pub fn line(&self, workload: &str, program: &str, wget: Option<f64>, before: Option<&Before>) -> String {
        let ratio = wget.map(|wget| self.cpu_a_page() / wget);
        let cells = [
            workload.to_owned(),
            program.to_owned(),
            self.pages.to_string(),
            cell(self.urls, 0),
            cell(self.bytes.map(|bytes| bytes / 1e6), 1),
            cell(self.warc.map(|bytes| bytes / 1e6), 1),
            cell(Some(self.cpu_a_page()), 0),
            cell(ratio, 3),
            cell(before.map(|before| before.cpu), 0),
            cell(before.and_then(|before| before.ratio), 3),
            cell(before.map(|before| before.compare(self.cpu_a_page(), ratio)), 2),
            cell(Some(self.user / 1e6), 2),
            cell(Some(self.system / 1e6), 2),
            cell(Some(self.pages / self.seconds), 0),
            cell(Some(self.rss_kib / 1024.0), 0),
            cell(self.handshakes.as_ref().map(|shakes| shakes.all as f64), 0),
            cell(self.handshakes.as_ref().map(|shakes| shakes.resumed as f64), 0),
        ];
        format!("| {} |", cells.join(" | "))
    }
}

fn cell(value: Option<f64>, digits: usize) -> String {
    value.map_or_else(String::new, |value| format!("{value:.digits$}"))
}
