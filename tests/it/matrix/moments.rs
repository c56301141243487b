//! When a daemon is killed.

use std::collections::BTreeSet;
use std::fmt;
use std::fs;
use std::time::{Duration, Instant};

use lycosa::base::fault::{POINTS, Point};
use nix::sys::signal::Signal;

use super::judge::{Life, now_us};
use crate::dice::Dice;
use crate::sandbox::{Daemon, Sandbox, until};

/// A point that is not passed so often by then is given up, and the daemon killed.
const POINT_PATIENCE: Duration = Duration::from_secs(3);
/// The same where it is passed by chance, as by a duplicate or a full WARC.
const CHANCE_PATIENCE: Duration = Duration::from_secs(20);
/// The same for a WARC that is not closed.
const ROTATION_PATIENCE: Duration = Duration::from_secs(2);

/// Every point that a crawl passes by itself, in an order that takes neighbours apart: a page that meets three points which
/// blame it would be poison. The rest is passed after deaths, by broken disks and by checkpoints, and killed in their tests.
pub fn points() -> Vec<&'static str> {
    let passed = |p: &&Point| !ELSEWHERE.contains(&p.room()) && !AFTER_FAULTS.contains(&p.name);
    let (once, often): (Vec<_>, Vec<_>) = POINTS.iter().filter(passed).map(|p| p.name).partition(|p| ONCE.contains(p));
    let mixed = (0..STRIDE).flat_map(|first| often.iter().copied().skip(first).step_by(STRIDE));
    once.iter().copied().chain(mixed).collect()
}

const STRIDE: usize = 12;
const ELSEWHERE: &[&str] = &[
    "checkpoint",
    "credit",
    "erase",
    "export",
    "import",
    "index",
    "member",
    "moves",
    "part",
    "restore",
    "sink",
    "upload",
];
const AFTER_FAULTS: &[&str] = &[
    "supervisor.died",
    "frontier.reload",
    "frontier.returned",
    "host.retire",
    "store.mend",
    "storage.reopen",
    "storage.rewrite", // by erasures
    "deduper.take_in", // by members of a crawl in parts
    "node.memory",
];
/// Passed once for each host of a web.
const ONCE: &[&str] = &["host.robots", "host.robots.learned"];
/// Passed when the daemon is asked to stop.
const AT_THE_END: &[&str] = &[
    "node.drain",
    "node.drained",
    "store.close",
    "store.closing",
    "store.closed",
    "filter.save",
    "filter.saved",
    "storage.close",
    "node.closed",
];
/// Passed once or twice in a life, or by chance.
const SELDOM: &[&str] = &[
    "supervisor.new",
    "supervisor.started",
    "frontier.new",
    "frontier.started",
    "frontier.loaded",
    "frontier.gave_up",
    "fetcher.new",
    "fetcher.started",
    "parser.new",
    "parser.started",
    "deduper.new",
    "deduper.started",
    "deduper.inject",
    "deduper.revisit",
    "filter.load",
    "store.new",
    "store.started",
    "store.opened",
    "archive.rotate",
    "archive.sorted",
    "archive.renamed",
    "storage.open",
    "storage.opened",
];

/// A moment of a life.
#[derive(Clone, Copy)]
pub enum Moment {
    /// So long after the start; with little, while RocksDB and the archive are taken up.
    After(Duration),
    /// So many requests, and a little later.
    Requests(usize, Duration),
    /// At a fault point, when it is passed for this time.
    Point(&'static str, u64),
    /// While a WARC is closed, or a little later.
    Rotation(Duration),
    /// Asked to stop after so many requests, and killed so long after.
    Draining(usize, Duration),
    /// Asked to stop, and killed while the seen filter is saved.
    FilterSave(usize),
    /// Asked to stop, and let go.
    Asked(usize),
}

impl fmt::Display for Moment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::After(time) => write!(f, "after {time:?}"),
            Self::Requests(n, time) => write!(f, "{time:?} after {n} requests"),
            Self::Point(point, pass) => write!(f, "{point}, pass {pass}"),
            Self::Rotation(time) => write!(f, "{time:?} after a WARC was being closed"),
            Self::Draining(n, time) => write!(f, "{time:?} after TERM after {n} requests"),
            Self::FilterSave(n) => write!(f, "filter save after TERM after {n} requests"),
            Self::Asked(n) => write!(f, "TERM after {n} requests, no kill"),
        }
    }
}

impl Moment {
    /// Any moment; early and late, in quiet and in the midst of something.
    pub fn any(dice: &mut Dice) -> Self {
        let requests = 1 + dice.below(60) as usize;
        match dice.below(20) {
            0..=3 => Self::After(Duration::from_millis(dice.below(1_500))),
            4..=5 => Self::After(Duration::from_micros(dice.below(250_000))),
            6..=9 => Self::Requests(requests, Duration::from_micros(dice.below(8_000))),
            10..=13 => {
                let points = points();
                Self::at(points[dice.below(points.len() as u64) as usize], 1 + dice.below(60))
            }
            14..=15 => Self::Rotation(Duration::from_micros(dice.below(3_000))),
            16..=17 => Self::Draining(requests, Duration::from_micros(dice.below(120_000))),
            18 => Self::FilterSave(requests),
            _ => Self::Asked(requests),
        }
    }

    /// At a point, where it is passed more than once or twice for this time.
    pub fn at(point: &'static str, pass: u64) -> Self {
        Self::Point(point, if SELDOM.contains(&point) || AT_THE_END.contains(&point) { 1 } else { pass })
    }

    /// Starts the daemon and ends it at this moment. `None` when its crawl was over before.
    pub fn live(self, sandbox: &mut Sandbox) -> Option<Life> {
        let before = sandbox.web.audit_len();
        let plan = match self {
            Self::Point(point, pass) => Some(format!("{point}=kill@{pass}")),
            _ => None,
        };
        let mut daemon = sandbox.start(&["--until-done"], plan.as_deref());
        let requests = |n: usize, daemon: &mut Daemon| {
            let mut enough = || (sandbox.web.audit_len() >= before + n || daemon.ended().is_some()).then_some(());
            until("requests", &mut enough, String::new);
        };
        match self {
            Self::After(time) => std::thread::sleep(time),
            Self::Requests(n, time) => {
                requests(n, &mut daemon);
                std::thread::sleep(time);
            }
            Self::Point(point, _) => {
                if AT_THE_END.contains(&point) {
                    requests(3, &mut daemon);
                    daemon.signal_if_there(Signal::SIGTERM);
                }
                let seldom = SELDOM.contains(&point);
                wait(&mut daemon, if seldom { CHANCE_PATIENCE } else { POINT_PATIENCE }, || false);
            }
            Self::Rotation(time) => {
                let (warc, began) = (sandbox.data().join("warc"), names(&sandbox.data().join("warc")));
                wait(&mut daemon, ROTATION_PATIENCE, || names(&warc).iter().any(|n| !began.contains(n)));
                std::thread::sleep(time);
            }
            Self::Draining(n, time) => {
                requests(n, &mut daemon);
                daemon.signal_if_there(Signal::SIGTERM);
                wait(&mut daemon, time, || false);
            }
            Self::FilterSave(n) => {
                requests(n, &mut daemon);
                daemon.signal_if_there(Signal::SIGTERM);
                let part = sandbox.data().join("seen.part");
                wait(&mut daemon, Duration::from_secs(20), || part.exists());
            }
            Self::Asked(n) => {
                requests(n, &mut daemon);
                daemon.signal_if_there(Signal::SIGTERM);
                return self.ended(&mut daemon);
            }
        }
        let at_the_point = matches!(self, Self::Point(..)) && daemon.ended().is_some();
        daemon.signal_if_there(Signal::SIGKILL);
        let life = self.ended(&mut daemon)?;
        Some(Life { at_the_point, ..life })
    }

    fn ended(self, daemon: &mut Daemon) -> Option<Life> {
        let status = daemon.wait();
        let end = now_us();
        match status.code() {
            None => Some(Life { point: matches!(self, Self::Point(..)), ..Life::killed(self.to_string(), end) }),
            Some(11) => Some(Life::ended(self.to_string(), end)),
            Some(0) => None,
            Some(code) => panic!("{self}: ended with {code}\n{}", daemon.log()),
        }
    }
}

/// Names of closed files and of those on their way to be, in the WARC folder.
fn names(warc: &std::path::Path) -> BTreeSet<String> {
    let Ok(entries) = fs::read_dir(warc) else { return BTreeSet::new() };
    let names = entries.filter_map(|e| e.ok()?.file_name().into_string().ok());
    names.filter(|name| name.contains(".cdxj") && !name.ends_with(".open")).collect()
}

/// Waits for the daemon's end, so long at most, or until something is there.
fn wait(daemon: &mut Daemon, most: Duration, there: impl Fn() -> bool) {
    let began = Instant::now();
    while daemon.ended().is_none() && began.elapsed() < most && !there() {
        std::thread::sleep(Duration::from_micros(100));
    }
}
