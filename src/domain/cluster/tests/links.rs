//! Pages fetched and committed, and the links of them handed over.

use std::collections::BTreeMap;
use std::rc::Rc;

use super::planted::Planted;
use super::web::Url;
use super::world::{Event, World};
use crate::domain::cluster::map::MemberId;
use crate::domain::cluster::moves::Place;
use crate::domain::cluster::receiver::{Judged, judge, ready, taken};
use crate::domain::cluster::sender::{Answer, Ask, Sender, Stand};
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
        if !l.has_lease(self.now) || l.mem.leased.len() >= 3 {
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
        let l = &mut self.lives[life];
        let session = l.session();
        let sender = l.mem.senders.entry(to).or_insert_with(|| Sender::new(session, None, None));
        let number = sender.next();
        sender.added(number);
        l.disk.as_mut().expect("it has a disk").commit().outbox.insert((to, number), Rc::new(urls));
    }

    /// Rows for who takes none any more go where their links belong now.
    pub fn reroute(&mut self, life: usize) {
        let l = &self.lives[life];
        let Some(map) = l.db().map.clone() else { return };
        let takes = |to: &MemberId| map.takes_links(*to);
        let gone = l.mem.senders.iter().find(|(to, sender)| !sender.is_empty() && !takes(to)).map(|(to, _)| *to);
        let Some(gone) = gone else { return };
        let l = &mut self.lives[life];
        let db = l.commit();
        let rows: Vec<(MemberId, u64)> = db.outbox.range((gone, 0)..=(gone, u64::MAX)).map(|(key, _)| *key).collect();
        let last = rows.last().map_or(0, |(_, number)| *number);
        let links: Vec<Url> =
            rows.iter().filter_map(|key| db.outbox.remove(key)).flat_map(|row| row.to_vec()).collect();
        self.lives[life].mem.senders.get_mut(&gone).expect("it was found there").removed(last);
        self.take_links(life, &links, false);
    }

    /// Sends what is to be sent.
    pub fn send(&mut self, life: usize) {
        let now = self.now;
        if !self.reaches_engine(life) {
            return;
        }
        let l = &mut self.lives[life];
        let Some(version) = l.db().map.as_ref().map(|map| map.version) else { return };
        let clock = crate::base::time::UnixMillis(l.clock(now));
        let mut asks = Vec::new();
        for (to, sender) in &mut l.mem.senders {
            let Some(record) = l.mem.seen.get(to) else { continue };
            if self.planted != Some(Planted::AnsweredByFormer) || !sender.is_answered() {
                sender.receiver(record.session);
            }
            if let Some(ask) = sender.ask(clock, version, |_| 100 << 10) {
                asks.push((*to, record.session, ask));
            }
        }
        for (to, session, ask) in asks {
            let outbox = &self.lives[life].db().outbox;
            let rows = (ask.rows.0..=ask.rows.1).map(|number| outbox.get(&(to, number)).cloned().unwrap_or_default());
            let rows: Vec<Rc<Vec<Url>>> = rows.collect();
            for _ in 0..self.copies() {
                let delay = self.delay();
                let rows = rows.clone();
                self.at(delay, Event::Links { to, session, life, ask, rows });
            }
        }
    }

    /// A request arrives at the session that it was sent to.
    pub fn links_arrive(&mut self, to: MemberId, session: u64, from: usize, mut ask: Ask, rows: &[Rc<Vec<Url>>]) {
        let runs = |l: &super::life::Life| l.id == Some(to) && l.runs && !l.cut && l.session() == session;
        let Some(life) = self.lives.iter().position(runs) else { return };
        let l = &self.lives[life];
        let (Some(map), Some(sender)) = (l.db().map.clone(), self.lives[from].id) else { return };
        if self.engine.away || self.lives[life].mem.settled {
            return;
        }
        let stand = l.db().stands.get(&sender).copied();
        if self.planted == Some(Planted::SessionIgnored)
            && let Some(stand) = stand
        {
            ask.session = stand.session;
        }
        let answer = match judge(stand, &ask, map.version, 0) {
            Judged::Say(answer) => answer,
            Judged::Take(first, last) => {
                let skip = usize::try_from(first - ask.rows.0).unwrap();
                let part = &rows[skip..];
                let partitions: Vec<Vec<Partition>> =
                    part.iter().map(|row| row.iter().map(|url| self.web.partition(*url)).collect()).collect();
                let many = ready(partitions.iter().map(Vec::as_slice), &map, to, &l.db().held.owned);
                assert!(last + 1 - first == part.len() as u64);
                if many == 0 {
                    Answer::Later
                } else {
                    let number = first + many as u64 - 1;
                    let links: Vec<Url> = part[..many].iter().flat_map(|row| row.to_vec()).collect();
                    self.lives[life].commit().stands.insert(sender, taken(&ask, number));
                    self.take_links(life, &links, false);
                    Answer::Stands(number)
                }
            }
        };
        for _ in 0..self.copies() {
            let delay = self.delay();
            self.at(delay, Event::Answer { life: from, asked: ask.session, to, id: ask.id, session, answer });
        }
    }

    /// An answer arrives.
    pub fn answer_arrives(&mut self, life: usize, asked: u64, to: MemberId, id: u64, session: u64, answer: Answer) {
        let now = self.now;
        let ignored = self.planted == Some(Planted::SessionIgnored);
        let l = &mut self.lives[life];
        if !l.runs || (l.session() != asked && !ignored) || l.cut || self.engine.away {
            return;
        }
        let clock = crate::base::time::UnixMillis(l.clock(now));
        let own = l.session();
        let Some(sender) = l.mem.senders.get_mut(&to) else { return };
        if let Some((from, upto)) = sender.answered(id, session, answer, clock) {
            self.fail(format!("life {life}: rows {from} to {upto} for {to:?} are nowhere"));
            return;
        }
        if let (Some(Planted::RowGoesAtAnswer), Answer::Stands(number)) = (self.planted, answer) {
            self.covered(life, to, Stand { session: own, number });
        }
    }

    /// A checkpoint of another covers rows: they go.
    pub fn covered(&mut self, life: usize, to: MemberId, stand: Stand) {
        let l = &mut self.lives[life];
        let Some(upto) = l.mem.senders.get_mut(&to).and_then(|sender| sender.covered(stand)) else { return };
        let db = l.disk.as_mut().expect("it has a disk").commit();
        db.outbox.retain(|(of, number), _| *of != to || *number > upto);
        self.say(|| format!("life {life} removes the rows up to {upto} for {to:?}"));
    }
}
