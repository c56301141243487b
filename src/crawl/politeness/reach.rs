//! URLs whose robots.txt is out of reach: they wait for it, those of other schemes and ports of their host do not.

use super::Next;
use super::lane::Lane;
use crate::base::time::UnixMillis;
use crate::crawl::fetcher::ending_of;
use crate::crawl::lease::Lease;
use crate::domain::outcome::FetchOutcome;
use crate::domain::reason::Failure;
use crate::domain::url::Scheme;
use crate::storage::ledger::Ending;
use crate::storage::{StorageError, read};

/// Queue entries read at a time.
const PIECE: usize = 256;

/// A robots.txt that cannot be had, and no copy of it.
pub(super) struct RobotsUnreachable {
    /// When it is asked for again.
    pub until: UnixMillis,
    /// Why there was no answer, if there was none.
    pub fault: Option<Failure>,
    /// That costs its URLs an attempt, whoever asks.
    pub charged: bool,
}

impl Lane {
    /// A crawl that is to come to an end charges each of these URLs an attempt a round, so that they end. A daemon goes on asking:
    /// there they wait without a charge, but for hosts that do not answer at all, and seeds without a scheme, which have http left. A host that has no other URLs rests as a
    /// whole, which spares its queue from being written anew each time.
    pub(super) async fn out_of_reach(&self, lease: Lease, away: RobotsUnreachable) -> Next {
        let RobotsUnreachable { until, fault, charged } = away;
        let failure = fault.unwrap_or(Failure::RobotsUnreachable);
        if self.node.crawl.live().settings.crawl.until_done || self.guess {
            self.charge(lease, failure, until).await;
            return Next::GoOn;
        }
        let mixed = self.is_mixed((lease.url.scheme(), lease.url.port())).await;
        if charged {
            self.charge(lease, failure, until).await;
        } else if mixed {
            self.end(lease, Ending::Wait { at: until, reason: Failure::RobotsUnreachable }, 0).await;
        }
        if mixed { Next::GoOn } else { Next::GiveUp(Some(until)) }
    }

    /// Ends a URL, or has it wait until robots.txt is asked for again.
    async fn charge(&self, lease: Lease, failure: Failure, until: UnixMillis) {
        let last = self.last_capture(&lease);
        let ending = match ending_of(&self.node, &FetchOutcome::Fault(failure), &lease, last.as_deref()) {
            Ending::Retry { at, reason } => Ending::Retry { at: at.max(until), reason },
            ending => ending,
        };
        self.end(lease, ending, 0).await;
    }

    /// Whether the host's queue holds a URL of another scheme or port. A queue that cannot be read is taken to: then URLs are put
    /// off one by one, and none is kept waiting that need not.
    async fn is_mixed(&self, place: (Scheme, u16)) -> bool {
        if !self.robots.mixed.get() {
            self.robots.mixed.set(self.looks_mixed(place).await.unwrap_or(true));
        }
        self.robots.mixed.get()
    }

    async fn looks_mixed(&self, place: (Scheme, u16)) -> Result<bool, StorageError> {
        let node = &self.node;
        let counts = read::host_counts(&*node.storage, self.at.crawl(node.crawl.id))?.unwrap_or_default();
        for (rank, head) in (0_u8..).zip(counts.heads) {
            let mut from = head;
            loop {
                let found = read::queue_from(&*node.storage, self.at, node.crawl.id, rank, from, PIECE)?;
                if found.iter().any(|(_, entry)| (entry.scheme, entry.port) != place) {
                    return Ok(true);
                }
                match found.last() {
                    Some((last, _)) if found.len() == PIECE => from = last.order.saturating_add(1),
                    _ => break,
                }
                tokio::task::yield_now().await; // a long queue must not keep the other hosts of this thread waiting
            }
        }
        Ok(false)
    }
}
