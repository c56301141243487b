//! URLs turned away, and URLs given up: listed by reason and host, a page at a time.

pub mod query;

use actix_web::web::{self, Data};
use actix_web::{HttpRequest, HttpResponse};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, OpenApi, ToSchema};

use crate::admin::body::query;
use crate::admin::bounded::reading;
use crate::admin::csv::{Row, some};
use crate::admin::paging::Paging;
use crate::admin::problem::Problem;
use crate::admin::reports::{DeadLink, Format, csv};
use crate::admin::room::{Room, getting};
use crate::crawl::node::Node;

/// A URL turned away.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RejectedUrl {
    /// The URL.
    pub url: String,
    /// Why.
    pub reason: String,
    /// The page it was found on; none of a seed.
    pub via: Option<String>,
    /// Links from the nearest seed, on the shortest path known.
    pub depth: u16,
    /// The generation of rules that said so.
    pub generation: u32,
}

/// One page of a list of URLs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct UrlPage<T> {
    /// The URLs: those of one host stand together.
    pub items: Vec<T>,
    /// The cursor of the next page; none when this is the last. A page may be short, or empty, and have a next one.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub next: Option<String>,
    /// URLs looked at for this answer.
    pub looked_at: u64,
}

/// Which URLs.
#[derive(Clone, Debug, Default)]
pub struct Which {
    /// Those of this reason.
    pub reason: Option<String>,
    /// Those of this host.
    pub host: Option<String>,
}

/// Which URLs, which part of them, and how they are written.
#[derive(Clone, Debug, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct ListQuery {
    /// Only those of this reason: of rejected URLs one of `rejected_by_reason` of the status, such as `scope`; of failed ones
    /// one of `errors_by_reason`, or a group of them: `timeout`, `dns`, `connect`, `tls`, `status`.
    #[param(example = "scope")]
    reason: Option<String>,
    /// Only those of this host.
    host: Option<String>,
    /// At most so many: 50 by itself, 1000 at most.
    #[param(minimum = 1, maximum = 1000)]
    limit: Option<usize>,
    /// Where to go on: `next` of the page before.
    cursor: Option<String>,
    /// `json` or `csv`.
    #[serde(default)]
    #[param(inline)]
    format: Format,
}

impl ListQuery {
    fn parts(self) -> (Which, Paging, Format) {
        let Self { reason, host, limit, cursor, format } = self;
        (Which { reason, host }, Paging { limit, cursor }, format)
    }
}

impl Row for RejectedUrl {
    const NAMES: &'static [&'static str] = &["url", "reason", "via", "depth", "generation"];

    fn fields(&self) -> Vec<String> {
        let (via, depth, generation) = (some(self.via.as_ref()), self.depth.to_string(), self.generation.to_string());
        vec![self.url.clone(), self.reason.clone(), via, depth, generation]
    }
}

#[derive(OpenApi)]
#[openapi(paths(rejected, failed))]
struct Doc;

/// The room.
#[must_use]
pub(super) fn room() -> Room {
    Room::new(Doc::openapi(), |app| {
        app.service(getting("/api/v1/urls/rejected").route(web::get().to(rejected)))
            .service(getting("/api/v1/urls/failed").route(web::get().to(failed)));
    })
}

fn page<R: Row + Serialize>(page: &UrlPage<R>, format: Format) -> HttpResponse {
    match format {
        Format::Json => HttpResponse::Ok().json(page),
        Format::Csv => csv(&page.items, page.next.as_deref()),
    }
}

/// URLs turned away, by reason and host; those of one host stand together. Kept while `scope.record_rejected` is on.
#[utoipa::path(get, path = "/api/v1/urls/rejected", tag = "urls", params(ListQuery), responses(
    (status = 200, content((UrlPage<RejectedUrl> = "application/json"), (String = "text/csv"))),
    (status = 400, body = Problem, content_type = "application/problem+json"),
    (status = 503, body = Problem, content_type = "application/problem+json"),
))]
async fn rejected(request: HttpRequest, node: Data<Node>) -> Result<HttpResponse, Problem> {
    let (which, paging, format) = query::<ListQuery>(&request)?.parts();
    Ok(page(&reading(move || query::rejected(&node, &which, &paging)).await?, format))
}

/// URLs that ended in an error, by reason and host, those included that failed on this machine's own account.
#[utoipa::path(get, path = "/api/v1/urls/failed", tag = "urls", params(ListQuery), responses(
    (status = 200, content((UrlPage<DeadLink> = "application/json"), (String = "text/csv"))),
    (status = 400, body = Problem, content_type = "application/problem+json"),
    (status = 503, body = Problem, content_type = "application/problem+json"),
))]
async fn failed(request: HttpRequest, node: Data<Node>) -> Result<HttpResponse, Problem> {
    let (which, paging, format) = query::<ListQuery>(&request)?.parts();
    Ok(page(&reading(move || query::failed(&node, &which, &paging)).await?, format))
}
