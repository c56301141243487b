//! The feed: what became of each page, in the order of the commits, for whoever takes the pages on; and who reads it.

pub(super) mod query;

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use actix_web::web::{Bytes, Data, Path, Payload, Query};
use actix_web::{HttpResponse, ResponseError as _};
use futures_util::stream::poll_fn;
use serde::{Deserialize, Serialize};
use tokio::sync::{Semaphore, mpsc};
use utoipa::{IntoParams, ToSchema};

use super::body;
use super::bounded::{ordered, reading};
use super::control::ControlError;
use super::problem::{Answer, Problem, Refusal, ok};
use crate::crawl::node::Node;
pub use crate::export::item::FeedItem;

/// Looks at the database that are made at a time; and at the archive too.
const READERS: usize = 4;
const READ_AGAIN: usize = 1;
/// Clients that lines are sent to at a time.
const STREAMS: usize = 32;
/// A client that takes nothing for so long is left.
const TAKES: Duration = Duration::from_secs(60);

/// The turns of those who read the feed.
pub(super) struct Readers {
    looks: Semaphore,
    again: Semaphore,
    streams: Arc<Semaphore>,
}

/// All of them free.
pub(super) fn readers() -> Data<Readers> {
    Data::new(Readers {
        looks: Semaphore::new(READERS),
        again: Semaphore::new(READ_AGAIN),
        streams: Arc::new(Semaphore::new(STREAMS)),
    })
}

impl Readers {
    /// A look at the database, in its turn: a client that is slow to take what was found keeps nobody from another.
    async fn look<T, F>(&self, look: F) -> Result<T, ControlError>
    where
        T: Send + 'static,
        F: FnOnce() -> Result<T, ControlError> + Send + 'static,
    {
        self.with(false, look).await
    }

    /// The same; `again`: pages are read from the archive.
    async fn with<T, F>(&self, again: bool, look: F) -> Result<T, ControlError>
    where
        T: Send + 'static,
        F: FnOnce() -> Result<T, ControlError> + Send + 'static,
    {
        let _turn = if again { &self.again } else { &self.looks }.acquire().await;
        reading(look).await
    }
}

/// How entries are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(super) enum Form {
    /// One object with a page of them.
    #[default]
    Json,
    /// One a line, as they are read.
    Ndjson,
}

/// Which entries.
#[derive(Clone, Debug, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct FeedQuery {
    /// Those behind this number: `next` of the page before, or `seq` of the last line. From the first that is left when absent.
    after: Option<u64>,
    /// The feed that this number is of, so that entries of another one are not taken for those that follow.
    log: Option<String>,
    /// At most so many: 100 by itself and 1000 at most, of lines 100000.
    #[param(minimum = 1, maximum = 100_000)]
    limit: Option<usize>,
    /// When there are none yet, so many seconds are waited for one.
    #[param(minimum = 0, maximum = 60)]
    wait: Option<u64>,
    /// Only of these kinds, separated by commas: first, changed, unchanged, redirect, gone, failed, rejected, erased.
    kind: Option<String>,
    /// Only of this host.
    host: Option<String>,
    /// What of each page is read again from the archive and told with its entry, separated by commas: `card`, `text` (at most 1 MiB), `links`,
    /// `rights`. Then a page has 100 entries at most, and ends behind 8 MiB.
    include: Option<String>,
    /// `json` or `ndjson`.
    #[serde(default)]
    #[param(inline)]
    format: Form,
}

/// A page of entries.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct FeedPage {
    /// Which feed this is: another one after the crawl was put back to a checkpoint.
    pub log: String,
    /// The entries.
    pub items: Vec<FeedItem>,
    /// Where to go on: `after` of the next request.
    pub next: u64,
    /// The last entry there is.
    pub high: u64,
    /// The first entry that is left.
    pub oldest: u64,
}

/// Why no entries follow a number.
#[derive(Serialize, ToSchema)]
pub(super) struct Elsewhere {
    #[serde(flatten)]
    problem: Problem,
    /// Which feed this is.
    log: String,
    /// The last entry that both feeds have: go on there.
    #[serde(skip_serializing_if = "Option::is_none")]
    common: Option<u64>,
    /// The first entry that is left.
    oldest: u64,
}

/// What became of each page, in the order of the commits. An entry is shown when a loss of power cannot take it back. Items whose capture is
/// gone have none; `next` goes on. As lines (`format=ndjson`) the last whole line is where to go on, and the
/// header `X-Feed-Log` says which feed they are of.
#[utoipa::path(get, path = "/api/v1/feed", tag = "feed", params(FeedQuery), responses(
    (status = 200, content((FeedPage = "application/json"), (FeedItem = "application/x-ndjson"))),
    Refusal<400>,
    (status = 409, body = Elsewhere, content_type = "application/problem+json", description = "The number is of another feed."),
    (status = 410, body = Elsewhere, content_type = "application/problem+json", description = "What follows was let go (`feed.keep`)."),
    Refusal<503>,
))]
pub(super) async fn feed(query: Query<FeedQuery>, node: Data<Node>, readers: Data<Readers>) -> Answer {
    let asked = query::Asked::of(&node, &query)?;
    let (at, look) = (node.clone(), asked.clone());
    let begin = match readers.look(move || look.begin(&at)).await? {
        query::Begin::After(number) => number,
        query::Begin::Elsewhere(elsewhere) => return Ok(elsewhere.answer()),
    };
    asked.wait(&node, begin, query.wait).await;
    if query.format == Form::Json {
        return match readers.with(asked.reads_again(), move || asked.page(&node, begin)).await? {
            Ok(page) => ok(page),
            Err(elsewhere) => Ok(elsewhere.answer()),
        };
    }
    let busy = |_| ControlError::Unavailable(format!("lines are sent to {STREAMS} clients already; ask again"));
    let turn = readers.streams.clone().try_acquire_owned().map_err(busy)?;
    let at = node.clone();
    let log = readers.look(move || query::feed_of(&at)).await?;
    let (to, mut lines) = mpsc::channel(1);
    actix_web::rt::spawn(async move {
        let _turn = turn;
        send(node, asked, begin, (readers, to)).await;
    });
    Ok(HttpResponse::Ok()
        .content_type("application/x-ndjson")
        .insert_header(("X-Feed-Log", log))
        .streaming(poll_fn(move |cx| lines.poll_recv(cx).map(|chunk| chunk.map(Ok::<Bytes, Infallible>)))))
}

/// Hands lines on, a chunk at a time, until all are sent, the client is gone or the database does not answer: then the last line is the end.
async fn send(
    node: Data<Node>,
    asked: query::Asked,
    mut after: u64,
    (readers, to): (Data<Readers>, mpsc::Sender<Bytes>),
) {
    let mut left = asked.limit;
    while left > 0 {
        let (at, look) = (node.clone(), asked.clone());
        let again = look.reads_again();
        let found = readers.with(again, move || look.lines(&at, after, left)).await;
        let Ok(Some((lines, sent, next))) = found else { return };
        (after, left) = (next, left.saturating_sub(sent));
        if !lines.is_empty() && !matches!(tokio::time::timeout(TAKES, to.send(lines.into())).await, Ok(Ok(()))) {
            return;
        }
    }
}

impl Elsewhere {
    fn answer(&self) -> HttpResponse {
        let mut response = HttpResponse::build(self.problem.status_code());
        let body = serde_json::to_string(self).unwrap_or_default();
        response.content_type("application/problem+json").body(body)
    }
}

/// Somebody who reads the feed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ConsumerView {
    /// Its name.
    pub name: String,
    /// The last entry that it is done with.
    pub after: u64,
    /// What it has not read is kept for it: entries and archive files.
    pub hold: bool,
    /// When it said so, milliseconds since 1970.
    pub at_ms: u64,
    /// Entries that it has not read.
    pub behind: u64,
}

/// All who read the feed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ConsumersView {
    /// Which feed this is.
    pub log: String,
    /// The last entry there is.
    pub high: u64,
    /// The first entry that is left.
    pub oldest: u64,
    /// By name.
    pub consumers: Vec<ConsumerView>,
}

/// What somebody who reads says of itself; what is not said stays.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Acknowledged {
    /// The last entry that it is done with; of a new one the one before the first that is left.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    #[schema(example = 41)]
    pub after: Option<u64>,
    /// The feed that this number is of.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub log: Option<String>,
    /// Whether what it has not read is kept for it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub hold: Option<bool>,
}

/// Who reads the feed under a name.
#[utoipa::path(get, path = "/api/v1/feed/consumers", tag = "feed", responses(
    (status = 200, body = ConsumersView), Refusal<503>,
))]
pub(super) async fn consumers(node: Data<Node>) -> Answer {
    ok(reading(move || query::consumers(&node)).await?)
}

/// One who reads the feed.
#[utoipa::path(get, path = "/api/v1/feed/consumers/{name}", tag = "feed",
    params(("name" = String, Path, description = "Its name.")),
    responses((status = 200, body = ConsumerView), Refusal<404>, Refusal<503>,
))]
pub(super) async fn consumer(name: Path<String>, node: Data<Node>) -> Answer {
    ok(reading(move || query::consumer(&node, &name)).await?)
}

/// Says how far somebody is who reads the feed; answers when that is committed.
#[utoipa::path(put, path = "/api/v1/feed/consumers/{name}", tag = "feed",
    params(("name" = String, Path, description = "1 to 64 of a-z, 0-9, `-`, `_`.")),
    request_body = Acknowledged,
    responses((status = 200, body = ConsumerView), Refusal<400>, Refusal<409>, Refusal<413>, Refusal<503>,
))]
pub(super) async fn acknowledge(name: Path<String>, payload: Payload, node: Data<Node>) -> Answer {
    let said: Acknowledged = body::json(payload).await?;
    let name = name.into_inner();
    let look = format!("`lycosa ctl feed consumers`, for {name:?}");
    ok(ordered(query::acknowledge(node.into_inner(), name, said), look).await?)
}

/// Somebody reads the feed no more: nothing is kept for it.
#[utoipa::path(delete, path = "/api/v1/feed/consumers/{name}", tag = "feed",
    params(("name" = String, Path, description = "Its name.")),
    responses((status = 200, body = ConsumersView), Refusal<404>, Refusal<409>, Refusal<503>,
))]
pub(super) async fn forget(name: Path<String>, node: Data<Node>) -> Answer {
    let name = name.into_inner();
    let look = format!("`lycosa ctl feed consumers`, for {name:?}");
    ok(ordered(query::forget(node.into_inner(), name), look).await?)
}
