//! Bounds for scans.

use super::{FeedKey, HostAt, HostCrawl, Key, NearKey, SeenKey};
use crate::base::time::UnixMillis;
use crate::domain::partition::{Partition, PartitionSet};

/// From the first key included to the first key excluded; an empty `until` means "to the end of the family".
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyRange {
    /// First key included.
    pub from: Vec<u8>,
    /// First key excluded, or empty.
    pub until: Vec<u8>,
}

impl KeyRange {
    /// Every key that begins with `prefix`.
    pub fn prefix(prefix: Vec<u8>) -> Self {
        let until = successor(&prefix);
        Self { from: prefix, until }
    }

    /// The whole family.
    pub fn all() -> Self {
        Self { from: Vec::new(), until: Vec::new() }
    }

    /// Every key of a partition, in families that are led by it.
    pub fn partition(partition: Partition) -> Self {
        Self::prefix(partition.0.to_be_bytes().to_vec())
    }

    /// Every key of some partitions, a range for each row of neighbours.
    pub fn partitions(set: &PartitionSet) -> Vec<Self> {
        let mut ranges: Vec<Self> = Vec::new();
        for partition in set.iter() {
            // Not the successor of the prefix, which may be shorter: neighbours must meet.
            let (from, until) = (partition.0.to_be_bytes().to_vec(), (partition.0 + 1).to_be_bytes().to_vec());
            match ranges.last_mut().filter(|last| last.until == from) {
                Some(last) => last.until = until,
                None => ranges.push(Self { from, until }),
            }
        }
        ranges
    }

    /// A host's keys (`host_state`, `host_counts`, `queue`, `seen`, `pages`, `rejected`, `failed`, `robots`).
    pub fn host(host: HostAt) -> Self {
        Self::prefix(host.encode())
    }

    /// A host's keys in one crawl (`host_counts`, `queue`, `seen`, `pages`, `rejected`).
    pub fn host_crawl(host: HostCrawl) -> Self {
        Self::prefix(host.encode())
    }

    /// `queue`: a host's entries of one rank, from `from_order` on.
    pub fn queue_rank(host: HostCrawl, rank: u8, from_order: u64) -> Self {
        let mut prefix = host.encode();
        prefix.push(rank);
        Self::prefix(prefix).starting(&from_order.to_be_bytes())
    }

    /// `waiting`: hosts of one rank, from `from_order` on.
    pub fn waiting_rank(partition: Partition, rank: u8, from_order: u64) -> Self {
        let mut prefix = partition.0.to_be_bytes().to_vec();
        prefix.push(rank);
        Self::prefix(prefix).starting(&from_order.to_be_bytes())
    }

    /// `parked` or `due`: what lies at `from` or later, up to and including `now`.
    pub fn until_time(partition: Partition, from: UnixMillis, now: UnixMillis) -> Self {
        let at = |time: UnixMillis| {
            let mut key = partition.0.to_be_bytes().to_vec();
            key.extend_from_slice(&time.0.to_be_bytes());
            key
        };
        Self { from: at(from), until: successor(&at(now)) }
    }

    /// `visits`: what a host has at `now` or before.
    pub fn visits(host: HostCrawl, now: UnixMillis) -> Self {
        let from = host.encode();
        Self { until: successor(&[&from[..], &now.0.to_be_bytes()].concat()), from }
    }

    /// `pages`: the captures of a URL, newest first.
    pub fn captures(url: SeenKey) -> Self {
        Self::prefix(url.encode())
    }

    /// `near`: what has the band of this row in its table.
    pub fn near_band(near: NearKey) -> Self {
        let mut prefix = near.encode();
        prefix.truncate(NearKey::LEN - 20);
        Self::prefix(prefix)
    }

    /// `near_members`: the pages of a group.
    pub fn near_members(leader: SeenKey) -> Self {
        Self::prefix(leader.encode())
    }

    /// `feed`: what follows `after`, up to and including `until`.
    pub fn feed(after: u64, until: u64) -> Self {
        let from = |number: u64| FeedKey { number: number.saturating_add(1) }.encode();
        Self { from: from(after), until: from(until) }
    }

    /// The same range, begun at `rest` behind its prefix.
    fn starting(mut self, rest: &[u8]) -> Self {
        self.from.extend_from_slice(rest);
        self
    }
}

/// The smallest key above every key with this prefix; empty when there is none.
pub fn successor(prefix: &[u8]) -> Vec<u8> {
    let mut next = prefix.to_vec();
    while let Some(last) = next.pop() {
        if let Some(more) = last.checked_add(1) {
            next.push(more);
            return next;
        }
    }
    next
}

/// The smallest key above `key`: where a scan goes on.
pub fn after(key: &[u8]) -> Vec<u8> {
    let mut next = key.to_vec();
    next.push(0);
    next
}
