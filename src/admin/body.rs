//! Bodies and queries of requests; what makes no sense is a problem like any other.

use actix_web::web::{Payload, Query};
use actix_web::{HttpRequest, http::StatusCode};
use serde::de::DeserializeOwned;

use super::control::ControlError;
use super::problem::Problem;

/// Largest body of a command, bytes.
const MAX: usize = 64 << 10;

/// A command's body as JSON.
///
/// # Errors
/// 413 when it is too large, 400 when it is not what is expected.
pub(super) async fn json<T: DeserializeOwned>(payload: Payload, expected: &str) -> Result<T, Problem> {
    let too_large = |_| Problem::new(StatusCode::PAYLOAD_TOO_LARGE, format!("at most {MAX} bytes"));
    let body = payload.to_bytes_limited(MAX).await.map_err(too_large)?;
    let body = body.map_err(|e| ControlError::Invalid(format!("the body did not arrive: {e}")))?;
    let read = serde_json::from_slice(&body);
    Ok(read.map_err(|e| ControlError::Invalid(format!("{e}; expected {expected}")))?)
}

/// A request's query.
///
/// # Errors
/// 400 when a parameter is none, or not what it should be.
pub(super) fn query<T: DeserializeOwned>(request: &HttpRequest) -> Result<T, Problem> {
    let read = Query::<T>::from_query(request.query_string());
    Ok(read.map_err(|e| ControlError::Invalid(format!("the query makes no sense: {e}")))?.into_inner())
}
