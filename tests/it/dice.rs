//! Random choices that a seed repeats. xorshift: moments need no more.

use std::time::{SystemTime, UNIX_EPOCH};

pub struct Dice(u64);

impl Dice {
    /// `LYCOSA_KILL_SEED`, or one from the clock.
    pub fn seed() -> u64 {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_micros() as u64;
        std::env::var("LYCOSA_KILL_SEED").map_or(now, |s| s.parse().unwrap())
    }

    /// With this seed; neighbouring seeds give other choices.
    pub fn of(seed: u64) -> Self {
        let mut dice = Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        (0..8).for_each(|_| _ = dice.below(2));
        dice
    }

    /// From 0 to `n` - 1; 0 when `n` is 0.
    pub fn below(&mut self, n: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % n.max(1)
    }
}
