//! One active host as the Frontier sees it.

use std::sync::Arc;

use super::{Ended, Entry, Result, lease};
use crate::crawl::lease::{Lease, LeaseEnd};
use crate::crawl::mailbox::Mailbox;
use crate::crawl::node::Node;
use crate::crawl::politeness::Host;
use crate::domain::fingerprint::{KeyMap, UrlKey};
use crate::domain::frontier::{Cursors, RANKS, lower_ranks};
use crate::domain::rank::Order;
use crate::storage::keys::HostAt;
use crate::storage::read;
use crate::storage::values::{HostCounts, HostState};

/// An active host.
pub(super) struct Active {
    pub at: HostAt,
    pub mailbox: Mailbox<Host>,
    /// Cursors, leases out, budget.
    pub kept: Kept,
    /// URLs in its queue as of the last news; `None` when that may be wrong and the disk must be asked.
    pub queued: Option<u64>,
    /// URLs its Host asked for and did not get yet.
    pub wants: usize,
    name: Arc<str>,
}

/// What outlives the turn of a host: it may yield its place while its last pages are still on their way.
pub(super) struct Kept {
    /// Where the next look into its queue begins.
    pub cursors: Cursors,
    pub leased: KeyMap<UrlKey, Leased>,
    /// Pages of the budget that are used, those of [`Leased::counted`] included.
    used: u64,
    /// Leases given out so far: for the share of the lower ranks.
    served: u64,
}

impl Kept {
    /// Of a host that nothing is known of but what is on disk.
    pub fn of(counts: &HostCounts) -> Self {
        let used = counts.finished();
        Self { cursors: Cursors::starting_at(counts.heads), leased: KeyMap::default(), used, served: used }
    }

    /// So many URLs of the host are done, or errors, as of a commit.
    pub fn finished(&mut self, finished: u64) {
        let counted = self.leased.values().filter(|l| l.counted).count() as u64;
        self.used = finished.saturating_add(counted);
    }

    /// A lease ended; what was not finished gives its page of the budget back.
    pub fn end(&mut self, url: &UrlKey, how: Ended) {
        let counted = self.leased.remove(url).is_some_and(|l| l.counted);
        if counted && how == Ended::Unfinished {
            self.used = self.used.saturating_sub(1);
        }
    }
}

/// A lease that is out.
pub(super) struct Leased {
    depth: u16,
    /// It takes a page of the host's budget.
    counted: bool,
}

/// Best first, every so many leases one goes to the lower ranks.
const SHARE: u64 = 8;
/// All ranks, the best first.
const ALL: [u8; RANKS] = [0, 1, 2, 3, 4, 5, 6, 7];

impl Active {
    /// A host whose actor was started.
    pub fn new(at: HostAt, mailbox: Mailbox<Host>, state: &HostState, kept: Kept, counts: &HostCounts) -> Self {
        let name = Arc::from(state.name.as_str());
        Self { at, mailbox, kept, queued: Some(counts.queued_total()), wants: 0, name }
    }

    /// Up to `n` leases, the best rank first. Breadth first, no URL is handed out while one of a smaller depth is still on
    /// its way, so that the depths found are those of the shortest paths; pages that are visited again wait for none, and none for them. Best first, a share goes to the lower ranks.
    pub fn next_leases(&mut self, node: &Node, end: &LeaseEnd, n: usize, order: Order) -> Result<Vec<Lease>> {
        let mut out = Vec::new();
        if self.all_leased() {
            return Ok(out);
        }
        if order != Order::Best {
            self.take(node, end, &ALL, n, order == Order::Breadth, &mut out)?;
            return Ok(out);
        }
        let counts = read::host_counts(&*node.storage, self.at.crawl(node.crawl.id))?.unwrap_or_default();
        while out.len() < n {
            let before = out.len();
            let until_share = SHARE - 1 - self.kept.served % SHARE;
            if until_share == 0 {
                let lower = lower_ranks(&counts.queued, self.kept.served / SHARE);
                self.take(node, end, &lower, before + 1, false, &mut out)?;
            }
            if out.len() == before {
                let upto = usize::try_from(until_share.max(1)).unwrap_or(1);
                self.take(node, end, &ALL, n.min(before + upto), false, &mut out)?;
            }
            if out.len() == before {
                break;
            }
            self.kept.served = self.kept.served.saturating_add((out.len() - before) as u64);
        }
        Ok(out)
    }

    /// Leases from these ranks, one after the other, until `n` are out.
    fn take(
        &mut self,
        node: &Node,
        end: &LeaseEnd,
        ranks: &[u8],
        n: usize,
        strict: bool,
        out: &mut Vec<Lease>,
    ) -> Result<()> {
        for rank in ranks.iter().copied() {
            while out.len() < n && !self.all_leased() {
                let from = self.kept.cursors.from(rank);
                let asked = n - out.len();
                let found = read::queue_from(&*node.storage, self.at, node.crawl.id, rank, from, asked)?;
                let last = found.len() < asked;
                for entry in found {
                    if strict && self.is_too_deep(&entry) {
                        return Ok(());
                    }
                    self.kept.cursors.passed(rank, entry.0.order);
                    let depth = if entry.1.is_visit() { u16::MAX } else { entry.1.depth };
                    if let Some(lease) = lease(node, end, &self.name, entry) {
                        self.kept.leased.insert(lease.core().url_key, Leased { depth, counted: false });
                        out.push(lease);
                    }
                }
                if last {
                    break;
                }
            }
        }
        Ok(())
    }

    /// True when every URL of the queue is in somebody's hands: a look at the disk (one a rank) would find nothing.
    ///
    /// Whatever adds to the queue comes with news of it, so a number that is too low is soon put right.
    fn all_leased(&self) -> bool {
        self.queued.is_some_and(|queued| self.kept.leased.len() as u64 >= queued)
    }

    fn is_too_deep(&self, (_, entry): &Entry) -> bool {
        let least = self.kept.leased.values().map(|l| l.depth).min();
        !entry.is_visit() && least.is_some_and(|least| entry.depth > least)
    }

    /// Splits off what is beyond the host's page budget.
    pub fn within_budget(&mut self, leases: Vec<Lease>, budget: Option<u64>) -> (Vec<Lease>, Vec<Lease>) {
        let Some(budget) = budget else { return (leases, Vec::new()) };
        let mut left = budget.saturating_sub(self.kept.used);
        leases.into_iter().partition(|lease| {
            if lease.entry.is_visit() {
                return true; // it has its page of the budget since its first capture
            }
            let fits = left > 0;
            if let (true, Some(leased)) = (fits, self.kept.leased.get_mut(&lease.core().url_key)) {
                leased.counted = true;
            }
            left = left.saturating_sub(u64::from(fits));
            self.kept.used = self.kept.used.saturating_add(u64::from(fits));
            fits
        })
    }
}
