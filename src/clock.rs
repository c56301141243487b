//! The only reader of real time. Everything else is handed a moment or a [`Clock`].

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use crate::domain::time::{UnixMillis, millis};

/// A clock that never runs backwards: the wall time read once at its start plus monotonic time since.
///
/// A step of the system's wall clock therefore never makes a host's earliest time pass early. Clones share their time.
#[derive(Clone, Debug)]
pub struct Clock(Arc<Source>);

#[derive(Debug)]
enum Source {
    Real { wall: UnixMillis, started: Instant },
    Manual(AtomicU64),
}

impl Clock {
    /// A clock on real time, anchored at this moment.
    #[must_use]
    pub fn real() -> Self {
        let wall = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Self(Arc::new(Source::Real { wall: UnixMillis(millis(wall)), started: Instant::now() }))
    }

    /// A clock for tests that stands still at `start` until [`advance`](Self::advance) moves it.
    #[must_use]
    pub fn manual(start: UnixMillis) -> Self {
        Self(Arc::new(Source::Manual(AtomicU64::new(start.0))))
    }

    /// This moment.
    #[must_use]
    pub fn now(&self) -> UnixMillis {
        match &*self.0 {
            Source::Real { wall, started } => UnixMillis(wall.0.saturating_add(whole_millis(started.elapsed()))),
            Source::Manual(at) => UnixMillis(at.load(Ordering::SeqCst)),
        }
    }

    /// Moves a manual clock forward; a real clock cannot be moved and stays as it is.
    pub fn advance(&self, by: Duration) {
        if let Source::Manual(at) = &*self.0 {
            at.fetch_add(millis(by), Ordering::SeqCst);
        }
    }
}

/// Elapsed time is rounded down: "now" must not lie in the future.
fn whole_millis(d: Duration) -> u64 {
    u64::try_from(d.as_millis()).unwrap_or(u64::MAX)
}

/// Measures how long something takes.
#[derive(Clone, Copy, Debug)]
pub struct Stopwatch(Instant);

impl Stopwatch {
    /// Begins now.
    #[must_use]
    pub fn start() -> Self {
        Self(Instant::now())
    }

    /// Time since it began.
    #[must_use]
    pub fn elapsed(&self) -> Duration {
        self.0.elapsed()
    }
}

/// Measures how long this thread has the processor, which waiting for it does not lengthen.
#[derive(Clone, Copy, Debug)]
pub struct WorkWatch(Duration);

impl WorkWatch {
    /// Begins now.
    #[must_use]
    pub fn start() -> Self {
        Self(thread_time())
    }

    /// Time of the processor since it began, on the same thread.
    #[must_use]
    pub fn elapsed(&self) -> Duration {
        thread_time().saturating_sub(self.0)
    }
}

/// A system without such a clock counts no work.
fn thread_time() -> Duration {
    nix::time::clock_gettime(nix::time::ClockId::CLOCK_THREAD_CPUTIME_ID).map_or(Duration::ZERO, Into::into)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_manual_clock_moves_only_when_told_and_its_clones_with_it() {
        let clock = Clock::manual(UnixMillis(1_000));
        let twin = clock.clone();
        assert_eq!(twin.now(), UnixMillis(1_000));
        clock.advance(Duration::from_secs(2));
        assert_eq!(twin.now(), UnixMillis(3_000));
    }

    #[test]
    fn a_real_clock_never_runs_backwards_and_ignores_advance() {
        let clock = Clock::real();
        let first = clock.now();
        clock.advance(Duration::from_secs(3_600));
        let second = clock.now();
        assert!(second >= first);
        assert!(second.since(first) < Duration::from_secs(3_600));
        assert!(first.0 > 1_600_000_000_000, "the wall clock of this machine is before 2020");
    }
}
