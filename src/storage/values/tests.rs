use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::LazyLock;
use std::time::Duration;

use proptest::prelude::*;

use super::*;
use crate::base::time::{SinceBoot, UnixMillis};
use crate::domain::credit::{Pool, Sums, Waiting};
use crate::domain::cut::Cut;
use crate::domain::fingerprint::{ContentDigest, CrawlId, HostKey, UrlKey};
use crate::domain::found_as::FoundAs;
use crate::domain::note::Note;
use crate::domain::orders::HostOrders;
use crate::domain::partition::Partition;
use crate::domain::priority::Weight;
use crate::domain::reach::Reach;
use crate::domain::reason::{Failure, Rejection};
use crate::domain::refresh::{Cycle, Habit, Rate};
use crate::domain::revisit::RequeueReason;
use crate::domain::robots::RobotsCopy;
use crate::domain::textprint::TextPrint;
use crate::domain::url::{PageUrl, Scheme};
use crate::domain::visit::Visit;
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
        priority: None,
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
    let url = PageUrl::from_canonical("http://h0.test/").unwrap();
    PageRecord {
        status: 200,
        took_ms: 12,
        mime: Some("text/html".into()),
        bytes: 1000,
        payload_digest: [9; 20],
        content: Some(ContentDigest([8; 16])),
        warc: Some(warc_place()),
        title: Some("Täst".into()),
        out_links: 3,
        depth: 1,
        cut: Some(Cut::Disconnect),
        charset: Some("utf-8".into()),
        print: Some(TextPrint {
            whole: u64::MAX,
            words: 1 << 40,
            sim: 3,
            features: 300,
            letters: 1_700,
            sketch: Some([1, 1 << 63, 0, 7]),
        }),
        visit: Visit::Little,
        habit: Habit { rate: Rate { ln: -3_500, weight: 128 }, links: 9, small: 4, named: true },
        next: Some(UnixMillis(80)),
        not_modified: 3,
        remarks: Remarks { notes: vec![Note::Reset], target: Some("http://h0.test/b".into()), ..Remarks::default() },
        ..PageRecord::new(&url, UnixMillis(5), DoneKind::Stored)
    }
}

fn live_settings() -> LiveSettings {
    let changed = vec![ChangedKey { key: "scope.mode".into(), before: None, after: Some("\"any\"".into()) }];
    let (by, undoes) = ("admin".to_owned(), Some(1));
    LiveSettings {
        overlay: BTreeMap::from([("crawl.max_pages".into(), "7".into()), ("scope.mode".into(), "\"any\"".into())]),
        history: vec![SettingsChange { generation: 2, at: UnixMillis(5), by, undoes, undone: false, changed }],
        readmit: Some(2),
        rerank: Some(300),
        register: 70_000,
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

fn rejected() -> RejectedValue {
    RejectedValue {
        url: "u".into(),
        reason: Rejection::Scope,
        generation: 1,
        depth: 2,
        via: None,
        origin: Some("s".into()),
        found: FoundAs::SitemapFile { nesting: 0 },
        spelling: Some("/%61".into()),
    }
}

fn failed() -> FailedValue {
    FailedValue {
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
        next: Some(UnixMillis(70)),
        visits: 2,
        found: FoundAs::WellKnown,
        discovered: UnixMillis(1),
        origin: Some("s".into()),
        via: None,
        spelling: Some("/%61".into()),
    }
}

fn seed() -> SeedValue {
    let (url, added, tags) = ("u".to_owned(), UnixMillis(1), vec!["a".to_owned()]);
    SeedValue {
        url,
        added,
        rank: Some(7),
        weight: Weight::from_hundredths(250),
        max_depth: None,
        tags,
        cycle: None,
        guessed: true,
    }
}

fn robots(text: &[u8]) -> RobotsValue {
    let copy = RobotsCopy { status: 200, fetched: UnixMillis(1), failures: 1, retry_at: Some(UnixMillis(9)) };
    RobotsValue { copy, text: text.into() }
}

/// Bytes of a value, and what its kind makes of bytes: the value they are, written again.
struct Sample {
    bytes: Vec<u8>,
    again: fn(&[u8]) -> Result<Vec<u8>, ValueError>,
    /// Its kind packs, which has several spellings.
    packs: bool,
}

fn sample<V: Value + PartialEq + Debug>(value: V) -> Sample {
    let bytes = value.encode();
    assert_eq!(V::decode(&bytes), Ok(value));
    Sample { bytes, again: |bytes| V::decode(bytes).map(|value| value.encode()), packs: false }
}

/// Values of every kind, with all that may be left out and without, but for those that are packed.
fn samples() -> Vec<Sample> {
    let (page, time) = (seen().page(UnixMillis(5)), UnixMillis(7));
    let unsynced =
        |entry| Unsynced(vec![UnsyncedPage { page, rank: 1, order: 2, entry, warc: warc_place(), feed: 300 }]);
    let again = QueueEntry {
        found: FoundAs::SitemapFile { nesting: 15 },
        priority: Some(80),
        seed: true,
        again: Some(LastTime { visits: 2, ..LastTime::new(time, RequeueReason::Cycle) }),
        spelling: Some("/%61?".to_owned()),
        ..queue_entry()
    };
    let orders = HostOrders {
        paused: Some(time),
        blocked: Some(UnixMillis(0)),
        dropping: Some(UnixMillis(u64::MAX)),
        recrawling: Some(time),
        min_delay: Some(Duration::from_millis(700)),
    };
    let map = AsSitemap { found: FoundAs::SitemapFile { nesting: 1 }, via: Some("u".into()), put_off: true };
    let bare = PageRecord::new(&PageUrl::from_canonical("http://h0.test/").unwrap(), time, DoneKind::Unstored);
    let types = BTreeMap::from([("text/html".to_owned(), (3, 900)), ("other".to_owned(), (0, 0))]);
    let frontier =
        FrontierCounts { ranks: [9, 0, 0, 0, 0, 0, 0, 300], retries: 1, hosts_held: 2, visits: 5, visit_load: 700 };
    let reach = Reach { depth: 300, limit: Some(u16::MAX) };
    let mut all = vec![
        sample(QueueEntry { origin: None, via: None, ..queue_entry() }),
        sample(again.clone()),
        sample(Unsynced::default()),
        sample(unsynced(queue_entry())),
        sample(unsynced(again)),
        sample(UnsyncedLines { from: 300, text: "{}\n".into() }),
        sample(HostState::default()),
        sample(HostState {
            name: "h0.test".into(),
            pace: vec![0, 255],
            orders,
            rate: Rate { ln: -3_000, weight: 700 },
        }),
        sample(host_counts(Place::None)),
        sample(host_counts(Place::Held)),
        sample(host_counts(Place::Waiting { rank: 7, order: u64::MAX })),
        sample(host_counts(Place::Parked { time })),
        sample(UrlState::Waiting { rank: 1, order: u64::MAX, reach, due: None }),
        sample(UrlState::Waiting { rank: 1, order: 2, reach: Reach { limit: None, ..reach }, due: Some(time) }),
        sample(bare),
        sample(page_record()),
        sample(PageRecord {
            sitemap: Some(map),
            unchanged: 255,
            refused: Some("r".into()),
            print: None,
            ..page_record()
        }),
        sample(PageRecord {
            print: page_record().print.map(|print| TextPrint { sketch: None, ..print }),
            ..page_record()
        }),
        sample(rejected()),
        sample(failed()),
        sample(ContentValue { first: page, url: "http://h0.test/".into(), date: time, payload: [6; 20] }),
        sample(counters()),
        sample(Counters { failed: 2, nearer: 3, too_deep: true, types, frontier, ..counters() }),
        sample(NearerValue { judged: Reach { limit: None, ..reach }, entry: queue_entry() }),
        sample(seed()),
        sample(FileLengths { warc: Some(("w".into(), 1)), cdxj: None, jsonl: u64::MAX }),
        sample(RunState {
            clean: true,
            started: time,
            node: "n".into(),
            runs: 1,
            rules: 2,
            rules_digest: [3; 16],
            last_stop: Some(time),
        }),
        sample(ClockState { crawl: time, date: UnixMillis(1), boot: None }),
        sample(ClockState { crawl: time, date: time, boot: Some(SinceBoot { boot: u64::MAX, ms: 300 }) }),
        sample(live_settings()),
        sample(JoinedHost("a.test".into())),
        sample(OrderedHosts(vec!["a.test".into()])),
        sample(FeedEntry { kind: Visit::First, at: time, page: seen(), captured: Some(time), why: None }),
        sample(FeedEntry { kind: Visit::Failed, at: time, page: seen(), captured: None, why: Some(200) }),
        sample(FeedLog { id: [7; 8], trimmed: 300, former: Vec::new() }.continued([8; 8], 301, 400, None)),
        sample(Consumers(vec![Consumer { name: "a".into(), after: 300, hold: true, at: time }])),
        sample(CardSettings { keywords: "fill".into(), dictionary: "狼蛛 5\n".into() }),
        sample(Format { version: 1, seed: u64::MAX }),
    ];
    all.extend(Failure::ALL.iter().map(|reason| sample(UrlState::Error { reason: *reason })));
    all.extend(
        Rejection::ALL.iter().map(|reason| sample(UrlState::Rejected { reason: *reason, generation: 70_000, reach })),
    );
    all.extend(DoneKind::ALL.iter().map(|how| sample(UrlState::Done { captured: time, how: *how, reach })));
    all
}

static SAMPLES: LazyLock<Vec<Sample>> = LazyLock::new(|| {
    let texts = ["User-agent: *\nDisallow: /x\n".to_owned(), "Disallow: /a\n".repeat(100)];
    let packed = texts.iter().map(|text| Sample { packs: true, ..sample(robots(text.as_bytes())) });
    samples().into_iter().chain(packed).collect()
});

#[test]
fn every_value_comes_back_and_nothing_shorter_longer_or_newer_does() {
    for Sample { bytes, again, .. } in SAMPLES.iter() {
        for end in 0..bytes.len() {
            assert!(again(&bytes[..end]).is_err(), "{bytes:?} cut at {end}");
        }
        assert_eq!(again(&[&bytes[..], &[0]].concat()), Err(ValueError::Long), "{bytes:?}");
        let newer = [&[200], &bytes[1..]].concat();
        assert!(matches!(again(&newer), Err(ValueError::Version { found: 200, .. })), "{bytes:?}");
    }
}

/// The format on disk may not change without a new version: these bytes were written by format 10.
#[test]
fn format_10_writes_these_bytes() {
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
        concat!("01", "01", "bb03", "022f61", "02", "01ac02", "01", "00", "00", "00", "80d095ffbc31", "00", "00")
    );
    let nearer = NearerValue { judged: way(1, Some(200)), entry: entry.clone() };
    assert_eq!(hex(nearer.encode()), ["01", "0101c801", &hex(entry.encode())[2..]].concat());
    assert_eq!(hex(Format { version: 1, seed: 1 }.encode()), "010101");
    let host = HostState { name: "h".into(), pace: vec![7], ..HostState::default() };
    assert_eq!(hex(host.encode()), "01016801070000000000f13b00");
    let paused = HostOrders { paused: Some(UnixMillis(5)), ..HostOrders::default() };
    assert_eq!(hex(HostState { orders: paused, ..host }.encode()), concat!("0101680107", "0105", "00000000", "f13b00"));
    assert_eq!(hex(VisitRow { every: 300 }.encode()), "01ac02");
    assert_eq!(hex(FileLengths { warc: Some(("w".into(), 1)), cdxj: None, jsonl: 2 }.encode()), "01010177010002");
    let fed =
        FeedEntry { kind: Visit::Gone, at: UnixMillis(1), page: seen(), captured: Some(UnixMillis(5)), why: Some(12) };
    let key = concat!("18", "0001", "0202020202020202", "0001", "030303030303030303030303");
    assert_eq!(hex(fed.encode()), ["01", "05", "01", key, "0105", "010c"].concat());
    assert_eq!(hex(ClockState { crawl: UnixMillis(2), date: UnixMillis(1), boot: None }.encode()), "01020100");
}

#[test]
fn a_long_robots_txt_is_packed_and_comes_back() {
    let text = "User-agent: *\nDisallow: /private/\n".repeat(1000);
    let bytes = sample(robots(text.as_bytes())).bytes;
    assert!(bytes.len() < text.len() / 10, "{} bytes for {}", bytes.len(), text.len());
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
    bytes.extend([0; 27]);
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
fn better_ways_are_work_once_a_url_was_too_deep_also_when_it_is_so_no_more() {
    let mut counters = Counters { nearer: 2, ..counters() };
    counters.add_rejected(Rejection::Scope);
    assert_eq!(counters.nearer_to_queue(), 0);
    counters.add_rejected(Rejection::TooDeep);
    counters.sub_rejected(Rejection::TooDeep);
    assert_eq!(counters.nearer_to_queue(), 2);
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

/// What decodes, as whatever kind of value, is written again as it was.
fn same_as_anything(bytes: &[u8]) -> Result<(), TestCaseError> {
    for Sample { again, packs, .. } in SAMPLES.iter() {
        if let Ok(written) = again(bytes) {
            prop_assert!(*packs || written == bytes, "{bytes:?} became {written:?}");
        }
    }
    Ok(())
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
    let numbers = any::<((u16, u8, u8, bool, u64), Option<u8>)>();
    let said = (".{0,60}", texts(), texts(), texts());
    (ways, reaches(), again, numbers, said).prop_map(|(found, reach, again, numbers, (tail, spelling, origin, via))| {
        let ((port, hops, attempts, seed, discovered), priority) = numbers;
        let again = again.map(|(at, why)| LastTime { visits: 3, ..LastTime::new(UnixMillis(at), why) });
        let (Reach { depth, limit }, discovered) = (reach, UnixMillis(discovered));
        let entry = QueueEntry { port, tail, depth, limit, hops, attempts, seed, found, ..queue_entry() };
        QueueEntry { discovered, origin, via, again, spelling, priority, ..entry }
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
        which: prop::sample::Index,
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
    ) {
        let mut bytes = which.get(&SAMPLES).bytes.clone();
        for (place, byte) in damage {
            let place = place.index(bytes.len());
            bytes[place] = byte;
        }
        same_as_anything(&bytes)?;
    }

    #[test]
    fn whatever_a_url_in_the_queue_is_it_comes_back(entry in entries()) {
        sample(entry.clone());
        sample(NearerValue { judged: entry.reach(), entry: entry.clone() });
        let page = UnsyncedPage { page: seen().page(UnixMillis(5)), rank: 1, order: 2, entry, warc: warc_place(), feed: 9 };
        sample(Unsynced(vec![page.clone(), UnsyncedPage { entry: queue_entry(), ..page }]));
    }

    #[test]
    fn whatever_the_way_to_a_url_its_state_comes_back(
        reach in reaches(), when: u64, rank: u8, order: u64, due: Option<u64>, generation: u32,
        how in of(DoneKind::ALL), reason in of(Rejection::ALL),
    ) {
        let waiting = UrlState::Waiting { rank, order, reach, due: due.map(UnixMillis) };
        let done = UrlState::Done { captured: UnixMillis(when), how, reach };
        for state in [waiting, done, UrlState::Rejected { reason, generation, reach }] {
            sample(state);
        }
    }

    #[test]
    fn whatever_was_given_up_or_turned_away_comes_back(
        entry in entries(), failure in of(Failure::ALL), reason in of(Rejection::ALL), status: Option<u16>, captured: Option<u64>,
    ) {
        let QueueEntry { depth, limit, hops, seed, found, origin, via, spelling, .. } = entry.clone();
        sample(RejectedValue { reason, depth, via, origin, found, spelling, ..rejected() });
        let (captured, QueueEntry { discovered, attempts, origin, via, spelling, .. }) = (captured.map(UnixMillis), entry);
        let failed = FailedValue { reason: failure, status, captured, attempts, depth, limit, hops, seed, found, ..failed() };
        sample(FailedValue { discovered, origin, via, spelling, ..failed });
    }

    #[test]
    fn whatever_is_kept_of_a_page_whole_or_half_comes_back(
        cut in proptest::option::of(of(Cut::ALL)), how in of(DoneKind::ALL), notes in prop::collection::btree_set(of(Note::ALL), 0..4),
        (spelling, refused, origin) in (texts(), texts(), texts()), unchanged: u8, depth: u16, hops: u8, map: Option<bool>,
    ) {
        let notes: Vec<Note> = notes.into_iter().collect();
        let sitemap = map.map(|put_off| AsSitemap { found: FoundAs::SitemapFile { nesting: 2 }, via: None, put_off });
        let remarks = Remarks { notes, target: origin.clone(), ..Remarks::default() };
        sample(PageRecord { cut, how, remarks, spelling, refused, origin, unchanged, depth, hops, sitemap, ..page_record() });
    }

    #[test]
    fn whatever_credit_there_is_comes_back(balance: u128, at: u128, part: u32, step: Option<u8>, members: u64, steps in prop::collection::vec(any::<u64>(), 128)) {
        sample(CreditValue::Account { balance, at, part, step });
        sample(CreditValue::Purse { members, index: balance, at, rest: balance >> 7 });
        let host = |n: u8| NoteHost { partition: Partition(n.into()), host: HostKey([n; 8]), domain: HostKey([9; 8]), pages: vec![UrlKey([n; 12]); 2] };
        sample(NoteValue { share: balance, to: vec![host(1), host(2)] });
        let round = Some(CreditRound { upto: members, after: Some(seen()), richest: at });
        let sums = Sums { issued: balance, lambda: at, ..Sums::default() };
        let root = Pool { members, index: at };
        sample(CreditState { sums, root, round, next: members, waiting: Waiting::of_steps(&steps), ..CreditState::default() });
    }

    #[test]
    fn whatever_is_said_of_a_seed_comes_back(
        url in ".{0,80}", added: u64, rank: Option<u8>, max_depth: Option<u16>, tags in prop::collection::vec(".{0,9}", 0..4), guessed: bool,
        hundredths in 0_u16..12_000,
    ) {
        let weight = Weight::from_hundredths(hundredths);
        sample(SeedValue { url, added: UnixMillis(added), rank, weight, max_depth, tags, cycle: Some(Cycle::Adapt), guessed });
    }
}
