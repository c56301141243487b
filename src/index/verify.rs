//! Compares an index with what is stored: its documents are the newest captures that belong into it, and no others.

use std::fmt;

use tantivy::schema::Value;
use tantivy::{DocId, SegmentReader, TantivyDocument};

use super::error::IndexError;
use super::follow::{FollowError, Source};
use super::newest::{Newest, id};
use super::reader::Reader;
use crate::domain::fingerprint::CrawlId;
use crate::domain::url::PageUrl;
use crate::storage::keys::{Key, KeyRange, SeenKey, successor};
use crate::storage::read;
use crate::storage::tables::Pages;
use crate::storage::values::UrlState;

/// Differences that are told one by one.
const TOLD: usize = 20;

/// What the comparison found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Comparison {
    /// Pages looked at.
    pub pages: u64,
    /// Documents of the index.
    pub documents: u64,
    /// Pages whose document is that of their newest capture.
    pub right: u64,
    /// Pages that are to be fetched once more: their document may be of any of their captures.
    pub waiting: u64,
    /// Pages without a document, or with that of another capture.
    pub wrong: u64,
    /// Documents of no page that belongs into the index.
    pub stray: u64,
    /// The first of them, in words.
    pub told: Vec<String>,
}

impl Comparison {
    /// They are the same.
    pub fn agrees(&self) -> bool {
        self.wrong == 0 && self.stray == 0
    }

    fn tell(&mut self, what: fmt::Arguments<'_>) {
        if self.told.len() < TOLD {
            self.told.push(what.to_string());
        }
    }
}

/// Compares all of it. `looked` is told how many pages were looked at.
///
/// # Errors
/// [`FollowError`]: index or storage cannot be read.
pub fn compare(
    source: &Source<'_>,
    crawl: CrawlId,
    reader: &Reader,
    looked: &dyn Fn(u64),
) -> Result<Comparison, FollowError> {
    let searcher = reader.searcher();
    let mut found = Comparison { documents: searcher.num_docs(), ..Comparison::default() };
    let mut from = Vec::new();
    while let Some(page) = read::first_key::<Pages>(source.storage, &KeyRange { from, until: Vec::new() })? {
        let key = page.seen();
        from = successor(&key.encode());
        found.pages += 1;
        looked(found.pages);
        page_of(source, reader, key, &mut found)?;
    }
    if found.documents != found.right + found.waiting {
        strays(source, crawl, reader, &mut found)?;
    }
    Ok(found)
}

fn page_of(source: &Source<'_>, reader: &Reader, key: SeenKey, found: &mut Comparison) -> Result<(), FollowError> {
    let state = read::seen_state(source.storage, key)?;
    let newest = source.wanted.newest(source.storage, key, state)?;
    let document = reader.document(&id(key))?;
    let waits = matches!(state, Some(UrlState::Waiting { .. }));
    match (newest, document) {
        (_, Some(_)) if waits => found.waiting += 1,
        (Some(newest), Some((captured, stale))) if captured == newest.page.fetched.0 && stale == newest.stale => {
            found.right += 1;
        }
        (Some(newest), None) if !waits && says_something(source, &newest) => {
            found.wrong += 1;
            found.tell(format_args!("{} is not in the index", newest.page.url));
        }
        (Some(newest), Some(_)) => {
            found.wrong += 1;
            found.right += 1; // it is no stray one
            found.tell(format_args!("{} is in the index as it was, not as it is", newest.page.url));
        }
        _ => {}
    }
    Ok(())
}

/// Whether a page has text at all: only its bytes tell.
fn says_something(source: &Source<'_>, newest: &Newest) -> bool {
    let Ok(url) = PageUrl::from_canonical(&newest.page.url) else { return false };
    let Some(picked) = source.read(newest, &url) else { return true };
    let look = source.eyes.look(&url, picked);
    look.and_then(|look| source.making.page(newest, &url, 0, &look)).is_some()
}

fn strays(source: &Source<'_>, crawl: CrawlId, reader: &Reader, found: &mut Comparison) -> Result<(), FollowError> {
    let searcher = reader.searcher();
    for segment in searcher.segment_readers() {
        for document in segment.doc_ids_alive() {
            let Some(url) = url_of(reader, segment, document)? else { continue };
            let key = SeenKey::of(source.making.prints, crawl, &url);
            let state = read::seen_state(source.storage, key)?;
            let waits = matches!(state, Some(UrlState::Waiting { .. }));
            if !waits && source.wanted.newest(source.storage, key, state)?.is_none() {
                found.stray += 1;
                found.tell(format_args!("{url} is in the index and does not belong there"));
            }
        }
    }
    Ok(())
}

fn url_of(reader: &Reader, segment: &SegmentReader, document: DocId) -> Result<Option<PageUrl>, IndexError> {
    let failed = |e| reader.failed(e);
    let store = segment.get_store_reader(1).map_err(|e| failed(e.into()))?;
    let document: TantivyDocument = store.get(document).map_err(failed)?;
    let card = document.get_first(reader.fields().card).and_then(|value| value.as_str());
    let card = card.and_then(|card| serde_json::from_str::<serde_json::Value>(card).ok());
    let url = card.as_ref().and_then(|card| card["url"].as_str());
    Ok(url.and_then(|url| PageUrl::from_canonical(url).ok()))
}
