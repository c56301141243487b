//! Groups among very many texts, in memory that does not grow with them but by a bit each: texts are numbered in a file, and for each of the
//! four tables their sketches are sorted outside of memory, so that those which share a band stand together.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::Path;

use crate::base::sort::{Sorted, Sorter};
use crate::domain::near::{Band, Sketch, TABLES, apart, band};

/// Texts of one band that are compared with each that follows them.
const WINDOW: usize = 1_024;
/// Bytes of a text in the file: what is compared of it, its domain, and what names its page.
const WIDTH: usize = 40 + 8 + 22;

/// A sketch.
type Words = [u64; TABLES as usize];

/// A text: what is compared of it, and whose it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Text {
    pub sketch: Sketch,
    pub domain: [u8; 8],
    /// What names its page, for whoever asks.
    pub page: [u8; 22],
}

impl Text {
    fn bytes(&self) -> [u8; WIDTH] {
        let mut out = [0; WIDTH];
        let Sketch { bits, features, letters } = self.sketch;
        let lengths = [features.to_be_bytes(), letters.to_be_bytes()].concat();
        let parts = [&bits.map(u64::to_be_bytes).concat()[..], &lengths, &self.domain, &self.page];
        let all = parts.into_iter().flatten().copied();
        out.iter_mut().zip(all).for_each(|(to, from)| *to = from);
        out
    }

    fn of(bytes: &[u8; WIDTH]) -> Option<Self> {
        let (words, rest) = bytes.split_first_chunk::<32>()?;
        let (features, rest) = rest.split_first_chunk::<4>()?;
        let (letters, rest) = rest.split_first_chunk::<4>()?;
        let (domain, rest) = rest.split_first_chunk::<8>()?;
        let [features, letters] = [features, letters].map(|length| u32::from_be_bytes(*length));
        let sketch = Sketch { bits: words_of(words)?, features, letters };
        Some(Self { sketch, domain: *domain, page: *rest.first_chunk()? })
    }
}

fn words_of(mut bytes: &[u8]) -> Option<Words> {
    let rest = &mut bytes;
    Some([number(rest)?, number(rest)?, number(rest)?, number(rest)?])
}

/// Texts in the order in which they come.
pub(super) struct Texts {
    file: BufWriter<File>,
    count: u64,
}

impl Texts {
    pub fn new(dir: &Path) -> io::Result<Self> {
        Ok(Self { file: BufWriter::new(tempfile::tempfile_in(dir)?), count: 0 })
    }

    pub fn push(&mut self, text: &Text) -> io::Result<()> {
        self.count += 1;
        self.file.write_all(&text.bytes())
    }

    pub fn end(self) -> io::Result<Written> {
        let file = self.file.into_inner().map_err(io::IntoInnerError::into_error)?;
        Ok(Written { file, count: self.count })
    }
}

/// The same, to be read.
pub(super) struct Written {
    file: File,
    pub count: u64,
}

impl Written {
    pub fn get(&mut self, number: u64) -> io::Result<Text> {
        self.file.seek(SeekFrom::Start(number * WIDTH as u64))?;
        let mut bytes = [0; WIDTH];
        self.file.read_exact(&mut bytes)?;
        Text::of(&bytes).ok_or_else(|| io::ErrorKind::InvalidData.into())
    }

    /// The sketches as a table has them, each behind its band and with the number of its text.
    fn table(&mut self, table: u8, dir: &Path) -> io::Result<Sorted> {
        self.file.rewind()?;
        let (mut reader, mut sorter) = (BufReader::new(&self.file), Sorter::new(dir));
        for number in 0..self.count {
            let mut bytes = [0; WIDTH];
            reader.read_exact(&mut bytes)?;
            let text = Text::of(&bytes).ok_or(io::ErrorKind::InvalidData)?;
            let words = text.sketch.bits.map(u64::to_be_bytes).concat();
            let band = text.sketch.bands().get(usize::from(table)).copied().unwrap_or_default();
            sorter.push(&[&band[..], &words, &number.to_be_bytes()].concat())?;
        }
        sorter.sorted()
    }
}

/// What was found: numbers of texts and how far apart, in the order of the leaders.
pub(super) struct Groups {
    pub pairs: Sorted,
    pub cut: u64,
}

/// The next number in a record.
fn number(record: &mut &[u8]) -> Option<u64> {
    let (number, rest) = record.split_first_chunk()?;
    *record = rest;
    Some(u64::from_be_bytes(*number))
}

/// Finds the groups. The first of near texts leads, and a text near a leader leads nobody. `step` is asked now and then whether to go on.
///
/// # Errors
/// A file cannot be written or read, or `step` says so.
pub(super) fn groups<E: From<io::Error>>(
    texts: &mut Written,
    dir: &Path,
    mut step: impl FnMut(u64) -> Result<(), E>,
) -> Result<Groups, E> {
    let (mut close, mut cut) = (Sorter::new(dir), 0);
    for table in 0..TABLES {
        let mut rows = texts.table(table, dir)?;
        let (mut window, mut shared) = (VecDeque::<(Words, u64)>::new(), Band::default());
        while let Some(record) = rows.next_record()? {
            let Some((own, rest)) = record.split_first_chunk() else { continue };
            let Some((words, mut rest)) = rest.split_first_chunk::<32>() else { continue };
            let Some((words, nth)) = words_of(words).zip(number(&mut rest)) else { continue };
            if *own != shared {
                window.clear();
                shared = *own;
            }
            for (other, before) in &window {
                // Two that share a band in several tables are compared in the first of them.
                let earlier = other.iter().zip(words).take(table.into()).any(|(one, other)| band(*one) == band(other));
                if let Some(distance) = apart(other, &words).filter(|_| !earlier) {
                    let (first, later) = (nth.min(*before), nth.max(*before));
                    close.push(&[&later.to_be_bytes()[..], &[distance], &first.to_be_bytes()].concat())?;
                }
            }
            window.push_back((words, nth));
            if window.len() > WINDOW {
                window.pop_front();
                cut += 1;
            }
            step(1)?;
        }
    }
    Ok(Groups { pairs: led(texts, close.sorted()?, dir, step)?, cut })
}

/// Who follows whom, of pairs sorted by the later text, then by how close they are.
fn led<E: From<io::Error>>(
    texts: &mut Written,
    mut close: Sorted,
    dir: &Path,
    mut step: impl FnMut(u64) -> Result<(), E>,
) -> Result<Sorted, E> {
    let mut follows = vec![0_u64; usize::try_from(texts.count.div_ceil(64)).unwrap_or_default()];
    let is_set = |follows: &[u64], nth: u64| {
        let word = usize::try_from(nth / 64).ok().and_then(|at| follows.get(at));
        word.is_some_and(|word| word >> (nth % 64) & 1 == 1)
    };
    let mut out = Sorter::new(dir);
    while let Some(record) = close.next_record()? {
        let mut rest = &record[..];
        let Some(later) = number(&mut rest) else { continue };
        let Some((distance, mut rest)) = rest.split_first() else { continue };
        let Some(first) = number(&mut rest) else { continue };
        if is_set(&follows, later) || is_set(&follows, first) {
            continue;
        }
        let (one, other) = (texts.get(first)?, texts.get(later)?);
        if one.domain != other.domain && one.sketch.distance(&other.sketch).is_some() {
            let word = usize::try_from(later / 64).ok().and_then(|at| follows.get_mut(at));
            word.into_iter().for_each(|word| *word |= 1 << (later % 64));
            out.push(&[&first.to_be_bytes()[..], &[*distance], &later.to_be_bytes()].concat())?;
        }
        step(0)?;
    }
    Ok(out.sorted()?)
}

/// A leader, who follows it, and how far they are apart.
pub(super) fn pair(record: &[u8]) -> Option<(u64, u64, u8)> {
    let mut rest = record;
    let leader = number(&mut rest)?;
    let (distance, mut rest) = rest.split_first()?;
    Some((leader, number(&mut rest)?, *distance))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn found(all: &[Text]) -> Vec<(u64, u64, u8)> {
        let dir = tempfile::tempdir().unwrap();
        let mut texts = Texts::new(dir.path()).unwrap();
        all.iter().for_each(|text| texts.push(text).unwrap());
        let mut written = texts.end().unwrap();
        assert!(all.iter().zip(0..).all(|(text, nth)| written.get(nth).unwrap() == *text));
        let mut groups = groups(&mut written, dir.path(), |_| Ok::<(), io::Error>(())).unwrap();
        assert_eq!(groups.cut, 0);
        let mut pairs = Vec::new();
        while let Some(record) = groups.pairs.next_record().unwrap() {
            pairs.push(pair(&record).unwrap());
        }
        pairs
    }

    /// The same by a look at all that came before.
    fn by_force(all: &[Text]) -> Vec<(u64, u64, u8)> {
        let mut pairs: Vec<(u64, u64, u8)> = Vec::new();
        for (later, text) in (0..).zip(all) {
            let leads = |nth: u64| !pairs.iter().any(|(_, follows, _)| *follows == nth);
            let before = (0..later).zip(all).filter(|(nth, other)| leads(*nth) && other.domain != text.domain);
            let near = before.filter_map(|(nth, other)| Some((other.sketch.distance(&text.sketch)?, nth)));
            pairs.extend(near.min().map(|(distance, first)| (first, later, distance)));
        }
        pairs.sort_unstable_by_key(|(first, later, distance)| (*first, *distance, *later));
        pairs
    }

    proptest! {
        #[test]
        fn groups_are_those_that_a_look_at_every_pair_finds(
            all in prop::collection::vec((0..4_u64, prop::collection::vec(0..256_u32, 0..5), 0..5_u8, 95..102_u32), 0..40),
        ) {
            let text = |(of, flipped, domain, features): (u64, Vec<u32>, u8, u32)| {
                let mut bits = [1, 2, 3, 4].map(|word: u64| (of + word).wrapping_mul(0x9e37_79b9_7f4a_7c15));
                // Always a band that stays as it is.
                flipped.into_iter().for_each(|bit| bits[bit as usize / 64 % 3] ^= 1 << (bit % 64));
                Text { sketch: Sketch { bits, features, letters: 600 }, domain: [domain; 8], page: [7; 22] }
            };
            let all: Vec<Text> = all.into_iter().map(text).collect();
            prop_assert_eq!(found(&all), by_force(&all));
        }
    }
}
