//! Hosts in the ledger: counts, names, and the one place each has in `waiting` or `parked` (I9).

use crate::base::invariant::{Invariant, uphold};
use crate::base::time::UnixMillis;
use crate::domain::fingerprint::{CrawlId, KeyMap};
use crate::domain::orders::{HostOrder, HostOrders};
use crate::domain::priority::quality;
use crate::domain::rank::Ranker;
use crate::domain::refresh::Rate;
use crate::storage::StorageError;
use crate::storage::keys::{HostAt, KeyRange};
use crate::storage::tables;
use crate::storage::txn::Txn;
use crate::storage::values::{Counters, DoneKind, FrontierCounts, HostCounts, HostState, Place, Value, VisitCounts};

use super::HostNews;

/// Hosts kept in memory between commits. Few in unit tests, so that they meet with what becomes of the others.
const KEPT: usize = if cfg!(test) { 3 } else { 20_000 };
/// Hosts met before them that are kept as they are encoded, when those met still earlier are forgotten.
const PACKED: usize = if cfg!(test) { 5 } else { 50_000 };

/// One host as the ledger sees it.
#[derive(Default)]
pub(super) struct Row {
    pub counts: HostCounts,
    state: HostState,
    state_changed: bool,
    touched: bool,
    /// Its part in the counters when it was touched.
    counted: FrontierCounts,
    put: Vec<(u8, u64)>,
    due: Option<UnixMillis>,
    sitemap: Option<UnixMillis>,
    /// The first row of `visits` that this batch puts.
    pub visit: Option<UnixMillis>,
}

impl Row {
    /// Gives a host that has none its name; false when it has another.
    fn is_named(&mut self, name: &str, counters: &mut Counters) -> bool {
        if self.state.name.is_empty() {
            self.state.name = name.to_owned();
            self.state_changed = true;
            counters.hosts += 1;
        }
        self.state.name == name
    }
}

/// The hosts of the ledger: those of the batch under construction and those kept from before.
pub(super) struct Hosts {
    crawl: CrawlId,
    rows: KeyMap<HostAt, Row>,
    /// Of those met before: what is on disk. The later ones, and those before these; a host is in one map only.
    packed: [KeyMap<HostAt, Packed>; 2],
    touched: Vec<HostAt>,
}

/// Counts and state of a host, encoded: a third of a row's room, and read several times as fast as from the database.
struct Packed(Box<[u8]>, Box<[u8]>);

impl Packed {
    fn of(row: &Row) -> Self {
        Self(row.counts.encode().into(), row.state.encode().into())
    }

    fn open(&self) -> Option<(HostCounts, HostState)> {
        Some((HostCounts::decode(&self.0).ok()?, HostState::decode(&self.1).ok()?))
    }
}

type Result<T> = std::result::Result<T, StorageError>;

impl Hosts {
    pub fn new(crawl: CrawlId) -> Self {
        Self { crawl, rows: KeyMap::default(), packed: Default::default(), touched: Vec::new() }
    }

    fn row(&mut self, txn: &Txn<'_>, at: HostAt) -> Result<&mut Row> {
        use std::collections::hash_map::Entry;
        let row = match self.rows.entry(at) {
            Entry::Occupied(e) => e.into_mut(),
            Entry::Vacant(e) => {
                let packed = self.packed.iter_mut().find_map(|packed| packed.remove(&at)?.open());
                let (counts, state) = match packed {
                    Some(known) => known,
                    None => (
                        txn.get::<tables::HostCounts>(&at.crawl(self.crawl))?.unwrap_or_default(),
                        txn.get::<tables::HostState>(&at)?.unwrap_or_default(),
                    ),
                };
                e.insert(Row { counts, state, ..Row::default() })
            }
        };
        if !row.touched {
            row.touched = true;
            row.counted = FrontierCounts::of(&row.counts);
            self.touched.push(at);
        }
        Ok(row)
    }

    /// Changes a host's counts.
    pub fn with(&mut self, txn: &Txn<'_>, at: HostAt, change: impl FnOnce(&mut Row)) -> Result<()> {
        change(self.row(txn, at)?);
        Ok(())
    }

    /// A URL of the host is done.
    pub fn finished(&mut self, txn: &Txn<'_>, at: HostAt, how: DoneKind) -> Result<()> {
        let counts = &mut self.row(txn, at)?.counts;
        counts.done += 1;
        counts.repeats += u64::from(how == DoneKind::Duplicate);
        Ok(())
    }

    /// A URL of the host that was done is so no more.
    pub fn unfinished(&mut self, txn: &Txn<'_>, at: HostAt, how: DoneKind) -> Result<()> {
        let counts = &mut self.row(txn, at)?.counts;
        counts.done = counts.done.saturating_sub(1);
        counts.repeats = counts.repeats.saturating_sub(u64::from(how == DoneKind::Duplicate));
        Ok(())
    }

    /// The part of its pages that was worth its fetch.
    pub fn quality(&mut self, txn: &Txn<'_>, at: HostAt) -> Result<f64> {
        let counts = &self.row(txn, at)?.counts;
        Ok(quality(counts.done, counts.repeats, counts.errors))
    }

    /// Notes a host's name and politeness.
    pub fn note_state(
        &mut self,
        txn: &Txn<'_>,
        at: HostAt,
        name: Option<&str>,
        pace: Option<&[u8]>,
        counters: &mut Counters,
    ) -> Result<()> {
        let row = self.row(txn, at)?;
        if let Some(name) = name {
            row.is_named(name, counters);
        }
        if let Some(pace) = pace.filter(|pace| row.state.pace != *pace) {
            row.state.pace = pace.to_vec();
            row.state_changed = true;
        }
        Ok(())
    }

    /// True when `at` is this host's own key; false when another host has it already (a collision).
    pub fn is_named(&mut self, txn: &Txn<'_>, at: HostAt, name: &str, counters: &mut Counters) -> Result<bool> {
        Ok(self.row(txn, at)?.is_named(name, counters))
    }

    /// What the operator has said of the host.
    pub fn orders(&mut self, txn: &Txn<'_>, at: HostAt) -> Result<HostOrders> {
        Ok(self.row(txn, at)?.state.orders)
    }

    /// How often its pages change.
    pub fn rate(&mut self, txn: &Txn<'_>, at: HostAt) -> Result<Rate> {
        Ok(self.row(txn, at)?.state.rate)
    }

    /// A visit of one of its pages has told of that.
    pub fn note_visit(&mut self, txn: &Txn<'_>, at: HostAt, after: impl FnOnce(Rate) -> Rate) -> Result<()> {
        let row = self.row(txn, at)?;
        let rate = after(row.state.rate);
        row.state_changed |= rate != row.state.rate;
        row.state.rate = rate;
        Ok(())
    }

    /// Its pages that are visited again.
    pub fn visits(&mut self, txn: &Txn<'_>, at: HostAt) -> Result<VisitCounts> {
        Ok(self.row(txn, at)?.counts.visits)
    }

    /// Whether some of its URLs that wait are no visits.
    pub fn new_wait(&mut self, txn: &Txn<'_>, at: HostAt) -> Result<bool> {
        let counts = &self.row(txn, at)?.counts;
        Ok(counts.visits.new_wait(counts.waiting()))
    }

    /// The host's name.
    pub fn name(&mut self, txn: &Txn<'_>, at: HostAt) -> Result<String> {
        Ok(self.row(txn, at)?.state.name.clone())
    }

    /// Takes an order; gives what stands then.
    pub fn take_order(&mut self, txn: &Txn<'_>, at: HostAt, order: HostOrder, now: UnixMillis) -> Result<HostOrders> {
        let row = self.row(txn, at)?;
        row.state.orders.take(order, now);
        row.state_changed = true;
        Ok(row.state.orders)
    }

    /// An entry was put into the host's queue.
    pub fn enqueued(&mut self, txn: &Txn<'_>, at: HostAt, rank: u8, order: u64) -> Result<()> {
        let row = self.row(txn, at)?;
        let i = usize::from(rank);
        if let (Some(n), Some(head)) = (row.counts.queued.get_mut(i), row.counts.heads.get_mut(i)) {
            // Nothing live below it: the first entry of an empty queue sets it, a lower one lowers it.
            *head = if *n == 0 { order } else { (*head).min(order) };
            *n += 1;
        }
        match row.put.iter_mut().find(|(r, _)| *r == rank) {
            Some((_, lowest)) => *lowest = (*lowest).min(order),
            None => row.put.push((rank, order)),
        }
        Ok(())
    }

    /// An entry left the host's queue.
    pub fn unqueue(&mut self, txn: &Txn<'_>, at: HostAt, rank: u8) -> Result<()> {
        let row = self.row(txn, at)?;
        if let Some(n) = row.counts.queued.get_mut(usize::from(rank)) {
            uphold(Invariant::I2, *n > 0, || "a host's queue is shorter than what leaves it".into());
            *n = n.saturating_sub(1);
        }
        Ok(())
    }

    /// A retry of the host was put at `when`.
    pub fn note_due(&mut self, at: HostAt, when: UnixMillis) {
        if let Some(row) = self.rows.get_mut(&at) {
            row.due = Some(row.due.map_or(when, |d| d.min(when)));
        }
    }

    /// A sitemap of the host was visited at `when`.
    pub fn note_sitemap(&mut self, at: HostAt, when: UnixMillis) {
        if let Some(row) = self.rows.get_mut(&at) {
            row.sitemap = Some(row.sitemap.map_or(when, |earlier| earlier.min(when)));
        }
    }

    /// True when the host is parked.
    pub fn is_parked(&mut self, txn: &Txn<'_>, at: HostAt) -> Result<bool> {
        Ok(matches!(self.row(txn, at)?.counts.place, Place::Parked { .. }))
    }

    /// Parks the host until a time, or sends it to the end of its front queue.
    pub fn make_room(
        &mut self,
        txn: &mut Txn<'_>,
        at: HostAt,
        until: Option<UnixMillis>,
        counters: &mut Counters,
        ranker: &Ranker,
    ) -> Result<()> {
        self.raise_heads(txn, at)?;
        let row = self.row(txn, at)?;
        leave(txn, at, row.counts.place, counters);
        row.counts.place = Place::None;
        let Some(rank) = row.counts.best_rank() else { return Ok(()) };
        row.counts.place = match until {
            Some(time) => Place::Parked { time },
            None => next_place(rank, counters, ranker),
        };
        enter(txn, at, row.counts.place, counters);
        Ok(())
    }

    /// Raises the heads of the host's ranks to the first entry that lives: a lease that is not committed does. It costs a seek
    /// a rank over what was taken since the host last gave up its place, so that later looks are spared it.
    fn raise_heads(&mut self, txn: &Txn<'_>, at: HostAt) -> Result<()> {
        let crawl = at.crawl(self.crawl);
        let row = self.row(txn, at)?;
        for (rank, (queued, head)) in (0_u8..).zip(row.counts.queued.iter().zip(&mut row.counts.heads)) {
            if *queued == 0 {
                continue;
            }
            let stored = txn.first_stored::<tables::Queue>(&KeyRange::queue_rank(crawl, rank, *head))?.map(|k| k.order);
            let put = row.put.iter().find(|(r, _)| *r == rank).map(|(_, order)| *order);
            *head = stored.into_iter().chain(put).min().map_or(*head, |first| first.max(*head));
        }
        Ok(())
    }

    /// Brings every touched host to its right place, counts it, and writes its records (I9).
    pub fn settle(&mut self, txn: &mut Txn<'_>, counters: &mut Counters, ranker: &Ranker) -> Result<Vec<HostNews>> {
        let touched = std::mem::take(&mut self.touched);
        let mut news = Vec::with_capacity(touched.len());
        for at in touched {
            let Some(row) = self.rows.get_mut(&at) else { continue };
            row.touched = false;
            let place = right_place(&row.counts, row.state.orders.holds(), counters, ranker);
            if place != row.counts.place {
                leave(txn, at, row.counts.place, counters);
                enter(txn, at, place, counters);
                row.counts.place = place;
            }
            let (placed, queued) = (row.counts.place != Place::None, row.counts.queued_total() > 0);
            uphold(Invariant::I9, placed == queued, || format!("a host in a row without URLs, or none with: {at:?}"));
            let held = row.counts.place == Place::Held;
            uphold(Invariant::I9, held == (queued && row.state.orders.holds()), || {
                format!("a held host in a row: {at:?}")
            });
            row.visit = None;
            let visit = row.counts.visits.turn(row.counts.waiting()).filter(|_| !row.state.orders.holds());
            if visit != row.counts.visits.row {
                row.counts.visits.row.iter().for_each(|was| txn.delete::<tables::VisitHosts>(&at.parked(*was)));
                visit.iter().for_each(|is| txn.put::<tables::VisitHosts>(&at.parked(*is), &()));
                row.counts.visits.row = visit;
            }
            let frontier = &mut counters.frontier;
            frontier.change(&FrontierCounts::of(&row.counts), &row.counted);
            txn.put::<tables::HostCounts>(&at.crawl(self.crawl), &row.counts);
            if std::mem::take(&mut row.state_changed) {
                txn.put::<tables::HostState>(&at, &row.state);
            }
            news.push(HostNews {
                at,
                place,
                queued: row.counts.queued_total(),
                finished: row.counts.finished(),
                put: std::mem::take(&mut row.put),
                due: row.due.take(),
                sitemap: row.sitemap.take(),
                visit,
            });
        }
        Ok(news)
    }

    pub fn kept(&self) -> usize {
        self.packed.iter().fold(self.rows.len(), |sum, packed| sum + packed.len())
    }

    /// Keeps memory bounded between commits: what is forgotten is read again when needed. All that was touched is on disk.
    pub fn trim(&mut self) {
        if self.rows.len() <= KEPT {
            return;
        }
        self.touched.clear();
        let [later, before] = &mut self.packed;
        if later.len() > PACKED {
            *before = std::mem::take(later);
        }
        later.extend(self.rows.drain().map(|(at, row)| (at, Packed::of(&row))));
    }
}

/// Where a host with these counts belongs: nowhere without URLs, in no row while it is held, else where it is, at the rank of
/// its best URL.
fn right_place(counts: &HostCounts, held: bool, counters: &mut Counters, ranker: &Ranker) -> Place {
    match (counts.best_rank(), counts.place) {
        (None, _) => Place::None,
        (Some(_), _) if held => Place::Held,
        (Some(_), parked @ Place::Parked { .. }) => parked,
        (Some(best), Place::Waiting { rank, order }) if rank == best => Place::Waiting { rank, order },
        (Some(best), Place::Waiting { order, .. }) => Place::Waiting { rank: best, order },
        (Some(best), Place::None | Place::Held) => next_place(best, counters, ranker),
    }
}

fn next_place(rank: u8, counters: &mut Counters, ranker: &Ranker) -> Place {
    let seq = counters.next_seq;
    counters.next_seq += 1;
    Place::Waiting { rank, order: ranker.host_order(seq) }
}

fn leave(txn: &mut Txn<'_>, at: HostAt, place: Place, counters: &mut Counters) {
    match place {
        Place::None | Place::Held => {}
        Place::Waiting { rank, order } => {
            txn.delete::<tables::Waiting>(&at.waiting(rank, order));
            counters.hosts_waiting = counters.hosts_waiting.saturating_sub(1);
        }
        Place::Parked { time } => {
            txn.delete::<tables::Parked>(&at.parked(time));
            counters.hosts_parked = counters.hosts_parked.saturating_sub(1);
        }
    }
}

fn enter(txn: &mut Txn<'_>, at: HostAt, place: Place, counters: &mut Counters) {
    match place {
        Place::None | Place::Held => {}
        Place::Waiting { rank, order } => {
            txn.put::<tables::Waiting>(&at.waiting(rank, order), &());
            counters.hosts_waiting += 1;
        }
        Place::Parked { time } => {
            txn.put::<tables::Parked>(&at.parked(time), &());
            counters.hosts_parked += 1;
        }
    }
}
