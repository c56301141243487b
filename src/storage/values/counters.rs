//! The counters of a crawl.

use std::collections::BTreeMap;

use super::wire::fields;
use super::{HostCounts, Place, RANKS};
use crate::domain::reason::{Failure, Rejection};
use crate::domain::refresh::OfSeeds;

/// Media types that are counted by name; the rest together.
const TYPES: usize = 32;
/// Under this name the rest is counted.
pub const OTHER_TYPES: &str = "other";
/// Under this one what says no type.
const UNKNOWN_TYPE: &str = "unknown";

fields! {
    /// What the counts of all hosts add up to.
    #[derive(Default, Copy, serde::Serialize)]
    FrontierCounts {
        /// URLs in `queue`, by rank; those being fetched are still among them.
        ranks: [u64; RANKS],
        /// URLs in `due`.
        retries: u64,
        /// Hosts with URLs that the operator holds.
        hosts_held: u64,
        /// Pages with a next visit.
        visits: u64,
        /// Visits a day, in millionths, that they ask for.
        visit_load: u64,
    }
}

impl FrontierCounts {
    /// What one host has a part in it.
    pub fn of(host: &HostCounts) -> Self {
        Self {
            ranks: host.queued,
            retries: host.due,
            hosts_held: u64::from(host.place == Place::Held),
            visits: host.visits.rows,
            visit_load: host.visits.load,
        }
    }

    /// URLs in `queue` and `due`.
    pub fn urls(&self) -> u64 {
        self.ranks.iter().fold(self.retries, |sum, n| sum.saturating_add(*n))
    }

    /// A host has this part in it now, and had that one.
    pub fn change(&mut self, now: &Self, before: &Self) {
        let by = |sum: &mut u64, now: u64, before: u64| *sum = sum.saturating_add(now).saturating_sub(before);
        for (sum, (now, before)) in self.ranks.iter_mut().zip(now.ranks.iter().zip(before.ranks)) {
            by(sum, *now, before);
        }
        by(&mut self.retries, now.retries, before.retries);
        by(&mut self.hosts_held, now.hosts_held, before.hosts_held);
        by(&mut self.visits, now.visits, before.visits);
        by(&mut self.visit_load, now.visit_load, before.visit_load);
    }
}

fields! {
    /// The counters of a crawl: one snapshot, written in the batch that changes it (I2).
    #[derive(Default, serde::Serialize)]
    #[expect(missing_docs, reason = "each name says it")]
    Counters {
        /// URLs ever accepted or rejected.
        discovered: u64,
        /// URLs in `queue` (waiting or being fetched) or in `due` and not done before.
        queued: u64,
        done: u64,
        /// URLs given up, by [`Failure::code`].
        errors: BTreeMap<u8, u64>,
        /// URLs turned away, by [`Rejection::code`].
        rejected: BTreeMap<u8, u64>,
        /// Answers by class of status: 1xx to 5xx, then all others.
        statuses: BTreeMap<u16, u64>,
        /// Captures, of whatever kind.
        pages_stored: u64,
        /// Those whose content was known.
        revisits: u64,
        redirects: u64,
        /// Bytes of bodies received.
        bytes: u64,
        /// Hosts that have a state.
        hosts: u64,
        hosts_waiting: u64,
        hosts_parked: u64,
        /// Milliseconds spent on fetches.
        fetch_ms: u64,
        /// The next number for `order`; never given out twice.
        next_seq: u64,
        /// The next number for a commit's list of unsynced pages.
        next_commit: u64,
        /// Number of the last entry of `feed`; never given out twice.
        fed: u64,
        /// Records in `failed`: of errors, those kept in full.
        failed: u64,
        /// Records in `nearer`.
        nearer: u64,
        /// A URL was too deep once by the way it was found, whatever became of it: from then on better ways are followed at once.
        too_deep: bool,
        /// A seed with a cycle of its own was added once.
        seed_cycles: OfSeeds,
        /// Captures and bytes by media type: the first `TYPES` that came, and all others. A name stays, also without captures.
        types: BTreeMap<String, (u64, u64)>,
        #[serde(flatten)]
        frontier: FrontierCounts,
    }
}

/// The sum of a map's counts.
fn sum(counts: &BTreeMap<u8, u64>) -> u64 {
    counts.values().fold(0, |sum, n| sum.saturating_add(*n))
}

impl Counters {
    /// URLs given up, whatever the reason.
    pub fn error(&self) -> u64 {
        sum(&self.errors)
    }

    /// URLs turned away, whatever the reason.
    pub fn rejected_total(&self) -> u64 {
        sum(&self.rejected)
    }

    /// Counts one more URL given up.
    pub fn add_error(&mut self, reason: Failure) {
        add_one(&mut self.errors, reason.code());
    }

    /// Counts one more URL turned away.
    pub fn add_rejected(&mut self, reason: Rejection) {
        add_one(&mut self.rejected, reason.code());
        self.too_deep |= reason == Rejection::TooDeep;
    }

    /// Pages that are to be queued once more by better ways, which were of no use until a URL was too deep: the crawl is not at
    /// its end, though no URL is queued.
    pub fn nearer_to_queue(&self) -> u64 {
        if self.too_deep { self.nearer } else { 0 }
    }

    /// Counts one URL fewer turned away: it was readmitted.
    pub fn sub_rejected(&mut self, reason: Rejection) {
        drop_one(&mut self.rejected, reason.code());
    }

    /// Counts one URL fewer given up: it is tried again.
    pub fn sub_error(&mut self, reason: Failure) {
        drop_one(&mut self.errors, reason.code());
    }

    /// Counts an answer by the class of its status.
    pub fn add_status(&mut self, status: u16) {
        add_one(&mut self.statuses, status);
    }

    /// Takes back an answer counted: its record was lost.
    pub fn sub_status(&mut self, status: u16) {
        drop_one(&mut self.statuses, status);
    }

    /// Counts a capture by its media type, or takes it back.
    pub fn count_type(&mut self, mime: Option<&str>, bytes: u64, stored: bool) {
        let name = mime.unwrap_or(UNKNOWN_TYPE);
        let own = self.types.contains_key(name) || (stored && self.types.len() < TYPES);
        let (captures, sum) = self.types.entry(if own { name } else { OTHER_TYPES }.to_owned()).or_default();
        if stored {
            (*captures, *sum) = (captures.saturating_add(1), sum.saturating_add(bytes));
        } else {
            (*captures, *sum) = (captures.saturating_sub(1), sum.saturating_sub(bytes));
        }
    }

    /// I2: every URL is in exactly one state.
    pub fn balanced(&self) -> bool {
        let states = [self.queued, self.done, self.error(), self.rejected_total()];
        states.iter().fold(0_u64, |sum, n| sum.saturating_add(*n)) == self.discovered
    }

    /// I2: every queued URL is in the queue or among the retries of one host.
    pub fn queues_add_up(&self) -> bool {
        self.frontier.urls() == self.queued
    }
}

/// Adds one to a count of a map.
fn add_one<K: Ord>(counts: &mut BTreeMap<K, u64>, key: K) {
    let count = counts.entry(key).or_default();
    *count = count.saturating_add(1);
}

/// Takes one from a count of a map; a count of zero has no entry.
fn drop_one<K: Ord>(counts: &mut BTreeMap<K, u64>, key: K) {
    if let Some(count) = counts.get_mut(&key) {
        *count = count.saturating_sub(1);
        if *count == 0 {
            counts.remove(&key);
        }
    }
}
