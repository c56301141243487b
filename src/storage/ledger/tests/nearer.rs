//! Better ways to pages that are done: remembered until a URL is too deep, then followed.

use std::sync::Arc;

use proptest::prelude::*;

use super::again::captured;
use super::*;
use crate::domain::refresh::Refresh;
use crate::storage::keys::KeyRange;
use crate::storage::tables::Nearer;

/// The commit of a page that leads to so many URLs.
fn with_links(url: &NewUrl, at: u64, links: u32) -> Change {
    let Change::Page(mut page) = captured(url, at) else { panic!("a page") };
    page.capture.as_mut().unwrap().out_links = links;
    Change::Page(page)
}

/// Some other URL is too deep.
fn too_deep() -> Change {
    let turned = vec![RejectedUrl { new: new("http://h.test/deep", 6), reason: Rejection::TooDeep }];
    of_links(LinkChange { turned, ..LinkChange::default() })
}

/// One of which nothing is kept.
fn too_deep_unkept() -> Change {
    of_links(LinkChange { too_deep: true, ..LinkChange::default() })
}

fn waiting(bench: &Bench) -> Vec<SeenKey> {
    let rows = read::scan::<Nearer>(&bench.storage, &KeyRange::all(), 99).unwrap();
    assert_eq!(bench.ledger.committed().nearer, rows.len() as u64);
    rows.into_iter().map(|(key, _)| key).collect()
}

fn done_by(bench: &Bench, url: &NewUrl) -> Option<Reach> {
    match bench.state(url) {
        Some(UrlState::Done { reach, .. }) => Some(reach),
        _ => None,
    }
}

/// A page found four links away, done, of five that are followed.
fn done_page() -> (Bench, NewUrl) {
    let mut bench = Bench::new();
    bench.ledger.rules_are(1, Some(5), Refresh::default());
    let page = bench.find("http://h.test/a", 4);
    bench.commit(&[with_links(&page, 7, 3)]);
    (bench, page)
}

fn by_way(depth: u16) -> NewUrl {
    let (via, origin) = (Some(Arc::from("http://h.test/via")), Some(Arc::from("http://h.test/seed")));
    NewUrl { via, origin, ..new("http://h.test/a", depth) }
}

#[test]
fn a_page_that_is_done_is_queued_once_more_by_a_way_that_leads_further_when_it_leads_anywhere_and_a_url_was_too_deep() {
    for (most, links, depth, cut, again) in [
        (Some(5), 3, 2, true, true),
        (Some(5), 3, 2, false, false),
        (Some(5), 3, 4, true, false),
        (Some(5), 0, 2, true, false),
        (None, 3, 2, true, false),
    ] {
        let mut bench = Bench::new();
        bench.ledger.rules_are(1, most, Refresh::default());
        let page = bench.find("http://h.test/a", 4);
        bench.commit(&[with_links(&page, 7, links)]);
        bench.commit(&cut.then(too_deep_unkept).into_iter().collect::<Vec<_>>());
        bench.commit(&[nearer(by_way(depth))]);
        let back = entry(&bench, &page);
        assert_eq!(back.is_some(), again, "{most:?} {links} {depth} {cut}");
        if let Some(back) = back {
            assert_eq!((back.depth, back.again.map(|last| last.why)), (2, Some(RequeueReason::Depth)));
        }
        let c = bench.ledger.committed();
        assert_eq!((c.discovered, c.done + c.queued, c.pages_stored), (1, 1, 1));
        assert_eq!(c.nearer, u64::from(!cut), "{most:?} {links} {depth} {cut}");
    }
}

#[test]
fn a_url_that_was_too_deep_by_the_way_it_was_leased_by_is_queued_by_a_better_one_that_came_meanwhile() {
    for (depth, queued) in [(10, true), (12, true), (13, false)] {
        let mut bench = Bench::new();
        bench.ledger.rules_are(1, Some(60), Refresh::default());
        let page = bench.find("http://h.test/a", 13);
        bench.commit_while(true, &[nearer(by_way(depth))]);
        bench.ledger.rules_are(2, Some(12), Refresh::default());
        bench.commit(&[bare(&page, Ending::Rejected(Rejection::TooDeep))]);
        let back = entry(&bench, &page).map(|back| (back.depth, back.via));
        assert_eq!(back, queued.then(|| (depth, Some("http://h.test/via".into()))), "{depth}");
        let c = bench.ledger.committed();
        assert_eq!((c.discovered, c.queued, c.rejected_total()), (1, queued.into(), (!queued).into()), "{depth}");
    }
}

#[test]
fn a_better_way_waits_until_a_url_is_too_deep_and_is_then_followed_once() {
    for cut in [too_deep(), too_deep_unkept()] {
        let (mut bench, page) = done_page();
        bench.commit(&[nearer(by_way(3)), nearer(by_way(1)), nearer(by_way(2))]);
        let keys = waiting(&bench);
        assert_eq!(
            (&keys[..], done_by(&bench, &page).map(|way| way.depth)),
            (&[bench.ledger.seen_key(&page.url)][..], Some(1))
        );
        assert_eq!(bench.apply(&Change::FollowNearer(keys.clone())).again, []);
        assert_eq!((waiting(&bench).len(), bench.ledger.committed().nearer_to_queue()), (1, 0), "nothing is too deep");

        bench.commit(&[cut]);
        assert_eq!(bench.ledger.committed().nearer_to_queue(), 1);
        let twice = [keys.clone(), keys].concat();
        assert_eq!(bench.apply(&Change::FollowNearer(twice)).again, [RequeueReason::Depth]);
        let back = entry(&bench, &page).unwrap();
        assert_eq!(
            (back.depth, back.via.as_deref(), back.origin.as_deref()),
            (1, Some("http://h.test/via"), Some("http://h.test/seed"))
        );
        assert_eq!(back.again, Some(LastTime::new(UnixMillis(7), RequeueReason::Depth)));
        assert_eq!((waiting(&bench), bench.ledger.committed().nearer_to_queue()), (vec![], 0));
    }
}

#[test]
fn a_page_in_somebody_s_hands_takes_a_way_that_leads_further_with_its_commit() {
    for cut in [false, true] {
        let mut bench = Bench::new();
        bench.ledger.rules_are(1, Some(5), Refresh::default());
        bench.commit(&cut.then(too_deep_unkept).into_iter().collect::<Vec<_>>());
        let page = bench.find("http://h.test/a", 4);
        bench.commit_while(true, &[nearer(new("http://h.test/a", 1))]);
        bench.commit(&[with_links(&page, 7, 3)]);
        assert_eq!((waiting(&bench).len(), entry(&bench, &page).is_some()), (usize::from(!cut), cut));
        bench.commit(&[too_deep_unkept()]);
        bench.commit(&[Change::FollowNearer(waiting(&bench))]);
        let back = entry(&bench, &page).unwrap();
        assert_eq!((back.depth, back.again.map(|last| last.why)), (1, Some(RequeueReason::Depth)));
        bench.commit(&[with_links(&new("http://h.test/a", 1), 9, 3)]);
        assert_eq!((entry(&bench, &page), bench.ledger.committed().done), (None, 1), "once is enough");
    }
}

#[test]
fn a_page_queued_for_another_reason_takes_the_way_that_waits() {
    let (mut bench, page) = done_page();
    let row = bench.ledger.seen_key(&page.url).page(UnixMillis(7));
    bench.commit(&[nearer(by_way(2))]);
    bench.commit(&[Change::FetchAgain(vec![row])]);
    let back = entry(&bench, &page).unwrap();
    assert_eq!((back.depth, back.origin.as_deref(), waiting(&bench)), (2, Some("http://h.test/seed"), vec![]));
    assert_eq!(back.again.map(|last| last.why), Some(RequeueReason::Recrawl));
}

#[test]
fn a_way_found_between_the_first_url_that_is_too_deep_and_the_walk_takes_the_place_of_the_one_that_waits() {
    for (depth, taken) in [(1, 1), (3, 2)] {
        let (mut bench, page) = done_page();
        bench.commit(&[nearer(by_way(2))]);
        let keys = waiting(&bench);
        bench.commit(&[too_deep(), nearer(by_way(depth))]);
        bench.commit(&[Change::FollowNearer(keys)]);
        assert_eq!(entry(&bench, &page).map(|back| back.depth), Some(taken));
        assert_eq!((waiting(&bench), bench.ledger.committed().queued), (vec![], 1));
    }
}

#[test]
fn a_way_to_a_host_that_refuses_or_that_leads_no_further_by_another_limit_is_forgotten() {
    for (cut, most) in [(order(HostOrder::Block), Some(5)), (too_deep(), None)] {
        let (mut bench, page) = done_page();
        bench.commit(&[nearer(by_way(2))]);
        let keys = waiting(&bench);
        bench.commit(&[too_deep(), cut]);
        bench.ledger.rules_are(2, most, Refresh::default());
        assert_eq!(bench.apply(&Change::FollowNearer(keys)).again, []);
        assert_eq!((waiting(&bench), bench.ledger.committed().nearer_to_queue()), (vec![], 0));
        assert_eq!(done_by(&bench, &page).map(|way| way.depth), Some(4), "it may be found by that way again");
    }
}

#[test]
fn a_commit_undone_goes_back_to_its_queue_by_the_way_that_waits() {
    let mut bench = Bench::new();
    bench.ledger.rules_are(1, Some(5), Refresh::default());
    let page = bench.find("http://h.test/a", 4);
    let Change::Page(mut change) = with_links(&page, 7, 3) else { panic!("a page") };
    let warc = crate::storage::values::WarcPlace { file: "a.warc.gz".into(), offset: 3, length: 2 };
    change.capture.as_mut().unwrap().warc = Some(warc);
    let lost = bench.apply(&Change::Page(change)).unsynced.unwrap();
    bench.commit(&[nearer(by_way(2))]);
    assert!(bench.write(|ledger, txn| ledger.requeue(txn, &lost).unwrap()).0);
    assert_eq!((entry(&bench, &page).map(|back| back.depth), waiting(&bench)), (Some(2), vec![]));
}

const PAGES: usize = 9;

/// A crawl of a small web by the ledger alone, with the seen test of the Deduper in short.
struct Crawler {
    bench: Bench,
    most: u16,
    fetches: usize,
}

impl Crawler {
    fn new(most: u16) -> Self {
        let mut bench = Bench::new();
        bench.ledger.rules_are(1, Some(most), Refresh::default());
        Self { bench, most, fetches: 0 }
    }

    fn url(page: usize, depth: u16) -> NewUrl {
        new(&format!("http://h{}.test/{page}", page % 2), depth)
    }

    /// What the commit of links does about one of them.
    fn sort_out(&self, new: NewUrl, out: &mut LinkChange) {
        let too_deep = new.depth > self.most;
        match self.bench.state(&new) {
            None if too_deep => out.turned.push(RejectedUrl { new, reason: Rejection::TooDeep }),
            None => out.new.push(new),
            Some(UrlState::Rejected { .. }) if !too_deep => out.readmitted.push(new),
            Some(UrlState::Waiting { .. } | UrlState::Done { .. }) if too_deep => {}
            Some(_) => out.nearer.push(new),
        }
    }

    fn queued(&self) -> Vec<NewUrl> {
        let depth = |page| entry(&self.bench, &Self::url(page, 0)).map(|entry| entry.depth);
        (0..PAGES).filter_map(|page| Some(Self::url(page, depth(page)?))).collect()
    }

    fn fetch(&mut self, url: &NewUrl, links: &[(usize, usize)]) {
        self.fetches += 1;
        let own: usize = url.url.tail().trim_start_matches('/').parse().unwrap();
        let targets: std::collections::BTreeSet<usize> =
            links.iter().filter(|(from, to)| *from == own && *to != own).map(|(_, to)| *to).collect();
        let mut found = LinkChange::default();
        targets.iter().for_each(|to| self.sort_out(Self::url(*to, url.depth + 1), &mut found));
        let at = u64::try_from(self.fetches).unwrap();
        let Change::Page(page) = with_links(url, at, u32::try_from(targets.len()).unwrap()) else { panic!("a page") };
        self.bench.commit(&[Change::Page(Box::new(PageChange { links: found, ..*page }))]);
    }

    /// To its end. `pick` chooses what is done next: a page of the queue, or a step of the walk over better ways; now and then the
    /// process is killed.
    fn run(&mut self, links: &[(usize, usize)], mut pick: impl FnMut(usize) -> usize) {
        loop {
            let (queued, to_queue) = (self.queued(), self.bench.ledger.committed().nearer_to_queue());
            if queued.is_empty() && to_queue == 0 {
                return;
            }
            if to_queue > 0 && (queued.is_empty() || pick(3) == 0) {
                let keys = waiting(&self.bench);
                let key = keys[pick(keys.len())];
                self.bench.commit(&[Change::FollowNearer(vec![key])]);
            } else {
                self.fetch(&queued[pick(queued.len())], links);
            }
            if pick(4) == 0 {
                self.bench.ledger =
                    Ledger::open(&self.bench.storage, LedgerRules { max_depth: Some(self.most), ..rules() }).unwrap();
            }
        }
    }
}

/// The pages within so many links of this one.
fn within(links: &[(usize, usize)], seed: usize, most: u16) -> Vec<bool> {
    let mut found = vec![false; PAGES];
    found[seed] = true;
    for _ in 0..most {
        let before = found.clone();
        links.iter().filter(|(from, _)| before[*from]).for_each(|(_, to)| found[*to] = true);
    }
    found
}

proptest! {
    #[test]
    fn in_any_order_and_killed_at_any_time_all_within_the_limit_is_found_and_nothing_is_fetched_twice_unless_something_is_too_deep(
        links in proptest::collection::vec((0..PAGES, 0..PAGES), 0..30),
        most in 0_u16..7,
        later in 0..PAGES,
        picks in proptest::collection::vec(any::<usize>(), 1..20),
    ) {
        let mut crawler = Crawler::new(most);
        let mut taken = 0;
        let mut pick = |all: usize| {
            taken += 1;
            picks[taken % picks.len()] % all
        };
        crawler.bench.found(&[Crawler::url(0, 0)]);
        crawler.run(&links, &mut pick);
        let done = |crawler: &Crawler| -> Vec<bool> {
            (0..PAGES).map(|page| done_by(&crawler.bench, &Crawler::url(page, 0)).is_some()).collect()
        };
        let wanted = within(&links, 0, most);
        prop_assert_eq!(done(&crawler), wanted.clone());

        // A page that is known is handed in as a seed.
        let mut found = LinkChange::default();
        crawler.sort_out(Crawler::url(later, 0), &mut found);
        crawler.bench.commit(&[of_links(found)]);
        crawler.run(&links, &mut pick);
        let both: Vec<bool> = wanted.iter().zip(within(&links, later, most)).map(|(a, b)| *a || b).collect();
        prop_assert_eq!(done(&crawler), both.clone());
        let pages = both.iter().filter(|done| **done).count();
        let cut = crawler.bench.ledger.committed().too_deep;
        prop_assert!(cut || crawler.fetches == pages, "{} fetches of {} pages", crawler.fetches, pages);
    }
}
