//! Store.
//!
//! Owns: the open WARC, its index, `crawl.jsonl`, the ledger; it is the only writer of every column family, but for rows
//! of links that come from other members (`cluster::links`). Receives:
//! [`Commit`], [`TakeCheckpoint`], [`Close`]. Sends: `Committed` and `Reload` to the Frontier, `Settled` to the Deduper. Never: answers a
//! question; commits a page whose epoch is over; leaves a page half committed. After a restart: files are cut back to what
//! is committed (I3), the ledger is read anew; the epoch was raised when its former life ended.

mod checkpoint;
mod files;
mod mend;
mod messages;
mod open;

use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use actix::AsyncContext as _;

use super::deduper::Settled;
use super::frontier::{Committed, Ended};
use super::lease::{Lease, Stage};
use super::node::{Node, Stop};
use super::supervise::Kind;
use super::worker::{Behavior, Ctx, Handles};
use crate::base::disk::DiskFault;
use crate::base::fault::Injected;
use crate::base::sync::lock;
use crate::base::time::UnixMillis;
use crate::config::Sync;
use crate::crawl::pulse::moved;
use crate::domain::fingerprint::{ContentDigest, HostKey, UrlKey};
use crate::domain::near::Near;
use crate::domain::orders::HostOrders;
use crate::domain::revisit::RequeueReason;
use crate::domain::visit::Visit;
use crate::storage::StorageError;
use crate::storage::keys::HostAt;
use crate::storage::ledger::{Change, Ending, HostNews};
use crate::storage::read;
use crate::storage::txn::Txn;
use crate::storage::values::{FileLengths, JoinedHost, RunState, Unsynced, UnsyncedLines};
use crate::telemetry::metrics::Registry;
use crate::warc::WarcError;
use crate::warc::writer::Place;

pub use files::archive_settings_of;
pub use messages::{Close, Commit, TakeCheckpoint, Taken, room, room_taken};
use messages::{GROUP, GROUP_BYTES};
use open::Open;

/// How long the first change of a group waits for company.
const GROUP_WAIT: Duration = Duration::from_millis(2);

/// Why a group was not committed.
#[derive(Debug, thiserror::Error)]
enum StoreError {
    #[error(transparent)]
    Storage(#[from] StorageError),
    #[error(transparent)]
    Warc(#[from] WarcError),
    #[error("a write to {dir} failed: {source}")]
    Probe { dir: String, source: std::io::Error },
    #[error(transparent)]
    Injected(#[from] Injected),
}

/// The actor.
pub struct Store {
    node: Arc<Node>,
    open: Option<Open>,
    /// The files as of the last barrier, when a write or sync failed since.
    doubtful: Option<FileLengths>,
    group: Vec<Commit>,
    group_bytes: u64,
    flush_planned: bool,
    /// Something was committed since the last barrier.
    written: bool,
    /// The files were opened again after a fault, and nothing was committed since.
    on_trial: bool,
    closed: bool,
}

impl Store {
    /// A fresh one; it opens its files when it is started.
    pub fn new(node: Arc<Node>) -> Self {
        node.faults.pass("store.new");
        Self {
            node,
            open: None,
            doubtful: None,
            group: Vec::new(),
            group_bytes: 0,
            flush_planned: false,
            written: false,
            on_trial: false,
            closed: false,
        }
    }

    /// Writes the group; whatever the outcome, it is empty afterwards.
    fn flush(&mut self) {
        self.flush_planned = false;
        self.group_bytes = 0;
        let mut group = std::mem::take(&mut self.group);
        if group.is_empty() || self.closed {
            return;
        }
        let Some(open) = &mut self.open else { return };
        match write(&self.node, open, &mut group) {
            Ok(done) => {
                moved();
                self.written = true;
                done.announce(&self.node, open, group);
                self.rotate();
                if std::mem::take(&mut self.on_trial) {
                    self.barrier(); // what is written and synced proves that the fault is over
                }
            }
            Err(e) => self.lost(&e, group),
        }
    }

    fn rotate(&mut self) {
        let Some(open) = &mut self.open else { return };
        if let Err(e) = open.rotate(&self.node) {
            self.lost(&e, Vec::new());
        }
    }

    /// Brings everything committed to the disk: archive first, then the database's log (I3).
    fn barrier(&mut self) {
        self.flush();
        self.rotate();
        let Some(open) = &mut self.open else { return };
        if let Some(path) = open.archive.open_path().filter(|path| matches!(path.try_exists(), Ok(false))) {
            let why = format!("{} was removed or its disk is gone while it was written", path.display());
            log::error!("the crawl stops: {why}");
            return self.node.stop_with(Stop::Disk(why));
        }
        match open.make_safe(&self.node) {
            Ok(()) => {
                self.node.crawl.progress.note_synced(&self.node.clock);
                if std::mem::take(&mut self.written) {
                    self.node.disk.store_sound();
                }
            }
            Err(e) => self.lost(&e, Vec::new()),
        }
        self.node.faults.pass("store.synced");
    }

    /// Lets go of old entries of the feed, a bounded number at a time.
    fn trim_feed(&mut self) {
        let Some(keep) = self.node.crawl.rules.settings.feed.keep else { return };
        let Some(open) = &mut self.open else { return };
        if let Err(e) = open.trim_feed(&self.node, keep) {
            self.lost(&e, Vec::new());
        }
    }

    fn close(&mut self, drained: bool) -> Result<(), StoreError> {
        self.node.faults.check("store.close")?;
        self.flush();
        if self.open.is_none() {
            self.mend()?; // the last commit stands in the database, the end of this run not yet
        }
        let Some(open) = &mut self.open else { return Ok(()) };
        open.make_safe(&self.node)?;
        open.archive.close()?;
        self.node.faults.check("store.closing")?;
        let mut txn = Txn::new(&*self.node.storage);
        txn.put_meta((), &open.archive.file_lengths());
        txn.put_meta((), &self.node.clock_state());
        // A request still in flight may have told its host's next time to nobody: then the next start waits (I1).
        let clean = drained && self.node.is_quiet();
        if let Some(run) = read::meta::<RunState>(&*self.node.storage, ())? {
            let last_stop = Some(self.node.clock.now().plus(Duration::from_millis(1))); // the clock rounds down
            txn.put_meta((), &RunState { clean, last_stop, ..run });
        }
        self.node.storage.write(&txn.into_batch())?;
        self.node.storage.sync()?;
        self.node.storage.flush()?;
        self.node.faults.pass("store.closed");
        Ok(())
    }
}

/// What a written group means for the others.
struct Written {
    hosts: Vec<HostNews>,
    urls: Vec<UrlKey>,
    contents: Vec<ContentDigest>,
    leaders: Vec<UrlKey>,
    paces: Vec<(HostKey, Vec<u8>)>,
    ordered: Vec<(String, HostAt, HostOrders)>,
    again: Vec<RequeueReason>,
    late: Vec<Duration>,
    visits: Vec<Option<Visit>>,
    reranked: u64,
    epoch: u64,
}

/// The politeness that a change stores, and whose.
fn pace_in(commit: &Commit) -> Option<(HostKey, Vec<u8>)> {
    let (host, pace) = match &commit.change {
        Change::Page(page) => (commit.lease.as_ref()?.core().queue_key.host, &page.pace),
        Change::Robots { key, pace, .. } => (key.host, pace),
        Change::Yield { at, pace, .. } => (at.host, pace),
        _ => return None,
    };
    Some((host, pace.clone()?))
}

fn write(node: &Node, open: &mut Open, group: &mut Vec<Commit>) -> Result<Written, StoreError> {
    let _no_new_epoch = node.crawl.epoch.hold();
    let epoch = node.crawl.epoch.now();
    group.retain(|c| c.epoch.is_none_or(|e| e == epoch));
    node.faults.check("store.group")?;
    let now = node.clock.date();
    let places = archive(open, group, now)?;
    node.faults.check("store.archived")?;
    let mut txn = Txn::new(&*node.storage);
    let leased = |key: &UrlKey| node.crawl.leases.contains(key);
    let each = node.crawl.rules.settings.durability.sync == Sync::Commit;
    let (mut urls, mut contents, mut unsynced) = (Vec::new(), Vec::new(), Unsynced::default());
    let (mut leaders, mut paces, mut ordered, mut visits) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    let (mut again, mut late, mut reranked) = (Vec::new(), Vec::new(), 0);
    for commit in group.iter() {
        let done = in_hands(node, commit, || open.ledger.apply(&mut txn, &commit.change, now, &leased))?;
        paces.extend(pace_in(commit).filter(|_| !done.void));
        urls.extend(done.settled);
        again.extend(done.again);
        late.extend(done.late);
        visits.push(done.visit);
        reranked += done.reranked;
        if let (Change::Order { host, .. }, Some((at, orders))) = (&commit.change, done.ordered) {
            ordered.push((host.clone(), at, orders));
        }
        unsynced.0.extend(done.unsynced.filter(|_| !each));
        if let Change::Page(page) = &commit.change {
            contents.extend(page.first_with.iter().map(|(digest, _)| *digest));
            let leads = page.capture.as_ref().is_some_and(|capture| capture.remarks.near == Some(Near::Leader));
            leaders.extend(commit.lease.as_ref().filter(|_| leads).map(|lease| lease.core().url_key));
        }
        node.faults.check("store.applied")?;
    }
    let lines = log(node, open, group, (&places, &visits), now)?;
    let listed = (!each && (!unsynced.0.is_empty() || !lines.text.is_empty())).then(|| open.ledger.number());
    if let Some(number) = listed {
        txn.put_meta(number, &unsynced);
        txn.put_meta(number, &lines);
    }
    let joined = note_scope(node, &mut txn);
    let hosts = open.ledger.seal(&mut txn)?;
    txn.put_meta((), &open.archive.file_lengths());
    txn.put_meta((), &node.clock_state());
    node.faults.check("store.write")?;
    if each {
        open.archive.sync()?; // before the write: what is committed never points past the archive's end
    }
    node.storage.write(&txn.into_batch())?;
    if each {
        // Written is committed: a log that cannot be synced is the next barrier's matter, which stops the node.
        if let Err(e) = node.storage.sync() {
            log::error!("committed, but not yet safe against power loss: {e}");
        }
    }
    open.unsynced.extend(listed);
    scope_is_noted(node, &joined);
    Ok(Written { hosts, urls, contents, leaders, paces, ordered, again, late, visits, reranked, epoch })
}

/// Appends a group's records and notes in each page where it stands; gives that place of each.
fn archive(open: &mut Open, group: &mut [Commit], now: UnixMillis) -> Result<Vec<Option<Place>>, StoreError> {
    let mut places = open.archive.append(group.iter().flat_map(|c| &c.records), now)?.into_iter();
    let mut firsts = Vec::with_capacity(group.len());
    for commit in group.iter_mut() {
        let own: Vec<Place> = places.by_ref().take(commit.records.len()).collect();
        let first = own.into_iter().next();
        files::note_place(commit, first.as_ref());
        firsts.push(first);
    }
    Ok(firsts)
}

/// Appends a group's lines, with the places and visits of its commits in their order; gives them.
fn log(
    node: &Node,
    open: &mut Open,
    group: &[Commit],
    (places, visits): (&[Option<Place>], &[Option<Visit>]),
    now: UnixMillis,
) -> Result<UnsyncedLines, StoreError> {
    let mut lines = Vec::with_capacity(group.len());
    for ((commit, place), visit) in group.iter().zip(places).zip(visits) {
        lines.extend(files::line_of(node, commit, place.as_ref(), now)?.map(|line| line.visited(*visit)));
    }
    Ok(open.archive.log(&lines)?)
}

/// Works on one commit: if that panics, the page of this one is to blame, not those of the whole group.
fn in_hands<T>(node: &Node, commit: &Commit, work: impl FnOnce() -> T) -> T {
    let page = commit.lease.as_ref().map(Lease::core);
    page.inspect(|page| page.take(Stage::Store));
    if let Change::Page(page) = &commit.change
        && page.capture.is_some()
    {
        node.faults.pass_url("store.capture", &page.url);
    }
    let done = work();
    page.inspect(|page| page.let_go(Stage::Store));
    done
}

/// Keeps hosts that joined the scope over restarts, each once; gives those that this batch keeps.
fn note_scope(node: &Node, txn: &mut Txn<'_>) -> Vec<String> {
    let scope = node.crawl.scope.read().unwrap_or_else(PoisonError::into_inner);
    let joined: Vec<String> = scope.unkept().iter().cloned().collect();
    for host in &joined {
        txn.put_meta((node.crawl.id, node.prints.host(host)), &JoinedHost(host.clone()));
    }
    joined
}

/// That batch is written.
fn scope_is_noted(node: &Node, joined: &[String]) {
    if !joined.is_empty() {
        let mut scope = node.crawl.scope.write().unwrap_or_else(PoisonError::into_inner);
        scope.kept(joined.iter().map(String::as_str));
    }
}

fn ended_how(change: &Change) -> Ended {
    let Change::Page(page) = change else { return Ended::Unfinished };
    match page.ending {
        Ending::Done(_) | Ending::Kept(_) | Ending::Error(_) => Ended::Finished,
        Ending::Retry { .. } | Ending::Wait { .. } | Ending::Rejected(_) => Ended::Unfinished,
    }
}

impl Written {
    /// Tells everybody, in the order that keeps I2 and I5: counts, then leases, then news.
    fn announce(self, node: &Node, open: &mut Open, group: Vec<Commit>) {
        let rejected = open.ledger.commit();
        *lock(&node.crawl.progress.counters) = open.ledger.committed().clone();
        node.faults.pass("store.written");
        for commit in &group {
            let links = match &commit.change {
                Change::Links(links) => links,
                Change::TakeIn(taken) => &taken.links,
                Change::Page(page) => &page.links,
                _ => continue,
            };
            if !links.seeds.is_empty() {
                node.crawl.seeds.changed(&links.seeds);
            }
        }
        for (name, at, orders) in &self.ordered {
            node.crawl.orders.set(at.host, name, *orders); // before anybody is told: from here on every room knows
            node.slots.set_min_delay(&at.host, orders.min_delay);
        }
        self.paces.iter().for_each(|(host, pace)| node.slots.stored(host, pace));
        self.again.iter().for_each(|why| node.telemetry.metrics.queued_again(*why));
        node.telemetry.metrics.reranked(self.reranked);
        self.late.iter().for_each(|late| node.telemetry.metrics.visit_late(*late));
        self.visits.iter().flatten().for_each(|visit| node.telemetry.metrics.visit(*visit));
        node.telemetry.metrics.entries(Registry::LedgerHosts, open.ledger.hosts_kept());
        rejected.iter().for_each(|(reason, n)| node.telemetry.metrics.rejected(*reason, *n));
        let mut ended = Vec::new();
        for commit in group {
            node.note_committed(&commit);
            if let Some(lease) = commit.lease {
                ended.push((lease.core().clone(), ended_how(&commit.change)));
                node.crawl.strikes.committed(&lease.core().url_key);
                lease.committed();
            }
            if let Some(reply) = commit.reply {
                reply();
            }
        }
        node.faults.pass("store.told");
        let (epoch, urls, contents, leaders) = (self.epoch, self.urls, self.contents, self.leaders);
        node.mailboxes().deduper.tell(Settled { epoch, urls, contents, leaders });
        node.mailboxes().frontier.tell(Committed { hosts: self.hosts, ended });
        node.crawl.progress.committed.send_modify(|n| *n += 1);
    }
}

impl Behavior for Store {
    const KIND: Kind = Kind::Store;
    const STARTED: Option<&str> = Some("store.started");

    fn fresh(&self) -> Self {
        self.node.crawl.epoch.raise(); // the group in hand is lost; nothing may hang on it
        Self::new(self.node.clone())
    }

    fn started(&mut self, _: &mut Ctx<Self>) {
        self.open();
    }

    /// The sync comes by the clock, whatever waits: between two groups.
    fn every(&self, _: bool) -> Option<Duration> {
        Some(match self.node.crawl.rules.settings.durability.sync {
            Sync::Every(interval) => interval,
            Sync::Commit => Duration::from_secs(1),
        })
    }

    fn tick(&mut self) {
        self.node.faults.pass("store.barrier");
        self.barrier();
        self.trim_feed();
    }
}

impl Handles<Commit> for Store {
    const POINT: Option<&str> = Some("store.commit");

    fn handle(&mut self, commit: Commit, ctx: &mut Ctx<Self>) {
        self.group_bytes += commit.bytes();
        self.group.push(commit);
        if self.group.len() >= GROUP || self.group_bytes >= GROUP_BYTES {
            self.flush();
        } else if !self.flush_planned {
            self.flush_planned = true;
            ctx.run_later(GROUP_WAIT, |this, _| this.flush());
        }
    }
}

impl Handles<Close> for Store {
    fn handle(&mut self, close: Close, _: &mut Ctx<Self>) {
        let mut closed = self.close(close.drained);
        if matches!(&closed, Err(e) if e.fault() == DiskFault::Full) && self.node.reserve.free() {
            self.forget_files();
            closed = self.close(close.drained); // with the room that the reserve has left
        }
        self.closed = true;
        self.node.crawl.switches.closed.store(true, Ordering::Release);
        if let Err(e) = &closed {
            log::error!("the store was not closed cleanly; the next start repairs it: {e}");
        }
        let _ = close.reply.send(closed.is_ok());
    }
}

#[cfg(test)]
mod tests;
