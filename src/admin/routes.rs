//! Every route with what answers it, the description of all (`/api/openapi.json`), and the answers to a path or method that is
//! not there.

use actix_web::dev::Handler;
#[cfg(feature = "cluster")]
use actix_web::http::Method;
use actix_web::http::StatusCode;
use actix_web::http::header::{self, HeaderValue};
use actix_web::web::{self, Data, ServiceConfig};
use actix_web::{FromRequest, HttpResponse, Resource, Responder, ResponseError};
use utoipa::OpenApi as _;
use utoipa::openapi::OpenApi;

#[cfg(feature = "cluster")]
use super::members::Class;
use super::problem::{Answer, Problem};
use super::{
    across, actors, crawl, credit, erasures, events, exports, feed, holders, hosts, index, jobs, nodes, orders, pages,
    paging, pipeline, probes, reports, rerank, retry, schedule, search, settings, sinks, statistics, ui, url_lists,
    urls, why_idle,
};
use crate::telemetry::events::{Event, EventKind, StateChange};
use crate::telemetry::metrics::ActorKind;

/// Describes every path, and routes it: its methods, each with who answers among several members, and what answers there.
macro_rules! routes {
    ($($path:literal => $($method:ident $class:ident $($handler:ident)::+),+;)*) => {
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

        /// Who answers among several members; a path that is not here is told so by whoever is asked.
        #[cfg(feature = "cluster")]
        pub(super) fn class(path: &str, method: &Method) -> Class {
            let (path, method) = (path, method.as_str().to_ascii_lowercase());
            match (path, method.as_str()) {
                $($(($path, stringify!($method)) => Class::$class,)+)*
                _ => Class::Own,
            }
        }

        #[cfg(test)]
        const ROUTED: &[&str] = &[$($path),*];
    };
}

routes! {
    "/" => get Own ui::page;
    "/healthz" => get Own probes::healthz;
    "/readyz" => get Own probes::readyz;
    "/metrics" => get Own probes::metrics;
    "/api/v1/status" => get Sum crawl::status;
    "/api/v1/seeds" => post Own crawl::add_seeds;
    "/api/v1/pause" => post Each crawl::pause;
    "/api/v1/resume" => post Each crawl::resume;
    "/api/v1/drain" => post Each crawl::drain;
    "/api/v1/stop" => post Each crawl::stop;
    "/api/v1/checkpoint" => post Own crawl::checkpoint;
    "/api/v1/checkpoints" => get Own crawl::checkpoints;
    "/api/v1/events" => get Own events::listen;
    "/api/v1/jobs" => get Sum jobs::jobs;
    "/api/v1/jobs/{id}" => get Own jobs::job, delete Own jobs::cancel;
    "/api/v1/pipeline" => get Own pipeline::pipeline;
    "/api/v1/settings" => get Own settings::settings, patch Settings settings::change;
    "/api/v1/settings/history" => get Own settings::history;
    "/api/v1/settings/undo" => post Settings settings::undo;
    "/api/v1/settings/dry-run" => post Own settings::trial;
    "/api/v1/settings/hosts/{pattern}" => put Settings settings::set_host, delete Settings settings::forget_host;
    "/api/v1/urls/readmit" => post Each settings::readmit;
    "/api/v1/urls/rerank" => post Each rerank::rerank;
    "/api/v1/urls" => get Owner urls::look_up;
    "/api/v1/explain" => get Owner urls::explain;
    "/api/v1/urls/rejected" => get List url_lists::rejected;
    "/api/v1/urls/failed" => get List url_lists::failed;
    "/api/v1/urls/retry" => post Each retry::retry;
    "/api/v1/urls/visit" => post Each schedule::visit;
    "/api/v1/credit" => get Sum credit::credit;
    "/api/v1/schedule" => get Owner schedule::schedule;
    "/api/v1/schedule/due" => get List schedule::due;
    "/api/v1/schedule/hosts" => get List schedule::hosts;
    "/api/v1/schedule/reschedule" => post Each schedule::reschedule;
    "/api/v1/why-idle" => get Sum why_idle::why_idle;
    "/api/v1/hosts" => get List hosts::hosts;
    "/api/v1/hosts/{host}" => get Owner hosts::host;
    "/api/v1/hosts/{host}/robots" => get Owner hosts::robots;
    "/api/v1/hosts/{host}/pause" => post Owner orders::pause;
    "/api/v1/hosts/{host}/resume" => post Owner orders::resume;
    "/api/v1/hosts/{host}/drop" => post Owner orders::drop_queue;
    "/api/v1/hosts/{host}/block" => post Owner orders::block;
    "/api/v1/hosts/{host}/unblock" => post Owner orders::unblock;
    "/api/v1/hosts/{host}/recrawl" => post Owner orders::recrawl;
    "/api/v1/hosts/{host}/delay" => put Owner orders::delay;
    "/api/v1/erasures" => get Sum erasures::list;
    "/api/v1/erasures/{id}" => get Own erasures::certificate;
    "/api/v1/nodes" => get Own nodes::nodes;
    "/api/v1/nodes/{name}/dead" => post Own nodes::dead;
    "/api/v1/nodes/{name}/leave" => post Own nodes::leave;
    "/api/v1/actors" => get Own actors::actors;
    "/api/v1/actors/{kind}/{instance}/restart" => post Own actors::restart;
    "/api/v1/pages" => get List pages::pages;
    "/api/v1/page" => get Owner pages::page;
    "/api/v1/diff" => get Owner pages::diff::diff;
    "/api/v1/snapshot" => get Owner pages::snapshot::snapshot;
    "/api/v1/feed" => get Own feed::feed;
    "/api/v1/feed/consumers" => get Own feed::consumers;
    "/api/v1/search" => get Own search::search;
    "/api/v1/links" => get Own search::links;
    "/api/v1/index" => get Own index::status;
    "/api/v1/index/rebuild" => post Own index::rebuild;
    "/api/v1/feed/consumers/{name}" => get Own feed::consumer, put Own feed::acknowledge, delete Own feed::forget;
    "/api/v1/sinks" => get Own sinks::sinks;
    "/api/v1/exports" => get Own exports::list, post Own exports::begin;
    "/api/v1/exports/{name}" => get Own exports::download;
    "/api/v1/statistics" => get Sum statistics::statistics;
    "/api/v1/reports/dead-links" => get List reports::dead_links;
    "/api/v1/reports/seeds" => get List reports::seeds;
    "/api/v1/reports/hosts" => get List reports::hosts;
    "/api/v1/reports/statuses" => get Sum reports::statuses;
    "/api/v1/reports/types" => get Sum reports::types;
    "/api/v1/reports/changes" => get List reports::changes::changes;
    "/api/v1/reports/freshness" => post Own schedule::freshness;
    "/api/v1/reports/near-duplicates" => get List reports::near::near_duplicates;
    "/api/v1/reports/near-duplicates/groups" => get List reports::groups::near_groups;
    "/api/v1/reports/near-duplicates/across" => get Own across::told, post Own across::find;
    "/api/v1/reports/dead-links/holders" => get Own holders::held, post Own holders::find;
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
