//! The counters of a crawl.

use std::collections::BTreeMap;

use super::wire::fields;
use crate::domain::reason::{Failure, Rejection};

fields! {
    /// The counters of a crawl: one snapshot, written in the batch that changes it (I2).
    #[derive(Default, serde::Serialize)]
    Counters {
        /// URLs ever accepted or rejected.
        discovered: u64,
        /// URLs in `queue` (waiting or being fetched) or in `due` and not done before.
        queued: u64,
        /// URLs done.
        done: u64,
        /// URLs given up, by [`Failure::code`].
        errors: BTreeMap<u8, u64>,
        /// URLs turned away, by [`Rejection::code`].
        rejected: BTreeMap<u8, u64>,
        /// Answers by class of status: 1xx to 5xx, then all others.
        statuses: BTreeMap<u16, u64>,
        /// Responses stored in full.
        pages_stored: u64,
        /// Revisit records stored.
        revisits: u64,
        /// URLs that redirect.
        redirects: u64,
        /// Bytes of bodies received.
        bytes: u64,
        /// Hosts that have a state.
        hosts: u64,
        /// Hosts in `waiting`.
        hosts_waiting: u64,
        /// Hosts in `parked`.
        hosts_parked: u64,
        /// Milliseconds spent on fetches.
        fetch_ms: u64,
        /// The next number for `order`; never given out twice.
        next_seq: u64,
        /// The next number for a commit's list of unsynced pages.
        next_commit: u64,
    }
}

/// The sum of a map's counts.
fn sum(counts: &BTreeMap<u8, u64>) -> u64 {
    counts.values().fold(0, |sum, n| sum.saturating_add(*n))
}

impl Counters {
    /// URLs given up, whatever the reason.
    #[must_use]
    pub fn error(&self) -> u64 {
        sum(&self.errors)
    }

    /// URLs turned away, whatever the reason.
    #[must_use]
    pub fn rejected_total(&self) -> u64 {
        sum(&self.rejected)
    }

    /// Counts one more URL given up.
    pub fn add_error(&mut self, reason: Failure) {
        bump(&mut self.errors, reason.code(), 1);
    }

    /// Counts one more URL turned away.
    pub fn add_rejected(&mut self, reason: Rejection) {
        bump(&mut self.rejected, reason.code(), 1);
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
        let count = self.statuses.entry(status).or_default();
        *count = count.saturating_add(1);
    }

    /// Takes back an answer counted: its record was lost.
    pub fn sub_status(&mut self, status: u16) {
        if let Some(count) = self.statuses.get_mut(&status) {
            *count = count.saturating_sub(1);
            if *count == 0 {
                self.statuses.remove(&status);
            }
        }
    }

    /// I2: every URL is in exactly one state.
    #[must_use]
    pub fn balanced(&self) -> bool {
        let states = [self.queued, self.done, self.error(), self.rejected_total()];
        states.iter().fold(0_u64, |sum, n| sum.saturating_add(*n)) == self.discovered
    }
}

/// Adds to one count of a map.
fn bump(counts: &mut BTreeMap<u8, u64>, code: u8, by: u64) {
    let count = counts.entry(code).or_default();
    *count = count.saturating_add(by);
}

/// Takes one from a count of a map; a count of zero has no entry.
fn drop_one(counts: &mut BTreeMap<u8, u64>, code: u8) {
    if let Some(count) = counts.get_mut(&code) {
        *count = count.saturating_sub(1);
        if *count == 0 {
            counts.remove(&code);
        }
    }
}
