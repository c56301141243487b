use std::collections::BTreeMap;
use std::fmt::Debug;
use std::time::Duration;

use proptest::prelude::*;

use super::*;
use crate::base::time::{SinceBoot, UnixMillis};
use crate::domain::cut::Cut;
use crate::domain::fingerprint::{ContentDigest, CrawlId, HostKey, UrlKey};
use crate::domain::found_as::FoundAs;
use crate::domain::note::Note;
use crate::domain::orders::HostOrders;
use crate::domain::partition::Partition;
use crate::domain::reach::Reach;
use crate::domain::reason::{Failure, Rejection};
use crate::domain::revisit::RequeueReason;
use crate::domain::url::Scheme;
use crate::storage::keys::{HostAt, SeenKey};

fn seen() -> SeenKey {
    HostAt { partition: Partition(1), host: HostKey([2; 8]) }.crawl(CrawlId(1)).url(UrlKey([3; 12]))
}

fn queue_entry() -> QueueEntry {
    QueueEntry {
        scheme: Scheme::Https,
        port: 443,
        tail: "/a?b=c".into(),
        depth: 2,
        limit: Some(300),
        hops: 1,
        attempts: 0,
        seed: false,
        found: FoundAs::Link,
        discovered: UnixMillis(1_700_000_000_000),
        origin: Some("http://h.test/".into()),
        via: Some("https://h0.test/".into()),
        again: None,
        spelling: None,
    }
}

fn warc_place() -> WarcPlace {
    WarcPlace { file: "a.warc.gz".into(), offset: 300, length: 20 }
}

fn page_record() -> PageRecord {
    PageRecord {
        url: "http://h0.test/".into(),
        status: 200,
        fetched: UnixMillis(5),
        took_ms: 12,
        mime: Some("text/html".into()),
        bytes: 1000,
        payload_digest: [9; 20],
        content: Some(ContentDigest([8; 16])),
        warc: Some(warc_place()),
        etag: None,
        last_modified: None,
        title: Some("Täst".into()),
        out_links: 3,
        depth: 1,
        hops: 0,
        how: DoneKind::Stored,
        cut: Some(Cut::Disconnect),
        charset: Some("utf-8".into()),
        remarks: Remarks::default(),
        origin: None,
        sitemap: None,
        unchanged: 0,
        spelling: None,
        refused: None,
    }
}

fn live_settings() -> LiveSettings {
    let changed = vec![ChangedKey { key: "scope.mode".into(), before: None, after: Some("\"any\"".into()) }];
    let (by, undoes) = ("admin".to_owned(), Some(1));
    LiveSettings {
        overlay: BTreeMap::from([("crawl.max_pages".into(), "7".into()), ("scope.mode".into(), "\"any\"".into())]),
        history: vec![SettingsChange { generation: 2, at: UnixMillis(5), by, undoes, undone: false, changed }],
        readmit: Some(2),
    }
}

fn counters() -> Counters {
    Counters {
        discovered: 10,
        queued: 4,
        done: 3,
        errors: BTreeMap::from([(1, 1), (12, 1)]),
        rejected: BTreeMap::from([(2, 1)]),
        statuses: BTreeMap::from([(200, 3), (404, 1)]),
        next_seq: 11,
        ..Counters::default()
    }
}

fn host_counts(place: Place) -> HostCounts {
    HostCounts { queued: [1, 0, 0, 0, 0, 0, 0, 200], done: 4, place, ..HostCounts::default() }
}

fn robots(text: &[u8]) -> RobotsValue {
    let retry_at = Some(UnixMillis(9));
    RobotsValue { status: 200, fetched: UnixMillis(1), text: text.into(), failures: 1, retry_at }
}

/// What every value must keep; gives its bytes.
fn check<V: Value + PartialEq + Debug>(value: &V) -> Vec<u8> {
    let bytes = value.encode();
    assert_eq!(V::decode(&bytes).as_ref(), Ok(value));
    for end in 0..bytes.len() {
        assert!(V::decode(&bytes[..end]).is_err(), "{value:?} cut at {end}");
    }
    let mut long = bytes.clone();
    long.push(0);
    assert_eq!(V::decode(&long), Err(ValueError::Long));
    let mut newer = bytes.clone();
    newer[0] = 200;
    assert!(matches!(V::decode(&newer), Err(ValueError::Version { found: 200, .. })));
    bytes
}

#[test]
fn every_value_comes_back_and_nothing_shorter_longer_or_newer_does() {
    check(&queue_entry());
    check(&QueueEntry { origin: None, via: None, seed: true, ..queue_entry() });
    for found in [FoundAs::SitemapEntry, FoundAs::SitemapFile { nesting: 15 }] {
        let entry = QueueEntry { found, seed: true, ..queue_entry() };
        check(&entry);
        let page = seen().page(UnixMillis(5));
        check(&Unsynced(vec![UnsyncedPage { page, rank: 1, order: 2, entry, warc: warc_place() }]));
    }
    for (why, found) in
        RequeueReason::ALL.iter().zip([FoundAs::Link, FoundAs::SitemapFile { nesting: 15 }, FoundAs::Link])
    {
        let again = Some(LastTime { captured: UnixMillis(7), why: *why });
        let entry = QueueEntry { again, found, seed: true, ..queue_entry() };
        check(&entry);
        let page = seen().page(UnixMillis(5));
        check(&Unsynced(vec![UnsyncedPage { page, rank: 1, order: 2, entry, warc: warc_place() }]));
    }
    check(&HostState::default());
    check(&HostState { name: "h0.test".into(), pace: vec![0, 255], ..HostState::default() });
    let orders = HostOrders { paused: Some(UnixMillis(5)), ..HostOrders::default() };
    check(&HostState { name: "h0.test".into(), pace: vec![1], orders });
    let orders = HostOrders {
        blocked: Some(UnixMillis(0)),
        dropping: Some(UnixMillis(u64::MAX)),
        recrawling: Some(UnixMillis(1)),
        min_delay: Some(Duration::from_millis(700)),
        ..orders
    };
    check(&HostState { name: "h0.test".into(), pace: vec![], orders });
    for place in
        [Place::None, Place::Held, Place::Waiting { rank: 7, order: u64::MAX }, Place::Parked { time: UnixMillis(1) }]
    {
        check(&host_counts(place));
    }
    for failure in Failure::ALL {
        check(&UrlState::Error { reason: *failure });
    }
    for reason in Rejection::ALL {
        check(&UrlState::Rejected { reason: *reason, generation: 70_000, reach: Reach { depth: 300, limit: Some(2) } });
    }
    for due in [None, Some(UnixMillis(1))] {
        check(&UrlState::Waiting { rank: 1, order: u64::MAX, reach: Reach { depth: u16::MAX, limit: None }, due });
    }
    for how in DoneKind::ALL {
        check(&UrlState::Done { captured: UnixMillis(1), how: *how, reach: Reach { depth: 7, limit: Some(u16::MAX) } });
    }
    check(&page_record());
    let spelling = || Some("/%61?".to_owned());
    check(&PageRecord { spelling: spelling(), ..page_record() });
    check(&PageRecord { refused: spelling(), ..page_record() });
    check(&QueueEntry { spelling: spelling(), ..queue_entry() });
    check(&PageRecord { warc: None, cut: None, content: None, ..page_record() });
    let remarks = Remarks { notes: vec![Note::Reset], target: Some("http://h0.test/b".into()), ..Remarks::default() };
    let origin = Some("http://h0.test/".to_owned());
    let remarked = PageRecord { remarks, ..page_record() };
    let (plain, whole) = (page_record(), PageRecord { origin: origin.clone(), ..remarked.clone() });
    check(&PageRecord { origin: Some(String::new()), charset: None, ..page_record() });
    let sitemap = Some(AsSitemap { found: FoundAs::SitemapFile { nesting: 1 }, via: Some("u".into()), put_off: true });
    let map = PageRecord { sitemap, ..whole.clone() };
    let all = [plain, remarked, whole, PageRecord { origin: origin.clone(), ..page_record() }];
    all.iter().for_each(|page| _ = check(page));
    let again = [map, PageRecord { unchanged: 255, ..page_record() }];
    again.iter().for_each(|page| _ = check(page));
    let (url, reason, found) = ("u".into(), Rejection::Scope, FoundAs::Link);
    let rejected =
        RejectedValue { url, reason, generation: 1, depth: 2, via: None, origin: None, found, spelling: None };
    let map = RejectedValue { found: FoundAs::SitemapFile { nesting: 0 }, ..rejected.clone() };
    let spelled = RejectedValue { spelling: spelling(), ..rejected.clone() };
    let all = [rejected.clone(), RejectedValue { origin, ..rejected }, map, spelled];
    all.iter().for_each(|rejected| _ = check(rejected));
    check(&ContentValue {
        first: seen().page(UnixMillis(5)),
        url: "http://h0.test/".into(),
        date: UnixMillis(5),
        payload: [6; 20],
    });
    check(&robots(b"User-agent: *\nDisallow: /x\n"));
    check(&counters());
    let types = BTreeMap::from([("text/html".to_owned(), (3, 900)), ("other".to_owned(), (0, 0))]);
    check(&Counters { failed: 2, types, ..counters() });
    let frontier = FrontierCounts { ranks: [9, 0, 0, 0, 0, 0, 0, 300], retries: 1, hosts_held: 2 };
    check(&Counters { frontier, ..counters() });
    check(&SeedValue {
        url: "u".into(),
        added: UnixMillis(1),
        rank: Some(7),
        max_depth: None,
        tags: vec!["a".into()],
        guessed: true,
    });
    let failed = FailedValue {
        url: "u".into(),
        reason: Failure::Status5xx,
        status: Some(503),
        when: UnixMillis(9),
        captured: Some(UnixMillis(8)),
        attempts: 4,
        depth: 2,
        limit: Some(2),
        hops: 0,
        seed: false,
        found: FoundAs::Link,
        discovered: UnixMillis(1),
        origin: Some("s".into()),
        via: None,
        spelling: None,
    };
    check(&failed);
    let spelled = FailedValue { spelling: Some("/%61".into()), ..failed.clone() };
    let all = [failed.clone(), FailedValue { found: FoundAs::WellKnown, ..failed }, spelled];
    all.iter().for_each(|failed| _ = check(failed));
    check(&FileLengths { warc: Some(("w".into(), 1)), cdxj: None, jsonl: u64::MAX });
    let run = RunState {
        clean: true,
        started: UnixMillis(1),
        node: "n".into(),
        runs: 1,
        rules: 2,
        rules_digest: [3; 16],
        last_stop: Some(UnixMillis(7)),
    };
    check(&run);
    check(&ClockState { crawl: UnixMillis(9), date: UnixMillis(1), boot: None });
    let boot = Some(SinceBoot { boot: u64::MAX, ms: 300 });
    check(&ClockState { crawl: UnixMillis(9), date: UnixMillis(1), boot });
    check(&live_settings());
    check(&JoinedHost("a.test".into()));
    check(&OrderedHosts(vec!["a.test".into()]));
    check(&Format { version: 1, seed: u64::MAX });
    let page = seen().page(UnixMillis(5));
    check(&UnsyncedLines { from: 300, text: "{}\n".into() });
    check(&Unsynced(vec![UnsyncedPage { page, rank: 1, order: 2, entry: queue_entry(), warc: warc_place() }]));
}

/// The format on disk may not change without a new version: these bytes were written by format 3.
#[test]
fn format_3_writes_these_bytes() {
    let hex = |bytes: Vec<u8>| data_encoding::HEXLOWER.encode(&bytes);
    let way = |depth, limit| Reach { depth, limit };
    let waiting = UrlState::Waiting { rank: 2, order: 300, reach: way(1, None), due: None };
    assert_eq!(hex(waiting.encode()), "010002ac02010000");
    let done = UrlState::Done { captured: UnixMillis(128), how: DoneKind::Duplicate, reach: way(1, Some(200)) };
    assert_eq!(hex(done.encode()), "01018001020101c801");
    assert_eq!(hex(UrlState::Error { reason: Failure::Tls }.encode()), "010205");
    let rejected = UrlState::Rejected { reason: Rejection::Robots, generation: 3, reach: way(4, None) };
    assert_eq!(hex(rejected.encode()), "01030a030400");
    let entry = QueueEntry { tail: "/a".into(), via: None, origin: None, ..queue_entry() };
    assert_eq!(
        hex(entry.encode()),
        concat!("01", "01", "bb03", "022f61", "02", "01ac02", "01", "00", "00", "80d095ffbc31", "00", "00")
    );
    assert_eq!(hex(Format { version: 1, seed: 1 }.encode()), "010101");
    let host = HostState { name: "h".into(), pace: vec![7], ..HostState::default() };
    assert_eq!(hex(host.encode()), "01016801070000000000");
    let paused = HostOrders { paused: Some(UnixMillis(5)), ..HostOrders::default() };
    assert_eq!(hex(HostState { orders: paused, ..host }.encode()), concat!("0101680107", "0105", "00000000"));
    assert_eq!(hex(FileLengths { warc: Some(("w".into(), 1)), cdxj: None, jsonl: 2 }.encode()), "01010177010002");
    assert_eq!(hex(ClockState { crawl: UnixMillis(2), date: UnixMillis(1), boot: None }.encode()), "01020100");
}

#[test]
fn a_long_robots_txt_is_packed_and_comes_back() {
    let text = "User-agent: *\nDisallow: /private/\n".repeat(1000);
    let bytes = check_packed(&robots(text.as_bytes()));
    assert!(bytes.len() < text.len() / 10, "{} bytes for {}", bytes.len(), text.len());
}

fn check_packed(value: &RobotsValue) -> Vec<u8> {
    let bytes = value.encode();
    assert_eq!(RobotsValue::decode(&bytes).as_ref(), Ok(value));
    bytes
}

#[test]
fn a_robots_txt_beyond_the_cap_keeps_its_beginning() {
    let text: Vec<u8> = (0..ROBOTS_TEXT_CAP + 10).map(|i| (i % 251) as u8).collect();
    let back = RobotsValue::decode(&robots(&text).encode()).unwrap();
    assert_eq!(back.text, text[..ROBOTS_TEXT_CAP]);
}

#[test]
fn a_packed_text_that_unpacks_beyond_the_cap_is_refused() {
    let bomb = zstd::bulk::compress(&vec![0; ROBOTS_TEXT_CAP + 1], 3).unwrap();
    let mut bytes = vec![1, 0, 0, 0, 0, 1, bomb.len() as u8];
    assert!(bomb.len() < 128);
    bytes.extend(bomb);
    assert_eq!(RobotsValue::decode(&bytes), Err(ValueError::Packed));
}

#[test]
fn a_length_beyond_the_end_is_refused_before_room_is_made() {
    // A list of 2^60 hosts in eleven bytes.
    let bytes = [1, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x10, 0];
    assert_eq!(OrderedHosts::decode(&bytes), Err(ValueError::Short));
}

#[test]
fn numbers_have_one_spelling() {
    for bytes in [&[1, 0x81, 0x00, 1][..], &[1, 1, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x02]] {
        assert_eq!(Format::decode(bytes), Err(ValueError::Number), "{bytes:?}");
    }
    // 2^32 is no version.
    assert_eq!(Format::decode(&[1, 0x80, 0x80, 0x80, 0x80, 0x10, 1]), Err(ValueError::Number));
}

#[test]
fn a_map_out_of_order_is_refused() {
    let mut bytes = vec![1, 0, 0, 0, 2, 5, 1, 5, 1];
    bytes.extend([0; 26]);
    assert_eq!(Counters::decode(&bytes), Err(ValueError::Order));
}

#[test]
fn counters_add_up_and_notice_when_they_do_not() {
    let mut counters = counters();
    assert!(counters.balanced());
    counters.add_error(Failure::Tls);
    assert!(!counters.balanced());
    counters.sub_error(Failure::Tls);
    counters.add_rejected(Rejection::Scope);
    counters.discovered += 1;
    assert!(counters.balanced());
    assert_eq!((counters.error(), counters.rejected_total()), (2, 2));
    counters.sub_rejected(Rejection::Scope);
    counters.sub_rejected(Rejection::Scope);
    assert_eq!(counters.rejected, BTreeMap::new());
}

#[test]
fn answers_are_counted_by_their_status() {
    let mut counters = Counters::default();
    [200, 404, 200, 999].iter().for_each(|status| counters.add_status(*status));
    assert_eq!(counters.statuses, BTreeMap::from([(200, 2), (404, 1), (999, 1)]));
}

#[test]
fn captures_are_counted_by_the_first_types_that_come_and_taken_back_where_they_were_counted() {
    let mut counters = Counters::default();
    for n in 0..40 {
        counters.count_type(Some(&format!("text/{n}")), 10, true);
    }
    counters.count_type(None, 5, true);
    assert_eq!((counters.types["text/0"], counters.types[OTHER_TYPES]), ((1, 10), (9, 85)));
    counters.count_type(Some("text/0"), 10, false);
    counters.count_type(Some("text/39"), 10, false);
    counters.count_type(Some("text/39"), 7, true); // no name becomes free: what was counted as other stays there
    assert_eq!((counters.types["text/0"], counters.types[OTHER_TYPES]), ((0, 0), (9, 82)));
    assert_eq!(counters.types.len(), 33);
}

#[test]
fn the_best_rank_is_the_lowest_that_has_urls() {
    assert_eq!(HostCounts::default().best_rank(), None);
    let counts = HostCounts { queued: [0, 0, 3, 0, 0, 0, 0, 1], ..HostCounts::default() };
    assert_eq!((counts.best_rank(), counts.queued_total()), (Some(2), 4));
}

/// What decodes is written again as it was.
fn same<V: Value>(bytes: &[u8]) -> Result<(), TestCaseError> {
    if let Ok(value) = V::decode(bytes) {
        prop_assert_eq!(value.encode(), bytes);
    }
    Ok(())
}

fn same_as_anything(bytes: &[u8]) -> Result<(), TestCaseError> {
    same::<QueueEntry>(bytes)?;
    same::<HostState>(bytes)?;
    same::<HostCounts>(bytes)?;
    same::<UrlState>(bytes)?;
    same::<PageRecord>(bytes)?;
    same::<RejectedValue>(bytes)?;
    same::<FailedValue>(bytes)?;
    same::<SeedValue>(bytes)?;
    same::<OrderedHosts>(bytes)?;
    same::<ContentValue>(bytes)?;
    same::<Counters>(bytes)?;
    same::<FileLengths>(bytes)?;
    same::<RunState>(bytes)?;
    same::<ClockState>(bytes)?;
    same::<LiveSettings>(bytes)?;
    same::<JoinedHost>(bytes)?;
    same::<Format>(bytes)?;
    same::<Unsynced>(bytes)?;
    same::<UnsyncedLines>(bytes)?;
    // Packing has several spellings; here only that it does not panic.
    let _ = RobotsValue::decode(bytes);
    Ok(())
}

fn samples() -> Vec<Vec<u8>> {
    let page = seen().page(UnixMillis(5));
    vec![
        queue_entry().encode(),
        host_counts(Place::Waiting { rank: 1, order: 2 }).encode(),
        HostState { name: "h0.test".into(), pace: vec![1; 9], ..HostState::default() }.encode(),
        UrlState::Waiting { rank: 1, order: 2, reach: Reach { depth: 3, limit: None }, due: Some(UnixMillis(4)) }
            .encode(),
        page_record().encode(),
        live_settings().encode(),
        counters().encode(),
        robots(&b"Disallow: /a\n".repeat(100)).encode(),
        Unsynced(vec![UnsyncedPage { page, rank: 1, order: 2, entry: queue_entry(), warc: warc_place() }]).encode(),
    ]
}

fn of<T: Copy + Debug + 'static>(all: &'static [T]) -> impl Strategy<Value = T> {
    prop::sample::select(all)
}

fn texts() -> impl Strategy<Value = Option<String>> {
    proptest::option::of(".{0,60}")
}

fn reaches() -> impl Strategy<Value = Reach> {
    any::<(u16, Option<u16>)>().prop_map(|(depth, limit)| Reach { depth, limit })
}

/// Every way of being found, again or for the first time, under whatever spelling.
fn entries() -> impl Strategy<Value = QueueEntry> {
    let ways = prop_oneof![
        Just(FoundAs::Link),
        Just(FoundAs::SitemapEntry),
        Just(FoundAs::WellKnown),
        (0_u8..16).prop_map(|nesting| FoundAs::SitemapFile { nesting }),
    ];
    let again = proptest::option::of((any::<u64>(), of(RequeueReason::ALL)));
    let numbers = any::<(u16, u8, u8, bool, u64)>();
    (ways, reaches(), again, numbers, (texts(), texts(), texts())).prop_map(|(found, reach, again, numbers, said)| {
        let (port, hops, attempts, seed, discovered) = numbers;
        let (spelling, origin, via) = said;
        let again = again.map(|(at, why)| LastTime { captured: UnixMillis(at), why });
        let (Reach { depth, limit }, discovered) = (reach, UnixMillis(discovered));
        QueueEntry {
            port,
            depth,
            limit,
            hops,
            attempts,
            seed,
            found,
            discovered,
            origin,
            via,
            again,
            spelling,
            ..queue_entry()
        }
    })
}

proptest! {
    #[test]
    fn garbage_is_no_value_or_comes_back_as_it_was(mut bytes in prop::collection::vec(any::<u8>(), 0..80)) {
        same_as_anything(&bytes)?;
        bytes.insert(0, 1);
        same_as_anything(&bytes)?;
    }

    #[test]
    fn a_damaged_value_is_no_value_or_comes_back_as_it_was(
        which in 0_usize..samples().len(),
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
    ) {
        let mut bytes = samples().swap_remove(which);
        for (place, byte) in damage {
            let place = place.index(bytes.len());
            bytes[place] = byte;
        }
        same_as_anything(&bytes)?;
    }

    #[test]
    fn whatever_a_url_in_the_queue_is_it_comes_back(entry in entries()) {
        prop_assert_eq!(QueueEntry::decode(&entry.encode()), Ok(entry.clone()));
        let page = UnsyncedPage { page: seen().page(UnixMillis(5)), rank: 1, order: 2, entry, warc: warc_place() };
        let list = Unsynced(vec![page.clone(), UnsyncedPage { entry: queue_entry(), ..page }]);
        prop_assert_eq!(Unsynced::decode(&list.encode()), Ok(list));
    }

    #[test]
    fn whatever_the_way_to_a_url_its_state_comes_back(
        reach in reaches(), when: u64, rank: u8, order: u64, due: Option<u64>, generation: u32,
        how in of(DoneKind::ALL), reason in of(Rejection::ALL),
    ) {
        let waiting = UrlState::Waiting { rank, order, reach, due: due.map(UnixMillis) };
        let done = UrlState::Done { captured: UnixMillis(when), how, reach };
        for state in [waiting, done, UrlState::Rejected { reason, generation, reach }] {
            prop_assert_eq!(UrlState::decode(&state.encode()), Ok(state));
        }
    }

    #[test]
    fn whatever_was_given_up_or_turned_away_comes_back(
        entry in entries(), failure in of(Failure::ALL), reason in of(Rejection::ALL), status: Option<u16>, captured: Option<u64>,
    ) {
        let QueueEntry { depth, limit, hops, seed, found, origin, via, spelling, .. } = entry;
        let (url, captured) = ("http://h0.test/a".to_owned(), captured.map(UnixMillis));
        let rejected = RejectedValue {
            url: url.clone(), reason, generation: 7, depth, via: via.clone(), origin: origin.clone(), found, spelling: spelling.clone(),
        };
        prop_assert_eq!(RejectedValue::decode(&rejected.encode()), Ok(rejected));
        let (when, discovered, attempts) = (UnixMillis(9), entry.discovered, entry.attempts);
        let failed = FailedValue {
            url, reason: failure, status, when, captured, attempts, depth, limit, hops, seed, found, discovered, origin, via, spelling,
        };
        prop_assert_eq!(FailedValue::decode(&failed.encode()), Ok(failed));
    }

    #[test]
    fn whatever_is_kept_of_a_page_whole_or_half_comes_back(
        cut in proptest::option::of(of(Cut::ALL)), how in of(DoneKind::ALL), notes in prop::collection::btree_set(of(Note::ALL), 0..4),
        (spelling, refused, origin) in (texts(), texts(), texts()), unchanged: u8, depth: u16, hops: u8, map: Option<bool>,
    ) {
        let notes: Vec<Note> = notes.into_iter().collect();
        let sitemap = map.map(|put_off| AsSitemap { found: FoundAs::SitemapFile { nesting: 2 }, via: None, put_off });
        let remarks = Remarks { notes, target: origin.clone(), ..Remarks::default() };
        let page = PageRecord { cut, how, remarks, spelling, refused, origin, unchanged, depth, hops, sitemap, ..page_record() };
        prop_assert_eq!(PageRecord::decode(&page.encode()), Ok(page));
    }

    #[test]
    fn whatever_is_said_of_a_seed_comes_back(
        url in ".{0,80}", added: u64, rank: Option<u8>, max_depth: Option<u16>, tags in prop::collection::vec(".{0,9}", 0..4), guessed: bool,
    ) {
        let seed = SeedValue { url, added: UnixMillis(added), rank, max_depth, tags, guessed };
        prop_assert_eq!(SeedValue::decode(&seed.encode()), Ok(seed));
    }

    #[test]
    fn numbers_and_texts_of_any_size_come_back(
        tail in ".{0,60}", via in proptest::option::of(".{0,200}"), depth: u16, hops: u8, discovered: u64, port: u16,
    ) {
        let entry = QueueEntry { tail, via, depth, hops, port, discovered: UnixMillis(discovered), ..queue_entry() };
        prop_assert_eq!(QueueEntry::decode(&entry.encode()), Ok(entry));
    }
}
