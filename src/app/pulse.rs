//! Pulses: every thread of actors shows that it moves. One that stands still cannot be restarted, for a blocked thread
//! cannot be killed: a watchdog ends the process, and the next start repairs what was in flight.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

use actix_rt::ArbiterHandle;

use crate::actors::node::Node;
use crate::actors::supervise::lock;

/// How often a thread beats.
const BEAT: Duration = Duration::from_secs(1);
/// How often the watchdog looks.
const LOOK: Duration = Duration::from_secs(5);
/// After so many looks without a beat a thread is taken for blocked: three minutes. Looks are counted, not time, so that a
/// process that was stopped as a whole, or a machine that slept, is no reason.
const STILL: u32 = 36;

/// The beats of all threads.
#[derive(Default)]
pub struct Pulses(Mutex<Vec<(&'static str, Arc<AtomicU64>)>>);

impl Pulses {
    /// The thread of `arbiter`, which runs `name`, beats from now on.
    pub fn beat(&self, arbiter: &ArbiterHandle, name: &'static str) {
        let beats = Arc::new(AtomicU64::new(0));
        lock(&self.0).push((name, beats.clone()));
        arbiter.spawn(async move {
            loop {
                beats.fetch_add(1, Ordering::Relaxed);
                tokio::time::sleep(BEAT).await;
            }
        });
    }

    /// Who beats, and how often so far.
    #[must_use]
    pub fn counts(&self) -> Vec<(&'static str, u64)> {
        lock(&self.0).iter().map(|(name, beats)| (*name, beats.load(Ordering::Relaxed))).collect()
    }
}

/// Who has stood still for how many looks.
#[derive(Default)]
struct Stillness(Vec<(u64, u32)>);

impl Stillness {
    /// One look; gives the first that has stood still for [`STILL`] looks.
    fn look(&mut self, counts: &[(&'static str, u64)]) -> Option<&'static str> {
        self.0.resize(counts.len(), (u64::MAX, 0));
        for ((last, looks), (_, now)) in self.0.iter_mut().zip(counts) {
            *looks = if last == now { looks.saturating_add(1) } else { 0 };
            *last = *now;
        }
        self.0.iter().zip(counts).find(|((_, looks), _)| *looks >= STILL).map(|(_, (name, _))| *name)
    }
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
        let mut still = Stillness::default();
        std::thread::Builder::new().name("watchdog".into()).spawn(move || {
            while over.recv_timeout(LOOK) == Err(mpsc::RecvTimeoutError::Timeout) {
                if let Some(name) = still.look(&node.pulses.counts()) {
                    let seconds = LOOK.as_secs() * u64::from(STILL);
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

    #[test]
    fn only_a_thread_that_never_moves_is_taken_for_blocked() {
        let mut still = Stillness::default();
        for n in 0..u64::from(STILL) * 3 {
            let slow = n / u64::from(STILL); // moves, but seldom
            assert_eq!(still.look(&[("store", n), ("deduper", slow)]), None);
        }
        let mut still = Stillness::default();
        let looks = (0..100).find(|n| still.look(&[("store", *n), ("frontier", 7)]).is_some());
        assert_eq!(looks, Some(u64::from(STILL)));
        assert_eq!(still.look(&[("store", 101), ("frontier", 7)]), Some("frontier"));
        assert_eq!(still.look(&[("store", 102), ("frontier", 8)]), None);
    }

    #[test]
    fn an_arbiter_beats_until_it_ends() {
        let pulses = Pulses::default();
        actix_rt::System::new().block_on(async {
            pulses.beat(&actix_rt::Arbiter::current(), "store");
            while pulses.counts()[0].1 == 0 {
                tokio::task::yield_now().await;
            }
        });
        assert_eq!(pulses.counts(), [("store", 1)]);
    }
}
