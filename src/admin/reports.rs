//! Reports: dead links, seeds, hosts, statuses, media types; as JSON, or as CSV for spreadsheets.

use std::sync::Arc;

use actix_web::web::{self, Data};
use actix_web::{HttpRequest, HttpResponse};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, OpenApi, ToSchema};

use super::body::query;
use super::bounded::reading;
use super::control::ControlError;
use super::csv::{Row, some, table};
use super::orders::OrdersView;
use super::paging::{Page, Paging};
use super::problem::Problem;
use super::room::{Room, getting};
use crate::domain::time::UnixMillis;
use crate::warc::date::iso;

/// A URL that was given up.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct DeadLink {
    /// The URL.
    pub url: String,
    /// Why.
    pub reason: String,
    /// The status of the last answer, if there was one.
    pub status: Option<u16>,
    /// When it was given up, milliseconds since 1970.
    #[schema(value_type = u64)]
    pub when: UnixMillis,
    /// Fetches that failed.
    pub attempts: u8,
    /// The page it was first found on; others may hold it too.
    pub page: Option<String>,
    /// The seed it goes back to.
    pub seed: Option<String>,
}

/// A seed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SeedLine {
    /// The seed.
    pub url: String,
    /// `waiting`, `done`, `error` or `rejected`.
    pub state: String,
    /// How it ended, or why.
    pub reason: Option<String>,
    /// When it was added, milliseconds since 1970.
    #[schema(value_type = u64)]
    pub added: UnixMillis,
    /// Its own place in the queue.
    pub rank: Option<u8>,
    /// How many links are followed from it.
    pub max_depth: Option<u16>,
    /// What it is called.
    pub tags: Vec<String>,
}

/// A host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct HostLine {
    /// Its name.
    pub host: String,
    /// URLs in its queue.
    pub queued: u64,
    /// URLs that wait for their next try.
    pub retries: u64,
    /// URLs done.
    pub done: u64,
    /// URLs given up.
    pub errors: u64,
    /// Bytes of bodies.
    pub bytes: u64,
    /// What the operator has said of it.
    pub orders: OrdersView,
}

/// Answers with one status.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct StatusLine {
    /// The status.
    pub status: u16,
    /// Captures.
    pub captures: u64,
}

/// Captures of one media type.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TypeLine {
    /// The type; `unknown` without one, `other` for those that are not counted by name.
    pub media_type: String,
    /// Captures.
    pub captures: u64,
    /// Bytes of their bodies.
    pub bytes: u64,
}

impl Row for DeadLink {
    const NAMES: &'static [&'static str] = &["url", "reason", "status", "when", "attempts", "page", "seed"];

    fn fields(&self) -> Vec<String> {
        let (url, reason, when) = (self.url.clone(), self.reason.clone(), iso(self.when));
        let (page, seed) = (some(self.page.as_ref()), some(self.seed.as_ref()));
        vec![url, reason, some(self.status.as_ref()), when, self.attempts.to_string(), page, seed]
    }
}

impl Row for SeedLine {
    const NAMES: &'static [&'static str] = &["url", "state", "reason", "added", "rank", "max_depth", "tags"];

    fn fields(&self) -> Vec<String> {
        let (rank, depth) = (some(self.rank.as_ref()), some(self.max_depth.as_ref()));
        let reason = some(self.reason.as_ref());
        vec![self.url.clone(), self.state.clone(), reason, iso(self.added), rank, depth, self.tags.join(" ")]
    }
}

impl Row for HostLine {
    const NAMES: &'static [&'static str] =
        &["host", "queued", "retries", "done", "errors", "bytes", "paused", "blocked", "min_delay_ms"];

    fn fields(&self) -> Vec<String> {
        let since = |at: Option<UnixMillis>| at.map(iso).unwrap_or_default();
        let numbers = [self.queued, self.retries, self.done, self.errors, self.bytes].map(|n| n.to_string());
        let orders = [since(self.orders.paused), since(self.orders.blocked), some(self.orders.min_delay_ms.as_ref())];
        [vec![self.host.clone()], numbers.to_vec(), orders.to_vec()].concat()
    }
}

impl Row for StatusLine {
    const NAMES: &'static [&'static str] = &["status", "captures"];

    fn fields(&self) -> Vec<String> {
        vec![self.status.to_string(), self.captures.to_string()]
    }
}

impl Row for TypeLine {
    const NAMES: &'static [&'static str] = &["media_type", "captures", "bytes"];

    fn fields(&self) -> Vec<String> {
        vec![self.media_type.clone(), self.captures.to_string(), self.bytes.to_string()]
    }
}

/// The crawl that is reported of. Each look is bounded by its paging.
pub trait Reports: Send + Sync {
    /// URLs given up, in the order of their keys; of one host, or of all.
    fn dead_links(&self, host: Option<&str>, paging: &Paging) -> Result<Page<DeadLink>, ControlError>;
    /// Seeds.
    fn seeds(&self, paging: &Paging) -> Result<Page<SeedLine>, ControlError>;
    /// Hosts.
    fn hosts(&self, paging: &Paging) -> Result<Page<HostLine>, ControlError>;
    /// Answers by status.
    fn statuses(&self) -> Vec<StatusLine>;
    /// Captures by media type.
    fn types(&self) -> Vec<TypeLine>;
}

/// How a report is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum Format {
    /// JSON.
    #[default]
    Json,
    /// RFC 4180; the next page's cursor is in the header `X-Next-Cursor`.
    Csv,
}

/// Which part of a report, and how.
#[derive(Clone, Debug, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct Which {
    /// At most so many lines: 50 by itself, 1000 at most.
    #[param(minimum = 1, maximum = 1000)]
    limit: Option<usize>,
    /// Where to go on: `next` of the page before.
    cursor: Option<String>,
    /// `json` or `csv`.
    #[serde(default)]
    #[param(inline)]
    format: Format,
}

/// The same for dead links.
#[derive(Clone, Debug, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct WhichLinks {
    /// Links to this host alone.
    host: Option<String>,
    /// At most so many lines: 50 by itself, 1000 at most.
    #[param(minimum = 1, maximum = 1000)]
    limit: Option<usize>,
    /// Where to go on: `next` of the page before.
    cursor: Option<String>,
    /// `json` or `csv`.
    #[serde(default)]
    #[param(inline)]
    format: Format,
}

/// How a report is written.
#[derive(Clone, Debug, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct How {
    /// `json` or `csv`.
    #[serde(default)]
    #[param(inline)]
    format: Format,
}

#[derive(OpenApi)]
#[openapi(paths(dead_links, seeds, hosts, statuses, types), components(schemas(Format)))]
struct Doc;

type Crawl = Data<dyn Reports>;
type Answer = Result<HttpResponse, Problem>;

/// The room.
pub fn room(crawl: Arc<dyn Reports>) -> Room {
    let crawl: Crawl = Data::from(crawl);
    Room::new(Doc::openapi(), move |app| {
        app.app_data(crawl.clone())
            .service(getting("/api/v1/reports/dead-links").route(web::get().to(dead_links)))
            .service(getting("/api/v1/reports/seeds").route(web::get().to(seeds)))
            .service(getting("/api/v1/reports/hosts").route(web::get().to(hosts)))
            .service(getting("/api/v1/reports/statuses").route(web::get().to(statuses)))
            .service(getting("/api/v1/reports/types").route(web::get().to(types)));
    })
}

fn page<R: Row + Serialize>(page: &Page<R>, format: Format) -> HttpResponse {
    match format {
        Format::Json => HttpResponse::Ok().json(page),
        Format::Csv => csv(&page.items, page.next.as_deref()),
    }
}

fn list<R: Row + Serialize>(rows: &[R], format: Format) -> HttpResponse {
    match format {
        Format::Json => HttpResponse::Ok().json(rows),
        Format::Csv => csv(rows, None),
    }
}

fn csv<R: Row>(rows: &[R], next: Option<&str>) -> HttpResponse {
    let mut response = HttpResponse::Ok();
    if let Some(next) = next {
        response.insert_header(("X-Next-Cursor", next));
    }
    response.content_type("text/csv; charset=utf-8; header=present").body(table(rows))
}

/// URLs that ended in an error, with the page each was first found on.
#[utoipa::path(get, path = "/api/v1/reports/dead-links", tag = "reports", params(WhichLinks), responses(
    (status = 200, content((Page<DeadLink> = "application/json"), (String = "text/csv"))),
    (status = 400, body = Problem, content_type = "application/problem+json"),
    (status = 503, body = Problem, content_type = "application/problem+json"),
))]
async fn dead_links(request: HttpRequest, crawl: Crawl) -> Answer {
    let WhichLinks { host, limit, cursor, format } = query(&request)?;
    let found = reading(move || crawl.dead_links(host.as_deref(), &Paging { limit, cursor })).await?;
    Ok(page(&found, format))
}

/// Each seed, and what became of it.
#[utoipa::path(get, path = "/api/v1/reports/seeds", tag = "reports", params(Which), responses(
    (status = 200, content((Page<SeedLine> = "application/json"), (String = "text/csv"))),
    (status = 400, body = Problem, content_type = "application/problem+json"),
    (status = 503, body = Problem, content_type = "application/problem+json"),
))]
async fn seeds(request: HttpRequest, crawl: Crawl) -> Answer {
    let Which { limit, cursor, format } = query(&request)?;
    Ok(page(&reading(move || crawl.seeds(&Paging { limit, cursor })).await?, format))
}

/// Each host, and how far it is.
#[utoipa::path(get, path = "/api/v1/reports/hosts", tag = "reports", params(Which), responses(
    (status = 200, content((Page<HostLine> = "application/json"), (String = "text/csv"))),
    (status = 400, body = Problem, content_type = "application/problem+json"),
    (status = 503, body = Problem, content_type = "application/problem+json"),
))]
async fn hosts(request: HttpRequest, crawl: Crawl) -> Answer {
    let Which { limit, cursor, format } = query(&request)?;
    Ok(page(&reading(move || crawl.hosts(&Paging { limit, cursor })).await?, format))
}

/// Captures by the status of their answer.
#[utoipa::path(get, path = "/api/v1/reports/statuses", tag = "reports", params(How), responses(
    (status = 200, content((Vec<StatusLine> = "application/json"), (String = "text/csv"))),
    (status = 400, body = Problem, content_type = "application/problem+json"),
))]
async fn statuses(request: HttpRequest, crawl: Crawl) -> Answer {
    let How { format } = query(&request)?;
    Ok(list(&crawl.statuses(), format))
}

/// Captures by media type, counted since the folder has been written by a program that counts them.
#[utoipa::path(get, path = "/api/v1/reports/types", tag = "reports", params(How), responses(
    (status = 200, content((Vec<TypeLine> = "application/json"), (String = "text/csv"))),
    (status = 400, body = Problem, content_type = "application/problem+json"),
))]
async fn types(request: HttpRequest, crawl: Crawl) -> Answer {
    let How { format } = query(&request)?;
    Ok(list(&crawl.types(), format))
}
