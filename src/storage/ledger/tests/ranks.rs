//! Ranks by all that a page's importance is made of, and ranks given anew.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use proptest::prelude::*;

use super::*;
use crate::domain::priority::{HostWeights, Priorities, Rule, Says, Weight};
use crate::storage::Family;
use crate::storage::keys::{Key, KeyRange, after};
use crate::storage::ledger::Rerank;
use crate::storage::tables::{Queue, Seeds};

fn weight(of: f64) -> Option<Weight> {
    Weight::try_from(of).ok()
}

fn rule(urls: &[&str], tags: &[&str], says: Says) -> Rule {
    let texts = |list: &[&str]| list.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
    Rule::new(&texts(urls), &[], &texts(tags), says).unwrap()
}

fn heavy(urls: &[&str], of: f64) -> Rule {
    rule(urls, &[], Says::Weight(weight(of).unwrap()))
}

/// A bench whose crawl takes the best first.
fn best() -> Bench {
    ordered(Order::Best)
}

fn ordered(order: Order) -> Bench {
    let ranker = Ranker::new(order, vec![10.0, 8.0, 5.0, 2.0, 0.5], 8);
    let storage = MemoryStorage::new();
    let ledger = Ledger::open(&storage, LedgerRules { ranker, ..rules() }).unwrap();
    Bench { storage, ledger }
}

impl Bench {
    fn rules_of_importance(&mut self, hosts: HostWeights, rules: Vec<Rule>) {
        self.ledger.priorities_are(Arc::new(Priorities::new(hosts, rules)));
    }

    fn rank(&self, url: &NewUrl) -> u8 {
        match self.state(url) {
            Some(UrlState::Waiting { rank, .. }) => rank,
            other => panic!("{other:?}"),
        }
    }

    /// Ranks everything anew, as the job does: by the keys, so many at a time. Gives how many moved.
    fn rerank(&mut self, leased: &dyn Fn(&UrlKey) -> bool) -> u64 {
        let mut range = KeyRange::all();
        let mut moved = 0;
        loop {
            let rows = read::scan::<Queue>(&self.storage, &range, 2).unwrap();
            let Some((last, _)) = rows.last() else { return moved };
            range.from = after(&last.encode());
            let rerank = Rerank { urls: rows.iter().map(|(key, _)| *key).collect(), ..Rerank::default() };
            let count = rerank.moved.clone();
            self.write(|ledger, txn| ledger.apply(txn, &Change::Rerank(rerank), NOW, leased).map(drop)).0.unwrap();
            moved += count.load(Relaxed);
        }
    }

    fn queue(&self) -> Vec<(Vec<u8>, Vec<u8>)> {
        self.storage.scan(Family::Queue, &[], &[], 10_000).unwrap()
    }
}

fn seed_said(seed: &NewUrl, rank: Option<u8>, weight: Option<Weight>, tags: &[&str]) -> LinkChange {
    let tags = tags.iter().map(|tag| (*tag).to_owned()).collect();
    let url = seed.url.as_str().to_owned();
    let said =
        SeedValue { url, added: UnixMillis(1), rank, weight, max_depth: None, tags, cycle: None, guessed: false };
    LinkChange { seeds: vec![said], ..LinkChange::default() }
}

fn from(seed: &NewUrl, url: &str, depth: u16) -> NewUrl {
    NewUrl { origin: Some(Arc::from(seed.url.as_str())), ..new(url, depth) }
}

#[test]
fn a_rank_is_made_of_depth_seed_host_site_and_the_first_rule_and_is_as_before_when_all_are_one() {
    let mut bench = best();
    let (plain, strong) = (NewUrl::seed(new("http://a.test/", 0).url), NewUrl::seed(new("http://b.test/", 0).url));
    let said = LinkChange { new: vec![plain.clone(), strong.clone()], ..seed_said(&strong, None, weight(4.0), &["x"]) };
    bench.commit(&[of_links(said)]);
    for (depth, rank) in [(0, 0), (1, 1), (2, 4), (3, 6), (4, 7)] {
        let url = from(&plain, &format!("http://a.test/{depth}"), depth);
        bench.found(std::slice::from_ref(&url));
        assert_eq!(bench.rank(&url), rank, "depth {depth}");
    }
    let hosts = HostWeights::new([("c.test", weight(0.25)), ("*.c.test", weight(2.0))]);
    let rules = vec![rule(&["/top/"], &[], Says::Rank(0)), rule(&[], &["x"], Says::Weight(weight(0.5).unwrap()))];
    bench.rules_of_importance(hosts, rules);
    let site = |url: NewUrl, priority| NewUrl { priority: Some(priority), ..url };
    for (url, rank) in [
        (from(&strong, "http://a.test/seed", 3), 4),            // 2 · 4 · 1/2
        (from(&plain, "http://c.test/host", 1), 6),             // 8 · 1/4
        (from(&plain, "http://d.c.test/below", 2), 0),          // 5 · 2
        (from(&strong, "http://d.c.test/all", 3), 1),           // 2 · 4 · 2 · 1/2
        (site(from(&plain, "http://a.test/low", 1), 0), 4),     // 8 · 1/2
        (site(from(&strong, "http://c.test/many", 2), 100), 5), // 5 · 4 · 1/4 · 1.5 · 1/2
        (from(&strong, "http://c.test/top/outright", 4), 0),
        (NewUrl { rank: Some(NewUrl::LAST), ..from(&plain, "http://a.test/top/last", 1) }, 7),
    ] {
        bench.found(std::slice::from_ref(&url));
        assert_eq!(bench.rank(&url), rank, "{}", url.url);
    }
}

#[test]
fn in_other_orders_nothing_of_it_counts_but_the_rank_of_a_seed() {
    let mut bench = ordered(Order::Breadth);
    bench.rules_of_importance(HostWeights::new([("a.test", weight(100.0))]), vec![rule(&[], &[], Says::Rank(0))]);
    let seed = NewUrl::seed(new("http://a.test/", 0).url);
    let said = LinkChange { new: vec![seed.clone()], ..seed_said(&seed, Some(3), weight(100.0), &[]) };
    bench.commit(&[of_links(said)]);
    let link = from(&seed, "http://a.test/1", 2);
    bench.found(std::slice::from_ref(&link));
    assert_eq!((bench.rank(&seed), bench.rank(&link)), (3, 4));
    assert_eq!(bench.rerank(&|_| false), 0);
}

#[test]
fn a_host_that_fails_or_repeats_others_is_worth_less_and_each_repeat_is_counted_once() {
    let mut bench = best();
    let page = |n: u16| new(&format!("http://a.test/{n}"), 1);
    for n in 0..16 {
        bench.found(&[page(n)]);
        let ending = if n < 8 { Ending::Done(DoneKind::Duplicate) } else { Ending::Error(Failure::Tls) };
        bench.commit(&[bare(&page(n), ending)]);
    }
    let host = bench.ledger.seen_key(&page(0).url).host_crawl();
    let counts = read::host_counts(&bench.storage, host).unwrap().unwrap();
    assert_eq!((counts.done, counts.repeats, counts.errors), (8, 8, 8));
    bench.found(&[page(99)]);
    assert_eq!(bench.rank(&page(99)), 5, "8 · (8 - 8 + 8) / (16 + 8)");
    bench.found(&[new("http://b.test/1", 1)]);
    assert_eq!(bench.rank(&new("http://b.test/1", 1)), 1);
}

#[test]
fn what_waits_is_ranked_anew_keeps_its_number_and_stays_where_somebody_has_it_or_where_it_comes_last() {
    let mut bench = best();
    let url = |path: &str| new(&format!("http://a.test/{path}"), 2);
    let (up, taken, other) = (url("up/1"), url("up/taken"), url("other"));
    let last = NewUrl { rank: Some(NewUrl::LAST), ..url("up/last") };
    bench.found(&[other.clone(), up.clone(), taken.clone(), last.clone()]);
    let number = |bench: &Bench, url: &NewUrl| match bench.state(url) {
        Some(UrlState::Waiting { order, .. }) => Ranker::number_of(order),
        other => panic!("{other:?}"),
    };
    let before = number(&bench, &up);
    bench.rules_of_importance(HostWeights::default(), vec![heavy(&["/up/"], 2.0)]);
    let held = bench.ledger.seen_key(&taken.url).url;
    assert_eq!(bench.rerank(&|key| *key == held), 1);
    assert_eq!([&up, &taken, &other, &last].map(|url| bench.rank(url)), [0, 4, 4, 7]);
    assert_eq!(number(&bench, &up), before);
    assert_eq!((bench.rerank(&|_| false), bench.rank(&taken)), (1, 0), "it came back to the queue");
    let host = bench.ledger.seen_key(&up.url).host_crawl();
    assert_eq!(read::host_counts(&bench.storage, host).unwrap().unwrap().best_rank(), Some(0));
    bench.found(&[url("up/new")]);
    assert_eq!(bench.rank(&url("up/new")), 0, "new ones at once");
}

#[test]
fn what_is_said_of_a_known_seed_counts_for_what_is_found_then_and_for_all_by_ranking_anew() {
    let mut bench = best();
    let seed = NewUrl::seed(new("http://a.test/", 0).url);
    bench.found(std::slice::from_ref(&seed));
    let (early, late) = (from(&seed, "http://a.test/early", 2), from(&seed, "http://a.test/late", 2));
    bench.found(std::slice::from_ref(&early));
    bench.commit(&[of_links(seed_said(&seed, Some(5), weight(2.0), &[]))]);
    bench.found(std::slice::from_ref(&late));
    assert_eq!([&seed, &early, &late].map(|url| bench.rank(url)), [0, 4, 0]);
    assert_eq!(bench.rerank(&|_| false), 2);
    assert_eq!([&seed, &early, &late].map(|url| bench.rank(url)), [5, 0, 0]);
}

#[test]
fn a_queue_of_another_order_is_brought_into_this_one() {
    let mut bench = ordered(Order::Mixed);
    let url = |n: u16| new(&format!("http://a.test/{n}"), n);
    (0..5).for_each(|n| _ = bench.found(&[url(n)]));
    let ranker = Ranker::new(Order::Best, vec![10.0, 8.0, 5.0, 2.0, 0.5], 8);
    bench.ledger = Ledger::open(&bench.storage, LedgerRules { ranker, ..rules() }).unwrap();
    assert_eq!(bench.rerank(&|_| false), 5);
    assert_eq!([0, 1, 2, 3, 4].map(|n| bench.rank(&url(n))), [0, 1, 4, 6, 7]);
}

proptest! {
    #[test]
    fn a_rule_taken_back_leaves_the_queue_as_it_was_byte_by_byte(
        found in prop::collection::vec((0_u16..40, 0_u16..5, prop::option::of(0_u8..=100)), 1..40),
        hundredths in 1_u16..10_000, outright in prop::option::of(0_u8..8), pattern in "[0-9]", weigh_host: bool,
        order in prop::sample::select(vec![Order::Breadth, Order::Depth, Order::Mixed, Order::Best]),
    ) {
        let mut bench = ordered(order);
        for (n, depth, priority) in found {
            let url = NewUrl { priority, ..new(&format!("http://h{}.test/{n}", n % 3), depth) };
            if bench.state(&url).is_none() {
                bench.found(&[url]);
            }
        }
        let before = bench.queue();
        let heavier = Weight::from_hundredths(hundredths).unwrap();
        let says = outright.map_or(Says::Weight(heavier), Says::Rank);
        let hosts = HostWeights::new([("h1.test", Some(heavier).filter(|_| weigh_host))]);
        bench.rules_of_importance(hosts, vec![rule(&[&pattern], &[], says)]);
        let moved = bench.rerank(&|_| false);
        prop_assert!(order == Order::Best || moved == 0);
        prop_assert_eq!(bench.rerank(&|_| false), 0, "a second time there is nothing to do");
        bench.rules_of_importance(HostWeights::default(), Vec::new());
        prop_assert_eq!(bench.rerank(&|_| false), moved);
        prop_assert_eq!(bench.queue(), before);
    }
}

#[test]
fn for_visits_a_page_has_the_weight_of_its_depth_seed_host_and_rules() {
    let mut bench = best();
    let seed = NewUrl::seed(new("http://b.test/", 0).url);
    let said = LinkChange { new: vec![seed.clone()], ..seed_said(&seed, None, weight(4.0), &["x"]) };
    bench.commit(&[of_links(said)]);
    let rules = vec![rule(&["/first"], &[], Says::Rank(0)), rule(&[], &["x"], Says::Weight(weight(0.5).unwrap()))];
    bench.rules_of_importance(HostWeights::new([("*.test", weight(2.0))]), rules);
    let weighs = |url: &str, depth, origin: Option<&str>, (said, links)| {
        let seed = bench.ledger.seen_key(&new(origin.unwrap_or(url), 0).url);
        let seed = read::get::<Seeds>(&bench.storage, &seed).unwrap();
        bench.ledger.rules.weight_for_visits(seed.as_ref(), (url, depth), (1.0, said, links))
    };
    for (url, depth, origin, said, expected) in [
        ("http://a.test/p", 2, Some("http://b.test/"), (1.0, 0.0), 4.0), // 5/5 · 4 · 2 · 1/2
        ("http://a.test/p", 2, Some("http://b.test/"), (0.5, 1.0), 4.0),
        ("http://a.test/p", 2, Some("http://other.test/"), (1.0, 0.0), 2.0),
        ("http://a.test/first", 2, Some("http://b.test/"), (1.0, 0.0), 8.0),
        ("http://b.test/", 0, None, (1.0, 0.0), 8.0),
        ("http://other/", 2, None, (1.0, 0.0), 1.0),
    ] {
        assert!((weighs(url, depth, origin, said) - expected).abs() < 1e-9, "{url} {origin:?} {said:?}");
    }
}
