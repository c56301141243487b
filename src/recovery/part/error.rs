//! What can go wrong when a crawl is taken apart or put together.

use std::io;
use std::path::{Path, PathBuf};

use crate::base::disk::DiskFault;
use crate::base::fault::Injected;
use crate::domain::cluster::map::MapError;
use crate::recovery::checkpoint::CheckpointError;
use crate::storage::share::ShareError;
use crate::storage::{Family, StorageError};
use crate::warc::WarcError;

/// Why it ended early. What was done until then is noted: the same command goes on.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "each message says what its fields are")]
pub enum PartError {
    #[error("could not {doing} {}: {source}; make room or mend the disk, then give the same command again: it goes on", path.display())]
    Io { doing: &'static str, path: PathBuf, source: io::Error },
    #[error(transparent)]
    Storage(#[from] StorageError),
    #[error(transparent)]
    Warc(#[from] WarcError),
    #[error(transparent)]
    Checkpoint(#[from] CheckpointError),
    #[error("the map of members: {0}")]
    Map(#[from] MapError),
    #[error(transparent)]
    Share(#[from] ShareError),
    #[error(
        "the last run on {} did not end cleanly; let `lycosa run` repair its files and stop it, then give the command again", .0.display()
    )]
    Unclean(PathBuf),
    #[error("{}: what is under way with it was noted by another version of lycosa, or is damaged", data.display())]
    Note { data: PathBuf },
    #[error("{}: {command} did not come to its end: give that command again first", data.display())]
    Another { data: PathBuf, command: String },
    #[error("{} has a crawl already: name a folder that is new or empty", .0.display())]
    Taken(PathBuf),
    #[error("{} and {} lie one in the other: name a new folder beside the old one", .0.display(), .1.display())]
    Within(PathBuf, PathBuf),
    #[error("the new folder {} cannot be made: {source}; nothing was changed, so name another one", path.display())]
    NotMade { path: PathBuf, source: io::Error },
    #[error(
        "{} has what this split did not put there, and nothing of it was touched: move it elsewhere and give the command again, or take the \
         split back with `lycosa split {} --abandon`", .to.display(), .from.display()
    )]
    NotOurs { from: PathBuf, to: PathBuf },
    #[error("nothing would go to the other folder: {0}")]
    Nothing(String),
    #[error("all that {} has would go, so there is nothing to take apart; rename the folder instead", .0.display())]
    All(PathBuf),
    #[error(
        "member {own} was split off itself: only the first member, {first}, numbers new ones, so that no number is given twice; merge the \
         two first, or split {first}"
    )]
    NotFirst { own: String, first: String },
    #[error("{} and {} are folders of different crawls (their keys have other seeds): they cannot be put together", .0.display(), .1.display())]
    OtherCrawl(PathBuf, PathBuf),
    #[error("{} was never split, so there is nothing to put together with it", .0.display())]
    Whole(PathBuf),
    #[error("the maps of {} and {} both have version {version} and say different things; they cannot be put together", .one.display(), .two.display())]
    Maps { one: PathBuf, two: PathBuf, version: u64 },
    #[error("{}: another file of this name is in {}, with other bytes; rename neither: see which of the two folders it belongs to", name, .dir.display())]
    NameTaken { name: String, dir: PathBuf },
    #[error("a record in {family} of {} cannot be read ({key}); let `lycosa check --repair` mend it first", data.display())]
    Damaged { data: PathBuf, family: Family, key: String },
    #[error("{}: {problem}", path.display())]
    Links { path: PathBuf, problem: String },
    /// The other one stands elsewhere, or was given another name.
    #[error("{} is under way with {}, not with {}: give the command with that folder{}", data.display(), noted.display(), given.display(), if *.back { ", or take it back with --abandon" } else { "" })]
    Elsewhere { data: PathBuf, noted: PathBuf, given: PathBuf, back: bool },
    #[error(
        "{} is a member of a crawl on several machines (its file MEMBER says so): there partitions move while it runs, not by hand", .0.display()
    )]
    Cluster(PathBuf),
    #[error(
        "the store could not {doing} the parcel {name}: {source}; nothing is lost by that, it is to be tried again when the store answers"
    )]
    Store { doing: &'static str, name: String, source: CheckpointError },
    #[error(
        "the parcel {name} of the store is damaged: {problem}; its partitions are nowhere else, so bring that object back from a copy of the store, \
         and start this member again"
    )]
    Parcel { name: String, problem: String },
    #[error("{} is no member {name} of this crawl: the map names {known}; start it with the name and the engine that it had", data.display())]
    NotMember { data: PathBuf, name: String, known: String },
    #[error(
        "{} has version {known} of the map, and is given {given}: an engine that was put back to an old state must not be obeyed; remove its folder \
         and start it empty, a member puts the newest map back", data.display()
    )]
    OlderMap { data: PathBuf, known: u64, given: u64 },
    #[error("{} has keys of another crawl than the map (another seed): start this member with an empty folder", .0.display())]
    OtherSeed(PathBuf),
    #[error("the partitions are given already: it can only be gone on with")]
    TooLate,
    #[error(transparent)]
    Injected(#[from] Injected),
}

impl PartError {
    /// Whether a disk has no room, which may be made.
    pub fn is_full(&self) -> bool {
        DiskFault::of_text(&self.to_string()) == Some(DiskFault::Full)
    }
}

/// What is done in this room. Where no other error is named it is [`PartError::Io`], or one that the arguments bring along.
pub type Result<T> = std::result::Result<T, PartError>;

impl PartError {
    /// What it says of the disk, if that has a part in it.
    pub fn fault(&self) -> Option<DiskFault> {
        match self {
            Self::Io { source, .. } | Self::NotMade { source, .. } => Some(DiskFault::of_io(source)),
            Self::Storage(e) => Some(e.fault()),
            Self::Warc(e) => Some(e.fault()),
            Self::Checkpoint(e) => e.fault(),
            _ => None,
        }
    }

    pub(super) fn io(doing: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self + use<> {
        let path = path.to_owned();
        move |source| Self::Io { doing, path, source }
    }
}
