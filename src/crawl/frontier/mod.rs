//! Frontier.
//!
//! Owns: which hosts are active, the heads of the on-disk queues, the cursors of hosts, the making and ending of leases.
//! Receives: [`Committed`], [`LeaseReturned`], [`Want`], [`GaveUp`], [`Reload`], [`Look`]. Sends: leases to Hosts; `Yield`,
//! `Unpark`, `Promote`, `ReadAgain`, `FollowNearer` to the Store. Never: writes; leases a URL twice; waits. After a restart: retires the Hosts of its
//! former life, sweeps leases that ended meanwhile, reads the heads; nothing else is scanned.

mod active;
mod heads;
mod messages;
mod turns;

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use super::Result;
use super::deduper::Parsed;
use super::lease::{Lease, LeaseCore, LeaseEnd, LeaseState};
use super::mailbox::Mailbox;
use super::node::{Node, Stop, lease_end};
use super::politeness::{Host, Leases, Retire};
use super::store::Commit;
use super::supervise::Kind;
use super::worker::{Behavior, Ctx, Handles};
use crate::base::clock::Jump;
use crate::base::sync::lock;
use crate::base::time::{UnixMillis, millis};
use crate::crawl::pulse::moved;
use crate::domain::fingerprint::HostKey;
use crate::domain::frontier::Cursors;
use crate::domain::rank::RankChooser;
use crate::domain::reason::{Failure, Rejection};
use crate::storage::keys::{DueKey, HostAt, QueueKey};
use crate::storage::ledger::{Change, Ending};
use crate::storage::read;
use crate::storage::values::{HostState, QueueEntry, UrlState};
use crate::telemetry::metrics::Registry;

use active::{Active, Kept};
use heads::Fronts;
pub(crate) use heads::first_times;
use turns::Turns;

pub use messages::{Committed, Ended, GaveUp, LeaseReturned, Look, Reload, Want};

/// While so many messages wait before the Store, it is told of no more hosts and URLs whose time has come: they stay due.
const STORE_IS_BUSY: u64 = 1_024;
/// A date is in the future when it lies so far ahead: a capture is committed within less.
const AHEAD: Duration = Duration::from_secs(60);
/// Hosts that are not active and of which something is kept.
const RESTING: usize = 50_000;

/// Starts the actor of a host.
pub type StartHost = fn(&Arc<Node>, HostAt, &HostState) -> Mailbox<Host>;

/// The actor.
pub struct Frontier {
    node: Arc<Node>,
    start_host: StartHost,
    end: LeaseEnd,
    fronts: Fronts,
    chooser: RankChooser,
    active: HashMap<HostKey, Active>,
    resting: HashMap<HostKey, Kept>,
    /// Hosts were not served because of a pause or of `crawl.max_pages`.
    held: bool,
    /// The jump of the system's clock that was heard of.
    jump: Option<Jump>,
    turns: Turns,
}

impl Frontier {
    /// A fresh one; hosts are started by `start_host`.
    pub fn new(node: Arc<Node>, start_host: StartHost) -> Self {
        node.faults.pass("frontier.new");
        Self {
            end: lease_end(&node),
            node,
            start_host,
            fronts: Fronts::default(),
            chooser: RankChooser::default(),
            active: HashMap::new(),
            resting: HashMap::new(),
            held: false,
            jump: None,
            turns: Turns::default(),
        }
    }

    fn load(&mut self) {
        let loaded = Fronts::load(&*self.node.storage).map(|fronts| self.fronts = fronts);
        self.look_at(loaded);
    }

    /// What came of a look at the disk.
    fn look_at(&self, looked: Result<()>) {
        let Err(error) = looked else { return };
        if error.is_latched() {
            return; // the Store is opening the database again, and sends a `Reload` when it has
        }
        log::error!("the frontier cannot read its queues: {error}");
        self.node.stop_with(Stop::Disk(error.to_string()));
    }

    /// Activates hosts while there is room.
    fn activate(&mut self) {
        let activated = self.wake_hosts();
        self.look_at(activated);
    }

    fn wake_hosts(&mut self) -> Result<()> {
        while self.active.len() < self.node.crawl.rules.settings.max_active_hosts() && !self.node.holds() {
            let Some(at) = self.next_host()? else { break };
            self.wake(at)?;
        }
        Ok(())
    }

    fn next_host(&mut self) -> Result<Option<HostAt>> {
        loop {
            let fronts = &self.fronts;
            let Some(rank) = self.chooser.choose(|r| fronts.has(r)) else { return Ok(None) };
            let active = &self.active;
            let free = |at: &HostAt| !active.contains_key(&at.host);
            if let Some(at) = self.fronts.next_host(&*self.node.storage, rank, free)? {
                return Ok(Some(at));
            }
        }
    }

    fn wake(&mut self, at: HostAt) -> Result<()> {
        moved(); // there may be tens of thousands of hosts to wake, each with reads
        let Some(state) = read::host_state(&*self.node.storage, at)? else { return Ok(()) };
        if state.orders.holds() {
            return Ok(());
        }
        let counts = read::host_counts(&*self.node.storage, at.crawl(self.node.crawl.id))?.unwrap_or_default();
        let mut kept = self.resting.remove(&at.host).unwrap_or_else(|| Kept::of(&counts));
        kept.cursors.raise(&counts.heads);
        let mailbox = (self.start_host)(&self.node, at, &state);
        lock(&self.node.actors.hosts).insert(at.host, mailbox.clone());
        let active = Active::new(at, mailbox, &state, kept, &counts);
        self.active.insert(at.host, active);
        Ok(())
    }

    /// Gives a Host the URLs it wants, or retires it when it has nothing left, or when the operator holds it.
    fn serve(&mut self, host: HostKey) {
        if self.node.crawl.orders.holds(&host) {
            return self.retire(host);
        }
        let Some(active) = self.active.get_mut(&host).filter(|a| a.wants > 0) else { return };
        let room = self.node.crawl.lease_room();
        if self.node.holds() || room == 0 {
            self.held = true;
            return;
        }
        let wants = active.wants.min(room);
        let order = self.node.crawl.rules.settings.crawl.order;
        let leases = match active.next_leases(&self.node, &self.end, wants, order) {
            Ok(leases) => leases,
            Err(e) => return self.look_at(Err(e)),
        };
        if leases.is_empty() {
            if active.kept.leased.is_empty() {
                self.retire(host);
            }
            return;
        }
        // An order that came meanwhile did not see these leases, so they must see it.
        if self.node.crawl.orders.holds(&host) {
            drop(leases);
            return self.retire(host);
        }
        active.wants = 0;
        self.node.faults.pass("frontier.leased");
        let (fine, poison): (Vec<_>, Vec<_>) =
            leases.into_iter().partition(|l| !self.node.crawl.is_poison(&l.core().url_key));
        for lease in poison {
            let url = lease.url.clone();
            log::error!("URL poisoned after repeated crashes: url={url}");
            self.node.mailboxes().deduper.tell(Parsed::bare(lease, None, Ending::Error(Failure::Poison)));
        }
        let live = self.node.crawl.live();
        let (fine, over) = active.within_budget(fine, live.settings.pages_per_host());
        for lease in over {
            let turned = Parsed::bare(lease, None, Ending::Rejected(Rejection::HostBudget));
            self.node.mailboxes().deduper.tell(turned.judged_by(live.generation));
        }
        if fine.is_empty() {
            active.wants = wants; // served again when one of these ends, so that not the whole queue is in flight
            return;
        }
        active.mailbox.tell(Leases(fine));
    }

    fn serve_all(&mut self) {
        let wanting: Vec<_> = self.active.iter().filter(|(_, a)| a.wants > 0).map(|(h, _)| *h).collect();
        for host in wanting {
            self.serve(host);
        }
    }

    fn retire(&mut self, host: HostKey) {
        if let Some(active) = self.active.remove(&host) {
            lock(&self.node.actors.hosts).remove(&host);
            active.mailbox.tell(Retire);
            if self.resting.len() >= RESTING {
                self.forget_resting();
            }
            self.resting.insert(host, active.kept);
        }
    }

    /// Forgets what is on disk as well: that of hosts without a lease out.
    fn forget_resting(&mut self) {
        self.resting.retain(|_, kept| !kept.leased.is_empty());
    }

    /// Active hosts are looked into from their heads on disk.
    fn begin_at_heads(&mut self) -> Result<()> {
        let Self { active, node, .. } = self;
        for active in active.values_mut() {
            let counts = read::host_counts(&*node.storage, active.at.crawl(node.crawl.id))?.unwrap_or_default();
            (active.kept.cursors, active.queued) = (Cursors::starting_at(counts.heads), None);
        }
        Ok(())
    }

    /// What is kept of a host, active or not.
    fn kept(&mut self, host: &HostKey) -> Option<&mut Kept> {
        let Self { active, resting, .. } = self;
        active.get_mut(host).map(|a| &mut a.kept).or_else(|| resting.get_mut(host))
    }

    fn lower(&mut self, host: HostKey, rank: u8, order: u64) {
        if let Some(kept) = self.kept(&host) {
            kept.cursors.lower(rank, order);
        }
    }

    fn end_lease(&mut self, core: &LeaseCore, how: Ended) {
        if !self.node.crawl.leases.end(core) {
            return; // swept before; its URL may be leased anew
        }
        if let Some(kept) = self.kept(&core.queue_key.host) {
            kept.end(&core.url_key, how);
        }
        if core.state() == LeaseState::Returned {
            let taken_back = self.take_back(core);
            self.look_at(taken_back);
        }
    }

    /// A returned URL is to be found again: where it stands now, for it may have been moved since, and by its host, which
    /// may have been passed over meanwhile.
    fn take_back(&mut self, core: &LeaseCore) -> Result<()> {
        let key = core.queue_key;
        self.lower(key.host, key.rank, key.order);
        let seen = key.host_crawl().url(core.url_key);
        if let Some(UrlState::Waiting { rank, order, due: None, .. }) = read::seen_state(&*self.node.storage, seen)? {
            self.lower(key.host, rank, order);
        }
        if !self.active.contains_key(&key.host)
            && let Some(counts) = read::host_counts(&*self.node.storage, key.host_crawl())?
        {
            self.fronts.note_place(key.partition, counts.place);
        }
        Ok(())
    }

    fn store_is_busy(&self) -> bool {
        self.node.mailboxes().store.meter.depth() > STORE_IS_BUSY
    }

    /// What is due by the clock.
    fn times(&mut self) -> Result<()> {
        if self.store_is_busy() {
            return Ok(());
        }
        let node = self.node.clone();
        let (storage, now) = (&*node.storage, node.clock.now());
        if let Some(after) = node.crawl.sitemaps_again() {
            let rows = self.sitemaps_to_read(after)?;
            self.tell_of(rows, Change::ReadAgain);
        }
        self.visits()?;
        if lock(&node.crawl.progress.counters).nearer_to_queue() > 0 {
            let pages = self.fronts.next_nearer(storage)?;
            self.tell_of(pages, Change::FollowNearer); // none when the last are on their way
        }
        if self.fronts.next_time().is_some_and(|t| t <= now) {
            for key in self.fronts.parked_until(storage, now)? {
                self.tell_store(Change::Unpark(key.host_at()));
            }
            let due = self.fronts.due_until(storage, now)?;
            self.tell_of(due, Change::Promote);
        }
        Ok(())
    }

    /// Visits whose time has come.
    fn visits(&mut self) -> Result<()> {
        let node = self.node.clone();
        let (live, date) = (node.crawl.live(), node.clock.date());
        if !live.settings.crawl.until_done && self.fronts.next_visit().is_some_and(|time| time <= date) {
            let most = self.turns.most(live.settings.refresh.max_rate, node.clock.now());
            let hosts = self.fronts.visits_until(&*node.storage, date, most)?;
            self.turns.taken(hosts.len());
            self.tell_of(hosts, Change::Revisit);
        }
        Ok(())
    }

    /// Visits are dated, for each is a capture. One that lies in the future was dated by a wrong clock: whether `after` has passed
    /// since nobody knows, and it is made again.
    fn sitemaps_to_read(&mut self, after: Duration) -> Result<Vec<DueKey>> {
        let date = self.node.clock.date();
        let before = UnixMillis(date.0.saturating_sub(millis(after)));
        let jumps = self.node.clock.last_jump();
        if jumps != self.jump {
            self.jump = jumps;
            self.fronts.look_ahead();
        }
        let mut rows = self.fronts.visited_until(&*self.node.storage, before)?;
        rows.extend(self.fronts.visited_after(&*self.node.storage, date.plus(AHEAD))?);
        Ok(rows)
    }

    fn tell_of<K>(&self, keys: Vec<K>, change: impl FnOnce(Vec<K>) -> Change) {
        if !keys.is_empty() {
            self.tell_store(change(keys));
        }
    }

    fn tell_store(&self, change: Change) {
        self.node.mailboxes().store.tell(Commit::bare(change));
    }

    fn publish(&self) {
        let metrics = &self.node.telemetry.metrics;
        metrics.entries(Registry::ActiveHosts, self.active.len());
        metrics.entries(Registry::RestingHosts, self.resting.len());
        metrics.entries(Registry::Heads, self.fronts.len());
        let visit = self.fronts.first_visit().map_or(u64::MAX, |visit| visit.0);
        self.node.crawl.progress.sitemap_visit.store(visit, Ordering::Relaxed);
        let visit = self.fronts.next_visit().map_or(u64::MAX, |visit| visit.0);
        self.node.crawl.progress.next_visit.store(visit, Ordering::Relaxed);
    }

    fn look(&mut self) {
        self.node.faults.pass("frontier.look");
        let looked = self.times();
        self.look_at(looked);
        if self.held && !self.node.holds() && self.node.crawl.lease_room() > 0 {
            self.held = false;
            self.serve_all();
        }
        self.activate();
    }
}

impl Behavior for Frontier {
    const KIND: Kind = Kind::Frontier;
    const STARTED: Option<&str> = Some("frontier.started");

    fn fresh(&self) -> Self {
        Self::new(self.node.clone(), self.start_host)
    }

    fn started(&mut self, _: &mut Ctx<Self>) {
        for (_, mailbox) in lock(&self.node.actors.hosts).drain() {
            mailbox.tell(Retire);
        }
        for core in self.node.crawl.leases.ended() {
            self.node.crawl.leases.end(&core);
        }
        self.load();
        self.node.faults.pass("frontier.loaded");
        self.look();
    }

    /// Times come, and room comes free, without a message. Where no host is active nothing but the times of parked ones is awaited.
    fn every(&self, idle: bool) -> Option<Duration> {
        let seldom = idle && self.active.is_empty() && !self.held;
        Some(Duration::from_millis(if seldom { 250 } else { 25 }))
    }

    fn tick(&mut self) {
        self.node.faults.pass("frontier.tick");
        self.look();
        self.publish();
    }
}

impl Handles<Committed> for Frontier {
    const POINT: Option<&str> = Some("frontier.committed");

    fn handle(&mut self, message: Committed, _: &mut Ctx<Self>) {
        for (core, how) in &message.ended {
            self.end_lease(core, *how);
        }
        for news in &message.hosts {
            self.fronts.note(news);
            if let Some(active) = self.active.get_mut(&news.at.host) {
                active.queued = Some(news.queued);
            }
            if let Some(kept) = self.kept(&news.at.host) {
                kept.finished(news.finished);
                news.put.iter().for_each(|(rank, order)| kept.cursors.lower(*rank, *order));
            }
            self.serve(news.at.host);
        }
        self.node.faults.pass("frontier.committed.after");
        if !self.store_is_busy() {
            let visits = self.visits(); // a host whose turn is over may have its next one at once
            self.look_at(visits);
        }
        self.activate();
    }
}

impl Handles<LeaseReturned> for Frontier {
    fn handle(&mut self, LeaseReturned(core): LeaseReturned, _: &mut Ctx<Self>) {
        self.end_lease(&core, Ended::Unfinished);
        self.node.faults.pass("frontier.returned");
        self.serve(core.queue_key.host);
        self.activate();
    }
}

impl Handles<Want> for Frontier {
    const POINT: Option<&str> = Some("frontier.want");

    fn handle(&mut self, want: Want, _: &mut Ctx<Self>) {
        if let Some(active) = self.active.get_mut(&want.host) {
            active.wants = want.n;
            self.serve(want.host);
        }
    }
}

impl Handles<GaveUp> for Frontier {
    fn handle(&mut self, message: GaveUp, _: &mut Ctx<Self>) {
        let Some(at) = self.active.get(&message.host).map(|a| a.at) else { return };
        self.retire(message.host);
        self.node.faults.pass("frontier.gave_up");
        let pace = self.node.slots.pace_of(&at.host).map(|p| p.encode());
        self.tell_store(Change::Yield { at, until: message.until, pace });
        self.activate();
    }
}

impl Handles<Reload> for Frontier {
    const POINT: Option<&str> = Some("frontier.reload");

    fn handle(&mut self, _: Reload, _: &mut Ctx<Self>) {
        for core in self.node.crawl.leases.ended() {
            self.end_lease(&core, Ended::Unfinished);
        }
        self.forget_resting();
        self.resting.values_mut().for_each(|kept| kept.cursors = Cursors::default());
        if let Err(e) = self.begin_at_heads() {
            return self.look_at(Err(e));
        }
        self.load();
        self.serve_all();
        self.activate();
    }
}

impl Handles<Look> for Frontier {
    fn handle(&mut self, _: Look, _: &mut Ctx<Self>) {
        self.look();
    }
}

/// One entry and the key it stands under.
type Entry = (QueueKey, QueueEntry);

/// A lease on one entry, unless it is leased already or its URL cannot be built.
fn lease(node: &Node, end: &LeaseEnd, name: &str, (key, entry): Entry) -> Option<Lease> {
    let url = entry.url(name).ok()?;
    let url_key = node.prints.url(&url);
    node.crawl.leases.lease(key, url_key, url, entry, end)
}

#[cfg(test)]
mod tests;
