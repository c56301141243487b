//! Slots: one request in flight at a host, never before its earliest time (I1).
//!
//! The registry lives outside Host and Frontier. A slot travels with the fetch and comes back on Drop: a respawned Host
//! must obtain it first, so no second request can start. A slot that is dropped without a report waits one full gap.
//!
//! Hosts may share tokens: that of their registrable domain, that of their address (`politeness.group_by`,
//! `per_ip_connections`, `per_ip_gap`). Such a token is a seat like a host's. All are taken in one order, domain, address,
//! host, so that they cannot block each other in a ring, and held until the response ends.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::clock::Clock;
use crate::domain::fingerprint::HostKey;
use crate::domain::politeness::{Pace, PaceRules, PaceSignal, PaceWhy};
use crate::domain::time::UnixMillis;
use crate::invariant::{Invariant, uphold};

use super::supervise::lock;

/// One host's place in the registry.
pub struct Seat {
    free: Arc<Semaphore>,
    standing: Mutex<Standing>,
    between_starts: Duration,
    heeds_throttling: bool,
}

/// A pace with its rules, and whether it is on disk as it is.
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

impl Seat {
    /// The politeness state as it stands.
    #[must_use]
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

    /// A token returns: false when it is one too many.
    fn takes_back(&self) -> bool {
        let mut standing = lock(&self.standing);
        let keeps = standing.owed == 0;
        standing.owed = standing.owed.saturating_sub(1);
        keeps
    }

    /// The earliest moment of the next request.
    #[must_use]
    pub fn earliest(&self) -> UnixMillis {
        lock(&self.standing).pace.earliest()
    }

    /// The gap that the next request will have to keep.
    #[must_use]
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

    async fn take(self: &Arc<Self>, clock: &Clock) -> Option<Slot> {
        let permit = self.free.clone().acquire_owned().await.ok()?;
        Some(Slot { seat: self.clone(), clock: clock.clone(), shared: Vec::new(), begun: false, permit: Some(permit) })
    }
}

/// Where a request must find room: the host's seat, and those of the groups it belongs to.
#[derive(Clone)]
pub struct Seats {
    groups: Vec<Arc<Seat>>,
    host: Arc<Seat>,
}

impl Seats {
    /// `groups` in the order domain, address.
    #[must_use]
    pub fn new(groups: Vec<Arc<Seat>>, host: Arc<Seat>) -> Self {
        Self { groups, host }
    }

    /// The earliest moment of the next request.
    #[must_use]
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
    seat: Arc<Seat>,
    clock: Clock,
    shared: Vec<Slot>,
    begun: bool,
    permit: Option<OwnedSemaphorePermit>,
}

impl Slot {
    /// The earliest moment of its request, all tokens regarded.
    #[must_use]
    pub fn earliest(&self) -> UnixMillis {
        self.shared.iter().map(Self::earliest).fold(self.seat.earliest(), UnixMillis::max)
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
        if !self.seat.between_starts.is_zero() {
            self.seat.change(|pace, _| pace.hold_until(now.plus(self.seat.between_starts), PaceWhy::Gap));
        }
        self.shared.iter_mut().for_each(|token| token.mark(now));
    }

    /// The response is over: `took` from its request to the end of its body. Sets the earliest time of the next one.
    /// True when this was one refusal too many, so that the host is left alone for long.
    pub fn finish(mut self, took: Duration, signal: PaceSignal) -> bool {
        let before = self.seat.earliest();
        self.over(took, signal);
        let pace = self.seat.pace();
        pace.why() == PaceWhy::Brake && pace.earliest() > before
    }

    fn over(&mut self, took: Duration, signal: PaceSignal) {
        for token in &mut self.shared {
            // What one host does wrong is not the others' fault; a request to slow down may be meant for all of a group.
            let heard = matches!(signal, PaceSignal::Throttled { .. }) && token.seat.heeds_throttling;
            token.over(took, if heard { signal } else { PaceSignal::Ok });
        }
        let end = self.end();
        self.seat.change(|pace, rules| pace.finished(end, took, signal, rules));
        self.begun = false;
    }

    /// This moment, rounded up where a gap follows, so that no gap is a part of a millisecond short.
    fn end(&self) -> UnixMillis {
        let up = if self.seat.gap().is_zero() { 0 } else { 1 };
        self.clock.now().plus(Duration::from_millis(up))
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        if self.begun {
            let end = self.end();
            self.seat.change(|pace, rules| pace.wait_one_full_gap(end, rules));
        }
        if !self.seat.takes_back()
            && let Some(permit) = self.permit.take()
        {
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

/// How a seat is made.
pub struct SeatRules {
    /// Its pace.
    pub pace: PaceRules,
    /// Requests in flight at a time.
    pub connections: usize,
    /// Least time between the starts of two requests, where several may be in flight.
    pub between_starts: Duration,
    /// Of a group: whether one host's 429 or 503 slows down the others.
    pub heeds_throttling: bool,
}

impl SeatRules {
    fn seat(self, pace: Pace) -> Arc<Seat> {
        Arc::new(Seat {
            free: Arc::new(Semaphore::new(self.connections.max(1))),
            standing: Mutex::new(Standing {
                pace,
                stored: false,
                rules: self.pace.clone(),
                set: self.pace,
                said: None,
                generation: 0,
                connections: self.connections.max(1),
                owed: 0,
            }),
            between_starts: self.between_starts,
            heeds_throttling: self.heeds_throttling,
        })
    }
}

/// Every host that was contacted lately, and what hosts share.
#[derive(Default)]
pub struct Slots {
    hosts: Mutex<HashMap<HostKey, Arc<Seat>>>,
    groups: Mutex<HashMap<Group, Arc<Seat>>>,
}

impl Slots {
    /// The host's place; made from `stored` (its state on disk) when it has none.
    pub fn seat(
        &self,
        host: HostKey,
        rules: &PaceRules,
        connections: usize,
        stored: impl FnOnce() -> Pace,
    ) -> Arc<Seat> {
        if let Some(seat) = lock(&self.hosts).get(&host) {
            return seat.clone();
        }
        let pace = stored(); // a disk read: not under the lock
        let pace_rules = rules.clone();
        let rules = SeatRules { pace: pace_rules, connections, between_starts: Duration::ZERO, heeds_throttling: true };
        lock(&self.hosts).entry(host).or_insert_with(|| rules.seat(pace)).clone()
    }

    /// The operator says another least gap for a host.
    pub fn set_min_delay(&self, host: &HostKey, delay: Option<Duration>) {
        let seat = lock(&self.hosts).get(host).cloned();
        if let Some(seat) = seat {
            seat.set_min_delay(delay);
        }
    }

    /// The place of a group; the first since `start` waits one full gap, for nothing of a group is kept on disk.
    pub fn group(&self, group: Group, start: UnixMillis, rules: impl FnOnce() -> SeatRules) -> Arc<Seat> {
        let make = || {
            let rules = rules();
            let mut pace = Pace::new();
            pace.wait_one_full_gap(start, &rules.pace);
            rules.seat(pace)
        };
        lock(&self.groups).entry(group).or_insert_with(make).clone()
    }

    /// The state to be stored with the host's next commit, if the host has a place.
    #[must_use]
    pub fn pace_of(&self, host: &HostKey) -> Option<Pace> {
        lock(&self.hosts).get(host).map(|s| s.pace())
    }

    /// `pace`, encoded, is on disk as that of the host. Forgets the host when that is how it stands and nobody holds it: whoever
    /// needs it reads it again.
    pub fn stored(&self, host: &HostKey, pace: &[u8]) {
        let mut hosts = lock(&self.hosts);
        let Some(seat) = hosts.get(host) else { return };
        let mut standing = lock(&seat.standing);
        standing.stored = standing.pace.encode() == pace;
        let forget = standing.stored && Arc::strong_count(seat) == 1;
        drop(standing);
        if forget {
            hosts.remove(host);
        }
    }

    /// Forgets hosts that nobody holds and whose state is on disk, or does not matter because they may be contacted again
    /// anyway. Of groups nothing is on disk: they stay until they may be contacted.
    pub fn sweep(&self, now: UnixMillis) {
        let held = |seat: &Arc<Seat>| Arc::strong_count(seat) > 1;
        lock(&self.hosts).retain(|_, seat| held(seat) || (seat.earliest() > now && !lock(&seat.standing).stored));
        lock(&self.groups).retain(|_, seat| held(seat) || seat.earliest() > now);
    }

    /// Hosts in the registry.
    #[must_use]
    pub fn len(&self) -> usize {
        lock(&self.hosts).len()
    }

    /// Domains and addresses in the registry.
    #[must_use]
    pub fn groups(&self) -> usize {
        lock(&self.groups).len()
    }

    /// True when it is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: UnixMillis = UnixMillis(1_000_000);

    fn rules(gap_ms: u64) -> PaceRules {
        let min_delay = Duration::from_millis(gap_ms);
        PaceRules { min_delay, delay_factor: 0.0, ..PaceRules::default() }
    }

    fn host(slots: &Slots, n: u8, gap_ms: u64) -> Arc<Seat> {
        slots.seat(HostKey([n; 8]), &rules(gap_ms), 1, Pace::new)
    }

    fn address(slots: &Slots, connections: usize, starts_ms: u64, gap_ms: u64) -> Arc<Seat> {
        slots.group(Group::Address([192, 0, 2, 1].into()), UnixMillis(0), || SeatRules {
            pace: rules(gap_ms),
            connections,
            between_starts: Duration::from_millis(starts_ms),
            heeds_throttling: connections == 1,
        })
    }

    fn taken<F: Future>(fut: F) -> Option<F::Output> {
        let mut cx = std::task::Context::from_waker(std::task::Waker::noop());
        match std::pin::pin!(fut).poll(&mut cx) {
            std::task::Poll::Ready(out) => Some(out),
            std::task::Poll::Pending => None,
        }
    }

    fn begun(seats: &Seats, clock: &Clock) -> Slot {
        let mut slot = taken(seats.take(clock)).flatten().unwrap();
        slot.begin();
        slot
    }

    #[test]
    fn i1_a_host_has_one_request_in_flight_and_its_gap_from_the_end() {
        let (clock, slots) = (Clock::manual(START), Slots::default());
        let seats = Seats::new(Vec::new(), host(&slots, 1, 100));
        let slot = begun(&seats, &clock);
        assert!(taken(seats.take(&clock)).is_none(), "a second request in flight");
        clock.advance(Duration::from_millis(30));
        slot.finish(Duration::from_millis(30), PaceSignal::Ok);
        assert!(taken(seats.take(&clock)).is_some());
        assert_eq!(seats.earliest(), START.plus(Duration::from_millis(131)));
    }

    #[test]
    fn i1_a_longer_gap_holds_from_the_last_response_on_and_a_shorter_one_from_the_next() {
        let (clock, slots) = (Clock::manual(START), Slots::default());
        let seat = host(&slots, 1, 100);
        let seats = Seats::new(Vec::new(), seat.clone());
        begun(&seats, &clock).finish(Duration::ZERO, PaceSignal::Ok);
        let end = START.plus(Duration::from_millis(1));
        seat.take_up(2, &rules(700), 1);
        assert_eq!(seats.earliest(), end.plus(Duration::from_millis(700)));
        seat.take_up(2, &rules(9_000), 1);
        assert_eq!(seats.earliest(), end.plus(Duration::from_millis(700)), "once a generation");
        seat.take_up(3, &rules(10), 1);
        assert_eq!(seats.earliest(), end.plus(Duration::from_millis(700)));
        clock.advance(Duration::from_millis(701));
        begun(&seats, &clock).finish(Duration::ZERO, PaceSignal::Ok);
        assert_eq!(seats.earliest(), clock.now().plus(Duration::from_millis(11)));
    }

    #[test]
    fn i1_fewer_connections_hold_as_tokens_return_and_more_at_once() {
        let (clock, slots) = (Clock::manual(START), Slots::default());
        let seat = slots.seat(HostKey([1; 8]), &rules(0), 3, Pace::new);
        let seats = Seats::new(Vec::new(), seat.clone());
        let mut out: Vec<Slot> = (0..3).map(|_| begun(&seats, &clock)).collect();
        seat.take_up(2, &rules(0), 1);
        for left in [2, 1] {
            drop(out.pop());
            assert_eq!(out.len(), left);
            assert!(taken(seats.take(&clock)).is_none(), "{left} are in flight where one is allowed");
        }
        drop(out.pop());
        out.push(begun(&seats, &clock));
        assert!(taken(seats.take(&clock)).is_none(), "a second request in flight");
        seat.take_up(3, &rules(0), 2);
        out.push(begun(&seats, &clock));
        assert!(taken(seats.take(&clock)).is_none());
        drop(out);
        let both: Vec<_> = (0..2).filter_map(|_| taken(seats.take(&clock)).flatten()).collect();
        assert_eq!((both.len(), taken(seats.take(&clock)).is_none()), (2, true));
    }

    #[test]
    fn i5_a_slot_that_dies_with_its_fetch_comes_back_and_its_host_waits_one_full_gap() {
        let (clock, slots) = (Clock::manual(START), Slots::default());
        let seats = Seats::new(vec![address(&slots, 1, 0, 50)], host(&slots, 1, 100));
        drop(begun(&seats, &clock));
        assert_eq!(seats.earliest(), START.plus(Duration::from_millis(101)));
        let unused = taken(seats.take(&clock)).unwrap();
        drop(unused); // never begun: nothing to wait for
        assert_eq!(seats.earliest(), START.plus(Duration::from_millis(101)));
    }

    #[test]
    fn a_longer_gap_holds_at_once_a_shorter_one_after_the_next_response_and_a_crawl_delay_is_kept() {
        let (clock, slots) = (Clock::manual(START), Slots::default());
        let key = HostKey([1; 8]);
        let seats = Seats::new(Vec::new(), host(&slots, 1, 100));
        let answered = |earliest: u64| {
            clock.advance(Duration::from_secs(60));
            let now = clock.now();
            begun(&seats, &clock).finish(Duration::ZERO, PaceSignal::Ok);
            assert_eq!(seats.earliest().since(now), Duration::from_millis(earliest + 1));
        };
        answered(100);
        slots.set_min_delay(&key, Some(Duration::from_secs(5)));
        assert_eq!(seats.earliest().since(clock.now()), Duration::from_millis(5_001));
        slots.set_min_delay(&key, Some(Duration::from_millis(50)));
        assert_eq!(seats.earliest().since(clock.now()), Duration::from_millis(5_001));
        answered(50);
        seats.host.set_crawl_delay(Some(Duration::from_secs(2)));
        answered(2_000);
        slots.set_min_delay(&key, None);
        seats.host.set_crawl_delay(None);
        answered(100);
    }

    #[test]
    fn hosts_of_one_group_wait_for_each_other() {
        let (clock, slots) = (Clock::manual(START), Slots::default());
        let group = address(&slots, 1, 0, 100);
        let one = Seats::new(vec![group.clone()], host(&slots, 1, 100));
        let other = Seats::new(vec![group], host(&slots, 2, 100));
        let slot = begun(&one, &clock);
        assert!(taken(other.take(&clock)).is_none(), "two requests in flight at one address");
        slot.finish(Duration::ZERO, PaceSignal::Ok);
        assert_eq!(other.earliest(), START.plus(Duration::from_millis(101)));
        let alone = Seats::new(Vec::new(), host(&slots, 3, 100));
        assert!(alone.earliest() <= START, "a host of no group waits for nobody");
    }

    #[test]
    fn an_address_with_several_connections_keeps_a_distance_between_their_starts() {
        let (clock, slots) = (Clock::manual(START), Slots::default());
        let seats: Vec<Seats> =
            (0..3).map(|n| Seats::new(vec![address(&slots, 2, 250, 0)], host(&slots, n, 0))).collect();
        let first = begun(&seats[0], &clock);
        assert_eq!(seats[1].earliest(), START.plus(Duration::from_millis(250)));
        clock.advance(Duration::from_millis(250));
        let _second = begun(&seats[1], &clock);
        clock.advance(Duration::from_millis(250));
        assert!(taken(seats[2].take(&clock)).is_none(), "three requests in flight where two are allowed");
        first.finish(Duration::from_millis(500), PaceSignal::Throttled { retry_after: None });
        assert!(taken(seats[2].take(&clock)).is_some());
        assert!(seats[2].earliest() <= clock.now(), "one host's trouble is not the others' of a shared server");
    }

    #[test]
    fn throttling_slows_down_all_of_a_group_that_the_user_asked_for() {
        let (clock, slots) = (Clock::manual(START), Slots::default());
        let one = Seats::new(vec![address(&slots, 1, 0, 10)], host(&slots, 1, 10));
        let other = Seats::new(vec![address(&slots, 1, 0, 10)], host(&slots, 2, 10));
        let retry_after = Some(Duration::from_secs(7));
        begun(&one, &clock).finish(Duration::ZERO, PaceSignal::Throttled { retry_after });
        assert!(other.earliest() >= START.plus(Duration::from_secs(7)));
    }

    #[test]
    fn a_host_that_must_wait_long_is_forgotten_once_its_state_is_on_disk() {
        let (clock, slots) = (Clock::manual(START), Slots::default());
        let key = HostKey([1; 8]);
        let seats = Seats::new(Vec::new(), host(&slots, 1, 1_000_000));
        let before = slots.pace_of(&key).unwrap().encode();
        begun(&seats, &clock).finish(Duration::ZERO, PaceSignal::Ok);
        let after = slots.pace_of(&key).unwrap().encode();
        slots.stored(&key, &after);
        slots.sweep(START);
        assert_eq!(slots.len(), 1, "held");
        drop(seats);
        slots.stored(&key, &before);
        slots.sweep(START);
        assert_eq!(slots.len(), 1, "what is on disk is an older state");
        slots.stored(&key, &after);
        assert!(slots.is_empty());
    }

    #[test]
    fn only_hosts_that_nobody_holds_and_that_may_be_asked_again_are_forgotten() {
        let (clock, slots) = (Clock::manual(START), Slots::default());
        let seats = Seats::new(vec![address(&slots, 1, 0, 100)], host(&slots, 1, 100));
        begun(&seats, &clock).finish(Duration::ZERO, PaceSignal::Ok);
        slots.sweep(UnixMillis(START.0 + 1_000));
        assert_eq!(slots.len(), 1, "held");
        drop(seats);
        slots.sweep(START);
        assert_eq!(slots.len(), 1, "not to be asked yet");
        slots.sweep(UnixMillis(START.0 + 1_000));
        assert!(slots.is_empty());
    }
}
