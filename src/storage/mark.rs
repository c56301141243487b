//! The mark: how far the database was synced, noted outside of it.
//!
//! RocksDB drops what follows a damaged place of its log, and cannot tell that from a log torn by a power failure. The mark
//! can: it is written when a sync has returned, so that a database which is behind its mark has lost what was safe.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

use xxhash_rust::xxh3::xxh3_64;

use crate::base::disk::own;

/// Its name in the data folder.
pub const MARK: &str = "synced";

/// The mark of a data folder that is open.
#[derive(Debug, Default)]
pub struct Mark {
    file: Option<File>,
    noted: u64,
}

impl Mark {
    /// Notes that all changes up to `sequence` are synced. In place, by one small write, and not synced itself: an older mark
    /// or a torn one promises less.
    ///
    /// # Errors
    /// The system's own; then the mark is an older one.
    pub fn note(&mut self, data: &Path, sequence: u64) -> io::Result<()> {
        if sequence == self.noted {
            return Ok(());
        }
        let file = match self.file.take() {
            Some(file) => file,
            None => own::in_place(&data.join(MARK))?,
        };
        file.write_all_at(text(sequence).as_bytes(), 0)?;
        (self.file, self.noted) = (Some(file), sequence);
        Ok(())
    }
}

/// How far the database was synced, as far as is known.
pub fn read(data: &Path) -> Option<u64> {
    let found = fs::read_to_string(data.join(MARK)).ok()?;
    let sequence = found.get(..20)?.parse().ok()?;
    (found == text(sequence)).then_some(sequence)
}

/// Number and digest, always of one length.
fn text(sequence: u64) -> String {
    format!("{sequence:020} {:016x}\n", xxh3_64(&sequence.to_be_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_is_read_back_and_a_torn_or_foreign_one_says_nothing() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(read(dir.path()), None);
        let mut mark = Mark::default();
        for sequence in [1, 99, u64::MAX] {
            mark.note(dir.path(), sequence).unwrap();
            assert_eq!(read(dir.path()), Some(sequence));
        }
        let whole = text(7);
        let mixed = format!("{}{}", &text(10)[..19], &whole[19..]);
        for torn in [&whole[..whole.len() - 1], &mixed, "", "x", "\0\0\0\0", "99999999999999999999999 x"] {
            fs::write(dir.path().join(MARK), torn).unwrap();
            assert_eq!(read(dir.path()), None, "{torn:?}");
        }
    }
}
