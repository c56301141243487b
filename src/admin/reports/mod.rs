//! Reports: dead links, seeds, hosts, statuses, media types; as JSON, or as CSV for spreadsheets.

pub mod query;
mod rows;

use actix_web::web::{self, Data};
use actix_web::{HttpRequest, HttpResponse};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, OpenApi, ToSchema};

use super::body::query;
use super::bounded::reading;
use super::csv::{Row, table};
use super::paging::{Page, Paging};
use super::problem::Problem;
use super::room::{Room, getting};
use crate::crawl::node::Node;
pub use rows::{DeadLink, HostLine, SeedLine, StatusLine, TypeLine};

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
pub(in crate::admin) struct Which {
    /// At most so many lines: 50 by itself, 1000 at most.
    #[param(minimum = 1, maximum = 1000)]
    pub(in crate::admin) limit: Option<usize>,
    /// Where to go on: `next` of the page before.
    pub(in crate::admin) cursor: Option<String>,
    /// `json` or `csv`.
    #[serde(default)]
    #[param(inline)]
    pub(in crate::admin) format: Format,
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

type Answer = Result<HttpResponse, Problem>;

/// The room.
pub(in crate::admin) fn room() -> Room {
    Room::new(Doc::openapi(), |app| {
        app.service(getting("/api/v1/reports/dead-links").route(web::get().to(dead_links)))
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

/// Rows as a table; the next page's cursor goes in a header.
pub(in crate::admin) fn csv<R: Row>(rows: &[R], next: Option<&str>) -> HttpResponse {
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
async fn dead_links(request: HttpRequest, node: Data<Node>) -> Answer {
    let WhichLinks { host, limit, cursor, format } = query(&request)?;
    let found = reading(move || query::dead_links(&node, host.as_deref(), &Paging { limit, cursor })).await?;
    Ok(page(&found, format))
}

/// Each seed, and what became of it.
#[utoipa::path(get, path = "/api/v1/reports/seeds", tag = "reports", params(Which), responses(
    (status = 200, content((Page<SeedLine> = "application/json"), (String = "text/csv"))),
    (status = 400, body = Problem, content_type = "application/problem+json"),
    (status = 503, body = Problem, content_type = "application/problem+json"),
))]
async fn seeds(request: HttpRequest, node: Data<Node>) -> Answer {
    let Which { limit, cursor, format } = query(&request)?;
    Ok(page(&reading(move || query::seeds(&node, &Paging { limit, cursor })).await?, format))
}

/// Each host, and how far it is.
#[utoipa::path(get, path = "/api/v1/reports/hosts", tag = "reports", params(Which), responses(
    (status = 200, content((Page<HostLine> = "application/json"), (String = "text/csv"))),
    (status = 400, body = Problem, content_type = "application/problem+json"),
    (status = 503, body = Problem, content_type = "application/problem+json"),
))]
async fn hosts(request: HttpRequest, node: Data<Node>) -> Answer {
    let Which { limit, cursor, format } = query(&request)?;
    Ok(page(&reading(move || query::hosts(&node, &Paging { limit, cursor })).await?, format))
}

/// Captures by the status of their answer.
#[utoipa::path(get, path = "/api/v1/reports/statuses", tag = "reports", params(How), responses(
    (status = 200, content((Vec<StatusLine> = "application/json"), (String = "text/csv"))),
    (status = 400, body = Problem, content_type = "application/problem+json"),
))]
async fn statuses(request: HttpRequest, node: Data<Node>) -> Answer {
    let How { format } = query(&request)?;
    Ok(list(&query::statuses(&node), format))
}

/// Captures by media type.
#[utoipa::path(get, path = "/api/v1/reports/types", tag = "reports", params(How), responses(
    (status = 200, content((Vec<TypeLine> = "application/json"), (String = "text/csv"))),
    (status = 400, body = Problem, content_type = "application/problem+json"),
))]
async fn types(request: HttpRequest, node: Data<Node>) -> Answer {
    let How { format } = query(&request)?;
    Ok(list(&query::types(&node), format))
}
