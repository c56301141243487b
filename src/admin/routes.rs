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
    across, actors, crawl, credit, erasures, events, exports, feed, holders, hosts, index, jobs, nodes, orders, pages,
    paging, pipeline, probes, reports, rerank, retry, schedule, search, settings, sinks, statistics, ui, url_lists,
    urls, why_idle,
};
use crate::telemetry::events::{Event, EventKind, StateChange};
use crate::telemetry::metrics::ActorKind;

/// Describes every path, and routes it: its methods, each with what answers.
macro_rules! routes {
    ($($path:literal => $($method:ident $($handler:ident)::+),+;)*) => {
        #[derive(utoipa::OpenApi)]
        #[openapi(
            info(
                title = "Lycosa",
                description = "The admin endpoint of a running crawl. Errors are problem details (RFC 9457). While a host is erased \
                               everything is answered by 503, with how far that is as `erasing` beside the problem."
            ),
            paths($($($($handler)::+,)+)*),
            components(schemas(ActorKind, Event, EventKind, Problem, StateChange, paging::Format, settings::HostRulesView))
        )]
        struct Doc;

        fn route(app: &mut ServiceConfig) {
            $(
                let path = resource($path, &[$(stringify!($method)),+]);
                app.service(path$(.route(web::$method().to($($handler)::+)))+);
            )*
        }

        #[cfg(test)]
        const ROUTED: &[&str] = &[$($path),*];
    };
}

routes! {
    "/" => get ui::page;
    "/healthz" => get probes::healthz;
    "/readyz" => get probes::readyz;
    "/metrics" => get probes::metrics;
    "/api/v1/status" => get crawl::status;
    "/api/v1/seeds" => post crawl::add_seeds;
    "/api/v1/pause" => post crawl::pause;
    "/api/v1/resume" => post crawl::resume;
    "/api/v1/drain" => post crawl::drain;
    "/api/v1/stop" => post crawl::stop;
    "/api/v1/checkpoint" => post crawl::checkpoint;
    "/api/v1/checkpoints" => get crawl::checkpoints;
    "/api/v1/events" => get events::listen;
    "/api/v1/jobs" => get jobs::jobs;
    "/api/v1/jobs/{id}" => get jobs::job, delete jobs::cancel;
    "/api/v1/pipeline" => get pipeline::pipeline;
    "/api/v1/settings" => get settings::settings, patch settings::change;
    "/api/v1/settings/history" => get settings::history;
    "/api/v1/settings/undo" => post settings::undo;
    "/api/v1/settings/dry-run" => post settings::trial;
    "/api/v1/settings/hosts/{pattern}" => put settings::set_host, delete settings::forget_host;
    "/api/v1/urls/readmit" => post settings::readmit;
    "/api/v1/urls/rerank" => post rerank::rerank;
    "/api/v1/urls" => get urls::look_up;
    "/api/v1/explain" => get urls::explain;
    "/api/v1/urls/rejected" => get url_lists::rejected;
    "/api/v1/urls/failed" => get url_lists::failed;
    "/api/v1/urls/retry" => post retry::retry;
    "/api/v1/urls/visit" => post schedule::visit;
    "/api/v1/credit" => get credit::credit;
    "/api/v1/schedule" => get schedule::schedule;
    "/api/v1/schedule/due" => get schedule::due;
    "/api/v1/schedule/hosts" => get schedule::hosts;
    "/api/v1/schedule/reschedule" => post schedule::reschedule;
    "/api/v1/why-idle" => get why_idle::why_idle;
    "/api/v1/hosts" => get hosts::hosts;
    "/api/v1/hosts/{host}" => get hosts::host;
    "/api/v1/hosts/{host}/robots" => get hosts::robots;
    "/api/v1/hosts/{host}/pause" => post orders::pause;
    "/api/v1/hosts/{host}/resume" => post orders::resume;
    "/api/v1/hosts/{host}/drop" => post orders::drop_queue;
    "/api/v1/hosts/{host}/block" => post orders::block;
    "/api/v1/hosts/{host}/unblock" => post orders::unblock;
    "/api/v1/hosts/{host}/recrawl" => post orders::recrawl;
    "/api/v1/hosts/{host}/delay" => put orders::delay;
    "/api/v1/erasures" => get erasures::list;
    "/api/v1/erasures/{id}" => get erasures::certificate;
    "/api/v1/nodes" => get nodes::nodes;
    "/api/v1/nodes/{name}/dead" => post nodes::dead;
    "/api/v1/nodes/{name}/leave" => post nodes::leave;
    "/api/v1/actors" => get actors::actors;
    "/api/v1/actors/{kind}/{instance}/restart" => post actors::restart;
    "/api/v1/pages" => get pages::pages;
    "/api/v1/page" => get pages::page;
    "/api/v1/diff" => get pages::diff::diff;
    "/api/v1/snapshot" => get pages::snapshot::snapshot;
    "/api/v1/feed" => get feed::feed;
    "/api/v1/feed/consumers" => get feed::consumers;
    "/api/v1/search" => get search::search;
    "/api/v1/links" => get search::links;
    "/api/v1/index" => get index::status;
    "/api/v1/index/rebuild" => post index::rebuild;
    "/api/v1/feed/consumers/{name}" => get feed::consumer, put feed::acknowledge, delete feed::forget;
    "/api/v1/sinks" => get sinks::sinks;
    "/api/v1/exports" => get exports::list, post exports::begin;
    "/api/v1/exports/{name}" => get exports::download;
    "/api/v1/statistics" => get statistics::statistics;
    "/api/v1/reports/dead-links" => get reports::dead_links;
    "/api/v1/reports/seeds" => get reports::seeds;
    "/api/v1/reports/hosts" => get reports::hosts;
    "/api/v1/reports/statuses" => get reports::statuses;
    "/api/v1/reports/types" => get reports::types;
    "/api/v1/reports/changes" => get reports::changes::changes;
    "/api/v1/reports/freshness" => post schedule::freshness;
    "/api/v1/reports/near-duplicates" => get reports::near::near_duplicates;
    "/api/v1/reports/near-duplicates/groups" => get reports::groups::near_groups;
    "/api/v1/reports/near-duplicates/across" => get across::told, post across::find;
    "/api/v1/reports/dead-links/holders" => get holders::held, post holders::find;
}

/// The description of all routes.
pub(super) fn describe() -> OpenApi {
    let mut doc = Doc::openapi();
    super::parameters::describe(&mut doc);
    doc
}

/// Adds all routes, and the answer for unknown paths.
pub(super) fn configure(app: &mut ServiceConfig) {
    ui::files(app);
    route(app);
    app.service(getting("/api/openapi.json", openapi)).default_service(web::to(unknown));
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
    resource(path, &["get"]).route(web::get().to(handler))
}

/// A path with these methods.
fn resource(path: &str, methods: &'static [&'static str]) -> Resource {
    web::resource(path).default_service(web::to(move || wrong_method(methods)))
}

/// Names the methods also for machines (RFC 9110 section 15.5.6).
async fn wrong_method(methods: &'static [&'static str]) -> HttpResponse {
    let names: Vec<String> = methods.iter().map(|method| method.to_ascii_uppercase()).collect();
    let detail = format!("use {} here", names.join(" or "));
    let mut answer = Problem::new(StatusCode::METHOD_NOT_ALLOWED, detail).error_response();
    if let Ok(names) = HeaderValue::from_str(&names.join(", ")) {
        answer.headers_mut().insert(header::ALLOW, names);
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
        assert_eq!(super::ROUTED.iter().copied().collect::<BTreeSet<_>>(), described);
        if let Ok(out) = std::env::var("OPENAPI_OUT") {
            std::fs::write(out, serde_json::to_string_pretty(&doc).unwrap()).unwrap();
        }
    }
}
