//! Damages of hosts, their counts and rows, and of the counters.

use std::path::Path;

use data_encoding::HEXLOWER;
use lycosa::base::time::UnixMillis;
use lycosa::domain::fingerprint::CrawlId;
use lycosa::domain::found_as::FoundAs;
use lycosa::domain::reason::{Failure, Rejection};
use lycosa::domain::visit::Visit;
use lycosa::index::{Folder, Stand, Writer};
use lycosa::recovery::check::Fault;
use lycosa::storage::keys::FeedKey;
use lycosa::storage::read;
use lycosa::storage::tables;
use lycosa::storage::values::{
    AsSitemap, Counters, FeedEntry, FeedLog, PageRecord, Place, RejectedValue, UrlState, VisitRow,
};

use super::{Named, all, done_page, host_with_queue, queued, remove, write};

/// Each alone.
pub const ALL: &[Named] = &[
    (
        "a host's name is gone",
        |s, _| remove::<tables::HostState>(s, &host_with_queue(s).0.host_at()),
        &[Fault::HostNameless, Fault::Counters],
    ),
    (
        "a host has another's name",
        |s, _| {
            let named = all::<tables::HostState>(s);
            let queued = |at| all::<tables::Queue>(s).iter().any(|(key, _)| key.host_crawl().host_at() == at);
            let (at, state) = named.into_iter().find(|(at, _)| queued(*at)).unwrap();
            let state = lycosa::storage::values::HostState { name: "other.test".into(), ..state };
            write(s, |b| b.put::<tables::HostState>(&at, &state));
        },
        &[Fault::HostMisnamed, Fault::HostNameless],
    ),
    (
        "a host counts one too many",
        |s, _| {
            let (at, mut counts) = host_with_queue(s);
            counts.queued[0] += 1;
            counts.bytes += 1;
            write(s, |b| b.put::<tables::HostCounts>(&at, &counts));
        },
        &[Fault::HostCounts],
    ),
    (
        "a host's counts are gone",
        |s, _| remove::<tables::HostCounts>(s, &host_with_queue(s).0),
        &[Fault::HostCounts, Fault::HostPlace],
    ),
    (
        "a host's head is too high",
        |s, _| {
            let (at, mut counts) = host_with_queue(s);
            counts.heads = [u64::MAX; 8];
            write(s, |b| b.put::<tables::HostCounts>(&at, &counts));
        },
        &[Fault::HostHeads],
    ),
    (
        "a host is in no row",
        |s, _| {
            write(s, |b| {
                all::<tables::Waiting>(s).iter().for_each(|(key, ())| b.delete::<tables::Waiting>(key));
                all::<tables::Parked>(s).iter().for_each(|(key, ())| b.delete::<tables::Parked>(key));
            });
        },
        &[Fault::HostPlace],
    ),
    (
        "a host is in two rows",
        |s, _| {
            let at = host_with_queue(s).0.host_at();
            write(s, |b| b.put::<tables::Parked>(&at.parked(UnixMillis(77)), &()));
        },
        &[Fault::RowStray],
    ),
    (
        "a host says that it has no place",
        |s, _| {
            let (at, mut counts) = host_with_queue(s);
            counts.place = Place::None;
            write(s, |b| b.put::<tables::HostCounts>(&at, &counts));
        },
        &[Fault::RowStray, Fault::HostPlace],
    ),
    (
        "a sitemap is not in its row",
        |s, _| {
            let (key, page) = done_page(s);
            let sitemap = Some(AsSitemap { found: FoundAs::SitemapFile { nesting: 0 }, via: None, put_off: false });
            write(s, |b| b.put::<tables::Pages>(&key, &PageRecord { sitemap, ..page }));
        },
        &[Fault::SitemapMissing],
    ),
    (
        "a row of sitemaps is no last visit",
        |s, _| {
            let row = done_page(s).0.seen().due(UnixMillis(77));
            write(s, |b| b.put::<tables::Sitemaps>(&row, &()));
        },
        &[Fault::SitemapStray],
    ),
    (
        "a row of visits is at another time than its page is visited next",
        |s, _| {
            let row = done_page(s).0.seen().visit(UnixMillis(77));
            write(s, |b| b.put::<tables::Visits>(&row, &VisitRow { every: 60 }));
        },
        &[Fault::VisitStray],
    ),
    (
        "a page that is visited again has no row",
        |s, _| {
            let (key, page) = done_page(s);
            write(s, |b| b.put::<tables::Pages>(&key, &PageRecord { next: Some(UnixMillis(77)), ..page }));
        },
        &[Fault::VisitMissing],
    ),
    (
        "a host stands in the row of visits that has none",
        |s, _| {
            let row = host_with_queue(s).0.host_at().parked(UnixMillis(77));
            write(s, |b| b.put::<tables::VisitHosts>(&row, &()));
        },
        &[Fault::VisitHost],
    ),
    (
        "a host is not in the row of visits where its counts say",
        |s, _| {
            let (key, mut counts) = host_with_queue(s);
            counts.visits.row = Some(UnixMillis(77));
            write(s, |b| b.put::<tables::HostCounts>(&key, &counts));
        },
        &[Fault::VisitHost],
    ),
    (
        "a page's mark says another way than the better one that waits",
        |s, _| {
            let (key, value) = all::<tables::Nearer>(s).pop().unwrap();
            let Some(UrlState::Done { captured, how, .. }) = read::seen_state(s, key).unwrap() else { panic!() };
            write(s, |b| b.put::<tables::Seen>(&key, &UrlState::Done { captured, how, reach: value.judged }));
        },
        &[Fault::NearerStray],
    ),
    (
        "a better way waits for a page that is queued",
        |s, _| {
            let value = all::<tables::Nearer>(s).pop().unwrap().1;
            write(s, |b| b.put::<tables::Nearer>(&queued(s).0, &value));
        },
        &[Fault::NearerStray, Fault::Counters],
    ),
    (
        "a better way is that of another page",
        |s, _| {
            let rows = all::<tables::Nearer>(s);
            write(s, |b| b.put::<tables::Nearer>(&rows[0].0, &rows.last().unwrap().1));
        },
        &[Fault::NearerStray],
    ),
    ("a better way is gone", |s, _| remove::<tables::Nearer>(s, &all::<tables::Nearer>(s)[0].0), &[Fault::Counters]),
    (
        "it is forgotten that a URL was too deep",
        |s, _| {
            let (key, kept) = all::<tables::Rejected>(s).pop().unwrap();
            let Some(UrlState::Rejected { generation, reach, .. }) = read::seen_state(s, key).unwrap() else {
                panic!()
            };
            let reason = Rejection::TooDeep;
            let kept = RejectedValue { reason, ..kept };
            write(s, |b| {
                b.put::<tables::Rejected>(&key, &kept);
                b.put::<tables::Seen>(&key, &UrlState::Rejected { reason, generation, reach });
            });
        },
        &[Fault::Counters],
    ),
    (
        "counters are off",
        |s, _| {
            let mut counters: Counters = read::meta(s, CrawlId::default()).unwrap().unwrap();
            counters.discovered += 1;
            counters.done += 1;
            counters.hosts_parked += 9;
            write(s, |b| b.put_meta(CrawlId::default(), &counters));
        },
        &[Fault::Counters],
    ),
    (
        "the queues are counted at the wrong rank",
        |s, _| {
            let mut counters: Counters = read::meta(s, CrawlId::default()).unwrap().unwrap();
            counters.frontier.ranks.rotate_left(3);
            write(s, |b| b.put_meta(CrawlId::default(), &counters));
        },
        &[Fault::Counters],
    ),
    (
        "counters are gone",
        |s, _| write(s, |b| b.delete_meta::<Counters>(CrawlId::default())),
        &[Fault::Counters, Fault::NextNumber],
    ),
    (
        "a number was given out already",
        |s, _| {
            let counters: Counters = read::meta(s, CrawlId::default()).unwrap().unwrap();
            write(s, |b| b.put_meta(CrawlId::default(), &Counters { next_seq: 1, ..counters }));
        },
        &[Fault::NextNumber],
    ),
    (
        "the number of an entry of the feed was given out already",
        |s, _| {
            let counters: Counters = read::meta(s, CrawlId::default()).unwrap().unwrap();
            write(s, |b| b.put_meta(CrawlId::default(), &Counters { fed: 1, ..counters }));
        },
        &[Fault::NextNumber],
    ),
    (
        "an entry of the feed is gone",
        |s, _| {
            let (key, _) = done_page(s);
            let entries = all::<tables::Feed>(s);
            let (entry, _) = entries.iter().find(|(_, entry)| entry.page == key.seen()).unwrap();
            remove::<tables::Feed>(s, entry);
        },
        &[Fault::FeedMissing],
    ),
    (
        "a page turned away is told as given up, the last thing told of it",
        |s, _| {
            let counters: Counters = read::meta(s, CrawlId::default()).unwrap().unwrap();
            let fed = counters.fed + 1;
            let page = all::<tables::Rejected>(s)[0].0;
            let why = Some(Failure::DnsFailed.code());
            let entry = FeedEntry { kind: Visit::Failed, at: UnixMillis(1), page, captured: None, why };
            write(s, |b| {
                b.put::<tables::Feed>(&FeedKey { number: fed }, &entry);
                b.put_meta(CrawlId::default(), &Counters { fed, ..counters });
            });
        },
        &[Fault::FeedMissing],
    ),
    (
        "an entry of the feed gives another reason",
        |s, _| {
            let entries = all::<tables::Feed>(s);
            let (key, entry) = entries.into_iter().find(|(_, entry)| entry.kind == Visit::Gone).unwrap();
            let why = Some(Failure::DnsFailed.code());
            write(s, |b| b.put::<tables::Feed>(&key, &FeedEntry { why, ..entry }));
        },
        &[Fault::FeedMissing],
    ),
    (
        "entries of the feed lie before its beginning",
        |s, _| {
            let log: FeedLog = read::meta(s, ()).unwrap().unwrap();
            write(s, |b| b.put_meta((), &FeedLog { trimmed: 3, ..log }));
        },
        &[Fault::FeedStray],
    ),
    (
        "an index is true up to an entry that the feed does not have",
        |s, data| an_index(data, &read::meta::<FeedLog>(s, ()).unwrap().unwrap().id, 1_000_000),
        &[Fault::IndexAhead],
    ),
    ("an index is of a feed that nobody knows", |_, data| an_index(data, &[9; 8], 1), &[Fault::IndexAhead]),
];

/// An index that says it is true up to an entry of a feed.
pub fn an_index(data: &Path, log: &[u8; 8], seq: u64) {
    let folder = Folder::of(data).generation(1);
    std::fs::create_dir_all(&folder).unwrap();
    let stand = Stand { seq, ..Stand::begin(&HEXLOWER.encode(log)) };
    let mut writer = Writer::open(&folder, 16 << 20).unwrap();
    writer.commit(&stand).unwrap();
    writer.close().unwrap();
}
