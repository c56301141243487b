//! Why an export did not come to its end.

use std::io;
use std::path::{Path, PathBuf};

use crate::base::disk::DiskFault;
use crate::storage::StorageError;

/// What ends an export. What cannot be read of single pages does not: it is counted, and named in the manifest.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ExportError {
    /// What was asked for makes no sense.
    #[error("{0}")]
    Asked(String),
    /// There is something already.
    #[error("{} is there already; name another place with --to, or replace it with --force", .0.display())]
    There(PathBuf),
    /// Another export is writing it.
    #[error("{} is being written by another export; wait for its end, or name another place with --to", .0.display())]
    Busy(PathBuf),
    /// The system refused to write. What was written is removed.
    #[error("{} cannot be written: {source}{}", path.display(), advice(source))]
    Write {
        /// What was to be written.
        path: PathBuf,
        /// The system's own words.
        source: io::Error,
    },
    /// A file that was read before cannot be read any more. What was written is removed.
    #[error("{} cannot be read any more: {source}; it was taken away while it was being exported: begin anew", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The system's own words.
        source: io::Error,
    },
    /// The database cannot be read.
    #[error(transparent)]
    Storage(#[from] StorageError),
    /// Somebody wanted it to end. What was written is removed.
    #[error("stopped: nothing was left at the place named; the same command begins anew")]
    Stopped,
}

impl ExportError {
    /// Wraps a fault of the system; for `map_err`.
    pub fn write(path: &Path) -> impl FnOnce(io::Error) -> Self + '_ {
        move |source| Self::Write { path: path.to_owned(), source }
    }

    /// What it says of the disk; none when it is no fault of a disk.
    pub fn fault(&self) -> Option<DiskFault> {
        match self {
            Self::Write { source, .. } | Self::Read { source, .. } => Some(DiskFault::of_io(source)),
            Self::Storage(error) => Some(error.fault()),
            _ => None,
        }
    }
}

/// A fault of writing whose path is told by [`run`](super::run::run).
impl From<io::Error> for ExportError {
    fn from(source: io::Error) -> Self {
        Self::Write { path: PathBuf::new(), source }
    }
}

fn advice(error: &io::Error) -> &'static str {
    match DiskFault::of_io(error) {
        DiskFault::Full => {
            "; what was written of it is removed: free space, narrow it with filters, or name a place on another disk with --to"
        }
        DiskFault::ReadOnly => "; name a place that can be written with --to",
        _ => "",
    }
}
