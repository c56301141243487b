//! One WARC file being written.

use std::fs;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use super::append::{AppendFile, TailRepair, sync_dir};
use super::error::WarcError;
use super::name::open_name;
use crate::base::time::UnixMillis;
use crate::document::Document;

/// Bytes gathered before they are handed to the system in one write.
const GATHER: usize = 1024 * 1024;

/// When a WARC is full.
#[derive(Clone, Copy, Debug)]
pub struct WarcLimits {
    /// Bytes after which a file is closed; the last records may exceed it.
    pub max_size: u64,
    /// Age after which a file is closed.
    pub max_age: Duration,
}

/// Where a record stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The WARC's final name, without folder.
    pub file: Arc<str>,
    /// Its first byte.
    pub offset: u64,
    /// Its bytes.
    pub length: u64,
}

/// A WARC being written, `NAME.open` until it is closed.
#[derive(Debug)]
pub struct WarcWriter {
    dir: PathBuf,
    name: Arc<str>,
    /// Its bytes; records go in by [`append`](Self::append).
    pub(super) file: AppendFile,
    limits: WarcLimits,
    opened: UnixMillis,
}

impl WarcWriter {
    /// Begins a new file in `dir`; `name` is its final one. The caller appends the `warcinfo` record first.
    ///
    /// # Errors
    /// [`WarcError::Io`]; of kind `AlreadyExists` when the name is taken.
    pub fn create(dir: &Path, name: &str, now: UnixMillis, limits: WarcLimits) -> Result<Self, WarcError> {
        let closed = dir.join(name);
        if closed.exists() {
            let source = io::Error::from(io::ErrorKind::AlreadyExists);
            return Err(WarcError::Io { action: "create", path: closed, source });
        }
        let file = AppendFile::create(&dir.join(open_name(name)))?;
        sync_dir(dir)?;
        Ok(Self { dir: dir.to_owned(), name: name.into(), file, limits, opened: now })
    }

    /// Takes up `name` (a final name) again: `NAME.open` is cut to its `committed` length.
    ///
    /// Its age counts from `now` again.
    ///
    /// # Errors
    /// [`WarcError::Io`]; of kind `NotFound` when there is no `NAME.open`.
    pub fn resume(
        dir: &Path,
        name: &str,
        committed: u64,
        now: UnixMillis,
        limits: WarcLimits,
    ) -> Result<(Self, TailRepair), WarcError> {
        let (file, repair) = AppendFile::resume(&dir.join(open_name(name)), committed, false)?;
        let this = Self { dir: dir.to_owned(), name: name.into(), file, limits, opened: now };
        Ok((this, repair))
    }

    /// The final name.
    pub fn name(&self) -> &Arc<str> {
        &self.name
    }

    /// The file as it is named now.
    pub fn path(&self) -> &Path {
        self.file.path()
    }

    /// Bytes appended so far: the place of the next record.
    pub fn position(&self) -> u64 {
        self.file.len()
    }

    /// Appends records, all or none, with one write call per mebibyte; gives their places in the same order.
    ///
    /// # Errors
    /// [`WarcError::Io`] with nothing appended; [`WarcError::Refusing`] after a fault that could not be undone.
    pub fn append<'r>(&mut self, records: impl IntoIterator<Item = &'r Document>) -> Result<Vec<Place>, WarcError> {
        let mut places = Vec::new();
        let (name, begin) = (&self.name, self.file.len());
        self.file.append_with(|file| {
            let (mut out, mut offset) = (BufWriter::with_capacity(GATHER, file), begin);
            for record in records {
                record.write_to(&mut out)?;
                let length = record.len();
                places.push(Place { file: Arc::clone(name), offset, length });
                offset += length;
            }
            out.flush()?;
            Ok(offset - begin)
        })?;
        Ok(places)
    }

    /// True when the file should be closed and another begun: it is full, or old, or from the future, as after a clock was set
    /// back, so that its name and the dates in it agree.
    pub fn rotate_due(&self, now: UnixMillis) -> bool {
        now < self.opened || self.position() >= self.limits.max_size || now.since(self.opened) >= self.limits.max_age
    }

    /// Syncs, gives the file its final name and syncs the folder; gives the final path. After it, writes are refused.
    ///
    /// # Errors
    /// [`WarcError::Io`]; the file then keeps its `.open` name and takes writes.
    pub fn close(&mut self) -> Result<PathBuf, WarcError> {
        self.file.sync()?;
        let path = close_name(&self.dir, &self.name)?;
        self.file.seal();
        Ok(path)
    }
}

/// Renames `NAME.open` to `NAME` and syncs the folder.
pub(super) fn close_name(dir: &Path, name: &str) -> Result<PathBuf, WarcError> {
    let (open, closed) = (dir.join(open_name(name)), dir.join(name));
    if closed.exists() {
        let source = io::Error::from(io::ErrorKind::AlreadyExists);
        return Err(WarcError::Io { action: "rename to", path: closed, source });
    }
    fs::rename(&open, &closed).map_err(WarcError::io("close", &open))?;
    sync_dir(dir)?;
    Ok(closed)
}
