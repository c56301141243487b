//! The counters as stored, with what an older program did not count.

use super::Result;
use crate::domain::fingerprint::CrawlId;
use crate::storage::keys::{Key, KeyRange, after};
use crate::storage::tables::HostCounts;
use crate::storage::values::{Counters, FrontierCounts};
use crate::storage::{Storage, read};

/// Hosts read at a time.
const CHUNK: usize = 1_000;

/// The counters of a crawl. What its hosts add up to is counted when it was not: once, for the next commit keeps it.
///
/// # Errors
/// The storage's own.
pub fn counters(storage: &dyn Storage, crawl: CrawlId) -> Result<Counters> {
    let mut counters: Counters = read::meta(storage, crawl)?.unwrap_or_default();
    if counters.frontier.is_none() {
        counters.frontier = Some(frontier(storage, crawl)?);
    }
    Ok(counters)
}

fn frontier(storage: &dyn Storage, crawl: CrawlId) -> Result<FrontierCounts> {
    let (mut range, mut sum) = (KeyRange::all(), FrontierCounts::default());
    loop {
        let rows = read::scan::<HostCounts>(storage, &range, CHUNK)?;
        let Some((last, _)) = rows.last() else { return Ok(sum) };
        range.from = after(&last.encode());
        for (_, counts) in rows.iter().filter(|(key, _)| key.crawl == crawl) {
            sum.change(&FrontierCounts::of(counts), &FrontierCounts::default());
        }
    }
}
