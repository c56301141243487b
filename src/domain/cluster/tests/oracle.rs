//! Who knows the truth: what is looked at after each trouble, and at the end.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use super::folder::{Db, State};
use super::web::Url;
use super::world::World;
use crate::domain::cluster::map::MemberId;
use crate::domain::partition::Partition;

/// What it remembers.
#[derive(Default)]
pub struct Oracle {
    /// Pages whose commit counts.
    done: BTreeSet<Url>,
    /// Requests under way, by host: whose, and until when.
    flights: BTreeMap<Partition, Vec<(usize, u64, u64)>>,
}

/// Which folders are looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum As {
    /// As they are.
    Now,
    /// As they were if the power failed everywhere.
    Synced,
    /// As they were if every disk was lost.
    Copied,
}

impl World {
    /// The folder of a member.
    fn folder(&self, id: MemberId, how: As) -> Option<Rc<Db>> {
        let disk = self.holder.get(&id).and_then(|life| self.lives[*life].disk.as_ref());
        let copy = || self.store.newest(id).map(|(_, db)| Rc::clone(db));
        match how {
            As::Now => disk.map(|disk| Rc::clone(&disk.db)).or_else(copy),
            As::Synced => disk.map(|disk| Rc::clone(&disk.synced)).or_else(copy),
            As::Copied => copy(),
        }
    }

    /// The rows that count, or what is wrong about them (I14).
    fn rows(&self, how: As) -> Result<BTreeMap<Url, State>, String> {
        let folders: BTreeMap<MemberId, _> = self.map.members.iter().map(|m| (m.id, self.folder(m.id, how))).collect();
        let mut rows = BTreeMap::new();
        for partition in &self.web.hosts {
            let owner = self.map.owner(*partition).ok_or("a partition without an owner")?;
            let db = folders.get(&owner).and_then(Option::as_ref);
            let named = self.map.object(*partition);
            let came =
                |db: &&Rc<Db>| named.is_none_or(|object| db.held.came.get(partition).is_some_and(|o| o == object));
            let gone = || db.and_then(|db| db.held.gone.get(partition)).map(String::as_str);
            match (db.filter(|db| db.held.owned.has(*partition)).filter(came), named.or_else(gone)) {
                (Some(db), _) => {
                    let own = db.known.iter().filter(|(url, _)| self.web.partition(**url) == *partition);
                    rows.extend(own.map(|(url, state)| (*url, *state)));
                }
                (None, Some(object)) => match self.store.objects.get(object).and_then(|parcel| parcel.get(partition)) {
                    Some(export) => rows.extend(export.known.iter().copied()),
                    None => return Err(format!("I14: partition {partition} is in {object}, which is not there")),
                },
                (None, None) => return Err(format!("I14: partition {partition} is {owner:?}'s, who has it not")),
            }
        }
        Ok(rows)
    }

    /// Links of committed pages are known, or on their way (I13).
    pub fn oracle_look(&mut self) {
        if self.failed.is_some() {
            return;
        }
        for how in [As::Now, As::Synced, As::Copied] {
            if let Err(why) = self.look_as(how) {
                self.fail(format!("{how:?}: {why}"));
                return;
            }
        }
    }

    fn look_as(&self, how: As) -> Result<(), String> {
        let rows = self.rows(how)?;
        let mut on_their_way = BTreeSet::new();
        for member in &self.map.members {
            for row in self.folder(member.id, how).iter().flat_map(|db| db.outbox.values()) {
                on_their_way.extend(row.iter().copied());
            }
        }
        for (url, _) in rows.iter().filter(|(_, state)| **state == State::Done) {
            for link in self.web.links(*url) {
                if !rows.contains_key(link) && !on_their_way.contains(link) {
                    return Err(format!("I13: the link from {url} to {link} is nowhere"));
                }
            }
        }
        Ok(())
    }

    /// Folders are not what they were: what is done is looked up anew.
    pub fn oracle_rolled_back(&mut self) {
        if let Ok(rows) = self.rows(As::Now) {
            let done = rows.iter().filter(|(_, state)| **state == State::Done);
            self.oracle.done = done.map(|(url, _)| *url).collect();
        }
    }

    /// A request begins (I12).
    pub fn oracle_begins(&mut self, life: usize, url: Url, takes: u64) {
        let (now, partition) = (self.now, self.web.partition(url));
        let (id, owner, session) = (self.lives[life].me(), self.map.owner(partition), self.lives[life].session());
        if owner != Some(id) || self.holder.get(&id) != Some(&life) {
            self.fail(format!("I12: life {life} fetches {url} of {partition}, which is {owner:?}'s"));
        }
        if self.oracle.done.contains(&url) {
            self.fail(format!("life {life} fetches {url} again"));
        }
        let flights = self.oracle.flights.entry(partition).or_default();
        flights.retain(|(_, _, until)| *until > now);
        let others: Vec<_> = flights.iter().filter(|(other, _, _)| *other != life).copied().collect();
        flights.push((life, session, now + takes));
        for (other, session, _) in others {
            let o = &self.lives[other];
            if o.has_lease(now) && o.session() == session {
                self.fail(format!("I12: lives {other} and {life} both ask the host of {partition}"));
            }
        }
    }

    pub fn oracle_done(&mut self, life: usize, url: Url) {
        let l = &self.lives[life];
        if self.holder.get(&l.me()) == Some(&life) && self.map.owner(self.web.partition(url)) == l.id {
            self.oracle.done.insert(url);
        }
    }

    /// The end is told (I15).
    pub fn end(&mut self) {
        self.over = true;
        if let Err(why) = self.look_as(As::Now) {
            self.fail(why);
        }
        let Ok(rows) = self.rows(As::Now) else { return };
        let done: BTreeSet<Url> =
            rows.iter().filter(|(_, state)| **state == State::Done).map(|(url, _)| *url).collect();
        if done != self.web.truth {
            let lack: Vec<_> = self.web.truth.difference(&done).collect();
            self.fail(format!("I15: the end is told, and {lack:?} are not done"));
        }
        let folders: Vec<_> = self.map.members.iter().filter_map(|m| self.folder(m.id, As::Now)).collect();
        for db in folders {
            let own = db.known.keys().filter(|url| db.held.owned.has(self.web.partition(**url))).count();
            if db.count != own {
                self.fail(format!("counted {} URLs, there are {own}", db.count));
            }
        }
    }
}
