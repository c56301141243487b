//! The Frontier's picture of the on-disk queues: reads heads, finds the next host, finds what is due.

use std::collections::VecDeque;

use super::Result;
use crate::base::time::UnixMillis;
use crate::domain::fingerprint::HostKey;
use crate::domain::frontier::{Heads, RANKS};
use crate::domain::partition::Partition;
use crate::storage::keys::{DueKey, HostAt, Key, KeyRange, ParkedKey, SeenKey, VisitHostKey, WaitingKey, after};
use crate::storage::ledger::HostNews;
use crate::storage::tables::{Due, Nearer, Parked, Sitemaps, Table, VisitHosts, Waiting};
use crate::storage::values::Place;
use crate::storage::{Storage, read};

/// Entries read in one look.
const LOOK: usize = 64;
/// Pages to which better ways wait, in one look: there is no hurry to see what else waits.
const NEARER: usize = 256;

/// Lower bounds of `waiting` (for each rank), `parked`, `due` and `sitemaps` over all partitions.
#[derive(Default)]
pub(super) struct Fronts {
    waiting: [Heads<u64>; RANKS],
    parked: Heads<UnixMillis>,
    due: Heads<UnixMillis>,
    sitemaps: Heads<UnixMillis>,
    visits: Heads<UnixMillis>,
    /// Partitions of which sitemaps may have been visited in the future, with the last row that was handed out.
    ahead: VecDeque<(Partition, Option<DueKey>)>,
    /// The last page that was handed out of `nearer`.
    nearer: Option<SeenKey>,
}

impl Fronts {
    /// Reads the heads: one seek for each partition and rank that has something, none for the rest.
    pub fn load(storage: &dyn Storage) -> Result<Self> {
        let mut fronts = Self::default();
        let mut from = WaitingKey { partition: Partition(0), rank: 0, order: 0, host: HostKey([0; 8]) };
        while let Some(key) = read::first_key_from::<Waiting>(storage, &from.encode())? {
            fronts.lower_waiting(key.partition, key.rank, key.order);
            from = WaitingKey { rank: key.rank.saturating_add(1), order: 0, host: HostKey([0; 8]), ..key };
        }
        for (heads, firsts) in [
            (&mut fronts.parked, first_times::<Parked>(storage, |k| (k.partition, k.time))?),
            (&mut fronts.due, first_times::<Due>(storage, |k| (k.partition, k.time))?),
            (&mut fronts.sitemaps, first_times::<Sitemaps>(storage, |k| (k.partition, k.time))?),
            (&mut fronts.visits, first_times::<VisitHosts>(storage, |k| (k.partition, k.time))?),
        ] {
            firsts.into_iter().for_each(|(partition, time)| heads.lower(partition.0, time));
        }
        fronts.look_ahead();
        Ok(fronts)
    }

    fn lower_waiting(&mut self, partition: Partition, rank: u8, order: u64) {
        if let Some(heads) = self.waiting.get_mut(usize::from(rank)) {
            heads.lower(partition.0, order);
        }
    }

    /// Takes in what a commit changed.
    pub fn note(&mut self, news: &HostNews) {
        self.note_place(news.at.partition, news.place);
        if let Some(when) = news.due {
            self.due.lower(news.at.partition.0, when);
        }
        if let Some(when) = news.sitemap {
            self.sitemaps.lower(news.at.partition.0, when);
        }
        if let Some(when) = news.visit {
            self.visits.lower(news.at.partition.0, when);
        }
    }

    /// A host stands at this place.
    pub fn note_place(&mut self, partition: Partition, place: Place) {
        match place {
            Place::Waiting { rank, order } => self.lower_waiting(partition, rank, order),
            Place::Parked { time } => self.parked.lower(partition.0, time),
            Place::None | Place::Held => {}
        }
    }

    /// Rows that have a head.
    pub fn len(&self) -> usize {
        let times = [&self.parked, &self.due, &self.sitemaps, &self.visits];
        self.waiting.iter().map(Heads::len).sum::<usize>() + times.into_iter().map(Heads::len).sum::<usize>()
    }

    /// True when a host may wait at `rank`.
    pub fn has(&self, rank: u8) -> bool {
        self.waiting.get(usize::from(rank)).is_some_and(|h| !h.is_empty())
    }

    /// The first host of `rank` for which `free` holds; the others are passed over until there is news of them.
    pub fn next_host(
        &mut self,
        storage: &dyn Storage,
        rank: u8,
        free: impl Fn(&HostAt) -> bool,
    ) -> Result<Option<HostAt>> {
        let Some(heads) = self.waiting.get_mut(usize::from(rank)) else { return Ok(None) };
        while let Some((order, p)) = heads.first() {
            let keys = read::waiting_from(storage, Partition(p), rank, order, LOOK)?;
            if let Some(key) = keys.iter().find(|k| free(&k.host_at())) {
                heads.set(p, Some(key.order.saturating_add(1)));
                return Ok(Some(key.host_at()));
            }
            let more = keys.len() == LOOK;
            heads.set(p, keys.last().filter(|_| more).map(|k| k.order.saturating_add(1)));
        }
        Ok(None)
    }

    /// Hosts whose parking has ended by `now`, a page of them.
    pub fn parked_until(&mut self, storage: &dyn Storage, now: UnixMillis) -> Result<Vec<ParkedKey>> {
        take_until::<Parked>(storage, &mut self.parked, (now, LOOK), |k| (k.partition, k.time))
    }

    /// Retries whose time has come by `now`, a page of them.
    pub fn due_until(&mut self, storage: &dyn Storage, now: UnixMillis) -> Result<Vec<DueKey>> {
        take_until::<Due>(storage, &mut self.due, (now, LOOK), |k| (k.partition, k.time))
    }

    /// Hosts whose first visit is due by `date`, a page of them, and at most so many.
    pub fn visits_until(&mut self, storage: &dyn Storage, date: UnixMillis, most: usize) -> Result<Vec<VisitHostKey>> {
        take_until::<VisitHosts>(storage, &mut self.visits, (date, most.min(LOOK)), |k| (k.partition, k.time))
    }

    /// Sitemaps whose last visit was at `before` or earlier, a page of them.
    pub fn visited_until(&mut self, storage: &dyn Storage, before: UnixMillis) -> Result<Vec<DueKey>> {
        take_until::<Sitemaps>(storage, &mut self.sitemaps, (before, LOOK), |k| (k.partition, k.time))
    }

    /// Sitemaps whose visit lies in the future are to be looked for: the clock was set.
    pub fn look_ahead(&mut self) {
        self.ahead = self.sitemaps.partitions().map(|p| (Partition(p), None)).collect();
    }

    /// Sitemaps whose last visit was after `date`, a page of them; each is handed out once.
    pub fn visited_after(&mut self, storage: &dyn Storage, date: UnixMillis) -> Result<Vec<DueKey>> {
        let mut out = Vec::new();
        while let Some((partition, last)) = self.ahead.front_mut().filter(|_| out.is_empty()) {
            let range = KeyRange::partition(*partition);
            let from = match last {
                Some(last) => after(&last.encode()),
                None => KeyRange::until_time(*partition, date, date).until,
            };
            let found = read::scan::<Sitemaps>(storage, &KeyRange { from, until: range.until }, LOOK)?;
            out.extend(found.into_iter().map(|(key, ())| key));
            *last = out.last().copied();
            if out.len() < LOOK {
                self.ahead.pop_front();
            }
        }
        Ok(out)
    }

    /// Pages to which better ways wait, a page of them; each is handed out once. None comes any more when they are asked for.
    pub fn next_nearer(&mut self, storage: &dyn Storage) -> Result<Vec<SeenKey>> {
        let from = self.nearer.map(|last| after(&last.encode())).unwrap_or_default();
        let found = read::scan::<Nearer>(storage, &KeyRange { from, ..KeyRange::all() }, NEARER)?;
        let pages: Vec<SeenKey> = found.into_iter().map(|(key, _)| key).collect();
        self.nearer = pages.last().copied().or(self.nearer);
        Ok(pages)
    }

    /// When the first visit of a host is due.
    pub fn next_visit(&self) -> Option<UnixMillis> {
        self.visits.first().map(|(time, _)| time)
    }

    /// The earliest last visit of a sitemap.
    pub fn first_visit(&self) -> Option<UnixMillis> {
        self.sitemaps.first().map(|(visit, _)| visit)
    }

    /// The next moment at which something is due or a parking ends.
    pub fn next_time(&self) -> Option<UnixMillis> {
        [self.due.first(), self.parked.first()].into_iter().flatten().map(|(t, _)| t).min()
    }
}

/// The first time in each partition of a table whose keys begin with partition and time: a look for each that has any.
pub(crate) fn first_times<T: Table>(
    storage: &dyn Storage,
    of: impl Fn(&T::Key) -> (Partition, UnixMillis),
) -> Result<Vec<(Partition, UnixMillis)>> {
    let (mut firsts, mut from) = (Vec::new(), Vec::new());
    while let Some(key) = read::first_key_from::<T>(storage, &from)? {
        let first = of(&key);
        firsts.push(first);
        from = KeyRange::partition(first.0).until;
        if from.is_empty() {
            break;
        }
    }
    Ok(firsts)
}

/// Keys up to `now`; the heads move behind them. A key handed out here leaves its family with its commit; until then a
/// later look may hand it out again, which its commit ignores.
fn take_until<T: Table>(
    storage: &dyn Storage,
    heads: &mut Heads<UnixMillis>,
    (now, most): (UnixMillis, usize),
    of: impl Fn(&T::Key) -> (Partition, UnixMillis),
) -> Result<Vec<T::Key>> {
    let mut out = Vec::new();
    while out.len() < most
        && let Some((time, p)) = heads.first().filter(|(t, _)| *t <= now)
    {
        let found = read::scan::<T>(storage, &KeyRange::until_time(Partition(p), time, now), most - out.len())?;
        let rest_from = match found.last() {
            Some((key, _)) => after(&key.encode()),
            None => KeyRange::until_time(Partition(p), now, now).until,
        };
        let rest = read::first_key_from::<T>(storage, &rest_from)?.map(|k| of(&k));
        heads.set(p, rest.filter(|(partition, _)| partition.0 == p).map(|(_, t)| t));
        out.extend(found.into_iter().map(|(key, _)| key));
    }
    Ok(out)
}
