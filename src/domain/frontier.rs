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

/// Best first, every so many leases one goes to the ranks in turn.
const SHARE: u64 = 8;
/// The ranks that have turns: what stands in the best of all is taken with every other lease.
const TURNS: u8 = RANKS as u8 - 1;

/// Whose turn it is in the queue of one host, where the best come first.
///
/// Every eighth lease goes to the ranks 1 to 7 in turn, all others to the best there is. A turn goes to the next rank after that of the
/// turn before which has URLs, the best one included: so each that has some is served within 56 leases, whatever comes meanwhile.
#[derive(Clone, Copy, Debug)]
pub struct Turns {
    served: u64,
    last: u8,
}

impl Turns {
    /// Of a host that had so many leases.
    pub fn after(served: u64) -> Self {
        Self { served, last: u8::try_from(served / SHARE % u64::from(TURNS)).unwrap_or(0) }
    }

    /// Leases that go to the best ranks before the next turn of another; 0: it is its turn.
    pub fn until_turn(&self) -> u64 {
        SHARE - 1 - self.served % SHARE
    }

    /// The ranks that have URLs in the order in which they are asked at a turn.
    pub fn ranks(&self, queued: &[u64; RANKS]) -> Vec<u8> {
        let has_some = |rank: &u8| queued.get(usize::from(*rank)).is_some_and(|n| *n > 0);
        (0..TURNS).map(|n| (self.last + n) % TURNS + 1).filter(has_some).collect()
    }

    /// A turn was given to this rank.
    pub fn given(&mut self, rank: u8) {
        self.last = rank.min(TURNS);
    }

    /// So many leases were given, turns among them.
    pub fn count(&mut self, leases: u64) {
        self.served = self.served.saturating_add(leases);
    }
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
    fn the_ranks_that_have_urls_take_turns_and_the_best_of_all_has_none() {
        let (queued, mut turns) = ([5, 0, 1, 0, 0, 0, 2, 9], Turns::after(0));
        for expected in [[2, 6, 7], [6, 7, 2], [7, 2, 6], [2, 6, 7]] {
            assert_eq!(turns.ranks(&queued), expected);
            turns.given(expected[0]);
        }
        assert_eq!(turns.ranks(&[0, 0, 0, 3, 0, 0, 0, 0]), [3]);
        assert!(turns.ranks(&[0; RANKS]).is_empty());
        let until: Vec<u64> = (0..10).map(|served| Turns::after(served).until_turn()).collect();
        assert_eq!(until, [7, 6, 5, 4, 3, 2, 1, 0, 7, 6]);
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
