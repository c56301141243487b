//! What every store must keep: the same tests for the memory twin and for RocksDB.

use super::keys::{
    ContentDigest, ContentKey, HostAt, HostCrawl, Key, KeyRange, MetaKey, QueueKey, SeenKey, WaitingKey,
};
use super::values::{DoneKind, HostCounts, PageRecord, Place, QueueEntry, Unsynced, UrlState};
use super::{Batch, Family, MemoryStorage, Pair, Storage, StorageError, read, tables};
use crate::base::time::UnixMillis;
use crate::domain::fingerprint::{CrawlId, HostKey, UrlKey};
use crate::domain::partition::Partition;
use crate::domain::reach::Reach;
use crate::domain::url::{PageUrl, Scheme};

/// Runs each test against each store.
macro_rules! contract {
    ($($test:ident;)*) => {
        mod memory {
            $(#[test] fn $test() { super::$test(&super::MemoryStorage::new()); })*
        }

        #[cfg(feature = "rocksdb")]
        mod rocks {
            $(#[test] fn $test() {
                let dir = tempfile::tempdir().unwrap();
                let storage = super::super::RocksStorage::open(dir.path(), super::small()).unwrap();
                super::$test(&storage);
            })*
        }
    };
}

contract! {
    what_is_put_is_found_in_its_family_only;
    a_later_change_of_a_batch_wins;
    an_absent_key_can_be_removed;
    an_empty_batch_changes_nothing;
    the_sequence_grows_with_every_change;
    many_keys_come_back_in_their_order;
    keys_out_of_order_are_refused;
    a_scan_keeps_its_bounds_its_order_and_its_limit;
    a_queue_is_read_in_rank_and_order_of_its_host_only;
    states_come_back_in_the_order_asked;
    the_newest_capture_is_the_latest_page;
    rows_are_read_up_to_now;
    a_damaged_record_is_an_error_that_names_it;
    commits_not_yet_synced_are_listed_oldest_first;
    counts_of_a_host_come_back;
    a_range_is_cleared_and_what_stands_before_and_behind_it_stays;
}

#[cfg(feature = "rocksdb")]
pub(super) fn small() -> super::RocksOptions {
    super::RocksOptions { memory: 16 << 20, seed: Some(1), ..super::RocksOptions::default() }
}

fn host(n: u8) -> HostAt {
    HostAt { partition: Partition(u16::from(n)), host: HostKey([n; 8]) }
}

fn host_crawl(n: u8) -> HostCrawl {
    host(n).crawl(CrawlId(1))
}

fn url(n: u8) -> SeenKey {
    host_crawl(1).url(UrlKey([n; 12]))
}

fn entry(tail: &str) -> QueueEntry {
    let url = PageUrl::from_parts(Scheme::Http, "h0.test", 80, tail).unwrap();
    QueueEntry { seed: true, ..QueueEntry::new(&url, 0, UnixMillis(1)) }
}

/// Writes with a batch that `fill` fills.
fn write(storage: &dyn Storage, fill: impl FnOnce(&mut Batch)) -> u64 {
    let mut batch = Batch::new();
    fill(&mut batch);
    storage.write(&batch).unwrap()
}

fn put_raw(storage: &dyn Storage, family: Family, pairs: &[(&[u8], &[u8])]) {
    write(storage, |batch| {
        pairs.iter().for_each(|(key, value)| batch.put_raw(family, key.to_vec(), value.to_vec()));
    });
}

fn keys(pairs: Vec<Pair>) -> Vec<Vec<u8>> {
    pairs.into_iter().map(|(key, _)| key).collect()
}

fn what_is_put_is_found_in_its_family_only(storage: &dyn Storage) {
    put_raw(storage, Family::Queue, &[(b"k", b"v"), (b"", b"empty key"), (b"e", b"")]);
    assert_eq!(storage.get(Family::Queue, b"k").unwrap(), Some(b"v".to_vec()));
    assert_eq!(storage.get(Family::Queue, b"").unwrap(), Some(b"empty key".to_vec()));
    assert_eq!(storage.get(Family::Queue, b"e").unwrap(), Some(Vec::new()));
    for family in Family::ALL.iter().filter(|family| **family != Family::Queue) {
        assert_eq!(storage.get(*family, b"k").unwrap(), None, "{family}");
    }
}

fn a_later_change_of_a_batch_wins(storage: &dyn Storage) {
    write(storage, |batch| {
        batch.put_raw(Family::Seen, b"a".into(), b"1".into());
        batch.put_raw(Family::Seen, b"a".into(), b"2".into());
        batch.delete_raw(Family::Seen, b"b".into());
        batch.put_raw(Family::Seen, b"b".into(), b"3".into());
        batch.put_raw(Family::Seen, b"c".into(), b"4".into());
        batch.delete_raw(Family::Seen, b"c".into());
    });
    let found = storage.scan(Family::Seen, b"", b"", 10).unwrap();
    assert_eq!(found, [(b"a".to_vec(), b"2".to_vec()), (b"b".to_vec(), b"3".to_vec())]);
}

fn an_absent_key_can_be_removed(storage: &dyn Storage) {
    write(storage, |batch| batch.delete_raw(Family::Due, b"x".into()));
    assert_eq!(storage.get(Family::Due, b"x").unwrap(), None);
}

fn an_empty_batch_changes_nothing(storage: &dyn Storage) {
    let before = storage.sequence();
    assert_eq!(storage.write(&Batch::new()).unwrap(), before);
    assert_eq!(storage.sequence(), before);
}

fn the_sequence_grows_with_every_change(storage: &dyn Storage) {
    let start = storage.sequence();
    let one = write(storage, |batch| batch.put_raw(Family::Meta, b"a".into(), vec![]));
    assert!(one > start);
    let three = write(storage, |batch| {
        batch.put_raw(Family::Meta, b"b".into(), vec![]);
        batch.delete_raw(Family::Queue, b"c".into());
    });
    assert!(three >= one + 2);
    assert_eq!(storage.sequence(), three);
    storage.sync().unwrap();
    assert_eq!(storage.sequence(), three);
}

fn many_keys_come_back_in_their_order(storage: &dyn Storage) {
    put_raw(storage, Family::Content, &[(b"a", b"1"), (b"c", b"3")]);
    let asked = [&b"a"[..], b"a", b"b", b"c", b"d"].map(<[u8]>::to_vec);
    let found = storage.multi_get(Family::Content, &asked).unwrap();
    assert_eq!(found, [Some(b"1".to_vec()), Some(b"1".to_vec()), None, Some(b"3".to_vec()), None]);
    assert_eq!(storage.multi_get(Family::Content, &[]).unwrap(), Vec::<Option<Vec<u8>>>::new());
}

fn keys_out_of_order_are_refused(storage: &dyn Storage) {
    let refused = storage.multi_get(Family::Seen, &[b"b".to_vec(), b"a".to_vec()]);
    assert!(matches!(refused, Err(StorageError::Unsorted { family: Family::Seen })));
}

fn a_scan_keeps_its_bounds_its_order_and_its_limit(storage: &dyn Storage) {
    put_raw(storage, Family::Queue, &[(b"b", b""), (b"a", b""), (b"d", b""), (b"c", b""), (b"cc", b"")]);
    let scan = |from: &[u8], until: &[u8], limit| keys(storage.scan(Family::Queue, from, until, limit).unwrap());
    assert_eq!(scan(b"", b"", 9), [&b"a"[..], b"b", b"c", b"cc", b"d"]);
    assert_eq!(scan(b"b", b"d", 9), [&b"b"[..], b"c", b"cc"]);
    assert_eq!(scan(b"b", b"", 2), [&b"b"[..], b"c"]);
    assert_eq!(scan(b"bb", b"cc", 9), [&b"c"[..]]);
    for (from, until, limit) in [(&b"d"[..], &b"b"[..], 9), (b"b", b"b", 9), (b"e", b"", 9), (b"a", b"", 0)] {
        assert_eq!(scan(from, until, limit), Vec::<Vec<u8>>::new());
    }
}

fn a_queue_is_read_in_rank_and_order_of_its_host_only(storage: &dyn Storage) {
    write(storage, |batch| {
        for (n, rank, order) in [(1, 0, 5), (1, 0, 300), (1, 0, 2), (1, 1, 1), (2, 0, 3)] {
            batch.put::<tables::Queue>(&host_crawl(n).queue(rank, order), &entry(&format!("/{n}/{rank}/{order}")));
        }
        let other_crawl = host(1).crawl(CrawlId(2)).queue(0, 4);
        batch.put::<tables::Queue>(&other_crawl, &entry("/other"));
    });
    let read = |from, limit| {
        let found = read::queue_from(storage, host(1), CrawlId(1), 0, from, limit).unwrap();
        found.into_iter().map(|(key, entry)| (key.order, entry.tail)).collect::<Vec<_>>()
    };
    assert_eq!(read(0, 9), [(2, "/1/0/2".into()), (5, "/1/0/5".into()), (300, "/1/0/300".into())]);
    assert_eq!(read(3, 1), [(5, "/1/0/5".into())]);
    assert_eq!(read(301, 9), []);
}

fn states_come_back_in_the_order_asked(storage: &dyn Storage) {
    let state = |n| UrlState::Waiting { rank: n, order: 1, reach: Reach::BEST, due: None };
    write(storage, |batch| [1, 2, 4].iter().for_each(|n| batch.put::<tables::Seen>(&url(*n), &state(*n))));
    let asked = [4, 3, 1, 4, 2].map(url);
    let found = read::seen_states(storage, &asked).unwrap();
    assert_eq!(found, [Some(state(4)), None, Some(state(1)), Some(state(4)), Some(state(2))]);
    assert_eq!(read::seen_state(storage, url(2)).unwrap(), Some(state(2)));
}

fn the_newest_capture_is_the_latest_page(storage: &dyn Storage) {
    let page_at = |time| PageUrl::from_canonical(&format!("http://h0.test/{time}")).unwrap();
    let record = |time| PageRecord::new(&page_at(time), UnixMillis(time), DoneKind::Unstored);
    write(storage, |batch| {
        for time in [5, 70_000, 6] {
            batch.put::<tables::Pages>(&url(1).page(UnixMillis(time)), &record(time));
        }
        batch.put::<tables::Pages>(&url(2).page(UnixMillis(90_000)), &record(90_000));
    });
    let (key, page) = read::latest_page(storage, url(1)).unwrap().unwrap();
    assert_eq!((key.captured.0, page.url.as_str()), (UnixMillis(70_000), "http://h0.test/70000"));
    assert_eq!(read::latest_page(storage, url(3)).unwrap(), None);
}

fn rows_are_read_up_to_now(storage: &dyn Storage) {
    write(storage, |batch| {
        for time in [10, 20, 30] {
            batch.put::<tables::Parked>(&host(1).parked(UnixMillis(time)), &());
            batch.put::<tables::Due>(&url(1).due(UnixMillis(time)), &entry("/"));
            batch.put::<tables::Waiting>(&host(1).waiting(2, time), &());
        }
        batch.put::<tables::Parked>(&host(2).parked(UnixMillis(1)), &());
    });
    let parked = |from, now, limit| {
        let range = KeyRange::until_time(Partition(1), UnixMillis(from), UnixMillis(now));
        let found = read::scan::<tables::Parked>(storage, &range, limit).unwrap();
        found.into_iter().map(|(key, ())| key.time.0).collect::<Vec<_>>()
    };
    assert_eq!(parked(0, 20, 9), [10, 20]);
    assert_eq!(parked(11, 99, 9), [20, 30]);
    assert_eq!(parked(0, 99, 1), [10]);
    assert_eq!(parked(0, 9, 9), Vec::<u64>::new());
    let range = KeyRange::until_time(Partition(1), UnixMillis(0), UnixMillis(25));
    let due = read::scan::<tables::Due>(storage, &range, 9).unwrap();
    assert_eq!(due.iter().map(|(key, _)| key.seen()).collect::<Vec<_>>(), [url(1), url(1)]);
    let waiting = read::waiting_from(storage, Partition(1), 2, 15, 9).unwrap();
    let wanted = [20, 30].map(|order| WaitingKey { partition: Partition(1), rank: 2, order, host: HostKey([1; 8]) });
    assert_eq!(waiting, wanted);
    assert_eq!(read::waiting_from(storage, Partition(1), 1, 0, 9).unwrap(), []);
}

fn a_damaged_record_is_an_error_that_names_it(storage: &dyn Storage) {
    let key = ContentKey { digest: ContentDigest([0xab; 16]) };
    put_raw(storage, Family::Content, &[(&key.encode(), b"\x01\x05")]);
    let error = read::content(storage, key).unwrap_err();
    assert!(matches!(error, StorageError::Value { family: Family::Content, .. }), "{error}");
    assert!(error.to_string().contains("abababab"), "{error}");
    put_raw(storage, Family::Queue, &[(&host_crawl(1).encode(), b"")]);
    let error = read::scan::<tables::Queue>(storage, &KeyRange::all(), 1).unwrap_err();
    assert!(matches!(error, StorageError::Key { family: Family::Queue, .. }), "{error}");
}

fn commits_not_yet_synced_are_listed_oldest_first(storage: &dyn Storage) {
    write(storage, |batch| {
        for number in [300, 2, u64::MAX] {
            batch.put_meta(number, &Unsynced::default());
        }
        batch.put_raw(Family::Meta, MetaKey::FileLengths.encode(), vec![]);
    });
    let numbers = |limit| read::unsynced(storage, limit).unwrap().into_iter().map(|(n, _)| n).collect::<Vec<_>>();
    assert_eq!(numbers(9), [2, 300, u64::MAX]);
    assert_eq!(numbers(1), [2]);
    write(storage, |batch| batch.delete_meta::<Unsynced>(2));
    assert_eq!(numbers(9), [300, u64::MAX]);
}

fn counts_of_a_host_come_back(storage: &dyn Storage) {
    let counts = HostCounts { place: Place::Parked { time: UnixMillis(7) }, done: 3, ..HostCounts::default() };
    write(storage, |batch| batch.put::<tables::HostCounts>(&host_crawl(1), &counts));
    assert_eq!(read::host_counts(storage, host_crawl(1)).unwrap(), Some(counts));
    assert_eq!(read::host_counts(storage, host_crawl(2)).unwrap(), None);
    assert_eq!(read::host_state(storage, host(1)).unwrap(), None);
}

#[test]
fn a_write_that_fails_changes_nothing_and_the_next_one_goes_through() {
    let storage = MemoryStorage::new();
    storage.fail_next_writes(2);
    let mut batch = Batch::new();
    let key = QueueKey { partition: Partition(1), host: HostKey([1; 8]), crawl: CrawlId(1), rank: 0, order: 1 };
    batch.put::<tables::Queue>(&key, &entry("/"));
    for _ in 0..2 {
        assert!(matches!(storage.write(&batch), Err(StorageError::Injected { .. })));
        assert_eq!(storage.scan(Family::Queue, &[], &[], 1).unwrap().len(), 0);
    }
    assert_eq!(storage.write(&batch).unwrap(), 1);
    storage.fail_next_syncs(1);
    assert!(storage.sync().is_err());
    assert_eq!(storage.synced(), 0);
    storage.sync().unwrap();
    assert_eq!(storage.synced(), 1);
}

#[test]
fn a_batch_knows_its_size() {
    let mut batch = Batch::new();
    batch.put_raw(Family::Meta, vec![0; 3], vec![0; 4]);
    let mut other = Batch::new();
    other.delete_raw(Family::Meta, vec![0; 5]);
    batch.append(other);
    assert_eq!((batch.len(), batch.bytes(), batch.is_empty()), (2, 12, false));
    batch.clear();
    assert_eq!((batch.len(), batch.bytes(), batch.is_empty()), (0, 0, true));
}

fn a_range_is_cleared_and_what_stands_before_and_behind_it_stays(storage: &dyn Storage) {
    let key = |partition: u16, n: u16| [partition.to_be_bytes(), n.to_be_bytes()].concat();
    // Few rows, and more than are removed one by one.
    for rows in [700_u16, 4_000] {
        let mut batch = Batch::new();
        for (partition, n) in (0..6).flat_map(|partition| (0..rows).map(move |n| (partition, n))) {
            batch.put_raw(Family::Seen, key(partition, n), vec![7; 40]);
        }
        batch.put_raw(Family::Queue, key(3, 1), vec![1]);
        storage.write(&batch).unwrap();
        storage.flush().unwrap();
        let before = storage.sequence();
        let range = KeyRange { from: 2_u16.to_be_bytes().to_vec(), until: 5_u16.to_be_bytes().to_vec() };
        for _ in 0..2 {
            storage.clear(Family::Seen, &range).unwrap();
            let left = storage.scan(Family::Seen, &[], &[], usize::MAX).unwrap();
            let partitions: Vec<u8> = left.iter().map(|(key, _)| key[1]).collect();
            let of = |partition: u8| vec![partition; usize::from(rows)];
            assert_eq!(partitions, [of(0), of(1), of(5)].concat());
        }
        assert!(storage.sequence() > before, "a filter of the time before must not be believed");
        assert_eq!(storage.scan(Family::Queue, &[], &[], 9).unwrap().len(), 1);
    }
}
