//! Near-duplicates: texts that are alike but for a little, told by their prints.
//!
//! Two texts are *near* when their [sketches](TextPrint::sketch) differ in [`BITS`] of 256 bits at most, so that nineteen of twenty of their runs of words are the
//! same, and neither has many more runs, or characters, than the other. The first text of its kind is the *leader* of a group; a text near
//! a leader is marked, and leads nobody: so groups do not drift from text to text.
//!
//! Leaders are looked for in [`TABLES`] tables by *bands*, each forty bits of the sketch (Indyk and Motwani, "Approximate nearest neighbors",
//! 1998): of two texts that have 98 of 100 runs in common a band is the same two times of three, so one of four 99 times of 100; of texts
//! that have half of them in common once in 100,000 times.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use super::textprint::TextPrint;

/// Sketches of near texts differ in so many bits at most. With 3 of them 94 of 100 pairs are found that are all but the same, with 6 99.5, and 99.3 of
/// 100 pairs that are found have nine tenths in common, with 8 97.6 (`benches/RESULTS.md`).
pub const BITS: u32 = 6;
/// Of two near texts the longer one has at most so many hundredths more runs, and more characters, than the shorter one.
const MORE: u64 = 3;
/// Tables of leaders, one for each band.
pub const TABLES: u8 = 4;
/// Leaders with the same band that are looked at.
pub const LOOKED_AT: usize = 64;
/// Leaders that are compared with a text at most.
pub const COMPARED: usize = 32;

/// Forty bits of a sketch.
pub type Band = [u8; 5];

/// What is compared of a text that is long enough.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Sketch {
    /// A sample of its runs of words.
    pub bits: [u64; TABLES as usize],
    /// Its distinct runs of words.
    pub features: u32,
    /// Its letters and digits.
    pub letters: u32,
}

/// What a page is among near-duplicates.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Near {
    /// The first of its kind: others are compared with it.
    Leader,
    /// Its text is near to that of another page of its domain.
    Like {
        /// That page: the leader of its group.
        url: String,
        /// Bits in which their sketches differ.
        distance: u8,
    },
}

impl Near {
    /// The leader, of a page that is none, and how far it is from it.
    pub fn like(&self) -> Option<(&str, u8)> {
        match self {
            Self::Leader => None,
            Self::Like { url, distance } => Some((url, *distance)),
        }
    }
}

impl Sketch {
    /// Of a text; none when it is too short.
    pub fn of(print: &TextPrint) -> Option<Self> {
        let TextPrint { sketch, features, letters, .. } = *print;
        Some(Self { bits: sketch?, features, letters })
    }

    /// Bits in which it differs from another one, when that is near.
    pub fn distance(&self, other: &Self) -> Option<u8> {
        let like = is_like(self.features, other.features) && is_like(self.letters, other.letters);
        like.then(|| apart(&self.bits, &other.bits)).flatten()
    }

    /// What it is found by, table after table: the lowest bits of each word.
    pub fn bands(&self) -> [Band; TABLES as usize] {
        self.bits.map(band)
    }
}

/// Of a word of a sketch.
pub fn band(word: u64) -> Band {
    let [.., a, b, c, d, e] = word.to_be_bytes();
    [a, b, c, d, e]
}

/// Bits in which two sketches differ, when they are few.
pub fn apart(one: &[u64], other: &[u64]) -> Option<u8> {
    let bits: u32 = one.iter().zip(other).map(|(one, other)| (one ^ other).count_ones()).sum();
    (bits <= BITS).then_some(bits as u8)
}

/// Whether two lengths are nearly the same.
fn is_like(one: u32, other: u32) -> bool {
    u64::from(one.max(other)) * 100 <= u64::from(one.min(other)) * (100 + MORE)
}

/// Leaders that a text is to be compared with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found<P> {
    /// [`COMPARED`] at most, those with most bands in common first.
    pub pages: Vec<P>,
    /// Bands with more leaders than are looked at; one more when there are more to be compared.
    pub cut: u32,
}

/// Looks for leaders that share a band with a text. `scan` gives the first [`LOOKED_AT`] and one more of those that have the band in a table.
///
/// # Errors
/// Those of `scan`.
pub fn find<P: Ord, E>(sketch: &Sketch, mut scan: impl FnMut(u8, Band) -> Result<Vec<P>, E>) -> Result<Found<P>, E> {
    let (mut shared, mut cut) = (BTreeMap::<P, u8>::new(), 0);
    for (table, band) in (0..).zip(sketch.bands()) {
        let rows = scan(table, band)?;
        cut += u32::from(rows.len() > LOOKED_AT);
        rows.into_iter().take(LOOKED_AT).for_each(|page| *shared.entry(page).or_default() += 1);
    }
    let mut pages: Vec<(P, u8)> = shared.into_iter().collect();
    pages.sort_by_key(|(_, bands)| Reverse(*bands));
    cut += u32::from(pages.len() > COMPARED);
    Ok(Found { pages: pages.into_iter().take(COMPARED).map(|(page, _)| page).collect(), cut })
}

/// Whether two pages have the same title: so that what only looks alike, such as the pages of a reference, is not taken for the same.
pub fn same_title(one: Option<&str>, other: Option<&str>) -> bool {
    let words = |title: Option<&str>| title.map(|title| title.split_whitespace().collect::<Vec<_>>().join(" "));
    words(one).filter(|title| !title.is_empty()).is_some_and(|title| words(other) == Some(title))
}

#[cfg(test)]
mod tests;
