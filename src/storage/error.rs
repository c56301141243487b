//! What can go wrong in storage.

use std::path::PathBuf;

use super::keys::KeyError;
use super::schema::{FORMAT_VERSION, Family};
use super::values::ValueError;
use crate::base::disk::DiskFault;

/// Why storage could not do what it was asked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "each message says what its fields are")]
pub enum StorageError {
    #[error("{family}: key {key} is damaged: {source}; stop the crawl and run `lycosa check`")]
    Key { family: Family, key: String, source: KeyError },
    #[error("{family}: value of key {key} is damaged: {source}; stop the crawl and run `lycosa check`")]
    Value { family: Family, key: String, source: ValueError },
    #[error("{family}: keys of one multi_get must ascend; this is a fault of the program, please report it")]
    Unsorted { family: Family },
    #[error("{doing}: {message}; see the LOG file in the data folder's db/ for more")]
    Engine { doing: &'static str, message: String },
    #[error("{doing}: no space left on the data folder's disk ({message})")]
    Full { doing: &'static str, message: String },
    /// An earlier write failed, so nothing more is taken until the store is opened again.
    #[error("{doing}: refused, because an earlier write failed ({message}); the store must be opened again")]
    Latched { doing: &'static str, message: String },
    #[error("data folder {path}: {source}")]
    Folder { path: PathBuf, source: std::io::Error },
    #[error(
        "data folder {path} is in use by another running crawler; stop that one or name another folder with --data"
    )]
    Locked { path: PathBuf },
    #[error(
        "{path} is not empty and no data folder of Lycosa's (no FORMAT file of its kind); name another folder with --data"
    )]
    NotADataFolder { path: PathBuf },
    /// The folder holds a crawl's lines and no database that knows them.
    #[error(
        "data folder {path}: its database is gone (no readable one in db/), though crawl.jsonl has lines of a crawl; nothing was \
         changed; restore a checkpoint (`lycosa checkpoint list --data {path}`) or a copy, or name another folder with --data"
    )]
    Gone { path: PathBuf },
    #[error(
        "data folder {path} has format {found}, this program reads and writes format {FORMAT_VERSION}; \
         use the version of Lycosa that made it, or name another folder with --data"
    )]
    Version { path: PathBuf, found: String },
    /// A store in memory has no files to link.
    #[error("a crawl that lives in memory has no checkpoints; build the program with the feature rocksdb")]
    NoCheckpoint,
    #[error("{doing}: fault injected by a test")]
    Injected { doing: &'static str },
}

impl StorageError {
    /// True when only the operator can help by freeing space (exit code 3).
    pub fn is_full(&self) -> bool {
        self.fault() == DiskFault::Full
    }

    /// True when the database itself cannot be read or opened, be it damaged or the disk's fault (exit code 3).
    pub fn is_broken(&self) -> bool {
        matches!(self, Self::Engine { .. } | Self::Full { .. } | Self::Key { .. } | Self::Value { .. })
    }

    /// True when the store refuses because an earlier write failed, or is just being opened again: it is to be asked later.
    pub fn is_latched(&self) -> bool {
        matches!(self, Self::Latched { .. })
    }

    /// What it says of the disk.
    pub fn fault(&self) -> DiskFault {
        match self {
            Self::Full { .. } => DiskFault::Full,
            Self::Engine { message, .. } | Self::Latched { message, .. } => {
                DiskFault::of_text(message).unwrap_or(DiskFault::Other)
            }
            Self::Folder { source, .. } => DiskFault::of_io(source),
            Self::Key { .. } | Self::Value { .. } | Self::Unsorted { .. } => DiskFault::Damaged,
            Self::NotADataFolder { .. } | Self::Gone { .. } | Self::Version { .. } => DiskFault::Damaged,
            Self::Locked { .. } | Self::NoCheckpoint | Self::Injected { .. } => DiskFault::Other,
        }
    }
}

/// A key for an error message: lower-case hexadecimal.
pub(crate) fn hex(key: &[u8]) -> String {
    data_encoding::HEXLOWER.encode(key)
}
