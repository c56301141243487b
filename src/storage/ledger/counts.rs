//! The counters as stored, and what a capture counts for.

use super::Result;
use crate::domain::fingerprint::CrawlId;
use crate::storage::values::{Counters, PageRecord};
use crate::storage::{Storage, read};

/// The counters of a crawl; all zero when it has not begun.
///
/// # Errors
/// The storage's own.
pub fn counters(storage: &dyn Storage, crawl: CrawlId) -> Result<Counters> {
    Ok(read::meta(storage, crawl)?.unwrap_or_default())
}

/// What a capture counts for, put in or taken out.
pub(super) fn counters_of(counters: &mut Counters, capture: &PageRecord, stored: bool) {
    let by = |count: u64, n: u64| if stored { count.saturating_add(n) } else { count.saturating_sub(n) };
    if stored {
        counters.add_status(capture.status);
    } else {
        counters.sub_status(capture.status);
    }
    counters.count_type(capture.mime.as_deref(), capture.bytes, stored);
    counters.bytes = by(counters.bytes, capture.bytes);
    counters.fetch_ms = by(counters.fetch_ms, u64::from(capture.took_ms));
    counters.pages_stored = by(counters.pages_stored, 1);
    counters.revisits = by(counters.revisits, u64::from(capture.how.is_revisit()));
}
