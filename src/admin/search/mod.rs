//! The search of the index of pages, and its graph of links.

#[cfg(feature = "search")]
pub mod answer;
pub mod views;

use std::sync::Arc;

use actix_web::web::{Data, Query};
use serde::Deserialize;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use utoipa::IntoParams;

use super::bounded::reading;
use super::control::ControlError;
#[cfg(feature = "search")]
use super::paging::Paging;
use super::problem::{Answer, Refusal, ok};
use crate::crawl::node::Node;
use crate::domain::url::PageUrl;
use views::{Linked, LinksView, SearchView};

/// Searches that are made at a time.
const AT_A_TIME: usize = 2;
/// Those that wait for their turn.
const WAITING: usize = 8;
/// Hits when nothing is said, and at most.
#[cfg(feature = "search")]
const HITS: (usize, usize) = (10, 100);
/// Links likewise; for the text of each the page is read that it stands on.
#[cfg(feature = "search")]
const LINKS: (usize, usize) = (50, 100);

/// What is looked for.
#[derive(Clone, Debug, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[cfg_attr(not(feature = "search"), allow(dead_code, reason = "there is no index to ask"))]
pub(super) struct SearchQuery {
    /// Words, `"phrases"`, `-word`, `a OR b`, `word*`, `title:`, `url:`, `key:`, `host:`, `site:`, `lang:`, `mime:`, `links:`, `since:`, `before:`.
    q: String,
    /// At most so many pages: 10 by itself, 100 at most.
    #[param(minimum = 1, maximum = 100)]
    limit: Option<usize>,
    /// Where to go on: `next` of the answer before.
    cursor: Option<String>,
    /// What comes first: `relevance`, `priority`, `out_links`, `in_links` or `newest`.
    sort: Option<String>,
    /// `1` tells of each page how it came to its place.
    explain: Option<u8>,
}

/// Which links.
#[derive(Clone, Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[cfg_attr(not(feature = "search"), allow(dead_code, reason = "there is no index to ask"))]
pub(super) struct LinksQuery {
    /// The page.
    url: String,
    /// `in`: pages that link to it; `out`: those that it links to.
    direction: Option<String>,
    /// At most so many pages: 50 by itself, 100 at most, for each is read again.
    #[param(minimum = 1, maximum = 100)]
    limit: Option<usize>,
    /// Where to go on: `next` of the answer before.
    cursor: Option<String>,
}

/// The turns of those who search.
pub(super) struct Turns {
    at_work: Arc<Semaphore>,
    places: Arc<Semaphore>,
}

/// A turn: it is over when this is dropped.
type Turn = (OwnedSemaphorePermit, OwnedSemaphorePermit);

/// All of them free.
pub(super) fn turns() -> Data<Turns> {
    let places = Semaphore::new(AT_A_TIME + WAITING);
    Data::new(Turns { at_work: Arc::new(Semaphore::new(AT_A_TIME)), places: Arc::new(places) })
}

impl Turns {
    async fn turn(&self) -> Result<Turn, ControlError> {
        let busy = || ControlError::Unavailable("other searches wait; ask again".into());
        let place = self.places.clone().try_acquire_owned().map_err(|_| busy())?;
        let turn = self.at_work.clone().acquire_owned().await.map_err(|_| busy())?;
        Ok((turn, place))
    }
}

/// Pages that say what is looked for.
#[utoipa::path(get, path = "/api/v1/search", tag = "index", params(SearchQuery), responses(
    (status = 200, body = SearchView), Refusal<400>, Refusal<409>, Refusal<503>,
))]
pub(super) async fn search(query: Query<SearchQuery>, node: Data<Node>, turns: Data<Turns>) -> Answer {
    let turn = turns.turn().await?;
    ok(reading(move || {
        let _turn = turn;
        found(&node, &query)
    })
    .await?)
}

/// Pages that link to one, or that it links to.
#[utoipa::path(get, path = "/api/v1/links", tag = "index", params(LinksQuery), responses(
    (status = 200, body = LinksView), Refusal<400>, Refusal<409>, Refusal<503>,
))]
pub(super) async fn links(query: Query<LinksQuery>, node: Data<Node>, turns: Data<Turns>) -> Answer {
    let turn = turns.turn().await?;
    ok(reading(move || {
        let _turn = turn;
        linked(&node, &query)
    })
    .await?)
}

#[cfg(feature = "search")]
fn found(node: &Node, query: &SearchQuery) -> Result<SearchView, ControlError> {
    use crate::index::Sort;

    let name = query.sort.as_deref().unwrap_or(Sort::Relevance.as_str());
    let unknown = || {
        let all: Vec<&str> = Sort::ALL.iter().map(|sort| sort.as_str()).collect();
        ControlError::Invalid(format!("sort={name}: expected one of {}", all.join(", ")))
    };
    let sort = Sort::named(name).ok_or_else(unknown)?;
    let (from, limit) = (offset(query.cursor.clone())?, limited(query.limit, HITS)?);
    let (now, explain) = (node.clock.date(), query.explain.is_some_and(|explain| explain > 0));
    asked(node, |asking| asking.search(&answer::Question { text: &query.q, now, sort, from, limit, explain }))
}

#[cfg(feature = "search")]
fn linked(node: &Node, query: &LinksQuery) -> Result<LinksView, ControlError> {
    let out = match query.direction.as_deref().unwrap_or("in") {
        "in" => false,
        "out" => true,
        other => return Err(ControlError::Invalid(format!("direction={other}: expected in or out"))),
    };
    let (from, limit) = (offset(query.cursor.clone())?, limited(query.limit, LINKS)?);
    asked(node, |asking| asking.links(&query.url, out, from, limit))
}

/// How much a page is linked, as far as there is an index that says so.
#[cfg(feature = "search")]
pub(super) fn linked_of(node: &Node, url: &PageUrl, out_links: u64) -> Option<Linked> {
    let key = crate::index::link_key(node.prints.url(url));
    let linking = node.index.reader()?.linking_to(key, &hidden(node), 0, 0).ok()?;
    let (in_links, in_external) = (linking.total, linking.external);
    let priority = crate::index::Links { out_links, in_links, in_external }.priority();
    Some(Linked { in_links, in_external, priority })
}

/// How many are wanted, by what is meant when nothing is said and the most.
#[cfg(feature = "search")]
fn limited(limit: Option<usize>, (usual, most): (usize, usize)) -> Result<usize, ControlError> {
    match limit.unwrap_or(usual) {
        limit if (1..=most).contains(&limit) => Ok(limit),
        limit => Err(ControlError::Invalid(format!("limit={limit}: expected 1 to {most}"))),
    }
}

/// How many are left out at the beginning.
#[cfg(feature = "search")]
fn offset(cursor: Option<String>) -> Result<usize, ControlError> {
    let after = Paging { limit: None, cursor }.after()?;
    if after.is_empty() {
        return Ok(0);
    }
    let number = <[u8; 8]>::try_from(after).ok().map(u64::from_be_bytes);
    let number = number.and_then(|number| usize::try_from(number).ok());
    number.ok_or_else(|| ControlError::Invalid("cursor: expected `next` of the page before".into()))
}

/// Asks the index of a running crawl.
#[cfg(feature = "search")]
fn asked<T>(
    node: &Node,
    ask: impl FnOnce(&answer::Asking<'_>) -> Result<T, answer::NoAnswer>,
) -> Result<T, ControlError> {
    use std::time::Duration;

    use crate::index::Source;

    /// From when on what follows has no snippets any more: a search is answered soon.
    const PATIENCE: Duration = Duration::from_millis(500);
    let Some(reader) = node.index.reader() else { return Err(no_reader(node)) };
    let (rules, again) = (&node.crawl.rules, node.crawl.rules.again());
    let warc = rules.settings.warc_dir();
    let making = (&rules.settings.index, &rules.canon, &node.prints);
    let source = Source::of(&*node.storage, making, (&warc, &again), &node.faults);
    let (begun, high) = (node.clock.uptime(), node.crawl.progress.fed.borrow().unwrap_or(0));
    let asking = answer::Asking {
        reader: &reader,
        source,
        crawl: node.crawl.id,
        hidden: hidden(node),
        high,
        took: &|| node.clock.uptime().saturating_sub(begun),
        patience: PATIENCE,
    };
    ask(&asking).map_err(|error| match error {
        answer::NoAnswer::Index(e) => ControlError::Unavailable(e.to_string()),
        e => ControlError::Invalid(e.to_string()),
    })
}

/// Hosts whose pages are not shown.
#[cfg(feature = "search")]
fn hidden(node: &Node) -> Vec<String> {
    let orders = node.crawl.orders.all();
    orders.into_iter().filter(|(_, orders)| orders.blocked.is_some()).map(|(host, _)| host.to_string()).collect()
}

#[cfg(feature = "search")]
fn no_reader(node: &Node) -> ControlError {
    if node.crawl.live().settings.index.enabled {
        let doing = node.index.told().doing;
        return ControlError::Unavailable(format!("the index cannot be asked yet ({doing}); ask again"));
    }
    let detail =
        "there is no index: switch it on with `lycosa ctl set index.enabled=true`, and it is made of all pages";
    ControlError::Refused(detail.into())
}

#[cfg(not(feature = "search"))]
fn found(_: &Node, _: &SearchQuery) -> Result<SearchView, ControlError> {
    Err(without())
}

#[cfg(not(feature = "search"))]
fn linked(_: &Node, _: &LinksQuery) -> Result<LinksView, ControlError> {
    Err(without())
}

#[cfg(not(feature = "search"))]
pub(super) fn linked_of(_: &Node, _: &PageUrl, _: u64) -> Option<Linked> {
    None
}

#[cfg(not(feature = "search"))]
fn without() -> ControlError {
    ControlError::Unavailable("this program was built without the feature `search`: it has no index".into())
}
