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

use data_encoding::HEXLOWER;
use xxhash_rust::xxh3::xxh3_64;

use super::values::{FeedLog, FormerFeed, Shown};
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
            None => {
                let path = data.join(self.name);
                if fs::metadata(&path).is_ok_and(|found| !found.is_file()) {
                    return Err(io::Error::other("it is no file")); // opening a pipe would wait for ever
                }
                let file = own::in_place(&path)?;
                file.set_len(text.len() as u64)?; // what is behind would spoil it for ever
                file
            }
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

    /// Notes that the entries of a feed up to `high` are to be shown.
    ///
    /// # Errors
    /// The system's own; then the mark is an older one.
    pub fn fed(&mut self, data: &Path, log: &FeedLog, high: u64) -> io::Result<()> {
        let former = log.former.iter().map(|f| format!(" {} {:020}", HEXLOWER.encode(&f.id), f.common));
        let said = format!("{} {high:020}{}", HEXLOWER.encode(&log.id), former.collect::<String>());
        self.note(data, with_digest(said))
    }
}

/// How far the database was synced, as far as is known.
pub fn synced(data: &Path) -> Option<u64> {
    whole(data, SYNCED)?.parse().ok()
}

/// Which feed was shown, and how far, as far as is known.
pub fn fed(data: &Path) -> Option<Shown> {
    let text = whole(data, FED)?;
    let words: Vec<&str> = text.split(' ').collect();
    let pair = |pair: &[&str]| -> Option<([u8; 8], u64)> {
        let [id, number] = pair else { return None };
        Some((HEXLOWER.decode(id.as_bytes()).ok()?.try_into().ok()?, number.parse().ok()?))
    };
    let mut pairs = words.chunks(2).map(pair).collect::<Option<Vec<_>>>()?.into_iter();
    let (id, high) = pairs.next()?;
    let former = pairs.map(|(id, common)| FormerFeed { id, common, began: 0 }).collect();
    Some(Shown { log: FeedLog { id, former, ..FeedLog::default() }, high })
}

/// What a mark says, when it is whole.
fn whole(data: &Path, name: &str) -> Option<String> {
    let path = data.join(name);
    let found = fs::metadata(&path).ok().filter(fs::Metadata::is_file).and_then(|_| fs::read_to_string(path).ok())?;
    let said = found.rsplit_once(' ')?.0.to_owned();
    (with_digest(said.clone()) == found).then_some(said)
}

/// The text of a mark, of one length as long as it is open.
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
        let former = FormerFeed { id: [7; 8], common: 5, began: 0 };
        let log = FeedLog { id: [0, 1, 2, 3, 4, 5, 6, 255], former: vec![former], ..FeedLog::default() };
        // What is longer, of somebody else, does not spoil it for ever.
        fs::write(dir.path().join(FED), [b'x'; 5_000]).unwrap();
        let (mut mark, mut shown) = (Mark::new(SYNCED), Mark::new(FED));
        for number in [1, 99, u64::MAX] {
            mark.synced(dir.path(), number).unwrap();
            shown.fed(dir.path(), &log, number).unwrap();
            assert_eq!(synced(dir.path()), Some(number));
            assert_eq!(fed(dir.path()), Some(Shown { log: log.clone(), high: number }));
        }
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join(FED)).unwrap();
        assert!(Mark::new(FED).fed(folder.path(), &log, 1).is_err() && fed(folder.path()).is_none());
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
