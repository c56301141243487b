//! The program in a process of its own, with what it says and what the system says of it.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use lycosa::testweb::TestWeb;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::{Plan, Result};

/// No start takes so long.
const PATIENCE: Duration = Duration::from_secs(600);

/// A running crawl.
pub struct Daemon {
    process: Child,
    lines: Receiver<(Instant, String)>,
    admin: String,
    /// When its process was made.
    pub began: Instant,
}

/// Counts of a moment.
pub struct Look {
    pub queued: u64,
    pub pages: u64,
    pub resident_mb: f64,
    /// Of it, the Bloom filter.
    pub filter_mb: f64,
    /// Processor time so far, in seconds.
    pub cpu_s: f64,
}

impl Daemon {
    /// Starts it on a data folder; `web` is all the world.
    pub fn start(plan: &Plan, folder: &Path, web: &TestWeb) -> Result<Self> {
        let mut command = Command::new(&plan.binary);
        command.args(["run", "--no-progress", "--seed", "http://h0.test/", "--data"]).arg(folder);
        let everywhere = format!("dns.overrides={{ \"*.test\" = \"{}\" }}", web.addr());
        let settings = [
            "scope.mode=any",
            "crawl.max_depth=none",
            "politeness.min_delay=0s",
            "politeness.delay_factor=0",
            "disk.pause_below=100MB",
            "admin.listen=127.0.0.1:0",
            "log.summary=0s",
            &everywhere,
        ];
        for set in settings.into_iter().chain(plan.sets.iter().map(String::as_str)) {
            command.args(["--set", set]);
        }
        let began = Instant::now();
        let mut process = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn()?;
        let (tell, lines) = channel();
        let said = BufReader::new(process.stderr.take().ok_or("no stderr")?);
        std::thread::spawn(move || said.lines().map_while(|l| l.ok()).all(|l| tell.send((Instant::now(), l)).is_ok()));
        let mut daemon = Self { process, lines, admin: String::new(), began };
        let (_, line) = daemon.until("admin endpoint listens")?;
        daemon.admin = line.rsplit("http://").next().unwrap_or_default().trim().to_owned();
        Ok(daemon)
    }

    /// Waits for a line of its log; gives the time since its start.
    pub fn until(&self, what: &str) -> Result<(Duration, String)> {
        let mut said = Vec::new();
        loop {
            match self.lines.recv_timeout(PATIENCE) {
                Ok((at, line)) if line.contains(what) => return Ok((at - self.began, line)),
                Ok((_, line)) => said.push(line),
                Err(e) => return Err(format!("waited for {what:?}: {e}; it said: {said:#?}").into()),
            }
        }
    }

    /// Waits for its first request since `before`; gives the time since its start.
    pub fn first_request(&self, web: &TestWeb, before: usize) -> Result<Duration> {
        while web.audit_len() == before {
            if self.began.elapsed() > PATIENCE {
                return Err("no request came".into());
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        Ok(self.began.elapsed())
    }

    /// Its counts and its memory.
    pub fn look(&self) -> Result<Look> {
        let status: serde_json::Value = serde_json::from_str(&self.get("/api/v1/status")?)?;
        let number = |name: &str| status.get(name).and_then(serde_json::Value::as_u64).unwrap_or(0);
        let metrics = self.get("/metrics")?;
        let filter = metrics.lines().find_map(|l| l.strip_prefix("lycosa_memory_part_bytes{part=\"seen_filter\"} "));
        Ok(Look {
            queued: number("waiting") + number("processing"),
            pages: number("pages_stored"),
            resident_mb: self.memory("VmRSS:")?,
            filter_mb: filter.and_then(|n| n.parse::<f64>().ok()).unwrap_or(0.0) / 1e6,
            cpu_s: self.cpu_s()?,
        })
    }

    /// A line of `/proc/PID/status`, in MB.
    pub fn memory(&self, name: &str) -> Result<f64> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.process.id()))?;
        let line = status.lines().find_map(|l| l.strip_prefix(name)).ok_or("no such line")?;
        Ok(line.split_whitespace().next().ok_or("an empty line")?.parse::<f64>()? * 1024.0 / 1e6)
    }

    /// Fields 14 and 15 of `/proc/PID/stat`, in hundredths of a second; the name before them may hold spaces.
    fn cpu_s(&self) -> Result<f64> {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.process.id()))?;
        let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
        let ticks = |nth: usize| fields.get(nth).and_then(|n| n.parse::<f64>().ok()).unwrap_or(0.0);
        Ok((ticks(11) + ticks(12)) / 100.0)
    }

    fn get(&self, path: &str) -> Result<String> {
        let mut stream = TcpStream::connect(&self.admin)?;
        write!(stream, "GET {path} HTTP/1.0\r\nHost: {}\r\n\r\n", self.admin)?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        Ok(answer.split_once("\r\n\r\n").ok_or("no body")?.1.to_owned())
    }

    /// Ends it by a signal; gives how long that took.
    pub fn end(mut self, signal: Signal) -> Result<Duration> {
        let asked = Instant::now();
        kill(Pid::from_raw(i32::try_from(self.process.id())?), signal)?;
        self.process.wait()?;
        Ok(asked.elapsed())
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ = self.process.kill(); // it has ended, as a rule
        let _ = self.process.wait();
    }
}
