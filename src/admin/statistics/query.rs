//! Statistics over time: what a sample holds, and how it is shown.

use std::time::Duration;

use crate::admin::statistics::{Point, Statistics};
use crate::crawl::node::Node;
use crate::telemetry::StatusSnapshot;
use crate::telemetry::metrics::ActorKind;
use crate::telemetry::process::resident_bytes;
use crate::telemetry::series::Sample;

/// Longest time asked for, seconds; more is not kept.
const LONGEST: u64 = 366 * 86_400;

/// Keeps a sample of a status that was taken anyway, when one is due.
pub(crate) fn note(node: &Node, s: &StatusSnapshot) {
    node.telemetry.series.note(node.clock.now(), || {
        let mut queues = [0; ActorKind::ALL.len()];
        for (queue, kind) in queues.iter_mut().zip(ActorKind::ALL) {
            *queue = u64::try_from(node.telemetry.metrics.queued(*kind)).unwrap_or(0);
        }
        Sample {
            pages: s.pages_stored.saturating_add(s.revisits),
            bytes: s.bytes,
            errors: s.errors,
            done: s.done,
            rejected: s.rejected,
            waiting: s.waiting,
            in_flight: s.in_flight,
            hosts_active: s.hosts_active,
            hosts_waiting: s.hosts_waiting,
            hosts_parked: s.hosts_parked,
            resident_bytes: resident_bytes().unwrap_or(0),
            queues,
            ..Sample::default()
        }
    });
}

/// At most `points` points of the last `since` seconds.
pub fn statistics(node: &Node, since: u64, points: usize) -> Statistics {
    let since = Duration::from_secs(since.min(LONGEST));
    let (step, samples) = node.telemetry.series.last(node.clock.now(), since, points);
    let mut before: Option<&Sample> = None;
    let clock = &node.clock;
    let dated = |sample: &Sample, point: Point| Point { at_ms: clock.date_of(sample.at).0, ..point };
    let points = samples.iter().map(|sample| dated(sample, point(sample, before.replace(sample)))).collect();
    Statistics { step_seconds: step.as_secs(), points }
}

fn point(s: &Sample, before: Option<&Sample>) -> Point {
    let rate = |of: fn(&Sample) -> u64| {
        let seconds = before.map_or(0.0, |before| s.at.since(before.at).as_secs_f64());
        let more = before.map_or(0, |before| of(s).saturating_sub(of(before)));
        if seconds > 0.0 { more as f64 / seconds } else { 0.0 }
    };
    let queues = ActorKind::ALL.iter().zip(s.queues);
    Point {
        at_ms: s.at.0,
        pages: s.pages,
        bytes: s.bytes,
        errors: s.errors,
        done: s.done,
        rejected: s.rejected,
        pages_per_second: rate(|s| s.pages),
        bytes_per_second: rate(|s| s.bytes),
        errors_per_second: rate(|s| s.errors),
        waiting: s.waiting,
        in_flight: s.in_flight,
        hosts_active: s.hosts_active,
        hosts_waiting: s.hosts_waiting,
        hosts_parked: s.hosts_parked,
        resident_bytes: s.resident_bytes,
        queues: queues.map(|(kind, n)| (kind.as_str().to_owned(), n)).collect(),
    }
}
