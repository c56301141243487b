//! One snapshot of a running node.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::atomic::Ordering;
use std::time::Duration;

use crate::actors::node::Node;
use crate::actors::supervise::lock;
use crate::config::units::roughly;
use crate::domain::politeness::{Pace, PaceWhy};
use crate::domain::reason::{Failure, Rejection};
use crate::domain::time::UnixMillis;
use crate::storage::keys::KeyRange;
use crate::storage::read;
use crate::storage::tables::Parked;
use crate::telemetry::{State, StatusSnapshot};

/// A trouble is told in the idle reason for so long.
const LATELY: Duration = Duration::from_secs(3_600);

/// Counts as of the last commit. I2: `processing` are URLs in somebody's hands, taken from the queued ones, so that the
/// states always add up.
#[must_use]
pub fn status(node: &Node) -> StatusSnapshot {
    let c = node.counters();
    let processing = (node.leases.len() as u64).min(c.queued);
    let active = lock(&node.hosts).len() as u64;
    let uptime = node.clock.now().since(node.started);
    let in_flight = node.rules.settings.fetch.concurrency.saturating_sub(node.fetches.available_permits()) as u64;
    let mut snapshot = StatusSnapshot {
        state: state(node),
        crawl: node.rules.settings.crawl.name.clone(),
        version: env!("CARGO_PKG_VERSION").into(),
        uptime_seconds: uptime.as_secs_f64(),
        discovered: c.discovered,
        waiting: c.queued - processing,
        processing,
        done: c.done,
        errors: c.error(),
        rejected: c.rejected_total(),
        pages_stored: c.pages_stored,
        revisits: c.revisits,
        bytes: c.bytes,
        pages_per_second: lock(&node.rate).per_second(node.clock.now(), c.pages_stored),
        fetch_seconds: c.fetch_ms as f64 / 1000.0,
        hosts_active: active,
        hosts_waiting: c.hosts_waiting.saturating_sub(active),
        hosts_parked: c.hosts_parked,
        in_flight,
        statuses: c.statuses.clone(),
        errors_by_reason: named(&c.errors, |code| Failure::from_code(code).map(Failure::as_str)),
        rejected_by_reason: named(&c.rejected, |code| Rejection::from_code(code).map(Rejection::as_str)),
        permits_withheld: node.withheld.load(Ordering::Acquire) as u64,
        troubles: node.troubles.all(),
        next_try_seconds: next_try_seconds(node),
        idle_reason: String::new(),
        warc_dir: node.rules.settings.warc_dir().display().to_string(),
    };
    snapshot.idle_reason = idle_reason(node, &snapshot);
    snapshot
}

fn next_try_seconds(node: &Node) -> Option<f64> {
    let at = node.next_try.load(Ordering::Acquire);
    (at > 0).then(|| UnixMillis(at).since(node.clock.now()).as_secs_f64())
}

fn state(node: &Node) -> State {
    if node.draining.load(Ordering::Acquire) {
        State::Draining
    } else if node.paused.load(Ordering::Acquire) || node.disk.holds() {
        State::Paused
    } else {
        State::Running
    }
}

fn named(counts: &BTreeMap<u8, u64>, name: impl Fn(u8) -> Option<&'static str>) -> BTreeMap<String, u64> {
    counts.iter().filter_map(|(code, n)| Some((name(*code)?.to_owned(), *n))).collect()
}

/// Why nothing is being fetched; empty when something is.
fn idle_reason(node: &Node, s: &StatusSnapshot) -> String {
    if s.in_flight > 0 {
        return String::new();
    }
    if node.draining.load(Ordering::Acquire) {
        return "draining: the crawl is coming to its end".into();
    }
    if let Some(why) = node.disk.why() {
        return format!("paused: {why}");
    }
    if node.paused.load(Ordering::Acquire) {
        return "paused by the operator; resume with `lycosa ctl resume`".into();
    }
    if s.waiting + s.processing == 0 {
        return if node.rules.settings.crawl.until_done {
            "the frontier is empty: the crawl is about to end".into()
        } else {
            "the frontier is empty; add seeds with `lycosa ctl seeds add URL` or end with `lycosa ctl stop`".into()
        };
    }
    if node.pages.available_permits() == 0 {
        if s.permits_withheld > 0 {
            return "memory is short (memory.max): fewer pages are taken at a time until it is not".into();
        }
        return "all page permits are taken: the store or the parser is slow".into();
    }
    waiting(node, s)
}

/// Parked hosts looked at for the idle reason.
const LOOKED_AT: usize = 256;

/// How many of the parked hosts wait for nothing but the ordinary gap after a slow answer, or their Crawl-delay. It is
/// counted among the first [`LOOKED_AT`]; of more than that nothing is said.
fn pacing(node: &Node, parked: u64) -> u64 {
    if parked == 0 || parked > LOOKED_AT as u64 {
        return 0;
    }
    let now = node.clock.now();
    let ordinary = |host| {
        let state = read::host_state(&*node.storage, host).ok().flatten()?;
        let pace = Pace::decode(&state.pace).ok()?;
        let gap = matches!(pace.why(), PaceWhy::Gap | PaceWhy::CrawlDelay);
        Some(gap && pace.earliest() > now)
    };
    let hosts = read::scan::<Parked>(&*node.storage, &KeyRange::all(), LOOKED_AT).unwrap_or_default();
    hosts.iter().filter(|(key, ())| ordinary(key.host_at()) == Some(true)).count() as u64
}

/// What hosts and URLs wait for, and what went wrong last.
fn waiting(node: &Node, s: &StatusSnapshot) -> String {
    let mut parts = Vec::new();
    let mut part = |n: u64, one: &str, many: &str, what: &str| match n {
        0 => {}
        1 => parts.push(format!("1 {one} {what}")),
        _ => parts.push(format!("{n} {many} {what}")),
    };
    let pacing = pacing(node, s.hosts_parked);
    let parked = s.hosts_parked.saturating_sub(pacing);
    part(node.orders.held() as u64, "host", "hosts", "paused or blocked by the operator");
    part(s.hosts_active.saturating_add(pacing), "host", "hosts", "between two requests");
    part(parked, "host", "hosts", "parked (back-off, Retry-After, or robots.txt out of reach)");
    if parts.is_empty() {
        parts.push(match s.waiting {
            1 => "1 URL waits for its next try".into(),
            n => format!("{n} URLs wait for their next try"),
        });
    }
    let mut text = parts.join(", ");
    if let Some(seconds) = s.next_try_seconds {
        // Writing to a String cannot fail.
        let _ = write!(text, "; the next in {}", roughly(Duration::from_secs_f64(seconds.max(0.0))));
    }
    if let Some((when, reason, example)) = node.troubles.latest()
        && node.clock.now().since(when) < LATELY
    {
        let _ = write!(text, "; last trouble: {reason} {example}");
    }
    text
}
