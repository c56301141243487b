//! Damages of URLs: queues, retries, marks, captures, rejections, contents.

use lycosa::base::time::UnixMillis;
use lycosa::domain::fingerprint::{ContentDigest, CrawlId};
use lycosa::domain::near::Near;
use lycosa::domain::note::Note;
use lycosa::domain::reach::Reach;
use lycosa::recovery::check::Fault;
use lycosa::storage::keys::NearKey;
use lycosa::storage::tables;
use lycosa::storage::values::{QueueEntry, UrlState};
use lycosa::storage::{MemoryStorage, read};

use super::{Named, all, done_page, queued, remove, stored, write};

/// The first row of a leader whose URL is done.
fn done_leader(storage: &MemoryStorage) -> NearKey {
    let is_done = |row: &NearKey| {
        let state = read::seen_state(storage, row.page(CrawlId::default())).unwrap();
        matches!(state, Some(UrlState::Done { .. }))
    };
    all::<tables::Near>(storage).into_iter().map(|(row, ())| row).find(is_done).expect("the fixture has one")
}

/// Each alone.
pub const ALL: &[Named] = &[
    (
        "a queue entry is gone",
        |s, _| {
            let (key, entry) = all::<tables::Queue>(s).pop().unwrap();
            assert!(!entry.tail.is_empty());
            remove::<tables::Queue>(s, &key);
        },
        &[Fault::WaitingUnqueued, Fault::HostCounts],
    ),
    (
        "a queued URL's mark is gone",
        |s, _| remove::<tables::Seen>(s, &queued(s).0),
        &[Fault::QueueUnmarked, Fault::Counters],
    ),
    (
        "a queued URL's mark has another depth",
        |s, _| {
            let (key, UrlState::Waiting { rank, order, reach, due }) = queued(s) else { panic!() };
            let reach = Reach { depth: reach.depth + 1, ..reach };
            write(s, |b| b.put::<tables::Seen>(&key, &UrlState::Waiting { rank, order, reach, due }));
        },
        &[Fault::QueueUnmarked],
    ),
    (
        "a queued URL's mark points to where nothing is",
        |s, _| {
            let (key, UrlState::Waiting { rank, order, reach, due }) = queued(s) else { panic!() };
            write(s, |b| b.put::<tables::Seen>(&key, &UrlState::Waiting { rank, order: order ^ 1 << 40, reach, due }));
        },
        &[Fault::QueueUnmarked, Fault::WaitingUnqueued],
    ),
    (
        "a queued URL's mark points to another URL's entry",
        |s, _| {
            let marks = all::<tables::Seen>(s);
            let mut waiting = marks.iter().filter(|(_, m)| matches!(m, UrlState::Waiting { due: None, .. }));
            let (first, other) = (waiting.next().unwrap(), waiting.next().unwrap());
            write(s, |b| b.put::<tables::Seen>(&first.0, &other.1));
        },
        &[Fault::QueueUnmarked, Fault::WaitingUnqueued],
    ),
    (
        "a URL is queued twice",
        |s, _| {
            let (key, entry) = all::<tables::Queue>(s).pop().unwrap();
            let twin = key.host_crawl().queue(key.rank, key.order ^ 1 << 40);
            write(s, |b| b.put::<tables::Queue>(&twin, &entry));
        },
        &[Fault::QueueUnmarked, Fault::HostCounts],
    ),
    (
        "a finished URL is queued",
        |s, _| {
            let (key, entry) = all::<tables::Queue>(s).pop().unwrap();
            let UrlState::Done { captured, .. } = stored(s).1 else { panic!() };
            let page = all::<tables::Pages>(s).into_iter().find(|(k, _)| k.captured.0 == captured).unwrap();
            let url = lycosa::domain::url::PageUrl::from_canonical(&page.1.url).unwrap();
            let again = QueueEntry { tail: url.tail().to_owned(), port: url.port(), ..entry };
            let at = page.0.seen().host_crawl().queue(0, key.order ^ 1 << 40);
            write(s, |b| b.put::<tables::Queue>(&at, &again));
        },
        &[Fault::QueueUnmarked],
    ),
    (
        "a retry is gone",
        |s, _| remove::<tables::Due>(s, &all::<tables::Due>(s)[0].0),
        &[Fault::WaitingUnqueued, Fault::HostCounts],
    ),
    (
        "a retry's mark is gone",
        |s, _| remove::<tables::Seen>(s, &all::<tables::Due>(s)[0].0.seen()),
        &[Fault::DueUnmarked],
    ),
    (
        "a retry stands at another URL's key",
        |s, _| {
            let (key, entry) = all::<tables::Due>(s).remove(0);
            let other = stored(s).0;
            write(s, |b| {
                b.delete::<tables::Due>(&key);
                b.delete::<tables::Seen>(&key.seen());
                b.put::<tables::Due>(&key.seen().host_crawl().url(other.url).due(key.time), &entry);
            });
        },
        &[Fault::DueUnmarked],
    ),
    ("a done URL's mark is gone", |s, _| remove::<tables::Seen>(s, &stored(s).0), &[Fault::PageUnmarked]),
    (
        "a done URL's mark names another capture",
        |s, _| {
            let (key, UrlState::Done { how, reach, .. }) = stored(s) else { panic!() };
            write(s, |b| b.put::<tables::Seen>(&key, &UrlState::Done { captured: UnixMillis(5), how, reach }));
        },
        &[Fault::DoneUncaptured],
    ),
    (
        "a capture is gone",
        |s, _| {
            let (key, UrlState::Done { captured, .. }) = stored(s) else { panic!() };
            remove::<tables::Pages>(s, &key.page(captured));
        },
        &[Fault::DoneUncaptured, Fault::Counters],
    ),
    (
        "a capture says another URL",
        |s, _| {
            let (key, mut page) = done_page(s);
            page.url.push('x');
            write(s, |b| b.put::<tables::Pages>(&key, &page));
        },
        &[Fault::Misplaced],
    ),
    (
        "a capture stands in another partition",
        |s, _| {
            let (mut key, page) = done_page(s);
            key.partition.0 ^= 1;
            write(s, |b| b.put::<tables::Pages>(&key, &page));
        },
        &[Fault::Misplaced],
    ),
    (
        "a kept rejection is gone",
        |s, _| remove::<tables::Rejected>(s, &all::<tables::Rejected>(s)[0].0),
        &[Fault::RejectedUnkept],
    ),
    (
        "a rejected URL's mark is gone",
        |s, _| remove::<tables::Seen>(s, &all::<tables::Rejected>(s)[0].0),
        &[Fault::RejectedUnmarked, Fault::Counters],
    ),
    (
        "a row of a leader of near-duplicates is gone",
        |s, _| {
            remove::<tables::Near>(s, &done_leader(s));
        },
        &[Fault::NearMissing],
    ),
    (
        "a leader of near-duplicates is in no table",
        |s, _| {
            let leader = done_leader(s);
            let rows =
                all::<tables::Near>(s).into_iter().filter(|(key, ())| (key.host, key.url) == (leader.host, leader.url));
            rows.for_each(|(key, ())| remove::<tables::Near>(s, &key));
        },
        &[Fault::NearMissing],
    ),
    (
        "a row of near-duplicates is nobody's",
        |s, _| {
            let (key, ()) = all::<tables::Near>(s).into_iter().next().unwrap();
            let other = NearKey { band: key.band.map(|byte| !byte), ..key };
            write(s, |b| b.put::<tables::Near>(&other, &()));
        },
        &[Fault::NearDangling],
    ),
    (
        "a page is said to be near to one that nobody knows",
        |s, _| {
            let (key, mut page) = done_page(s);
            page.remarks.near = Some(Near::Like { url: "http://nobody.test/".into(), distance: 1 });
            page.remarks.notes = vec![Note::NearDuplicate];
            write(s, |b| b.put::<tables::Pages>(&key, &page));
        },
        &[Fault::NearDangling],
    ),
    (
        "a page stands in a group of which it is not",
        |s, _| {
            let seen = done_page(s).0.seen();
            write(s, |b| b.put::<tables::NearMembers>(&seen.near_member(seen), &()));
        },
        &[Fault::NearDangling],
    ),
    (
        "a content names a capture that is not there",
        |s, _| {
            let (key, mut value) = all::<tables::Content>(s).remove(0);
            value.first = value.first.seen().page(UnixMillis(3));
            write(s, |b| b.put::<tables::Content>(&key, &value));
        },
        &[Fault::ContentDangling],
    ),
    (
        "a content is of another capture",
        |s, _| {
            let (_, value) = all::<tables::Content>(s).remove(0);
            write(s, |b| b.put::<tables::Content>(&ContentDigest([1; 16]).into(), &value));
        },
        &[Fault::ContentDangling],
    ),
];
