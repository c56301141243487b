//! A room of the endpoint: routes that belong together, with their description.

use std::sync::Arc;

use actix_web::http::StatusCode;
use actix_web::http::header::{self, HeaderValue};
use actix_web::web::{self, ServiceConfig};
use actix_web::{HttpResponse, Resource, ResponseError};
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

/// Names the methods also for machines (RFC 9110 section 15.5.6).
async fn wrong_method(allowed: &'static str) -> HttpResponse {
    let mut answer = Problem::new(StatusCode::METHOD_NOT_ALLOWED, format!("use {allowed} here")).error_response();
    let methods = HeaderValue::from_str(&allowed.replace(" or ", ", "));
    if let Ok(methods) = methods {
        answer.headers_mut().insert(header::ALLOW, methods);
    }
    answer
}
