//! For machines: health, readiness, metrics.

use actix_web::http::header;
use actix_web::web::Data;
use actix_web::{HttpRequest, HttpResponse, Responder};

use super::control::Control;
use crate::telemetry::metrics::Form;

/// 200 while the process runs; needs no token.
#[utoipa::path(get, path = "/healthz", tag = "probes", responses((status = 200, body = String, content_type = "text/plain")))]
pub(super) async fn healthz() -> impl Responder {
    "ok\n"
}

/// 200 when it takes work, else 503 with the reason; needs no token.
#[utoipa::path(get, path = "/readyz", tag = "probes", responses(
    (status = 200, body = String, content_type = "text/plain"),
    (status = 503, body = String, content_type = "text/plain"),
))]
pub(super) async fn readyz(control: Data<dyn Control>) -> HttpResponse {
    match control.ready() {
        Ok(()) => HttpResponse::Ok().content_type("text/plain; charset=utf-8").body("ready\n"),
        Err(why) => HttpResponse::ServiceUnavailable()
            .content_type("text/plain; charset=utf-8")
            .body(format!("not ready: {why}\n")),
    }
}

/// All metrics, as Prometheus text, or as OpenMetrics text when `Accept` prefers it.
#[utoipa::path(get, path = "/metrics", tag = "probes", responses(
    (status = 200, content((String = "text/plain"), (String = "application/openmetrics-text"))),
))]
pub(super) async fn metrics(request: HttpRequest, control: Data<dyn Control>) -> HttpResponse {
    let accept: Vec<&str> = request.headers().get_all(header::ACCEPT).filter_map(|value| value.to_str().ok()).collect();
    let form = Form::accepted((!accept.is_empty()).then(|| accept.join(",")).as_deref());
    HttpResponse::Ok()
        .content_type(form.content_type())
        .insert_header((header::VARY, "Accept"))
        .body(form.write(control.metrics_text()))
}
