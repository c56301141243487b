//! What can go wrong with checkpoints.

use std::io;
use std::path::{Path, PathBuf};

use crate::base::disk::DiskFault;
use crate::base::fault::Injected;
use crate::storage::StorageError;
use crate::warc::WarcError;

/// Why a checkpoint could not be made, read or restored.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CheckpointError {
    /// The system refused an operation on a file.
    #[error("could not {doing} {}: {source}", path.display())]
    Io {
        /// What was tried, as a verb phrase.
        doing: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// The system's own words.
        source: io::Error,
    },
    /// The database.
    #[error(transparent)]
    Storage(#[from] StorageError),
    /// The archive.
    #[error(transparent)]
    Warc(#[from] WarcError),
    /// No checkpoint at all.
    #[error(
        "there is no checkpoint in {}; make one with `lycosa checkpoint create`, or name the data folder that has some \
         (restore: --from DIR, else --data DIR)", dir.display()
    )]
    None {
        /// Where they would be.
        dir: PathBuf,
    },
    /// No checkpoint of that name.
    #[error(
        "there is no checkpoint {name} in {}; `lycosa checkpoint list` shows those there are; restore takes one of another data \
         folder with --from DIR", dir.display()
    )]
    Unknown {
        /// The name asked for.
        name: String,
        /// Where it would be.
        dir: PathBuf,
    },
    /// A manifest that is none, or of another format.
    #[error("{at}: not the manifest of a checkpoint that this program reads: {problem}; use another checkpoint")]
    Manifest {
        /// File or URL.
        at: String,
        /// What is wrong with it.
        problem: String,
    },
    /// Files differ from the manifest.
    #[error("checkpoint {name} is damaged: {}; use another one", problems.join("; "))]
    Damaged {
        /// Its name.
        name: String,
        /// What was found.
        problems: Vec<String>,
    },
    /// Archive files that the checkpoint refers to are not there.
    #[error(
        "checkpoint {name} refers to archive files that are not there: {}; bring them back, or go on without those pages \
         with --incomplete", problems.join("; ")
    )]
    Incomplete {
        /// Its name.
        name: String,
        /// What was found.
        problems: Vec<String>,
    },
    /// No crawl where one was named.
    #[error(
        "{} holds no crawl ({}); name the crawl's data folder with --data DIR, or its configuration with --config FILE",
        dir.display(), if dir.exists() { "it has no FORMAT file" } else { "there is no such folder" }
    )]
    NoCrawl {
        /// The data folder.
        dir: PathBuf,
    },
    /// A crawl where an import would go.
    #[error("{} holds a crawl, which an import does not touch; name a new folder with --data", dir.display())]
    Taken {
        /// The data folder.
        dir: PathBuf,
    },
    /// An archive elsewhere than the settings have it.
    #[error(
        "the archive of checkpoint {name} is in {}, and store.warc_dir names {}, where {missing} of its files are not; copy \
         them there first, or restore with a relative store.warc_dir (then they are put into the new folder), or go on without \
         them with --incomplete", from.display(), to.display()
    )]
    Apart {
        /// Its name.
        name: String,
        /// Where the archive is.
        from: PathBuf,
        /// Where the settings have it.
        to: PathBuf,
        /// How many files are not there.
        missing: usize,
    },
    /// A crawl that would be overwritten.
    #[error(
        "{} holds a crawl; restore into another folder with --data, or add --force: then its present state is set aside \
         in a folder replaced-TIME and nothing is deleted", dir.display()
    )]
    Live {
        /// The data folder.
        dir: PathBuf,
    },
    /// A running crawl.
    #[error("{} is in use by a running crawl or another restore; end that first (`lycosa ctl stop`)", dir.display())]
    InUse {
        /// The data folder.
        dir: PathBuf,
    },
    /// A folder with other things in it.
    #[error("{} is not empty and no data folder of Lycosa's; name a new or empty folder with --data", dir.display())]
    NotEmpty {
        /// The folder.
        dir: PathBuf,
    },
    /// Not closed since a kill.
    #[error(
        "the last run on {} did not end cleanly; let `lycosa run` repair its files and stop it, then make the checkpoint",
        dir.display()
    )]
    Unclean {
        /// The data folder.
        dir: PathBuf,
    },
    /// Another one is being made.
    #[error("a checkpoint is being made or copied already; try again when it is done")]
    Busy,
    /// A place for copies that is none.
    #[error("{text:?} is no place for copies: {problem}")]
    Target {
        /// As it was given.
        text: String,
        /// What is wrong with it.
        problem: String,
    },
    /// A place for copies failed.
    #[error("{doing} {url}: {problem}")]
    Place {
        /// What was tried.
        doing: &'static str,
        /// The object or file.
        url: String,
        /// The answer.
        problem: String,
    },
    /// A copy that is not like its original.
    #[error("{url} is not like its original: {found} instead of {wanted}; try again, or look at that disk or store")]
    Differs {
        /// The object or file.
        url: String,
        /// Length and digest of the original.
        wanted: String,
        /// Those of the copy.
        found: String,
    },
    /// The running crawl could not do its part.
    #[error("the running crawl made no checkpoint: {0}")]
    Node(String),
    /// A fault the tests asked for.
    #[error(transparent)]
    Injected(#[from] Injected),
}

impl CheckpointError {
    /// What it says of the disk, if that has a part in it.
    #[must_use]
    pub fn fault(&self) -> Option<DiskFault> {
        match self {
            Self::Storage(e) => Some(e.fault()),
            Self::Warc(e) => Some(e.fault()),
            Self::Io { source, .. } => Some(DiskFault::of_io(source)),
            _ => None,
        }
    }

    /// Wraps a fault of the system; for `map_err`.
    pub(super) fn io(doing: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Io { doing, path, source }
    }
}
