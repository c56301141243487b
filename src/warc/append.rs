//! A file that only grows, whose good length is always known.
//!
//! Shared by WARC, CDXJ and `crawl.jsonl`. A write that fails half-way is cut off again at once; when even that fails, or
//! a sync fails, the file refuses every further write, because nobody can say any more what is on the disk.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use super::error::WarcError;
use crate::base::disk::own;

/// An append-only file.
#[derive(Debug)]
pub struct AppendFile {
    path: PathBuf,
    file: File,
    len: u64,
    synced: u64,
    refusing: bool,
}

/// What taking up a file again did to its end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TailRepair {
    /// Bytes beyond the committed length that were cut off.
    pub cut: u64,
    /// Committed bytes that are not there (the system stopped before they reached the disk).
    pub missing: u64,
}

impl AppendFile {
    /// Creates the file; it must not exist.
    ///
    /// # Errors
    /// [`WarcError::Io`]; of kind `AlreadyExists` when there is such a file.
    pub fn create(path: &Path) -> Result<Self, WarcError> {
        let file = OpenOptions::new().append(true).read(true).create_new(true).open(path);
        let file = file.map_err(WarcError::io("create", path))?;
        Ok(Self { path: path.to_owned(), file, len: 0, synced: 0, refusing: false })
    }

    /// Takes up a file again: what lies beyond `committed` bytes is cut off (invariant I3). A shorter file is left as
    /// it is and the lack reported. `create` says whether a missing file counts as an empty one or is an error.
    pub fn resume(path: &Path, committed: u64, create: bool) -> Result<(Self, TailRepair), WarcError> {
        let file = own::open(path, |how| how.append(true).read(true).create(create));
        let file = file.map_err(WarcError::io("open", path))?;
        let found = file.metadata().map_err(WarcError::io("read the length of", path))?.len();
        let mut this = Self { path: path.to_owned(), file, len: found, synced: 0, refusing: false };
        if found > committed {
            this.cut_back(committed)?;
        }
        let repair = TailRepair { cut: found.saturating_sub(committed), missing: committed.saturating_sub(found) };
        Ok((this, repair))
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Good bytes: everything appended so far.
    #[expect(clippy::len_without_is_empty, reason = "a place in a file, no collection")]
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Appends `bytes` and gives the offset of their first.
    ///
    /// # Errors
    /// [`WarcError::Io`], with nothing appended; [`WarcError::Refusing`] after a fault that could not be undone.
    pub fn append(&mut self, bytes: &[u8]) -> Result<u64, WarcError> {
        self.append_with(|file| file.write_all(bytes).map(|()| bytes.len() as u64))
    }

    /// Appends what `write` writes; it gives the number of bytes. All or nothing, as [`append`](Self::append).
    pub fn append_with(&mut self, write: impl FnOnce(&mut File) -> io::Result<u64>) -> Result<u64, WarcError> {
        self.check()?;
        let offset = self.len;
        match write(&mut self.file) {
            Ok(written) => {
                self.len += written;
                Ok(offset)
            }
            Err(source) => {
                // A fault of the cutting itself makes the file refuse from now on; the first fault is the one to report.
                let _ = self.cut_back(offset);
                Err(WarcError::Io { action: "append to", path: self.path.clone(), source })
            }
        }
    }

    /// Cuts the file back to `len` good bytes, to undo what was appended but not committed.
    ///
    /// # Errors
    /// [`WarcError::BeyondEnd`] when the file is shorter; [`WarcError::Io`], after which it refuses writes.
    pub fn roll_back(&mut self, len: u64) -> Result<(), WarcError> {
        self.check()?;
        if len > self.len {
            return Err(WarcError::BeyondEnd { path: self.path.clone(), wanted: len, len: self.len });
        }
        if len < self.len { self.cut_back(len) } else { Ok(()) }
    }

    /// The bytes from `from` on.
    pub fn end_from(&self, from: u64) -> Result<Vec<u8>, WarcError> {
        let mut end = vec![0; usize::try_from(self.len.saturating_sub(from)).unwrap_or(usize::MAX)];
        self.file.read_exact_at(&mut end, from).map_err(WarcError::io("read", &self.path))?;
        Ok(end)
    }

    /// Brings everything appended to the disk (fdatasync).
    ///
    /// # Errors
    /// [`WarcError::Io`]. A failed sync leaves unknown what is on the disk, so the file refuses writes from then on.
    pub fn sync(&mut self) -> Result<(), WarcError> {
        self.check()?;
        if self.synced == self.len {
            return Ok(());
        }
        self.file.sync_data().map_err(|source| {
            self.refusing = true;
            WarcError::Io { action: "sync", path: self.path.clone(), source }
        })?;
        self.synced = self.len;
        Ok(())
    }

    /// Writes the bytes from `from` on a second time, in their place. After a sync that failed the system may take them for
    /// written though they are not on the disk; so the next sync brings them there.
    pub fn write_again(&mut self, from: u64) -> Result<(), WarcError> {
        let file = own::open(&self.path, |how| how.read(true).write(true)); // one that appends writes at its end only
        let file = file.map_err(WarcError::io("open", &self.path))?;
        let mut piece = vec![0; 256 * 1024];
        let mut at = from;
        while at < self.len {
            let n = usize::try_from(self.len - at).unwrap_or(usize::MAX).min(piece.len());
            let now = piece.get_mut(..n).unwrap_or_default();
            let copied = file.read_exact_at(now, at).and_then(|()| file.write_all_at(now, at));
            copied.map_err(WarcError::io("write again the end of", &self.path))?;
            at += n as u64;
        }
        self.synced = self.synced.min(from);
        Ok(())
    }

    /// Refuses every further write: the file is finished.
    pub(super) fn seal(&mut self) {
        self.refusing = true;
    }

    fn check(&self) -> Result<(), WarcError> {
        if self.refusing { Err(WarcError::Refusing(self.path.clone())) } else { Ok(()) }
    }

    /// Cuts and syncs: after a power failure the old end may not lie where something else was appended since.
    fn cut_back(&mut self, len: u64) -> Result<(), WarcError> {
        self.file.set_len(len).and_then(|()| self.file.sync_data()).map_err(|source| {
            self.refusing = true;
            WarcError::Io { action: "cut the end off", path: self.path.clone(), source }
        })?;
        (self.len, self.synced) = (len, len);
        Ok(())
    }
}

/// Brings a folder's entries (created, renamed, removed files) to the disk.
pub fn sync_dir(dir: &Path) -> Result<(), WarcError> {
    File::open(dir).and_then(|d| d.sync_all()).map_err(WarcError::io("sync the folder", dir))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    /// A file with this content of which so many bytes are committed, taken up again.
    fn resumed(content: &[u8], committed: u64) -> (tempfile::TempDir, PathBuf, AppendFile, TailRepair) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("f");
        fs::write(&path, content).unwrap();
        let (file, repair) = AppendFile::resume(&path, committed, false).unwrap();
        (dir, path, file, repair)
    }

    #[test]
    fn what_lies_beyond_the_committed_length_is_cut_off() {
        let (_dir, path, mut file, repair) = resumed(b"committed and torn", 9);
        assert_eq!(repair, TailRepair { cut: 9, missing: 0 });
        assert_eq!(file.append(b"!").unwrap(), 9);
        assert_eq!(fs::read(&path).unwrap(), b"committed!");
    }

    #[test]
    fn a_file_shorter_than_committed_is_reported_and_kept() {
        let (_dir, _, file, repair) = resumed(b"abc", 10);
        assert_eq!((file.len(), repair), (3, TailRepair { cut: 0, missing: 7 }));
    }

    #[test]
    fn writing_the_end_again_changes_nothing_and_asks_for_a_sync() {
        let content: Vec<u8> = (0..600_000_u32).map(|n| n as u8).collect();
        let len = content.len() as u64;
        let (_dir, path, mut file, _) = resumed(&content, len);
        file.sync().unwrap();
        file.write_again(1_000).unwrap();
        assert_eq!((file.len(), file.synced), (len, 1_000));
        assert_eq!(fs::read(&path).unwrap(), content);
        assert_eq!(file.append(b"!").unwrap(), len);
    }

    #[test]
    fn an_existing_file_is_never_created_over() {
        let (_dir, path, ..) = resumed(b"old", 3);
        assert!(matches!(AppendFile::create(&path), Err(WarcError::Io { source, .. })
            if source.kind() == io::ErrorKind::AlreadyExists));
        assert_eq!(fs::read(&path).unwrap(), b"old");
    }

    #[test]
    fn a_write_that_fails_half_way_leaves_nothing_behind() {
        let (_dir, path, mut file, _) = resumed(b"good", 4);
        let failed = file.append_with(|f| {
            f.write_all(b"half")?;
            Err(io::Error::from(io::ErrorKind::StorageFull))
        });
        assert_eq!(failed.unwrap_err().fault(), crate::base::disk::DiskFault::Full);
        assert_eq!(fs::read(&path).unwrap(), b"good");
        assert_eq!(file.append(b"!").unwrap(), 4);
    }

    #[test]
    fn a_file_that_cannot_be_cut_refuses_every_further_write() {
        let (_dir, path, mut file, _) = resumed(b"good", 4);
        file.file = File::open(&path).unwrap(); // read-only: writing and cutting both fail
        assert!(matches!(file.append(b"x"), Err(WarcError::Io { .. })));
        assert!(matches!(file.append(b"x"), Err(WarcError::Refusing(_))));
        assert!(matches!(file.sync(), Err(WarcError::Refusing(_))));
        assert!(matches!(file.roll_back(0), Err(WarcError::Refusing(_))));
    }

    #[test]
    fn rolling_back_undoes_appends_and_never_grows_the_file() {
        let (_dir, path, mut file, _) = resumed(b"", 0);
        file.append(b"kept").unwrap();
        file.sync().unwrap();
        file.append(b"undone").unwrap();
        file.roll_back(4).unwrap();
        assert_eq!((file.len(), file.synced), (4, 4));
        assert!(matches!(file.roll_back(5), Err(WarcError::BeyondEnd { wanted: 5, len: 4, .. })));
        file.append(b"!").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"kept!");
    }
}
