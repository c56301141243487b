//! How long a start takes on a folder with many queued URLs, and what it has in memory then and while crawling.

use std::path::Path;
use std::time::{Duration, Instant};

use lycosa::testweb::{TestWeb, TestWebConfig};
use nix::sys::signal::Signal;

use super::daemon::Daemon;
use super::fill::fill;
use super::{Plan, Result};

/// Half of the pages are known, so that a page found new leads to new ones too.
const FACTOR: u64 = 2;

/// Fills the folder, unless it is there, and starts the program on it.
pub fn run(plan: &Plan) -> Result<()> {
    let temporary = tempfile::tempdir()?;
    let folder = plan.data.clone().unwrap_or_else(|| temporary.path().join("data"));
    if !folder.join("db").exists() {
        fill(plan, &folder)?;
    }
    let web = plan.web(FACTOR, TestWebConfig { min_size: 4_000, max_size: 6_000, ..TestWebConfig::default() })?;
    println!(
        "| start after | database open ms | crawl begins ms | first request ms | MB then | queued | crawled s | pages | MB then | of it the filter | peak MB | end ms |"
    );
    println!("|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|");
    once(plan, &folder, &web, "the filling", Signal::SIGTERM)?;
    for _ in 0..plan.kills {
        once(plan, &folder, &web, "a clean stop", Signal::SIGKILL)?;
        once(plan, &folder, &web, "a kill", Signal::SIGTERM)?;
    }
    println!();
    Ok(())
}

/// One start, some crawling, one end.
fn once(plan: &Plan, folder: &Path, web: &TestWeb, after: &str, end: Signal) -> Result<()> {
    let before = web.audit_len();
    let daemon = Daemon::start(plan, folder, web)?;
    let open = daemon.began.elapsed();
    let first = daemon.first_request(web, before)?;
    let (begins, _) = daemon.until("crawl begins")?;
    let start = daemon.look()?;
    let since = Instant::now();
    std::thread::sleep(Duration::from_secs(plan.seconds));
    let last = daemon.look()?;
    let (crawled, peak) = (since.elapsed(), daemon.memory("VmHWM:")?);
    let ended = daemon.end(end)?;
    println!(
        "| {after} | {} | {} | {} | {:.0} | {} | {:.1} | {} | {:.0} | {:.0} | {peak:.0} | {} |",
        open.as_millis(),
        begins.as_millis(),
        first.as_millis(),
        start.resident_mb,
        last.queued,
        crawled.as_secs_f64(),
        last.pages.saturating_sub(start.pages),
        last.resident_mb,
        last.filter_mb,
        ended.as_millis(),
    );
    Ok(())
}
