//! What can go wrong when a host is erased.

use std::io;
use std::path::{Path, PathBuf};

use crate::base::disk::DiskFault;
use crate::base::fault::Injected;
use crate::recovery::checkpoint::CheckpointError;
use crate::storage::StorageError;
use crate::warc::WarcError;

/// Why an erasure ended early. What was done until then is noted: the same command goes on.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "each message says what its fields are")]
pub enum EraseError {
    /// The system refused an operation on a file.
    #[error("could not {doing} {}: {source}; make room or mend the disk, then give the same command again: it goes on", path.display())]
    Io { doing: &'static str, path: PathBuf, source: io::Error },
    #[error(transparent)]
    Storage(#[from] StorageError),
    #[error(transparent)]
    Warc(#[from] WarcError),
    #[error(transparent)]
    Checkpoint(#[from] CheckpointError),
    /// Compaction says nothing of it when it fails: tables that were there before it still are.
    #[error(
        "{kept} tables in {} could not be written anew, so what was deleted may stand in them still: there is most likely too little room for a second copy of the largest family (db/LOG says why); make room, then give the same command again: it goes on",
        path.display()
    )]
    Tables { kept: usize, path: PathBuf },
    /// Not closed since a kill.
    #[error(
        "the last run on {} did not end cleanly; let `lycosa run` repair its files and stop it, then erase", .0.display()
    )]
    Unclean(PathBuf),
    /// An erasure of another host did not come to its end.
    #[error(
        "an erasure of another host did not come to its end in {}; give that command again first, then this one", .0.display()
    )]
    Another(PathBuf),
    #[error("{}: not the note of an erasure that this program reads: {problem}; it was damaged or written by another version", path.display())]
    Note { path: PathBuf, problem: String },
    /// No host's name.
    #[error("{0:?} is no host: give a name such as www.example.org, without scheme and path")]
    Host(String),
    /// The crawl never had to do with it.
    #[error(
        "nothing of {host} is in {}, and it is not blocked there: nothing was changed; name the host as `lycosa ctl hosts` does", data.display()
    )]
    Nothing { host: String, data: PathBuf },
    #[error(transparent)]
    Share(#[from] crate::storage::share::ShareError),
    #[error("interrupted between two steps; give the same command again: it goes on")]
    Interrupted,
    /// A fault the tests asked for.
    #[error(transparent)]
    Injected(#[from] Injected),
}

/// What is done for an erasure. Where no other error is named it is [`EraseError::Io`], or one that the arguments bring along.
pub type Result<T> = std::result::Result<T, EraseError>;

impl EraseError {
    /// What it says of the disk, if that has a part in it.
    pub fn fault(&self) -> Option<DiskFault> {
        match self {
            Self::Io { source, .. } => Some(DiskFault::of_io(source)),
            Self::Storage(e) => Some(e.fault()),
            Self::Warc(e) => Some(e.fault()),
            Self::Checkpoint(e) => e.fault(),
            Self::Tables { .. } => Some(DiskFault::Full),
            _ => None,
        }
    }

    pub(super) fn io(doing: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self + use<> {
        let path = path.to_owned();
        move |source| Self::Io { doing, path, source }
    }
}
