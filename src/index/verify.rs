//! Compares an index with what is stored: its documents are the newest captures that belong into it, and no others.

use std::collections::HashSet;
use std::fmt;

use serde::Serialize;

use super::follow::{FollowError, Source};
use super::make::Look;
use super::reader::Reader;
use crate::domain::fingerprint::CrawlId;
use crate::domain::url::PageUrl;
use crate::storage::keys::{Key, KeyRange, SeenKey, successor};
use crate::storage::newest::{Newest, id};
use crate::storage::read;
use crate::storage::tables::{Feed, Pages};
use crate::storage::values::UrlState;

/// Differences that are told one by one.
const TOLD: usize = 20;

/// What the comparison found.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Comparison {
    /// Pages looked at.
    pub pages: u64,
    /// Documents of the index.
    pub documents: u64,
    /// Pages whose document is that of their newest capture.
    pub right: u64,
    /// Documents of pages that are to be fetched once more: they may be of any of their captures.
    pub waiting: u64,
    /// Pages of which the feed says something that the index has not read yet.
    pub pending: u64,
    /// Pages without a document.
    pub missing: u64,
    /// Pages with the document of another capture.
    pub old: u64,
    /// Documents of no page that belongs into the index.
    pub stray: u64,
    /// Documents beyond the one that a page may have.
    pub double: u64,
    /// The first of them, in words.
    pub told: Vec<String>,
}

impl Comparison {
    /// They are the same.
    pub fn agrees(&self) -> bool {
        [self.missing, self.old, self.stray, self.double] == [0; 4]
    }

    fn tell(&mut self, what: fmt::Arguments<'_>) {
        if self.told.len() < TOLD {
            self.told.push(what.to_string());
        }
    }
}

/// Compares all of it. `high`: the last entry of the feed. `looked` is told how many pages were looked at.
///
/// # Errors
/// [`FollowError`]: index or storage cannot be read.
pub fn compare(
    source: &Source<'_>,
    crawl: CrawlId,
    reader: &Reader,
    high: u64,
    looked: &dyn Fn(u64),
) -> Result<Comparison, FollowError> {
    let stand = reader.stand()?.unwrap_or_default();
    let mut comparing =
        Comparing { source, crawl, reader, pending: HashSet::new(), unjudged: 0, found: Comparison::default() };
    comparing.found.documents = reader.documents();
    comparing.pending_behind(stand.seq, high)?;
    let mut from = Vec::new();
    while let Some(page) = read::first_key::<Pages>(source.storage, &KeyRange { from, until: Vec::new() })? {
        let key = page.seen();
        from = successor(&key.encode());
        comparing.found.pages += 1;
        looked(comparing.found.pages);
        comparing.page(key)?;
    }
    if comparing.found.documents != comparing.with_document() {
        comparing.strays()?;
        let known = comparing.with_document() + comparing.found.stray;
        comparing.found.double = comparing.found.documents.saturating_sub(known);
    }
    Ok(comparing.found)
}

struct Comparing<'a> {
    source: &'a Source<'a>,
    crawl: CrawlId,
    reader: &'a Reader,
    /// Pages that the index has yet to hear of.
    pending: HashSet<SeenKey>,
    /// Those of them that have a document.
    unjudged: u64,
    found: Comparison,
}

/// Entries read at a time.
const CHUNK: usize = 1_000;

impl Comparing<'_> {
    fn pending_behind(&mut self, mut after: u64, high: u64) -> Result<(), FollowError> {
        loop {
            let entries = read::scan::<Feed>(self.source.storage, &KeyRange::feed(after, high), CHUNK)?;
            let Some((last, _)) = entries.last() else { return Ok(()) };
            after = last.number;
            self.pending.extend(entries.iter().map(|(_, entry)| entry.page));
        }
    }

    /// Documents of pages that were looked at.
    fn with_document(&self) -> u64 {
        let Comparison { right, old, waiting, .. } = self.found;
        right + old + waiting + self.unjudged
    }

    fn page(&mut self, key: SeenKey) -> Result<(), FollowError> {
        let state = read::seen_state(self.source.storage, key)?;
        let newest = self.source.wanted.newest(self.source.storage, key, state)?;
        let document = self.reader.document(&id(key))?;
        let waits = matches!(state, Some(UrlState::Waiting { .. }));
        match (newest, document) {
            (_, document) if self.pending.contains(&key) => {
                self.found.pending += 1;
                self.unjudged += u64::from(document.is_some());
            }
            (_, document) if waits => self.found.waiting += u64::from(document.is_some()),
            (Some(newest), Some(document)) if document == (newest.page.fetched.0, newest.stale) => {
                self.found.right += 1
            }
            (Some(newest), None) if says_something(self.source, &newest) => {
                self.found.missing += 1;
                self.found.tell(format_args!("{} is not in the index", newest.page.url));
            }
            (Some(newest), Some(_)) => {
                self.found.old += 1;
                self.found.tell(format_args!("{} is in the index as it was, not as it is", newest.page.url));
            }
            (Some(_) | None, None) | (None, Some(_)) => {}
        }
        Ok(())
    }

    fn strays(&mut self) -> Result<(), FollowError> {
        let mut urls = Vec::new();
        self.reader.each_card(|card| urls.extend(url_of(card)))?;
        for url in urls {
            let key = SeenKey::of(self.source.making.prints, self.crawl, &url);
            let state = read::seen_state(self.source.storage, key)?;
            let unjudged = self.pending.contains(&key) || matches!(state, Some(UrlState::Waiting { .. }));
            if !unjudged && self.source.wanted.newest(self.source.storage, key, state)?.is_none() {
                self.found.stray += 1;
                self.found.tell(format_args!("{url} is in the index and does not belong there"));
            }
        }
        Ok(())
    }
}

/// Whether a page has text at all: only its bytes tell.
fn says_something(source: &Source<'_>, newest: &Newest) -> bool {
    let Ok(url) = PageUrl::from_canonical(&newest.page.url) else { return false };
    let Some(picked) = source.read(newest, &url) else { return true };
    let look = Look::of(source.again, &url, &picked);
    look.and_then(|look| source.making.page(newest, &url, 0, &look)).is_some()
}

fn url_of(card: &str) -> Option<PageUrl> {
    let card: serde_json::Value = serde_json::from_str(card).ok()?;
    PageUrl::from_canonical(card["url"].as_str()?).ok()
}
