//! The only reader of real time. Everything else is handed a moment or a [`Clock`].

use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, LazyLock, Mutex};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use crate::base::sync::lock;
use crate::base::time::{SinceBoot, UnixMillis, millis};
use crate::base::units::roughly;

/// Two readings of one clock: the *crawl's time*, by which everything waits, and the *date*, by which the world dates.
///
/// The crawl's time never runs backwards, not even over a restart ([`take_up`](Self::take_up)), and goes forward by monotonic
/// time alone: nobody who sets the system's clock makes a wait shorter or longer. The date follows the system's clock
/// ([`follow`](Self::follow)). Where that was never set they are the same; else they stay apart by what it was set by. Clones
/// share their time.
#[derive(Clone, Debug)]
pub struct Clock(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    source: Source,
    /// What the crawl's time is ahead of the time that this clock began with and what has passed since, in milliseconds.
    crawl: AtomicI64,
    /// The same of the date.
    date: AtomicI64,
    /// The same of the system's clock, in tests.
    set: AtomicI64,
    jumps: Mutex<Vec<Jump>>,
    /// The machine's own count when this clock began, in tests.
    booted: Mutex<Option<SinceBoot>>,
}

#[derive(Debug)]
enum Source {
    Real { wall: UnixMillis, started: Instant },
    Manual { start: UnixMillis, at: AtomicU64 },
}

/// The system's clock said something else than was to be expected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Jump {
    /// By so many milliseconds; less than zero when it went back.
    pub by: i64,
    /// It was noticed at the start, against the last commit of the folder.
    pub at_start: bool,
    /// The date when it was noticed.
    pub at: UnixMillis,
    /// How long the clock had run then.
    pub uptime: Duration,
}

impl std::fmt::Display for Jump {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let by = roughly(Duration::from_secs(self.by.unsigned_abs().saturating_add(500) / 1_000));
        match (self.at_start, self.by < 0) {
            (true, true) => write!(f, "the system's clock went back by {by} since the last commit of this folder"),
            (true, false) => write!(f, "the system's clock went forward by {by} since the last commit of this folder"),
            (false, true) => write!(f, "the system's clock went back by {by}"),
            (false, false) => write!(f, "the system's clock went forward by {by}, or the machine slept"),
        }
    }
}

/// A difference of this much is a jump: what time servers do gently is far below.
const JUMP: i64 = 1_000;
/// And at a start, for a run leaves smaller ones as they are.
const JUMP_AT_START: i64 = 2 * JUMP;
/// Jumps that are remembered.
const KEPT: usize = 16;

impl Clock {
    /// A clock on real time, anchored at this moment.
    pub fn real() -> Self {
        Self::of(Source::Real { wall: system_time(), started: Instant::now() })
    }

    /// A clock for tests that stands still at `start` until [`advance`](Self::advance) moves it.
    pub fn manual(start: UnixMillis) -> Self {
        Self::of(Source::Manual { start, at: AtomicU64::new(start.0) })
    }

    fn of(source: Source) -> Self {
        let (crawl, date, set) = Default::default();
        Self(Arc::new(Inner { source, crawl, date, set, jumps: Mutex::default(), booted: Mutex::default() }))
    }

    /// This moment in the crawl's time: what every wait is reckoned by.
    pub fn now(&self) -> UnixMillis {
        shifted(self.base(), self.0.crawl.load(Ordering::SeqCst))
    }

    /// This moment as the world dates it: for what others read, or have written.
    pub fn date(&self) -> UnixMillis {
        shifted(self.base(), self.0.date.load(Ordering::SeqCst))
    }

    /// The date of a moment of the crawl's time, as the two stand now.
    pub fn date_of(&self, at: UnixMillis) -> UnixMillis {
        shifted(at, self.ahead())
    }

    /// How far the date is ahead of the crawl's time, in milliseconds; less than zero when it is behind.
    pub fn ahead(&self) -> i64 {
        let (date, crawl) = (self.0.date.load(Ordering::SeqCst), self.0.crawl.load(Ordering::SeqCst));
        date.saturating_sub(crawl)
    }

    /// Time since this clock began: what lengths of time are measured by.
    pub fn uptime(&self) -> Duration {
        match &self.0.source {
            Source::Real { started, .. } => started.elapsed(),
            Source::Manual { start, at } => Duration::from_millis(at.load(Ordering::SeqCst).saturating_sub(start.0)),
        }
    }

    /// What the machine has counted since it booted, which nobody can set; none where the system does not say.
    pub fn since_boot(&self) -> Option<SinceBoot> {
        match &self.0.source {
            Source::Real { .. } => boot_now(),
            Source::Manual { .. } => {
                let began = *lock(&self.0.booted);
                began.map(|began| SinceBoot { ms: began.ms.saturating_add(whole_millis(self.uptime())), ..began })
            }
        }
    }

    /// Goes on from the readings at the last commit of a folder. How long ago that was the machine knows itself as long as it has
    /// not booted again; else the crawl's time keeps its distance to the date, and does not fall behind what it was. Gives the jump
    /// of the system's clock since that commit, as far as it shows. To be called before anything is reckoned by this clock.
    pub fn take_up(&self, now: UnixMillis, date: UnixMillis, boot: Option<SinceBoot>) -> Option<Jump> {
        let here = self.date();
        let by_date = signed(now).saturating_add(signed(here)).saturating_sub(signed(date));
        let passed = self.since_boot().zip(boot).and_then(|(here, last)| here.after(last));
        let kept = passed.map_or(by_date.max(signed(now)), |ms| signed(now).saturating_add_unsigned(ms));
        self.0.crawl.store(kept.saturating_sub(signed(self.base())), Ordering::SeqCst);
        let by = by_date.saturating_sub(kept);
        (by.abs() >= JUMP_AT_START).then(|| self.noted(Jump { by, at_start: true, at: here, uptime: self.uptime() }))
    }

    /// Compares the date with the system's clock, and takes that over when it was set. To be called now and then.
    pub fn follow(&self) -> Option<Jump> {
        let system = match &self.0.source {
            Source::Real { .. } => system_time(),
            Source::Manual { .. } => self.base(),
        };
        let system = shifted(system, self.0.set.load(Ordering::SeqCst));
        let by = signed(system).saturating_sub(signed(self.date()));
        if by.abs() < JUMP {
            return None;
        }
        self.0.date.fetch_add(by, Ordering::SeqCst);
        Some(self.noted(Jump { by, at_start: false, at: self.date(), uptime: self.uptime() }))
    }

    fn noted(&self, jump: Jump) -> Jump {
        let mut jumps = lock(&self.0.jumps);
        if jumps.len() >= KEPT {
            jumps.remove(0);
        }
        jumps.push(jump);
        jump
    }

    /// The latest jump of the system's clock, if there was one.
    pub fn last_jump(&self) -> Option<Jump> {
        lock(&self.0.jumps).last().copied()
    }

    /// Moves a manual clock forward; a real clock cannot be moved and stays as it is.
    pub fn advance(&self, by: Duration) {
        if let Source::Manual { at, .. } = &self.0.source {
            at.fetch_add(millis(by), Ordering::SeqCst);
        }
    }

    /// For tests: as if somebody had set the system's clock, by so many milliseconds from what it said.
    pub fn set_system(&self, by: i64) {
        self.0.set.fetch_add(by, Ordering::SeqCst);
    }

    /// For tests: a clock that begins on a system whose clock is so many milliseconds off.
    #[must_use]
    pub fn off_by(self, by: i64) -> Self {
        self.set_system(by);
        self.0.date.fetch_add(by, Ordering::SeqCst);
        self.0.crawl.fetch_add(by, Ordering::SeqCst);
        self
    }

    /// For tests: this clock begins on a machine that has counted so much.
    #[must_use]
    pub fn booted(self, since: SinceBoot) -> Self {
        *lock(&self.0.booted) = Some(since);
        self
    }

    /// The time it began with, and what has passed since.
    fn base(&self) -> UnixMillis {
        match &self.0.source {
            Source::Real { wall, started } => UnixMillis(wall.0.saturating_add(whole_millis(started.elapsed()))),
            Source::Manual { at, .. } => UnixMillis(at.load(Ordering::SeqCst)),
        }
    }
}

/// What the machine counts by itself since it booted, sleep included: Linux says it, and by what name it knows that boot.
#[cfg(target_os = "linux")]
fn boot_now() -> Option<SinceBoot> {
    static BOOT: LazyLock<Option<u64>> = LazyLock::new(|| {
        let name = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
        u64::from_str_radix(&name.trim().replace('-', "").chars().take(16).collect::<String>(), 16).ok()
    });
    let since = nix::time::clock_gettime(nix::time::ClockId::CLOCK_BOOTTIME).ok()?;
    Some(SinceBoot { boot: (*BOOT)?, ms: whole_millis(since.into()) })
}

/// Elsewhere nothing is known.
#[cfg(not(target_os = "linux"))]
fn boot_now() -> Option<SinceBoot> {
    None
}

/// Time since the machine booted, sleep included, where the system counts that (Linux); else since this process began. Nobody can set it.
pub fn since_boot() -> Duration {
    static BEGAN: LazyLock<Instant> = LazyLock::new(Instant::now);
    boot_now().map_or_else(|| BEGAN.elapsed(), |boot| Duration::from_millis(boot.ms))
}

fn system_time() -> UnixMillis {
    let wall = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    UnixMillis(whole_millis(wall))
}

fn signed(at: UnixMillis) -> i64 {
    i64::try_from(at.0).unwrap_or(i64::MAX)
}

fn shifted(at: UnixMillis, by: i64) -> UnixMillis {
    UnixMillis(at.0.saturating_add_signed(by))
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
    pub fn start() -> Self {
        Self(Instant::now())
    }

    /// Time since it began.
    pub fn elapsed(&self) -> Duration {
        self.0.elapsed()
    }
}

/// Measures how long this thread has the processor, which waiting for it does not lengthen.
#[derive(Clone, Copy, Debug)]
pub struct WorkWatch(Duration);

impl WorkWatch {
    /// Begins now.
    pub fn start() -> Self {
        Self(thread_time())
    }

    /// Time of the processor since it began, on the same thread.
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

    const DAY: i64 = 86_400_000;
    const START: UnixMillis = UnixMillis(1_780_000_000_000);

    fn at(days: i64) -> UnixMillis {
        shifted(START, days * DAY)
    }

    #[test]
    fn whoever_sets_the_systems_clock_moves_the_date_and_no_wait() {
        for by in [3_600_000, -3_600_000, 30 * DAY, -30 * DAY, 10 * 365 * DAY, -10 * 365 * DAY] {
            let clock = Clock::manual(START);
            clock.set_system(by);
            clock.advance(Duration::from_secs(5));
            assert_eq!(clock.now(), START.plus(Duration::from_secs(5)));
            let jump = clock.follow().unwrap();
            assert_eq!((jump.by, jump.at_start), (by, false));
            assert_eq!(clock.date(), shifted(clock.now(), by), "the date follows");
            assert_eq!(clock.now(), START.plus(Duration::from_secs(5)), "the crawl's time does not");
            assert_eq!(clock.date_of(clock.now()), clock.date());
            assert_eq!((clock.follow(), clock.last_jump()), (None, Some(jump)), "it is told once");
        }
    }

    #[test]
    fn what_a_time_server_does_gently_is_no_jump() {
        let clock = Clock::manual(START);
        clock.set_system(999);
        assert_eq!(clock.follow(), None);
        clock.set_system(1);
        assert_eq!(clock.follow().map(|jump| jump.by), Some(1_000));
    }

    #[test]
    fn the_crawls_time_goes_on_over_starts_wherever_the_systems_clock_stands() {
        // (the crawl's time and the date at the last commit, the date at this start; the crawl's time then, the jump back)
        let table = [
            ((at(0), at(0)), at(1), at(1), None, "a day later"),
            ((at(30), at(30)), at(0), at(30), Some(30), "the former run was ahead"),
            ((at(0), at(0)), at(30), at(30), None, "a clock that went forward looks like a long rest"),
            ((at(30), at(0)), at(1), at(31), None, "it was set back while the former run ran"),
            ((at(-30), at(0)), at(1), at(-29), None, "it was set forward while the former run ran"),
            ((at(30), at(0)), at(-5), at(30), Some(5), "and stands before the last commit now"),
            ((at(-30), at(0)), at(-9_000), at(-30), Some(9_000), "a clock that begins at 1970 or so"),
        ];
        for ((now, date), here, then, back, what) in table {
            let clock = Clock::manual(here);
            let jump = clock.take_up(now, date, None);
            assert_eq!(clock.now(), then, "{what}");
            assert_eq!(clock.date(), here, "{what}");
            assert_eq!(jump.map(|jump| jump.by), back.map(|days: i64| -days * DAY), "{what}");
        }
    }

    #[test]
    fn on_the_same_boot_a_start_knows_how_long_ago_the_last_commit_was_whatever_the_date() {
        let boot = |boot, ms| Some(SinceBoot { boot, ms });
        // (days since the last commit by the date; the machine's count then and now; days that the crawl's time goes on, the jump)
        let table = [
            (1, boot(7, 5), boot(7, 5 + DAY as u64), 1, None, "a day later"),
            (30, boot(7, 5), boot(7, 5), 0, Some(30), "forward"),
            (-30, boot(7, 5), boot(7, 5 + DAY as u64), 1, Some(-31), "back"),
            (30, boot(7, 5), boot(8, 6), 30, None, "another boot: a long rest"),
            (-30, boot(7, 5), boot(8, 6), 0, Some(-30), "another boot"),
            (2, boot(7, 5), boot(7, 4), 2, None, "a count that went back is of another machine"),
            (2, boot(7, 5), None, 2, None, "nothing is counted here"),
            (2, None, boot(7, 5), 2, None, "nothing was counted there"),
        ];
        for (days, then, now, passed, by, what) in table {
            let mut clock = Clock::manual(at(days));
            if let Some(now) = now {
                clock = clock.booted(now);
            }
            let jump = clock.take_up(at(40), START, then);
            assert_eq!(clock.now(), at(40 + passed), "{what}");
            assert_eq!((clock.date(), jump.map(|jump| jump.by)), (at(days), by.map(|days: i64| days * DAY)), "{what}");
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn the_machine_counts() {
        let Some((first, second)) = boot_now().zip(boot_now()) else { return };
        assert!(second.after(first).is_some());
    }

    proptest::proptest! {
        #[test]
        fn whatever_is_done_to_the_systems_clock_the_crawls_time_counts_what_has_passed(
            steps in proptest::collection::vec((0_u64..100_000, -40 * DAY..40 * DAY, proptest::bool::ANY), 1..30),
        ) {
            let (mut clock, mut passed, mut off) = (Clock::manual(START), 0, 0);
            for (wait, by, restart) in steps {
                clock.advance(Duration::from_millis(wait));
                passed += wait;
                clock.set_system(by);
                off += by;
                clock.follow();
                proptest::prop_assert_eq!(clock.now(), UnixMillis(START.0 + passed));
                if restart {
                    let next = Clock::manual(clock.date()); // at once, with the clock as it stands
                    proptest::prop_assert_eq!(next.take_up(clock.now(), clock.date(), None), None);
                    clock = next;
                }
                proptest::prop_assert!(signed(clock.date()).abs_diff(signed(START) + off + i64::try_from(passed).unwrap()) < 1_000 * 30);
            }
        }
    }
}
