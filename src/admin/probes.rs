//! For machines: health, readiness, metrics.

use std::sync::Arc;

use actix_web::web::{self, Data};
use actix_web::{HttpResponse, Responder};
use utoipa::OpenApi;

use super::control::Control;
use super::room::{Room, getting};
use crate::telemetry::metrics::CONTENT_TYPE;

#[derive(OpenApi)]
#[openapi(paths(healthz, readyz, metrics))]
struct Doc;

/// The room.
pub(super) fn room(control: Arc<dyn Control>) -> Room {
    let control: Data<dyn Control> = Data::from(control);
    Room::new(Doc::openapi(), move |app| {
        app.app_data(control.clone())
            .service(getting("/healthz").route(web::get().to(healthz)))
            .service(getting("/readyz").route(web::get().to(readyz)))
            .service(getting("/metrics").route(web::get().to(metrics)));
    })
}

/// 200 while the process runs; needs no token.
#[utoipa::path(get, path = "/healthz", tag = "probes", responses((status = 200, body = String, content_type = "text/plain")))]
async fn healthz() -> impl Responder {
    "ok\n"
}

/// 200 when it takes work, else 503 with the reason; needs no token.
#[utoipa::path(get, path = "/readyz", tag = "probes", responses(
    (status = 200, body = String, content_type = "text/plain"),
    (status = 503, body = String, content_type = "text/plain"),
))]
async fn readyz(control: Data<dyn Control>) -> HttpResponse {
    match control.ready() {
        Ok(()) => HttpResponse::Ok().content_type("text/plain; charset=utf-8").body("ready\n"),
        Err(why) => HttpResponse::ServiceUnavailable()
            .content_type("text/plain; charset=utf-8")
            .body(format!("not ready: {why}\n")),
    }
}

/// All metrics as OpenMetrics text.
#[utoipa::path(get, path = "/metrics", tag = "probes", responses(
    (status = 200, body = String, content_type = "application/openmetrics-text"),
))]
async fn metrics(control: Data<dyn Control>) -> HttpResponse {
    HttpResponse::Ok().content_type(CONTENT_TYPE).body(control.metrics_text())
}
