//! Pages fetched and committed, and the links of them handed over.

use std::collections::BTreeMap;
use std::rc::Rc;

use super::planted::Planted;
use super::web::Url;
use super::world::{Event, World};
use crate::domain::cluster::map::MemberId;
use crate::domain::cluster::moves::Place;
use crate::domain::cluster::receiver::{Judged, judge};
use crate::domain::cluster::sender::{Answer, Ask, Sender};
use crate::domain::partition::Partition;

impl World {
    pub fn place(&self, life: usize, partition: Partition) -> Place {
        let l = &self.lives[life];
        let Some(map) = l.db().map.as_ref() else { return Place::Soon };
        map.place(l.me(), &l.db().held.owned, partition)
    }

    /// Whether it may fetch of a partition.
    fn may_fetch(&self, life: usize, partition: Partition) -> bool {
        let l = &self.lives[life];
        let on = self.planted == Some(Planted::GiverFetchesOn)
            && l.db().held.owned.has(partition)
            && l.db().map.as_ref().is_some_and(|map| map.owner(partition) == l.id);
        on || self.place(life, partition) == Place::Here
    }

    /// Begins a request, if it may.
    pub fn fetch(&mut self, life: usize) {
        let l = &self.lives[life];
        let rests = l.mem.rests && self.planted != Some(Planted::GiverFetchesOn);
        if !l.has_lease(self.now) || rests || l.mem.leased.len() >= 3 {
            return;
        }
        let skip = usize::try_from(self.rng.below(4)).unwrap();
        let l = &self.lives[life];
        let free = |partition: Partition| !l.mem.leased.values().any(|(_, (of, _))| *of == partition);
        let open =
            l.db().queue.iter().filter(|((partition, _), _)| free(*partition) && self.may_fetch(life, *partition));
        let Some((entry, url)) = open.take(skip + 1).last().map(|(entry, url)| (*entry, *url)) else { return };
        let fetch = self.number();
        self.lives[life].mem.leased.insert(fetch, (url, entry));
        let takes = self.rng.between(500, 6_000);
        self.oracle_begins(life, url, takes);
        self.at(takes, Event::Fetched { life, session: self.lives[life].session(), fetch });
    }

    /// A request has its answer: the page is committed with its links.
    pub fn fetched(&mut self, life: usize, session: u64, fetch: u64) {
        let now = self.now;
        let l = &mut self.lives[life];
        if !l.runs || l.session() != session {
            return;
        }
        let Some((url, entry)) = l.mem.leased.remove(&fetch) else { return };
        if !l.has_lease(now) {
            return; // its sockets were closed
        }
        l.commit().done(url, entry);
        let links = self.web.links(url).to_vec();
        self.take_links(life, &links, true);
        self.oracle_done(life, url);
        self.say(|| format!("life {life} has done {url}"));
    }

    /// Links go into the folder, or into rows for others, in the commit that is open.
    fn take_links(&mut self, life: usize, links: &[Url], cached: bool) {
        let left_out = self.planted == Some(Planted::LeftOutOfRows);
        let mut rows: BTreeMap<MemberId, Vec<Url>> = BTreeMap::new();
        for &url in links {
            let partition = self.web.partition(url);
            let place = self.place(life, partition);
            let l = &mut self.lives[life];
            let to = match place {
                Place::Here => {
                    let disk = l.disk.as_mut().expect("it has a disk");
                    disk.commit().discover(&mut l.mem.filter, url, partition);
                    self.say(|| format!("life {life} takes {url}"));
                    continue;
                }
                Place::Soon => l.me(),
                Place::At(to) => to,
            };
            if !cached && to != l.me() && self.planted == Some(Planted::NotRerouted) {
                continue;
            }
            let new = l.mem.cache.insert(url) || !(cached || left_out);
            self.say(|| format!("life {life} has a link to {url} at {to:?}, cached {}", !new));
            if new {
                rows.entry(to).or_default().push(url);
            }
        }
        for (to, urls) in rows {
            self.add_row(life, to, urls);
        }
    }

    fn add_row(&mut self, life: usize, to: MemberId, urls: Vec<Url>) {
        let (l, now) = (&mut self.lives[life], self.now);
        let (me, stamp) = (l.me(), if self.planted == Some(Planted::NumbersComeAgain) { 1 } else { l.stamp(now) });
        let db = l.disk.as_mut().expect("it has a disk").commit();
        let next = db.next.entry(to).or_default();
        let number = stamp.max(*next);
        *next = number + 1;
        db.outbox.insert((me, to, number), Rc::new(urls));
        if to != me {
            l.mem.senders.entry(to).or_insert_with(|| Sender::new(None)).added(number);
        }
    }

    /// Rows for who takes none any more become rows for the member itself.
    pub fn reroute(&mut self, life: usize) {
        let l = &self.lives[life];
        let Some(map) = l.db().map.clone().filter(|_| l.runs) else { return };
        let takes = |to: &MemberId| map.takes_links(*to);
        let gone = l.mem.senders.iter().find(|(to, sender)| !sender.is_empty() && !takes(to)).map(|(to, _)| *to);
        let Some(gone) = gone else { return };
        let me = self.lives[life].me();
        let l = &mut self.lives[life];
        let db = l.commit();
        let numbers: Vec<u64> = db.rows(me, gone, 0).collect();
        let rows: Vec<_> = numbers.iter().filter_map(|number| db.outbox.remove(&(me, gone, *number))).collect();
        let last = numbers.last().copied().unwrap_or_default();
        l.mem.senders.get_mut(&gone).expect("it was found there").removed(last);
        rows.into_iter().for_each(|row| self.add_row(life, me, row.to_vec()));
    }

    /// Takes in the first row of each sender, but for one with links of a partition that is on its way here.
    pub fn take_rows_in(&mut self, life: usize) {
        let l = &self.lives[life];
        if l.mem.rests {
            return;
        }
        for key in l.db().came(l.me()) {
            let row = Rc::clone(&self.lives[life].db().outbox[&key]);
            if row.iter().all(|url| self.place(life, self.web.partition(*url)) != Place::Soon) {
                self.lives[life].commit().outbox.remove(&key);
                self.take_links(life, &row, false);
            }
        }
    }

    /// Sends what is to be sent.
    pub fn send(&mut self, life: usize) {
        let now = self.now;
        if !self.reaches_engine(life) || !self.lives[life].has_lease(now) {
            return; // what a former member numbers at the time of its heir would hide rows of that
        }
        let l = &mut self.lives[life];
        let (db, me, asker) = (Rc::clone(&l.disk.as_ref().expect("it has a disk").db), l.me(), l.session());
        let Some(version) = db.map.as_ref().map(|map| map.version).filter(|_| !l.mem.rests) else { return };
        let clock = crate::base::time::UnixMillis(l.clock(now));
        let mut asks = Vec::new();
        for (to, sender) in &mut l.mem.senders {
            let Some(record) = l.mem.seen.get(to) else { continue };
            if self.planted != Some(Planted::AnsweredByFormer) || !sender.is_answered() {
                sender.receiver(record.session);
            }
            let rows = |after| {
                let mut few = db.rows(me, *to, after).take(2);
                let first = few.next()?;
                Some((first, few.next().unwrap_or(first)))
            };
            if let Some(ask) = sender.ask(clock, version, rows) {
                asks.push((*to, record.session, ask));
            }
        }
        for (to, session, ask) in asks {
            let rows = ask.rows.0..=ask.rows.1;
            let numbers = if rows.is_empty() { Vec::new() } else { db.rows(me, to, rows.start() - 1).collect() };
            let sent = numbers.into_iter().filter(|number| rows.contains(number));
            let rows: Vec<_> = sent.map(|number| (number, Rc::clone(&db.outbox[&(me, to, number)]))).collect();
            for _ in 0..self.copies() {
                let delay = self.delay();
                let rows = rows.clone();
                self.at(delay, Event::Links { to, session, life, asker, ask, rows });
            }
        }
    }

    /// A request arrives at the session that it was sent to.
    pub fn links_arrive(
        &mut self,
        to: MemberId,
        session: u64,
        (from, asker): (usize, u64),
        ask: Ask,
        rows: &[(u64, Rc<Vec<Url>>)],
    ) {
        let takes =
            |l: &super::life::Life| l.id == Some(to) && l.runs && !l.cut && !l.mem.rests && l.session() == session;
        let Some(life) = self.lives.iter().position(takes).filter(|_| !self.engine.away) else { return };
        let l = &mut self.lives[life];
        let (Some(map), Some(sender)) = (l.db().map.clone(), self.lives[from].id) else { return };
        let l = &mut self.lives[life];
        let answer = match judge(l.db().stands.get(&sender).copied(), &ask, map.version, 0) {
            Judged::Say(answer) => answer,
            Judged::Take(first, last) => {
                let db = l.commit();
                let new = rows.iter().filter(|(number, _)| *number >= first);
                db.outbox.extend(new.map(|(number, row)| ((sender, to, *number), Rc::clone(row))));
                db.stands.insert(sender, last);
                Answer::Stands(last)
            }
        };
        for _ in 0..self.copies() {
            let delay = self.delay();
            self.at(delay, Event::Answer { life: from, asked: asker, to, id: ask.id, session, answer });
        }
    }

    /// An answer arrives.
    pub fn answer_arrives(&mut self, life: usize, asked: u64, to: MemberId, id: u64, session: u64, answer: Answer) {
        let now = self.now;
        let l = &mut self.lives[life];
        if !l.runs || l.session() != asked || l.cut || self.engine.away {
            return;
        }
        let clock = crate::base::time::UnixMillis(l.clock(now));
        let Some(sender) = l.mem.senders.get_mut(&to) else { return };
        if let Some((from, upto)) = sender.answered(id, session, answer, clock) {
            self.fail(format!("life {life}: rows {from} to {upto} for {to:?} are nowhere"));
            return;
        }
        if let (Some(Planted::RowGoesAtAnswer), Answer::Stands(number)) = (self.planted, answer) {
            self.covered(life, to, number);
        }
    }

    /// A checkpoint of another covers rows: they go.
    pub fn covered(&mut self, life: usize, to: MemberId, number: u64) {
        let me = self.lives[life].me();
        let l = &mut self.lives[life];
        let Some(upto) = l.mem.senders.get_mut(&to).and_then(|sender| sender.covered(number)) else { return };
        let db = l.disk.as_mut().expect("it has a disk").commit();
        db.outbox.retain(|(from, of, number), _| (*from, *of) != (me, to) || *number > upto);
        self.say(|| format!("life {life} removes the rows up to {upto} for {to:?}"));
    }
}
