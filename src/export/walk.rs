//! The walk over the feed: the captures that are wanted, in the order of their entries. That is the order in which the Store appended their
//! records, so archive files are read from their beginning to their end; only revisits lead back.

use super::manifest::Counts;
use super::newest::Newest;
use super::row::{Row, Source};
use super::{ExportError, Select};
use crate::storage::feed;
use crate::storage::keys::{FeedKey, KeyRange};
use crate::storage::read;
use crate::storage::tables::{Feed, Pages};
use crate::storage::values::FeedEntry;

/// Entries read at a time.
const CHUNK: usize = 500;

pub(super) struct Walk<'s> {
    source: &'s Source<'s>,
    select: &'s Select,
    newest: Option<Newest>,
    /// The last entry that was looked at.
    pub after: u64,
    pub counts: Counts,
}

impl<'s> Walk<'s> {
    /// Behind the entry `after`; without `newest` all captures.
    pub fn new(source: &'s Source<'s>, select: &'s Select, after: u64, newest: Option<Newest>) -> Self {
        Self { source, select, newest, after, counts: Counts::default() }
    }

    /// Some captures that are wanted, as far as that is known without reading them; none at the end.
    pub fn next(&mut self) -> Result<Option<Vec<Row<'s>>>, ExportError> {
        let Source { storage, shown, .. } = *self.source;
        let entries = read::scan::<Feed>(storage, &KeyRange::feed(self.after, shown), CHUNK)?;
        let Some((last, _)) = entries.last() else { return Ok(None) };
        let last = last.number;
        let trimmed = feed::log(storage)?.trimmed;
        if trimmed > self.after && trimmed >= entries.first().map_or(0, |(key, _)| key.number) {
            let why =
                format!("entries up to {trimmed} were let go while they were being exported (feed.keep); begin anew");
            return Err(ExportError::Asked(why));
        }
        self.counts.entries += entries.len() as u64;
        let mut wanted = Vec::with_capacity(entries.len());
        for (FeedKey { number }, entry) in entries {
            if self.is_wanted(number, &entry)? {
                wanted.push((number, entry));
            }
        }
        let keys: Vec<_> = wanted.iter().filter_map(|(_, e)| Some(e.page.page(e.captured?))).collect();
        let pages = read::get_many::<Pages>(storage, &keys)?;
        let mut rows = Vec::with_capacity(pages.len());
        for ((number, entry), page) in wanted.into_iter().zip(pages) {
            let Some(page) = page else {
                self.counts.captures_gone += 1;
                continue;
            };
            let row = Row::new(self.source, number, entry, page);
            let confirmed = if self.select.status.is_empty() { None } else { Some(row.status()?) };
            if self.select.wants(&row.page, confirmed) {
                rows.push(row);
            } else {
                self.counts.filtered_out += 1;
            }
        }
        self.after = last;
        Ok(Some(rows))
    }

    /// Whether an entry has a capture, and it is the newest where that is asked for.
    fn is_wanted(&mut self, number: u64, entry: &FeedEntry) -> Result<bool, ExportError> {
        if entry.captured.is_none() {
            self.counts.without_capture += 1;
            return Ok(false);
        }
        let is_newest = self.newest.as_mut().map_or(Ok(true), |newest| newest.has(number))?;
        self.counts.older_captures += u64::from(!is_newest);
        Ok(is_newest)
    }
}
