//! Popular URLs: those found again and again (navigation, home pages), known without a look at filter or disk.
//!
//! Two generations stand for least recently used: a full young one becomes the old one. Only what was read from disk is
//! put in, so a lost commit cannot leave a wrong entry.

use crate::domain::fingerprint::{KeyMap, UrlKey};

/// Entries of one generation.
const GENERATION: usize = 100_000;

/// URL to the smallest depth known; 0 when depth no longer matters.
#[derive(Default)]
pub(super) struct Popular {
    young: KeyMap<UrlKey, u16>,
    old: KeyMap<UrlKey, u16>,
}

impl Popular {
    pub fn new() -> Self {
        Self::default()
    }

    /// The depth known for a URL.
    pub fn get(&mut self, key: &UrlKey) -> Option<u16> {
        if let Some(depth) = self.young.get(key) {
            return Some(*depth);
        }
        let depth = self.old.remove(key)?;
        self.put(*key, depth);
        Some(depth)
    }

    /// Entries of both generations.
    pub fn len(&self) -> usize {
        self.young.len() + self.old.len()
    }

    /// Notes a URL that is on disk.
    pub fn put(&mut self, key: UrlKey, depth: u16) {
        if self.young.len() >= GENERATION {
            self.old = std::mem::take(&mut self.young);
        }
        self.young.insert(key, depth);
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
        let mut popular = Popular::new();
        popular.put(key(0), 3);
        popular.put(key(1), 4);
        for n in 2..=GENERATION as u64 + 10 {
            popular.put(key(n), 1);
        }
        assert_eq!(popular.get(&key(0)), Some(3)); // in the old generation, brought back
        for n in 0..GENERATION as u64 {
            popular.put(key(1_000_000 + n), 1);
        }
        assert_eq!(popular.get(&key(0)), Some(3));
        assert_eq!(popular.get(&key(1)), None);
    }
}
