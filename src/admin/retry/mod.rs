//! URLs that were given up, back into the queue.

pub mod job;

use std::sync::Arc;

use actix_web::HttpResponse;
use actix_web::http::StatusCode;
use actix_web::web::{self, Data, Payload};
use serde::{Deserialize, Serialize};
use utoipa::{OpenApi, ToSchema};

use super::body::json;
use super::bounded::ordered;
use super::jobs::JobView;
use super::problem::Problem;
use super::room::{Room, posting};
use crate::crawl::node::Node;

/// Which errors are tried again; what is not said does not matter.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct RetryWhich {
    /// A reason such as `reset`, or a group of them: `timeout`, `dns`, `connect`, `tls`, `status`.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    #[schema(example = "timeout")]
    pub reason: Option<String>,
    /// Of this host alone.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    #[schema(example = "example.org")]
    pub host: Option<String>,
    /// Given up within this time, such as "2h".
    #[serde(skip_serializing_if = "Option::is_none", default)]
    #[schema(example = "2h")]
    pub since: Option<String>,
    /// Whose last answer had this status.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    #[schema(minimum = 100, maximum = 999, example = 503)]
    pub status: Option<u16>,
}

#[derive(OpenApi)]
#[openapi(paths(retry))]
struct Doc;

/// The room.
pub(super) fn room() -> Room {
    Room::new(Doc::openapi(), |app| {
        app.service(posting("/api/v1/urls/retry").route(web::post().to(retry)));
    })
}

/// Queues URLs again that ended in an error, as if they were new; a job goes through them.
#[utoipa::path(post, path = "/api/v1/urls/retry", tag = "urls", request_body = RetryWhich, responses(
    (status = 202, body = JobView),
    (status = 400, body = Problem, content_type = "application/problem+json"),
    (status = 409, body = Problem, content_type = "application/problem+json"),
    (status = 413, body = Problem, content_type = "application/problem+json"),
    (status = 503, body = Problem, content_type = "application/problem+json"),
))]
async fn retry(payload: Payload, node: Data<Node>) -> Result<HttpResponse, Problem> {
    let which = json(payload).await?;
    Ok(HttpResponse::build(StatusCode::ACCEPTED)
        .json(ordered(job::retry(Arc::clone(&node), which), "GET /api/v1/jobs").await?))
}
