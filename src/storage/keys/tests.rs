use std::fmt::Debug;

use proptest::prelude::*;

use super::*;

/// What every fixed-width key must keep.
fn check_key<K: Key + PartialEq + Debug + Ord + Copy>(a: K, b: K) -> Result<(), TestCaseError> {
    let (left, right) = (a.encode(), b.encode());
    prop_assert_eq!(K::decode(&left).ok(), Some(a));
    prop_assert_eq!(left.cmp(&right), a.cmp(&b), "bytes must sort as the fields do");
    let mut long = left.clone();
    long.push(0);
    prop_assert!(K::decode(&long).is_err());
    prop_assert!(K::decode(&left[1..]).is_err());
    prop_assert!(K::decode(&[]).is_err());
    Ok(())
}

type Raw = (u16, [u8; 8], u16, [u8; 12], u8, u64);

/// Fields from a small set, so that equal fields are common and every later field gets to decide.
fn raw() -> impl Strategy<Value = Raw> {
    let few = || prop_oneof![Just(0_u64), Just(1), Just(255), Just(256), Just(u64::MAX), any::<u64>()];
    (few(), few(), few(), few(), few(), few()).prop_map(|(partition, host, crawl, url, rank, order)| {
        let mut long = [0; 12];
        long[..8].copy_from_slice(&url.to_be_bytes());
        (partition as u16, host.to_be_bytes(), crawl as u16, long, rank as u8, order)
    })
}

fn seen_of((partition, host, crawl, url, ..): Raw) -> SeenKey {
    HostAt { partition: Partition(partition), host: HostKey(host) }.crawl(CrawlId(crawl)).url(UrlKey(url))
}

proptest! {
    #[test]
    fn every_key_comes_back_from_its_bytes_and_sorts_by_its_fields(a in raw(), b in raw()) {
        let (seen_a, seen_b) = (seen_of(a), seen_of(b));
        let (at_a, at_b) = (seen_a.host_crawl().host_at(), seen_b.host_crawl().host_at());
        let scheme = |raw: Raw| if raw.4.is_multiple_of(2) { Scheme::Http } else { Scheme::Https };
        check_key(seen_a, seen_b)?;
        check_key(at_a, at_b)?;
        check_key(seen_a.host_crawl(), seen_b.host_crawl())?;
        check_key(seen_a.host_crawl().queue(a.4, a.5), seen_b.host_crawl().queue(b.4, b.5))?;
        check_key(at_a.waiting(a.4, a.5), at_b.waiting(b.4, b.5))?;
        check_key(at_a.parked(UnixMillis(a.5)), at_b.parked(UnixMillis(b.5)))?;
        check_key(seen_a.due(UnixMillis(a.5)), seen_b.due(UnixMillis(b.5)))?;
        check_key(seen_a.page(UnixMillis(a.5)), seen_b.page(UnixMillis(b.5)))?;
        check_key(at_a.robots(scheme(a), a.2), at_b.robots(scheme(b), b.2))?;
        check_key(FeedKey { number: a.5 }, FeedKey { number: b.5 })?;
        let row = |raw: Raw| RowKey { from: MemberId(raw.0), to: MemberId(raw.2), number: raw.5 };
        check_key(row(a), row(b))?;
    }

    #[test]
    fn garbage_is_no_key_or_comes_back_as_it_was(bytes in prop::collection::vec(any::<u8>(), 0..40)) {
        fn same<K: Key>(bytes: &[u8]) -> Result<(), TestCaseError> {
            if let Ok(key) = K::decode(bytes) {
                prop_assert_eq!(key.encode(), bytes);
            }
            Ok(())
        }
        same::<QueueKey>(&bytes)?;
        same::<HostAt>(&bytes)?;
        same::<HostCrawl>(&bytes)?;
        same::<WaitingKey>(&bytes)?;
        same::<ParkedKey>(&bytes)?;
        same::<DueKey>(&bytes)?;
        same::<SeenKey>(&bytes)?;
        same::<PageKey>(&bytes)?;
        same::<RobotsKey>(&bytes)?;
        same::<RowKey>(&bytes)?;
        same::<ContentKey>(&bytes)?;
        same::<FeedKey>(&bytes)?;
        same::<MetaKey>(&bytes)?;
    }

    #[test]
    fn a_prefix_range_holds_exactly_the_keys_that_begin_with_it(
        prefix in prop::collection::vec(prop_oneof![Just(0_u8), Just(7), Just(255)], 0..5),
        key in prop::collection::vec(prop_oneof![Just(0_u8), Just(7), Just(255)], 0..7),
    ) {
        let range = KeyRange::prefix(prefix.clone());
        let inside = key >= range.from && (range.until.is_empty() || key < range.until);
        prop_assert_eq!(inside, key.starts_with(&prefix));
    }

    #[test]
    fn nothing_lies_between_a_key_and_what_comes_after_it(
        key in prop::collection::vec(any::<u8>(), 0..5),
        other in prop::collection::vec(any::<u8>(), 0..6),
    ) {
        let next = after(&key);
        prop_assert!(next > key);
        prop_assert!(!(other > key && other < next));
    }
}

#[test]
fn keys_have_the_widths_that_the_document_gives() {
    assert_eq!(QueueKey::LEN, 21);
    assert_eq!(HostAt::LEN, 10);
    assert_eq!(HostCrawl::LEN, 12);
    assert_eq!(WaitingKey::LEN, 19);
    assert_eq!(ParkedKey::LEN, 18);
    assert_eq!(DueKey::LEN, 32);
    assert_eq!(SeenKey::LEN, 24);
    assert_eq!(PageKey::LEN, 32);
    assert_eq!(RobotsKey::LEN, 13);
    assert_eq!(ContentKey::LEN, 16);
    assert_eq!(FeedKey::LEN, 8);
}

#[test]
fn a_queue_key_is_laid_out_as_documented() {
    let key = HostAt { partition: Partition(0x0102), host: HostKey([3; 8]) }.crawl(CrawlId(0x0405)).queue(6, 7);
    assert_eq!(key.encode(), [1, 2, 3, 3, 3, 3, 3, 3, 3, 3, 4, 5, 6, 0, 0, 0, 0, 0, 0, 0, 7]);
}

#[test]
fn a_scheme_that_does_not_exist_is_named() {
    let mut bytes = HostAt { partition: Partition(1), host: HostKey([2; 8]) }.robots(Scheme::Https, 443).encode();
    bytes[10] = 9;
    let error = RobotsKey::decode(&bytes).unwrap_err();
    assert_eq!(error, KeyError::Field { kind: "RobotsKey", field: "scheme" });
}

#[test]
fn names_of_single_records_come_back_and_other_names_do_not() {
    let keys = [
        MetaKey::Format,
        MetaKey::Orders(CrawlId(1)),
        MetaKey::FileLengths,
        MetaKey::Run,
        MetaKey::Clock,
        MetaKey::Settings,
        MetaKey::Feed,
        MetaKey::Consumers,
        MetaKey::Cards,
        MetaKey::Counters(CrawlId(1)),
        MetaKey::Joined(CrawlId(1), HostKey([0, 0, 0xab, 0xcd, 1, 2, 3, 4])),
        MetaKey::Joined(CrawlId(u16::MAX), HostKey([u8::MAX; 8])),
        MetaKey::Unsynced(0),
        MetaKey::Unsynced(u64::MAX),
        MetaKey::Lines(7),
    ];
    for key in keys {
        assert_eq!(MetaKey::decode(&key.encode()), Ok(key));
    }
    for name in [
        "",
        "Format",
        "format ",
        "counters/",
        "counters/1",
        "counters/+001",
        "counters/00001",
        "scope/000G",
        "unsynced/FFFFFFFFFFFFFFFF",
        "unsynced/11111111111111111",
        "lines/7",
    ] {
        assert_eq!(MetaKey::decode(name.as_bytes()), Err(KeyError::Name), "{name}");
    }
    assert_eq!(MetaKey::decode(&[0xff, 0xfe]), Err(KeyError::Name));
}

#[test]
fn a_scan_goes_on_right_behind_a_key() {
    assert_eq!(after(&[1, 255]), [1, 255, 0]);
    assert_eq!(successor(&[1, 255]), [2]);
    assert_eq!(successor(&[255, 255]), [0; 0]);
}

#[test]
fn numbered_names_sort_by_their_number() {
    assert!(MetaKey::Unsynced(9).encode() < MetaKey::Unsynced(10).encode());
    assert!(MetaKey::Unsynced(255).encode() < MetaKey::Unsynced(256).encode());
}

#[test]
fn a_range_of_the_feed_begins_behind_an_entry_and_takes_the_last_in() {
    let range = KeyRange::feed(5, 9);
    let inside = |number| (range.from.clone()..range.until.clone()).contains(&FeedKey { number }.encode());
    assert_eq!((4..12).filter(|number| inside(*number)).collect::<Vec<_>>(), [6, 7, 8, 9]);
}

#[test]
fn a_range_up_to_a_time_takes_that_time_in_and_stays_in_its_partition() {
    let range = KeyRange::until_time(Partition(5), UnixMillis(10), UnixMillis(20));
    let inside = |partition, time| {
        let key =
            HostAt { partition: Partition(partition), host: HostKey([0xff; 8]) }.parked(UnixMillis(time)).encode();
        key >= range.from && key < range.until
    };
    assert!(inside(5, 10) && inside(5, 20));
    assert!(!inside(5, 9) && !inside(5, 21) && !inside(4, 15) && !inside(6, 15));
}

#[test]
fn a_range_to_the_end_of_time_of_the_last_partition_is_open() {
    let range = KeyRange::until_time(Partition(u16::MAX), UnixMillis(0), UnixMillis(u64::MAX));
    assert!(range.until.is_empty());
}
