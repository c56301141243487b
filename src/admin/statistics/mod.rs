//! Statistics over time, from memory.

pub mod query;

use std::collections::BTreeMap;

use actix_web::HttpResponse;
use actix_web::web::{self, Data, Query};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, OpenApi, ToSchema};

use super::control::ControlError;
use super::problem::Problem;
use super::room::{Room, getting};
use crate::crawl::node::Node;

/// Most points of an answer.
const MOST: usize = 2_000;

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

/// One moment. Counts are since the beginning of the crawl, rates since the point before.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Point {
    /// When, milliseconds since 1970.
    pub at_ms: u64,
    /// Pages stored, revisits included.
    pub pages: u64,
    /// Bytes received.
    pub bytes: u64,
    /// URLs given up.
    pub errors: u64,
    /// URLs finished.
    pub done: u64,
    /// URLs turned away.
    pub rejected: u64,
    /// Pages a second.
    pub pages_per_second: f64,
    /// Bytes a second.
    pub bytes_per_second: f64,
    /// URLs given up a second.
    pub errors_per_second: f64,
    /// URLs in a queue.
    pub waiting: u64,
    /// Requests in flight.
    pub in_flight: u64,
    /// Hosts being crawled.
    pub hosts_active: u64,
    /// Hosts that could be taken up.
    pub hosts_waiting: u64,
    /// Hosts that wait for a time.
    pub hosts_parked: u64,
    /// Memory of the process.
    pub resident_bytes: u64,
    /// Messages waiting, by kind of actor.
    pub queues: BTreeMap<String, u64>,
}

/// A time series. It lives in memory and begins with the process.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Statistics {
    /// Seconds between two points.
    pub step_seconds: u64,
    /// The points, oldest first.
    pub points: Vec<Point>,
}

#[derive(OpenApi)]
#[openapi(paths(statistics))]
struct Doc;

/// The room.
#[must_use]
pub(super) fn room() -> Room {
    Room::new(Doc::openapi(), |app| {
        app.service(getting("/api/v1/statistics").route(web::get().to(statistics)));
    })
}

/// Pages, bytes, errors, queues and memory over time.
#[utoipa::path(get, path = "/api/v1/statistics", tag = "crawl", params(StatisticsQuery), responses(
    (status = 200, body = Statistics),
    (status = 400, body = Problem, content_type = "application/problem+json"),
))]
async fn statistics(query: Query<StatisticsQuery>, node: Data<Node>) -> Result<HttpResponse, Problem> {
    let since = query.since.unwrap_or(3_600);
    if since == 0 {
        return Err(ControlError::Invalid("since=0: expected seconds, 1 or more".into()).into());
    }
    let points = match query.points.unwrap_or(500) {
        n if (1..=MOST).contains(&n) => n,
        n => return Err(ControlError::Invalid(format!("points={n}: expected 1 to {MOST}")).into()),
    };
    Ok(HttpResponse::Ok().json(query::statistics(&node, since, points)))
}
