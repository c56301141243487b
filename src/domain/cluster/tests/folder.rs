//! A folder: what a member's database holds, as far as several members have to do with it.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use super::web::{Rng, Url, Web};
use crate::domain::cluster::held::Held;
use crate::domain::cluster::map::{Map, MemberId};
use crate::domain::partition::{Partition, PartitionSet};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    Queued,
    Done,
}

/// All rows; a change of it is a commit.
#[derive(Clone)]
pub struct Db {
    /// Drawn when the folder is made or put back: its sessions end in it.
    pub folder: u64,
    /// How often it was started: its sessions begin with it.
    pub starts: u64,
    pub map: Option<Rc<Map>>,
    pub held: Held,
    pub known: BTreeMap<Url, State>,
    pub queue: BTreeMap<(Partition, u64), Url>,
    pub next_seq: u64,
    /// By sender and receiver: its own rows, and those that came and wait to be taken in.
    pub outbox: BTreeMap<(MemberId, MemberId, u64), Rc<Vec<Url>>>,
    /// The next number for each, if its time has not come before.
    pub next: BTreeMap<MemberId, u64>,
    pub stands: BTreeMap<MemberId, u64>,
    pub count: usize,
}

/// An object in the store: what was written out at a time.
pub type Parcel = BTreeMap<Partition, Export>;

/// What a partition is handed over as.
pub struct Export {
    pub known: Vec<(Url, State)>,
    pub queue: Vec<((Partition, u64), Url)>,
    pub next_seq: u64,
}

impl Db {
    pub fn new(rng: &mut Rng, owned: PartitionSet) -> Self {
        Self {
            folder: rng.next() & 0xffff_ffff,
            starts: 0,
            map: None,
            held: Held::new(owned),
            known: BTreeMap::new(),
            queue: BTreeMap::new(),
            next_seq: 0,
            outbox: BTreeMap::new(),
            next: BTreeMap::new(),
            stands: BTreeMap::new(),
            count: 0,
        }
    }

    pub fn session(&self) -> u64 {
        (self.starts << 32) | self.folder
    }

    /// A link to a URL of its own. What `filter` has not is new without a look.
    pub fn discover(&mut self, filter: &mut BTreeSet<Url>, url: Url, partition: Partition) {
        if filter.insert(url) || !self.known.contains_key(&url) {
            self.known.insert(url, State::Queued);
            self.queue.insert((partition, self.next_seq), url);
            self.next_seq += 1;
            self.count += 1;
        }
    }

    /// A page is done, of that entry of the queue.
    pub fn done(&mut self, url: Url, entry: (Partition, u64)) {
        self.known.insert(url, State::Done);
        self.queue.remove(&entry);
    }

    /// The numbers of the rows that a member has for another, above one.
    pub fn rows(&self, from: MemberId, to: MemberId, after: u64) -> impl DoubleEndedIterator<Item = u64> {
        self.outbox.range((from, to, after + 1)..=(from, to, u64::MAX)).map(|((_, _, number), _)| *number)
    }

    /// The first row from each that waits to be taken in.
    pub fn came(&self, me: MemberId) -> Vec<(MemberId, MemberId, u64)> {
        let mut found: Vec<(MemberId, MemberId, u64)> = Vec::new();
        for key in self.outbox.keys().filter(|(_, to, _)| *to == me) {
            if found.last().is_none_or(|(from, _, _)| *from != key.0) {
                found.push(*key);
            }
        }
        found
    }

    pub fn export(&self, partition: Partition, web: &Web) -> Export {
        let known = self.known.iter().filter(|(url, _)| web.partition(**url) == partition);
        let queue = self.queue.range((partition, 0)..=(partition, u64::MAX));
        Export {
            known: known.map(|(url, state)| (*url, *state)).collect(),
            queue: queue.map(|(key, url)| (*key, *url)).collect(),
            next_seq: self.next_seq,
        }
    }

    pub fn clear(&mut self, partition: Partition, web: &Web) {
        self.known.retain(|url, _| web.partition(*url) != partition);
        self.queue.retain(|(of, _), _| *of != partition);
        self.held.cleared(partition);
    }

    /// Takes a partition out of what counts; it was written out into an object, or is another's.
    pub fn give(&mut self, partition: Partition, object: Option<&str>, web: &Web) {
        self.count -= self.known.keys().filter(|url| web.partition(**url) == partition).count();
        match object {
            Some(object) => self.held.exported(partition, object),
            None => self.held.gave(partition),
        }
    }

    /// Whether something is queued that it may fetch.
    pub fn has_queued(&self) -> bool {
        self.queue.keys().any(|(partition, _)| self.held.owned.has(*partition))
    }
}

/// A disk: what is written, and what of it outlives a power failure.
pub struct Disk {
    pub db: Rc<Db>,
    pub synced: Rc<Db>,
}

impl Disk {
    pub fn new(db: Db) -> Self {
        let db = Rc::new(db);
        Self { synced: Rc::clone(&db), db }
    }

    pub fn commit(&mut self) -> &mut Db {
        Rc::make_mut(&mut self.db)
    }

    pub fn sync(&mut self) {
        self.synced = Rc::clone(&self.db);
    }
}
