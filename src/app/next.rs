//! When there is something to do again, when there is nothing to do now.

use std::sync::atomic::Ordering;
use std::time::Duration;

use crate::admin::views::WaitWhy;
use crate::admin::waits::{pace_of, wait_of};
use crate::base::time::UnixMillis;
use crate::crawl::frontier::first_times;
use crate::crawl::node::Node;
use crate::storage::keys::{HostAt, KeyRange};
use crate::storage::tables::{Due, Parked, Queue};
use crate::storage::values::{HostCounts, Place};
use crate::storage::{Storage, StorageError, read};

/// Parked hosts whose reason is looked at; of more, the rest counts as trouble.
const LOOKED_AT: usize = 256;
/// URLs of such a host's queue that are looked at; a longer one holds more than retries.
const PIECE: usize = 64;

/// For so long what was found holds while the database does not change: what memory alone knows, such as failing name servers,
/// is seen so late.
const KEPT: Duration = Duration::from_secs(10);

/// What there is to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ahead {
    /// Something may be done now.
    Now,
    /// Nothing before one of these moments; with none of them, not before the operator says so.
    Later(Moments),
}

/// The first moment of each kind at which there is something to do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Moments {
    /// A retry, or the end of the trouble of a host that has nothing but those.
    pub retry: Option<UnixMillis>,
    /// The end of the back-off, or of the pause after refusals, of a host that has URLs which were never tried.
    pub untried: Option<UnixMillis>,
    /// The end of a pause that a server asked for (Retry-After), of a host that has further URLs.
    pub asked: Option<UnixMillis>,
    /// The end of an ordinary gap, of a host that has further URLs.
    pub pace: Option<UnixMillis>,
}

impl Ahead {
    /// The first moment; `None` when something may be done now, or nothing is left.
    pub(super) fn first(&self) -> Option<UnixMillis> {
        match self {
            Self::Now => None,
            Self::Later(moments) => moments.first(),
        }
    }
}

impl Moments {
    fn first(&self) -> Option<UnixMillis> {
        [self.retry, self.untried, self.asked, self.pace].into_iter().flatten().min()
    }
}

/// What was found at the last look. It walks over rows that were deleted, as many as hosts were parked, so that it is not
/// repeated each second while nobody writes.
#[derive(Default)]
pub(super) struct Outlook {
    found: Option<Moments>,
    at: UnixMillis,
    sequence: u64,
}

impl Outlook {
    /// What there is to do, and from when. Read from storage: what is committed is seen, whoever has heard of it.
    ///
    /// # Errors
    /// The storage's own.
    pub(super) fn ahead(&mut self, node: &Node) -> Result<Ahead, StorageError> {
        let counters = node.crawl.counters();
        if counters.hosts_waiting > 0 || !node.crawl.leases.is_empty() || !node.is_quiet() {
            return Ok(Ahead::Now);
        }
        let (now, sequence) = (node.clock.now(), node.storage.sequence());
        let is_fresh = sequence == self.sequence && now >= self.at && now.since(self.at) < KEPT;
        if let Some(found) = self.found.filter(|found| is_fresh && found.first().is_none_or(|first| first > now)) {
            return Ok(Ahead::Later(found));
        }
        let found = moments(node, now)?;
        (self.found, self.at, self.sequence) = (Some(found), now, sequence);
        Ok(Ahead::Later(found))
    }
}

/// The moments at which there will be something to do.
fn moments(node: &Node, now: UnixMillis) -> Result<Moments, StorageError> {
    let retry = first_times::<Due>(&*node.storage, |k| (k.partition, k.time))?.into_iter().map(|(_, time)| time).min();
    let mut moments = Moments { retry, ..Moments::default() };
    let parked = read::scan::<Parked>(&*node.storage, &KeyRange::all(), LOOKED_AT)?;
    for (key, ()) in &parked {
        let at = key.host_at();
        let state = read::host_state(&*node.storage, at)?;
        let pace = pace_of(node, at, state.as_ref());
        let wait = wait_of(node, at, &pace, Place::Parked { time: key.time }, now)?;
        let moment = match wait.map_or(WaitWhy::Gap, |wait| wait.why) {
            why if why.is_ordinary() => &mut moments.pace,
            WaitWhy::RetryAfter => &mut moments.asked,
            WaitWhy::RobotsUnreachable | WaitWhy::DnsFailing => &mut moments.retry,
            _ if has_untried(node, at)? => &mut moments.untried,
            _ => &mut moments.retry,
        };
        *moment = (*moment).into_iter().chain([key.time]).min();
    }
    if parked.len() >= LOOKED_AT {
        let firsts = first_times::<Parked>(&*node.storage, |k| (k.partition, k.time))?;
        moments.retry = firsts.into_iter().map(|(_, time)| time).chain(moments.retry).min();
    }
    Ok(moments)
}

/// Whether the queue of a host holds URLs that were never tried: they are no retries, whatever became of the host's other pages.
fn has_untried(node: &Node, at: HostAt) -> Result<bool, StorageError> {
    let counts = read::host_counts(&*node.storage, at.crawl(node.crawl.id))?.unwrap_or_default();
    let HostCounts { queued, heads, .. } = counts;
    for (rank, (_, head)) in (0_u8..).zip(queued.into_iter().zip(heads)).filter(|(_, (queued, _))| *queued > 0) {
        let found = read::queue_from(&*node.storage, at, node.crawl.id, rank, head, PIECE)?;
        if found.len() == PIECE || found.iter().any(|(_, entry)| entry.attempts == 0) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// URLs that were never tried, among so many of the queues.
///
/// # Errors
/// The storage's own.
pub(super) fn never_tried(storage: &dyn Storage, among: usize) -> Result<u64, StorageError> {
    let queued = read::scan::<Queue>(storage, &KeyRange::all(), among)?;
    Ok(queued.iter().filter(|(_, entry)| entry.attempts == 0 && entry.again.is_none()).count() as u64)
}

/// Keeps the first moment for the status.
pub(super) fn publish(node: &Node, at: Option<UnixMillis>) {
    node.crawl.progress.next_try.store(at.map_or(0, |t| t.0), Ordering::Release);
}
