//! Maps obeyed and changed, partitions carried over, checkpoints, the end.

use std::collections::BTreeMap;
use std::rc::Rc;

use super::folder::Parcel;
use super::life::Whole;
use super::planted::Planted;
use super::world::{Event, LEASE, World};
use crate::domain::cluster::held::ToDo;
use crate::domain::cluster::map::{Map, MemberId};
use crate::domain::cluster::moves::object_name;
use crate::domain::cluster::rounds::{Found, Reply, Rounds, Still};
use crate::domain::partition::{Partition, PartitionSet};

impl World {
    /// Reads what the engine has.
    pub fn look(&mut self, life: usize) {
        if !self.reaches_engine(life) {
            return;
        }
        let records: BTreeMap<MemberId, _> =
            self.engine.nodes.iter().map(|(id, (_, record))| (*id, Rc::clone(record))).collect();
        self.lives[life].mem.seen = records.clone();
        let own = self.lives[life].session();
        let record = self.lives[life].id.and_then(|id| records.get(&id));
        if record.is_some_and(|record| record.session & 0xffff_ffff != own & 0xffff_ffff) {
            self.end_life(life, "another has its place");
            return;
        }
        if let Some(me) = self.lives[life].id {
            for (to, record) in &records {
                if let Some(stand) = record.covers.get(&me) {
                    self.covered(life, *to, *stand);
                }
                if let Some(sender) = self.lives[life].mem.senders.get_mut(to)
                    && self.planted != Some(Planted::AnsweredByFormer)
                {
                    sender.receiver(record.session);
                }
            }
        }
        match self.engine.map.clone() {
            Some((revision, map)) => {
                self.lives[life].mem.still.clear();
                self.adopt(life, revision, map);
            }
            None => self.put_back(life),
        }
        self.reroute(life);
    }

    fn adopt(&mut self, life: usize, revision: u64, map: Rc<Map>) {
        let own = self.lives[life].db().map.clone();
        let has = own.as_ref().map_or(0, |map| map.version);
        let same = own.is_some_and(|own| Rc::ptr_eq(&own, &map) || own == map);
        let obeys = self.planted == Some(Planted::OlderMapObeyed);
        let l = &mut self.lives[life];
        l.mem.map_revision = Some(revision);
        if same || (map.version < has && !obeys) {
            if map.version < has {
                l.mem.map_revision = None;
            }
            return;
        }
        l.id = l.id.or_else(|| map.member(&l.name).map(|member| member.id));
        let disk = l.disk.as_mut().expect("it has a disk");
        disk.commit().map = Some(Rc::clone(&map));
        disk.sync();
        if let Some(id) = l.id {
            if map.numbered(id).is_none_or(|member| member.name != self.lives[life].name) {
                self.end_life(life, "it has left");
                return;
            }
            let disk = self.lives[life].disk.as_mut().expect("it has a disk");
            disk.commit().held.forget(&map, id);
        }
    }

    /// The engine lost the map: the newest copy is put back when all have said theirs.
    fn put_back(&mut self, life: usize) {
        let clock = self.lives[life].clock(self.now);
        let l = &mut self.lives[life];
        l.mem.map_revision = None;
        let Some(map) = l.db().map.clone() else { return };
        let mut said = BTreeMap::new();
        for (id, record) in &l.mem.seen {
            let still = l.mem.still.entry(*id).or_insert((record.beat, clock));
            if still.0 != record.beat {
                *still = (record.beat, clock);
            }
            if map.numbered(*id).is_some() || clock < still.1 + LEASE {
                said.insert(*id, record.map);
            }
        }
        if (map.is_newest(&said) || self.planted == Some(Planted::OlderMapObeyed)) && !self.rng.percent(20) {
            self.write_map(life, None, map.put_back());
        }
    }

    /// Sends a new map, to be written over the revision that the folder has.
    pub fn change(&mut self, life: usize, map: Map) {
        let Some(revision) = self.lives[life].mem.map_revision else { return };
        self.write_map(life, Some(revision), map);
    }

    fn write_map(&mut self, life: usize, expected: Option<u64>, map: Map) {
        let clock = self.lives[life].clock(self.now);
        if !self.reaches_engine(life) || self.lives[life].mem.map_out.is_some_and(|sent| clock < sent + 5_000) {
            return;
        }
        self.lives[life].mem.map_out = Some(clock);
        let (delay, emptied) = (self.delay(), self.engine.emptied);
        self.at(delay, Event::WriteMap { life, expected, map, emptied });
    }

    pub fn map_arrives(&mut self, life: usize, expected: Option<u64>, map: Map, emptied: u64) {
        if self.engine.away || emptied != self.engine.emptied {
            return;
        }
        let version = map.version;
        if self.engine.write_map(expected, map.clone()).is_some() {
            self.map = Rc::new(map);
            self.say(|| format!("life {life} writes map {version}"));
        }
        self.lives[life].mem.map_out = None;
    }

    /// One step of what the map asks of the folder.
    pub fn carry(&mut self, life: usize) {
        let l = &self.lives[life];
        let (Some(map), Some(me)) = (l.db().map.clone(), l.id) else { return };
        if l.mem.taking.is_some() {
            self.take_in(life);
            return;
        }
        if l.mem.as_mapped == Some(map.version) {
            if l.has_lease(self.now) && l.mem.map_revision.is_some() {
                self.move_on(life, &map, me);
            }
            return;
        }
        let to_do = l.db().held.to_do(&map, me);
        let hosts = Rc::clone(&self.web);
        let is_bare = |partition: &Partition| !hosts.hosts.contains(partition); // without a host: no step of its own
        let bare: Vec<Partition> = to_do.give_up.iter().filter(is_bare).collect();
        if !bare.is_empty() {
            let held = &mut self.lives[life].commit().held;
            bare.into_iter().for_each(|partition| {
                held.gave(partition);
                held.cleared(partition);
            });
        } else if self.comes_to_rest(life, &to_do) {
            // What is under way is awaited.
        } else if let Some(partition) = to_do.give_up.iter().next() {
            let web = Rc::clone(&self.web);
            self.lives[life].commit().give(partition, None, &web);
        } else if let Some(partition) = to_do.clear.iter().next() {
            let (web, skip) = (Rc::clone(&self.web), self.planted == Some(Planted::NotCleared));
            let db = self.lives[life].commit();
            if skip {
                db.held.cleared(partition);
            } else {
                db.clear(partition, &web);
            }
        } else if let Some((_, object)) = to_do.fetch.first().cloned() {
            let all = to_do.fetch.iter().filter(|(_, of)| *of == object).map(|(partition, _)| *partition);
            let all: Vec<Partition> = all.collect();
            let held = &mut self.lives[life].commit().held;
            assert!(all.iter().all(|partition| held.begins(*partition)));
            self.lives[life].mem.taking = Some((object, all, 0));
        } else if !to_do.export.is_empty() {
            self.export(life, map.version, &to_do.export);
        } else if let Some(partition) = to_do.missing.iter().find(|partition| self.web.hosts.contains(partition)) {
            self.fail(format!("life {life}: partition {partition} is its own and nowhere"));
        } else {
            let mem = &mut self.lives[life].mem;
            (mem.as_mapped, mem.rests, mem.written) = (Some(map.version), false, None);
        }
    }

    /// Nothing new is begun where something is to be done, and it is done when what is under way has ended: true until then.
    fn comes_to_rest(&mut self, life: usize, to_do: &ToDo) -> bool {
        let nothing = to_do.clear.is_empty() && to_do.fetch.is_empty() && to_do.export.is_empty();
        let mem = &mut self.lives[life].mem;
        mem.rests |= !nothing;
        mem.rests && !mem.leased.is_empty() && self.planted != Some(Planted::GiverFetchesOn)
    }

    /// The partitions of an object are taken in, a family after the other.
    fn take_in(&mut self, life: usize) {
        let Some((object, partitions, step)) = self.lives[life].mem.taking.take() else { return };
        let Some(parcel) = self.store.objects.get(&object).cloned() else {
            let l = &self.lives[life];
            if l.db().held.to_do(&self.map, l.me()).fetch.iter().any(|(_, of)| *of == object) {
                self.fail(format!("life {life}: the object {object} is gone"));
            }
            return;
        };
        let exports = || partitions.iter().map(|partition| &parcel[partition]);
        let (seq, fill) =
            (self.planted != Some(Planted::NextSeqNotRaised), self.planted != Some(Planted::FilterNotFilled));
        let l = &mut self.lives[life];
        match step {
            0 => l.commit().known.extend(exports().flat_map(|export| export.known.iter().copied())),
            1 => l.commit().queue.extend(exports().flat_map(|export| export.queue.iter().copied())),
            _ => {
                if fill {
                    l.mem.filter.extend(exports().flat_map(|export| export.known.iter().map(|(url, _)| *url)));
                }
                let db = l.commit();
                partitions.iter().for_each(|partition| db.held.accepted(*partition, &object));
                db.count += exports().map(|export| export.known.len()).sum::<usize>();
                if seq {
                    db.next_seq = exports().map(|export| export.next_seq).fold(db.next_seq, u64::max);
                }
                self.say(|| format!("life {life} has taken in {partitions:?} of {object}"));
                if self.planted == Some(Planted::ObjectGoesEarly) {
                    self.store.objects.remove(&object);
                }
                return;
            }
        }
        l.mem.taking = Some((object, partitions, step + 1));
    }

    /// A step that changes the map, if one is to be made.
    fn move_on(&mut self, life: usize, map: &Rc<Map>, me: MemberId) {
        for object in std::mem::take(&mut self.lives[life].mem.settling) {
            if map.is_named(&object) {
                self.lives[life].mem.settling.push(object);
            } else {
                self.say(|| format!("life {life} removes {object}"));
                self.store.objects.remove(&object);
            }
        }
        let l = &self.lives[life];
        let (mut hands, mut settles) = (l.db().held.hands_over(map, me), l.db().held.settles(map, me));
        let named = l.mem.named.as_ref();
        if self.planted != Some(Planted::HandedOverUncovered) {
            hands.retain(|partition, object| named.is_some_and(|whole| whole.gone.get(partition) == Some(object)));
        }
        settles.retain(|partition, object| named.is_some_and(|whole| whole.came.get(partition) == Some(object)));
        if !hands.is_empty() {
            if let Ok(next) = map.handed_over(me, &hands) {
                self.change(life, next);
            }
            return;
        }
        if let Some((next, objects)) = map.settled(me, &settles) {
            self.lives[life].mem.settling.extend(objects.into_values());
            self.change(life, next);
            return;
        }
        if map.numbered(me).is_some_and(|member| member.leaving) {
            self.leave(life, map, me);
        } else if self.rng.percent(30) {
            self.begin(life, map, me);
        }
    }

    /// Writes partitions out; once they are in the store they are let go.
    fn export(&mut self, life: usize, version: u64, partitions: &PartitionSet) {
        let (l, web) = (&mut self.lives[life], Rc::clone(&self.web));
        if let Some((object, written)) = l.mem.written.take() {
            let db = l.commit();
            written.iter().filter(|p| partitions.has(**p)).for_each(|p| db.give(*p, Some(&object), &web));
            self.say(|| format!("life {life} has let go {written:?} into {object}"));
            return;
        }
        let (db, written) = (l.db(), partitions.iter().collect::<Vec<_>>());
        let parcel: Parcel = written.iter().map(|partition| (*partition, db.export(*partition, &web))).collect();
        let object = object_name(written[0], version, l.session());
        self.store.objects.insert(object.clone(), Rc::new(parcel));
        l.mem.written = Some((object, written));
    }

    /// It takes what it should have; or, at times, what it should not: nothing but the steps makes a move safe.
    fn begin(&mut self, life: usize, map: &Rc<Map>, me: MemberId) {
        let skip = usize::try_from(self.rng.below(6)).unwrap();
        let l = &self.lives[life];
        let seen = &l.mem.seen;
        let shares = self.shares.of(map);
        let whim = self.is_trouble() && self.whims;
        let open = |p: &&Partition| {
            let owner = map.owner(**p);
            (whim || shares[usize::from(p.0)] == me)
                && owner != Some(me)
                && map.moving(**p).is_none()
                && owner.is_some_and(|owner| seen.contains_key(&owner))
        };
        let skip = if whim { skip } else { 0 };
        let open: PartitionSet = self.web.hosts.iter().filter(open).skip(skip).take(3).copied().collect();
        if open.is_empty() {
            return;
        }
        if let Ok(next) = map.begun(&open, me) {
            self.change(life, next);
        }
    }

    /// The last steps of who leaves.
    fn leave(&mut self, life: usize, map: &Rc<Map>, me: MemberId) {
        if self.web.hosts.iter().any(|p| map.owner(*p) == Some(me) || map.moving(*p).is_some_and(|m| m.to == me)) {
            return;
        }
        let rest = map.owned_by(me);
        if !rest.is_empty() {
            let other = map.members.iter().find(|member| !member.leaving).map(|member| member.id);
            if let Some(other) = other {
                self.change(life, map.given(&rest, other)); // partitions without a host, in one step
            }
            return;
        }
        let empty = self.lives[life].db().outbox.is_empty();
        if let Ok(next) = map.left(me)
            && (empty || self.planted == Some(Planted::LeftWithRows))
        {
            self.change(life, next);
        }
    }

    /// Begins a checkpoint.
    pub fn copy(&mut self, life: usize) {
        let unsynced = self.planted == Some(Planted::CheckpointUnsynced);
        let l = &mut self.lives[life];
        if l.mem.copying || l.mem.rests || l.id.is_none() || !l.has_lease(self.now) {
            return; // begun within the lease only, so that who takes its place sees its name in the store
        }
        l.mem.copying = true;
        l.mem.checkpoints += 1;
        let disk = l.disk.as_mut().expect("it has a disk");
        if !unsynced {
            disk.sync();
        }
        let db = Rc::clone(&disk.db);
        let id = (l.session(), l.mem.checkpoints);
        let begun = self.store.begun.entry(self.lives[life].me()).or_default();
        *begun = id.0.max(*begun);
        let takes = self.rng.between(500, 15_000);
        self.at(takes, Event::Copied { life, id, db });
    }

    /// A checkpoint is whole.
    pub fn copied(&mut self, life: usize, id: (u64, u64), db: Rc<super::folder::Db>) {
        let l = &mut self.lives[life];
        if !l.runs || l.session() != id.0 {
            return;
        }
        l.mem.copying = false;
        l.mem.whole = Some(Whole { covers: db.stands.clone(), came: db.held.came.clone(), gone: db.held.gone.clone() });
        self.say(|| format!("life {life} has a whole checkpoint {id:?}"));
        let l = &self.lives[life];
        let member = l.me();
        let kept = self.store.checkpoints.entry(member).or_default();
        kept.insert(id, db);
        while kept.len() > 2 {
            kept.pop_first();
        }
    }

    fn reply(&self, life: usize) -> Option<Reply> {
        let l = &self.lives[life];
        let (db, map) = (l.db(), l.db().map.as_ref()?);
        let clear = l.mem.as_mapped == Some(map.version);
        let idle = l.mem.leased.is_empty() && clear && !db.has_queued() && map.is_still() && db.came(l.me()).is_empty();
        let done = idle && l.mem.senders.values().all(|sender| sender.is_answered());
        let still = if done { Still::Done } else { Still::Busy };
        let answered_by = match self.planted {
            Some(Planted::AnsweredByFormer) => BTreeMap::new(),
            _ => l.mem.senders.iter().filter_map(|(to, sender)| Some((*to, sender.answered_by()?))).collect(),
        };
        Some(Reply { session: l.session(), map: map.version, act: l.mem.act, still, answered_by })
    }

    /// Begins the rounds, when it is its turn and it has nothing to do.
    pub fn round(&mut self, life: usize) {
        let clock = self.lives[life].clock(self.now);
        if !self.reaches_engine(life) || !self.lives[life].has_lease(self.now) {
            return;
        }
        if self.lives[life].mem.rounds.as_ref().is_some_and(|(_, _, since)| clock < since + LEASE / 6) {
            return;
        }
        self.lives[life].mem.rounds = None;
        let l = &self.lives[life];
        let Some(map) = l.db().map.clone().filter(|_| l.mem.map_revision.is_some()) else { return };
        let Some(rounds) = Rounds::begin(&map, l.me()) else { return };
        if self.reply(life).is_some_and(|reply| reply.still == Still::Done) {
            let id = self.number();
            self.lives[life].mem.rounds = Some((rounds, id, clock));
            self.ask_all(life, id);
        }
    }

    fn ask_all(&mut self, life: usize, id: u64) {
        let l = &self.lives[life];
        let Some((rounds, _, _)) = &l.mem.rounds else { return };
        let all = rounds.members().to_vec();
        let sessions: Vec<_> = all.iter().filter_map(|to| Some((*to, l.mem.seen.get(to)?.session))).collect();
        for (to, session) in sessions {
            for _ in 0..self.copies() {
                let delay = self.delay() + self.rng.below(6_000);
                self.at(delay, Event::Asked { to, session, life, id });
            }
        }
    }

    pub fn asked(&mut self, to: MemberId, session: u64, from: usize, id: u64) {
        let now = self.now;
        let answers = |l: &super::life::Life| l.id == Some(to) && l.has_lease(now) && !l.cut && l.session() == session;
        let Some(life) = self.lives.iter().position(answers).filter(|_| !self.engine.away) else { return };
        let Some(reply) = self.reply(life) else { return };
        let delay = self.delay();
        self.at(delay, Event::Replied { life: from, from: to, id, reply });
    }

    pub fn replied(&mut self, life: usize, from: MemberId, id: u64, reply: Reply) {
        if !self.lives[life].has_lease(self.now) || self.engine.away || self.lives[life].cut {
            return;
        }
        let next = self.number();
        let l = &mut self.lives[life];
        let Some((rounds, asked, _)) = &mut l.mem.rounds else { return };
        if *asked != id {
            return;
        }
        match rounds.reply(from, reply) {
            Found::Waits => {}
            Found::No => l.mem.rounds = None,
            Found::Again if self.planted != Some(Planted::OneRound) => {
                *asked = next;
                self.ask_all(life, next);
            }
            Found::Again | Found::Over(_) => {
                self.end();
            }
        }
    }
}
