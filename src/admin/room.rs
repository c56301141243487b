//! A room of the endpoint: routes that belong together, with their description.

use std::sync::Arc;

use actix_web::http::StatusCode;
use actix_web::web::{self, ServiceConfig};
use actix_web::{HttpResponse, Resource};
use utoipa::openapi::OpenApi;

use super::problem::Problem;

/// Routes and what `/api/openapi.json` says of them.
#[derive(Clone)]
pub struct Room {
    pub(super) add: Arc<dyn Fn(&mut ServiceConfig) + Send + Sync>,
    pub(super) doc: OpenApi,
}

impl Room {
    /// A room whose routes `add` adds.
    pub fn new(doc: OpenApi, add: impl Fn(&mut ServiceConfig) + Send + Sync + 'static) -> Self {
        Self { add: Arc::new(add), doc }
    }
}

/// A path that is only read.
pub(super) fn getting(path: &str) -> Resource {
    web::resource(path).default_service(web::to(|| wrong_method("GET")))
}

/// A path that only takes commands.
pub(super) fn posting(path: &str) -> Resource {
    web::resource(path).default_service(web::to(|| wrong_method("POST")))
}

/// A path with several methods, named in `allowed`.
pub(super) fn resource(path: &str, allowed: &'static str) -> Resource {
    web::resource(path).default_service(web::to(move || wrong_method(allowed)))
}

async fn wrong_method(allowed: &'static str) -> Result<HttpResponse, Problem> {
    Err(Problem::new(StatusCode::METHOD_NOT_ALLOWED, format!("use {allowed} here")))
}
