//! Fault points: places where a test makes an actor panic, fail, wait or stop, or ends the process. Compiled out unless the
//! feature `faults` is on. All of them: [`POINTS`].
//!
//! A plan belongs to one node, so that tests with many nodes in one process do not disturb each other. The environment
//! variable `LYCOSA_FAULTS="store.write=kill@3;parser.page=panic@1-2;net.sent=delay:500ms@7;net.body=hang@1"` sets the plan
//! of a daemon built with the feature. A point that a page passes can be bound to one URL: `parser.page http://h/p=kill@1`.

mod points;

use std::time::Duration;
#[cfg(feature = "faults")]
use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
};

pub use points::{POINTS, Point, find};

#[cfg(feature = "faults")]
use crate::base::sync::lock;

/// What happens at a fault point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The thread panics here.
    Panic,
    /// The step reports an error, where the point offers it.
    Error,
    /// The process ends at once, as by SIGKILL.
    Kill,
    /// The actor stops itself (`ctx.stop()`), where the point offers it.
    Stop,
    /// The thread sleeps here.
    Delay(Duration),
    /// The wait never ends, where the point is one of an async place.
    Hang,
}

/// A step that was told to fail.
#[derive(Debug, thiserror::Error)]
#[error("fault injected at {0}")]
pub struct Injected(pub &'static str);

impl From<Injected> for std::io::Error {
    fn from(fault: Injected) -> Self {
        Self::other(fault)
    }
}

/// The faults of one node.
#[derive(Clone, Default)]
pub struct Faults {
    #[cfg(feature = "faults")]
    plan: Arc<Plan>,
}

impl std::fmt::Debug for Faults {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Faults")
    }
}

/// What a point does, from its first to its last passing.
#[cfg(feature = "faults")]
type Planned = (Fault, u64, u64);

#[cfg(feature = "faults")]
#[derive(Default)]
struct Plan {
    points: Mutex<HashMap<String, Planned>>,
    hits: Mutex<HashMap<String, Arc<AtomicU64>>>,
}

#[cfg(feature = "faults")]
impl Faults {
    /// The plan in `LYCOSA_FAULTS`.
    ///
    /// # Errors
    /// A sentence that names the part which is not understood.
    pub fn from_env() -> Result<Self, String> {
        Self::from_text(&std::env::var("LYCOSA_FAULTS").unwrap_or_default())
    }

    /// A plan as `LYCOSA_FAULTS` writes it.
    ///
    /// # Errors
    /// A sentence that names the part which is not understood.
    pub fn from_text(text: &str) -> Result<Self, String> {
        let faults = Self::default();
        for part in text.split(';').map(str::trim).filter(|part| !part.is_empty()) {
            let (point, planned) = parse(part)?;
            lock(&faults.plan.points).insert(point, planned);
        }
        Ok(faults)
    }

    /// From its `first` to its `last` passing (counted from 1), `point` does `fault`.
    ///
    /// # Panics
    /// When there is no such point, or it does not offer that fault.
    pub fn set(&self, point: &str, fault: Fault, first: u64, last: u64) {
        assert!(offers(point, fault), "no fault point {point:?} that offers {fault:?}");
        lock(&self.plan.points).insert(point.to_owned(), (fault, first, last));
    }

    /// How often `point` was passed.
    pub fn hits(&self, point: &str) -> u64 {
        lock(&self.plan.hits).get(point).map_or(0, |n| n.load(Ordering::Relaxed))
    }
}

impl Faults {
    /// Passes `point`: panics, sleeps or kills here, or tells the caller what to do.
    #[inline]
    pub fn pass(&self, point: &str) -> Option<Fault> {
        #[cfg(feature = "faults")]
        return self.plan.pass(point);
        #[cfg(not(feature = "faults"))]
        {
            let _ = point;
            None
        }
    }

    /// Passes `point`, and `point` bound to this URL.
    #[inline]
    pub fn pass_url(&self, point: &str, url: &impl std::fmt::Display) -> Option<Fault> {
        if !cfg!(feature = "faults") {
            return None;
        }
        let plain = self.pass(point);
        plain.or_else(|| self.pass(&format!("{point} {url}")))
    }

    /// Passes `point` in an async place: a hang never comes back.
    #[inline]
    pub async fn wait(&self, point: &str) -> Option<Fault> {
        match self.pass(point) {
            Some(Fault::Hang) => std::future::pending().await,
            other => other,
        }
    }

    /// [`pass_url`](Self::pass_url) in an async place.
    #[inline]
    pub async fn wait_url(&self, point: &str, url: &impl std::fmt::Display) -> Option<Fault> {
        match self.pass_url(point, url) {
            Some(Fault::Hang) => std::future::pending().await,
            other => other,
        }
    }

    /// Passes `point` of a step that can fail.
    #[inline]
    pub fn check(&self, point: &'static str) -> Result<(), Injected> {
        match self.pass(point) {
            Some(Fault::Error) => Err(Injected(point)),
            _ => Ok(()),
        }
    }
}

#[cfg(feature = "faults")]
impl Plan {
    #[expect(clippy::panic, reason = "that is what a fault point is for")]
    fn pass(&self, point: &str) -> Option<Fault> {
        let counter = lock(&self.hits).entry(point.to_owned()).or_default().clone();
        let n = counter.fetch_add(1, Ordering::Relaxed) + 1;
        let (fault, first, last) = *lock(&self.points).get(point)?;
        if n < first || n > last {
            return None;
        }
        match fault {
            Fault::Panic => panic!("fault point {point}"),
            Fault::Kill => {
                let _ = nix::sys::signal::kill(nix::unistd::Pid::this(), nix::sys::signal::Signal::SIGKILL);
                None
            }
            Fault::Delay(time) => {
                std::thread::sleep(time);
                None
            }
            other => Some(other),
        }
    }
}

/// One part of a plan's text.
#[cfg(feature = "faults")]
fn parse(part: &str) -> Result<(String, Planned), String> {
    let form = "POINT=panic|error|kill|stop|hang|delay:TIME@N or @N-M";
    let bad = || format!("LYCOSA_FAULTS: `{part}` is not {form}");
    let (point, rest) = part.rsplit_once('=').ok_or_else(bad)?;
    let (what, times) = rest.split_once('@').ok_or_else(bad)?;
    let fault = match what.split_once(':') {
        Some(("delay", time)) => Fault::Delay(crate::base::units::parse_duration(time).map_err(|_| bad())?),
        Some(_) => return Err(bad()),
        None => match what {
            "panic" => Fault::Panic,
            "error" => Fault::Error,
            "kill" => Fault::Kill,
            "stop" => Fault::Stop,
            "hang" => Fault::Hang,
            _ => return Err(bad()),
        },
    };
    if !offers(point, fault) {
        return Err(format!("LYCOSA_FAULTS: `{part}`: there is no such point, or it does not offer `{what}`"));
    }
    let (from, to) = times.split_once('-').unwrap_or((times, times));
    let number = |s: &str| s.parse::<u64>().map_err(|_| bad());
    Ok((point.to_owned(), (fault, number(from)?, number(to)?)))
}

/// True when `point` (perhaps bound to a URL) is there and can do that.
#[cfg(feature = "faults")]
fn offers(point: &str, fault: Fault) -> bool {
    let (name, url) = point.split_once(' ').unwrap_or((point, ""));
    find(name).is_some_and(|point| point.offers(fault) && (url.is_empty() || point.by_url))
}

#[cfg(all(test, feature = "faults"))]
mod tests {
    use super::*;

    #[test]
    fn a_plan_is_read_from_its_text() {
        Faults::from_text("parser.page http://h0.test/?a=b=kill@1-2 ;net.sent=hang@2;store.commit=stop@1").unwrap();
        let faults = Faults::from_text("store.write=error@3; net.sent=delay:1ms@1").unwrap();
        assert!(faults.check("store.write").is_ok() && faults.check("store.write").is_ok());
        assert!(faults.check("store.write").is_err() && faults.check("store.write").is_ok());
        assert_eq!(faults.pass("net.sent"), None);
        let unknown = ["store.wrote=panic@1", "store.write=panic", "net.sent=delay:x@1", "x"];
        let not_offered = ["store.write=hang@1", "parser.page=error@1", "store.write http://h0.test/=panic@1"];
        for bad in unknown.into_iter().chain(not_offered) {
            assert!(Faults::from_text(bad).unwrap_err().contains(bad), "{bad}");
        }
    }

    #[test]
    fn a_point_bound_to_a_url_is_passed_with_it_and_by_itself() {
        let url = "http://h0.test/?a=b";
        let faults = Faults::from_text("parser.page http://h0.test/?a=b=panic@2").unwrap();
        assert_eq!(faults.pass_url("parser.page", &url), None);
        assert!(std::panic::catch_unwind(|| faults.pass_url("parser.page", &url)).is_err());
        assert_eq!(faults.hits("parser.page"), 2);
    }
}
