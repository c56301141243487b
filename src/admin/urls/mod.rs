//! URLs: look one up, and why it was, or was not, crawled.

mod answer;
mod facts;
pub(super) mod query;
mod ranking;
mod views;

use actix_web::web::{Data, Query};
use serde::Deserialize;
use utoipa::IntoParams;

use super::bounded::reading;
use super::problem::{Answer, Refusal, ok};

use crate::crawl::node::Node;
pub use answer::answer;
pub use facts::deciding;
pub use views::{
    AgainView, AttemptView, Explanation, FactView, FactorView, FoundView, HoldView, QueueView, RankingView, RuleView,
    UrlHost, UrlState, UrlView,
};

/// Which URL.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct UrlQuery {
    /// A URL, http or https, percent-encoded; it is brought into canonical form. Without a scheme (`example.org/page`) that one is
    /// taken which the crawl knows it by, else https.
    #[param(example = "https://example.org/")]
    pub url: String,
}

/// What is known of a URL: its state, why, when, and its place in the queue or in the archive.
#[utoipa::path(get, path = "/api/v1/urls", tag = "urls", params(UrlQuery), responses(
    (status = 200, body = UrlView), Refusal<400>, Refusal<503>,
))]
pub(super) async fn look_up(query: Query<UrlQuery>, node: Data<Node>) -> Answer {
    ok(reading(move || query::look_up(&node, &query.url)).await?)
}

/// Why a URL was, or was not, crawled: all that decides over it, and one sentence. Works for URLs never seen.
#[utoipa::path(get, path = "/api/v1/explain", tag = "urls", params(UrlQuery), responses(
    (status = 200, body = Explanation), Refusal<400>, Refusal<503>,
))]
pub(super) async fn explain(query: Query<UrlQuery>, node: Data<Node>) -> Answer {
    ok(reading(move || query::explain(&node, &query.url)).await?)
}
