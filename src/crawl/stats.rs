//! One actor as it is seen from outside: counters and marks that outlive its deaths. Writing costs a few atomic additions;
//! nobody waits for a reader.

use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::task::Waker;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio::sync::Notify;
use utoipa::ToSchema;

use super::supervise::Kind;
use crate::base::sync::lock;
use crate::base::time::UnixMillis;

/// Name of an actor that is the only one of its kind.
pub const ONLY: &str = "main";

/// Upper bounds of the times of handling, microseconds: those of `lycosa_actor_handle_seconds`.
const BOUNDS: [u64; 10] = [10, 40, 160, 640, 2_560, 10_240, 40_960, 163_840, 655_360, 2_621_440];

/// How an actor is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = ActorState)]
#[serde(rename_all = "snake_case")]
#[repr(u8)]
pub enum Life {
    /// At work, or ready for it.
    Running = 0,
    /// Not made yet, or resting after a death.
    Restarting = 1,
    /// It has retired, or its budget of deaths is spent.
    Stopped = 2,
}

/// See the module's text.
#[derive(Debug)]
pub struct ActorStats {
    /// Its kind.
    pub kind: Kind,
    /// Which of its kind: a host's name, a fetcher's number, [`ONLY`].
    pub instance: Arc<str>,
    thread: OnceLock<String>,
    life: AtomicU8,
    lives: AtomicU64,
    faults: AtomicU64,
    last_fault: Mutex<Option<(UnixMillis, String)>>,
    queued: AtomicI64,
    handled: AtomicU64,
    times: [AtomicU64; BOUNDS.len() + 1],
    restart: AtomicBool,
    waker: Mutex<Option<Waker>>,
    news: Notify,
}

impl ActorStats {
    /// Of an actor that is not made yet.
    pub fn new(kind: Kind, instance: impl Into<Arc<str>>) -> Self {
        Self {
            kind,
            instance: instance.into(),
            thread: OnceLock::new(),
            life: AtomicU8::new(Life::Restarting as u8),
            lives: AtomicU64::new(0),
            faults: AtomicU64::new(0),
            last_fault: Mutex::new(None),
            queued: AtomicI64::new(0),
            handled: AtomicU64::new(0),
            times: Default::default(),
            restart: AtomicBool::new(false),
            waker: Mutex::new(None),
            news: Notify::new(),
        }
    }

    /// The thread it lives on; none before its first life.
    pub fn thread(&self) -> Option<&str> {
        self.thread.get().map(String::as_str)
    }

    /// How it is.
    pub fn life(&self) -> Life {
        match self.life.load(Ordering::Acquire) {
            0 => Life::Running,
            1 => Life::Restarting,
            _ => Life::Stopped,
        }
    }

    /// Lives so far, that one included.
    pub fn lives(&self) -> u64 {
        self.lives.load(Ordering::Acquire)
    }

    /// Deaths so far; a restart that was asked for is none.
    pub fn faults(&self) -> u64 {
        self.faults.load(Ordering::Acquire)
    }

    /// When and why it died last.
    pub fn last_fault(&self) -> Option<(UnixMillis, String)> {
        lock(&self.last_fault).clone()
    }

    /// Messages waiting.
    pub fn queued(&self) -> u64 {
        u64::try_from(self.queued.load(Ordering::Relaxed)).unwrap_or(0)
    }

    /// Messages handled.
    pub fn handled(&self) -> u64 {
        self.handled.load(Ordering::Relaxed)
    }

    /// The time within which this share (0 to 1) of the messages was handled, by the buckets; none before the first.
    pub fn quantile(&self, share: f64) -> Option<Duration> {
        let counts: Vec<u64> = self.times.iter().map(|n| n.load(Ordering::Relaxed)).collect();
        quantile(&counts, &BOUNDS, share).map(|micros| Duration::from_secs_f64(micros / 1e6))
    }

    /// Begins the next life as soon as the actor's thread comes to it. Nothing is lost that a death would not lose.
    pub fn ask_restart(&self) {
        self.restart.store(true, Ordering::Release);
        if let Some(waker) = &*lock(&self.waker) {
            waker.wake_by_ref();
        }
    }

    /// Waits until it runs in a later life than that of this number, or has stopped for good.
    pub async fn lives_beyond(&self, life: u64) {
        loop {
            let news = self.news.notified();
            tokio::pin!(news);
            news.as_mut().enable();
            if self.lives() > life && self.life() == Life::Running || self.life() == Life::Stopped {
                return;
            }
            news.await;
        }
    }

    pub(super) fn set_life(&self, life: Life) {
        if life == Life::Running {
            self.lives.fetch_add(1, Ordering::AcqRel);
            let name = || std::thread::current().name().unwrap_or("?").to_owned();
            self.thread.get_or_init(name);
        }
        self.life.store(life as u8, Ordering::Release);
        self.news.notify_waiters();
    }

    pub(super) fn died(&self, at: UnixMillis, why: &str) {
        self.faults.fetch_add(1, Ordering::AcqRel);
        *lock(&self.last_fault) = Some((at, why.to_owned()));
    }

    /// Whom to wake when a restart is asked for.
    pub(super) fn wakes(&self, waker: &Waker) {
        *lock(&self.waker) = Some(waker.clone());
    }

    pub(super) fn take_restart(&self) -> bool {
        self.restart.load(Ordering::Acquire) && self.restart.swap(false, Ordering::AcqRel)
    }

    pub(super) fn queue(&self, change: i64) {
        self.queued.fetch_add(change, Ordering::Relaxed);
    }

    pub(super) fn note_handled(&self, took: Duration) {
        self.handled.fetch_add(1, Ordering::Relaxed);
        let micros = took.as_micros();
        let bucket = BOUNDS.iter().position(|bound| micros <= u128::from(*bound)).unwrap_or(BOUNDS.len());
        if let Some(count) = self.times.get(bucket) {
            count.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// Interpolates inside the bucket; beyond the last bound that bound is given.
fn quantile(counts: &[u64], bounds: &[u64], share: f64) -> Option<f64> {
    let all: u64 = counts.iter().sum();
    let wanted = all as f64 * share.clamp(0.0, 1.0);
    let mut below = 0_u64;
    for (bucket, count) in counts.iter().enumerate().filter(|(_, count)| **count > 0) {
        let from = bucket.checked_sub(1).and_then(|before| bounds.get(before)).copied().unwrap_or(0) as f64;
        let Some(to) = bounds.get(bucket) else { return Some(from) };
        if (below + count) as f64 >= wanted {
            let part = (wanted - below as f64) / *count as f64;
            return Some(from + (*to as f64 - from) * part);
        }
        below += count;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_lie_inside_the_bucket_that_holds_them() {
        let bounds = [10, 40, 160];
        assert_eq!(quantile(&[0, 0, 0, 0], &bounds, 0.5), None);
        assert_eq!(quantile(&[4, 0, 0, 0], &bounds, 0.5), Some(5.0));
        assert_eq!(quantile(&[50, 49, 1, 0], &bounds, 0.5), Some(10.0));
        assert_eq!(quantile(&[50, 49, 1, 0], &bounds, 0.99), Some(40.0));
        assert_eq!(quantile(&[50, 49, 1, 0], &bounds, 1.0), Some(160.0));
        assert_eq!(quantile(&[1, 0, 0, 9], &bounds, 0.99), Some(160.0), "beyond the last bound");
    }

    #[test]
    fn a_time_is_counted_in_the_bucket_of_its_bound() {
        let stats = ActorStats::new(Kind::Store, ONLY);
        assert_eq!(stats.quantile(0.5), None);
        stats.note_handled(Duration::from_micros(10));
        assert!(stats.quantile(1.0).unwrap() <= Duration::from_micros(10));
        stats.note_handled(Duration::from_secs(60));
        assert_eq!((stats.handled(), stats.quantile(1.0)), (2, Some(Duration::from_micros(2_621_440))));
        stats.queue(2);
        stats.queue(-1);
        assert_eq!(stats.queued(), 1);
    }
}
