//! What a request carries: a JSON body of bounded size, and its query.

use std::collections::HashSet;
use std::fmt;

use actix_web::HttpRequest;
use actix_web::http::StatusCode;
use actix_web::web::{Bytes, Payload, Query};
use serde::de::{DeserializeOwned, Error as _, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};

use super::bounded::PATIENCE;
use super::problem::Problem;

/// Largest body, bytes.
const MAX_BODY: usize = 1 << 20;
/// A body up to this size is read to its end before it is refused, so that the client sees the answer.
const MAX_READ: usize = 2 * MAX_BODY;

/// The body as a JSON object. An empty one is none: what was left out by mistake must not mean "all".
///
/// # Errors
/// 413 when it is too large, 400 when it does not arrive, is empty, names a key twice or is not of the form.
pub(super) async fn json<T: DeserializeOwned>(payload: Payload) -> Result<T, Problem> {
    let bad = |why: String| Problem::new(StatusCode::BAD_REQUEST, why);
    let body = whole(payload).await?;
    let wrong = |e: serde_json::Error| bad(format!("the body is not the JSON that is expected here: {e}"));
    match body.trim_ascii_start().first() {
        None => return Err(bad("the body is empty: a JSON object is expected here, `{}` at least".into())),
        Some(b'{') => {}
        Some(_) => return Err(bad("the body is not the JSON object that is expected here".into())), // a list would be read as its fields
    }
    serde_json::from_slice::<Once>(&body).map_err(wrong)?;
    serde_json::from_slice(&body).map_err(wrong)
}

/// The body of a command that takes none.
///
/// # Errors
/// 400 when there is something in it, or as [`whole`].
pub(super) async fn nothing(payload: Payload) -> Result<(), Problem> {
    let body = whole(payload).await?;
    match body.trim_ascii() {
        b"" | b"{}" => Ok(()),
        _ => Err(Problem::new(StatusCode::BAD_REQUEST, "nothing is expected in the body of this command")),
    }
}

/// JSON of any form, in which no object names a key twice: else the last would win, and nobody be told.
struct Once;

impl<'de> Deserialize<'de> for Once {
    fn deserialize<D: Deserializer<'de>>(json: D) -> Result<Self, D::Error> {
        json.deserialize_any(Once)
    }
}

/// Whatever is neither a list nor an object will do.
macro_rules! any {
    ($($visit:ident: $value:ty),*) => {
        $(fn $visit<E>(self, _: $value) -> Result<Self, E> {
            Ok(self)
        })*
    };
}

impl<'de> Visitor<'de> for Once {
    type Value = Self;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    any! { visit_bool: bool, visit_i64: i64, visit_u64: u64, visit_f64: f64, visit_str: &str }

    fn visit_unit<E>(self) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Self, A::Error> {
        while items.next_element::<Self>()?.is_some() {}
        Ok(self)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self, A::Error> {
        let mut keys = HashSet::new();
        while let Some(key) = map.next_key::<String>()? {
            map.next_value::<Self>()?;
            if let Some(twice) = keys.replace(key) {
                return Err(A::Error::custom(format!("the key {twice:?} is there twice")));
            }
        }
        Ok(self)
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_that_is_there_twice_is_told_however_deep_it_lies() {
        let read = |text: &str| serde_json::from_str::<Once>(text).map(drop).map_err(|e| e.to_string());
        for good in [r#"{"a": [1, -2, 2.5, true, null, "x", {"a": 1}], "b": {"a": 1}}"#, "{}"] {
            assert_eq!(read(good), Ok(()), "{good}");
        }
        for bad in [r#"{"a": 1, "a": 2}"#, r#"{"b": [{"a": 1, "\u0061": 1}]}"#] {
            let why = read(bad).unwrap_err();
            assert!(why.contains("\"a\" is there twice"), "{bad}: {why}");
        }
    }
}
