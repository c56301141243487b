//! Every route with what answers it, the description of all (`/api/openapi.json`), and the answers to a path or method that is
//! not there.

use actix_web::dev::Handler;
use actix_web::http::StatusCode;
use actix_web::http::header::{self, HeaderValue};
use actix_web::web::{self, Data, ServiceConfig};
use actix_web::{FromRequest, HttpResponse, Resource, Responder, ResponseError};
use utoipa::OpenApi as _;
use utoipa::openapi::OpenApi;

use super::problem::{Answer, Problem};
use super::{
    actors, crawl, events, holders, hosts, jobs, orders, pages, paging, pipeline, probes, reports, retry, settings,
    statistics, ui, url_lists, urls, why_idle,
};
use crate::telemetry::events::{Event, EventKind, StateChange};
use crate::telemetry::metrics::ActorKind;

#[derive(utoipa::OpenApi)]
#[openapi(
    info(
        title = "Lycosa",
        description = "The admin endpoint of a running crawl. Errors are problem details (RFC 9457)."
    ),
    paths(
        ui::page,
        probes::healthz,
        probes::readyz,
        probes::metrics,
        crawl::status,
        crawl::add_seeds,
        crawl::pause,
        crawl::resume,
        crawl::drain,
        crawl::stop,
        crawl::checkpoint,
        crawl::checkpoints,
        events::listen,
        jobs::jobs,
        jobs::job,
        jobs::cancel,
        pipeline::pipeline,
        settings::settings,
        settings::change,
        settings::history,
        settings::undo,
        settings::trial,
        settings::set_host,
        settings::forget_host,
        settings::readmit,
        urls::look_up,
        urls::explain,
        url_lists::rejected,
        url_lists::failed,
        retry::retry,
        why_idle::why_idle,
        hosts::hosts,
        hosts::host,
        hosts::robots,
        orders::pause,
        orders::resume,
        orders::drop_queue,
        orders::block,
        orders::unblock,
        orders::recrawl,
        orders::delay,
        actors::actors,
        actors::restart,
        pages::pages,
        pages::page,
        pages::snapshot::snapshot,
        statistics::statistics,
        reports::dead_links,
        reports::seeds,
        reports::hosts,
        reports::statuses,
        reports::types,
        holders::held,
        holders::find,
    ),
    components(schemas(ActorKind, Event, EventKind, Problem, StateChange, paging::Format, settings::HostRulesView))
)]
struct Doc;

/// The description of all routes.
pub(super) fn describe() -> OpenApi {
    let mut doc = Doc::openapi();
    super::parameters::describe(&mut doc);
    doc
}

/// Adds all routes, and the answer for unknown paths.
pub(super) fn configure(app: &mut ServiceConfig) {
    ui::files(app);
    app.service(getting("/", ui::page))
        .service(getting("/healthz", probes::healthz))
        .service(getting("/readyz", probes::readyz))
        .service(getting("/metrics", probes::metrics))
        .service(getting("/api/openapi.json", openapi))
        .service(getting("/api/v1/status", crawl::status))
        .service(posting("/api/v1/seeds", crawl::add_seeds))
        .service(posting("/api/v1/pause", crawl::pause))
        .service(posting("/api/v1/resume", crawl::resume))
        .service(posting("/api/v1/drain", crawl::drain))
        .service(posting("/api/v1/stop", crawl::stop))
        .service(posting("/api/v1/checkpoint", crawl::checkpoint))
        .service(getting("/api/v1/checkpoints", crawl::checkpoints))
        .service(getting("/api/v1/events", events::listen))
        .service(getting("/api/v1/jobs", jobs::jobs))
        .service(
            resource("/api/v1/jobs/{id}", "GET or DELETE")
                .route(web::get().to(jobs::job))
                .route(web::delete().to(jobs::cancel)),
        )
        .service(getting("/api/v1/pipeline", pipeline::pipeline))
        .service(
            resource("/api/v1/settings", "GET or PATCH")
                .route(web::get().to(settings::settings))
                .route(web::patch().to(settings::change)),
        )
        .service(getting("/api/v1/settings/history", settings::history))
        .service(posting("/api/v1/settings/undo", settings::undo))
        .service(posting("/api/v1/settings/dry-run", settings::trial))
        .service(
            resource("/api/v1/settings/hosts/{pattern}", "PUT or DELETE")
                .route(web::put().to(settings::set_host))
                .route(web::delete().to(settings::forget_host)),
        )
        .service(posting("/api/v1/urls/readmit", settings::readmit))
        .service(getting("/api/v1/urls", urls::look_up))
        .service(getting("/api/v1/explain", urls::explain))
        .service(getting("/api/v1/urls/rejected", url_lists::rejected))
        .service(getting("/api/v1/urls/failed", url_lists::failed))
        .service(posting("/api/v1/urls/retry", retry::retry))
        .service(getting("/api/v1/why-idle", why_idle::why_idle))
        .service(getting("/api/v1/hosts", hosts::hosts))
        .service(getting("/api/v1/hosts/{host}", hosts::host))
        .service(getting("/api/v1/hosts/{host}/robots", hosts::robots))
        .service(posting("/api/v1/hosts/{host}/pause", orders::pause))
        .service(posting("/api/v1/hosts/{host}/resume", orders::resume))
        .service(posting("/api/v1/hosts/{host}/drop", orders::drop_queue))
        .service(posting("/api/v1/hosts/{host}/block", orders::block))
        .service(posting("/api/v1/hosts/{host}/unblock", orders::unblock))
        .service(posting("/api/v1/hosts/{host}/recrawl", orders::recrawl))
        .service(resource("/api/v1/hosts/{host}/delay", "PUT").route(web::put().to(orders::delay)))
        .service(getting("/api/v1/actors", actors::actors))
        .service(posting("/api/v1/actors/{kind}/{instance}/restart", actors::restart))
        .service(getting("/api/v1/pages", pages::pages))
        .service(getting("/api/v1/page", pages::page))
        .service(getting("/api/v1/snapshot", pages::snapshot::snapshot))
        .service(getting("/api/v1/statistics", statistics::statistics))
        .service(getting("/api/v1/reports/dead-links", reports::dead_links))
        .service(getting("/api/v1/reports/seeds", reports::seeds))
        .service(getting("/api/v1/reports/hosts", reports::hosts))
        .service(getting("/api/v1/reports/statuses", reports::statuses))
        .service(getting("/api/v1/reports/types", reports::types))
        .service(
            resource("/api/v1/reports/dead-links/holders", "GET or POST")
                .route(web::get().to(holders::held))
                .route(web::post().to(holders::find)),
        )
        .default_service(web::to(unknown));
}

async fn openapi(doc: Data<OpenApi>) -> HttpResponse {
    HttpResponse::Ok().json(&**doc)
}

async fn unknown(doc: Data<OpenApi>) -> Answer {
    let paths: Vec<&str> = doc.paths.paths.keys().map(String::as_str).collect();
    Err(Problem::new(StatusCode::NOT_FOUND, format!("there is no such path; there are {}", paths.join(" "))))
}

/// A path that is only read.
pub(super) fn getting<Args, F>(path: &str, handler: F) -> Resource
where
    Args: FromRequest + 'static,
    F: Handler<Args, Output: Responder + 'static>,
{
    resource(path, "GET").route(web::get().to(handler))
}

/// A path that only takes commands.
fn posting<Args, F>(path: &str, handler: F) -> Resource
where
    Args: FromRequest + 'static,
    F: Handler<Args, Output: Responder + 'static>,
{
    resource(path, "POST").route(web::post().to(handler))
}

/// A path with the methods that are named in `allowed`.
fn resource(path: &str, allowed: &'static str) -> Resource {
    web::resource(path).default_service(web::to(move || wrong_method(allowed)))
}

/// Names the methods also for machines (RFC 9110 section 15.5.6).
async fn wrong_method(allowed: &'static str) -> HttpResponse {
    let mut answer = Problem::new(StatusCode::METHOD_NOT_ALLOWED, format!("use {allowed} here")).error_response();
    if let Ok(methods) = HeaderValue::from_str(&allowed.replace(" or ", ", ")) {
        answer.headers_mut().insert(header::ALLOW, methods);
    }
    answer
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    #[test]
    fn what_is_described_is_routed_and_what_is_routed_is_described() {
        let doc = super::describe();
        let described: BTreeSet<&str> = doc.paths.paths.keys().map(String::as_str).collect();
        let code = include_str!("routes.rs").split("#[cfg(test)]").next().unwrap();
        let texts = code.split("(\"/").skip(1).filter_map(|rest| rest.split('"').next());
        let routed: Vec<String> =
            texts.map(|path| format!("/{path}")).filter(|path| path != "/api/openapi.json").collect();
        assert_eq!(routed.iter().map(String::as_str).collect::<BTreeSet<_>>(), described);
        if let Ok(out) = std::env::var("OPENAPI_OUT") {
            std::fs::write(out, serde_json::to_string_pretty(&doc).unwrap()).unwrap();
        }
    }
}
