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
#[expect(missing_docs, reason = "each message says what its fields are")]
pub enum CheckpointError {
    /// The system refused an operation on a file.
    #[error("could not {doing} {}: {source}", path.display())]
    Io { doing: &'static str, path: PathBuf, source: io::Error },
    #[error(transparent)]
    Storage(#[from] StorageError),
    #[error(transparent)]
    Warc(#[from] WarcError),
    #[error(
        "there is no checkpoint in {}; make one with `lycosa checkpoint create`, or name the data folder that has some \
         (restore: --from DIR, else --data DIR)", .0.display()
    )]
    None(PathBuf),
    /// No checkpoint of that name.
    #[error(
        "there is no checkpoint {name} in {}; `lycosa checkpoint list` shows those there are; restore takes one of another data \
         folder with --from DIR", dir.display()
    )]
    Unknown { name: String, dir: PathBuf },
    /// A manifest that is none, or of another format.
    #[error("{at}: not the manifest of a checkpoint that this program reads: {problem}; use another checkpoint")]
    Manifest { at: String, problem: String },
    /// Files differ from the manifest.
    #[error("checkpoint {name} is damaged: {}; use another one", problems.join("; "))]
    Damaged { name: String, problems: Vec<String> },
    /// Archive files that the checkpoint refers to are not there.
    #[error(
        "checkpoint {name} refers to archive files that are not there: {}; bring them back, or go on without those pages: \
         `lycosa checkpoint import` and `restore` take --incomplete", problems.join("; ")
    )]
    Incomplete { name: String, problems: Vec<String> },
    /// No crawl where one was named.
    #[error(
        "{} holds no crawl ({}); name the crawl's data folder with --data DIR, or its configuration with --config FILE",
        .0.display(), if .0.exists() { "it has no FORMAT file" } else { "there is no such folder" }
    )]
    NoCrawl(PathBuf),
    /// A restore that was killed is completed, and nothing else was done.
    #[error(
        "a restore into {} that was killed half way is completed: checkpoint {name} is in place; nothing else was done, go on with `lycosa run`",
        data.display()
    )]
    Completed { name: String, data: PathBuf },
    /// A crawl where an import would go.
    #[error(
        "{} holds a crawl, which a copy does not replace: name a new folder with --data, or go on with what is there (`lycosa run` \
         without --from)", .0.display()
    )]
    Taken(PathBuf),
    /// An archive elsewhere than the settings have it.
    #[error(
        "the archive of checkpoint {name} is in {}, and store.warc_dir names {}, where {missing} of its files are not; copy \
         them there first, or restore with a relative store.warc_dir (then they are put into the new folder), or go on without \
         them with --incomplete", from.display(), to.display()
    )]
    Apart { name: String, from: PathBuf, to: PathBuf, missing: usize },
    /// A crawl that would be overwritten.
    #[error(
        "{} holds a crawl; restore into another folder with --data, or add --force: then its present state is set aside \
         in a folder replaced-TIME and nothing is deleted", .0.display()
    )]
    Live(PathBuf),
    #[error("{} is in use by a running crawl or another restore; end that first (`lycosa ctl stop`)", .0.display())]
    InUse(PathBuf),
    /// A folder with other things in it.
    #[error("{} is not empty and no data folder of Lycosa's; name a new or empty folder with --data", .0.display())]
    NotEmpty(PathBuf),
    /// Not closed since a kill.
    #[error(
        "the last run on {} did not end cleanly; let `lycosa run` repair its files and stop it, then make the checkpoint",
        .0.display()
    )]
    Unclean(PathBuf),
    /// Another one is being made.
    #[error("a checkpoint is being made or copied already; try again when it is done")]
    Busy,
    /// A checkpoint whose archive is not uploaded yet.
    #[error(
        "checkpoint {name} was not copied, for {} archive files it names have not been uploaded yet, the first is {}; the next \
         copy has what is missing", files.len(), files.first().map_or("", String::as_str)
    )]
    NotThere { name: String, files: Vec<String> },
    /// No copy that can be restored.
    #[error(
        "there is no whole copy of a checkpoint at {at}{}{}; name the place that `checkpoint.upload` or `lycosa checkpoint \
         export` wrote to", if passed_over.is_empty() { "" } else { ": " }, passed_over.join("; ")
    )]
    NoCopy { at: String, passed_over: Vec<String> },
    /// A place for copies that is none.
    #[error("{text:?} is no place for copies: {problem}")]
    Target { text: String, problem: String },
    /// A place for copies failed.
    #[error("{doing} {url}: {problem}")]
    Place { doing: &'static str, url: String, problem: String },
    /// A copy that is not like its original.
    #[error("{url} is not like its original: {found} instead of {wanted}; try again, or look at that disk or store")]
    Differs { url: String, wanted: String, found: String },
    /// The running crawl could not do its part.
    #[error("the running crawl made no checkpoint: {0}")]
    Node(String),
    /// A fault the tests asked for.
    #[error(transparent)]
    Injected(#[from] Injected),
}

/// What is done with checkpoints. Where no other error is named it is [`CheckpointError::Io`], or one that the arguments bring along.
pub type Result<T> = std::result::Result<T, CheckpointError>;

impl CheckpointError {
    /// What it says of the disk, if that has a part in it.
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
