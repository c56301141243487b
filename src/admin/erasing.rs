//! The endpoint while a host is erased between two lives of the crawl: it says how far that is, and can end the process.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use actix_web::http::{Method, StatusCode, header};
use actix_web::web::{self, Data, ServiceConfig};
use actix_web::{HttpRequest, HttpResponse};
use serde::{Deserialize, Serialize};

use super::crawl::Done;
use super::problem::Problem;
use crate::base::sync::lock;
use crate::base::time::UnixMillis;
use crate::recovery::erase::{Far, STEPS};

/// When to ask again, seconds.
const AGAIN: &str = "5";

/// An erasure under way.
pub struct Erasing {
    id: String,
    began: UnixMillis,
    far: Mutex<Far>,
    stop: Arc<AtomicBool>,
}

/// The answer to everything: a problem, and how far the erasure is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ErasingView {
    /// In words.
    #[serde(flatten)]
    pub problem: Problem,
    /// For machines.
    pub erasing: UnderWay,
}

/// How far an erasure is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnderWay {
    /// Name of its certificate.
    pub id: String,
    /// When this process began with it, or went on, milliseconds since 1970.
    pub since_ms: u64,
    /// The step, from 1 to `steps`.
    pub step: usize,
    /// How many there are.
    pub steps: usize,
    /// What is being done.
    pub what: String,
    /// How much of it is.
    pub done: u64,
}

impl Erasing {
    /// One that begins, or goes on. `stop` is set by who wants the process to end.
    pub fn new(id: String, began: UnixMillis, stop: Arc<AtomicBool>) -> Self {
        let far = Far { step: 1, what: "what is under way comes to its end", done: 0 };
        Self { id, began, far: Mutex::new(far), stop }
    }

    /// It is so far.
    pub fn tell(&self, far: Far) {
        *lock(&self.far) = far;
    }

    /// How far it is, for people.
    pub fn sentence(&self) -> String {
        let Far { step, what, done } = *lock(&self.far);
        format!("a host is being erased: step {step} of {STEPS}, {what}: {done}")
    }

    fn view(&self) -> ErasingView {
        let Far { step, what, done } = *lock(&self.far);
        let detail = format!(
            "{}; the crawl goes on by itself after that; `lycosa ctl stop` ends the process, and its next start goes on",
            self.sentence()
        );
        let (id, what) = (self.id.clone(), what.to_owned());
        ErasingView {
            problem: Problem::new(StatusCode::SERVICE_UNAVAILABLE, detail),
            erasing: UnderWay { id, since_ms: self.began.0, step, steps: STEPS, what, done },
        }
    }
}

/// Whatever is asked for.
pub(super) fn configure(app: &mut ServiceConfig) {
    app.default_service(web::to(answer));
}

async fn answer(request: HttpRequest, erasing: Data<Erasing>) -> HttpResponse {
    let ends = match request.path() {
        "/api/v1/stop" => Some("stop"),
        "/api/v1/drain" => Some("drain"),
        _ => None,
    };
    match (request.method(), ends) {
        (&Method::POST, Some(what)) => {
            log::info!("{what} asked for by the operator: the erasure ends at its next step");
            erasing.stop.store(true, Ordering::Release);
            HttpResponse::Ok().json(Done { done: what.to_owned(), still: None })
        }
        (&Method::GET, _) if request.path() == "/healthz" => HttpResponse::Ok().body("ok\n"),
        _ if request.path() == "/readyz" => HttpResponse::ServiceUnavailable()
            .insert_header((header::RETRY_AFTER, AGAIN))
            .content_type("text/plain; charset=utf-8")
            .body(format!("not ready: {}\n", erasing.sentence())),
        _ => HttpResponse::ServiceUnavailable()
            .insert_header((header::RETRY_AFTER, AGAIN))
            .content_type("application/problem+json")
            .body(serde_json::to_string(&erasing.view()).unwrap_or_default()),
    }
}
