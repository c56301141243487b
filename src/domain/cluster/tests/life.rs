//! A member's process on its folder: what it keeps in memory, and its lease.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use super::engine::Record;
use super::folder::{Db, Disk};
use super::planted::Planted;
use super::web::Url;
use super::world::{Event, LEASE, MARGIN, World};
use crate::domain::cluster::map::{Map, Member, MemberId};
use crate::domain::cluster::rounds::Rounds;
use crate::domain::cluster::sender::Sender;
use crate::domain::partition::Partition;

/// What a checkpoint that is whole says.
#[derive(Clone)]
pub struct Whole {
    pub covers: BTreeMap<MemberId, u64>,
    pub came: BTreeMap<Partition, String>,
    pub gone: BTreeMap<Partition, String>,
}

/// What is forgotten when a process ends.
#[derive(Default)]
pub struct Memory {
    pub filter: BTreeSet<Url>,
    pub cache: BTreeSet<Url>,
    pub senders: BTreeMap<MemberId, Sender>,
    /// Entries leased, by the number of their fetch.
    pub leased: BTreeMap<u64, (Url, (Partition, u64))>,
    pub act: u64,
    pub until: Option<u64>,
    pub revision: Option<u64>,
    /// Since when its own record is missing in which life of the engine, by its clock.
    pub missing: Option<(u64, u64)>,
    pub beat: u64,
    pub beat_out: Option<u64>,
    pub map_revision: Option<u64>,
    pub map_out: Option<u64>,
    pub seen: BTreeMap<MemberId, std::rc::Rc<Record>>,
    pub checkpoints: u64,
    pub copying: bool,
    pub whole: Option<Whole>,
    pub named: Option<Whole>,
    /// Nothing is fetched or taken in: partitions come or go.
    pub rests: bool,
    /// Into which object these were written.
    pub written: Option<(String, Vec<Partition>)>,
    /// An object, what of it is taken in, and how far that has come.
    pub taking: Option<(String, Vec<Partition>, u8)>,
    /// Since when each record stands still, by its clock, while the engine has no map.
    pub still: BTreeMap<MemberId, (u64, u64)>,
    /// The version of the map by which nothing is to be done in the folder.
    pub as_mapped: Option<u64>,
    /// Objects that go once the folder's map does not name them.
    pub settling: Vec<String>,
    pub rounds: Option<(Rounds, u64, u64)>,
}

/// A folder, its process when it runs, and its machine.
pub struct Life {
    pub name: String,
    pub id: Option<MemberId>,
    pub disk: Option<Disk>,
    pub runs: bool,
    pub cut: bool,
    /// It was replaced, or has left: it never starts again.
    pub former: bool,
    /// It has waited for a whole lease, and may write its record where there is none.
    pub waited: bool,
    /// Parts in a million by which its clock is fast.
    pub rate: i64,
    /// How far its clock on the wall is off.
    pub wall: i64,
    /// And by how much while that is little enough to be a member.
    pub ahead: u64,
    pub mem: Memory,
}

impl Life {
    pub fn new(name: &str, db: Db, (rate, wall, ahead): (i64, i64, u64)) -> Self {
        let (disk, mem) = (Some(Disk::new(db)), Memory::default());
        let name = name.to_owned();
        Self { name, id: None, disk, runs: false, cut: false, former: false, waited: false, rate, wall, ahead, mem }
    }

    pub fn db(&self) -> &Db {
        &self.disk.as_ref().expect("it has a disk").db
    }

    /// A commit.
    pub fn commit(&mut self) -> &mut Db {
        self.mem.act += 1;
        self.disk.as_mut().expect("it has a disk").commit()
    }

    pub fn me(&self) -> MemberId {
        self.id.expect("it is a member")
    }

    /// Its clock: what has gone by since it was switched on, as it counts it.
    pub fn clock(&self, now: u64) -> u64 {
        let now = i64::try_from(now).unwrap();
        u64::try_from(now + now * self.rate / 1_000_000).unwrap()
    }

    pub fn wall(&self, now: u64) -> i64 {
        i64::try_from(self.clock(now)).unwrap() + self.wall
    }

    /// The time that its rows are numbered by.
    pub fn stamp(&self, now: u64) -> u64 {
        self.clock(now) + self.ahead
    }

    /// Whether it may send requests.
    pub fn has_lease(&self, now: u64) -> bool {
        self.runs && self.mem.until.is_some_and(|until| self.clock(now) < until)
    }

    pub fn session(&self) -> u64 {
        self.db().session()
    }

    /// The process begins.
    pub fn start(&mut self) {
        let disk = self.disk.as_mut().expect("it has a disk");
        disk.commit().starts += 1;
        disk.sync();
        self.mem = Memory { filter: self.db().known.keys().copied().collect(), ..Memory::default() };
        let (me, db) = (self.id, self.db());
        let own: BTreeSet<_> = db.outbox.keys().filter(|(from, to, _)| Some(*from) == me && from != to).collect();
        let senders = own.into_iter().map(|(from, to, _)| {
            let mut rows = db.rows(*from, *to, 0);
            (*to, Sender::new(rows.next().map(|first| (first, rows.next_back().unwrap_or(first)))))
        });
        self.mem.senders = senders.collect();
        (self.runs, self.cut) = (true, false);
    }
}

impl World {
    /// Sends the next beat, when it is due.
    pub fn beat(&mut self, life: usize) {
        let now = self.now;
        if !self.reaches_engine(life) {
            return;
        }
        let l = &self.lives[life];
        let clock = l.clock(now);
        let waits = l.mem.beat_out.is_some_and(|sent| clock < sent + 10_000);
        if l.id.is_none() || waits || (l.mem.until.is_some() && clock < l.mem.beat + 8_000) {
            return;
        }
        let expected = match l.mem.revision {
            Some(revision) => Some(revision),
            None => match self.may_write(life) {
                Some(expected) => expected,
                None => return,
            },
        };
        let l = &mut self.lives[life];
        let whole = l.mem.whole.clone();
        let record = Record {
            session: l.session(),
            map: l.db().map.as_ref().map_or(0, |map| map.version),
            covers: whole.as_ref().map(|whole| whole.covers.clone()).unwrap_or_default(),
            beat: clock,
            expires: l.wall(now) + i64::try_from(LEASE).unwrap(),
        };
        (l.mem.beat, l.mem.beat_out, l.waited) = (clock, Some(clock), false);
        let sent = clock;
        let emptied = self.engine.emptied;
        let delay = self.delay();
        self.at(delay, Event::Beat { life, session: record.session, expected, record, sent, emptied, whole });
    }

    /// Over which revision of its record a process may write that has not written any: its own folder's, or none when nobody can have
    /// taken its place. `None`: it may not, now or ever.
    fn may_write(&mut self, life: usize) -> Option<Option<u64>> {
        let (now, id) = (self.now, self.lives[life].me());
        let record = self.engine.nodes.get(&id).map(|(revision, record)| (*revision, record.session));
        let begun = self.store.begun(id);
        let lazy = self.planted == Some(Planted::MissingRecordWritten);
        let l = &mut self.lives[life];
        let folder = l.db().folder;
        if let Some((revision, session)) = record {
            l.mem.missing = None;
            if session & 0xffff_ffff == folder {
                return Some(Some(revision));
            }
            self.end_life(life, "another has its place");
            return None;
        }
        if l.waited || l.has_lease(now) || lazy {
            return Some(None);
        }
        let clock = l.clock(now);
        let missing = l.mem.missing.filter(|(emptied, _)| *emptied == self.engine.emptied);
        let (_, since) = *l.mem.missing.insert(missing.unwrap_or((self.engine.emptied, clock)));
        if clock < since + LEASE {
            return None;
        }
        let session = l.session();
        if begun & 0xffff_ffff != folder && begun > session {
            self.end_life(life, "a checkpoint is of a later session");
            return None;
        }
        l.waited = true;
        Some(None)
    }

    /// A beat arrives at the engine.
    #[expect(clippy::too_many_arguments, reason = "the parts of one message")]
    pub fn beat_arrives(
        &mut self,
        life: usize,
        session: u64,
        expected: Option<u64>,
        record: Record,
        sent: u64,
        emptied: u64,
        whole: Option<Whole>,
    ) {
        if self.engine.away || emptied != self.engine.emptied || self.lives[life].disk.is_none() {
            return; // the connection broke
        }
        let id = self.lives[life].me();
        let written = self.engine.write_record(id, expected, record);
        if written.is_some() {
            self.holds(id, life);
        }
        let lost = self.rng.percent(4);
        let l = &mut self.lives[life];
        if !l.runs || l.session() != session || l.cut || lost {
            return;
        }
        l.mem.beat_out = None;
        match written {
            Some(revision) => {
                (l.mem.revision, l.mem.missing) = (Some(revision), None);
                l.mem.until = Some(sent + LEASE - MARGIN);
                l.mem.named = whole;
            }
            None => l.mem.revision = None, // by an earlier beat whose answer was lost, or by another
        }
    }

    /// Somebody without a folder looks whether a member's record stands still, and takes its place.
    pub fn spare_looks(&mut self) {
        let now = self.now;
        if self.engine.away {
            return;
        }
        let clock = now + now * self.spare.rate / 1_000_000;
        let folders =
            self.lives.iter().filter(|life| !life.former).filter_map(|life| life.disk.as_ref()?.db.map.clone());
        let copies = self.store.checkpoints.values().flat_map(|all| all.values()).filter_map(|db| db.map.clone());
        let newest = || folders.chain(copies).max_by_key(|map| map.version); // the operator looks who is waited for
        let Some(map) = self.engine.map.as_ref().map(|(_, map)| Rc::clone(map)).or_else(newest) else { return };
        for member in &map.members {
            let record = self.engine.nodes.get(&member.id).cloned();
            // Not the revision alone: an engine that was emptied gives the same ones again, or had a record that nobody saw.
            let beat = (self.engine.emptied, record.as_ref().map(|(revision, _)| *revision));
            let seen = self.spare.watched.entry(member.id).or_insert((beat, clock));
            if seen.0 != beat {
                *seen = (beat, clock);
            }
            let still = clock >= seen.1 + LEASE;
            let clocks = self.planted == Some(Planted::ClocksCompared)
                && record.as_ref().is_some_and(|(_, record)| record.expires < i64::try_from(now).unwrap());
            if still || clocks {
                self.replace(&map, member, record.map(|(revision, record)| (revision, record.session)));
                return;
            }
        }
    }

    fn replace(&mut self, map: &Rc<Map>, member: &Member, record: Option<(u64, u64)>) {
        let id = member.id;
        self.spare.watched.remove(&id);
        let mut db = match self.store.newest(id) {
            Some((_, db)) => Db::clone(db),
            None => Db::new(&mut self.rng, crate::domain::partition::PartitionSet::none()),
        };
        if self.planted == Some(Planted::NumberKept)
            && let Some(old) = self.holder.get(&id).and_then(|old| self.lives[*old].disk.as_ref())
        {
            db.stands = old.db.stands.clone();
        }
        let older = db.map.as_ref().is_none_or(|has| has.version < map.version);
        if older {
            db.map = Some(Rc::clone(map)); // what it saw: else nobody might have the newest any more
        }
        db.folder = self.rng.next() & 0xffff_ffff;
        // Later than every session of which a checkpoint may still become whole.
        let known = [self.store.begun(id), record.map_or(0, |(_, session)| session)];
        db.starts = known.into_iter().map(|session| session >> 32).fold(db.starts, u64::max);
        let clock = self.clock();
        let mut life = Life::new(&member.name, db, clock);
        life.id = Some(id);
        life.start();
        let mine = Record {
            session: life.session(),
            map: life.db().map.as_ref().map_or(0, |map| map.version),
            covers: BTreeMap::new(),
            beat: life.clock(self.now),
            expires: life.wall(self.now) + i64::try_from(LEASE).unwrap(),
        };
        let sent = life.clock(self.now);
        let Some(revision) = self.engine.write_record(id, record.map(|(revision, _)| revision), mine) else { return };
        (life.mem.revision, life.mem.until) = (Some(revision), Some(sent + LEASE - MARGIN));
        life.mem.beat = sent;
        self.spare.taken += 1;
        let nth = self.lives.len();
        self.say(|| format!("life {nth} takes the place of {id:?}"));
        self.lives.push(life);
        self.holds(id, nth);
        self.oracle_rolled_back();
        self.at(500, Event::Tick(nth));
    }
}
