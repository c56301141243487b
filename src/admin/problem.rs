//! Errors as `application/problem+json` (RFC 9457).

use std::collections::BTreeMap;

use actix_web::http::StatusCode;
use actix_web::{HttpResponse, ResponseError};
use serde::{Deserialize, Serialize};
use utoipa::openapi::{Content, Ref, RefOr, Response, ResponseBuilder};
use utoipa::{IntoResponses, ToSchema};

use super::control::ControlError;
use super::jobs::JobView;

/// What went wrong with a request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema, thiserror::Error)]
#[error("{title}: {detail}")]
pub struct Problem {
    /// HTTP status.
    pub status: u16,
    /// The status in words.
    pub title: String,
    /// What happened and what to do.
    pub detail: String,
}

impl Problem {
    /// A problem with this status.
    pub fn new(status: StatusCode, detail: impl Into<String>) -> Self {
        let title = status.canonical_reason().unwrap_or("Error").to_owned();
        Self { status: status.as_u16(), title, detail: detail.into() }
    }
}

impl ResponseError for Problem {
    fn status_code(&self) -> StatusCode {
        StatusCode::from_u16(self.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
    }

    fn error_response(&self) -> HttpResponse {
        let body = serde_json::to_string(self).unwrap_or_default();
        let mut response = HttpResponse::build(self.status_code());
        if self.status == 401 {
            response.insert_header(("WWW-Authenticate", "Bearer"));
        }
        if self.status == 429 {
            response.insert_header(("Retry-After", "1"));
        }
        response.content_type("application/problem+json").body(body)
    }
}

impl From<ControlError> for Problem {
    fn from(error: ControlError) -> Self {
        let status = match error {
            ControlError::Unavailable(_) => StatusCode::SERVICE_UNAVAILABLE,
            ControlError::Refused(_) => StatusCode::CONFLICT,
            ControlError::Absent(_) => StatusCode::NOT_FOUND,
            ControlError::Invalid(_) => StatusCode::BAD_REQUEST,
        };
        Self::new(status, error.to_string())
    }
}

pub(super) type Answer = Result<HttpResponse, Problem>;

/// The answer when all is well.
pub(super) fn ok(body: impl Serialize) -> Answer {
    Ok(HttpResponse::Ok().json(body))
}

/// The answer when a job carries out what was asked for.
pub(super) fn accepted(job: JobView) -> Answer {
    Ok(HttpResponse::Accepted().json(job))
}

/// The answer of one status with a [`Problem`], as the description of a route names it.
pub(super) struct Refusal<const STATUS: u16>;

impl<const STATUS: u16> IntoResponses for Refusal<STATUS> {
    fn responses() -> BTreeMap<String, RefOr<Response>> {
        BTreeMap::from([(STATUS.to_string(), refusal("").into())])
    }
}

/// How an answer with a [`Problem`] is described.
pub(super) fn refusal(description: &str) -> Response {
    let content = Content::new(Some(Ref::from_schema_name("Problem")));
    ResponseBuilder::new().description(description).content("application/problem+json", content).build()
}
