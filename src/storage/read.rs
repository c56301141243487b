//! Typed look-ups and scans on any [`Storage`]. Each fails when the engine does, or when a record is damaged.

use super::error::hex;
use super::keys::{
    ContentKey, HostAt, HostCrawl, Key, KeyError, KeyRange, MetaKey, PageKey, QueueKey, RobotsKey, SeenKey, WaitingKey,
    after,
};
use super::tables::{self, MetaRecord, Table};
use super::values::{
    ContentValue, DoneKind, HostCounts, HostState, JoinedHost, PageRecord, QueueEntry, RejectedValue, RobotsValue,
    Unsynced, UnsyncedLines, UrlState, Value, ValueError,
};
use super::{Family, Pair, Storage, StorageError};
use crate::domain::fingerprint::{CrawlId, HostKey};
use crate::domain::partition::Partition;

/// A result of storage.
pub type Result<T> = std::result::Result<T, StorageError>;

/// A record of a table.
///
/// # Errors
/// When the engine fails or the record is damaged.
pub fn get<T: Table>(storage: &dyn Storage, key: &T::Key) -> Result<Option<T::Value>> {
    let key = key.encode();
    let found = storage.get(T::FAMILY, &key)?;
    found.map(|bytes| value::<T::Value>(T::FAMILY, &key, &bytes)).transpose()
}

/// The records of many keys, in the keys' order; the store is asked once, in sorted order.
pub fn get_many<T: Table>(storage: &dyn Storage, keys: &[T::Key]) -> Result<Vec<Option<T::Value>>> {
    let mut sorted: Vec<(Vec<u8>, usize)> = keys.iter().enumerate().map(|(place, key)| (key.encode(), place)).collect();
    sorted.sort_unstable();
    let (encoded, places): (Vec<_>, Vec<_>) = sorted.into_iter().unzip();
    let found = storage.multi_get(T::FAMILY, &encoded)?;
    let mut out: Vec<Option<T::Value>> = keys.iter().map(|_| None).collect();
    for ((bytes, place), key) in found.into_iter().zip(places).zip(&encoded) {
        if let (Some(bytes), Some(slot)) = (bytes, out.get_mut(place)) {
            *slot = Some(value::<T::Value>(T::FAMILY, key, &bytes)?);
        }
    }
    Ok(out)
}

/// The first `limit` records of a range.
pub fn scan<T: Table>(storage: &dyn Storage, range: &KeyRange, limit: usize) -> Result<Vec<(T::Key, T::Value)>> {
    let found = storage.scan(T::FAMILY, &range.from, &range.until, limit)?;
    found.iter().map(record::<T>).collect()
}

/// A single record of the whole folder.
pub fn meta<M: MetaRecord>(storage: &dyn Storage, of: M::Of) -> Result<Option<M>> {
    let key = M::key(of).encode();
    let found = storage.get(Family::Meta, &key)?;
    found.map(|bytes| value::<M>(Family::Meta, &key, &bytes)).transpose()
}

/// The first `limit` URLs to fetch of a host, of one rank, from an order on.
pub fn queue_from(
    storage: &dyn Storage,
    host: HostAt,
    crawl: CrawlId,
    rank: u8,
    from_order: u64,
    limit: usize,
) -> Result<Vec<(QueueKey, QueueEntry)>> {
    scan::<tables::Queue>(storage, &KeyRange::queue_rank(host.crawl(crawl), rank, from_order), limit)
}

/// The states of URLs, in the keys' order.
pub fn seen_states(storage: &dyn Storage, keys: &[SeenKey]) -> Result<Vec<Option<UrlState>>> {
    get_many::<tables::Seen>(storage, keys)
}

/// The state of one URL.
pub fn seen_state(storage: &dyn Storage, key: SeenKey) -> Result<Option<UrlState>> {
    get::<tables::Seen>(storage, &key)
}

/// A host as counted.
pub fn host_counts(storage: &dyn Storage, host: HostCrawl) -> Result<Option<HostCounts>> {
    get::<tables::HostCounts>(storage, &host)
}

/// A host as known.
pub fn host_state(storage: &dyn Storage, host: HostAt) -> Result<Option<HostState>> {
    get::<tables::HostState>(storage, &host)
}

/// A robots.txt as fetched.
pub fn robots(storage: &dyn Storage, key: RobotsKey) -> Result<Option<RobotsValue>> {
    get::<tables::Robots>(storage, &key)
}

/// The first capture of a content.
pub fn content(storage: &dyn Storage, key: ContentKey) -> Result<Option<ContentValue>> {
    get::<tables::Content>(storage, &key)
}

/// A URL turned away, in full.
pub fn rejected(storage: &dyn Storage, key: SeenKey) -> Result<Option<RejectedValue>> {
    get::<tables::Rejected>(storage, &key)
}

/// The latest capture of a URL.
pub fn latest_page(storage: &dyn Storage, url: SeenKey) -> Result<Option<(PageKey, PageRecord)>> {
    Ok(scan::<tables::Pages>(storage, &KeyRange::captures(url), 1)?.pop())
}

/// The capture whose record holds the bytes of `capture`: itself, or for a revisit the one that it refers to. `captures`: of its URL, newest
/// first.
pub fn holder(
    storage: &dyn Storage,
    capture: &PageRecord,
    captures: &[(PageKey, PageRecord)],
) -> Result<Option<PageRecord>> {
    match capture.how {
        DoneKind::Stored | DoneKind::Redirect | DoneKind::Unstored => Ok(Some(capture.clone())),
        DoneKind::NotModified if capture.content.is_none() => {
            let mut older = captures.iter().map(|(_, page)| page).filter(|page| page.fetched < capture.fetched);
            Ok(older.find(|page| page.how == DoneKind::Stored).cloned())
        }
        DoneKind::Duplicate | DoneKind::NotModified => {
            let Some(digest) = capture.content else { return Ok(None) };
            let Some(first) = content(storage, ContentKey::from(digest))? else { return Ok(None) };
            get::<tables::Pages>(storage, &first.first)
        }
    }
}

/// The first `limit` hosts of a rank that are ready, from an order on, within one partition.
pub fn waiting_from(
    storage: &dyn Storage,
    partition: Partition,
    rank: u8,
    from_order: u64,
    limit: usize,
) -> Result<Vec<WaitingKey>> {
    let found = scan::<tables::Waiting>(storage, &KeyRange::waiting_rank(partition, rank, from_order), limit)?;
    Ok(found.into_iter().map(|(key, ())| key).collect())
}

/// The lists of pages committed since the last barrier, oldest first, with the number of each commit.
pub fn unsynced(storage: &dyn Storage, limit: usize) -> Result<Vec<(u64, Unsynced)>> {
    numbered(storage, MetaKey::Unsynced, limit)
}

/// The lines of `crawl.jsonl` written since the last barrier, as [`unsynced`].
pub fn unsynced_lines(storage: &dyn Storage, limit: usize) -> Result<Vec<(u64, UnsyncedLines)>> {
    numbered(storage, MetaKey::Lines, limit)
}

/// Hosts that joined the scope of a crawl.
pub fn joined_hosts(storage: &dyn Storage, crawl: CrawlId) -> Result<Vec<String>> {
    let key = |host| MetaKey::Joined(crawl, HostKey([host; 8])).encode();
    let found = storage.scan(Family::Meta, &key(0), &after(&key(u8::MAX)), usize::MAX)?;
    let names = found.iter().map(|(key, bytes)| value::<JoinedHost>(Family::Meta, key, bytes).map(|joined| joined.0));
    names.collect()
}

/// All single records of a kind that is numbered by commits.
fn numbered<V: Value>(storage: &dyn Storage, key: fn(u64) -> MetaKey, limit: usize) -> Result<Vec<(u64, V)>> {
    let found = storage.scan(Family::Meta, &key(0).encode(), &after(&key(u64::MAX).encode()), limit)?;
    let decoded = |(bytes, of): &Pair| match decoded::<MetaKey>(Family::Meta, bytes)? {
        MetaKey::Unsynced(number) | MetaKey::Lines(number) => Ok((number, value::<V>(Family::Meta, bytes, of)?)),
        _ => Err(damaged(Family::Meta, bytes)(KeyError::Name)),
    };
    found.iter().map(decoded).collect()
}

/// Decodes a record.
fn record<T: Table>((key, bytes): &Pair) -> Result<(T::Key, T::Value)> {
    Ok((decoded(T::FAMILY, key)?, value::<T::Value>(T::FAMILY, key, bytes)?))
}

fn decoded<K: Key>(family: Family, key: &[u8]) -> Result<K> {
    K::decode(key).map_err(damaged(family, key))
}

fn damaged(family: Family, key: &[u8]) -> impl FnOnce(KeyError) -> StorageError {
    move |source| StorageError::Key { family, key: hex(key), source }
}

/// Decodes a value.
pub(super) fn value<V: Value>(family: Family, key: &[u8], bytes: &[u8]) -> Result<V> {
    V::decode(bytes).map_err(|source: ValueError| StorageError::Value { family, key: hex(key), source })
}

/// The first key of a table at or after `from` (encoded), whatever partition it lies in.
pub fn first_key_from<T: Table>(storage: &dyn Storage, from: &[u8]) -> Result<Option<T::Key>> {
    first_key::<T>(storage, &KeyRange { from: from.to_vec(), until: Vec::new() })
}

/// The first key of a range; its value is not read.
pub fn first_key<T: Table>(storage: &dyn Storage, range: &KeyRange) -> Result<Option<T::Key>> {
    let found = storage.scan(T::FAMILY, &range.from, &range.until, 1)?;
    found.first().map(|(key, _)| decoded(T::FAMILY, key)).transpose()
}
