//! Near-duplicates: texts that are alike but for a little, told by their prints.
//!
//! Two texts are *near* when their SimHashes differ in [`BITS`] bits at most, both are long enough to be told by them, and neither has many
//! more runs of words, or characters, than the other. The first text of its kind is the *leader* of a group; a text near a leader is marked, and leads
//! nobody: so groups do not drift from text to text.
//!
//! Leaders are looked for in [`TABLES`] tables (Manku, Jain and Das Sarma, "Detecting near-duplicates for web crawling", 2007): a SimHash
//! is four *blocks* of sixteen bits, and two that differ in three bits share a block. Table `t` has them rotated by `16 t` bits, in order:
//! all that share a block stand together in one of the tables.

use super::textprint::TextPrint;

/// SimHashes of near texts differ in so many bits at most.
pub const BITS: u32 = 3;
/// Distinct runs of words below which a text is too short to be told by its SimHash.
pub const FEATURES: u32 = 64;
/// The same of characters.
pub const LETTERS: u32 = 400;
/// Of two near texts the longer one has at most so many hundredths more runs, and more characters, than the shorter one. Against 5 for the
/// runs alone that takes away a third of the pairs which have less than nine tenths in common, and one in a thousand of those that are all
/// but the same (`benches/RESULTS.md`).
const MORE: u64 = 3;
/// Tables of leaders.
pub const TABLES: u8 = 4;
/// Leaders of one block that are looked at.
pub const LOOKED_AT: usize = 64;

/// What is compared of a text that is long enough.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Sketch {
    /// Its SimHash.
    pub sim: u64,
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
        /// Bits in which their SimHashes differ.
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
        let TextPrint { sim, features, letters, .. } = *print;
        (features >= FEATURES && letters >= LETTERS).then_some(Self { sim, features, letters })
    }

    /// Bits in which it differs from another one, when that is near.
    pub fn distance(self, other: Self) -> Option<u8> {
        let distance = bits(self.sim, other.sim)?;
        let like = is_like(self.features, other.features) && is_like(self.letters, other.letters);
        like.then_some(distance)
    }
}

/// Whether two lengths are nearly the same.
fn is_like(one: u32, other: u32) -> bool {
    u64::from(one.max(other)) * 100 <= u64::from(one.min(other)) * (100 + MORE)
}

/// Bits in which two SimHashes differ, when they are few.
pub fn bits(one: u64, other: u64) -> Option<u8> {
    let bits = (one ^ other).count_ones();
    (bits <= BITS).then_some(bits as u8)
}

/// As it stands in a table.
pub fn rotated(sim: u64, table: u8) -> u64 {
    sim.rotate_left(16 * u32::from(table))
}

/// What stands so in a table.
pub fn straight(rotated: u64, table: u8) -> u64 {
    rotated.rotate_right(16 * u32::from(table))
}

/// The block by which a table is sorted first.
pub fn block(sim: u64, table: u8) -> u16 {
    (rotated(sim, table) >> 48) as u16
}

/// SimHashes found for one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Found {
    /// Those that are close to it, the closest first.
    pub close: Vec<u64>,
    /// Blocks in which there were more than were looked at.
    pub cut: u32,
}

/// Looks for what is close to a SimHash. `scan` gives the first [`LOOKED_AT`] and one more of what a table has in a block, as it stands
/// there.
///
/// # Errors
/// Those of `scan`.
pub fn find<E>(sim: u64, mut scan: impl FnMut(u8, u16) -> Result<Vec<u64>, E>) -> Result<Found, E> {
    let (mut close, mut cut) = (Vec::new(), 0);
    for table in 0..TABLES {
        let rows = scan(table, block(sim, table))?;
        cut += u32::from(rows.len() > LOOKED_AT);
        let rows = rows.into_iter().take(LOOKED_AT).map(|row| straight(row, table));
        close.extend(rows.filter_map(|other| Some((bits(sim, other)?, other))));
    }
    close.sort_unstable();
    close.dedup();
    Ok(Found { close: close.into_iter().map(|(_, other)| other).collect(), cut })
}

/// Whether two pages have the same title: so that what only looks alike, such as the pages of a reference, is not taken for the same.
pub fn same_title(one: Option<&str>, other: Option<&str>) -> bool {
    let words = |title: Option<&str>| title.map(|title| title.split_whitespace().collect::<Vec<_>>().join(" "));
    words(one).filter(|title| !title.is_empty()).is_some_and(|title| words(other) == Some(title))
}

#[cfg(test)]
mod tests;
