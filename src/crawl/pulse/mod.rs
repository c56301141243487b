//! Pulses: every thread of actors shows that it moves, and every parser thread while it has a page. One that stands still
//! cannot be restarted, for a blocked thread cannot be killed: a watchdog ends the process, and the next start repairs what
//! was in flight.
//!
//! A thread moves when it comes to its idle tick, and with each message that it has handled and each group that it has written
//! ([`moved`]). What it waits for a processor on a busy machine is not counted against it (`cpu`).

mod cpu;

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, Weak, mpsc};
use std::time::Duration;

use actix_rt::ArbiterHandle;

use crate::base::sync::lock;
use crate::base::time::UnixMillis;
use crate::crawl::node::Node;

pub use cpu::Cpu;
use cpu::Thread;

/// How often a thread beats.
const BEAT: Duration = Duration::from_secs(1);
/// The watchdog looks so often before it takes a thread for blocked.
const LOOKS: u32 = 36;
/// While the process as a whole gets hardly any processor time, a thread is blamed for this part of its share only: the one
/// that it waits for may not have run.
const STARVED: u32 = 10;
/// The shortest time between two looks.
const SHORTEST: Duration = Duration::from_millis(250);

/// The beats of all threads.
#[derive(Default)]
pub struct Pulses {
    all: Mutex<Vec<Arc<Beats>>>,
    made: AtomicU64,
}

thread_local! {
    /// The pulses of this thread: one, or one for each actor where all share it.
    static MINE: RefCell<Vec<Weak<Beats>>> = const { RefCell::new(Vec::new()) };
}

/// The thread that calls this has got something done.
pub fn moved() {
    MINE.with_borrow(|mine| mine.iter().filter_map(Weak::upgrade).for_each(|beats| beats.moved()));
}

#[derive(Default)]
struct Beats {
    id: u64,
    name: &'static str,
    count: AtomicU64,
    /// It has nothing to do, and need not move.
    rests: AtomicBool,
    /// When it took what it works on, in milliseconds since 1970.
    since: AtomicU64,
    /// Where the system says what processor time it gets.
    thread: OnceLock<Option<Thread>>,
}

impl Beats {
    fn moved(&self) {
        self.count.fetch_add(1, Ordering::Relaxed);
    }

    fn is_busy(&self) -> bool {
        !self.rests.load(Ordering::Acquire)
    }

    fn seen(&self) -> Seen {
        let cpu = self.thread.get().and_then(Option::as_ref).and_then(Thread::cpu);
        Seen { id: self.id, name: self.name, beats: self.count.load(Ordering::Relaxed), cpu }
    }

    /// The thread that calls this is that of the pulse.
    fn is_here(self: &Arc<Self>) {
        self.thread.get_or_init(Thread::this);
        MINE.with_borrow_mut(|mine| {
            mine.retain(|beats| beats.strong_count() > 0);
            mine.push(Arc::downgrade(self));
        });
    }
}

/// What is seen of a thread that has something to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seen {
    id: u64,
    /// What it runs.
    pub name: &'static str,
    /// How often it has moved so far.
    pub beats: u64,
    /// The processor time it has had; `None` where the system does not say.
    pub cpu: Option<Cpu>,
}

impl Pulses {
    fn add(&self, name: &'static str, rests: bool) -> Arc<Beats> {
        let id = self.made.fetch_add(1, Ordering::Relaxed);
        let beats = Arc::new(Beats { id, name, rests: AtomicBool::new(rests), ..Beats::default() });
        let mut all = lock(&self.all);
        all.retain(|beats| Arc::strong_count(beats) > 1 || beats.is_busy());
        all.push(beats.clone());
        beats
    }

    /// The thread of `arbiter`, which runs `name`, beats from now on.
    pub fn beat(&self, arbiter: &ArbiterHandle, name: &'static str) {
        let beats = self.add(name, false);
        arbiter.spawn(async move {
            beats.is_here();
            loop {
                beats.moved();
                tokio::time::sleep(BEAT).await;
            }
        });
    }

    /// A thread that beats with each piece of work it takes, and must come to the end of it.
    #[must_use]
    pub fn worker(&self, name: &'static str) -> Worker {
        let beats = self.add(name, true);
        beats.is_here();
        Worker(beats)
    }

    /// Since when the worker of that name that is longest at it has had its piece of work; none when all rest.
    pub fn at_work_since(&self, name: &str) -> Option<UnixMillis> {
        let all = lock(&self.all);
        let busy = all.iter().filter(|beats| beats.name == name && beats.is_busy());
        busy.map(|beats| UnixMillis(beats.since.load(Ordering::Relaxed))).min()
    }

    /// Who has something to do, and how often it has moved so far.
    pub fn seen(&self) -> Vec<Seen> {
        lock(&self.all).iter().filter(|beats| beats.is_busy()).map(|beats| beats.seen()).collect()
    }
}

/// The pulse of a thread that works on pieces.
pub struct Worker(Arc<Beats>);

impl Worker {
    /// It is at work until the guard is dropped.
    #[must_use]
    pub fn work(&self, now: UnixMillis) -> AtWork<'_> {
        self.0.since.store(now.0, Ordering::Relaxed);
        self.0.moved();
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

/// Who has stood still for how long, as far as it is to blame for that.
#[derive(Default)]
struct Stillness {
    /// By their numbers: as they were at the last look, and how long they have stood.
    threads: HashMap<u64, (Seen, Duration)>,
    process: Option<Cpu>,
}

impl Stillness {
    /// One look, `between` after the last one; `process`: what all threads together have had. Gives the first thread that has
    /// stood still for longer than `most`.
    ///
    /// The time between two looks counts once, however late they come: a process that was stopped as a whole, or a machine that
    /// slept, is no reason.
    fn look(&mut self, seen: &[Seen], process: Option<Cpu>, between: Duration, most: Duration) -> Option<&'static str> {
        let starved = cpu::is_starved(self.process, process, between);
        self.process = process;
        self.threads.retain(|id, _| seen.iter().any(|s| s.id == *id));
        let mut blocked = None;
        for s in seen {
            let still = match self.threads.get(&s.id) {
                Some((last, stood)) if last.beats == s.beats => {
                    *stood + cpu::blamed(last.cpu, s.cpu, between) / if starved { STARVED } else { 1 }
                }
                _ => Duration::ZERO,
            };
            self.threads.insert(s.id, (*s, still));
            blocked = blocked.or((still > most).then_some(s.name));
        }
        blocked
    }
}

/// How often to look.
fn between_looks(blocked_after: Duration) -> Duration {
    (blocked_after / LOOKS).max(SHORTEST)
}

/// The thread that looks; it ends when this is dropped.
pub(crate) struct Watchdog(#[expect(dead_code, reason = "held for its Drop")] mpsc::Sender<()>);

impl Watchdog {
    /// Looks at the pulses of `node`, and ends the process when a thread is blocked.
    ///
    /// # Errors
    /// A thread that cannot be started.
    pub fn start(node: &Arc<Node>) -> std::io::Result<Self> {
        let (held, over) = mpsc::channel::<()>();
        let node = node.clone();
        let blocked_after = node.crawl.rules.settings.supervision.blocked_after;
        let between = between_looks(blocked_after);
        let mut still = Stillness::default();
        std::thread::Builder::new().name("watchdog".into()).spawn(move || {
            while over.recv_timeout(between) == Err(mpsc::RecvTimeoutError::Timeout) {
                if let Some(name) = still.look(&node.actors.pulses.seen(), cpu::of_process(), between, blocked_after) {
                    let seconds = blocked_after.as_secs();
                    log::error!("a thread is blocked, the process ends; start it again: thread={name} for_s={seconds}");
                    std::process::exit(crate::base::exit::Exit::Supervisor.code().into());
                }
            }
        })?;
        Ok(Self(held))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOOK: Duration = Duration::from_secs(5);
    const MOST: Duration = Duration::from_secs(180);

    fn seen(beats: &[(&'static str, u64)]) -> Vec<Seen> {
        beats.iter().zip(0..).map(|((name, beats), id)| Seen { id, name, beats: *beats, cpu: None }).collect()
    }

    fn had(ran: Duration, waited: Duration, runnable: bool) -> Option<Cpu> {
        Some(Cpu { ran, waited, runnable })
    }

    #[test]
    fn only_a_thread_that_never_moves_is_taken_for_blocked() {
        let mut still = Stillness::default();
        for n in 0..u64::from(LOOKS) * 3 {
            let slow = n / u64::from(LOOKS); // moves, but seldom
            assert_eq!(still.look(&seen(&[("store", n), ("deduper", slow)]), None, LOOK, MOST), None);
        }
        let mut still = Stillness::default();
        let mut look =
            |store, frontier| still.look(&seen(&[("store", store), ("frontier", frontier)]), None, LOOK, MOST);
        let looks = (0..100).find(|n| look(*n, 7).is_some());
        assert_eq!(looks, Some(u64::from(LOOKS) + 1));
        assert_eq!(look(101, 7), Some("frontier"));
        assert_eq!(look(102, 8), None);
    }

    #[test]
    fn a_thread_that_gets_no_processor_is_not_taken_for_blocked_and_one_that_runs_in_a_circle_is() {
        let looks = |cpu: &dyn Fn(u32) -> Option<Cpu>, process: &dyn Fn(u32) -> Option<Cpu>| {
            let mut still = Stillness::default();
            (0..1_000).find(|n| {
                let seen = [Seen { id: 1, name: "store", beats: 1, cpu: cpu(*n) }];
                still.look(&seen, process(*n), LOOK, MOST).is_some()
            })
        };
        let idle = |_: u32| had(Duration::ZERO, Duration::ZERO, false);
        assert_eq!(looks(&|n| had(LOOK / 100 * n, LOOK * n, true), &idle), None, "hardly ever on a processor");
        assert_eq!(looks(&|_| had(Duration::ZERO, Duration::ZERO, true), &idle), None, "never");
        assert_eq!(looks(&|n| had(LOOK * n, Duration::ZERO, true), &idle), Some(LOOKS + 1), "in a circle");
        assert_eq!(looks(&idle, &idle), Some(LOOKS + 1), "blocked");
        // It may wait for another thread that does not run.
        let starved = |n: u32| had(LOOK / 100 * n, LOOK * 3 * n, false);
        assert_eq!(looks(&idle, &starved), Some(LOOKS * STARVED + 1));
    }

    #[test]
    fn a_thread_that_went_away_is_not_counted_against_the_one_that_took_its_place() {
        let mut still = Stillness::default();
        let mut of = |id| still.look(&[Seen { id, name: "parser", beats: 1, cpu: None }], None, LOOK, LOOK);
        assert_eq!([of(1), of(2), of(2), of(1), of(1)], [None; 5]);
        assert_eq!(of(1), Some("parser"));
    }

    #[test]
    fn the_looks_together_last_as_long_as_a_thread_may_stand_still() {
        assert_eq!(between_looks(MOST), LOOK);
        assert_eq!(between_looks(Duration::from_secs(3)), SHORTEST);
        assert_eq!(between_looks(Duration::from_secs(36_000)), Duration::from_secs(1_000));
    }

    #[test]
    fn whatever_a_thread_gets_done_is_a_move() {
        let pulses = Pulses::default();
        let worker = pulses.worker("parser");
        let _at_work = worker.work(UnixMillis(1));
        let before = pulses.seen()[0].beats;
        moved();
        assert!(pulses.seen()[0].beats > before);
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
