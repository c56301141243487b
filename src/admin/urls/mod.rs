//! URLs: look one up, and why it was, or was not, crawled.

mod answer;
mod facts;
pub mod query;
mod told;
mod views;

use actix_web::HttpResponse;
use actix_web::web::{self, Data, Query};
use serde::Deserialize;
use utoipa::{IntoParams, OpenApi};

use super::bounded::reading;
use super::problem::Problem;
use super::room::{Room, getting};

use crate::crawl::node::Node;
pub use answer::answer;
pub use facts::deciding;
pub use views::{
    AgainView, AttemptView, Explanation, FactView, FoundView, HoldView, QueueView, RuleView, UrlHost, UrlState, UrlView,
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

#[derive(OpenApi)]
#[openapi(paths(look_up, explain))]
struct Doc;

/// The room.
#[must_use]
pub(super) fn room() -> Room {
    Room::new(Doc::openapi(), |app| {
        app.service(getting("/api/v1/urls").route(web::get().to(look_up)))
            .service(getting("/api/v1/explain").route(web::get().to(explain)));
    })
}

/// What is known of a URL: its state, why, when, and its place in the queue or in the archive.
#[utoipa::path(get, path = "/api/v1/urls", tag = "urls", params(UrlQuery), responses(
    (status = 200, body = UrlView),
    (status = 400, body = Problem, content_type = "application/problem+json"),
    (status = 503, body = Problem, content_type = "application/problem+json"),
))]
async fn look_up(query: Query<UrlQuery>, node: Data<Node>) -> Result<HttpResponse, Problem> {
    Ok(HttpResponse::Ok().json(reading(move || query::look_up(&node, &query.url)).await?))
}

/// Why a URL was, or was not, crawled: all that decides over it, and one sentence. Works for URLs never seen.
#[utoipa::path(get, path = "/api/v1/explain", tag = "urls", params(UrlQuery), responses(
    (status = 200, body = Explanation),
    (status = 400, body = Problem, content_type = "application/problem+json"),
    (status = 503, body = Problem, content_type = "application/problem+json"),
))]
async fn explain(query: Query<UrlQuery>, node: Data<Node>) -> Result<HttpResponse, Problem> {
    Ok(HttpResponse::Ok().json(reading(move || query::explain(&node, &query.url)).await?))
}
