//! Why a check could not be carried out. What it finds wrong is no error.

use std::io;
use std::path::{Path, PathBuf};

use crate::storage::StorageError;
use crate::warc::WarcError;

/// Why a check ended early.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CheckError {
    /// The database refused.
    #[error(transparent)]
    Storage(#[from] StorageError),
    /// The archive refused a repair.
    #[error(transparent)]
    Warc(#[from] WarcError),
    /// A file could not be read or written.
    #[error("could not {doing} {path}: {source}; mend the disk or the permissions, then check again")]
    Io {
        /// What was being done.
        doing: &'static str,
        /// The file.
        path: PathBuf,
        /// The system's own words.
        source: io::Error,
    },
    /// The database has no format record: without its seed no key can be compared with its URL.
    #[error(
        "the database has no readable record of its format and seed; restore the folder from a checkpoint or a copy"
    )]
    NoFormat,
    /// A repair that does not come to its end.
    #[error("the repair still changes things after {rounds} rounds; this is a fault of the program, please report it")]
    Restless {
        /// Rounds made.
        rounds: u32,
    },
}

/// A result of the check.
pub type Result<T> = std::result::Result<T, CheckError>;

impl CheckError {
    pub(super) fn io(doing: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self + use<> {
        let path = path.to_owned();
        move |source| Self::Io { doing, path, source }
    }
}
