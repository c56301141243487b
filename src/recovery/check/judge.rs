//! Whether records fit together. Pure: it is given what was read.

use crate::base::time::UnixMillis;
use crate::domain::reach::Reach;
use crate::domain::reason::Failure;
use crate::storage::keys::QueueKey;
use crate::storage::values::{PageRecord, QueueEntry, UrlState};

/// What an entry of `queue` or `due` is to the state of its URL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bond {
    /// They belong together.
    Fits,
    /// The mark points here and says something else that is wrong (its depth).
    Inexact,
    /// There is no mark.
    Unmarked,
    /// The mark says that the URL is in `queue`, elsewhere.
    Queued { rank: u8, order: u64 },
    /// The mark says that the URL is in `due`, elsewhere.
    Due { time: UnixMillis },
    /// The URL is not waiting at all.
    Finished,
}

/// The bond of a queue entry.
pub fn bond_of_entry(key: &QueueKey, entry: &QueueEntry, state: Option<&UrlState>) -> Bond {
    match state {
        None => Bond::Unmarked,
        Some(UrlState::Waiting { due: Some(time), .. }) => Bond::Due { time: *time },
        Some(UrlState::Waiting { rank, order, reach, due: None }) => match (*rank, *order) == (key.rank, key.order) {
            true if *reach == entry.reach() => Bond::Fits,
            true => Bond::Inexact,
            false => Bond::Queued { rank: *rank, order: *order },
        },
        Some(_) => Bond::Finished,
    }
}

/// The bond of a retry at `time`.
pub fn bond_of_retry(time: UnixMillis, entry: &QueueEntry, state: Option<&UrlState>) -> Bond {
    match state {
        None => Bond::Unmarked,
        Some(UrlState::Waiting { due: Some(at), reach, .. }) => match *at == time {
            true if *reach == entry.reach() => Bond::Fits,
            true => Bond::Inexact,
            false => Bond::Due { time: *at },
        },
        Some(UrlState::Waiting { rank, order, due: None, .. }) => Bond::Queued { rank: *rank, order: *order },
        Some(_) => Bond::Finished,
    }
}

/// The mark that belongs to a queue entry.
pub fn mark_of_entry(key: &QueueKey, entry: &QueueEntry) -> UrlState {
    UrlState::Waiting { rank: key.rank, order: key.order, reach: entry.reach(), due: None }
}

/// The mark that belongs to a retry; rank and order have no meaning for it.
pub fn mark_of_retry(time: UnixMillis, entry: &QueueEntry) -> UrlState {
    UrlState::Waiting { rank: 0, order: 0, reach: entry.reach(), due: Some(time) }
}

/// The mark that a capture says its URL has (the last column of the table in `docs/architecture.md`).
pub fn mark_of_page(page: &PageRecord) -> UrlState {
    match page.status {
        200..=399 => {
            UrlState::Done { captured: page.fetched, how: page.how, reach: Reach { depth: page.depth, limit: None } }
        }
        400..=499 => UrlState::Error { reason: Failure::Status4xx },
        500..=599 => UrlState::Error { reason: Failure::Status5xx },
        _ => UrlState::Error { reason: Failure::StatusOther },
    }
}

/// True when two entries are of one URL of a host.
pub fn same_url(a: &QueueEntry, b: &QueueEntry) -> bool {
    (a.scheme, a.port, &a.tail) == (b.scheme, b.port, &b.tail)
}
