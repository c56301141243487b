//! What is fetched once more: sitemaps, and what they name.

use super::*;
use crate::storage::keys::KeyRange;
use crate::storage::tables::Sitemaps;
use crate::storage::values::AsSitemap;

/// A sitemap that robots.txt named, and its capture at a time.
fn map() -> NewUrl {
    let via = Some(std::sync::Arc::from("http://h.test/robots.txt"));
    NewUrl { via, found: FoundAs::SitemapFile { nesting: 0 }, ..new("http://h.test/s.xml", 0) }
}

pub(super) fn captured(url: &NewUrl, at: u64) -> Change {
    let via = url.via.as_deref().map(str::to_owned);
    let capture = PageRecord {
        depth: url.depth,
        sitemap: url.found.is_sitemap().then_some(AsSitemap { found: url.found, via, put_off: false }),
        ..PageRecord::new(&url.url, UnixMillis(at), DoneKind::Stored)
    };
    let Change::Page(page) = bare(url, Ending::Done(DoneKind::Stored)) else { panic!("a page") };
    Change::Page(Box::new(PageChange { capture: Some(capture), ..*page }))
}

fn rows(bench: &Bench) -> Vec<UnixMillis> {
    let rows = read::scan::<Sitemaps>(&bench.storage, &KeyRange::all(), 9).unwrap();
    rows.into_iter().map(|(key, ())| key.time).collect()
}

#[test]
fn a_sitemap_stands_in_its_row_while_it_is_done_and_comes_back_as_what_it_was_found() {
    let mut bench = Bench::new();
    let map = map();
    bench.found(std::slice::from_ref(&map));
    let news = bench.commit(&[captured(&map, 7)]);
    assert_eq!((rows(&bench), news[0].sitemap), (vec![UnixMillis(7)], Some(UnixMillis(7))));
    let row = bench.ledger.seen_key(&map.url).due(UnixMillis(7));
    bench.commit(&[Change::ReadAgain(vec![row, row])]);
    let back = entry(&bench, &map).unwrap();
    assert_eq!((back.found, back.via.as_deref(), back.seed), (map.found, Some("http://h.test/robots.txt"), false));
    assert_eq!(back.again, Some(LastTime::new(UnixMillis(7), RequeueReason::Sitemap)));
    assert!(rows(&bench).is_empty());
    bench.commit(&[captured(&map, 9), Change::ReadAgain(vec![row])]);
    assert_eq!(rows(&bench), [UnixMillis(9)], "an older row says nothing");
    let c = bench.ledger.committed();
    assert_eq!((c.done, c.queued, c.pages_stored), (1, 0, 2));
}

#[test]
fn a_sitemap_that_was_given_up_is_tried_again_in_time_and_an_order_to_its_host_is_heeded() {
    let mut bench = Bench::new();
    let map = map();
    bench.found(std::slice::from_ref(&map));
    bench.commit(&[bare(&map, Ending::Error(Failure::Reset))]);
    let row = bench.ledger.seen_key(&map.url).due(NOW);
    assert_eq!(rows(&bench), [NOW]);
    bench.commit(&[order(HostOrder::Block), Change::ReadAgain(vec![row])]);
    assert_eq!((rows(&bench), entry(&bench, &map)), (vec![NOW], None));
    bench.commit(&[order(HostOrder::Unblock), Change::ReadAgain(vec![row])]);
    assert_eq!(entry(&bench, &map).map(|entry| entry.found), Some(map.found));
    bench.commit(&[bare(&map, Ending::Error(Failure::Poison))]);
    assert!(rows(&bench).is_empty(), "it has ended its room");
}

#[test]
fn a_known_url_is_queued_once_more_by_the_capture_it_was_judged_by_alone() {
    let mut bench = Bench::new();
    let page = bench.find("http://h.test/a", 1);
    bench.commit(&[captured(&page, 7)]);
    let via = Some(std::sync::Arc::from("http://h.test/s.xml"));
    let named = NewUrl { via, depth: 9, found: FoundAs::SitemapEntry, priority: Some(6), ..page.clone() };
    let links = |captured| {
        let known = KnownUrl { new: named.clone(), captured: UnixMillis(captured), why: RequeueReason::Lastmod };
        of_links(LinkChange { again: vec![known.clone(), known], ..LinkChange::default() })
    };
    bench.commit(&[links(6)]);
    assert_eq!(entry(&bench, &page), None, "it was captured since");
    bench.commit(&[links(7)]);
    let back = entry(&bench, &page).unwrap();
    assert_eq!((back.depth, back.found, back.via.as_deref()), (1, FoundAs::Link, Some("http://h.test/s.xml")));
    assert_eq!(back.again, Some(LastTime::new(UnixMillis(7), RequeueReason::Lastmod)));
    assert_eq!(back.priority, Some(6), "by that it is ranked where the best come first");
    let c = bench.ledger.committed();
    assert_eq!((c.discovered, c.done, c.queued), (1, 0, 1));
}
