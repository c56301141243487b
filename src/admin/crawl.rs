//! The crawl as a whole: status, seeds, pause, resume, stop, checkpoints.

use actix_web::http::{StatusCode, header};
use actix_web::web::{Data, Payload};
use actix_web::{HttpMessage, HttpRequest};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::auth::Role;
use super::body::whole;
use super::bounded::reading;
use super::control::{Control, SeedReport};
use super::problem::{Answer, Problem, Refusal, ok};
use super::seeds;
use crate::recovery::checkpoint::manifest::Summary;
use crate::recovery::checkpoint::shelf::Listing;
use crate::telemetry::{State, StatusSnapshot};

/// A command that was carried out.
#[derive(Serialize, Deserialize, ToSchema)]
pub struct Done {
    /// Its name.
    pub done: String,
    /// What keeps the crawl all the same, after `resume`: a disk that is low, or broken.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub still: Option<String>,
}

/// The counts, and what who asks may do.
#[derive(Serialize, ToSchema)]
struct Status {
    #[serde(flatten)]
    status: StatusSnapshot,
    /// What the token of this request admits to; everything where none is asked for.
    role: Role,
}

/// Counts and rates at this moment, and what the token of the request admits to.
#[utoipa::path(get, path = "/api/v1/status", tag = "crawl", responses((status = 200, body = Status)))]
pub(super) async fn status(request: HttpRequest, control: Data<dyn Control>) -> Answer {
    let role = request.extensions().get().copied().unwrap_or(Role::Read);
    ok(Status { status: control.status(), role })
}

/// Adds seeds: one URL a line, `{"urls": […]}`, or `{"seeds": [{"url": "…", "rank": 0, "max_depth": 3, "tags": ["a"]}]}`. Answers
/// when they are committed.
#[utoipa::path(post, path = "/api/v1/seeds", tag = "crawl", request_body(content((String = "text/plain"), (seeds::Body = "application/json"))), responses(
    (status = 200, body = SeedReport), Refusal<400>, Refusal<413>, Refusal<503>,
))]
pub(super) async fn add_seeds(request: HttpRequest, payload: Payload, control: Data<dyn Control>) -> Answer {
    let body = whole(payload).await?;
    let kind = request.headers().get(header::CONTENT_TYPE).and_then(|v| v.to_str().ok());
    let seeds::Given { seeds, refused } =
        seeds::parse(kind, &body).map_err(|e| Problem::new(StatusCode::BAD_REQUEST, e))?;
    let mut report = control.seeds(seeds).await?;
    report.rejected.extend(refused);
    ok(report)
}

/// No new requests until `resume`.
#[utoipa::path(post, path = "/api/v1/pause", tag = "crawl", responses((status = 200, body = Done)))]
pub(super) async fn pause(control: Data<dyn Control>) -> Answer {
    control.pause()?;
    done("pause")
}

/// Goes on after a pause.
#[utoipa::path(post, path = "/api/v1/resume", tag = "crawl", responses((status = 200, body = Done)))]
pub(super) async fn resume(control: Data<dyn Control>) -> Answer {
    control.resume()?;
    let status = control.status();
    let still = (status.state == State::Paused).then_some(status.idle_reason);
    ok(Done { done: "resume".to_owned(), still })
}

/// Begins nothing new, lets what is in flight end, however long that takes, and ends the process.
#[utoipa::path(post, path = "/api/v1/drain", tag = "crawl", responses((status = 200, body = Done)))]
pub(super) async fn drain(control: Data<dyn Control>) -> Answer {
    control.drain()?;
    done("drain")
}

/// Finishes what is in flight, for ten seconds at most, and ends the process.
#[utoipa::path(post, path = "/api/v1/stop", tag = "crawl", responses((status = 200, body = Done)))]
pub(super) async fn stop(control: Data<dyn Control>) -> Answer {
    control.stop()?;
    done("stop")
}

/// Makes a checkpoint; answers when it is whole. A body names the data folder that is meant.
#[utoipa::path(post, path = "/api/v1/checkpoint", tag = "crawl", request_body(content = String, content_type = "text/plain"), responses(
    (status = 200, body = Summary), Refusal<409>, Refusal<503>,
))]
pub(super) async fn checkpoint(payload: Payload, control: Data<dyn Control>) -> Answer {
    let body = whole(payload).await?;
    let of = Some(String::from_utf8_lossy(&body).trim().to_owned()).filter(|dir| !dir.is_empty()).map(Into::into);
    ok(control.checkpoint(of).await?)
}

/// The checkpoints there are.
#[utoipa::path(get, path = "/api/v1/checkpoints", tag = "crawl", responses(
    (status = 200, body = Listing), Refusal<409>,
))]
pub(super) async fn checkpoints(control: Data<dyn Control>) -> Answer {
    ok(reading(move || control.checkpoints()).await?)
}

fn done(what: &str) -> Answer {
    ok(Done { done: what.to_owned(), still: None })
}
