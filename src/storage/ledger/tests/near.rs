//! Near-duplicates: rows where the newest captures call for them, through revisits, refusals, commits undone and erasures; random lives
//! against what the captures say.

use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;
use crate::domain::near::Sketch;
use crate::domain::textprint::TextPrint;
use crate::storage::keys::{Key, KeyRange, NearKey};
use crate::storage::tables::{Near as NearRows, NearMembers, Pages};
use crate::storage::values::WarcPlace;

fn url(n: u64) -> NewUrl {
    new(&format!("http://h{}.site.test/{n}", n % 2), 1)
}

fn text(sim: u64) -> Option<TextPrint> {
    let sketch = Some([sim, 0, sim, 1]);
    Some(TextPrint { whole: sim, words: sim, sim, features: 100, letters: 500, sketch })
}

/// A capture of a page with this text; a member names the page it is near to.
fn capture(of: &NewUrl, at: u64, sim: u64, near: Option<Near>) -> PageRecord {
    let mut page = PageRecord::new(&of.url, UnixMillis(at), DoneKind::Stored);
    page.print = text(sim);
    page.remarks.near = near;
    page.warc = Some(WarcPlace { file: "a.warc.gz".into(), offset: at, length: 1 });
    page
}

fn like(leader: &NewUrl) -> Option<Near> {
    Some(Near::Like { url: leader.url.as_str().to_owned(), distance: 1 })
}

fn ended(of: &NewUrl, ending: Ending, capture: Option<PageRecord>) -> Change {
    let Change::Page(page) = bare(of, ending) else { panic!("a page") };
    Change::Page(Box::new(PageChange { capture, ..*page }))
}

fn done(of: &NewUrl, at: u64, sim: u64, near: Option<Near>) -> Change {
    ended(of, Ending::Done(DoneKind::Stored), Some(capture(of, at, sim, near)))
}

/// Every row.
fn rows(bench: &Bench) -> BTreeSet<Vec<u8>> {
    let leaders = read::scan::<NearRows>(&bench.storage, &KeyRange::all(), usize::MAX).unwrap();
    let members = read::scan::<NearMembers>(&bench.storage, &KeyRange::all(), usize::MAX).unwrap();
    let leaders = leaders.into_iter().map(|(key, ())| key.encode());
    leaders.chain(members.into_iter().map(|(key, ())| key.encode())).collect()
}

/// The same as the newest captures of these pages say, by the definition.
fn wanted(bench: &Bench, pages: &[NewUrl]) -> BTreeSet<Vec<u8>> {
    let (prints, mut all) = (rules().prints, BTreeSet::new());
    for page in pages {
        let seen = bench.ledger.seen_key(&page.url);
        if matches!(bench.state(page), None | Some(UrlState::Rejected { .. })) {
            continue;
        }
        let Some((_, newest)) = read::latest_page(&bench.storage, seen).unwrap() else { continue };
        match (newest.remarks.near, newest.print) {
            (Some(Near::Leader), Some(print)) => {
                for (table, word) in (0..4).zip(Sketch::of(&print).unwrap().bits) {
                    let (SeenKey { partition, host, url, .. }, domain) = (seen, prints.host("site.test"));
                    let band = word.to_be_bytes()[3..].try_into().unwrap();
                    all.insert(NearKey { partition, domain, table, band, host, url }.encode());
                }
            }
            (Some(Near::Like { url, .. }), _) => {
                let leader = bench.ledger.seen_key(&PageUrl::from_canonical(&url).unwrap());
                all.insert(leader.near_member(seen).encode());
            }
            _ => {}
        }
    }
    all
}

fn fits(bench: &Bench, pages: &[NewUrl], number: usize) {
    assert_eq!(rows(bench), wanted(bench, pages));
    assert_eq!(rows(bench).len(), number);
}

fn again(bench: &mut Bench, page: &NewUrl, at: u64) {
    let key = bench.ledger.seen_key(&page.url).page(UnixMillis(at));
    bench.commit(&[Change::FetchAgain(vec![key])]);
}

#[test]
fn a_leader_has_four_rows_and_a_member_one_until_a_later_capture_says_otherwise() {
    let (mut bench, pages) = (Bench::new(), [url(0), url(1)]);
    bench.found(&pages);
    bench.commit(&[done(&pages[0], 5, 7, Some(Near::Leader)), done(&pages[1], 6, 6, like(&pages[0]))]);
    fits(&bench, &pages, 5);
    again(&mut bench, &pages[0], 5);
    fits(&bench, &pages, 5);
    bench.commit(&[done(&pages[0], 8, 7, Some(Near::Leader))]);
    fits(&bench, &pages, 5);
    again(&mut bench, &pages[0], 8);
    bench.commit(&[done(&pages[0], 9, 0xffff_0000, Some(Near::Leader))]);
    fits(&bench, &pages, 5); // its rows are those of its new text
    again(&mut bench, &pages[0], 9);
    again(&mut bench, &pages[1], 6);
    bench.commit(&[done(&pages[0], 11, 1, None), done(&pages[1], 11, 6, Some(Near::Leader))]);
    fits(&bench, &pages, 4);
}

#[test]
fn a_page_given_up_keeps_its_rows_and_one_turned_away_or_answered_otherwise_loses_them() {
    let gone = Ending::Error(Failure::Status4xx);
    let at = UnixMillis(9);
    for (ending, captured, left) in [
        (Ending::Error(Failure::Reset), false, 4),
        (Ending::Retry { at, reason: Failure::Reset }, false, 4),
        (gone, true, 0),
        (Ending::Done(DoneKind::Redirect), true, 0),
        (Ending::Rejected(Rejection::Robots), false, 0),
    ] {
        let (mut bench, pages) = (Bench::new(), [url(0)]);
        bench.found(&pages);
        bench.commit(&[done(&pages[0], 5, 7, Some(Near::Leader))]);
        again(&mut bench, &pages[0], 5);
        let other = captured.then(|| PageRecord { print: None, ..capture(&pages[0], 8, 0, None) });
        bench.commit(&[ended(&pages[0], ending, other)]);
        fits(&bench, &pages, left);
    }
}

#[test]
fn a_host_that_is_dropped_while_its_leader_waits_takes_the_rows_along() {
    let (mut bench, pages) = (Bench::new(), [url(0)]);
    bench.found(&pages);
    bench.commit(&[done(&pages[0], 5, 7, Some(Near::Leader))]);
    again(&mut bench, &pages[0], 5);
    let (host, urls) = (pages[0].url.host().to_owned(), vec![bench.ledger.seen_key(&pages[0].url)]);
    bench.commit(&[
        Change::Order { host, order: HostOrder::Block },
        Change::DropUrls { urls, reason: Rejection::Blocked },
    ]);
    fits(&bench, &pages, 0);
}

/// Two pages that say the same and did not know of each other: each has its rows, and takes but its own along.
#[test]
fn leaders_of_the_same_text_stand_side_by_side() {
    let (mut bench, pages) = (Bench::new(), [url(0), url(1)]);
    bench.found(&pages);
    bench.commit(&[done(&pages[0], 5, 7, Some(Near::Leader)), done(&pages[1], 6, 7, Some(Near::Leader))]);
    fits(&bench, &pages, 8);
    again(&mut bench, &pages[1], 6);
    bench.commit(&[done(&pages[1], 8, 99, None)]);
    fits(&bench, &pages, 4);
}

#[test]
fn a_commit_undone_and_an_erasure_take_the_rows_along() {
    let (mut bench, pages) = (Bench::new(), [url(0), url(1), url(2)]);
    bench.found(&pages);
    let leader = bench.apply(&done(&pages[0], 5, 7, Some(Near::Leader))).unsynced.unwrap();
    let member = bench.apply(&done(&pages[1], 6, 6, like(&pages[0]))).unsynced.unwrap();
    bench.commit(&[done(&pages[2], 7, u64::MAX, Some(Near::Leader))]);
    fits(&bench, &pages, 9);
    bench.write(|ledger, txn| ledger.requeue(txn, &member).unwrap());
    fits(&bench, &pages, 8);
    bench.write(|ledger, txn| ledger.requeue(txn, &leader).unwrap());
    fits(&bench, &pages, 4);
    bench.commit(&[done(&pages[0], 9, 7, Some(Near::Leader)), done(&pages[1], 9, 6, like(&pages[0]))]);
    let range = KeyRange::host(bench.ledger.seen_key(&pages[0].url).host_crawl().host_at());
    let captures = read::scan::<Pages>(&bench.storage, &range, 9).unwrap();
    assert_eq!(captures.len(), 2, "both are of one host");
    bench.write(|ledger, txn| ledger.erase_captures(txn, &captures).unwrap());
    assert_eq!(rows(&bench).len(), 1, "of others the member alone, which the erasure lets go of by its key");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn after_any_life_the_rows_are_those_that_the_newest_captures_call_for(
        steps in prop::collection::vec((0..4_u64, 0..7_u8, 0..4_u64), 1..40),
    ) {
        let (mut bench, pages) = (Bench::new(), [url(0), url(1), url(2), url(3)]);
        bench.found(&pages);
        for (at, (page, what, with)) in (10..).zip(steps) {
            let of = &pages[page as usize];
            let seen = bench.ledger.seen_key(&of.url);
            match (bench.state(of), what) {
                (Some(UrlState::Waiting { due: None, .. }), 0 | 1) => {
                    bench.commit(&[done(of, at, with, Some(Near::Leader))]);
                }
                (Some(UrlState::Waiting { due: None, .. }), 2) if with != page => {
                    bench.commit(&[done(of, at, with, like(&pages[with as usize]))]);
                }
                (Some(UrlState::Waiting { due: None, .. }), 3) => {
                    bench.commit(&[done(of, at, with, None)]);
                }
                (Some(UrlState::Waiting { due: None, .. }), 4) => {
                    bench.commit(&[ended(of, Ending::Error(Failure::Reset), None)]);
                }
                (Some(UrlState::Waiting { due: None, .. }), 5) => {
                    let half = capture(of, at, with, None);
                    let ending = Ending::Retry { at: UnixMillis(at + 1), reason: Failure::BodyTimeout };
                    bench.commit(&[ended(of, ending, Some(half))]);
                }
                (Some(UrlState::Waiting { due: None, .. }), 6) if with == 0 => {
                    let listed = bench.apply(&done(of, at, with, Some(Near::Leader))).unsynced;
                    bench.write(|ledger, txn| listed.map(|listed| ledger.requeue(txn, &listed).unwrap()));
                }
                (Some(UrlState::Waiting { due: Some(due), .. }), _) => {
                    bench.commit(&[Change::Promote(vec![seen.due(due)])]);
                }
                (Some(UrlState::Done { captured, .. }), _) => again(&mut bench, of, captured.0),
                (Some(UrlState::Error { .. }), _) => _ = bench.commit(&[Change::TryAgain(vec![seen])]),
                _ => {}
            }
            let (rows, wanted) = (rows(&bench), wanted(&bench, &pages));
            prop_assert_eq!(rows, wanted);
        }
    }
}
