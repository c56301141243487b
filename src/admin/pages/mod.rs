//! Pages: the list of captures, one page, and its snapshot.

pub mod query;
mod snapshot;
mod views;

use actix_web::HttpResponse;
use actix_web::web::{self, Data, Query};
use serde::Deserialize;
use tokio::sync::Semaphore;
use utoipa::{IntoParams, OpenApi};

use super::bounded::reading;
use super::paging::Paging;
use super::problem::Problem;
use super::room::{Room, getting};
use super::urls::UrlQuery;

use crate::crawl::node::Node;
pub use snapshot::{Form, Snapshot, SnapshotFault};
pub use views::{CapturePage, PageDetail};

/// Which captures.
#[derive(Clone, Debug, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct PageQuery {
    /// Only those of this host.
    pub host: Option<String>,
    /// Only those with this HTTP status.
    #[param(minimum = 100, maximum = 999)]
    pub status: Option<u16>,
    /// Only those of this media type, or of all that begin so (`image/`).
    pub mime: Option<String>,
    /// Only those of the last so many seconds.
    pub since: Option<u64>,
}

/// Which capture of a URL.
#[derive(Clone, Copy, Debug, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct AtQuery {
    /// The newest capture not after this, milliseconds since 1970; without it the newest of all.
    at: Option<u64>,
}

/// Snapshots that are read at a time: each takes some tens of megabytes.
const SNAPSHOTS: usize = 2;

#[derive(OpenApi)]
#[openapi(paths(pages, page, snapshot::snapshot))]
struct Doc;

/// The room.
#[must_use]
pub(super) fn room() -> Room {
    let turns = Data::new(Semaphore::new(SNAPSHOTS));
    Room::new(Doc::openapi(), move |app| {
        app.app_data(turns.clone())
            .service(getting("/api/v1/pages").route(web::get().to(self::pages)))
            .service(getting("/api/v1/page").route(web::get().to(page)))
            .service(getting("/api/v1/snapshot").route(web::get().to(snapshot::snapshot)));
    })
}

/// Captures, by host, status, type and age; a page at a time.
#[utoipa::path(get, path = "/api/v1/pages", tag = "pages", params(PageQuery, Paging), responses(
    (status = 200, body = CapturePage),
    (status = 400, body = Problem, content_type = "application/problem+json"),
    (status = 503, body = Problem, content_type = "application/problem+json"),
))]
async fn pages(query: Query<PageQuery>, paging: Query<Paging>, node: Data<Node>) -> Result<HttpResponse, Problem> {
    Ok(HttpResponse::Ok().json(reading(move || query::pages(&node, &query, &paging)).await?))
}

/// One capture of a URL, the newest or that of a time, and the list of its captures.
#[utoipa::path(get, path = "/api/v1/page", tag = "pages", params(UrlQuery, AtQuery), responses(
    (status = 200, body = PageDetail),
    (status = 400, body = Problem, content_type = "application/problem+json"),
    (status = 404, body = Problem, content_type = "application/problem+json"),
    (status = 503, body = Problem, content_type = "application/problem+json"),
))]
async fn page(query: Query<UrlQuery>, at: Query<AtQuery>, node: Data<Node>) -> Result<HttpResponse, Problem> {
    Ok(HttpResponse::Ok().json(reading(move || query::page(&node, &query.url, at.at)).await?))
}
