//! Exports that a running crawl makes: begun as a job, listed, downloaded.

mod job;

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use actix_web::HttpResponse;
use actix_web::body::SizedStream;
use actix_web::web::{Bytes, Data, Path, Payload, Query};
use futures_util::stream::poll_fn;
use serde::{Deserialize, Serialize};
use tokio::sync::{Semaphore, mpsc};
use utoipa::{IntoParams, ToSchema};

use super::body::json;
use super::bounded::reading;
use super::control::ControlError;
use super::jobs::JobView;
use super::problem::{Answer, Refusal, accepted, ok};
use crate::crawl::node::Node;
use crate::export::manifest::FileSaid;
use crate::export::{Options, Select};

/// Clients that a file is sent to at a time.
const SENT: usize = 4;
/// A client that takes nothing for so long is left.
const TAKES: Duration = Duration::from_secs(60);

/// The turns of those to whom a file is sent.
pub(super) struct Senders(Arc<Semaphore>);

/// All of them free.
pub(super) fn senders() -> Data<Senders> {
    Data::new(Senders(Arc::new(Semaphore::new(SENT))))
}

/// What is to be exported.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct WantedExport {
    /// The format.
    #[schema(example = "jsonl")]
    pub format: String,
    /// What it is called, 1 to 128 of letters, digits, `.`, `_`, `-`: a file or folder in `export.dir`. By itself the format, and
    /// the last entry of the feed.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    #[schema(example = "pages.jsonl.zst")]
    pub name: Option<String>,
    /// Which pages; the newest capture of all by itself.
    #[serde(default)]
    pub select: Select,
    /// What the format is told.
    #[serde(default)]
    pub options: Options,
    /// One of this name is replaced.
    #[serde(default)]
    pub replace: bool,
}

/// An export that is whole.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ExportView {
    /// Its name.
    pub name: String,
    /// Its format.
    pub format: String,
    /// Pages in it.
    pub pages: u64,
    /// Pages of which something could not be read.
    pub unread: u64,
    /// Bytes of all its files.
    pub bytes: u64,
    /// The feed it is of.
    pub log: String,
    /// The last entry that was looked at: `after` of the next.
    pub last: u64,
    /// How many files it has.
    pub file_count: u64,
    /// The first thousand of them; its `MANIFEST.json` names all.
    pub files: Vec<FileSaid>,
}

/// Which file of it.
#[derive(Clone, Debug, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct WhichFile {
    /// Of an export that is a folder: the name of one of its files. Of any: `MANIFEST.json`.
    file: Option<String>,
}

/// Makes an export of what the feed shows now: a job, one at a time, which rests where the crawl has work for the processor. Archive files that
/// were copied elsewhere and removed here cannot be read; the export's manifest counts their pages.
#[utoipa::path(post, path = "/api/v1/exports", tag = "exports", request_body = WantedExport, responses(
    (status = 202, body = JobView), Refusal<400>, Refusal<409>, Refusal<413>, Refusal<503>,
))]
pub(super) async fn begin(payload: Payload, node: Data<Node>) -> Answer {
    let wanted: WantedExport = json(payload).await?;
    accepted(reading(move || job::start(&node, wanted)).await?)
}

/// The exports in `export.dir` that are whole, by name; at most a thousand.
#[utoipa::path(get, path = "/api/v1/exports", tag = "exports", responses(
    (status = 200, body = Vec<ExportView>), Refusal<503>,
))]
pub(super) async fn list(node: Data<Node>) -> Answer {
    ok(reading(move || job::list(&node)).await?)
}

/// A file of an export.
#[utoipa::path(get, path = "/api/v1/exports/{name}", tag = "exports",
    params(("name" = String, Path, description = "Its name."), WhichFile),
    responses((status = 200, content((String = "application/octet-stream"))), Refusal<400>, Refusal<404>, Refusal<503>,
))]
pub(super) async fn download(
    name: Path<String>,
    which: Query<WhichFile>,
    node: Data<Node>,
    senders: Data<Senders>,
) -> Answer {
    let busy = |_| ControlError::Unavailable(format!("files are sent to {SENT} clients already; ask again"));
    let turn = senders.0.clone().try_acquire_owned().map_err(busy)?;
    let file = reading(move || job::open(&node, &name, which.file.as_deref())).await?;
    let length = file.length;
    let (to, mut pieces) = mpsc::channel(1);
    actix_web::rt::spawn(async move {
        let _turn = turn;
        send(Arc::new(file), to).await;
    });
    let pieces = poll_fn(move |cx| pieces.poll_recv(cx).map(|piece| piece.map(Ok::<Bytes, Infallible>)));
    Ok(HttpResponse::Ok()
        .content_type("application/octet-stream")
        .insert_header(("Content-Disposition", "attachment"))
        .body(SizedStream::new(length, pieces)))
}

/// Hands pieces on until all are sent, the client is gone, or the file cannot be read: then too few have come.
async fn send(file: Arc<job::Opened>, to: mpsc::Sender<Bytes>) {
    let mut at = 0;
    while at < file.length {
        let from = file.clone();
        let Ok(piece) = reading(move || from.piece(at)).await else { return };
        at += piece.len() as u64;
        if !matches!(tokio::time::timeout(TAKES, to.send(piece.into())).await, Ok(Ok(()))) {
            return;
        }
    }
}
