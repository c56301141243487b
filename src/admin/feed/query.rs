//! The feed: entries from storage, consumers through the Store.

use std::sync::Arc;
use std::time::Duration;

use actix_web::http::StatusCode;
use data_encoding::HEXLOWER;

use super::{Acknowledged, ConsumerView, ConsumersView, Elsewhere, FeedItem, FeedPage, FeedQuery, Form};
use crate::admin::ControlError;
use crate::admin::commit::committed;
use crate::admin::find::unread;
use crate::admin::hosts::query::named;
use crate::admin::problem::Problem;
use crate::crawl::node::Node;
use crate::domain::fingerprint::HostKey;
use crate::domain::visit::Visit;
use crate::export::item::{Include, Included};
use crate::export::{ExportError, Row, Source};
use crate::storage::feed::{Item, Part, Stand, items, log};
use crate::storage::ledger::Change;
use crate::storage::read;
use crate::storage::values::{CONSUMERS, Consumer, Consumers, FeedEntry, FeedLog, INDEX};

/// Entries of a page when nothing is said, and at most.
const USUAL: usize = 100;
const MOST: usize = 1_000;
/// Lines at most.
const MOST_LINES: usize = 100_000;
/// Entries read at a time.
const CHUNK: usize = 1_000;
/// Lines sent at a time.
const LINES: usize = 250;
/// Entries with what is read again for them, at most, of a page and of lines sent at a time; and bytes behind which no other is read.
const MOST_INCLUDED: usize = 100;
const INCLUDED_BYTES: usize = 8 << 20;
/// Entries looked at for one page, wanted or not.
const LOOKED_AT: usize = 20 * CHUNK;

/// What is asked for, read.
#[derive(Clone)]
pub(super) struct Asked {
    pub limit: usize,
    after: Option<u64>,
    log: Option<[u8; 8]>,
    kinds: Vec<Visit>,
    host: Option<HostKey>,
    include: Include,
}

/// Where entries follow.
pub(super) enum Begin {
    After(u64),
    Elsewhere(Elsewhere),
}

impl Asked {
    pub fn of(node: &Node, query: &FeedQuery) -> Result<Self, ControlError> {
        let unknown = |name| format!("include={name}: expected some of card, text, links, rights");
        let include = Include::read(query.include.as_deref().unwrap_or_default());
        let include = include.map_err(|name| ControlError::Invalid(unknown(name)))?;
        let (usual, most) = match query.format {
            Form::Json if include.is_empty() => (USUAL, MOST),
            Form::Json => (MOST_INCLUDED, MOST_INCLUDED),
            Form::Ndjson => (MOST_LINES, MOST_LINES),
        };
        let limit = query.limit.unwrap_or(usual);
        if !(1..=most).contains(&limit) {
            let with = if include.is_empty() { "" } else { " with include" };
            return Err(ControlError::Invalid(format!("limit={limit}: expected 1 to {most}{with}")));
        }
        let names = query.kind.as_deref().unwrap_or_default().split(',').filter(|name| !name.is_empty());
        let kind = |name: &str| {
            let all: Vec<&str> = Visit::ALL.iter().map(|kind| kind.as_str()).collect();
            let unknown = || ControlError::Invalid(format!("kind={name}: expected some of {}", all.join(", ")));
            Visit::ALL.iter().find(|kind| kind.as_str() == name.trim()).copied().ok_or_else(unknown)
        };
        let kinds = names.map(kind).collect::<Result<_, _>>()?;
        let host = query.host.as_deref().map(|host| named(node, host)).transpose()?.map(|found| found.at.host);
        let log = query.log.as_deref().map(feed_id).transpose()?;
        Ok(Self { limit, after: query.after, log, kinds, host, include })
    }

    /// Whether pages are read from the archive.
    pub fn reads_again(&self) -> bool {
        !self.include.is_empty()
    }

    /// The entries as they are told, each handed on with its number, until `each` has enough of them.
    fn told(
        &self,
        node: &Node,
        items: Vec<Item>,
        mut each: impl FnMut(u64, FeedItem) -> bool,
    ) -> Result<bool, ControlError> {
        let rules = &node.crawl.rules;
        let source = Source::new(&*node.storage, &rules.settings, 0).reading(rules.modules.clone());
        for item in items {
            let mut told = FeedItem::from(&item);
            if let Item { number, entry, page: Some(page), .. } = item
                && self.reads_again()
            {
                let failed = |e| match e {
                    ExportError::Storage(e) => unread(e),
                    e => ControlError::Unavailable(e.to_string()),
                };
                told.included = Row::new(&source, number, entry, page).included(self.include).map_err(failed)?;
            }
            if !each(told.seq, told) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn wants(&self, entry: &FeedEntry) -> bool {
        (self.kinds.is_empty() || self.kinds.contains(&entry.kind))
            && self.host.is_none_or(|host| entry.page.host == host)
    }

    /// Where entries follow the number asked for.
    pub fn begin(&self, node: &Node) -> Result<Begin, ControlError> {
        self.stand(node, self.after)
    }

    fn stand(&self, node: &Node, after: Option<u64>) -> Result<Begin, ControlError> {
        let (log, high) = (log(&*node.storage).map_err(unread)?, shown(node)?);
        let after = after.unwrap_or(log.trimmed);
        let stand = log.stand(self.log.as_ref(), after, high);
        let elsewhere = |status, detail: String, common| {
            let (problem, oldest) = (Problem::new(status, detail), log.oldest());
            Begin::Elsewhere(Elsewhere { problem, log: hex(&log), common, oldest })
        };
        Ok(match stand {
            Stand::Here => Begin::After(after),
            Stand::Other { common } => {
                let detail = format!(
                    "this is the feed {0}, whose entries end at {high}, and {after} is of another: the crawl was put back to a former state, or number or log are \
                     of another crawl. \
                     Up to {common} both are the same; go on with after={common}&log={0}",
                    hex(&log)
                );
                elsewhere(StatusCode::CONFLICT, detail, Some(common))
            }
            Stand::Trimmed { oldest } => {
                let detail = format!(
                    "entries before {oldest} were let go (feed.keep): go on with after={}, and take what is missing from `lycosa ctl pages`",
                    oldest - 1
                );
                elsewhere(StatusCode::GONE, detail, None)
            }
        })
    }

    /// Waits until something follows `after`, so many seconds at most.
    pub async fn wait(&self, node: &Node, after: u64, seconds: Option<u64>) {
        let Some(seconds) = seconds.filter(|seconds| *seconds > 0) else { return };
        let (mut fed, mut stop) = (node.crawl.progress.fed.subscribe(), node.stop.subscribe());
        let more = async {
            tokio::select! {
                _ = fed.wait_for(|high| high.is_some_and(|high| high > after)) => {}
                _ = stop.wait_for(Option::is_some) => {}
            }
        };
        let _ = tokio::time::timeout(Duration::from_secs(seconds), more).await;
    }

    /// A page of entries; where they are, when they went away since it was looked.
    pub fn page(&self, node: &Node, begin: u64) -> Result<Result<FeedPage, Elsewhere>, ControlError> {
        if let Begin::Elsewhere(elsewhere) = self.stand(node, Some(begin))? {
            return Ok(Err(elsewhere));
        }
        let (log, high) = (log(&*node.storage).map_err(unread)?, shown(node)?);
        let (mut found, mut next, mut looked, mut bytes) = (Vec::new(), begin, 0, 0);
        while found.len() < self.limit && looked < LOOKED_AT {
            let part = Part { after: next, until: high, most: CHUNK.min(self.limit - found.len()) };
            let (items, last) = items(&*node.storage, part, |entry| self.wants(entry)).map_err(unread)?;
            let Some(last) = last else {
                next = high.max(next); // numbers that were passed over have no entries
                break;
            };
            looked += part.most;
            let all = self.told(node, items, |number, item| {
                (next, bytes) = (number, bytes + bytes_of(&item.included));
                found.push(item);
                bytes < INCLUDED_BYTES
            })?;
            if !all {
                break;
            }
            next = last;
        }
        Ok(Ok(FeedPage { log: hex(&log), items: found, next, high, oldest: log.oldest() }))
    }

    /// Some lines behind `after`, how many, and the last entry looked at; none when nothing follows, or what follows was let
    /// go.
    pub fn lines(&self, node: &Node, after: u64, left: usize) -> Result<Option<(String, usize, u64)>, ControlError> {
        let most = if self.reads_again() { MOST_INCLUDED } else { LINES };
        let part = Part { after, until: shown(node)?, most: most.min(left) };
        let (items, last) = items(&*node.storage, part, |entry| self.wants(entry)).map_err(unread)?;
        if log(&*node.storage).map_err(unread)?.trimmed > after {
            return Ok(None);
        }
        let Some(last) = last else { return Ok(None) };
        let (mut lines, mut count, mut upto) = (String::new(), 0, after);
        let all = self.told(node, items, |number, item| {
            lines += &serde_json::to_string(&item).unwrap_or_default();
            lines.push('\n');
            (count, upto) = (count + 1, number);
            lines.len() < INCLUDED_BYTES
        })?;
        Ok(Some((lines, count, if all { last } else { upto })))
    }
}

/// Bytes of what may be long of it.
fn bytes_of(included: &Included) -> usize {
    let links = included.links.iter().flatten().map(|link| link.url.len() + link.context.len() + link.text.len());
    included.text.as_ref().map_or(0, String::len) + links.sum::<usize>()
}

/// The last entry that is shown.
pub(in crate::admin) fn shown(node: &Node) -> Result<u64, ControlError> {
    let why = "the feed is not taken up yet, or cannot be shown (the log says why): ask again";
    (*node.crawl.progress.fed.borrow()).ok_or_else(|| ControlError::Unavailable(why.into()))
}

/// Which feed this is, for a head.
pub(super) fn feed_of(node: &Node) -> Result<String, ControlError> {
    Ok(hex(&log(&*node.storage).map_err(unread)?))
}

fn hex(log: &FeedLog) -> String {
    HEXLOWER.encode(&log.id)
}

fn feed_id(text: &str) -> Result<[u8; 8], ControlError> {
    let id = HEXLOWER.decode(text.as_bytes()).ok().and_then(|id| id.try_into().ok());
    id.ok_or_else(|| ControlError::Invalid(format!("log={text}: expected `log` of a page of the feed, 16 digits")))
}

fn stored(node: &Node) -> Result<Consumers, ControlError> {
    Ok(read::meta(&*node.storage, ()).map_err(unread)?.unwrap_or_default())
}

fn view(consumer: &Consumer, high: u64) -> ConsumerView {
    let Consumer { name, after, hold, at } = consumer.clone();
    ConsumerView { name, after, hold, at_ms: at.0, behind: high.saturating_sub(after) }
}

pub(super) fn consumers(node: &Node) -> Result<ConsumersView, ControlError> {
    let (log, high) = (log(&*node.storage).map_err(unread)?, shown(node)?);
    let consumers = stored(node)?.0.iter().map(|consumer| view(consumer, high)).collect();
    Ok(ConsumersView { log: hex(&log), high, oldest: log.oldest(), consumers })
}

pub(super) fn consumer(node: &Node, name: &str) -> Result<ConsumerView, ControlError> {
    let all = stored(node)?;
    let found = all.0.iter().find(|consumer| consumer.name == name);
    let found = found.ok_or_else(|| nobody(name, &all))?;
    Ok(view(found, shown(node)?))
}

fn nobody(name: &str, all: &Consumers) -> ControlError {
    let names: Vec<&str> = all.0.iter().map(|consumer| consumer.name.as_str()).collect();
    let names = if names.is_empty() { "nobody reads it under a name".to_owned() } else { names.join(", ") };
    ControlError::Absent(format!("nobody reads the feed as {name:?}; there are: {names}"))
}

/// What is said of a consumer, and of the feed that it reads, fits.
pub(super) async fn acknowledge(
    node: Arc<Node>,
    name: String,
    said: Acknowledged,
) -> Result<ConsumerView, ControlError> {
    not_ours(&node, &name)?;
    let plain = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || matches!(b, b'-' | b'_');
    if name.is_empty() || name.len() > 64 || !name.bytes().all(plain) {
        return Err(ControlError::Invalid(format!("{name:?} is no name: expected 1 to 64 of a-z, 0-9, '-' and '_'")));
    }
    let (log, high, mut all) = (log(&*node.storage).map_err(unread)?, shown(&node)?, stored(&node)?);
    let known = all.0.iter().find(|consumer| consumer.name == name);
    let after = said.after.or(known.map(|known| known.after)).unwrap_or(log.trimmed);
    let id = said.log.as_deref().map(feed_id).transpose()?;
    match log.stand(id.as_ref(), after, high) {
        Stand::Other { common } => {
            let detail = format!(
                "this is the feed {}, whose entries end at {high}, and {after} is of another: up to {common} both are the same",
                hex(&log)
            );
            return Err(ControlError::Refused(detail));
        }
        Stand::Here | Stand::Trimmed { .. } => {}
    }
    let hold = said.hold.or(known.map(|known| known.hold)).unwrap_or(false);
    let consumer = Consumer { name: name.clone(), after, hold, at: node.clock.date() };
    let full = || {
        let detail =
            format!("{CONSUMERS} read the feed under a name already; `lycosa ctl feed forget NAME` takes one away");
        ControlError::Refused(detail)
    };
    if !all.set(consumer.clone()) {
        return Err(full());
    }
    committed(&node, Change::Consumer { name: name.clone(), at: Some(consumer.clone()) }).await?;
    // Others may have come first, to the last place there was.
    let entered = stored(&node)?.0.iter().any(|known| known.name == name);
    if entered { Ok(view(&consumer, high)) } else { Err(full()) }
}

/// The index and the sinks say themselves how far they are.
fn not_ours(node: &Node, name: &str) -> Result<(), ControlError> {
    if node.crawl.rules.settings.sink.iter().any(|section| section.consumer() == name) {
        let detail = format!("a sink of the settings reads the feed as {name:?}; take it out of them first");
        return Err(ControlError::Refused(detail));
    }
    if name == INDEX {
        let detail = "the index of pages reads the feed under this name; switch it off with index.enabled=false";
        return Err(ControlError::Refused(detail.into()));
    }
    Ok(())
}

pub(super) async fn forget(node: Arc<Node>, name: String) -> Result<ConsumersView, ControlError> {
    not_ours(&node, &name)?;
    let all = stored(&node)?;
    if all.0.iter().all(|consumer| consumer.name != name) {
        return Err(nobody(&name, &all));
    }
    committed(&node, Change::Consumer { name, at: None }).await?;
    consumers(&node)
}
