//! Pulses: every thread of actors shows that it moves, and every parser thread while it has a page. One that stands still
//! cannot be restarted, for a blocked thread cannot be killed: a watchdog ends the process, and the next start repairs what
//! was in flight.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

use actix_rt::ArbiterHandle;

use crate::actors::node::Node;
use crate::actors::supervise::lock;
use crate::domain::time::UnixMillis;

/// How often a thread beats.
const BEAT: Duration = Duration::from_secs(1);
/// The watchdog looks so often before it takes a thread for blocked. Looks are counted, not time, so that a process that was
/// stopped as a whole, or a machine that slept, is no reason.
const LOOKS: u32 = 36;
/// The shortest time between two looks.
const SHORTEST: Duration = Duration::from_millis(250);

/// The beats of all threads.
#[derive(Default)]
pub struct Pulses {
    all: Mutex<Vec<Pulse>>,
    made: AtomicU64,
}

struct Pulse {
    id: u64,
    name: &'static str,
    beats: Arc<Beats>,
}

#[derive(Default)]
struct Beats {
    count: AtomicU64,
    /// It has nothing to do, and need not move.
    rests: AtomicBool,
    /// When it took what it works on, in milliseconds since 1970.
    since: AtomicU64,
}

/// What is seen of a thread that has something to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seen {
    id: u64,
    /// What it runs.
    pub name: &'static str,
    /// How often it has moved so far.
    pub beats: u64,
}

impl Pulses {
    fn add(&self, name: &'static str, rests: bool) -> Arc<Beats> {
        let beats = Arc::new(Beats { rests: AtomicBool::new(rests), ..Beats::default() });
        let id = self.made.fetch_add(1, Ordering::Relaxed);
        let mut all = lock(&self.all);
        all.retain(|p| Arc::strong_count(&p.beats) > 1 || !p.beats.rests.load(Ordering::Acquire));
        all.push(Pulse { id, name, beats: beats.clone() });
        beats
    }

    /// The thread of `arbiter`, which runs `name`, beats from now on.
    pub fn beat(&self, arbiter: &ArbiterHandle, name: &'static str) {
        let beats = self.add(name, false);
        arbiter.spawn(async move {
            loop {
                beats.count.fetch_add(1, Ordering::Relaxed);
                tokio::time::sleep(BEAT).await;
            }
        });
    }

    /// A thread that beats with each piece of work it takes, and must come to the end of it.
    #[must_use]
    pub fn worker(&self, name: &'static str) -> Worker {
        Worker(self.add(name, true))
    }

    /// Since when the worker of that name that is longest at it has had its piece of work; none when all rest.
    #[must_use]
    pub fn at_work_since(&self, name: &str) -> Option<UnixMillis> {
        let all = lock(&self.all);
        let busy = all.iter().filter(|p| p.name == name && !p.beats.rests.load(Ordering::Acquire));
        busy.map(|p| UnixMillis(p.beats.since.load(Ordering::Relaxed))).min()
    }

    /// Who has something to do, and how often it has moved so far.
    #[must_use]
    pub fn seen(&self) -> Vec<Seen> {
        let all = lock(&self.all);
        let busy = all.iter().filter(|p| !p.beats.rests.load(Ordering::Acquire));
        busy.map(|p| Seen { id: p.id, name: p.name, beats: p.beats.count.load(Ordering::Relaxed) }).collect()
    }
}

/// The pulse of a thread that works on pieces.
pub struct Worker(Arc<Beats>);

impl Worker {
    /// It is at work until the guard is dropped.
    #[must_use]
    pub fn work(&self, now: UnixMillis) -> AtWork<'_> {
        self.0.since.store(now.0, Ordering::Relaxed);
        self.0.count.fetch_add(1, Ordering::Relaxed);
        self.0.rests.store(false, Ordering::Release);
        AtWork(self)
    }
}

/// A thread at work.
pub struct AtWork<'w>(&'w Worker);

impl Drop for AtWork<'_> {
    fn drop(&mut self) {
        self.0.0.rests.store(true, Ordering::Release);
    }
}

/// Who has stood still for how many looks.
#[derive(Default)]
struct Stillness(HashMap<u64, (u64, u32)>);

impl Stillness {
    /// One look; gives the first that has stood still for `most` looks.
    fn look(&mut self, seen: &[Seen], most: u32) -> Option<&'static str> {
        self.0.retain(|id, _| seen.iter().any(|s| s.id == *id));
        let mut blocked = None;
        for s in seen {
            let (last, looks) = self.0.entry(s.id).or_insert((s.beats, 0));
            *looks = if *last == s.beats { looks.saturating_add(1) } else { 1 };
            *last = s.beats;
            blocked = blocked.or((*looks > most).then_some(s.name));
        }
        blocked
    }
}

/// How often to look, and how many looks without a beat are too many.
fn looks(blocked_after: Duration) -> (Duration, u32) {
    let between = (blocked_after / LOOKS).max(SHORTEST);
    let most = blocked_after.as_millis().div_ceil(between.as_millis().max(1));
    (between, u32::try_from(most).unwrap_or(u32::MAX))
}

/// The thread that looks; it ends when this is dropped.
pub(super) struct Watchdog(#[expect(dead_code, reason = "held for its Drop")] mpsc::Sender<()>);

impl Watchdog {
    /// Looks at the pulses of `node`, and ends the process when a thread is blocked.
    ///
    /// # Errors
    /// A thread that cannot be started.
    pub fn start(node: &Arc<Node>) -> std::io::Result<Self> {
        let (held, over) = mpsc::channel::<()>();
        let node = node.clone();
        let blocked_after = node.rules.settings.supervision.blocked_after;
        let (between, most) = looks(blocked_after);
        let mut still = Stillness::default();
        std::thread::Builder::new().name("watchdog".into()).spawn(move || {
            while over.recv_timeout(between) == Err(mpsc::RecvTimeoutError::Timeout) {
                if let Some(name) = still.look(&node.pulses.seen(), most) {
                    let seconds = blocked_after.as_secs();
                    log::error!("a thread is blocked, the process ends; start it again: thread={name} for_s={seconds}");
                    std::process::exit(crate::cli::Exit::Supervisor.code().into());
                }
            }
        })?;
        Ok(Self(held))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(beats: &[(&'static str, u64)]) -> Vec<Seen> {
        beats.iter().zip(0..).map(|((name, beats), id)| Seen { id, name, beats: *beats }).collect()
    }

    #[test]
    fn only_a_thread_that_never_moves_is_taken_for_blocked() {
        let mut still = Stillness::default();
        for n in 0..u64::from(LOOKS) * 3 {
            let slow = n / u64::from(LOOKS); // moves, but seldom
            assert_eq!(still.look(&seen(&[("store", n), ("deduper", slow)]), LOOKS), None);
        }
        let mut still = Stillness::default();
        let looks = (0..100).find(|n| still.look(&seen(&[("store", *n), ("frontier", 7)]), LOOKS).is_some());
        assert_eq!(looks, Some(u64::from(LOOKS)));
        assert_eq!(still.look(&seen(&[("store", 101), ("frontier", 7)]), LOOKS), Some("frontier"));
        assert_eq!(still.look(&seen(&[("store", 102), ("frontier", 8)]), LOOKS), None);
    }

    #[test]
    fn a_thread_that_went_away_is_not_counted_against_the_one_that_took_its_place() {
        let mut still = Stillness::default();
        let of = |id| [Seen { id, name: "parser", beats: 1 }];
        assert_eq!(still.look(&of(1), 1), None);
        assert_eq!(still.look(&of(2), 1), None);
        assert_eq!(still.look(&of(1), 1), None);
        assert_eq!(still.look(&of(1), 1), Some("parser"));
    }

    #[test]
    fn the_looks_together_last_as_long_as_a_thread_may_stand_still() {
        assert_eq!(looks(Duration::from_secs(180)), (Duration::from_secs(5), 36));
        assert_eq!(looks(Duration::from_secs(3)), (Duration::from_millis(250), 12));
        assert_eq!(looks(Duration::from_secs(36_000)), (Duration::from_secs(1_000), 36));
    }

    #[test]
    fn a_worker_is_looked_at_only_while_it_works_and_forgotten_when_it_ends() {
        let pulses = Pulses::default();
        let worker = pulses.worker("parser");
        assert_eq!(pulses.seen(), []);
        let first = worker.work(UnixMillis(7));
        let other = pulses.worker("parser");
        let later = other.work(UnixMillis(9));
        assert_eq!(pulses.at_work_since("parser"), Some(UnixMillis(7)));
        drop(later);
        drop(other);
        let seen = pulses.seen();
        drop(first);
        assert_eq!((seen[0].name, pulses.seen().len()), ("parser", 0));
        assert_eq!(pulses.at_work_since("parser"), None);
        let _second = worker.work(UnixMillis(11));
        assert!(pulses.seen()[0].beats > seen[0].beats, "another piece of work is a move");
        drop(_second);
        drop(worker);
        let _next = pulses.worker("parser");
        assert_eq!(lock(&pulses.all).len(), 1);
    }

    #[test]
    fn an_arbiter_beats_until_it_ends() {
        let pulses = Pulses::default();
        actix_rt::System::new().block_on(async {
            pulses.beat(&actix_rt::Arbiter::current(), "store");
            while pulses.seen()[0].beats == 0 {
                tokio::task::yield_now().await;
            }
        });
        assert_eq!((pulses.seen()[0].name, pulses.seen()[0].beats), ("store", 1));
    }
}
