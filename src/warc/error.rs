//! What can go wrong while archives are written.

use std::io;
use std::path::{Path, PathBuf};

use super::folder::NOTE;
use crate::base::disk::DiskFault;

/// A fault of the archive files. Every variant names the file; the fault of the system is kept as its source.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WarcError {
    /// The system refused an operation on a file.
    #[error("could not {action} {}: {source}", path.display())]
    Io {
        /// What was tried, as a verb phrase ("append to").
        action: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// The system's own words.
        source: io::Error,
    },
    /// An earlier write or sync failed and could not be undone, so the file's end is unknown.
    #[error(
        "{} refuses writes since an earlier write or sync failed; free space or check the disk, then start again",
        .0.display()
    )]
    Refusing(PathBuf),
    /// A roll back was asked to a length that the file has not reached.
    #[error("cannot cut {} to {wanted} bytes: it has only {len}", path.display())]
    BeyondEnd {
        /// The file.
        path: PathBuf,
        /// The length asked for, bytes.
        wanted: u64,
        /// The length it has, bytes.
        len: u64,
    },
    /// Another process has the archive's folder open.
    #[error("archive folder {} is in use by another running crawl; give this one a folder of its own in store.warc_dir", .0.display())]
    InUse(PathBuf),
    /// The archive's folder holds the files of another data folder.
    #[error(
        "archive folder {} belongs to another data folder; name another one in store.warc_dir (or remove {} if that crawl is \
         gone for good)",
        dir.display(),
        note.display()
    )]
    Foreign {
        /// The folder.
        dir: PathBuf,
        /// The note that says so.
        note: PathBuf,
    },
    /// A file that the database names is not where the settings say.
    #[error(
        "{} is missing, though the database says that pages are in it; mount its disk or name its folder in \
         store.warc_dir; to go on without those pages, put an empty file of that name with the ending .open there",
        .0.display()
    )]
    Missing(PathBuf),
    /// The database knows captures, and the folder never held an archive.
    #[error(
        "archive folder {} holds no archive of this crawl ({NOTE} is missing), though the database knows {captures} captures; \
         mount its disk or name its folder in store.warc_dir; if the archive is gone for good, make an empty file {NOTE} there \
         and let `lycosa check --repair` queue its pages again",
        dir.display()
    )]
    Unclaimed {
        /// The folder.
        dir: PathBuf,
        /// Captures in the database.
        captures: u64,
    },
    /// The prefix or host name of archive files leaves nothing after cleaning.
    #[error("{what} {value:?} has no letter or digit; archive file names need one")]
    BadName {
        /// Which of the two.
        what: &'static str,
        /// What was given.
        value: String,
    },
}

impl WarcError {
    /// Wraps a fault of the system; for `map_err`.
    pub(super) fn io(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Io { action, path, source }
    }

    /// What it says of the disk.
    pub fn fault(&self) -> DiskFault {
        match self {
            Self::Io { source, .. } => DiskFault::of_io(source),
            Self::InUse(_) | Self::Foreign { .. } | Self::Unclaimed { .. } | Self::BadName { .. } => DiskFault::Damaged,
            // A file that is missing may be on a disk that comes back.
            Self::Refusing(_) | Self::BeyondEnd { .. } | Self::Missing(_) => DiskFault::Other,
        }
    }
}
