//! Fault points: places where a test makes an actor panic, fail or stop. Compiled out unless the feature `faults` is on.
//!
//! A plan belongs to one node, so that tests with many nodes in one process do not disturb each other. The environment
//! variable `LYCOSA_FAULTS="store.write=kill@3;parser.page=panic@1-2"` sets the plan of a daemon built with the feature.

use std::sync::Arc;

#[cfg(feature = "faults")]
use std::{
    collections::HashMap,
    sync::{
        Mutex,
        atomic::{AtomicU64, Ordering},
    },
};

/// What happens at a fault point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The thread panics here.
    Panic,
    /// The step reports an error.
    Error,
    /// The process ends at once, as by SIGKILL.
    Kill,
    /// The actor stops itself (`ctx.stop()`), where the point offers it.
    Stop,
}

/// The faults of one node.
#[derive(Clone, Default)]
pub struct Faults {
    #[cfg(feature = "faults")]
    plan: Arc<Plan>,
    #[cfg(not(feature = "faults"))]
    _none: Option<Arc<()>>,
}

#[cfg(feature = "faults")]
#[derive(Default)]
struct Plan {
    points: Mutex<HashMap<String, (Fault, u64, u64)>>,
    hits: Mutex<HashMap<String, Arc<AtomicU64>>>,
}

#[cfg(feature = "faults")]
impl Faults {
    /// The plan in `LYCOSA_FAULTS`.
    ///
    /// # Errors
    /// A sentence that names the part which is not understood.
    pub fn from_env() -> Result<Self, String> {
        let faults = Self::default();
        for part in std::env::var("LYCOSA_FAULTS").unwrap_or_default().split(';').filter(|p| !p.trim().is_empty()) {
            faults.set_text(part.trim())?;
        }
        Ok(faults)
    }

    fn set_text(&self, part: &str) -> Result<(), String> {
        let bad = || format!("LYCOSA_FAULTS: `{part}` is not POINT=panic|error|kill|stop@N or @N-M");
        let (point, rest) = part.split_once('=').ok_or_else(bad)?;
        let (what, times) = rest.split_once('@').ok_or_else(bad)?;
        let fault = match what {
            "panic" => Fault::Panic,
            "error" => Fault::Error,
            "kill" => Fault::Kill,
            "stop" => Fault::Stop,
            _ => return Err(bad()),
        };
        let (from, to) = times.split_once('-').unwrap_or((times, times));
        let parse = |s: &str| s.parse::<u64>().map_err(|_| bad());
        self.set(point, fault, parse(from)?, parse(to)?);
        Ok(())
    }

    /// From its `first` to its `last` passing (counted from 1), `point` does `fault`.
    pub fn set(&self, point: &str, fault: Fault, first: u64, last: u64) {
        super::actors::supervise::lock(&self.plan.points).insert(point.to_owned(), (fault, first, last));
    }

    /// How often `point` was passed.
    #[must_use]
    pub fn hits(&self, point: &str) -> u64 {
        super::actors::supervise::lock(&self.plan.hits).get(point).map_or(0, |n| n.load(Ordering::Relaxed))
    }

    /// Passes `point`: panics or kills here, or tells the caller what to do.
    #[expect(clippy::panic, reason = "that is what a fault point is for")]
    pub fn pass(&self, point: &str) -> Option<Fault> {
        let counter = super::actors::supervise::lock(&self.plan.hits).entry(point.to_owned()).or_default().clone();
        let n = counter.fetch_add(1, Ordering::Relaxed) + 1;
        let (fault, first, last) = *super::actors::supervise::lock(&self.plan.points).get(point)?;
        if n < first || n > last {
            return None;
        }
        match fault {
            Fault::Panic => panic!("fault point {point}"),
            Fault::Kill => {
                let _ = nix::sys::signal::kill(nix::unistd::Pid::this(), nix::sys::signal::Signal::SIGKILL);
                None
            }
            other => Some(other),
        }
    }
}

#[cfg(not(feature = "faults"))]
impl Faults {
    /// Nothing happens here.
    #[inline]
    pub fn pass(&self, _point: &str) -> Option<Fault> {
        None
    }
}
