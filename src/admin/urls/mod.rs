//! URLs: look one up, and why it was, or was not, crawled.

mod answer;
mod facts;
pub mod lists;
mod told;
mod views;

use std::sync::Arc;

use actix_web::HttpResponse;
use actix_web::web::{self, Data, Query};
use serde::Deserialize;
use utoipa::{IntoParams, OpenApi};

use super::bounded::reading;
use super::control::ControlError;
use super::problem::Problem;
use super::room::{Room, getting};

pub use answer::answer;
pub use facts::deciding;
pub use views::{
    AgainView, AttemptView, Explanation, FactView, FoundView, HoldView, QueueView, RuleView, UrlHost, UrlState, UrlView,
};

/// What the room asks of the node. Reads only, bounded; nothing is asked of an actor.
pub trait Urls: Send + Sync {
    /// What is known of a URL.
    ///
    /// # Errors
    /// A text that is no URL, or storage that does not answer.
    fn look_up(&self, url: &str) -> Result<UrlView, ControlError>;
    /// All that decides over a URL.
    ///
    /// # Errors
    /// As [`Urls::look_up`].
    fn explain(&self, url: &str) -> Result<Explanation, ControlError>;
}

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
pub fn room(urls: Arc<dyn Urls>) -> Room {
    let urls: Data<dyn Urls> = Data::from(urls);
    Room::new(Doc::openapi(), move |app| {
        app.app_data(urls.clone())
            .service(getting("/api/v1/urls").route(web::get().to(look_up)))
            .service(getting("/api/v1/explain").route(web::get().to(explain)));
    })
}

/// What is known of a URL: its state, why, when, and its place in the queue or in the archive.
#[utoipa::path(get, path = "/api/v1/urls", tag = "urls", params(UrlQuery), responses(
    (status = 200, body = UrlView),
    (status = 400, body = Problem, content_type = "application/problem+json"),
    (status = 503, body = Problem, content_type = "application/problem+json"),
))]
async fn look_up(query: Query<UrlQuery>, urls: Data<dyn Urls>) -> Result<HttpResponse, Problem> {
    Ok(HttpResponse::Ok().json(reading(move || urls.look_up(&query.url)).await?))
}

/// Why a URL was, or was not, crawled: all that decides over it, and one sentence. Works for URLs never seen.
#[utoipa::path(get, path = "/api/v1/explain", tag = "urls", params(UrlQuery), responses(
    (status = 200, body = Explanation),
    (status = 400, body = Problem, content_type = "application/problem+json"),
    (status = 503, body = Problem, content_type = "application/problem+json"),
))]
async fn explain(query: Query<UrlQuery>, urls: Data<dyn Urls>) -> Result<HttpResponse, Problem> {
    Ok(HttpResponse::Ok().json(reading(move || urls.explain(&query.url)).await?))
}
