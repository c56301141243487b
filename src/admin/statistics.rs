//! Statistics over time, from memory.

use std::time::Duration;

use actix_web::web::{Data, Query};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::control::ControlError;
use super::problem::{Answer, Refusal, ok};
use crate::crawl::node::Node;
use crate::telemetry::StatusSnapshot;
use crate::telemetry::metrics::ActorKind;
use crate::telemetry::process::resident_bytes;
use crate::telemetry::series::Sample;

/// Most points of an answer.
const MOST: usize = 2_000;
/// Longest time asked for, seconds; more is not kept.
const LONGEST: u64 = 366 * 86_400;

/// Which time.
#[derive(Clone, Copy, Debug, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct StatisticsQuery {
    /// The last so many seconds: 3600 by itself. Up to an hour there is a sample every 5 s, up to a week every 5 min.
    #[param(minimum = 1)]
    pub since: Option<u64>,
    /// At most so many points: 500 by itself, 2000 at most.
    #[param(minimum = 1, maximum = 2000)]
    pub points: Option<usize>,
}

/// A time series. It lives in memory and begins with the process.
#[derive(Clone, Debug, Default, PartialEq, Serialize, ToSchema)]
pub struct Statistics {
    /// Seconds between two points.
    pub step_seconds: u64,
    /// The points, oldest first.
    pub points: Vec<Sample>,
}

/// Pages, bytes, errors, queues and memory over time.
#[utoipa::path(get, path = "/api/v1/statistics", tag = "crawl", params(StatisticsQuery), responses(
    (status = 200, body = Statistics), Refusal<400>,
))]
pub(super) async fn statistics(query: Query<StatisticsQuery>, node: Data<Node>) -> Answer {
    let since = query.since.unwrap_or(3_600);
    if since == 0 {
        return Err(ControlError::Invalid("since=0: expected seconds, 1 or more".into()).into());
    }
    let points = match query.points.unwrap_or(500) {
        n if (1..=MOST).contains(&n) => n,
        n => return Err(ControlError::Invalid(format!("points={n}: expected 1 to {MOST}")).into()),
    };
    ok(series(&node, since, points))
}

/// Keeps a sample of a status that was taken anyway, when one is due.
pub(crate) fn note(node: &Node, s: &StatusSnapshot) {
    node.telemetry.series.note(node.clock.now(), || {
        let mut queues = [0; ActorKind::ALL.len()];
        for (queue, kind) in queues.iter_mut().zip(ActorKind::ALL) {
            *queue = u64::try_from(node.telemetry.metrics.queued(*kind)).unwrap_or(0);
        }
        Sample {
            pages: s.pages_stored,
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
            visits: node.telemetry.metrics.visits(),
            ..Sample::default()
        }
    });
}

/// At most `points` points of the last `since` seconds.
fn series(node: &Node, since: u64, points: usize) -> Statistics {
    let since = Duration::from_secs(since.min(LONGEST));
    let (step, samples) = node.telemetry.series.last(node.clock.now(), since, points);
    let mut before: Option<Sample> = None;
    let point = |sample: Sample| {
        let point = before.replace(sample).map_or(sample, |before| sample.rated(&before));
        Sample { at: node.clock.date_of(sample.at), ..point }
    };
    Statistics { step_seconds: step.as_secs(), points: samples.into_iter().map(point).collect() }
}
