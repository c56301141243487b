//! Reports: dead links, seeds, hosts, statuses, media types, changes, near-duplicates; as JSON, or as CSV for spreadsheets.

pub(super) mod changes;
pub(super) mod groups;
pub(super) mod near;
pub mod query;
mod rows;

use actix_web::HttpRequest;
use actix_web::web::Data;
use serde::Deserialize;
use utoipa::IntoParams;

use super::body::query;
use super::bounded::reading;
use super::control::ControlError;
use super::csv::Row;
use super::paging::{How, Page, Paging, written};
use super::problem::{Answer, Refusal};
use crate::crawl::node::Node;
pub use changes::ChangedPage;
pub use groups::NearGroup;
pub use near::NearPage;
pub use rows::{DeadLink, HostLine, SeedLine, StatusLine, TypeLine};

/// Links to whom.
#[derive(Clone, Debug, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct WhichLinks {
    /// Links to this host alone.
    host: Option<String>,
}

/// A page of lines, in the form asked for.
async fn page<R: Row + Send + 'static>(
    request: &HttpRequest,
    read: impl FnOnce(&Paging) -> Result<Page<R>, ControlError> + Send + 'static,
) -> Answer {
    let (paging, how): (Paging, How) = (query(request)?, query(request)?);
    let page = reading(move || read(&paging)).await?;
    Ok(written(how, &page, &page.items, page.next.as_ref()))
}

/// URLs that ended in an error, with the page each was first found on.
#[utoipa::path(get, path = "/api/v1/reports/dead-links", tag = "reports", params(WhichLinks, Paging, How), responses(
    (status = 200, content((Page<DeadLink> = "application/json"), (String = "text/csv"))),
    Refusal<400>, Refusal<503>,
))]
pub(super) async fn dead_links(request: HttpRequest, node: Data<Node>) -> Answer {
    let WhichLinks { host } = query(&request)?;
    page(&request, move |paging| query::dead_links(&node, host.as_deref(), paging)).await
}

/// Each seed, and what became of it.
#[utoipa::path(get, path = "/api/v1/reports/seeds", tag = "reports", params(Paging, How), responses(
    (status = 200, content((Page<SeedLine> = "application/json"), (String = "text/csv"))),
    Refusal<400>, Refusal<503>,
))]
pub(super) async fn seeds(request: HttpRequest, node: Data<Node>) -> Answer {
    page(&request, move |paging| query::seeds(&node, paging)).await
}

/// Each host, and how far it is.
#[utoipa::path(get, path = "/api/v1/reports/hosts", tag = "reports", params(Paging, How), responses(
    (status = 200, content((Page<HostLine> = "application/json"), (String = "text/csv"))),
    Refusal<400>, Refusal<503>,
))]
pub(super) async fn hosts(request: HttpRequest, node: Data<Node>) -> Answer {
    page(&request, move |paging| query::hosts(&node, paging)).await
}

/// Captures by the status of their answer.
#[utoipa::path(get, path = "/api/v1/reports/statuses", tag = "reports", params(How), responses(
    (status = 200, content((Vec<StatusLine> = "application/json"), (String = "text/csv"))), Refusal<400>,
))]
pub(super) async fn statuses(request: HttpRequest, node: Data<Node>) -> Answer {
    let lines = query::statuses(&node);
    Ok(written(query(&request)?, &lines, &lines, None))
}

/// Captures by media type.
#[utoipa::path(get, path = "/api/v1/reports/types", tag = "reports", params(How), responses(
    (status = 200, content((Vec<TypeLine> = "application/json"), (String = "text/csv"))), Refusal<400>,
))]
pub(super) async fn types(request: HttpRequest, node: Data<Node>) -> Answer {
    let lines = query::types(&node);
    Ok(written(query(&request)?, &lines, &lines, None))
}
