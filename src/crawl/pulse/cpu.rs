//! What the system has given threads of processor time, as Linux tells it under `/proc` (schedstat: on a processor, and
//! waiting for one, in nanoseconds). Elsewhere nothing is known, and every thread is taken to have had its share.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A thread of this process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Thread(PathBuf);

/// What a thread has had so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cpu {
    /// On a processor.
    pub ran: Duration,
    /// Ready to run, and waiting for a processor.
    pub waited: Duration,
    /// It runs, or waits for a processor, at this moment.
    pub runnable: bool,
}

impl Thread {
    /// The one that calls this.
    pub fn this() -> Option<Self> {
        fs::read_link("/proc/thread-self").ok().map(|task| Self(Path::new("/proc").join(task)))
    }

    /// What it has had so far; `None` where the system does not say.
    pub fn cpu(&self) -> Option<Cpu> {
        let times = times(&fs::read_to_string(self.0.join("schedstat")).ok()?)?;
        let stat = fs::read_to_string(self.0.join("stat")).ok()?;
        Some(Cpu { runnable: is_runnable(&stat)?, ..times })
    }
}

/// All threads of this process together.
pub(super) fn of_process() -> Option<Cpu> {
    let tasks = fs::read_dir("/proc/self/task").ok()?.flatten();
    // One may have just ended.
    let had = tasks.filter_map(|task| times(&fs::read_to_string(task.path().join("schedstat")).ok()?));
    Some(had.fold(Cpu::default(), |sum, cpu| Cpu { ran: sum.ran + cpu.ran, waited: sum.waited + cpu.waited, ..sum }))
}

fn times(schedstat: &str) -> Option<Cpu> {
    let mut numbers = schedstat.split_ascii_whitespace().map(|n| n.parse().map(Duration::from_nanos));
    let (ran, waited) = (numbers.next()?.ok()?, numbers.next()?.ok()?);
    Some(Cpu { ran, waited, runnable: false })
}

/// The state stands after the name, which may hold anything.
fn is_runnable(stat: &str) -> Option<bool> {
    let (_, rest) = stat.rsplit_once(')')?;
    rest.trim_start().chars().next().map(|state| state == 'R')
}

/// How much of the time since the look `before` a thread that did not move may be blamed for: what it spent on a processor
/// (a loop without end), or stood blocked. What it waited for a processor is the machine's fault.
pub(super) fn blamed(before: Option<Cpu>, now: Option<Cpu>, between: Duration) -> Duration {
    let (Some(before), Some(now)) = (before, now) else { return between };
    let ran = now.ran.saturating_sub(before.ran);
    let waited = now.waited.saturating_sub(before.waited);
    // A wait that has not ended yet is not in `waited`.
    let blamed = if now.runnable { ran } else { between.saturating_sub(waited) };
    blamed.min(between)
}

/// True when the process as a whole got little of the processor time that it wanted: less than a fifth, over half of the time.
pub(super) fn is_starved(before: Option<Cpu>, now: Option<Cpu>, between: Duration) -> bool {
    let (Some(before), Some(now)) = (before, now) else { return false };
    let ran = now.ran.saturating_sub(before.ran);
    let waited = now.waited.saturating_sub(before.waited);
    waited >= between / 2 && waited > ran.saturating_mul(4)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOOK: Duration = Duration::from_secs(5);

    fn cpu(ran_ms: u64, waited_ms: u64, runnable: bool) -> Option<Cpu> {
        Some(Cpu { ran: Duration::from_millis(ran_ms), waited: Duration::from_millis(waited_ms), runnable })
    }

    #[test]
    fn a_thread_is_blamed_for_what_it_stood_blocked_or_ran_but_not_for_what_it_waited_for_a_processor() {
        let before = cpu(1_000, 1_000, false);
        let table = [
            (cpu(1_000, 1_000, false), 5_000, "blocked all the time"),
            (cpu(6_000, 1_000, true), 5_000, "runs in a circle"),
            (cpu(3_500, 3_500, true), 2_500, "runs in a circle on half a processor"),
            (cpu(1_010, 1_020, true), 10, "wants to run and hardly may"),
            (cpu(1_000, 1_000, true), 0, "has waited since before the last look"),
            (cpu(1_100, 5_900, false), 100, "got little, and is blocked now"),
            (None, 5_000, "nothing is known"),
        ];
        for (now, blamed_ms, what) in table {
            assert_eq!(blamed(before, now, LOOK).as_millis(), blamed_ms, "{what}");
        }
    }

    #[test]
    fn a_process_is_starved_when_it_got_less_than_a_fifth_of_what_it_wanted() {
        let before = cpu(0, 0, false);
        let table = [
            (cpu(0, 0, false), false, "idle"),
            (cpu(9_000, 1_000, false), false, "busy"),
            (cpu(100, 9_000, false), true, "hardly ever on a processor"),
            (cpu(10, 200, false), false, "it wanted little"),
            (None, false, "nothing is known"),
        ];
        for (now, starved, what) in table {
            assert_eq!(is_starved(before, now, LOOK), starved, "{what}");
        }
    }

    #[test]
    fn the_form_of_the_system_is_read() {
        let read = Cpu { ran: Duration::from_micros(1_500), ..cpu(1, 2, false).unwrap() };
        assert_eq!(times("1500000 2000000 7\n"), Some(read));
        assert_eq!(times("x"), None);
        assert_eq!(is_runnable("12 (a) b) R 1 2"), Some(true));
        assert_eq!(is_runnable("12 (store) S 1 2"), Some(false));
        assert_eq!(is_runnable(""), None);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_thread_finds_itself() {
        let Some(this) = Thread::this() else { return };
        if let Some(cpu) = this.cpu() {
            assert!(cpu.runnable, "it runs while it looks");
        }
    }
}
