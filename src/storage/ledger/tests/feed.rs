//! The feed: what each ending of a page is in it, which feed it is, and what is let go.

use super::*;
use crate::domain::fingerprint::ContentDigest;
use crate::domain::textprint::TextPrint;
use crate::domain::visit::Visit;
use crate::storage::keys::KeyRange;
use crate::storage::tables::{Feed, Pages};
use crate::storage::values::{Consumer, FeedEntry, FeedLog, Shown};

fn entries(bench: &Bench) -> Vec<(u64, FeedEntry)> {
    let rows = read::scan::<Feed>(&bench.storage, &KeyRange::all(), usize::MAX).unwrap();
    rows.into_iter().map(|(key, entry)| (key.number, entry)).collect()
}

/// A page with an answer of this status and content, asked for at this time.
fn answered(url: &NewUrl, at: u64, status: u16, content: u8, ending: Ending) -> PageChange {
    let how = if let Ending::Done(how) = ending { how } else { DoneKind::Stored };
    let content = Some(ContentDigest([content; 16]));
    let capture = PageRecord { status, content, ..PageRecord::new(&url.url, UnixMillis(at), how) };
    let Change::Page(page) = bare(url, ending) else { panic!("a page") };
    PageChange { status: Some(status), capture: Some(capture), ..*page }
}

fn page(change: PageChange) -> Change {
    Change::Page(Box::new(change))
}

fn done(url: &NewUrl, at: u64, content: u8, how: DoneKind) -> Change {
    page(answered(url, at, 200, content, Ending::Done(how)))
}

#[test]
fn each_ending_of_a_page_is_one_entry_that_says_what_became_of_it() {
    let ended = |ending| (None, ending);
    let (stored, redirect) = (Ending::Done(DoneKind::Stored), Ending::Done(DoneKind::Redirect));
    for ((status, ending), kind) in [
        ((Some(200), stored), Some(Visit::First)),
        ((Some(200), Ending::Done(DoneKind::Duplicate)), Some(Visit::First)),
        ((Some(301), redirect), Some(Visit::Redirect)),
        ((Some(404), Ending::Error(Failure::Status4xx)), Some(Visit::Gone)),
        ((Some(410), Ending::Error(Failure::Status4xx)), Some(Visit::Gone)),
        ((Some(451), Ending::Error(Failure::Status4xx)), Some(Visit::Gone)),
        ((Some(403), Ending::Error(Failure::Status4xx)), Some(Visit::Failed)),
        ((Some(503), Ending::Error(Failure::Status5xx)), Some(Visit::Failed)),
        (ended(Ending::Error(Failure::Reset)), Some(Visit::Failed)),
        (ended(Ending::Rejected(Rejection::Robots)), Some(Visit::Rejected)),
        (ended(Ending::Retry { at: UnixMillis(9), reason: Failure::Reset }), None),
        (ended(Ending::Wait { at: UnixMillis(9), reason: Failure::RobotsUnreachable }), None),
    ] {
        let mut bench = Bench::new();
        let url = bench.find("http://h.test/a", 0);
        let change = match status {
            Some(status) => page(answered(&url, 5, status, 1, ending.clone())),
            None => bare(&url, ending.clone()),
        };
        bench.commit(&[change.clone(), change]);
        let expected = kind.map(|kind| (1, kind, status.map(|_| UnixMillis(5))));
        let found = entries(&bench);
        assert_eq!(found.first().map(|(n, e)| (*n, e.kind, e.captured)), expected, "{status:?} {ending:?}");
        assert_eq!((found.len(), bench.ledger.committed().fed), (kind.iter().count(), kind.iter().count() as u64));
    }
}

#[test]
fn a_page_fetched_again_has_changed_or_not_and_what_was_gone_comes_back() {
    let mut bench = Bench::new();
    let url = bench.find("http://h.test/a", 0);
    let again = |bench: &mut Bench, at| {
        let last = bench.ledger.seen_key(&url.url).page(UnixMillis(at));
        bench.commit(&[Change::FetchAgain(vec![last])]);
    };
    bench.commit(&[done(&url, 1, 1, DoneKind::Stored)]);
    again(&mut bench, 1);
    bench.commit(&[done(&url, 2, 1, DoneKind::Stored)]);
    again(&mut bench, 2);
    bench.commit(&[done(&url, 3, 2, DoneKind::Stored)]);
    again(&mut bench, 3);
    let mut same = answered(&url, 4, 304, 2, Ending::Done(DoneKind::NotModified));
    same.capture.as_mut().unwrap().unchanged = 1;
    bench.commit(&[page(same)]);
    again(&mut bench, 4);
    bench.commit(&[page(answered(&url, 5, 404, 3, Ending::Error(Failure::Status4xx)))]);
    bench.commit(&[Change::TryAgain(vec![bench.ledger.seen_key(&url.url)]), done(&url, 6, 2, DoneKind::Stored)]);
    again(&mut bench, 6);
    let seen = bench.ledger.seen_key(&url.url);
    let dropped = Change::DropUrls { urls: vec![seen], reason: Rejection::Dropped };
    bench.commit(&[order(HostOrder::Drop), dropped]);
    let kinds: Vec<Visit> = entries(&bench).iter().map(|(_, entry)| entry.kind).collect();
    let expected =
        [Visit::First, Visit::Unchanged, Visit::Changed, Visit::Unchanged, Visit::Gone, Visit::Back, Visit::Rejected];
    assert_eq!(kinds, expected);
}

#[test]
fn a_change_is_told_by_the_prints_of_both_texts_and_by_where_the_page_leads() {
    let print = |whole, words, sim| Some(TextPrint { whole, words, sim, features: 300, letters: 2_000, sketch: None });
    for (now, leads_on, expected) in [
        (print(1, 1, 1), false, Visit::Markup),
        (print(1, 1, 1), true, Visit::Changed),
        (print(2, 1, 9), false, Visit::Numbers),
        (print(2, 2, 0b111), false, Visit::Little),
        (print(2, 2, 0b11111), false, Visit::Changed),
        (None, false, Visit::Changed),
    ] {
        let mut bench = Bench::new();
        let url = bench.find("http://h.test/a", 0);
        let of = |at, content, print| {
            let mut page = answered(&url, at, 200, content, Ending::Done(DoneKind::Stored));
            page.capture.as_mut().unwrap().print = print;
            page
        };
        bench.commit(&[page(of(1, 1, print(1, 1, 1)))]);
        let seen = bench.ledger.seen_key(&url.url);
        bench.commit(&[Change::FetchAgain(vec![seen.page(UnixMillis(1))])]);
        let mut second = of(2, 2, now);
        second
            .links
            .new
            .extend(leads_on.then(|| NewUrl::link(PageUrl::from_canonical("http://h.test/new").unwrap(), 1)));
        bench.commit(&[page(second)]);
        let kept = read::get::<Pages>(&bench.storage, &seen.page(UnixMillis(2))).unwrap().unwrap();
        assert_eq!((entries(&bench)[1].1.kind, kept.visit), (expected, expected), "{now:?} {leads_on}");
    }
}

#[test]
fn the_half_of_a_page_that_was_cut_is_no_news_before_the_page_is_finished() {
    let mut bench = Bench::new();
    let url = bench.find("http://h.test/a", 0);
    let at = UnixMillis(9);
    let half = || answered(&url, 5, 200, 1, Ending::Retry { at, reason: Failure::Reset });
    let promoted = |bench: &Bench| Change::Promote(vec![bench.ledger.seen_key(&url.url).due(at)]);
    bench.commit(&[page(half())]);
    assert_eq!(entries(&bench), []);
    bench.commit(&[promoted(&bench)]);
    bench.commit(&[done(&url, 6, 2, DoneKind::Stored)]);
    let last = bench.ledger.seen_key(&url.url).page(UnixMillis(6));
    bench.commit(&[Change::FetchAgain(vec![last])]);
    bench.commit(&[page(PageChange {
        capture: half().capture.map(|c| PageRecord { fetched: UnixMillis(7), ..c }),
        ..half()
    })]);
    bench.commit(&[promoted(&bench)]);
    bench.commit(&[done(&url, 8, 3, DoneKind::Stored)]);
    let kinds: Vec<_> = entries(&bench).iter().map(|(_, entry)| (entry.kind, entry.captured)).collect();
    assert_eq!(kinds, [(Visit::First, Some(UnixMillis(6))), (Visit::Changed, Some(UnixMillis(8)))]);
}

#[test]
fn a_database_put_back_goes_on_as_another_feed_above_all_that_was_shown() {
    let mut bench = Bench::new();
    let take_up = |bench: &mut Bench, shown, id: u8| {
        let shown: Option<([u8; 8], u64)> = shown;
        let shown = shown.map(|(id, high)| Shown { log: FeedLog { id, ..FeedLog::default() }, high });
        bench.write(|ledger, txn| ledger.take_up_feed(txn, shown.as_ref(), [id; 8]).unwrap()).0
    };
    let first = take_up(&mut bench, None, 1);
    assert_eq!(first, FeedLog { id: [1; 8], ..FeedLog::default() });
    let url = bench.find("http://h.test/a", 0);
    bench.commit(&[done(&url, 1, 1, DoneKind::Stored)]);
    // The same folder, as far as it was shown or further.
    for high in [0, 1] {
        assert_eq!(take_up(&mut bench, Some(([1; 8], high)), 2), first, "{high}");
    }
    // It was further before.
    let second = take_up(&mut bench, Some(([1; 8], 70)), 2);
    assert_eq!((second.id, second.common_with(&[1; 8]), bench.ledger.committed().fed), ([2; 8], Some(1), 70));
    // It was carried elsewhere, where nothing was shown; and a mark of another folder says nothing of this one's numbers.
    let third = take_up(&mut bench, None, 3);
    assert_eq!((third.id, third.common_with(&[2; 8]), bench.ledger.committed().fed), ([3; 8], Some(70), 70));
    let url = bench.find("http://h.test/b", 0);
    bench.commit(&[done(&url, 2, 2, DoneKind::Stored)]);
    assert_eq!(entries(&bench).iter().map(|(number, _)| *number).collect::<Vec<_>>(), [1, 71]);
}

#[test]
fn old_entries_go_from_the_front_but_none_that_somebody_holds_or_nobody_has_seen() {
    let mut bench = Bench::new();
    bench.write(|ledger, txn| ledger.take_up_feed(txn, None, [1; 8]).unwrap());
    for n in 0..6 {
        let url = bench.find(&format!("http://h.test/{n}"), 0);
        bench.commit(&[done(&url, n, 1, DoneKind::Stored)]);
    }
    let trim = |bench: &mut Bench, before, shown, most| {
        bench.write(|ledger, txn| ledger.trim_feed(txn, before, shown, most).unwrap()).0
    };
    let consumer = |name: &str, after, hold| {
        let name = name.to_owned();
        Change::Consumer { name: name.clone(), at: Some(Consumer { name, after, hold, at: NOW }) }
    };
    let later = UnixMillis(NOW.0 + 1);
    assert_eq!(trim(&mut bench, NOW, 6, 100), 0, "none is that old");
    bench.commit(&[consumer("slow", 3, true), consumer("quick", 5, true), consumer("idle", 0, false)]);
    assert_eq!(trim(&mut bench, later, 6, 2), 2, "a bounded number at a time");
    assert_eq!(trim(&mut bench, later, 6, 100), 1);
    let gone = |name: &str| Change::Consumer { name: name.into(), at: None };
    bench.commit(&[gone("slow"), gone("quick")]);
    assert_eq!(trim(&mut bench, later, 5, 100), 2, "what is not shown stays");
    assert_eq!(entries(&bench).iter().map(|(number, _)| *number).collect::<Vec<_>>(), [6]);
    let log: FeedLog = read::meta(&bench.storage, ()).unwrap().unwrap();
    assert_eq!((log.trimmed, log.oldest()), (5, 6));
}
