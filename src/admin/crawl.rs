//! The crawl as a whole: status, seeds, pause, resume, stop, checkpoints.

use std::sync::Arc;

use actix_web::http::{StatusCode, header};
use actix_web::web::{self, Data, Payload};
use actix_web::{HttpMessage, HttpRequest, HttpResponse};
use serde::{Deserialize, Serialize};
use utoipa::{OpenApi, ToSchema};

use super::auth::Role;
use super::body::whole;
use super::bounded::reading;
use super::control::{Control, SeedReport};
use super::problem::Problem;
use super::room::{Room, getting, posting};
use super::seeds;
use crate::recovery::checkpoint::manifest::Summary;
use crate::recovery::checkpoint::shelf::Listing;
use crate::telemetry::{State, StatusSnapshot};

#[derive(OpenApi)]
#[openapi(paths(status, add_seeds, pause, resume, drain, stop, checkpoint, checkpoints))]
struct Doc;

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

/// The room.
pub(super) fn room(control: Arc<dyn Control>) -> Room {
    let control: Data<dyn Control> = Data::from(control);
    Room::new(Doc::openapi(), move |app| {
        app.app_data(control.clone())
            .service(getting("/api/v1/status").route(web::get().to(status)))
            .service(posting("/api/v1/seeds").route(web::post().to(add_seeds)))
            .service(posting("/api/v1/pause").route(web::post().to(pause)))
            .service(posting("/api/v1/resume").route(web::post().to(resume)))
            .service(posting("/api/v1/drain").route(web::post().to(drain)))
            .service(posting("/api/v1/stop").route(web::post().to(stop)))
            .service(posting("/api/v1/checkpoint").route(web::post().to(checkpoint)))
            .service(getting("/api/v1/checkpoints").route(web::get().to(checkpoints)));
    })
}

/// Counts and rates at this moment, and what the token of the request admits to.
#[utoipa::path(get, path = "/api/v1/status", tag = "crawl", responses((status = 200, body = Status)))]
async fn status(request: HttpRequest, control: Data<dyn Control>) -> HttpResponse {
    let role = request.extensions().get().copied().unwrap_or(Role::Read);
    HttpResponse::Ok().json(Status { status: control.status(), role })
}

/// Adds seeds: one URL a line, `{"urls": […]}`, or `{"seeds": [{"url": "…", "rank": 0, "max_depth": 3, "tags": ["a"]}]}`. Answers
/// when they are committed.
#[utoipa::path(post, path = "/api/v1/seeds", tag = "crawl", request_body(content((String = "text/plain"), (seeds::Body = "application/json"))), responses(
    (status = 200, body = SeedReport),
    (status = 400, body = Problem, content_type = "application/problem+json"),
    (status = 413, body = Problem, content_type = "application/problem+json"),
    (status = 503, body = Problem, content_type = "application/problem+json"),
))]
async fn add_seeds(
    request: HttpRequest,
    payload: Payload,
    control: Data<dyn Control>,
) -> Result<HttpResponse, Problem> {
    let body = whole(payload).await?;
    let kind = request.headers().get(header::CONTENT_TYPE).and_then(|v| v.to_str().ok());
    let seeds::Given { seeds, refused } =
        seeds::parse(kind, &body).map_err(|e| Problem::new(StatusCode::BAD_REQUEST, e))?;
    let mut report = control.seeds(seeds).await?;
    report.rejected.extend(refused);
    Ok(HttpResponse::Ok().json(report))
}

/// No new requests until `resume`.
#[utoipa::path(post, path = "/api/v1/pause", tag = "crawl", responses((status = 200, body = Done)))]
async fn pause(control: Data<dyn Control>) -> Result<HttpResponse, Problem> {
    control.pause()?;
    Ok(done("pause"))
}

/// Goes on after a pause.
#[utoipa::path(post, path = "/api/v1/resume", tag = "crawl", responses((status = 200, body = Done)))]
async fn resume(control: Data<dyn Control>) -> Result<HttpResponse, Problem> {
    control.resume()?;
    let status = control.status();
    let still = (status.state == State::Paused).then_some(status.idle_reason);
    Ok(HttpResponse::Ok().json(Done { done: "resume".to_owned(), still }))
}

/// Begins nothing new, lets what is in flight end, however long that takes, and ends the process.
#[utoipa::path(post, path = "/api/v1/drain", tag = "crawl", responses((status = 200, body = Done)))]
async fn drain(control: Data<dyn Control>) -> Result<HttpResponse, Problem> {
    control.drain()?;
    Ok(done("drain"))
}

/// Finishes what is in flight, for ten seconds at most, and ends the process.
#[utoipa::path(post, path = "/api/v1/stop", tag = "crawl", responses((status = 200, body = Done)))]
async fn stop(control: Data<dyn Control>) -> Result<HttpResponse, Problem> {
    control.stop()?;
    Ok(done("stop"))
}

/// Makes a checkpoint; answers when it is whole. A body names the data folder that is meant.
#[utoipa::path(post, path = "/api/v1/checkpoint", tag = "crawl", request_body(content = String, content_type = "text/plain"), responses(
    (status = 200, body = Summary),
    (status = 409, body = Problem, content_type = "application/problem+json"),
    (status = 503, body = Problem, content_type = "application/problem+json"),
))]
async fn checkpoint(payload: Payload, control: Data<dyn Control>) -> Result<HttpResponse, Problem> {
    let body = whole(payload).await?;
    let of = Some(String::from_utf8_lossy(&body).trim().to_owned()).filter(|dir| !dir.is_empty()).map(Into::into);
    Ok(HttpResponse::Ok().json(control.checkpoint(of).await?))
}

/// The checkpoints there are.
#[utoipa::path(get, path = "/api/v1/checkpoints", tag = "crawl", responses(
    (status = 200, body = Listing),
    (status = 409, body = Problem, content_type = "application/problem+json"),
))]
async fn checkpoints(control: Data<dyn Control>) -> Result<HttpResponse, Problem> {
    Ok(HttpResponse::Ok().json(reading(move || control.checkpoints()).await?))
}

fn done(what: &str) -> HttpResponse {
    HttpResponse::Ok().json(Done { done: what.to_owned(), still: None })
}
