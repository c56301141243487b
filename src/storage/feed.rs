//! The feed as it is read: where it begins and ends, its entries with their captures, and how far each file of the archive is needed.

use super::Storage;
use super::keys::{ContentKey, FeedKey, Key, KeyRange, PageKey, SeenKey, after};
use super::read::{self, Result};
use super::tables::{Failed, Feed, Pages, Rejected};
use super::values::{FeedEntry, FeedLog, PageRecord};
use crate::base::time::UnixMillis;
use crate::domain::cut::Cut;

/// An entry with what is known of its page.
pub struct Item {
    /// Its number.
    pub number: u64,
    /// The entry.
    pub entry: FeedEntry,
    /// The URL, as far as it is still known.
    pub url: Option<String>,
    /// The capture.
    pub page: Option<PageRecord>,
}

/// Where somebody who reads stands in the feed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stand {
    /// Entries follow, or will.
    Here,
    /// The number is of another feed.
    Other {
        /// The last entry that both have.
        common: u64,
    },
    /// Entries behind it were let go.
    Trimmed {
        /// The first that is left.
        oldest: u64,
    },
}

/// Which feed this is.
///
/// # Errors
/// The storage's own.
pub fn log(storage: &dyn Storage) -> Result<FeedLog> {
    Ok(read::meta(storage, ())?.unwrap_or_default())
}

impl FeedLog {
    /// Number of the first entry that is left.
    pub fn oldest(&self) -> u64 {
        self.trimmed + 1
    }

    /// Where one stands who has read up to `after` of the feed `id`, or of this one. `shown`: the last entry.
    pub fn stand(&self, id: Option<&[u8; 8]>, after: u64, shown: u64) -> Stand {
        let gap = if id.is_none() { self.before_gap(after) } else { None };
        match id {
            Some(id) if *id != self.id => Stand::Other { common: self.common_with(id).unwrap_or(0).min(after) },
            _ if after > shown => Stand::Other { common: shown },
            _ if after < self.trimmed => Stand::Trimmed { oldest: self.oldest() },
            _ => gap.map_or(Stand::Here, |common| Stand::Other { common }),
        }
    }
}

/// Which part of the feed is read.
#[derive(Clone, Copy, Debug)]
pub struct Part {
    /// What follows this entry,
    pub after: u64,
    /// up to and including this one,
    pub until: u64,
    /// so many entries at most, wanted or not.
    pub most: usize,
}

/// The entries of a part that are `wanted`, and the last one that was looked at; none when the part is empty. Entries whose capture is gone
/// are among them, without it.
///
/// # Errors
/// The storage's own.
pub fn items(
    storage: &dyn Storage,
    Part { after, until, most }: Part,
    wanted: impl Fn(&FeedEntry) -> bool,
) -> Result<(Vec<Item>, Option<u64>)> {
    let mut entries = read::scan::<Feed>(storage, &KeyRange::feed(after, until), most)?;
    let last = entries.last().map(|(key, _)| key.number);
    entries.retain(|(_, entry)| wanted(entry));
    let keys: Vec<PageKey> = entries.iter().filter_map(|(_, entry)| page_key(entry)).collect();
    let mut pages = read::get_many::<Pages>(storage, &keys)?.into_iter();
    let item = |(FeedKey { number }, entry): (FeedKey, FeedEntry)| {
        let page = entry.captured.and_then(|_| pages.next().flatten());
        let url = match &page {
            Some(page) => Some(page.url.clone()),
            None => url_of(storage, entry.page)?,
        };
        Ok(Item { number, entry, url, page })
    };
    Ok((entries.into_iter().map(item).collect::<Result<_>>()?, last))
}

fn page_key(entry: &FeedEntry) -> Option<PageKey> {
    entry.captured.map(|captured| entry.page.page(captured))
}

/// The URL of a page without this capture: as it was turned away or given up, or as another capture has it.
fn url_of(storage: &dyn Storage, page: SeenKey) -> Result<Option<String>> {
    if let Some(rejected) = read::get::<Rejected>(storage, &page)? {
        return Ok(Some(rejected.url));
    }
    if let Some(failed) = read::get::<Failed>(storage, &page)? {
        return Ok(Some(failed.url));
    }
    Ok(read::latest_page(storage, page)?.map(|(_, page)| page.url))
}

/// Number of the last entry that was committed before `at`, of those behind `low` up to and including `high`; `low` when none was. A clock
/// that was put back meanwhile may make it any of those between. One record is read for each halving.
///
/// # Errors
/// The storage's own.
pub fn last_before(storage: &dyn Storage, (mut low, mut high): (u64, u64), at: UnixMillis) -> Result<u64> {
    while low < high {
        let middle = low + (high - low) / 2;
        match read::scan::<Feed>(storage, &KeyRange::feed(middle, high), 1)?.first() {
            Some((key, entry)) if entry.at < at => low = key.number,
            _ => high = middle,
        }
    }
    Ok(low)
}

/// The capture of the page before that of an entry; none when there is none, or only half of one, after which it was tried again.
///
/// # Errors
/// The storage's own.
pub fn capture_before(storage: &dyn Storage, entry: &FeedEntry) -> Result<Option<PageRecord>> {
    let own = entry.page.page(entry.captured.unwrap_or(entry.at));
    let older = KeyRange { from: after(&own.encode()), ..KeyRange::captures(entry.page) };
    let mut older = read::scan::<Pages>(storage, &older, 2)?.into_iter().map(|(_, page)| page);
    Ok(older.find(|page| page.cut.is_none_or(|cut| cut == Cut::Length)))
}

/// The last entry that needs each file of the archive, of the entries behind `after` up to `until`: handed to `note`.
///
/// # Errors
/// The storage's own.
pub fn files(storage: &dyn Storage, mut after: u64, until: u64, mut note: impl FnMut(&str, u64)) -> Result<()> {
    const CHUNK: usize = 1_000;
    loop {
        let has_capture = |entry: &FeedEntry| entry.captured.is_some();
        let (items, last) = items(storage, Part { after, until, most: CHUNK }, has_capture)?;
        let Some(last) = last else { return Ok(()) };
        after = last;
        for Item { number, page, .. } in &items {
            let Some(page) = page else { continue };
            page.warc.iter().for_each(|place| note(&place.file, *number));
            // The bytes of a content that was known are in the record of its first capture.
            let Some(digest) = page.content.filter(|_| page.how.is_revisit()) else { continue };
            let Some(first) = read::content(storage, ContentKey::from(digest))? else { continue };
            let first = read::get::<Pages>(storage, &first.first)?.and_then(|page| page.warc);
            first.iter().for_each(|place| note(&place.file, *number));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::fingerprint::{CrawlId, Fingerprinter};
    use crate::domain::url::PageUrl;
    use crate::domain::visit::Visit;
    use crate::storage::MemoryStorage;
    use crate::storage::txn::Txn;

    #[test]
    fn where_a_moment_is_in_the_feed_is_found_over_gaps_and_at_both_ends() {
        let storage = MemoryStorage::new();
        let mut txn = Txn::new(&storage);
        let url = PageUrl::from_canonical("http://h.test/").unwrap();
        let page = SeenKey::of(&Fingerprinter::new(1), CrawlId::default(), &url);
        for (number, at) in [(3, 10), (4, 20), (9, 20), (10, 30), (40, 50)] {
            let entry = FeedEntry { kind: Visit::First, at: UnixMillis(at), page, captured: None, why: None };
            txn.put::<Feed>(&FeedKey { number }, &entry);
        }
        storage.write(&txn.into_batch()).unwrap();
        for (at, number) in
            [(0, 2), (10, 2), (11, 3), (20, 3), (21, 9), (30, 9), (31, 10), (50, 10), (51, 40), (99, 40)]
        {
            assert_eq!(last_before(&storage, (2, 60), UnixMillis(at)).unwrap(), number, "{at}");
        }
        assert_eq!(last_before(&storage, (2, 9), UnixMillis(99)).unwrap(), 9, "no further than it may");
        assert_eq!(last_before(&storage, (60, 60), UnixMillis(99)).unwrap(), 60);
    }

    #[test]
    fn who_reads_another_feed_is_told_what_both_have_and_who_comes_late_where_it_begins_now() {
        let log = FeedLog { id: [1; 8], trimmed: 10, former: Vec::new() }.continued([2; 8], 50, 70, None);
        let (own, former, strange) = (Some([2; 8]), Some([1; 8]), Some([9; 8]));
        for (id, after, stand) in [
            (own, 70, Stand::Here),
            (None, 80, Stand::Here),
            (None, 60, Stand::Other { common: 50 }),
            (own, 60, Stand::Here),
            (own, 10, Stand::Here),
            (own, 9, Stand::Trimmed { oldest: 11 }),
            (None, 0, Stand::Trimmed { oldest: 11 }),
            (own, 81, Stand::Other { common: 80 }),
            (former, 60, Stand::Other { common: 50 }),
            (former, 40, Stand::Other { common: 40 }),
            (strange, 40, Stand::Other { common: 0 }),
        ] {
            assert_eq!(log.stand(id.as_ref(), after, 80), stand, "{id:?} {after}");
        }
    }
}
