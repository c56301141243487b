//! A crawl is taken apart, and put together again, in data folders at rest (ADR 41, docs/split.md).
//!
//! | file | concept |
//! |---|---|
//! | `split` | some partitions of a folder become another folder, which goes on by itself |
//! | `merge` | a folder takes over all that another one has |
//! | `links` | what members found for each other, carried in files |
//! | [`rest`] | a member of an engine's crawl does what its map asks for while nothing runs |
//! | [`parcel`] | some partitions as a small data folder of their own, written out and taken in |
//! | [`parcels`] | a parcel on its way to the store, and from there |
//! | `going`, `coming` | what goes and comes with partitions, whatever it is for |
//! | `rows` | the records of partitions: copied, counted, removed |
//! | `credit` | the part of link credit that goes along |
//! | `files` | the archive and `crawl.jsonl` |
//! | `choose` | which partitions go |
//! | `begun` | where the new folder lies, and whose what is in it is |
//!
//! What is under way stands in both folders' `meta/member` before anything is changed, and nothing else may be done with them until it is
//! done (I14). The step that counts is one commit in one folder: before it nothing is given, after it nothing is kept. All other steps find
//! by themselves what is still to be done, so the same command goes on after a kill.

mod begun;
mod choose;
mod coming;
mod credit;
mod error;
mod files;
mod going;
pub mod links;
mod merge;
pub mod parcel;
pub mod parcels;
pub mod rest;
mod rows;
mod split;
#[cfg(test)]
mod tests;

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::domain::cluster::map::Map;
use crate::domain::fingerprint::CrawlId;
use crate::domain::partition::PartitionSet;
use crate::recovery::checkpoint::fetch::MEMBER;
use crate::storage::share::Share;
use crate::storage::txn::Txn;
use crate::storage::values::{FileLengths, Format, Membership};
use crate::storage::{Storage, read};

pub use choose::Choice;
pub use error::{PartError, Result};
pub use merge::{Merge, Merged};
pub use rest::{Rest, Rested};
pub use split::{Split, SplitUp, abandon};

/// There is one crawl in a folder.
const CRAWL: CrawlId = CrawlId(1);

/// A folder that takes part, opened and claimed by the caller.
pub struct Side<'s> {
    /// Its database, which is the caller's alone.
    pub storage: &'s dyn Storage,
    /// The data folder.
    pub data: PathBuf,
    /// Its archive.
    pub warc: PathBuf,
}

/// Told now and then: what is being done, and how much of it is.
pub type Tell<'t> = &'t mut dyn FnMut(&'static str, u64);

/// What is under way between two folders, as it stands in each.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Work {
    /// The command to give again.
    command: String,
    kind: Kind,
    /// The other folder.
    other: PathBuf,
    /// What goes over.
    partitions: PartitionSet,
    /// The other's name among the members.
    name: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Kind {
    /// Partitions go to the other folder.
    Giving,
    /// This folder is being made of the other's partitions.
    Receiving,
    /// This folder takes over all that the other has.
    Merging,
    /// The other takes over all that this one has.
    Leaving,
}

impl Work {
    fn text(&self) -> String {
        serde_json::to_string(self).unwrap_or_default() // paths and numbers: it cannot fail
    }
}

impl Side<'_> {
    /// Which member it is; none: it has the whole crawl.
    fn member(&self) -> Result<Option<Membership>> {
        Ok(read::meta(self.storage, ())?)
    }

    /// What is under way with it.
    fn work(&self) -> Result<Option<Work>> {
        let Some(text) = self.member()?.and_then(|member| member.work) else { return Ok(None) };
        serde_json::from_str(&text).map(Some).map_err(|_| PartError::Note { data: self.data.clone() })
    }

    fn seed(&self) -> Result<u64> {
        Ok(read::meta::<Format>(self.storage, ())?.map_or(0, |format| format.seed))
    }

    /// Writes what it is, for good.
    fn put_member(&self, member: &Membership) -> Result<()> {
        let mut txn = Txn::new(self.storage);
        txn.put_meta((), member);
        self.storage.write(&txn.into_batch())?;
        Ok(self.storage.sync()?)
    }

    /// It is no member of a crawl on several machines, whose map lies elsewhere.
    fn is_apart(&self) -> Result<()> {
        let held = self.member()?.is_some_and(|member| member.held.is_some());
        if !held && !self.data.join(MEMBER).exists() { Ok(()) } else { Err(PartError::Cluster(self.data.clone())) }
    }

    /// Nothing waits in it for its next start.
    fn is_clean(&self) -> Result<()> {
        let lengths = read::meta::<FileLengths>(self.storage, ())?;
        let unsynced = read::unsynced(self.storage, 1)?.len() + read::unsynced_lines(self.storage, 1)?.len();
        match unsynced > 0 || lengths.is_some_and(|lengths| lengths.warc.is_some()) {
            true => Err(PartError::Unclean(self.data.clone())),
            false => Ok(()),
        }
    }
}

/// The share that a record says.
fn share_of(member: &Membership) -> Result<Share> {
    Ok(Share::of(member)?)
}

/// The record with this map.
fn with_map(member: &Membership, map: &Map) -> Membership {
    Membership { map: String::from_utf8_lossy(&map.text()).into_owned(), ..member.clone() }
}
