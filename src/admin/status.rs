//! One snapshot of a running node.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;

use crate::admin::why_idle::findings::{findings, idle_reason};
use crate::base::sync::lock;
use crate::base::time::UnixMillis;
use crate::config::NearMode;
use crate::crawl::node::Node;
#[cfg(feature = "cluster")]
use crate::domain::partition::PARTITIONS;
use crate::domain::reason::{Failure, Rejection};
use crate::domain::traps::HeldShape;
use crate::telemetry::{HeldBack, HeldShapeView, MemberView, OutboxView, State, StatusSnapshot};

/// Shapes of which URLs are held back that are shown.
const HELD_SHAPES: usize = 20;

/// Counts as of the last commit. I2: `processing` are URLs in somebody's hands, taken from the queued ones, so that the
/// states always add up.
pub fn status(node: &Node) -> StatusSnapshot {
    let mut snapshot = counts(node);
    snapshot.idle_reason = match snapshot.in_flight {
        0 => idle_reason(node, &snapshot, &findings(node, &snapshot)),
        _ => String::new(),
    };
    snapshot
}

/// The same without a word on why nothing happens, for which queues are looked at: for who asks every second.
pub fn counts(node: &Node) -> StatusSnapshot {
    let c = node.crawl.counters();
    let processing = (node.crawl.leases.len() as u64).min(c.queued);
    let active = lock(&node.actors.hosts).len() as u64;
    let uptime = node.clock.now().since(node.telemetry.started);
    let frontier = c.frontier;
    let in_flight =
        node.crawl.rules.settings.fetch.concurrency.saturating_sub(node.permits.fetches.available_permits()) as u64;
    StatusSnapshot {
        state: state(node),
        crawl: name(node),
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
        pages_per_second: lock(&node.telemetry.rate).per_second(node.clock.now(), c.pages_stored),
        fetch_seconds: c.fetch_ms as f64 / 1000.0,
        hosts_active: active,
        hosts_waiting: c.hosts_waiting.saturating_sub(active),
        hosts_parked: c.hosts_parked,
        hosts_held: frontier.hosts_held,
        hosts_ordered: node.crawl.orders.counts(),
        frontier: frontier.ranks.to_vec(),
        retries: frontier.retries,
        near_duplicates: near_duplicates(node),
        credit: super::credit::sums(node).unwrap_or_default(),
        member: member(node),
        members: Vec::new(),
        missing: Vec::new(),
        visits_planned: frontier.visits,
        visits_a_day: frontier.visit_load as f64 / 1e6,
        in_flight,
        statuses: c.statuses.clone(),
        errors_by_reason: named(&c.errors, |code| Failure::from_code(code).map(Failure::as_str)),
        rejected_by_reason: named(&c.rejected, |code| Rejection::from_code(code).map(Rejection::as_str)),
        permits_withheld: node.permits.withheld.load(Ordering::Acquire) as u64,
        held_back: held_back(node, &c.rejected),
        troubles: node.telemetry.troubles.all(),
        next_try_seconds: next_try_seconds(node),
        idle_reason: String::new(),
        warc_dir: node.crawl.rules.settings.warc_dir().display().to_string(),
    }
}

/// The crawl's name: among several members the one that they have in common.
fn name(node: &Node) -> String {
    #[cfg(feature = "cluster")]
    if let Some(member) = node.member.get() {
        return member.who().cluster.clone();
    }
    node.crawl.rules.settings.crawl.name.clone()
}

/// Which member of a crawl in parts this is, and what it has for the others.
fn member(node: &Node) -> Option<MemberView> {
    let Some(share) = &node.crawl.share else { return of_cluster(node) };
    let waiting = crate::recovery::part::links::waiting(&*node.storage, share).unwrap_or_default();
    let outbox = waiting.into_iter().map(|(to, (rows, bytes, links))| OutboxView { to, rows, bytes, links });
    let (partitions, outbox) = (share.mine().len() as u64, outbox.collect());
    let lease_seconds = of_cluster(node).and_then(|member| member.lease_seconds);
    Some(MemberView { name: share.name(), partitions, outbox, lease_seconds })
}

/// Which member of a crawl with an engine this is: it has everything.
#[cfg(feature = "cluster")]
fn of_cluster(node: &Node) -> Option<MemberView> {
    let name = node.member.get()?.who().name.clone();
    let lease_seconds = Some(node.fence.left().unwrap_or_default().as_secs());
    Some(MemberView { name, partitions: u64::from(PARTITIONS), lease_seconds, outbox: Vec::new() })
}

#[cfg(not(feature = "cluster"))]
fn of_cluster(_: &Node) -> Option<MemberView> {
    None
}

fn near_duplicates(node: &Node) -> Option<u64> {
    let on = node.crawl.rules.settings.dedup.near != NearMode::Off;
    on.then(|| node.telemetry.metrics.near_duplicates())
}

fn held_back(node: &Node, rejected: &BTreeMap<u8, u64>) -> HeldBack {
    let held = |code: u8| Rejection::from_code(code).filter(|reason| reason.is_held_back());
    let reasons: BTreeMap<String, u64> = rejected
        .iter()
        .filter(|(_, n)| **n > 0)
        .filter_map(|(code, n)| Some((held(*code)?.as_str().to_owned(), *n)))
        .collect();
    let urls = reasons.values().sum();
    let view = |held: HeldShape| HeldShapeView {
        host: held.host,
        reason: held.reason.as_str().to_owned(),
        example: held.example,
        urls: held.urls,
    };
    let shapes = lock(&node.crawl.shapes).held_back(HELD_SHAPES).0;
    HeldBack { urls, reasons, shapes: shapes.into_iter().map(view).collect() }
}

fn next_try_seconds(node: &Node) -> Option<f64> {
    let at = node.crawl.progress.next_try.load(Ordering::Acquire);
    (at > 0).then(|| UnixMillis(at).since(node.clock.now()).as_secs_f64())
}

fn state(node: &Node) -> State {
    if node.crawl.switches.draining.load(Ordering::Acquire) {
        State::Draining
    } else if node.crawl.switches.paused.load(Ordering::Acquire) || node.disk.holds() || node.fence.is_over() {
        State::Paused
    } else {
        State::Running
    }
}

fn named(counts: &BTreeMap<u8, u64>, name: impl Fn(u8) -> Option<&'static str>) -> BTreeMap<String, u64> {
    counts.iter().filter_map(|(code, n)| Some((name(*code)?.to_owned(), *n))).collect()
}
