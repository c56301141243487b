//! The engine and the store, as the members see them.

use std::collections::BTreeMap;
use std::rc::Rc;

use super::folder::{Db, Parcel};
use crate::domain::cluster::map::{Map, MemberId};

/// What a member says of itself with each beat.
#[derive(Clone)]
pub struct Record {
    pub session: u64,
    /// Another one each time.
    pub beat: u64,
    /// Version of the map in its folder.
    pub map: u64,
    /// What its newest whole checkpoint has received.
    pub covers: BTreeMap<MemberId, u64>,
    /// By its own clock on the wall: when its lease ends. Nobody should look at it.
    pub expires: i64,
}

/// A register: a revision with each value.
pub struct Engine {
    pub away: bool,
    /// How often it was emptied.
    pub emptied: u64,
    revision: u64,
    pub map: Option<(u64, Rc<Map>)>,
    pub nodes: BTreeMap<MemberId, (u64, Rc<Record>)>,
}

impl Engine {
    pub fn new(map: Map) -> Self {
        let map = Some((1, Rc::new(map)));
        Self { away: false, emptied: 0, revision: 1, map, nodes: BTreeMap::new() }
    }

    pub fn empty(&mut self) {
        self.emptied += 1;
        (self.revision, self.map, self.nodes) = (0, None, BTreeMap::new());
    }

    /// Writes a record over the revision expected, or where there is none. Gives back the new revision.
    pub fn write_record(&mut self, id: MemberId, expected: Option<u64>, record: Record) -> Option<u64> {
        if self.nodes.get(&id).map(|(revision, _)| *revision) != expected {
            return None;
        }
        self.revision += 1;
        self.nodes.insert(id, (self.revision, Rc::new(record)));
        Some(self.revision)
    }

    /// The same for the map.
    pub fn write_map(&mut self, expected: Option<u64>, map: Map) -> Option<u64> {
        if self.map.as_ref().map(|(revision, _)| *revision) != expected {
            return None;
        }
        self.revision += 1;
        self.map = Some((self.revision, Rc::new(map)));
        Some(self.revision)
    }
}

/// What lies in the store.
#[derive(Default)]
pub struct Store {
    /// The whole checkpoints of each member, by session and number within it.
    pub checkpoints: BTreeMap<MemberId, BTreeMap<(u64, u64), Rc<Db>>>,
    /// The latest session of each that has begun one.
    pub begun: BTreeMap<MemberId, u64>,
    pub objects: BTreeMap<String, Rc<Parcel>>,
}

impl Store {
    /// The latest session that has begun a checkpoint.
    pub fn begun(&self, id: MemberId) -> u64 {
        self.begun.get(&id).copied().unwrap_or_default()
    }

    /// The newest: of the latest session that has one.
    pub fn newest(&self, id: MemberId) -> Option<(&(u64, u64), &Rc<Db>)> {
        self.checkpoints.get(&id)?.last_key_value()
    }
}
