//! Single changes; random ones against a model are in `tests/it/ledger.rs`.

mod again;
mod feed;
mod handed;
mod near;
mod nearer;
mod ranks;
mod refresh;
mod requeue;

use super::*;
use crate::domain::found_as::FoundAs;
use crate::domain::orders::HostOrder;
use crate::domain::rank::Order;
use crate::domain::reach::Reach;
use crate::domain::reason::Failure;
use crate::domain::refresh::Refresh;
use crate::domain::revisit::RequeueReason;
use crate::domain::url::{Canonicaliser, CleanRules};
use crate::storage::tables::{Failed, Seeds};
use crate::storage::values::{HostCounts, OrderedHosts, PageRecord, Place, SeedValue};
use crate::storage::{MemoryStorage, read};

const NOW: UnixMillis = UnixMillis(1_000);

fn rules() -> LedgerRules {
    LedgerRules {
        crawl: CrawlId::default(),
        prints: Fingerprinter::new(3),
        ranker: Ranker::new(Order::Breadth, vec![10.0, 8.0, 5.0, 2.0, 0.5], 8),
        keep_rejected: true,
        generation: 1,
        max_depth: None,
        refresh: crate::domain::refresh::Refresh::default(),
        priorities: Arc::default(),
        credit: None,
        share: None,
    }
}

fn new(url: &str, depth: u16) -> NewUrl {
    let url = Canonicaliser::new(CleanRules::default()).parse(url).unwrap();
    NewUrl::link(url, depth)
}

/// A page that ended so, without capture and links.
pub(crate) fn bare(url: &NewUrl, ending: Ending) -> Change {
    let links = LinkChange::default();
    let (taken, reach) = (url.reach(), url.reach());
    let url = url.url.clone();
    Change::Page(Box::new(PageChange {
        url,
        ending,
        taken,
        reach,
        status: None,
        capture: None,
        first_with: None,
        links,
        pace: None,
    }))
}

fn of_links(change: LinkChange) -> Change {
    Change::Links(Box::new(change))
}

struct Bench {
    storage: MemoryStorage,
    ledger: Ledger,
}

impl Bench {
    fn new() -> Self {
        let storage = MemoryStorage::new();
        let ledger = Ledger::open(&storage, rules()).unwrap();
        Self { storage, ledger }
    }

    fn commit(&mut self, changes: &[Change]) -> Vec<HostNews> {
        self.commit_while(false, changes)
    }

    /// `leased`: every URL is in somebody's hands.
    fn commit_while(&mut self, leased: bool, changes: &[Change]) -> Vec<HostNews> {
        self.write(|ledger, txn| changes.iter().for_each(|c| _ = ledger.apply(txn, c, NOW, &|_| leased).unwrap())).1
    }

    /// Commits one batch.
    fn write<T>(&mut self, batch: impl FnOnce(&mut Ledger, &mut Txn<'_>) -> T) -> (T, Vec<HostNews>) {
        let mut txn = Txn::new(&self.storage);
        let done = batch(&mut self.ledger, &mut txn);
        let news = self.ledger.seal(&mut txn).unwrap();
        self.storage.write(&txn.into_batch()).unwrap();
        self.ledger.commit();
        (done, news)
    }

    fn apply(&mut self, change: &Change) -> Done {
        self.write(|ledger, txn| ledger.apply(txn, change, NOW, &|_| false).unwrap()).0
    }

    fn found(&mut self, new: &[NewUrl]) -> Vec<HostNews> {
        self.commit(&[of_links(LinkChange { new: new.to_vec(), ..LinkChange::default() })])
    }

    fn find(&mut self, url: &str, depth: u16) -> NewUrl {
        let new = new(url, depth);
        self.found(std::slice::from_ref(&new));
        new
    }

    fn state(&self, url: &NewUrl) -> Option<UrlState> {
        read::seen_state(&self.storage, self.ledger.seen_key(&url.url)).unwrap()
    }

    fn counts(&self, url: &NewUrl) -> HostCounts {
        let host = self.ledger.seen_key(&url.url).host_crawl();
        read::host_counts(&self.storage, host).unwrap().unwrap_or_default()
    }
}

#[test]
fn a_host_that_was_not_met_lately_is_counted_on_from_what_was_kept_of_it_or_is_on_disk() {
    let mut bench = Bench::new();
    let of = |round: u32, host: u32| new(&format!("http://h{host}.test/{round}"), 1);
    // All in turn; then some again and again, while others pass by.
    let met: Vec<u32> = (0..30).chain((0..60).map(|n| if n % 2 == 0 { n / 2 } else { n % 7 })).collect();
    for (round, host) in (0..).zip(&met) {
        bench.found(&[of(round, *host)]);
        assert!(bench.ledger.hosts_kept() <= 3 + 2 * (5 + 3 + 1), "{}", bench.ledger.hosts_kept());
    }
    for host in 0..30 {
        let times = met.iter().filter(|met| **met == host).count();
        assert_eq!(bench.counts(&of(0, host)).queued_total(), times as u64, "host {host}");
    }
    assert_eq!((bench.ledger.committed().hosts, bench.ledger.committed().hosts_waiting), (30, 30));
}

fn entry(bench: &Bench, url: &NewUrl) -> Option<QueueEntry> {
    let Some(UrlState::Waiting { rank, order, .. }) = bench.state(url) else { return None };
    let key = bench.ledger.seen_key(&url.url).host_crawl().queue(rank, order);
    read::get::<Queue>(&bench.storage, &key).unwrap()
}

/// What is found by another way.
fn nearer(new: NewUrl) -> Change {
    of_links(LinkChange { nearer: vec![new], ..LinkChange::default() })
}

#[test]
fn a_host_leaves_its_row_with_its_last_url_and_comes_back_with_the_next() {
    let mut bench = Bench::new();
    let (a, b) = (new("http://h.test/a", 0), new("http://h.test/b", 1));
    let news = bench.found(std::slice::from_ref(&a));
    assert!(matches!(news[..], [HostNews { place: Place::Waiting { rank: 0, .. }, queued: 1, .. }]), "{news:?}");
    bench.commit(&[bare(&a, Ending::Error(Failure::Reset))]);
    assert_eq!(bench.counts(&a).place, Place::None);
    bench.found(std::slice::from_ref(&b));
    assert!(matches!(bench.counts(&a).place, Place::Waiting { .. }));
    assert_eq!(bench.ledger.committed().hosts_waiting, 1);
}

#[test]
fn a_url_put_off_leaves_the_queue_and_comes_back_with_one_attempt_more_if_it_was_asked_for() {
    let at = UnixMillis(5_000);
    let wait = Ending::Wait { at, reason: Failure::RobotsUnreachable };
    for (ending, attempts) in [(Ending::Retry { at, reason: Failure::Reset }, 1), (wait, 0)] {
        let mut bench = Bench::new();
        let a = bench.find("http://h.test/a", 0);
        let news = bench.commit(&[bare(&a, ending)]);
        assert_eq!((news[0].due, news[0].place), (Some(at), Place::None));
        assert!(matches!(bench.state(&a), Some(UrlState::Waiting { due: Some(when), .. }) if when == at));
        let key = bench.ledger.seen_key(&a.url).due(at);
        bench.commit(&[Change::Promote(vec![key, key]), Change::Promote(vec![key])]);
        assert_eq!(entry(&bench, &a).map(|entry| entry.attempts), Some(attempts));
        assert_eq!((bench.counts(&a).due, bench.counts(&a).queued_total()), (0, 1));
    }
}

#[test]
fn a_host_parked_stays_so_when_urls_are_found_and_is_unparked_once() {
    let mut bench = Bench::new();
    let (a, b) = (new("http://h.test/a", 0), new("http://h.test/b", 1));
    bench.found(std::slice::from_ref(&a));
    let at = bench.ledger.seen_key(&a.url).host_crawl().host_at();
    let time = UnixMillis(9_000);
    bench.commit(&[Change::Yield { at, until: Some(time), pace: None }]);
    assert_eq!(bench.counts(&a).place, Place::Parked { time });
    bench.found(std::slice::from_ref(&b));
    assert_eq!(bench.counts(&a).place, Place::Parked { time });
    bench.commit(&[Change::Unpark(at)]);
    let waiting = bench.counts(&a).place;
    assert!(matches!(waiting, Place::Waiting { .. }));
    bench.commit(&[Change::Unpark(at)]);
    assert_eq!(bench.counts(&a).place, waiting);
}

#[test]
fn a_host_that_gives_up_its_place_begins_its_next_turn_at_its_first_live_url() {
    let mut bench = Bench::new();
    let urls: Vec<NewUrl> = (0..6).map(|n| new(&format!("http://h.test/{n}"), 1)).collect();
    bench.found(&urls);
    let at = bench.ledger.seen_key(&urls[0].url).host_crawl().host_at();
    let order = |bench: &Bench, url| match bench.state(url) {
        Some(UrlState::Waiting { order, .. }) => order,
        other => panic!("{other:?}"),
    };
    let (first, fourth) = (order(&bench, &urls[0]), order(&bench, &urls[3]));
    let gone = |url| bare(url, Ending::Error(Failure::Reset));
    bench.commit(&[gone(&urls[0]), gone(&urls[1]), gone(&urls[2]), gone(&urls[4])]);
    let rank = bench.counts(&urls[0]).best_rank().map(usize::from).unwrap();
    assert_eq!(bench.counts(&urls[0]).heads[rank], first);
    let give_up = Change::Yield { at, until: None, pace: None };
    bench.commit(std::slice::from_ref(&give_up));
    assert_eq!(bench.counts(&urls[0]).heads[rank], fourth);
    // One that goes in the same batch still counts, one that comes in it does too.
    let nearer = new("http://h.test/near", 1);
    let links = LinkChange { new: vec![nearer.clone()], ..LinkChange::default() };
    bench.commit(&[gone(&urls[3]), gone(&urls[5]), of_links(links), give_up.clone()]);
    assert!(bench.counts(&urls[0]).heads[rank] <= order(&bench, &nearer));
    bench.commit(std::slice::from_ref(&give_up));
    assert_eq!(bench.counts(&urls[0]).heads[rank], order(&bench, &nearer));
}

#[test]
fn a_leased_url_keeps_its_place_when_a_shorter_path_is_found() {
    let mut bench = Bench::new();
    let a = bench.find("http://h.test/a", 3);
    let before = bench.state(&a);
    bench.commit_while(true, &[nearer(new("http://h.test/a", 1))]);
    let Some(UrlState::Waiting { rank, order, reach, .. }) = before else { panic!("not waiting") };
    let now = UrlState::Waiting { rank, order, reach: Reach { depth: 1, ..reach }, due: None };
    assert_eq!((reach.depth, bench.state(&a), entry(&bench, &a).map(|entry| entry.depth)), (3, Some(now), Some(1)));
}

fn order(order: HostOrder) -> Change {
    Change::Order { host: "h.test".into(), order }
}

#[test]
fn a_host_that_is_held_is_in_no_row_and_comes_back_to_its_row_at_once() {
    let mut bench = Bench::new();
    let a = bench.find("http://h.test/a", 0);
    let at = bench.ledger.seen_key(&a.url).host_crawl().host_at();
    bench.commit(&[order(HostOrder::Pause)]);
    assert_eq!((bench.counts(&a).place, bench.ledger.committed().hosts_waiting), (Place::Held, 0));
    // Nothing that others do meanwhile brings it back.
    bench.found(&[new("http://h.test/b", 1)]);
    bench.commit(&[Change::Yield { at, until: Some(UnixMillis(9)), pace: None }, Change::Unpark(at)]);
    assert_eq!((bench.counts(&a).place, bench.counts(&a).queued_total()), (Place::Held, 2));
    let news = bench.commit(&[order(HostOrder::Resume)]);
    assert!(matches!(news[..], [HostNews { place: Place::Waiting { .. }, queued: 2, .. }]), "{news:?}");
    assert_eq!(read::meta::<OrderedHosts>(&bench.storage, CrawlId::default()).unwrap().unwrap().0, [""; 0]);
}

#[test]
fn of_a_blocked_host_nothing_is_queued_whatever_way_it_comes() {
    let mut bench = Bench::new();
    let (a, b, c) = (new("http://h.test/a", 0), new("http://h.test/b", 0), new("http://h.test/c", 0));
    bench.found(&[a.clone(), b.clone()]);
    bench.commit(&[order(HostOrder::Block)]);
    let rejected = |bench: &Bench, url| match bench.state(url) {
        Some(UrlState::Rejected { reason, .. }) => Some(reason),
        _ => None,
    };
    // What was in flight ends; its next try does not come.
    bench.commit(&[bare(&b, Ending::Retry { at: UnixMillis(9_000), reason: Failure::Reset })]);
    assert_eq!(rejected(&bench, &b), Some(Rejection::Blocked));
    bench.found(std::slice::from_ref(&c));
    assert_eq!(rejected(&bench, &c), Some(Rejection::Blocked));
    let key = bench.ledger.seen_key(&a.url);
    bench.commit(&[Change::DropUrls { urls: vec![key, key], reason: Rejection::Blocked }]);
    assert_eq!(rejected(&bench, &a), Some(Rejection::Blocked));
    assert_eq!((bench.counts(&a).place, bench.counts(&a).queued_total()), (Place::None, 0));
    let c = bench.ledger.committed();
    assert_eq!((c.discovered, c.queued, c.rejected_total()), (3, 0, 3));
    let kept = read::rejected(&bench.storage, key).unwrap().unwrap();
    assert_eq!((kept.url.as_str(), kept.reason), ("http://h.test/a", Rejection::Blocked));
}

#[test]
fn urls_are_turned_away_only_while_their_host_refuses_and_nobody_has_them() {
    let mut bench = Bench::new();
    let a = bench.find("http://h.test/a", 0);
    let drop_urls = Change::DropUrls { urls: vec![bench.ledger.seen_key(&a.url)], reason: Rejection::Dropped };
    bench.commit(std::slice::from_ref(&drop_urls));
    assert!(matches!(bench.state(&a), Some(UrlState::Waiting { .. })), "its host does not refuse");
    bench.commit(&[order(HostOrder::Drop)]);
    bench.commit_while(true, std::slice::from_ref(&drop_urls));
    assert!(matches!(bench.state(&a), Some(UrlState::Waiting { .. })), "somebody has it");
    bench.commit(&[drop_urls]);
    assert!(matches!(bench.state(&a), Some(UrlState::Rejected { reason: Rejection::Dropped, .. })));
}

#[test]
fn a_url_given_up_is_kept_in_full_and_tried_again_as_if_it_were_new() {
    let mut bench = Bench::new();
    let via = Some(std::sync::Arc::from("http://h.test/from"));
    let a = NewUrl { via, ..new("http://h.test/a", 2) };
    bench.found(std::slice::from_ref(&a));
    bench.commit(&[bare(&a, Ending::Retry { at: UnixMillis(5_000), reason: Failure::Reset })]);
    let key = bench.ledger.seen_key(&a.url);
    bench.commit(&[Change::Promote(vec![key.due(UnixMillis(5_000))]), bare(&a, Ending::Error(Failure::Reset))]);
    let kept = read::get::<Failed>(&bench.storage, &key).unwrap().unwrap();
    assert_eq!((kept.attempts, kept.depth, kept.via.as_deref()), (2, 2, Some("http://h.test/from")));
    bench.commit(&[Change::TryAgain(vec![key, key]), Change::TryAgain(vec![key])]);
    let back = entry(&bench, &a).unwrap();
    assert_eq!((back.attempts, back.depth, back.via.as_deref()), (0, 2, Some("http://h.test/from")));
    assert_eq!(read::get::<Failed>(&bench.storage, &key).unwrap(), None);
    let c = bench.ledger.committed();
    assert_eq!((c.failed, c.error(), c.queued), (0, 0, 1));
}

#[test]
fn a_seed_stands_where_it_was_told_to_and_what_was_said_of_it_stays() {
    let mut bench = Bench::new();
    let a = NewUrl::seed(new("http://h.test/a", 0).url);
    let said = |rank, tags: &[&str]| SeedValue {
        url: a.url.as_str().to_owned(),
        added: UnixMillis(1),
        rank,
        weight: None,
        max_depth: None,
        tags: tags.iter().map(|tag| (*tag).to_owned()).collect(),
        cycle: None,
        guessed: false,
    };
    let links = |new: &[NewUrl], seed| LinkChange { new: new.to_vec(), seeds: vec![seed], ..LinkChange::default() };
    bench.commit(&[of_links(links(std::slice::from_ref(&a), said(Some(5), &["news"])))]);
    assert!(matches!(bench.state(&a), Some(UrlState::Waiting { rank: 5, .. })), "{:?}", bench.state(&a));
    bench.commit(&[of_links(links(&[], said(None, &[])))]);
    let kept = read::get::<Seeds>(&bench.storage, &bench.ledger.seen_key(&a.url)).unwrap().unwrap();
    assert_eq!((kept.added, kept.tags, kept.rank), (NOW, vec!["news".to_owned()], Some(5)));
}

#[test]
fn what_is_turned_away_whatever_way_keeps_the_seed_it_goes_back_to_and_as_what_it_was_found() {
    let mut bench = Bench::new();
    let origin = Some(std::sync::Arc::from("http://h.test/"));
    let as_map = FoundAs::SitemapFile { nesting: 1 };
    let found =
        |path: &str| NewUrl { origin: origin.clone(), found: as_map, ..new(&format!("http://h.test/{path}"), 1) };
    let (queued, ended, late, turned) = (found("queued"), found("ended"), found("late"), found("turned"));
    bench.found(&[queued.clone(), ended.clone()]);
    bench.commit(&[bare(&ended, Ending::Rejected(Rejection::Robots)), order(HostOrder::Drop)]);
    let drop_urls = Change::DropUrls { urls: vec![bench.ledger.seen_key(&queued.url)], reason: Rejection::Dropped };
    let away = vec![RejectedUrl { new: turned.clone(), reason: Rejection::TooDeep }];
    let links = LinkChange { new: vec![late.clone()], turned: away, ..LinkChange::default() };
    bench.commit(&[drop_urls, of_links(links)]);
    for url in [queued, ended, late, turned] {
        let kept = read::rejected(&bench.storage, bench.ledger.seen_key(&url.url)).unwrap().unwrap();
        assert_eq!((kept.origin.as_deref(), kept.found), (Some("http://h.test/"), as_map), "{}", kept.url);
    }
}

#[test]
fn what_is_too_deep_keeps_the_best_way_and_a_page_takes_the_seed_that_lets_it_go_deepest() {
    let mut bench = Bench::new();
    let limited = |depth, limit| NewUrl { limit, ..new("http://h.test/a", depth) };
    let turned = vec![RejectedUrl { new: limited(9, None), reason: Rejection::TooDeep }];
    bench.commit(&[of_links(LinkChange { turned, ..LinkChange::default() })]);
    bench.commit(&[nearer(limited(7, None)), nearer(limited(8, None))]);
    let kept = read::rejected(&bench.storage, bench.ledger.seen_key(&limited(0, None).url)).unwrap().unwrap();
    assert_eq!((kept.depth, bench.ledger.committed().rejected_total()), (7, 1));
    let readmitted = vec![limited(1, Some(3))];
    bench.commit(&[of_links(LinkChange { readmitted, ..LinkChange::default() })]);
    bench.commit(&[nearer(limited(6, None)), nearer(limited(0, Some(3))), nearer(limited(8, Some(9)))]);
    let back = entry(&bench, &limited(0, None)).unwrap();
    assert_eq!((back.depth, back.limit), (6, None));
}

#[test]
fn a_url_that_comes_last_moves_up_when_it_is_found_where_that_does_not_hold_and_stays_where_it_is_in_somebody_s_hands()
{
    let first = |depth| new("http://h.test/a", depth);
    let last = |depth| NewUrl { rank: Some(NewUrl::LAST), ..first(depth) };
    // In somebody's hands? How it is found now, whether it comes last then, and its depth then.
    for (leased, found, comes_last, depth) in [
        (false, first(5), false, 3),
        (false, first(1), false, 1),
        (false, last(1), true, 1),
        (false, last(5), true, 3),
        (true, first(5), true, 3),
        (true, first(1), true, 1),
    ] {
        let mut bench = Bench::new();
        let other = new("http://h.test/b", 9);
        bench.found(&[last(3), other.clone()]);
        bench.commit_while(leased, &[nearer(found.clone())]);
        let place = |url: &NewUrl| match bench.state(url) {
            Some(UrlState::Waiting { rank, order, .. }) => (rank, order),
            state => panic!("not waiting: {state:?}"),
        };
        let (a, b) = (place(&found), place(&other));
        assert_eq!((Ranker::is_last(a.1), a > b), (comes_last, comes_last), "{leased} {found:?}");
        assert_eq!(entry(&bench, &found).map(|entry| entry.depth), Some(depth), "{leased} {found:?}");
        assert_eq!(bench.counts(&found).queued_total(), 2);
        bench.commit(&[bare(&found, Ending::Error(Failure::Reset)), bare(&other, Ending::Error(Failure::Reset))]);
        assert_eq!((bench.ledger.committed().queued, bench.counts(&other).place), (0, Place::None));
    }
}

#[test]
fn a_retry_takes_a_better_way_and_comes_back_by_it() {
    let mut bench = Bench::new();
    bench.ledger.rules_are(1, Some(5), Refresh::default());
    let page = bench.find("http://h.test/a", 4);
    let retry = Ending::Retry { at: UnixMillis(5_000), reason: Failure::Reset };
    bench.commit(&[bare(&page, retry), nearer(new("http://h.test/a", 1)), nearer(new("http://h.test/a", 2))]);
    let seen = bench.ledger.seen_key(&page.url);
    bench.commit(&[Change::Promote(vec![seen.due(UnixMillis(5_000))])]);
    let back = entry(&bench, &page).unwrap();
    assert_eq!((back.depth, back.attempts), (1, 1));
    assert!(matches!(bench.state(&page), Some(UrlState::Waiting { reach, due: None, .. }) if reach.depth == 1));
}
