//! Marks: small files beside the database that say how far it was, so that one which is behind is known to be.
//!
//! `synced`: how far it was synced. RocksDB drops what follows a damaged place of its log, and cannot tell that from a log torn by a
//! power failure. The mark can: it is written when a sync has returned, so that a database which is behind its mark has lost what was
//! safe. `fed`: which feed was shown, and how far. A database that was put back to a former state is behind it, or has none beside it:
//! its next entries are not the ones that somebody may have read under the same numbers.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

use xxhash_rust::xxh3::xxh3_64;

use crate::base::disk::own;

/// How far the database was synced: name in the data folder.
pub const SYNCED: &str = "synced";
/// Which feed was shown, and how far.
pub const FED: &str = "fed";

/// A mark of a data folder that is open.
#[derive(Debug)]
pub struct Mark {
    name: &'static str,
    file: Option<File>,
    noted: String,
}

impl Mark {
    /// The one of this name.
    pub fn new(name: &'static str) -> Self {
        Self { name, file: None, noted: String::new() }
    }

    /// Notes a text. In place, by one small write, and not synced itself: an older mark or a torn one promises less.
    fn note(&mut self, data: &Path, text: String) -> io::Result<()> {
        if text == self.noted {
            return Ok(());
        }
        let file = match self.file.take() {
            Some(file) => file,
            None => own::in_place(&data.join(self.name))?,
        };
        file.write_all_at(text.as_bytes(), 0)?;
        (self.file, self.noted) = (Some(file), text);
        Ok(())
    }

    /// Notes that all changes up to `sequence` are synced.
    ///
    /// # Errors
    /// The system's own; then the mark is an older one.
    pub fn synced(&mut self, data: &Path, sequence: u64) -> io::Result<()> {
        self.note(data, with_digest(format!("{sequence:020}")))
    }

    /// Notes that the entries of a feed up to `number` are to be shown.
    ///
    /// # Errors
    /// The system's own; then the mark is an older one.
    pub fn fed(&mut self, data: &Path, feed: [u8; 8], number: u64) -> io::Result<()> {
        self.note(data, with_digest(format!("{:016x} {number:020}", u64::from_be_bytes(feed))))
    }
}

/// How far the database was synced, as far as is known.
pub fn synced(data: &Path) -> Option<u64> {
    whole(data, SYNCED)?.parse().ok()
}

/// Which feed was shown, and how far, as far as is known.
pub fn fed(data: &Path) -> Option<([u8; 8], u64)> {
    let text = whole(data, FED)?;
    let (feed, number) = text.split_once(' ')?;
    Some((u64::from_str_radix(feed, 16).ok()?.to_be_bytes(), number.parse().ok()?))
}

/// What a mark says, when it is whole.
fn whole(data: &Path, name: &str) -> Option<String> {
    let found = fs::read_to_string(data.join(name)).ok()?;
    let said = found.rsplit_once(' ')?.0.to_owned();
    (with_digest(said.clone()) == found).then_some(said)
}

/// The text of a mark, always of one length.
fn with_digest(said: String) -> String {
    let digest = xxh3_64(said.as_bytes());
    format!("{said} {digest:016x}\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_is_read_back_and_a_torn_or_foreign_one_says_nothing() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(synced(dir.path()), None);
        let (mut mark, mut shown) = (Mark::new(SYNCED), Mark::new(FED));
        for number in [1, 99, u64::MAX] {
            mark.synced(dir.path(), number).unwrap();
            shown.fed(dir.path(), [0, 1, 2, 3, 4, 5, 6, 255], number).unwrap();
            assert_eq!(synced(dir.path()), Some(number));
            assert_eq!(fed(dir.path()), Some(([0, 1, 2, 3, 4, 5, 6, 255], number)));
        }
        let text = |number: u64| with_digest(format!("{number:020}"));
        let whole = text(7);
        let mixed = format!("{}{}", &text(10)[..19], &whole[19..]);
        for torn in [&whole[..whole.len() - 1], &mixed, "", "x", "\0\0\0\0", "99999999999999999999999 x"] {
            fs::write(dir.path().join(SYNCED), torn).unwrap();
            fs::write(dir.path().join(FED), torn).unwrap();
            assert_eq!((synced(dir.path()), fed(dir.path())), (None, None), "{torn:?}");
        }
    }
}
