//! Sorts more than memory holds: pieces are sorted, written to nameless files, and merged.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Seek, Write};
use std::path::{Path, PathBuf};

/// Bytes of records held before a piece is written.
const HELD: usize = 16 << 20;
/// Read ahead of each piece.
const AHEAD: usize = 64 << 10;

/// Takes records in any order.
pub struct Sorter {
    dir: PathBuf,
    held: usize,
    piece: Piece,
    files: Vec<File>,
}

/// Records in memory, end to end.
#[derive(Default)]
struct Piece {
    bytes: Vec<u8>,
    ends: Vec<(usize, usize)>,
}

impl Piece {
    fn push(&mut self, record: &[u8]) {
        let from = self.bytes.len();
        self.bytes.extend_from_slice(record);
        self.ends.push((from, self.bytes.len()));
    }

    fn size(&self) -> usize {
        self.bytes.len() + self.ends.len() * size_of::<(usize, usize)>()
    }

    fn sort(&mut self) {
        let bytes = &self.bytes;
        self.ends.sort_unstable_by_key(|(from, until)| bytes.get(*from..*until));
    }

    /// Writes it sorted, and is empty afterwards.
    fn write(&mut self, dir: &Path) -> io::Result<File> {
        self.sort();
        let mut out = BufWriter::with_capacity(AHEAD, tempfile::tempfile_in(dir)?);
        for (from, until) in self.ends.drain(..) {
            let record = self.bytes.get(from..until).unwrap_or_default();
            out.write_all(&u32::try_from(record.len()).map_err(io::Error::other)?.to_le_bytes())?;
            out.write_all(record)?;
        }
        self.bytes.clear();
        let mut file = out.into_inner().map_err(io::IntoInnerError::into_error)?;
        file.rewind()?;
        Ok(file)
    }
}

impl Sorter {
    /// With its files in `dir`, which are needed for much only.
    pub fn new(dir: &Path) -> Self {
        Self::holding(dir, HELD)
    }

    fn holding(dir: &Path, held: usize) -> Self {
        Self { dir: dir.to_owned(), held, piece: Piece::default(), files: Vec::new() }
    }

    /// Takes a record.
    pub fn push(&mut self, record: &[u8]) -> io::Result<()> {
        self.piece.push(record);
        if self.piece.size() >= self.held {
            self.files.push(self.piece.write(&self.dir)?);
        }
        Ok(())
    }

    /// All records in the order of their bytes, each as often as it came.
    pub fn sorted(mut self) -> io::Result<Sorted> {
        self.piece.sort();
        let files = self.files.into_iter().map(|file| Source::File(BufReader::with_capacity(AHEAD, file)));
        let sources = files.chain([Source::Memory(self.piece, 0)]).collect();
        let mut sorted = Sorted { sources, next: BinaryHeap::new() };
        (0..sorted.sources.len()).try_for_each(|number| sorted.advance(number))?;
        Ok(sorted)
    }
}

/// Records in order.
pub struct Sorted {
    sources: Vec<Source>,
    next: BinaryHeap<Reverse<(Vec<u8>, usize)>>,
}

/// A sorted piece.
enum Source {
    File(BufReader<File>),
    Memory(Piece, usize),
}

impl Source {
    fn next(&mut self) -> io::Result<Option<Vec<u8>>> {
        match self {
            Self::Memory(piece, at) => {
                let found = piece.ends.get(*at).and_then(|(from, until)| piece.bytes.get(*from..*until));
                *at += 1;
                Ok(found.map(<[u8]>::to_vec))
            }
            Self::File(file) => {
                let mut length = [0; 4];
                match file.read_exact(&mut length) {
                    Err(e) if e.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
                    other => other?,
                }
                let mut record = vec![0; usize::try_from(u32::from_le_bytes(length)).map_err(io::Error::other)?];
                file.read_exact(&mut record)?;
                Ok(Some(record))
            }
        }
    }
}

impl Sorted {
    fn advance(&mut self, number: usize) -> io::Result<()> {
        if let Some(source) = self.sources.get_mut(number)
            && let Some(record) = source.next()?
        {
            self.next.push(Reverse((record, number)));
        }
        Ok(())
    }

    /// The next record.
    pub fn next_record(&mut self) -> io::Result<Option<Vec<u8>>> {
        let Some(Reverse((record, number))) = self.next.pop() else { return Ok(None) };
        self.advance(number)?;
        Ok(Some(record))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn much_and_little_come_back_in_order(
            records in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..9), 0..80),
            held in 1_usize..400,
        ) {
            let dir = tempfile::tempdir().unwrap();
            let mut sorter = Sorter::holding(dir.path(), held);
            records.iter().for_each(|record| sorter.push(record).unwrap());
            let mut sorted = sorter.sorted().unwrap();
            let mut got = Vec::new();
            while let Some(record) = sorted.next_record().unwrap() {
                got.push(record);
            }
            let mut wanted = records;
            wanted.sort();
            prop_assert_eq!(got, wanted);
            prop_assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
        }
    }
}
