//! The counters as stored.

use super::Result;
use crate::domain::fingerprint::CrawlId;
use crate::storage::values::Counters;
use crate::storage::{Storage, read};

/// The counters of a crawl; all zero when it has not begun.
///
/// # Errors
/// The storage's own.
pub fn counters(storage: &dyn Storage, crawl: CrawlId) -> Result<Counters> {
    Ok(read::meta(storage, crawl)?.unwrap_or_default())
}
