//! One snapshot of a running node.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;

use crate::actors::node::Node;
use crate::actors::supervise::lock;
use crate::domain::reason::{Failure, Rejection};
use crate::telemetry::{State, StatusSnapshot};

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
        idle_reason: String::new(),
        warc_dir: node.rules.settings.warc_dir().display().to_string(),
    };
    snapshot.idle_reason = idle_reason(node, &snapshot);
    snapshot
}

fn state(node: &Node) -> State {
    if node.draining.load(Ordering::Acquire) {
        State::Draining
    } else if node.paused.load(Ordering::Acquire) || node.disk_low.load(Ordering::Acquire) {
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
    if node.disk_low.load(Ordering::Acquire) {
        return "paused: the disk is low on space; it goes on by itself when there is more".into();
    }
    if node.paused.load(Ordering::Acquire) {
        return "paused by the operator; resume with `lycosa ctl resume`".into();
    }
    if s.waiting + s.processing == 0 {
        return "the frontier is empty".into();
    }
    if node.pages.available_permits() == 0 {
        return "all page permits are taken: the store or the parser is slow".into();
    }
    let counted = [
        (s.hosts_active, "waiting for their delay"),
        (s.hosts_parked, "parked until a time (back-off, Retry-After, or robots.txt unreachable)"),
    ];
    let parts: Vec<String> =
        counted.iter().filter(|(n, _)| *n > 0).map(|(n, what)| format!("{n} hosts {what}")).collect();
    if parts.is_empty() { format!("{} URLs wait for a retry", s.waiting) } else { parts.join(", ") }
}
