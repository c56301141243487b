//! The endpoint of a process that waits for its place in a crawl on several machines: it says for what, shows the members, and can end the
//! process.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use actix_web::http::{StatusCode, header};
use actix_web::web::{self, Data, Path, ServiceConfig};
use actix_web::{HttpRequest, HttpResponse};

use super::crawl::Done;
use super::nodes::{listed, said};
use super::problem::{Answer, Problem};
use crate::base::sync::lock;
use crate::cluster::Who;
use crate::cluster::nodes::{declare_dead, order_leave};

/// When to ask again, seconds.
const AGAIN: &str = "5";

/// A process that waits.
pub struct Standby {
    who: Who,
    what: Mutex<String>,
    stop: Arc<AtomicBool>,
}

impl Standby {
    /// One that begins to, for this. `stop` is set by who wants the process to end.
    pub fn new(who: Who, stop: Arc<AtomicBool>, what: &str) -> Self {
        Self { who, what: Mutex::new(what.to_owned()), stop }
    }

    /// It waits for this.
    pub fn tell(&self, what: &str) {
        what.clone_into(&mut lock(&self.what));
    }

    fn sentence(&self) -> String {
        format!("{} waits for {}", self.who.name, lock(&self.what))
    }
}

/// What such a process answers.
pub(super) fn configure(app: &mut ServiceConfig) {
    app.route("/healthz", web::get().to(|| async { HttpResponse::Ok().body("ok\n") }))
        .route("/readyz", web::get().to(ready))
        .route("/", web::get().to(ready))
        .route("/metrics", web::get().to(metrics))
        .route("/api/v1/nodes", web::get().to(nodes))
        .route("/api/v1/nodes/{name}/dead", web::post().to(dead))
        .route("/api/v1/nodes/{name}/leave", web::post().to(leave))
        .route("/api/v1/stop", web::post().to(stop))
        .route("/api/v1/drain", web::post().to(stop))
        .default_service(web::to(other));
}

async fn ready(standby: Data<Standby>) -> HttpResponse {
    HttpResponse::ServiceUnavailable()
        .insert_header((header::RETRY_AFTER, AGAIN))
        .content_type("text/plain; charset=utf-8")
        .body(format!("not ready: {}\n", standby.sentence()))
}

/// None, but an answer: who stands by is up.
async fn metrics() -> HttpResponse {
    HttpResponse::Ok().content_type("application/openmetrics-text; version=1.0.0; charset=utf-8").body("# EOF\n")
}

async fn nodes(standby: Data<Standby>) -> Answer {
    listed(standby.who.clone()).await
}

async fn dead(standby: Data<Standby>, name: Path<String>) -> Answer {
    said(standby.who.clone(), name.into_inner(), declare_dead, "declared dead").await
}

async fn leave(standby: Data<Standby>, name: Path<String>) -> Answer {
    said(standby.who.clone(), name.into_inner(), order_leave, "told to leave").await
}

async fn stop(request: HttpRequest, standby: Data<Standby>) -> HttpResponse {
    let what = request.path().rsplit('/').next().unwrap_or_default().to_owned();
    log::info!("{what} asked for by the operator: nothing is waited for any more");
    standby.stop.store(true, Ordering::Release);
    HttpResponse::Ok().json(Done { done: what, still: None })
}

async fn other(standby: Data<Standby>) -> HttpResponse {
    let detail = format!(
        "{}; it crawls nothing meanwhile; `lycosa ctl nodes` shows the members, `lycosa ctl stop` ends this process",
        standby.sentence()
    );
    HttpResponse::ServiceUnavailable()
        .insert_header((header::RETRY_AFTER, AGAIN))
        .content_type("application/problem+json")
        .body(serde_json::to_string(&Problem::new(StatusCode::SERVICE_UNAVAILABLE, detail)).unwrap_or_default())
}
