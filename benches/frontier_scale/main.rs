//! A large frontier: how long a restart takes on it, and how much memory it costs. `docs/performance.md` has the figures.
//!
//! `cargo bench --profile release --bench frontier_scale -- [--urls N] [--hosts N] [--kills N] [--seconds N]
//! [--due N] [--part restart|crawl|seen|visits] [--data DIR] [--binary LYCOSA] [--set KEY=VALUE]…`
//!
//! `restart` fills a data folder through the ledger with N queued URLs, then starts the real program on it again and again, after clean
//! stops and after SIGKILL in the middle of crawling. `crawl` lets the program find N URLs by itself, on pages full of
//! links. Both with the synthetic web behind. `seen` asks the seen test about pages of 60 links and queues what is new. `visits`: N pages that are
//! visited again, half of them of one host and all due, `--due` of each other host; the program crawls copies of that folder, `--kills` times with that
//! host and as often with it paused; it runs where it is asked for. A folder given by `--data` is kept, and filled only when it is not there.

mod crawl;
mod daemon;
mod fill;
mod restart;
mod seen;
mod visits;

use std::error::Error;
use std::path::PathBuf;

use lycosa::testweb::{TestWeb, TestWebConfig};

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// What was asked for on the command line.
#[derive(Clone)]
struct Plan {
    urls: u64,
    hosts: u32,
    kills: usize,
    seconds: u64,
    /// Pages of each small host that are due to be visited again.
    due: u64,
    parts: Vec<String>,
    data: Option<PathBuf>,
    binary: PathBuf,
    sets: Vec<String>,
}

impl Plan {
    fn read(mut args: impl Iterator<Item = String>) -> Result<Self> {
        let mut plan = Self {
            urls: 1_000_000,
            hosts: 0,
            kills: 3,
            seconds: 10,
            due: 2,
            parts: Vec::new(),
            data: None,
            binary: env!("CARGO_BIN_EXE_lycosa").into(),
            sets: Vec::new(),
        };
        while let Some(arg) = args.next() {
            let mut value = || args.next().ok_or(format!("{arg} needs a value"));
            match arg.as_str() {
                "--urls" => plan.urls = value()?.parse()?,
                "--hosts" => plan.hosts = value()?.parse()?,
                "--kills" => plan.kills = value()?.parse()?,
                "--seconds" => plan.seconds = value()?.parse()?,
                "--due" => plan.due = value()?.parse()?,
                "--part" => plan.parts.push(value()?),
                "--data" => plan.data = Some(value()?.into()),
                "--binary" => plan.binary = value()?.into(),
                "--set" => plan.sets.push(value()?),
                _ => {} // what cargo itself hands on
            }
        }
        if plan.hosts == 0 {
            plan.hosts = u32::try_from(plan.urls / 100)?.max(1);
        }
        Ok(plan)
    }

    fn has(&self, part: &str) -> bool {
        self.parts.is_empty() || self.parts.iter().any(|p| p == part)
    }

    /// Pages a host, so that `factor` times the URLs exist.
    fn pages(&self, factor: u64) -> Result<u32> {
        Ok(u32::try_from(self.urls.saturating_mul(factor).div_ceil(u64::from(self.hosts)))?)
    }

    /// A synthetic web with `factor` times as many pages as URLs are asked for.
    fn web(&self, factor: u64, shape: TestWebConfig) -> Result<TestWeb> {
        Ok(TestWeb::start(TestWebConfig { hosts: self.hosts, pages: self.pages(factor)?, seed: 7, ..shape })?)
    }
}

const HELP: &str = "Measures restarts and memory of the real program on a large frontier.

cargo bench --profile release --bench frontier_scale -- [--urls N] [--hosts N] [--kills N] [--seconds N]
    [--due N] [--part restart|crawl|seen|visits] [--data DIR] [--binary LYCOSA] [--set KEY=VALUE]...";

fn main() -> Result<()> {
    if std::env::args().any(|arg| arg == "--help" || arg == "-h") {
        println!("{HELP}");
        return Ok(());
    }
    let plan = Plan::read(std::env::args().skip(1))?;
    println!("{}\n", machine());
    if plan.has("restart") {
        restart::run(&plan)?;
    }
    if plan.has("crawl") {
        crawl::run(&plan)?;
    }
    if plan.has("seen") {
        seen::run(&plan)?;
    }
    if plan.parts.iter().any(|part| part == "visits") {
        visits::run(&plan)?;
    }
    Ok(())
}

/// The machine, and how busy it is at the start.
fn machine() -> String {
    let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
    let memory = read("/proc/meminfo");
    let kib: u64 = memory.split_whitespace().nth(1).and_then(|n| n.parse().ok()).unwrap_or(0);
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    let load = read("/proc/loadavg").split_whitespace().next().unwrap_or("?").to_owned();
    format!("Machine: {cores} cores, {} GB; load average at the start {load}.", kib / 1_000_000)
}
