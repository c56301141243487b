//! A sample of the distinct runs of a text, in 256 bits (one permutation hashing: Li, Owen and Zhang, 2012).
//!
//! The hashes of the runs fall in parts by their highest bits; of each part the least one is kept, and of that one bit in the end (Li and König,
//! "b-bit minwise hashing", 2010). A part that no run fell in takes the least one of the next that has any, with another bit of it for
//! each step between them (Shrivastava and Li, "Densifying one permutation hashing", 2014). So of two texts that have the share `j` of the
//! runs of either in common, some `(1 - j) / 2` of the bits differ.

use super::token::{finished, mixed};

/// Parts, a bit each.
pub(super) const PARTS: usize = 256;
/// No run fell in it.
const NONE: u32 = u32::MAX;

/// The least hash of each part, without the bits that tell the part.
#[derive(Debug)]
pub(super) struct Sample(Box<[u32; PARTS]>);

impl Default for Sample {
    fn default() -> Self {
        Self(Box::new([NONE; PARTS]))
    }
}

impl Sample {
    pub(super) fn add(&mut self, hash: u64) {
        if let Some(least) = self.0.get_mut((hash >> 56) as usize) {
            *least = (*least).min((hash >> 24) as u32);
        }
    }

    /// A bit of each part, the lowest of the first word first.
    pub(super) fn finish(&self) -> [u64; PARTS / 64] {
        let first = self.0.iter().position(|least| *least != NONE).unwrap_or_default();
        let (mut kept, mut steps) = (self.0.get(first).copied().unwrap_or(NONE), first as u64);
        let mut bits = [0; PARTS / 64];
        for (word, parts) in bits.iter_mut().zip(self.0.chunks(64)).rev() {
            for least in parts.iter().rev() {
                (kept, steps) = if *least == NONE { (kept, steps + 1) } else { (*least, 0) };
                *word = *word << 1 | finished(mixed(mixed(0, kept.into()), steps), false) >> 63;
            }
        }
        bits
    }
}
