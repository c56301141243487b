//! Hosts: the list, one host, its robots.txt.
//!
//! A column of the list: [`HostView`] and `query::Row::view`; `HOSTS` in `cli/ctl/look.rs`, `COLUMNS` in `ui/hosts.js`.

mod look;
pub(super) mod query;
pub(super) mod robots;
mod views;

use actix_web::web::{Data, Path, Query};
use serde::Deserialize;
use utoipa::{IntoParams, ToSchema};

use crate::admin::bounded::reading;
use crate::admin::paging::Paging;
use crate::admin::problem::{Answer, Refusal, ok};
use crate::admin::views::HostState;

use crate::crawl::node::Node;
pub use views::{Budget, DelayFrom, HostDetail, HostPage, HostView, RobotsText, Schedule};

/// In which order hosts are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum HostSort {
    /// The longest queue first.
    Queue,
    /// The highest rate first.
    Rate,
    /// The most errors first.
    Errors,
    /// The next to be asked first.
    Next,
    /// By name.
    Name,
}

/// Which hosts, and in which order.
#[derive(Clone, Debug, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct HostQuery {
    /// Only those that stand there.
    #[param(inline)]
    pub state: Option<HostState>,
    /// Only those whose name contains this. No more than 5,000 hosts are looked at for an answer, which may be empty and still
    /// have a `next`.
    #[param(min_length = 1, max_length = 253)]
    pub contains: Option<String>,
    /// In this order; without it in key order.
    #[param(inline)]
    pub sort: Option<HostSort>,
}

/// Hosts with queue, counts, next time and reason of the wait; a page at a time.
#[utoipa::path(get, path = "/api/v1/hosts", tag = "hosts", params(HostQuery, Paging), responses(
    (status = 200, body = HostPage), Refusal<400>, Refusal<503>,
))]
pub(super) async fn hosts(query: Query<HostQuery>, paging: Query<Paging>, node: Data<Node>) -> Answer {
    ok(reading(move || query::hosts(&node, &query, &paging)).await?)
}

/// One host: schedule, addresses, budget, robots.txt.
#[utoipa::path(get, path = "/api/v1/hosts/{host}", tag = "hosts", params(
    ("host" = String, Path, description = "its name, as `example.org`; IPv6 in brackets"),
), responses(
    (status = 200, body = HostDetail), Refusal<400>, Refusal<404>, Refusal<503>,
))]
pub(super) async fn host(name: Path<String>, node: Data<Node>) -> Answer {
    ok(reading(move || query::host(&node, &name)).await?)
}

/// Whose verdict.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct RobotsQuery {
    /// A URL of that host: its scheme and port choose the robots.txt, and the verdict is told. Without it the first one
    /// that is kept is shown.
    url: Option<String>,
}

/// A host's robots.txt as kept, and the line that decides over a URL.
#[utoipa::path(get, path = "/api/v1/hosts/{host}/robots", tag = "hosts", params(
    ("host" = String, Path, description = "its name, as `example.org`; IPv6 in brackets"),
    RobotsQuery,
), responses(
    (status = 200, body = RobotsText), Refusal<400>, Refusal<404>, Refusal<503>,
))]
pub(super) async fn robots(name: Path<String>, query: Query<RobotsQuery>, node: Data<Node>) -> Answer {
    ok(reading(move || query::robots(&node, &name, query.url.as_deref())).await?)
}
