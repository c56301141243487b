//! What the Store is told.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};

use crate::crawl::lease::Lease;
use crate::crawl::node::PagePermit;
use crate::recovery::checkpoint::CheckpointError;
use crate::recovery::checkpoint::make::{Draft, Position};
use crate::storage::ledger::Change;
use crate::warc::page::PageRecords;

/// Changes in one batch at most.
pub(super) const GROUP: usize = 128;
/// Bytes of records and links in one batch at most.
pub(super) const GROUP_BYTES: u64 = 4 << 20;
/// What a link is reckoned at: its entries in the batch, twice (as collected and as the database takes them).
const LINK_BYTES: u64 = 512;
/// What one permit of [`room`] stands for.
const UNIT: u64 = 1 << 10;
/// Groups that may wait, or be written, at a time.
const GROUPS: u64 = 4;
/// Permits for all of them.
const ROOM: u64 = GROUPS * GROUP_BYTES / UNIT;

/// The room before the Store, in permits that travel inside the commits: few groups wait there, so that whatever else it is
/// told has its turn soon.
pub fn room() -> Arc<Semaphore> {
    Arc::new(Semaphore::new(usize::try_from(ROOM).unwrap_or(Semaphore::MAX_PERMITS)))
}

/// Bytes of that room that are taken.
pub fn room_taken(room: &Semaphore) -> u64 {
    ROOM.saturating_sub(room.available_permits() as u64) * UNIT
}

/// A change to be committed, with everything that ends with it.
pub struct Commit {
    /// Refused when another epoch is in force; `None` for changes that hang on nothing pending.
    pub epoch: Option<u64>,
    /// The change.
    pub change: Change,
    /// The lease that ends with it.
    pub lease: Option<Lease>,
    /// The permit that comes back with it.
    pub permit: Option<PagePermit>,
    /// Exchanges for the archive; a page has one.
    pub records: Vec<PageRecords>,
    /// How long its fetch took.
    pub took: Duration,
    /// Its part of the room before the Store.
    pub room: Option<OwnedSemaphorePermit>,
    /// Called after the commit; dropped when it is lost.
    pub reply: Option<Box<dyn FnOnce() + Send>>,
}

impl Commit {
    /// A change that ends nothing.
    pub fn bare(change: Change) -> Self {
        let (records, took) = (Vec::new(), Duration::ZERO);
        Self { epoch: None, change, lease: None, permit: None, records, took, room: None, reply: None }
    }

    /// Bytes of records and links, as they are reckoned for a batch.
    pub fn bytes(&self) -> u64 {
        self.records.iter().map(PageRecords::bytes).sum::<u64>() + LINK_BYTES * links_of(&self.change)
    }

    /// Permits of the room before the Store that it needs: a group's share at least, never more than there are.
    pub fn permits(&self) -> u32 {
        let bytes = self.bytes().max(GROUP_BYTES / GROUP as u64);
        u32::try_from(bytes.div_ceil(UNIT).min(ROOM)).unwrap_or(u32::MAX)
    }
}

/// Everything is to be brought to the disk and closed: the node ends.
pub struct Close {
    /// False when requests were cut off: hosts may have been asked later than the disk knows (I1).
    pub drained: bool,
    /// Answered with false when closing failed.
    pub reply: oneshot::Sender<bool>,
}

/// The database is to be linked into a draft of a checkpoint, between two commits and with no archive file open.
pub struct TakeCheckpoint {
    /// Where to.
    pub draft: Draft,
    /// One at a time; travels with the draft.
    pub turn: OwnedSemaphorePermit,
    /// Draft and turn come back with what was found.
    pub reply: oneshot::Sender<Result<Taken, CheckpointError>>,
}

/// A draft with its database.
#[derive(Debug)]
pub struct Taken {
    /// The draft.
    pub draft: Draft,
    /// The turn.
    pub turn: OwnedSemaphorePermit,
    /// What stood at that moment.
    pub position: Position,
}

/// Links, or other URLs, that a change writes.
fn links_of(change: &Change) -> u64 {
    let links = match change {
        Change::DropUrls { urls, .. } => return urls.len() as u64,
        Change::FetchAgain(pages) => return pages.len() as u64,
        Change::TryAgain(urls) => return urls.len() as u64,
        Change::Reschedule(urls) => return urls.len() as u64,
        Change::Revisit(hosts) => return hosts.len() as u64 * 16,
        Change::ReadAgain(rows) => return rows.len() as u64,
        Change::FollowNearer(pages) => return pages.len() as u64,
        Change::Rerank(rerank) => return rerank.urls.len() as u64,
        Change::Settle(piece) => return piece.arrivals.len() as u64,
        Change::Page(page) => &page.links,
        Change::Links(links) => links,
        Change::TakeIn(taken) => &taken.links,
        Change::Robots { sitemaps, .. } => sitemaps,
        _ => return 0,
    };
    let known = links.readmitted.len() + links.nearer.len() + links.again.len();
    (links.new.len() + links.turned.len() + links.foreign.len() + known) as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::fingerprint::{CrawlId, HostKey, UrlKey};
    use crate::domain::partition::Partition;
    use crate::storage::keys::HostAt;
    use crate::storage::ledger::LinkChange;

    #[test]
    fn however_large_a_commit_is_there_is_room_for_it_and_however_small_it_takes_a_groups_share() {
        let at = HostAt { partition: Partition(1), host: HostKey([2; 8]) };
        let rows = |n: usize| Commit::bare(Change::TryAgain(vec![at.crawl(CrawlId(1)).url(UrlKey([3; 12])); n]));
        for (n, permits) in [(0, 32), (1, 32), (64, 32), (8_192, 4_096), (32_768, 16_384), (1_000_000, 16_384)] {
            let commit = rows(n);
            assert_eq!(commit.permits(), permits, "{n}");
            let room = room();
            let taken = room.clone().try_acquire_many_owned(commit.permits()).unwrap();
            assert_eq!(room_taken(&room), u64::from(permits) * UNIT);
            drop(taken);
        }
        assert_eq!(Commit::bare(Change::Links(Box::<LinkChange>::default())).permits(), 32);
    }
}
