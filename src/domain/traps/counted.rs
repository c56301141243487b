//! A map of bounded room that keeps what is counted most (lossy counting: Manku and Motwani, 2002).

use crate::domain::fingerprint::KeyMap;

/// A value with how much it counts.
pub(super) trait Weighed: Default {
    fn weight(&self) -> u32;
}

/// At most `ROOM` values. A site may choose its URLs so that their keys spread badly: of so few that costs little.
#[derive(Debug)]
pub(super) struct Counted<V, const ROOM: usize> {
    pub(super) values: KeyMap<u64, V>,
    /// What weighs no more is dropped for want of room.
    floor: u32,
}

impl<V, const ROOM: usize> Default for Counted<V, ROOM> {
    fn default() -> Self {
        Self { values: KeyMap::default(), floor: 1 }
    }
}

impl<V: Weighed, const ROOM: usize> Counted<V, ROOM> {
    /// The value of a key; a new one may cost others their place.
    pub(super) fn of(&mut self, key: u64) -> &mut V {
        if self.values.len() >= ROOM && !self.values.contains_key(&key) {
            self.make_room();
        }
        self.values.entry(key).or_default()
    }

    /// The value of a key that is known.
    pub(super) fn known(&self, key: u64) -> Option<&V> {
        self.values.get(&key)
    }

    fn make_room(&mut self) {
        let lightest = self.values.values().map(V::weight).min().unwrap_or_default();
        self.floor = self.floor.max(lightest);
        let floor = self.floor;
        self.values.retain(|_, value| value.weight() > floor);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Default)]
    struct Times(u32);

    impl Weighed for Times {
        fn weight(&self) -> u32 {
            self.0
        }
    }

    #[test]
    fn what_comes_often_stays_among_any_number_that_come_once() {
        let mut counted = Counted::<Times, 8>::default();
        for n in 0..10_000_u64 {
            counted.of(n + 1).0 += 1;
            if n % 3 == 0 {
                counted.of(0).0 += 1;
            }
            assert!(counted.values.len() <= 8);
        }
        assert!(counted.known(0).unwrap().0 > 3_000);
    }
}
