//! A page as it was: its bytes, its text, or its look without scripts.

use actix_web::HttpResponse;
use actix_web::http::header::HeaderValue;
use actix_web::web::{Data, Query};
use serde::Deserialize;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use utoipa::{IntoParams, ToSchema};

use super::{AtQuery, query};
use crate::admin::bounded::reading;
use crate::admin::control::ControlError;
use crate::admin::problem::{Answer, Refusal};
use crate::admin::urls::UrlQuery;
use crate::admin::views::CaptureView;
use crate::base::time::UnixMillis;
use crate::crawl::node::Node;
use crate::warc::date::iso;

/// What a page of somebody else may do here: nothing. No script, no request, no form, no frame around it but our own.
const POLICY: &str = "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; \
                      form-action 'none'; frame-ancestors 'self'";

/// In which form.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Form {
    /// The bytes as stored, content coding kept and transfer coding undone, as a download.
    #[default]
    Stored,
    /// The text.
    Text,
    /// As a page without scripts, images and requests.
    Rendered,
}

/// In which form.
#[derive(Clone, Copy, Debug, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(in crate::admin) struct FormQuery {
    /// `stored` by itself.
    #[serde(rename = "as")]
    #[param(rename = "as", inline)]
    form: Option<Form>,
}

/// The bytes of a capture.
#[derive(Debug)]
pub struct Snapshot {
    /// The body of the answer.
    pub body: Vec<u8>,
    /// Its media type.
    pub kind: &'static str,
    /// The capture.
    pub capture: CaptureView,
    /// `Content-Type` as its server sent it.
    pub content_type: Option<String>,
    /// `Content-Encoding` as its server sent it.
    pub content_encoding: Option<String>,
}

/// The turn of who reads a record.
pub(super) fn turn(turns: Data<Semaphore>) -> Result<OwnedSemaphorePermit, ControlError> {
    let busy = |_| ControlError::Unavailable("other snapshots are being read; ask again".into());
    turns.into_inner().try_acquire_owned().map_err(busy)
}

/// A page as it was: as stored, as text, or as it looked without scripts.
#[utoipa::path(get, path = "/api/v1/snapshot", tag = "pages", params(UrlQuery, AtQuery, FormQuery), responses(
    (status = 200, content(
        (String = "application/octet-stream"), (String = "text/plain"), (String = "text/html"),
    )),
    Refusal<400>, Refusal<404>, Refusal<410>, Refusal<413>, Refusal<415>, Refusal<503>,
))]
pub(in crate::admin) async fn snapshot(
    query: Query<UrlQuery>,
    at: Query<AtQuery>,
    form: Query<FormQuery>,
    node: Data<Node>,
    turns: Data<Semaphore>,
) -> Answer {
    let form = form.form.unwrap_or_default();
    let turn = turn(turns)?;
    let read = reading(move || {
        let _turn = turn;
        Ok(query::snapshot(&node, &query.url, at.at, form))
    });
    let read = read.await?;
    Ok(answer(read?, form))
}

fn answer(snapshot: Snapshot, form: Form) -> HttpResponse {
    let mut response = HttpResponse::Ok();
    response
        .content_type(snapshot.kind)
        .insert_header(("Content-Security-Policy", POLICY))
        .insert_header(("Referrer-Policy", "no-referrer"))
        .insert_header(("X-DNS-Prefetch-Control", "off"))
        .insert_header(("Cross-Origin-Resource-Policy", "same-origin"))
        .insert_header(("X-Archived-Status", snapshot.capture.status.to_string()))
        .insert_header(("X-Archived-Date", iso(UnixMillis(snapshot.capture.captured_ms))));
    if form == Form::Stored {
        response.insert_header(("Content-Disposition", "attachment; filename=\"snapshot.bin\""));
    }
    let sent = [
        ("X-Archived-Content-Type", snapshot.content_type),
        ("X-Archived-Content-Encoding", snapshot.content_encoding),
    ];
    for (name, value) in sent {
        // A value that cannot stand in a header is left out: it is not ours.
        if let Some(value) = value.and_then(|value| HeaderValue::from_str(&value).ok()) {
            response.insert_header((name, value));
        }
    }
    response.body(snapshot.body)
}
