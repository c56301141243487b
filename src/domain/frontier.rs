//! The frontier's pure part: heads of the on-disk queues and the cursors of one host.
//!
//! Mercator's front queue *i* is the set of hosts whose best URL has rank *i*; its back queue is a host's own queue. Both
//! live on disk; here are only lower bounds, so that a look never walks over what is gone (a seek over tombstones costs
//! milliseconds). A bound may be too low, which costs time; it is never too high, which would hide a URL.

use std::collections::{BTreeSet, HashMap};

/// Ranks of the frontier at most; `frontier.ranks` may use fewer.
pub const RANKS: usize = 8;

/// The smallest live value of every partition, and of all partitions together.
#[derive(Debug, Default)]
pub struct Heads<K: Ord + Copy> {
    sorted: BTreeSet<(K, u16)>,
    of: HashMap<u16, K>,
}

impl<K: Ord + Copy> Heads<K> {
    /// Sets the bound of `partition`; `None` says that it holds nothing.
    pub fn set(&mut self, partition: u16, head: Option<K>) {
        let old = match head {
            Some(k) => self.of.insert(partition, k),
            None => self.of.remove(&partition),
        };
        if let Some(old) = old {
            self.sorted.remove(&(old, partition));
        }
        if let Some(k) = head {
            self.sorted.insert((k, partition));
        }
    }

    /// Something was put at `k`: the bound sinks to it if it was higher.
    pub fn lower(&mut self, partition: u16, k: K) {
        if self.of.get(&partition).is_none_or(|old| k < *old) {
            self.set(partition, Some(k));
        }
    }

    /// The partition with the smallest bound.
    pub fn first(&self) -> Option<(K, u16)> {
        self.sorted.first().copied()
    }

    /// The partitions that may have something.
    pub fn partitions(&self) -> impl Iterator<Item = u16> {
        self.sorted.iter().map(|(_, partition)| *partition)
    }

    /// Their number.
    pub fn len(&self) -> usize {
        self.sorted.len()
    }

    /// True when nothing may be there.
    pub fn is_empty(&self) -> bool {
        self.sorted.is_empty()
    }
}

/// Where the next look into one host's queue begins, for every rank.
#[derive(Clone, Debug, Default)]
pub struct Cursors([u64; RANKS]);

impl Cursors {
    /// Cursors that begin at known lower bounds.
    pub fn starting_at(heads: [u64; RANKS]) -> Self {
        Self(heads)
    }

    /// First order of `rank` that may be live and not yet leased.
    pub fn from(&self, rank: u8) -> u64 {
        self.0.get(usize::from(rank)).copied().unwrap_or(0)
    }

    /// Everything of `rank` up to and with `order` is leased or gone.
    pub fn passed(&mut self, rank: u8, order: u64) {
        if let Some(c) = self.0.get_mut(usize::from(rank)) {
            *c = (*c).max(order.saturating_add(1));
        }
    }

    /// Nothing lives below these.
    pub fn raise(&mut self, heads: &[u64; RANKS]) {
        self.0.iter_mut().zip(heads).for_each(|(cursor, head)| *cursor = (*cursor).max(*head));
    }

    /// An entry is live at `order` again, or for the first time.
    pub fn lower(&mut self, rank: u8, order: u64) {
        if let Some(c) = self.0.get_mut(usize::from(rank)) {
            *c = (*c).min(order);
        }
    }
}

/// The ranks below the best one that has URLs, in the order in which they are asked at their `turn`: each is the first in
/// turn, so that none starves while better URLs keep coming.
pub fn lower_ranks(queued: &[u64; RANKS], turn: u64) -> Vec<u8> {
    let filled = (0_u8..).zip(queued).filter(|(_, n)| **n > 0).map(|(rank, _)| rank);
    let mut lower: Vec<u8> = filled.skip(1).collect();
    if let Some(by) = turn.checked_rem(lower.len() as u64) {
        lower.rotate_left(usize::try_from(by).unwrap_or(0));
    }
    lower
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_cursor_goes_back_to_an_entry_put_below_it() {
        let mut c = Cursors::default();
        c.passed(2, 10);
        assert_eq!(c.from(2), 11);
        c.lower(2, 4);
        assert_eq!(c.from(2), 4);
        assert_eq!(c.from(1), 0);
    }

    #[test]
    fn the_lower_ranks_take_turns_and_the_best_has_none() {
        let queued = [5, 0, 1, 0, 0, 0, 2, 9];
        let turns: Vec<Vec<u8>> = (0..4).map(|turn| lower_ranks(&queued, turn)).collect();
        assert_eq!(turns, [vec![2, 6, 7], vec![6, 7, 2], vec![7, 2, 6], vec![2, 6, 7]]);
        assert!(lower_ranks(&[0, 0, 0, 3, 0, 0, 0, 0], 1).is_empty());
        assert!(lower_ranks(&[0; RANKS], 0).is_empty());
    }

    proptest! {
        #[test]
        fn heads_agree_with_a_plain_map(ops in prop::collection::vec((0u16..5, prop::option::of(0u64..9), any::<bool>()), 0..60)) {
            let mut heads = Heads::default();
            let mut model: BTreeMap<u16, u64> = BTreeMap::new();
            for (partition, value, lower) in ops {
                match (value, lower) {
                    (Some(v), true) => {
                        heads.lower(partition, v);
                        let e = model.entry(partition).or_insert(v);
                        *e = (*e).min(v);
                    }
                    (Some(v), false) => { heads.set(partition, Some(v)); model.insert(partition, v); }
                    (None, _) => { heads.set(partition, None); model.remove(&partition); }
                }
                let expected = model.iter().map(|(p, v)| (*v, *p)).min();
                prop_assert_eq!(heads.first(), expected);
                prop_assert_eq!(heads.is_empty(), model.is_empty());
            }
        }
    }
}
