//! Very many pages that are visited again, half of them of one host whose visits are all due: whether small hosts wait for it, what memory
//! and a start cost then, and what it takes to queue one page whose time has come.

mod fill;
mod promote;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use lycosa::base::time::UnixMillis;
use lycosa::domain::orders::HostOrder;
use lycosa::storage::folder::prepare;
use lycosa::storage::ledger::Change;
use lycosa::storage::{RocksOptions, RocksStorage, Storage};
use lycosa::testweb::{TestWeb, TestWebConfig};
use nix::sys::signal::Signal;

use super::daemon::{Daemon, Look};
use super::fill::{ledger_of, write};
use super::{Plan, Result};

/// The cycle of all pages. What was fetched longer ago is due, for a cycle is stretched by a twentieth at most.
const CYCLE: &str = "10d";
const DAY: u64 = 86_400_000;
/// The host that owns half of the pages.
const LARGE: &str = "h0.test";
/// No round takes so long.
const PATIENCE: Duration = Duration::from_secs(1_800);

/// Fills the folder, unless it is there; then the program crawls copies of it, in turns with the large host and with it paused.
pub fn run(plan: &Plan) -> Result<()> {
    let temporary = tempfile::tempdir()?;
    let folder = plan.data.clone().unwrap_or_else(|| temporary.path().to_owned()).join("visits");
    if !folder.join("db").exists() {
        fill::fill(plan, &folder)?;
    }
    promote::run(plan, &copy(&folder, "promote", false)?)?;
    let shape = TestWebConfig { links: 0, min_size: 1_000, max_size: 1_024, ..TestWebConfig::default() };
    let pages = u32::try_from(plan.urls)?;
    let web = TestWeb::start(TestWebConfig { hosts: plan.hosts, pages, seed: 7, ..shape })?;
    let cycle = format!("refresh.cycle={CYCLE}");
    let plan = Plan { sets: plan.sets.iter().cloned().chain([cycle]).collect(), ..plan.clone() };
    println!("{}", Round::HEAD);
    for _ in 0..plan.kills.max(1) {
        for paused in [false, true] {
            let copy = copy(&folder, "crawled", paused)?;
            println!("{}", Round::of(&plan, &copy, &web, paused)?.line(&plan));
            std::fs::remove_dir_all(copy)?;
        }
    }
    println!();
    Ok(())
}

fn now() -> UnixMillis {
    UnixMillis(0).plus(SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default())
}

/// A copy beside the folder, by links; in it the large host may be paused.
fn copy(folder: &Path, name: &str, paused: bool) -> Result<PathBuf> {
    let copy = folder.with_file_name(name);
    if copy.exists() {
        std::fs::remove_dir_all(&copy)?;
    }
    let db = prepare(&copy)?;
    RocksStorage::open(folder, RocksOptions::default())?.checkpoint(&db)?;
    std::fs::create_dir(copy.join("warc"))?;
    std::fs::write(copy.join("warc/.lycosa-owner"), "")?; // the archive behind these pages never was
    if paused {
        let storage = RocksStorage::open(&copy, RocksOptions::default())?;
        let (mut ledger, _) = ledger_of(&storage)?;
        let order = Change::Order { host: LARGE.into(), order: HostOrder::Pause };
        write(&storage, &mut ledger, &[order], now())?;
        storage.flush()?;
    }
    Ok(copy)
}

/// One crawl until each small host had its first visit.
struct Round {
    paused: bool,
    open: Duration,
    first: Duration,
    start_cpu_s: f64,
    start: Look,
    last: Look,
    visits: u64,
    /// Of each small host: microseconds from the first request of all to its first visit, and requests before that.
    late: Vec<(u64, usize)>,
    /// Requests to the large host until the last of them, and all requests.
    shares: (usize, usize),
}

impl Round {
    const HEAD: &str = "\
| rows | large host | database open ms | first request ms | CPU s until then | small hosts served after s: p50 | p99 | last | after requests: p50 | p99 | last \
| of them to the large host | visits | CPU µs a visit | MB at the start | MB then | of it the filter |
|--:|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|";

    fn of(plan: &Plan, folder: &Path, web: &TestWeb, paused: bool) -> Result<Self> {
        web.clear_audit();
        let daemon = Daemon::start(plan, folder, web)?;
        let open = daemon.began.elapsed();
        let first = daemon.first_request(web, 0)?;
        let start = daemon.look()?;
        let small = plan.hosts as usize - 1;
        let began = Instant::now();
        let (mut met, mut seen): (HashMap<String, (u64, usize)>, usize) = (HashMap::new(), 0);
        let (mut large, mut visits, mut began_us) = (0, 0, None);
        while met.len() < small {
            if began.elapsed() > PATIENCE {
                return Err(format!("{} of {small} small hosts were visited", met.len()).into());
            }
            std::thread::sleep(Duration::from_millis(100));
            for entry in web.audit_since(seen) {
                let began_us = *began_us.get_or_insert(entry.t_request_us);
                visits += u64::from(entry.path != "/robots.txt");
                if entry.host == LARGE {
                    large += usize::from(met.len() < small);
                } else if entry.path != "/robots.txt" {
                    met.entry(entry.host).or_insert((entry.t_request_us.saturating_sub(began_us), seen));
                }
                seen += 1;
            }
        }
        let last = daemon.look()?;
        let (mut late, all): (Vec<_>, _) = (met.into_values().collect(), seen);
        late.sort_unstable();
        daemon.end(Signal::SIGTERM)?;
        let start_cpu_s = start.cpu_s;
        Ok(Self { paused, open, first, start_cpu_s, start, last, visits, late, shares: (large, all) })
    }

    fn line(&self, plan: &Plan) -> String {
        let at =
            |hundredths: usize| self.late.get((self.late.len() - 1) * hundredths / 100).copied().unwrap_or_default();
        let mut after: Vec<usize> = self.late.iter().map(|(_, requests)| *requests).collect();
        after.sort_unstable();
        let nth = |hundredths: usize| after.get((after.len() - 1) * hundredths / 100).copied().unwrap_or_default();
        let seconds = |hundredths| format!("{:.2}", at(hundredths).0 as f64 / 1e6);
        let (large, all) = self.shares;
        let cells = [
            plan.urls.to_string(),
            if self.paused { "paused" } else { "all due" }.to_owned(),
            self.open.as_millis().to_string(),
            self.first.as_millis().to_string(),
            format!("{:.2}", self.start_cpu_s),
            seconds(50),
            seconds(99),
            seconds(100),
            nth(50).to_string(),
            nth(99).to_string(),
            nth(100).to_string(),
            format!("{large} of {all}"),
            self.visits.to_string(),
            format!("{:.0}", (self.last.cpu_s - self.start_cpu_s) * 1e6 / self.visits.max(1) as f64),
            format!("{:.0}", self.start.resident_mb),
            format!("{:.0}", self.last.resident_mb),
            format!("{:.1}", self.last.filter_mb),
        ];
        format!("| {} |", cells.join(" | "))
    }
}
