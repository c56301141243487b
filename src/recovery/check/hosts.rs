//! The pass over all hosts: eight families whose keys begin with the host are read side by side, so that each host is seen
//! whole and counted in passing; its counts against their recount, and the one place it has (I9).

use super::judge::{HostTally, right_place};
use super::pass::Pass;
use super::stream::{Stream, each_chunk};
use super::{Fault, Result, queue, urls, visits};
use crate::base::time::UnixMillis;
use crate::domain::fingerprint::{CrawlId, HostKey};
use crate::domain::partition::Partition;
use crate::storage::Family;
use crate::storage::keys::{HostAt, HostCrawl, Key};
use crate::storage::tables::{
    self, Failed, HostState, Pages, Parked, Queue, Rejected, Seen, Table, VisitHosts, Visits, Waiting,
};
use crate::storage::values::{self, HostCounts, Place, Value, VisitCounts};

/// The families side by side.
#[derive(Default)]
pub struct Walk {
    names: Stream<HostState>,
    /// The host named last: it may have records in several crawls.
    named: Option<(HostAt, String, bool)>,
    pub queue: Stream<Queue>,
    counts: Stream<tables::HostCounts>,
    pub seen: Stream<Seen>,
    pub pages: Stream<Pages>,
    pub rejected: Stream<Rejected>,
    pub failed: Stream<Failed>,
    pub visits: Stream<Visits>,
}

/// One host in one crawl while it passes by.
pub struct Unit {
    pub at: HostCrawl,
    /// Its key, with which all its records' keys begin.
    pub prefix: Vec<u8>,
    /// Its name, when that is known and belongs to the key.
    pub name: Option<String>,
    /// True when the operator holds it.
    pub held: bool,
    /// Its name as a URL of one of its records has it.
    pub hint: Option<String>,
    pub tally: HostTally,
    /// Queue entries that their marks point to, and marks that point to a queue entry.
    pub bound: u64,
    pub waiting: u64,
}

impl Unit {
    /// Its name, or its key, for a report.
    pub fn shown(&self) -> String {
        let named = self.name.as_ref().or(self.hint.as_ref()).cloned();
        named.unwrap_or_else(|| format!("host {}", self.at.host))
    }
}

pub fn hosts(pass: &mut Pass<'_>) -> Result<()> {
    let mut walk = Walk::default();
    let kept_any = !pass.storage.scan(Rejected::FAMILY, &[], &[], 1)?.is_empty();
    while let Some(at) = walk.next_unit(pass)? {
        let prefix = at.encode();
        let (name, held) = walk.name_of(pass, at.host_at())?.unzip();
        let held = held.unwrap_or_default();
        let mut unit = Unit { at, prefix, name, held, hint: None, tally: HostTally::default(), bound: 0, waiting: 0 };
        let before = pass.report.total();
        urls::urls(pass, &mut walk, &mut unit, kept_any)?;
        queue::entries(pass, &mut walk, &mut unit)?;
        visits::rows(pass, &mut walk, &mut unit)?;
        if unit.bound != unit.waiting {
            queue::look_for_entries(pass, &unit)?;
        }
        nameless(pass, &unit)?;
        let changing = pass.repairing && pass.report.total() > before;
        let stored = walk.counts.next_in(pass, &unit.prefix)?.map(|row| row.value).unwrap_or_default();
        counts(pass, &unit, &stored, changing)?;
    }
    walk.name_of(pass, LAST).map(drop)
}

/// Above every host.
const LAST: HostAt = HostAt { partition: Partition(u16::MAX), host: HostKey([u8::MAX; 8]) };

impl Walk {
    /// The next host with any record, in one crawl.
    fn next_unit(&mut self, pass: &mut Pass<'_>) -> Result<Option<HostCrawl>> {
        const LEN: usize = HostCrawl::LEN;
        let all = [
            self.queue.head(pass, LEN)?,
            self.counts.head(pass, LEN)?,
            self.seen.head(pass, LEN)?,
            self.pages.head(pass, LEN)?,
            self.rejected.head(pass, LEN)?,
            self.failed.head(pass, LEN)?,
            self.visits.head(pass, LEN)?,
        ];
        Ok(all.into_iter().flatten().min().and_then(|key| HostCrawl::decode(&key).ok()))
    }

    /// The name of a host, and whether it is held; every record up to its own is judged on the way.
    fn name_of(&mut self, pass: &mut Pass<'_>, at: HostAt) -> Result<Option<(String, bool)>> {
        let until = at.encode();
        while self.names.peek(pass)?.is_some_and(|row| row.raw <= until)
            && let Some(row) = self.names.next_in(pass, &[])?
        {
            let (name, held) = (row.value.name, row.value.orders.holds());
            if name.is_empty() {
                continue; // its pace is known, nothing else
            }
            pass.totals.counters.hosts += 1;
            if pass.host_at(&name) == row.key {
                self.named = Some((row.key, name, held));
            } else {
                pass.find(Fault::HostMisnamed, &name, &format!("stands at the key {}", row.key.host), |batch| {
                    batch.delete::<HostState>(&row.key);
                })?;
            }
        }
        Ok(self.named.as_ref().filter(|(key, ..)| *key == at).map(|(_, name, held)| (name.clone(), *held)))
    }
}

/// A host with URLs to fetch needs its name, for its entries hold the rest of their URLs only.
fn nameless(pass: &mut Pass<'_>, unit: &Unit) -> Result<()> {
    let needs = unit.tally.queued.iter().any(|n| *n > 0) || unit.tally.due > 0;
    if unit.name.is_some() || !needs {
        return Ok(());
    }
    let at = unit.at.host_at();
    if unit.hint.is_none() && !pass.lost.gave_up(at) {
        pass.lost.host(at);
    }
    let known = pass.look_one::<HostState>(&at)?.unwrap_or_default();
    pass.find(Fault::HostNameless, &unit.shown(), "has URLs to fetch", |batch| {
        if let Some(name) = unit.hint.clone() {
            batch.put::<HostState>(&at, &values::HostState { name, ..known });
        }
    })
}

/// The counts of a host. `changing`: other repairs of the host come first, so that it is counted in the next round.
fn counts(pass: &mut Pass<'_>, unit: &Unit, stored: &HostCounts, changing: bool) -> Result<()> {
    pass.totals.host(&unit.tally, stored.place);
    if changing {
        return Ok(());
    }
    let mut right = unit.tally.counts(stored);
    right.heads = unit.tally.heads(&stored.heads);
    let standing = stands(pass, unit.at.host_at(), stored.place)?;
    let place = right_place(&right, unit.held);
    let misplaced = !standing || place != Some(stored.place);
    right.place = match place {
        Some(place) => place,
        None => Place::Waiting { rank: right.best_rank().unwrap_or(0), order: pass.host_order()? },
    };
    let (at, right) = (unit.at, &right);
    let plain = |c: &HostCounts| (c.queued, c.due, c.done, c.repeats, c.errors, c.bytes, visited(c));
    if plain(stored) != plain(right) {
        let detail = format!("stored {:?}, counted {:?}", plain(stored), plain(right));
        pass.find(Fault::HostCounts, &unit.shown(), &detail, |batch| batch.put::<tables::HostCounts>(&at, right))?;
    }
    if stored.heads != right.heads {
        let detail = format!("stored {:?}, first entries {:?}", stored.heads, unit.tally.lowest);
        pass.find(Fault::HostHeads, &unit.shown(), &detail, |batch| batch.put::<tables::HostCounts>(&at, right))?;
    }
    if misplaced {
        let detail = format!("{:?} with {} URLs in its queue", stored.place, right.queued_total());
        pass.find(Fault::HostPlace, &unit.shown(), &detail, |batch| {
            if let Some((row, key)) = entry_of(at.host_at(), stored.place) {
                batch.delete_raw(row, key);
            }
            if let Some((row, key)) = entry_of(at.host_at(), right.place) {
                batch.put_raw(row, key, Value::encode(&()));
            }
            batch.put::<tables::HostCounts>(&at, right);
        })?;
    }
    first_visit(pass, unit, stored, right)
}

/// What is counted of visits, and what lies before them.
fn visited(counts: &HostCounts) -> (u64, u64, u32, UnixMillis) {
    let visits = &counts.visits;
    (visits.rows, visits.load, visits.queued, visits.first)
}

/// The row of the host's first visit.
fn first_visit(pass: &mut Pass<'_>, unit: &Unit, stored: &HostCounts, right: &HostCounts) -> Result<()> {
    let at = unit.at.host_at();
    let (is, should) = (stored.visits.row, right.visits.turn(right.waiting()).filter(|_| !unit.held));
    let there = match is {
        Some(time) => pass.look_one::<VisitHosts>(&at.parked(time))?.is_some(),
        None => true,
    };
    if there && is == should {
        return Ok(());
    }
    let visits = VisitCounts { row: should, ..right.visits };
    let right = HostCounts { visits, ..right.clone() };
    let detail = format!("{} pages to visit again, looked at {is:?}, should be {should:?}", right.visits.rows);
    pass.find(Fault::VisitHost, &unit.shown(), &detail, |batch| {
        is.iter().for_each(|time| batch.delete::<VisitHosts>(&at.parked(*time)));
        should.iter().for_each(|time| batch.put::<VisitHosts>(&at.parked(*time), &()));
        batch.put::<tables::HostCounts>(&unit.at, &right);
    })
}

/// True when the host has the row entry that its place says.
fn stands(pass: &Pass<'_>, at: HostAt, place: Place) -> Result<bool> {
    let Some((row, key)) = entry_of(at, place) else { return Ok(true) };
    Ok(pass.storage.get(row, &key)?.is_some_and(|entry| <() as Value>::decode(&entry).is_ok()))
}

/// The entry of a row that a place stands for, if it stands for one.
fn entry_of(at: HostAt, place: Place) -> Option<(Family, Vec<u8>)> {
    match place {
        Place::None | Place::Held => None,
        Place::Waiting { rank, order } => Some((Waiting::FAMILY, at.waiting(rank, order).encode())),
        Place::Parked { time } => Some((Parked::FAMILY, at.parked(time).encode())),
    }
}

/// Every entry of `waiting` and `parked` is its host's place.
pub fn rows(pass: &mut Pass<'_>) -> Result<()> {
    row::<Waiting>(pass, |key| (key.host_at(), Place::Waiting { rank: key.rank, order: key.order }))?;
    row::<Parked>(pass, |key| (key.host_at(), Place::Parked { time: key.time }))?;
    each_chunk::<VisitHosts>(pass, |pass, rows| {
        let hosts: Vec<HostCrawl> = rows.iter().map(|row| row.key.host_at().crawl(CrawlId::default())).collect();
        for (row, counts) in rows.iter().zip(pass.look::<tables::HostCounts>(&hosts)?) {
            if counts.and_then(|counts| counts.visits.row) != Some(row.key.time) {
                let detail = "is in visit_hosts at another time than its own";
                let host = shown(pass, row.key.host_at())?;
                pass.find(Fault::VisitHost, &host, detail, |batch| batch.delete::<VisitHosts>(&row.key))?;
            }
        }
        Ok(())
    })
}

fn row<T: Table<Value = ()>>(pass: &mut Pass<'_>, place_of: impl Fn(&T::Key) -> (HostAt, Place)) -> Result<()> {
    each_chunk::<T>(pass, |pass, rows| {
        let hosts: Vec<HostCrawl> = rows.iter().map(|row| place_of(&row.key).0.crawl(CrawlId::default())).collect();
        for (row, counts) in rows.iter().zip(pass.look::<tables::HostCounts>(&hosts)?) {
            let (at, place) = place_of(&row.key);
            if counts.as_ref().map(|c| c.place) != Some(place) {
                let stored = counts.map(|c| c.place).unwrap_or_default();
                let detail = format!("is at {place:?} in {}, its place is {stored:?}", T::FAMILY);
                pass.find(Fault::RowStray, &shown(pass, at)?, &detail, |batch| batch.delete::<T>(&row.key))?;
            }
        }
        Ok(())
    })
}

/// A host's name, or its key.
fn shown(pass: &Pass<'_>, at: HostAt) -> Result<String> {
    let state = pass.look_one::<tables::HostState>(&at)?;
    Ok(state.map_or_else(|| format!("host {}", at.host), |state| state.name))
}
