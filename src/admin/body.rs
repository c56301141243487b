//! What a request carries: a JSON body of bounded size, and its query.

use actix_web::HttpRequest;
use actix_web::http::StatusCode;
use actix_web::web::{Bytes, Payload, Query};
use serde::de::DeserializeOwned;

use super::bounded::PATIENCE;
use super::problem::Problem;

/// Largest body, bytes.
const MAX_BODY: usize = 1 << 20;
/// A body up to this size is read to its end before it is refused, so that the client sees the answer.
const MAX_READ: usize = 2 * MAX_BODY;

/// The body as a JSON object; an empty one is `{}`.
///
/// # Errors
/// 413 when it is too large, 400 when it does not arrive or is not of the form.
pub(super) async fn json<T: DeserializeOwned>(payload: Payload) -> Result<T, Problem> {
    let bad = |why: String| Problem::new(StatusCode::BAD_REQUEST, why);
    let body = whole(payload).await?;
    let text = if body.iter().all(u8::is_ascii_whitespace) { &b"{}"[..] } else { &body[..] };
    if text.trim_ascii_start().first() != Some(&b'{') {
        return Err(bad("the body is not the JSON object that is expected here".into())); // a list would be read as its fields
    }
    serde_json::from_slice(text).map_err(|e| bad(format!("the body is not the JSON that is expected here: {e}")))
}

/// The body, when it arrives in time: one that drips would keep its connection from others.
///
/// # Errors
/// 413 when it is too large, 408 when it is too slow, 400 when it breaks off.
pub(super) async fn whole(payload: Payload) -> Result<Bytes, Problem> {
    let too_large = || Problem::new(StatusCode::PAYLOAD_TOO_LARGE, format!("at most {MAX_BODY} bytes at a time"));
    let too_slow = |_| {
        let detail = format!("the body did not arrive within {} s", PATIENCE.as_secs());
        Problem::new(StatusCode::REQUEST_TIMEOUT, detail)
    };
    let read = tokio::time::timeout(PATIENCE, payload.to_bytes_limited(MAX_READ)).await.map_err(too_slow)?;
    let body = read.map_err(|_| too_large())?;
    let body = body.map_err(|e| Problem::new(StatusCode::BAD_REQUEST, format!("the body did not arrive: {e}")))?;
    if body.len() > MAX_BODY { Err(too_large()) } else { Ok(body) }
}

/// The query.
///
/// # Errors
/// 400 when a parameter is not of its form.
pub(super) fn query<T: DeserializeOwned>(request: &HttpRequest) -> Result<T, Problem> {
    let wrong = |e| Problem::new(StatusCode::BAD_REQUEST, format!("the query: {e}"));
    Ok(Query::<T>::from_query(request.query_string()).map_err(wrong)?.into_inner())
}
