//! What the pages of a host have shown, in bounded room. What is called new may have been forgotten.

use crate::domain::textprint::Bits;

/// Sets of hashes, and hashes of a set.
const SETS: usize = 128;
const WAYS: usize = 16;
/// A set of words with so many begins anew: more would call new words known.
const FULL: u32 = 1 << 14;

/// Hashes that came last, by a part of each.
#[derive(Debug, Default)]
pub(super) struct Recent(Vec<[u32; WAYS]>);

impl Recent {
    /// Takes in a hash; whether it was not known.
    pub(super) fn is_new(&mut self, hash: u64) -> bool {
        if self.0.is_empty() {
            self.0.resize(SETS, [0; WAYS]);
        }
        let tag = ((hash >> 32) as u32).max(1); // 0 is an empty place
        let Some(set) = self.0.get_mut(hash as usize % SETS) else { return false };
        let known = set.iter().position(|known| *known == tag);
        if let Some(passed) = set.get_mut(..=known.unwrap_or(WAYS - 1)) {
            passed.rotate_right(1); // what comes often stays
        }
        set[0] = tag;
        known.is_none()
    }
}

/// Words and the like that were met.
#[derive(Debug, Default)]
pub(super) struct Met {
    words: Option<Bits>,
    count: u32,
}

impl Met {
    /// Takes in a word; whether it was not known.
    pub(super) fn is_new(&mut self, word: u16) -> bool {
        if self.count >= FULL {
            *self = Self::default();
        }
        let new = self.words.get_or_insert_default().set(word);
        self.count += u32::from(new);
        new
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hash(n: u32) -> u64 {
        xxhash_rust::xxh3::xxh3_64(&n.to_le_bytes())
    }

    #[test]
    fn a_thousand_hashes_are_known_at_a_time_in_bounded_room() {
        let mut known = Recent::default();
        assert!((0..1_000).all(|n| known.is_new(hash(n))));
        assert!((0..1_000).filter(|n| known.is_new(hash(*n))).count() < 50);
        assert!((5_000..100_000).all(|n| known.is_new(hash(n))));
        assert_eq!(known.0.len(), SETS);
    }

    #[test]
    fn words_are_known_until_there_are_very_many() {
        let mut met = Met::default();
        let new = |met: &mut Met, n: u32| met.is_new((hash(n) >> 40) as u16);
        (0..1_000).for_each(|n| {
            new(&mut met, n);
        });
        assert!((0..1_000).all(|n| !new(&mut met, n)));
        let fresh = (1_000..50_000).filter(|n| new(&mut met, *n)).count();
        assert!(fresh > 35_000, "{fresh} of 49,000 are new");
    }
}
