//! Slots: one request in flight at a host, never before its earliest time (I1).
//!
//! The registry lives outside Host and Frontier. A slot travels with the fetch and comes back on Drop: a respawned Host
//! must obtain it first, so no second request can start. A slot that is dropped without a report waits one full gap.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::clock::Clock;
use crate::domain::fingerprint::HostKey;
use crate::domain::politeness::{Pace, PaceRules, PaceSignal};
use crate::domain::time::UnixMillis;

use super::supervise::lock;

/// The clock counts whole milliseconds: an end may lie so much later than it says, and the gap is counted from there.
const TICK: Duration = Duration::from_millis(1);

/// One host's place in the registry.
pub struct Seat {
    free: Arc<Semaphore>,
    pace: Mutex<Pace>,
    rules: PaceRules,
}

impl Seat {
    /// The politeness state as it stands.
    #[must_use]
    pub fn pace(&self) -> Pace {
        lock(&self.pace).clone()
    }

    /// The earliest moment of the next request.
    #[must_use]
    pub fn earliest(&self) -> UnixMillis {
        lock(&self.pace).earliest()
    }

    /// The gap that the next request will have to keep.
    #[must_use]
    pub fn gap(&self) -> Duration {
        lock(&self.pace).gap(&self.rules)
    }

    /// Sets what robots.txt asks for.
    pub fn set_crawl_delay(&self, delay: Option<Duration>) {
        lock(&self.pace).set_crawl_delay(delay, &self.rules);
    }

    /// Waits until no request is in flight and takes the slot. `None` only when the registry was closed.
    pub async fn take(self: &Arc<Self>, clock: &Clock) -> Option<Slot> {
        let permit = self.free.clone().acquire_owned().await.ok()?;
        Some(Slot { seat: self.clone(), clock: clock.clone(), _permit: permit, begun: false })
    }
}

/// The right to send one request to a host.
pub struct Slot {
    seat: Arc<Seat>,
    clock: Clock,
    _permit: OwnedSemaphorePermit,
    begun: bool,
}

impl Slot {
    /// The host's place.
    #[must_use]
    pub fn seat(&self) -> &Arc<Seat> {
        &self.seat
    }

    /// Notes that a request goes out now. I1: never before the earliest time.
    pub fn begin(&mut self) {
        debug_assert!(
            self.clock.now() >= self.seat.earliest(),
            "I1: a request at {:?} before the host's earliest time {:?}",
            self.clock.now(),
            self.seat.earliest()
        );
        self.begun = true;
    }

    /// The response is over: `took` from its request to the end of its body. Sets the earliest time of the next one.
    pub fn finish(mut self, took: Duration, signal: PaceSignal) {
        let now = self.clock.now().plus(TICK);
        lock(&self.seat.pace).finished(now, took, signal, &self.seat.rules);
        self.begun = false;
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        if self.begun {
            let now = self.clock.now().plus(TICK);
            lock(&self.seat.pace).wait_one_full_gap(now, &self.seat.rules);
        }
    }
}

/// Every host that was contacted lately.
#[derive(Default)]
pub struct Slots(Mutex<HashMap<HostKey, Arc<Seat>>>);

impl Slots {
    /// The host's place; made from `stored` (its state on disk) when it has none.
    pub fn seat(
        &self,
        host: HostKey,
        rules: &PaceRules,
        connections: usize,
        stored: impl FnOnce() -> Pace,
    ) -> Arc<Seat> {
        if let Some(seat) = lock(&self.0).get(&host) {
            return seat.clone();
        }
        let pace = stored(); // a disk read: not under the lock
        lock(&self.0)
            .entry(host)
            .or_insert_with(|| {
                Arc::new(Seat {
                    free: Arc::new(Semaphore::new(connections.max(1))),
                    pace: Mutex::new(pace),
                    rules: rules.clone(),
                })
            })
            .clone()
    }

    /// The state to be stored with the host's next commit, if the host has a place.
    #[must_use]
    pub fn pace_of(&self, host: &HostKey) -> Option<Pace> {
        lock(&self.0).get(host).map(|s| s.pace())
    }

    /// Forgets hosts that nobody holds and that may be contacted again anyway: their state is on disk.
    pub fn sweep(&self, now: UnixMillis) {
        lock(&self.0).retain(|_, seat| Arc::strong_count(seat) > 1 || seat.earliest() > now);
    }

    /// Hosts in the registry.
    #[must_use]
    pub fn len(&self) -> usize {
        lock(&self.0).len()
    }

    /// True when it is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}
