//! Slots: one request in flight at a host, never before its earliest time (I1).
//!
//! The registry lives outside Host and Frontier. A slot travels with the fetch and comes back on Drop: a respawned Host
//! must obtain it first, so no second request can start. A slot that is dropped without a report waits one full gap.
//!
//! Hosts may share tokens: that of their registrable domain, that of their address (`politeness.group_by`,
//! `per_ip_connections`, `per_ip_gap`). Such a group has a pacer like a host's. All are taken in one order, domain, address,
//! host, so that they cannot block each other in a ring, and held until the response ends.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::base::clock::Clock;
use crate::base::invariant::{Invariant, uphold};
use crate::base::sync::lock;
use crate::base::time::UnixMillis;
use crate::domain::fingerprint::HostKey;
use crate::domain::politeness::{Pace, PaceRules, PaceSignal, PaceWhy};

/// A request for the sake of another host, whose robots.txt redirects here, has a turn after so many of the host's own. Else
/// many hosts could slow one down by leading there.
const OWN_FIRST: u32 = 8;

/// Paces the requests of one host, or of a group of hosts, and hands out its slots.
pub struct Pacer {
    free: Arc<Semaphore>,
    /// Held by each lane of the host itself that is queued for a slot.
    own: Arc<()>,
    /// The turn of those who come for the sake of other hosts: one at a time.
    cross_host: Arc<Semaphore>,
    /// Until when they are turned away, in milliseconds: what they came for was out of reach.
    cross_host_refused_until: AtomicU64,
    standing: Mutex<Standing>,
    between_starts: Duration,
    heeds_throttling: bool,
}

/// A pace with its rules, and whether it is on disk as it is.
#[derive(Default)]
struct Standing {
    pace: Pace,
    stored: bool,
    /// By which it is kept: those set, with the least gap that the operator says.
    rules: PaceRules,
    set: PaceRules,
    said: Option<Duration>,
    /// The generation of those rules; 0 before any was taken up.
    generation: u32,
    /// Requests in flight at a time.
    connections: usize,
    /// Tokens too many, to be kept back when they return.
    owed: usize,
    /// Requests begun since the last one for the sake of another host.
    since_cross_host: u32,
    /// What its pages have cost, to be waited for after the request that ends next: the earliest time of one that is under way is
    /// not moved.
    debt: Duration,
}

impl Standing {
    /// Takes up the rules as they are now.
    fn apply(&mut self) {
        self.rules = self.said.map_or_else(|| self.set.clone(), |delay| self.set.with_min_delay(delay));
        self.change(Pace::take_up);
    }

    fn change(&mut self, change: impl FnOnce(&mut Pace, &PaceRules)) {
        let before = self.pace.clone();
        change(&mut self.pace, &self.rules);
        self.stored &= self.pace == before;
    }
}

impl Pacer {
    /// The politeness state as it stands.
    pub fn pace(&self) -> Pace {
        lock(&self.standing).pace.clone()
    }

    /// Changes the pace: it is no longer that on disk.
    fn change(&self, change: impl FnOnce(&mut Pace, &PaceRules)) {
        lock(&self.standing).change(change);
    }

    /// Takes up other rules, once for each generation. A longer gap counts from the end of the last response on, a shorter
    /// one from that of the next; tokens beyond fewer connections are kept back when they return (I1).
    pub fn take_up(&self, generation: u32, rules: &PaceRules, connections: usize) {
        let mut standing = lock(&self.standing);
        if generation <= standing.generation {
            return;
        }
        standing.generation = generation;
        standing.set.clone_from(rules);
        standing.apply();
        let (had, wanted) = (standing.connections, connections.max(1));
        standing.connections = wanted;
        if wanted > had {
            let paid = standing.owed.min(wanted - had);
            standing.owed -= paid;
            self.free.add_permits(wanted - had - paid);
        } else if wanted < had {
            let forgotten = self.free.forget_permits(had - wanted);
            standing.owed += had - wanted - forgotten;
        }
    }

    /// The earliest moment of the next request.
    pub fn earliest(&self) -> UnixMillis {
        lock(&self.standing).pace.earliest()
    }

    /// The gap that the next request will have to keep.
    pub fn gap(&self) -> Duration {
        let standing = lock(&self.standing);
        standing.pace.gap(&standing.rules)
    }

    /// Sets the least gap that the operator says; `None` for that of the settings. A longer one holds at once, a shorter one
    /// from the next response on.
    pub fn set_min_delay(&self, delay: Option<Duration>) {
        let mut standing = lock(&self.standing);
        standing.said = delay;
        standing.apply();
    }

    /// Sets what robots.txt asks for.
    pub fn set_crawl_delay(&self, delay: Option<Duration>) {
        self.change(|pace, rules| pace.set_crawl_delay(delay, rules));
    }

    /// A lane of the host itself is queued, until this is dropped.
    #[must_use]
    pub fn queue(&self) -> Arc<()> {
        self.own.clone()
    }

    /// The turn of whoever comes for the sake of another host; `None` only when the registry was closed.
    pub async fn cross_host(&self) -> Option<OwnedSemaphorePermit> {
        self.cross_host.clone().acquire_owned().await.ok()
    }

    /// Whether such a request may be begun beside the host's own.
    pub fn lets_cross_host(&self) -> bool {
        Arc::strong_count(&self.own) == 1 || lock(&self.standing).since_cross_host >= OWN_FIRST
    }

    /// Nobody is to come for the sake of another host before `until`.
    pub fn refuse_cross_host(&self, until: UnixMillis) {
        self.cross_host_refused_until.fetch_max(until.0, Ordering::AcqRel);
    }

    /// Whether that holds.
    pub fn refuses_cross_host(&self, now: UnixMillis) -> bool {
        now.0 < self.cross_host_refused_until.load(Ordering::Acquire)
    }

    /// Such a request is over.
    pub fn served_cross_host(&self) {
        lock(&self.standing).since_cross_host = 0;
    }

    async fn take(self: &Arc<Self>, clock: &Clock) -> Option<Slot> {
        let permit = self.free.clone().acquire_owned().await.ok()?;
        Some(Slot { pacer: self.clone(), clock: clock.clone(), shared: Vec::new(), begun: false, permit: Some(permit) })
    }
}

/// Where a request must find room: the host's pacer, and those of the groups it belongs to.
#[derive(Clone)]
pub struct Pacers {
    groups: Vec<Arc<Pacer>>,
    host: Arc<Pacer>,
}

impl Pacers {
    /// `groups` in the order domain, address.
    pub fn new(groups: Vec<Arc<Pacer>>, host: Arc<Pacer>) -> Self {
        Self { groups, host }
    }

    /// The earliest moment of the next request.
    pub fn earliest(&self) -> UnixMillis {
        self.groups.iter().map(|s| s.earliest()).fold(self.host.earliest(), UnixMillis::max)
    }

    /// Waits until there is room everywhere and takes the tokens, the host's last. The earliest time may have moved
    /// meanwhile. `None` only when the registry was closed.
    pub async fn take(&self, clock: &Clock) -> Option<Slot> {
        let mut shared = Vec::with_capacity(self.groups.len());
        for group in &self.groups {
            shared.push(group.take(clock).await?);
        }
        let mut slot = self.host.take(clock).await?;
        slot.shared = shared;
        Some(slot)
    }
}

/// The right to send one request to a host. It comes back on Drop, with the tokens that hosts share.
pub struct Slot {
    pacer: Arc<Pacer>,
    clock: Clock,
    shared: Vec<Slot>,
    begun: bool,
    permit: Option<OwnedSemaphorePermit>,
}

impl Slot {
    /// The earliest moment of its request, all tokens regarded.
    pub fn earliest(&self) -> UnixMillis {
        self.shared.iter().map(Self::earliest).fold(self.pacer.earliest(), UnixMillis::max)
    }

    /// Notes that a request goes out now. I1: never before the earliest time.
    pub fn begin(&mut self) {
        let now = self.clock.now();
        let earliest = self.earliest();
        uphold(Invariant::I1, now >= earliest, || {
            format!("a request at {now:?} before the host's earliest time {earliest:?}")
        });
        self.mark(now);
    }

    fn mark(&mut self, now: UnixMillis) {
        self.begun = true;
        {
            let mut standing = lock(&self.pacer.standing);
            standing.since_cross_host = standing.since_cross_host.saturating_add(1);
        }
        if !self.pacer.between_starts.is_zero() {
            self.pacer.change(|pace, _| pace.hold_until(now.plus(self.pacer.between_starts), PaceWhy::Gap));
        }
        self.shared.iter_mut().for_each(|token| token.mark(now));
    }

    /// The response is over: `took` from its request to the end of its body. Sets the earliest time of the next one.
    /// True when this was one refusal too many, so that the host is left alone for long.
    pub fn finish(mut self, took: Duration, signal: PaceSignal) -> bool {
        let before = self.pacer.earliest();
        self.over(took, signal);
        let pace = self.pacer.pace();
        pace.why() == PaceWhy::Brake && pace.earliest() > before
    }

    fn over(&mut self, took: Duration, signal: PaceSignal) {
        for token in &mut self.shared {
            // What one host does wrong is not the others' fault; a request to slow down may be meant for all of a group.
            let heard = match signal {
                PaceSignal::Throttled { .. } => token.pacer.heeds_throttling,
                other => other == PaceSignal::Ok,
            };
            token.over(took, if heard { signal } else { PaceSignal::Neutral });
        }
        let end = self.end();
        self.pacer.change(|pace, rules| pace.finished(end, took, signal, rules));
        let debt = std::mem::take(&mut lock(&self.pacer.standing).debt);
        if !debt.is_zero() {
            self.pacer.change(|pace, rules| pace.hold_until(end.plus(debt.min(rules.max_delay)), PaceWhy::Work));
        }
        self.begun = false;
    }

    /// This moment, rounded up where a gap follows, so that no gap is a part of a millisecond short.
    fn end(&self) -> UnixMillis {
        let up = if self.pacer.gap().is_zero() { 0 } else { 1 };
        self.clock.now().plus(Duration::from_millis(up))
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        if self.begun {
            let end = self.end();
            self.pacer.change(|pace, rules| pace.wait_one_full_gap(end, rules));
        }
        let mut standing = lock(&self.pacer.standing);
        if standing.owed > 0
            && let Some(permit) = self.permit.take()
        {
            standing.owed -= 1;
            permit.forget();
        }
    }
}

/// What hosts share.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Group {
    /// The registrable domain.
    Domain(String),
    /// The address.
    Address(IpAddr),
}

/// How a pacer is made.
pub struct PacerRules {
    /// Its pace.
    pub pace: PaceRules,
    /// Requests in flight at a time.
    pub connections: usize,
    /// Least time between the starts of two requests, where several may be in flight.
    pub between_starts: Duration,
    /// Of a group: whether one host's 429 or 503 slows down the others.
    pub heeds_throttling: bool,
}

impl PacerRules {
    /// Those of a host, or of all hosts of an owner.
    pub fn of(pace: &PaceRules, connections: usize) -> Self {
        Self { pace: pace.clone(), connections, between_starts: Duration::ZERO, heeds_throttling: true }
    }

    fn pacer(self, pace: Pace) -> Arc<Pacer> {
        Arc::new(Pacer {
            free: Arc::new(Semaphore::new(self.connections.max(1))),
            standing: Mutex::new(Standing {
                pace,
                rules: self.pace.clone(),
                set: self.pace,
                connections: self.connections.max(1),
                ..Standing::default()
            }),
            own: Arc::default(),
            cross_host: Arc::new(Semaphore::new(1)),
            cross_host_refused_until: AtomicU64::new(0),
            between_starts: self.between_starts,
            heeds_throttling: self.heeds_throttling,
        })
    }
}

/// Every host that was contacted lately, and what hosts share.
#[derive(Default)]
pub struct Slots {
    hosts: Mutex<HashMap<HostKey, Arc<Pacer>>>,
    groups: Mutex<HashMap<Group, Arc<Pacer>>>,
}

impl Slots {
    /// The host's place; made from `stored` (its state on disk) when it has none.
    pub fn pacer(
        &self,
        host: HostKey,
        rules: &PaceRules,
        connections: usize,
        stored: impl FnOnce() -> Pace,
    ) -> Arc<Pacer> {
        if let Some(pacer) = lock(&self.hosts).get(&host) {
            return pacer.clone();
        }
        let pace = stored(); // a disk read: not under the lock
        let rules = PacerRules::of(rules, connections);
        lock(&self.hosts).entry(host).or_insert_with(|| rules.pacer(pace)).clone()
    }

    /// The operator says another least gap for a host.
    pub fn set_min_delay(&self, host: &HostKey, delay: Option<Duration>) {
        let pacer = lock(&self.hosts).get(host).cloned();
        pacer.inspect(|pacer| pacer.set_min_delay(delay));
    }

    /// A page of the host has cost the processor more than its bytes are worth: it waits so long before a later request.
    pub fn worked(&self, host: &HostKey, wait: Duration) {
        if let Some(pacer) = lock(&self.hosts).get(host).filter(|_| !wait.is_zero()) {
            let mut standing = lock(&pacer.standing);
            standing.debt = standing.debt.saturating_add(wait);
        }
    }

    /// The place of a group; the first since `start` waits one full gap, for nothing of a group is kept on disk.
    pub fn group(&self, group: Group, start: UnixMillis, rules: impl FnOnce() -> PacerRules) -> Arc<Pacer> {
        let make = || {
            let rules = rules();
            let mut pace = Pace::new();
            pace.wait_one_full_gap(start, &rules.pace);
            rules.pacer(pace)
        };
        lock(&self.groups).entry(group).or_insert_with(make).clone()
    }

    /// The state to be stored with the host's next commit, if the host has a place.
    pub fn pace_of(&self, host: &HostKey) -> Option<Pace> {
        lock(&self.hosts).get(host).map(|s| s.pace())
    }

    /// `pace`, encoded, is on disk as that of the host. Forgets the host when that is how it stands and nobody holds it: whoever
    /// needs it reads it again.
    pub fn stored(&self, host: &HostKey, pace: &[u8]) {
        let mut hosts = lock(&self.hosts);
        let Some(pacer) = hosts.get(host) else { return };
        let mut standing = lock(&pacer.standing);
        standing.stored = standing.pace.encode() == pace;
        let forget = standing.stored && Arc::strong_count(pacer) == 1;
        drop(standing);
        if forget {
            hosts.remove(host);
        }
    }

    /// Forgets hosts that nobody holds and whose state is on disk, or does not matter because they may be contacted again
    /// anyway. Of groups nothing is on disk: they stay until they may be contacted.
    pub fn sweep(&self, now: UnixMillis) {
        let held = |pacer: &Arc<Pacer>| Arc::strong_count(pacer) > 1;
        lock(&self.hosts).retain(|_, pacer| held(pacer) || (pacer.earliest() > now && !lock(&pacer.standing).stored));
        lock(&self.groups).retain(|_, pacer| held(pacer) || pacer.earliest() > now);
    }

    /// Hosts in the registry.
    pub fn hosts(&self) -> usize {
        lock(&self.hosts).len()
    }

    /// Domains and addresses in the registry.
    pub fn groups(&self) -> usize {
        lock(&self.groups).len()
    }
}

#[cfg(test)]
mod tests;
