//! Popular URLs: those found again and again (navigation, home pages), known without a look at filter or disk.
//!
//! Two generations stand for least recently used: a full young one becomes the old one. Only what was read from disk is
//! put in, so a lost commit cannot leave a wrong entry.

use crate::domain::fingerprint::{KeyMap, UrlKey};
use crate::domain::reach::Reach;

/// Entries of one generation.
const GENERATION: usize = 100_000;

/// URL to the best way known; the best of all when ways no longer matter.
#[derive(Default)]
pub(super) struct Popular {
    young: KeyMap<UrlKey, Reach>,
    old: KeyMap<UrlKey, Reach>,
}

impl Popular {
    /// The best way known to a URL.
    pub fn get(&mut self, key: &UrlKey) -> Option<Reach> {
        if let Some(reach) = self.young.get(key) {
            return Some(*reach);
        }
        let reach = self.old.remove(key)?;
        self.put(*key, reach);
        Some(reach)
    }

    /// Entries of both generations.
    pub fn len(&self) -> usize {
        self.young.len() + self.old.len()
    }

    /// Notes a URL that is on disk.
    pub fn put(&mut self, key: UrlKey, reach: Reach) {
        if self.young.len() >= GENERATION {
            self.old = std::mem::take(&mut self.young);
        }
        self.young.insert(key, reach);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(n: u64) -> UrlKey {
        let mut bytes = [0; 12];
        bytes[..8].copy_from_slice(&n.to_be_bytes());
        UrlKey(bytes)
    }

    #[test]
    fn a_url_asked_for_outlives_those_that_are_not() {
        let mut popular = Popular::default();
        let depth = |depth| Reach { depth, limit: None };
        popular.put(key(0), depth(3));
        popular.put(key(1), depth(4));
        for n in 2..=GENERATION as u64 + 10 {
            popular.put(key(n), depth(1));
        }
        assert_eq!(popular.get(&key(0)), Some(depth(3))); // in the old generation, brought back
        for n in 0..GENERATION as u64 {
            popular.put(key(1_000_000 + n), depth(1));
        }
        assert_eq!(popular.get(&key(0)), Some(depth(3)));
        assert_eq!(popular.get(&key(1)), None);
    }
}
