//! A crawl that finds more and more: memory, and processor time for each URL found, against queued URLs.

use std::time::{Duration, Instant};

use lycosa::testweb::TestWebConfig;
use nix::sys::signal::Signal;

use super::daemon::{Daemon, Look};
use super::{Plan, Result};

/// The web is larger than what is to be found, so that most links stay new.
const FACTOR: u64 = 4;
/// Rows of the table.
const ROWS: u64 = 10;

/// Crawls until so many URLs are queued.
pub fn run(plan: &Plan) -> Result<()> {
    let temporary = tempfile::tempdir()?;
    let shape =
        TestWebConfig { links: 200, off_host: 0.8, min_size: 1_000, max_size: 1_024, ..TestWebConfig::default() };
    let web = plan.web(FACTOR, shape)?;
    let daemon = Daemon::start(plan, &temporary.path().join("data"), &web)?;
    println!("| queued | pages | s | MB resident | of it the filter | the rest | CPU µs a URL found since |");
    println!("|--:|--:|--:|--:|--:|--:|--:|");
    let (began, step) = (Instant::now(), (plan.urls / ROWS).max(1));
    let mut rows: Vec<Look> = Vec::new();
    while rows.last().is_none_or(|last| last.queued < plan.urls) {
        std::thread::sleep(Duration::from_millis(100));
        web.clear_audit();
        let look = daemon.look()?;
        if look.queued >= step * (rows.len() as u64 + 1) {
            let rest = look.resident_mb - look.filter_mb;
            let before = rows.last().map_or((0, 0.0), |last| (last.queued + last.pages, last.cpu_s));
            let each = (look.cpu_s - before.1) * 1e6 / (look.queued + look.pages - before.0) as f64;
            println!(
                "| {} | {} | {:.0} | {:.0} | {:.1} | {rest:.0} | {each:.1} |",
                look.queued,
                look.pages,
                began.elapsed().as_secs_f64(),
                look.resident_mb,
                look.filter_mb
            );
            rows.push(look);
        }
    }
    let peak = daemon.memory("VmHWM:")?;
    let half = rows.split_off(rows.len() / 2);
    println!(
        "\nPeak {peak:.0} MB. Slope over the second half, the filter apart: {:.2} MB per 10^7 URLs.\n",
        slope(&half)
    );
    daemon.end(Signal::SIGTERM)?;
    Ok(())
}

/// Least squares of memory against queued URLs.
fn slope(rows: &[Look]) -> f64 {
    let n = rows.len() as f64;
    let points: Vec<(f64, f64)> = rows.iter().map(|r| (r.queued as f64 / 1e7, r.resident_mb - r.filter_mb)).collect();
    let mean = |f: fn(&(f64, f64)) -> f64| points.iter().map(f).sum::<f64>() / n;
    let (x, y) = (mean(|p| p.0), mean(|p| p.1));
    let over: f64 = points.iter().map(|p| (p.0 - x) * (p.1 - y)).sum();
    over / points.iter().map(|p| (p.0 - x).powi(2)).sum::<f64>()
}
