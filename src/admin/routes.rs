//! The routes and the guard in front of them.

use std::net::SocketAddr;
use std::sync::Arc;

use actix_web::body::MessageBody;
use actix_web::dev::{ServiceRequest, ServiceResponse};
use actix_web::http::{Method, StatusCode, header};
use actix_web::middleware::Next;
use actix_web::web::{self, Data, Payload};
use actix_web::{Error, HttpRequest, HttpResponse, Responder};
use serde_json::json;

use super::auth::{Token, is_own_host, is_own_origin};
use super::control::Control;
use super::problem::Problem;
use super::seeds;
use crate::telemetry::metrics::CONTENT_TYPE;

/// Largest request body, bytes.
const MAX_BODY: usize = 1 << 20;
/// A body up to this size is read to its end before it is refused: closing earlier would reset the connection and
/// the client might never see the answer.
const MAX_READ: usize = 2 * MAX_BODY;

/// What every handler needs.
pub(super) struct Shared {
    pub control: Arc<dyn Control>,
    pub token: Option<Token>,
    pub listening: SocketAddr,
}

/// Adds the routes to an application.
pub(super) fn configure(app: &mut web::ServiceConfig) {
    let get = |path: &str| web::resource(path).default_service(web::to(|| wrong_method("GET")));
    let post = |path: &str| web::resource(path).default_service(web::to(|| wrong_method("POST")));
    app.service(get("/healthz").route(web::get().to(healthz)))
        .service(get("/readyz").route(web::get().to(readyz)))
        .service(get("/metrics").route(web::get().to(metrics)))
        .service(get("/api/v1/status").route(web::get().to(status)))
        .service(post("/api/v1/seeds").route(web::post().to(add_seeds)))
        .service(post("/api/v1/pause").route(web::post().to(pause)))
        .service(post("/api/v1/resume").route(web::post().to(resume)))
        .service(post("/api/v1/checkpoint").route(web::post().to(checkpoint)))
        .service(get("/api/v1/checkpoints").route(web::get().to(checkpoints)))
        .service(post("/api/v1/stop").route(web::post().to(stop)))
        .default_service(web::to(unknown));
}

/// Lets a request through or answers with the problem: Host, Origin, then the token.
pub(super) async fn guard(
    request: ServiceRequest,
    next: Next<impl MessageBody + 'static>,
) -> Result<ServiceResponse<impl MessageBody>, Error> {
    let problem = request.app_data::<Data<Shared>>().map_or_else(
        || Some(Problem::new(StatusCode::INTERNAL_SERVER_ERROR, "the endpoint is not set up")),
        |shared| refusal(&request, shared),
    );
    match problem {
        Some(problem) => Err(problem.into()),
        None => next.call(request).await,
    }
}

fn refusal(request: &ServiceRequest, shared: &Shared) -> Option<Problem> {
    let text = |name: &str| request.headers().get(name).and_then(|v| v.to_str().ok());
    let host = text("host");
    if !is_own_host(host, shared.listening) {
        let detail =
            format!("this endpoint is http://{}, not {}", shared.listening, host.unwrap_or("a request without Host"));
        return Some(Problem::new(StatusCode::FORBIDDEN, detail));
    }
    let safe = matches!(*request.method(), Method::GET | Method::HEAD);
    // A header that is not text is no Origin of ours.
    let origin = request.headers().get("origin").map(|v| v.to_str().unwrap_or("null"));
    if !safe && !is_own_origin(origin, text("sec-fetch-site"), host) {
        return Some(Problem::new(StatusCode::FORBIDDEN, "requests from other web pages are refused"));
    }
    let open = matches!(request.path(), "/healthz" | "/readyz");
    match &shared.token {
        Some(token) if !open && !token.admits(text("authorization")) => {
            let detail = "send the token of admin.token_file as `Authorization: Bearer TOKEN`";
            Some(Problem::new(StatusCode::UNAUTHORIZED, detail))
        }
        _ => None,
    }
}

async fn healthz() -> impl Responder {
    "ok\n"
}

async fn readyz(shared: Data<Shared>) -> HttpResponse {
    match shared.control.ready() {
        Ok(()) => HttpResponse::Ok().content_type("text/plain; charset=utf-8").body("ready\n"),
        Err(why) => HttpResponse::ServiceUnavailable()
            .content_type("text/plain; charset=utf-8")
            .body(format!("not ready: {why}\n")),
    }
}

async fn metrics(shared: Data<Shared>) -> HttpResponse {
    HttpResponse::Ok().content_type(CONTENT_TYPE).body(shared.control.metrics_text())
}

async fn status(shared: Data<Shared>) -> HttpResponse {
    HttpResponse::Ok().json(shared.control.status())
}

async fn add_seeds(request: HttpRequest, payload: Payload, shared: Data<Shared>) -> Result<HttpResponse, Problem> {
    let too_large = || Problem::new(StatusCode::PAYLOAD_TOO_LARGE, format!("at most {MAX_BODY} bytes at a time"));
    let body = payload.to_bytes_limited(MAX_READ).await.map_err(|_| too_large())?;
    let body = body.map_err(|e| Problem::new(StatusCode::BAD_REQUEST, format!("the body did not arrive: {e}")))?;
    if body.len() > MAX_BODY {
        return Err(too_large());
    }
    let kind = request.headers().get(header::CONTENT_TYPE).and_then(|v| v.to_str().ok());
    let urls = seeds::parse(kind, &body).map_err(|e| Problem::new(StatusCode::BAD_REQUEST, e))?;
    Ok(HttpResponse::Ok().json(shared.control.seeds(urls).await?))
}

async fn pause(shared: Data<Shared>) -> Result<HttpResponse, Problem> {
    shared.control.pause()?;
    Ok(done("pause"))
}

async fn resume(shared: Data<Shared>) -> Result<HttpResponse, Problem> {
    shared.control.resume()?;
    Ok(done("resume"))
}

async fn stop(shared: Data<Shared>) -> Result<HttpResponse, Problem> {
    shared.control.stop()?;
    Ok(done("stop"))
}

async fn checkpoint(body: String, shared: Data<Shared>) -> Result<HttpResponse, Problem> {
    let of = Some(body.trim()).filter(|dir| !dir.is_empty()).map(Into::into);
    Ok(HttpResponse::Ok().json(shared.control.checkpoint(of).await?))
}

async fn checkpoints(shared: Data<Shared>) -> Result<HttpResponse, Problem> {
    Ok(HttpResponse::Ok().json(shared.control.checkpoints()?))
}

fn done(what: &str) -> HttpResponse {
    HttpResponse::Ok().json(json!({ "done": what }))
}

async fn wrong_method(allowed: &'static str) -> Result<HttpResponse, Problem> {
    Err(Problem::new(StatusCode::METHOD_NOT_ALLOWED, format!("use {allowed} here")))
}

async fn unknown() -> Result<HttpResponse, Problem> {
    let routes = "/healthz /readyz /metrics /api/v1/status /api/v1/seeds /api/v1/pause /api/v1/resume /api/v1/checkpoint \
                  /api/v1/checkpoints /api/v1/stop";
    Err(Problem::new(StatusCode::NOT_FOUND, format!("there are {routes}")))
}
