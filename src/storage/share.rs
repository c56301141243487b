//! A folder's share of a crawl in parts: which partitions are its own, and whose the others are.

use std::sync::{Arc, PoisonError, RwLock};

use super::values::Membership;
use super::{Storage, StorageError, read};
use crate::domain::cluster::held::Held;
use crate::domain::cluster::map::{Map, MapError, Member, MemberId};
use crate::domain::cluster::moves::Place;
use crate::domain::partition::{Partition, PartitionSet};

/// What a member knows of itself and the others. A folder without one has the whole crawl.
#[derive(Clone, Debug)]
pub struct Share {
    /// Who has what.
    pub map: Map,
    /// Which member this is.
    pub own: MemberId,
    /// Members that were merged into it.
    pub also: Vec<MemberId>,
    /// What the folder has of the partitions.
    pub held: Held,
    /// It was taken apart by hand, and is no member of a crawl with an engine.
    pub by_hand: bool,
    /// What it crawls: of those, the ones that do not go to another.
    mine: PartitionSet,
    /// A newer map than the one in the folder, by which links go.
    newer: Arc<RwLock<Option<Map>>>,
}

/// Why it cannot be said what is a folder's own.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "each message says what its fields are")]
pub enum ShareError {
    #[error(transparent)]
    Storage(#[from] StorageError),
    #[error("the folder's map of members: {0}")]
    Map(#[from] MapError),
    /// Between two folders something is under way.
    #[error(
        "{command} did not come to its end: give that command again first, it goes on{}",
        if *.back { " (or take it back: the same with --abandon)" } else { "" }
    )]
    UnderWay {
        /// The command.
        command: String,
        /// Nothing is given away by it yet.
        back: bool,
    },
    #[error(
        "this folder was merged into member {0}, who has all that was in it; run that one, this one can be removed"
    )]
    Merged(String),
}

impl Share {
    /// The share of a folder; none when it has the whole crawl.
    ///
    /// # Errors
    /// [`ShareError::Storage`], [`ShareError::Map`].
    pub fn load(storage: &dyn Storage) -> Result<Option<Self>, ShareError> {
        Ok(read::meta::<Membership>(storage, ())?.map(|member| Self::of(&member)).transpose()?)
    }

    /// The share that a record says.
    ///
    /// # Errors
    /// [`MapError`].
    pub fn of(member: &Membership) -> Result<Self, MapError> {
        let map = Map::read(member.map.as_bytes())?;
        let own = member.own;
        let held = match &member.held {
            Some(held) => {
                serde_json::from_str(held).map_err(|_| MapError::Damaged("what the folder has cannot be read"))?
            }
            None => Held::new(map.owned_by(own)),
        };
        let is_here = |partition: &Partition| map.place(own, &held.owned, *partition) == Place::Here;
        let mine = held.owned.iter().filter(is_here).collect();
        let by_hand = member.held.is_none();
        Ok(Self { mine, held, by_hand, own, also: member.also.clone(), map, newer: Arc::default() })
    }

    /// Who is to have the links to a partition that is not this folder's own: another, or this one, once it has what is on its way here.
    pub fn foreign(&self, partition: Partition) -> Option<MemberId> {
        if self.mine.has(partition) {
            return None;
        }
        match self.by_map(|map| map.place(self.own, &self.held.owned, partition)) {
            Place::At(member) => Some(member),
            Place::Here | Place::Soon => Some(self.own),
        }
    }

    /// Whether a partition is on its way to this folder, which cannot judge its links before it is there.
    pub fn is_coming(&self, partition: Partition) -> bool {
        !self.mine.has(partition) && self.by_map(|map| map.place(self.own, &self.held.owned, partition)) == Place::Soon
    }

    /// Links go by this map from now on. What is the folder's own stays until it is at rest.
    pub fn follow(&self, map: &Map) {
        *self.newer.write().unwrap_or_else(PoisonError::into_inner) = Some(map.clone());
    }

    /// Reads the newest map.
    pub fn by_map<T>(&self, read: impl FnOnce(&Map) -> T) -> T {
        let newer = self.newer.read().unwrap_or_else(PoisonError::into_inner);
        read(newer.as_ref().unwrap_or(&self.map))
    }

    /// What is this folder's own.
    pub fn mine(&self) -> &PartitionSet {
        &self.mine
    }

    /// Whether what is addressed to a member is to be taken in here.
    pub fn is_me(&self, member: MemberId) -> bool {
        member == self.own || self.also.contains(&member)
    }

    /// The name of a member, or its number.
    pub fn name_of(&self, member: MemberId) -> String {
        self.by_map(|map| map.numbered(member).map_or_else(|| member.0.to_string(), |member| member.name.clone()))
    }

    /// This member's name.
    pub fn name(&self) -> String {
        self.name_of(self.own)
    }

    /// The other members.
    pub fn others(&self) -> impl Iterator<Item = &Member> {
        self.map.members.iter().filter(|member| !self.is_me(member.id))
    }
}

/// Whether a folder may be crawled on, or changed otherwise.
///
/// # Errors
/// [`ShareError::UnderWay`], [`ShareError::Merged`]; the storage's own.
pub fn may_go_on(storage: &dyn Storage) -> Result<(), ShareError> {
    #[derive(serde::Deserialize)]
    struct Said {
        command: String,
        kind: String,
        name: String,
    }
    match read::meta::<Membership>(storage, ())? {
        Some(Membership { merged: Some(into), .. }) => Err(ShareError::Merged(into)),
        Some(Membership { work: Some(work), map, .. }) => {
            let Ok(Said { command, kind, name }) = serde_json::from_str(&work) else {
                return Err(ShareError::UnderWay { command: work, back: false });
            };
            let back = kind == "giving" && Map::read(map.as_bytes())?.member(&name).is_none();
            Err(ShareError::UnderWay { command, back })
        }
        _ => Ok(()),
    }
}

/// A share, where there is one.
pub type Shared = Option<Arc<Share>>;
