//! What is crawled.

use std::path::Path;

use crate::Result;
use crate::cores::Cores;
use crate::row::{Row, measured};
use crate::server::Server;
use crate::tls::Front;

/// Who serves the pages.
enum Web {
    /// `lycosa testweb` with so many hosts, pages a host, and pages of this shape.
    Test { hosts: &'static str, pages: &'static str, shape: &'static [&'static str] },
    /// The same by https.
    Secure { hosts: &'static str, pages: &'static str, shape: &'static [&'static str] },
    /// The real pages below `LYCOSA_PAGES`, by nginx.
    Nginx,
}

/// When a workload is run that is not asked for by name.
#[derive(PartialEq)]
enum In {
    Both,
    Quick,
    Full,
}

/// One web and how it is crawled.
pub struct Workload {
    pub name: &'static str,
    when: In,
    web: Web,
    crawler: &'static [&'static str],
}

/// 12 KB pages with 50 links, half of them to other hosts.
const PAGES: &[&str] = &[
    "--links",
    "50",
    "--min-size",
    "12000",
    "--max-size",
    "12288",
    "--robots",
    "allow",
    "--seed",
    "7",
    "--off-host",
    "0.5",
];
/// Crawled as a site of one's own: no pause after an answer.
const OWN: &[&str] = &["--set", "politeness.delay_factor=0"];
/// The same, with an index of its pages.
const INDEXED: &[&str] = &["--set", "politeness.delay_factor=0", "--index"];
/// Small pages with many links to other hosts: a frontier that grows.
const GROWING: &[&str] = &[
    "--links",
    "200",
    "--min-size",
    "1000",
    "--max-size",
    "1024",
    "--robots",
    "404",
    "--seed",
    "7",
    "--off-host",
    "0.8",
];

fn web(hosts: &'static str, pages: &'static str, shape: &'static [&'static str]) -> Web {
    Web::Test { hosts, pages, shape }
}

fn secure(hosts: &'static str, pages: &'static str) -> Web {
    Web::Secure { hosts, pages, shape: PAGES }
}

/// All that can be asked for.
pub fn all() -> Vec<Workload> {
    let new = |name, when, web, crawler| Workload { name, when, web, crawler };
    let queue = |name, most| new(name, In::Full, web("20000", "100", GROWING), most);
    vec![
        new("broad-quick", In::Quick, web("1000", "3", PAGES), &[]),
        new("one-host-quick", In::Quick, web("1", "1000", PAGES), OWN),
        new("broad-tls-quick", In::Quick, secure("1000", "3"), &[]),
        new("one-host-tls-quick", In::Quick, secure("1", "1000"), OWN),
        new("broad", In::Full, web("10000", "3", PAGES), &[]),
        new("one-host", In::Full, web("1", "10000", PAGES), OWN),
        new("broad-tls", In::Full, secure("10000", "3"), &[]),
        new("one-host-tls", In::Full, secure("1", "10000"), OWN),
        new("real", In::Both, Web::Nginx, OWN),
        new("one-host-index", In::Full, web("1", "10000", PAGES), INDEXED),
        new("real-index", In::Full, Web::Nginx, INDEXED),
        queue("queue-250k", &["--max-pages", "1500", "--set", "store.memory=64MiB"]),
        queue("queue-1M", &["--max-pages", "8000", "--set", "store.memory=64MiB"]),
    ]
}

impl Workload {
    /// Whether it is part of the full benchmark, or of the quick one.
    pub fn is_in(&self, full: bool) -> bool {
        self.when == In::Both || (self.when == In::Full) == full
    }

    /// One crawl by this binary, below the command `under`, if any.
    pub fn run(&self, binary: &Path, under: &[String], cores: &Cores) -> Result<Row> {
        let folder = tempfile::tempdir()?;
        let server = match self.web {
            Web::Test { hosts, pages, shape } => {
                Server::testweb(&[&["--hosts", hosts, "--pages", pages], shape].concat())?
            }
            Web::Secure { hosts, pages, shape } => {
                Server::testweb(&[&["--hosts", hosts, "--pages", pages, "--no-scheme"], shape].concat())?
            }
            Web::Nginx => Server::nginx(folder.path())?,
        };
        let front = match self.web {
            Web::Secure { .. } => Some(Front::start(server.port, folder.path())?),
            _ => None,
        };
        let port = front.as_ref().map_or(server.port, |front| front.port);
        let mut command = measured(under, cores)?;
        command.arg(binary).args(["run", "--until-done", "--no-progress", "--data"]).arg(folder.path().join("data"));
        for seed in &server.seeds {
            let seed = if front.is_some() { &seed.replace("http:", "https:") } else { seed };
            command.args(["--seed", seed]);
        }
        command.args(["--allow-net", &format!("127.0.0.1/32:{port}")]);
        let everywhere = format!("dns.overrides={{ \"*.test\" = \"127.0.0.1:{port}\" }}");
        let settings = ["politeness.min_delay=0s", "admin.listen=off", "log.level=warn", "disk.pause_below=100MB"];
        let trusted = front.as_ref().map(|front| format!("tls.roots=[{:?}]", front.root));
        for setting in settings.into_iter().chain([everywhere.as_str(), server.scope]).chain(trusted.as_deref()) {
            command.args(["--set", setting]);
        }
        let output = command.args(self.crawler).output()?;
        let mut row = Row::read(&String::from_utf8_lossy(&output.stdout))?;
        row.pages = server.pages().unwrap_or(row.pages);
        row.handshakes = front.map(|front| front.handshakes());
        let mut warc = 0;
        for entry in std::fs::read_dir(folder.path().join("data/warc"))? {
            warc += entry?.metadata()?.len();
        }
        row.warc = Some(warc as f64);
        Ok(row)
    }
}
