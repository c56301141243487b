//! One active host as the Frontier sees it.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use actix::Context;

use super::{Entry, lease};
use crate::actors::door::Door;
use crate::actors::lease::{Lease, LeaseEnd};
use crate::actors::node::Node;
use crate::actors::politeness::Host;
use crate::actors::supervise::{Guarded, Kind, lock};
use crate::domain::fingerprint::{KeyMap, UrlKey};
use crate::domain::frontier::{Cursors, RANKS};
use crate::storage::keys::HostAt;
use crate::storage::values::{HostCounts, HostState};
use crate::storage::{StorageError, read};

/// An active host.
pub(super) struct Active {
    /// Its keys.
    pub at: HostAt,
    /// Its actor.
    pub door: Door<Host>,
    /// Where the next look into its queue begins.
    pub cursors: Cursors,
    /// Leases out, with their depth.
    pub leased: KeyMap<UrlKey, u16>,
    /// URLs in its queue as of the last news; `None` when that may be wrong and the disk must be asked.
    pub queued: Option<u64>,
    /// URLs its Host asked for and did not get yet.
    pub wants: usize,
    name: Arc<str>,
    finished: u64,
    handed: u64,
}

impl Active {
    /// Starts the host's actor on this thread.
    pub fn start(node: &Arc<Node>, at: HostAt, state: &HostState, cursors: Cursors, counts: &HostCounts) -> Self {
        let (door, mailbox) = Door::<Host>::new(Kind::Politeness, &node.metrics);
        let retired = Arc::new(AtomicBool::new(false));
        let host = Host::new(node.clone(), at, &state.name, &state.pace, door.clone(), retired.clone());
        Guarded::spawn(Context::with_receiver(mailbox), host, node.clone(), retired);
        lock(&node.hosts).insert(at.host, door.clone());
        let name = Arc::from(state.name.as_str());
        let finished = counts.done.saturating_add(counts.errors);
        let queued = Some(counts.queued_total());
        Self { at, door, cursors, leased: KeyMap::default(), queued, wants: 0, name, finished, handed: 0 }
    }

    /// Up to `n` leases in rank order. With `strict` (breadth first) no URL is handed out while one of a smaller depth is
    /// still on its way, so that the depths found are those of the shortest paths.
    pub fn next_leases(
        &mut self,
        node: &Node,
        end: &Arc<dyn LeaseEnd>,
        n: usize,
        strict: bool,
    ) -> Result<Vec<Lease>, StorageError> {
        let mut out = Vec::new();
        for rank in (0u8..).take(RANKS) {
            while out.len() < n && !self.all_leased() {
                let from = self.cursors.from(rank);
                let asked = n - out.len();
                let found = read::queue_from(&*node.storage, self.at, node.crawl, rank, from, asked)?;
                let last = found.len() < asked;
                for entry in found {
                    if strict && self.is_too_deep(&entry) {
                        return Ok(out);
                    }
                    self.cursors.passed(rank, entry.0.order);
                    let depth = entry.1.depth;
                    if let Some(lease) = lease(node, end, &self.name, entry) {
                        self.leased.insert(lease.core().url_key, depth);
                        out.push(lease);
                    }
                }
                if last {
                    break;
                }
            }
        }
        Ok(out)
    }

    /// True when every URL of the queue is in somebody's hands: a look at the disk (one a rank) would find nothing.
    ///
    /// Whatever adds to the queue comes with news of it, so a number that is too low is soon put right.
    fn all_leased(&self) -> bool {
        self.queued.is_some_and(|queued| self.leased.len() as u64 >= queued)
    }

    fn is_too_deep(&self, (_, entry): &Entry) -> bool {
        self.leased.values().min().is_some_and(|least| entry.depth > *least)
    }

    /// Splits off what is beyond the host's page budget.
    pub fn within_budget(&mut self, mut leases: Vec<Lease>, budget: Option<u64>) -> (Vec<Lease>, Vec<Lease>) {
        let Some(budget) = budget else { return (leases, Vec::new()) };
        let left = budget.saturating_sub(self.finished.saturating_add(self.handed));
        let keep = usize::try_from(left).unwrap_or(usize::MAX).min(leases.len());
        let over = leases.split_off(keep);
        self.handed = self.handed.saturating_add(keep as u64);
        (leases, over)
    }
}
