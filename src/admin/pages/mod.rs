//! Pages: the list of captures, one page, and its snapshot.

pub mod diff;
pub(super) mod query;
pub(super) mod snapshot;

use actix_web::web::{Data, Query};
use serde::{Deserialize, Serialize};
use tokio::sync::Semaphore;
use utoipa::{IntoParams, ToSchema};

use super::bounded::reading;
use super::paging::Paging;
use super::problem::{Answer, Refusal, ok};
use super::search::views::Linked;
use super::urls::UrlQuery;
use super::views::CaptureView;
use crate::crawl::node::Node;
pub use query::EXPLAINED;
pub use snapshot::{Form, Snapshot};

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

/// What is told beside a capture.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(super) enum Part {
    /// Its card: title, abstract, keywords, language (`docs/card.md`).
    Card,
}

/// Whether more is told of a capture.
#[derive(Clone, Copy, Debug, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct With {
    /// `card`: made of its record in the archive.
    #[param(inline)]
    include: Option<Part>,
}

/// A page of captures.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct CapturePage {
    /// The captures, in key order: those of one URL stand together, the newest first.
    pub items: Vec<CaptureView>,
    /// The cursor of the next page; none when this is the last. A page may be short, or empty, and have a next one.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub next: Option<String>,
    /// Captures looked at for this answer.
    pub looked_at: u64,
}

/// One capture of a URL, and the list of its captures.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct PageDetail {
    /// The capture asked for.
    pub capture: CaptureView,
    /// The newest hundred captures of the URL, newest first.
    pub captures: Vec<CaptureView>,
    /// The card of the capture, when it was asked for; null when there is no text in it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub card: Option<serde_json::Value>,
    /// How much the page is linked, with the card, when there is an index that can be asked.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub linked: Option<Linked>,
}

/// Snapshots that are read at a time: each takes some tens of megabytes.
const SNAPSHOTS: usize = 2;

/// The turns of those who read a snapshot.
pub(super) fn turns() -> Data<Semaphore> {
    Data::new(Semaphore::new(SNAPSHOTS))
}

/// Captures, by host, status, type and age; a page at a time.
#[utoipa::path(get, path = "/api/v1/pages", tag = "pages", params(PageQuery, Paging), responses(
    (status = 200, body = CapturePage), Refusal<400>, Refusal<503>,
))]
pub(super) async fn pages(query: Query<PageQuery>, paging: Query<Paging>, node: Data<Node>) -> Answer {
    ok(reading(move || query::pages(&node, &query, &paging)).await?)
}

/// One capture of a URL, the newest or that of a time, and the list of its captures; with `include=card` what is said of it.
#[utoipa::path(get, path = "/api/v1/page", tag = "pages", params(UrlQuery, AtQuery, With), responses(
    (status = 200, body = PageDetail), Refusal<400>, Refusal<404>, Refusal<410>, Refusal<413>, Refusal<503>,
))]
pub(super) async fn page(
    query: Query<UrlQuery>,
    at: Query<AtQuery>,
    with: Query<With>,
    node: Data<Node>,
    turns: Data<Semaphore>,
) -> Answer {
    let turn = if with.include.is_some() { Some(snapshot::turn(turns)?) } else { None };
    let read = reading(move || {
        let _turn = turn;
        Ok(query::page(&node, &query.url, at.at, with.include.is_some()))
    });
    ok(read.await??)
}
