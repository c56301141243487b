//! The Frontier alone: storage in memory, and mailboxes that nobody empties.

use std::cell::RefCell;

use super::*;
use crate::base::sync::lock;
use crate::crawl::bench::{Bench, started};
use crate::crawl::mailbox::probe::Told;
use crate::domain::reach::Reach;
use crate::storage::keys::SeenKey;
use crate::storage::tables::Nearer;
use crate::storage::values::{Counters, NearerValue};
use crate::storage::{Batch, Storage as _};

thread_local! {
    /// What the hosts of this thread were told.
    static HOSTS: RefCell<Vec<(String, Told)>> = const { RefCell::new(Vec::new()) };
}

/// Nobody is started: what the host would be told is kept.
fn nobody(node: &Arc<Node>, _: HostAt, state: &HostState) -> Mailbox<Host> {
    let (mailbox, told) = Mailbox::probe(&node.telemetry.metrics);
    HOSTS.with_borrow_mut(|hosts| hosts.push((state.name.clone(), told)));
    mailbox
}

fn told(host: &str) -> Told {
    HOSTS.with_borrow(|hosts| hosts.iter().rev().find(|(name, _)| name == host).unwrap().1.clone())
}

/// A Frontier that has just begun, with these links queued.
fn with(set: &[&str], links: &[(&str, u16)], test: impl FnOnce(&Bench, &mut Frontier, &mut Ctx<Frontier>)) {
    let bench = Bench::new(set);
    bench.queue(links);
    started(Frontier::new(bench.node.clone(), nobody), |frontier, ctx| test(&bench, frontier, ctx));
}

fn want(frontier: &mut Frontier, ctx: &mut Ctx<Frontier>, bench: &Bench, host: &str, n: usize) -> Vec<Lease> {
    frontier.handle(Want { host: bench.host(host).host, n }, ctx);
    told(host).take::<Leases>().into_iter().flat_map(|leases| leases.0).collect()
}

fn tails(leases: &[Lease]) -> Vec<&str> {
    leases.iter().map(|lease| lease.url.tail()).collect()
}

#[test]
fn the_best_rank_comes_first_and_within_it_what_was_found_first() {
    let links = [("http://h.test/deep", 40), ("http://h.test/a", 1), ("http://h.test/b", 1), ("http://h.test/", 0)];
    with(&["crawl.order=mixed"], &links, |bench, frontier, ctx| {
        let leases = want(frontier, ctx, bench, "h.test", 10);
        assert_eq!(tails(&leases), ["/", "/a", "/b", "/deep"]);
    });
}

#[test]
fn no_url_is_leased_twice_and_one_that_was_dropped_is_leased_again() {
    with(&[], &[("http://h.test/a", 1), ("http://h.test/b", 1)], |bench, frontier, ctx| {
        let mut first = want(frontier, ctx, bench, "h.test", 1);
        assert_eq!(tails(&first), ["/a"]);
        let second = want(frontier, ctx, bench, "h.test", 5);
        assert_eq!(tails(&second), ["/b"], "the other is out");
        assert!(want(frontier, ctx, bench, "h.test", 5).is_empty(), "both are out");
        drop(first.pop());
        let returned = bench.frontier.take::<LeaseReturned>();
        assert_eq!(returned.len(), 1, "a lease that is dropped tells the Frontier");
        returned.into_iter().for_each(|message| frontier.handle(message, ctx));
        let again: Vec<Lease> = told("h.test").take::<Leases>().into_iter().flat_map(|leases| leases.0).collect();
        assert_eq!(tails(&again), ["/a"], "the host still wanted some");
        assert_eq!(bench.node.crawl.leases.len(), 2);
    });
}

#[test]
fn a_new_life_retires_the_hosts_of_the_former_one_and_takes_up_what_was_dropped_meanwhile() {
    with(&[], &[("http://h.test/a", 1)], |bench, frontier, ctx| {
        let leases = want(frontier, ctx, bench, "h.test", 5);
        let former = told("h.test");
        drop(leases); // told to a Frontier that is dead by then
        bench.frontier.take::<LeaseReturned>();
        let mut next = Frontier::new(bench.node.clone(), nobody);
        next.started(ctx);
        assert_eq!(former.take::<Retire>().len(), 1);
        assert!(bench.node.crawl.leases.is_empty(), "swept");
        assert_eq!(tails(&want(&mut next, ctx, bench, "h.test", 5)), ["/a"]);
    });
}

#[test]
fn while_the_crawl_is_paused_nothing_is_leased_and_a_look_after_it_serves_who_waited() {
    with(&[], &[("http://h.test/a", 1)], |bench, frontier, ctx| {
        let paused = &bench.node.crawl.switches.paused;
        paused.store(true, Ordering::Release);
        assert!(want(frontier, ctx, bench, "h.test", 5).is_empty());
        paused.store(false, Ordering::Release);
        frontier.handle(Look, ctx);
        assert_eq!(told("h.test").take::<Leases>().len(), 1);
    });
}

#[test]
fn a_host_that_gives_up_is_retired_and_its_end_is_told_to_the_store() {
    with(&[], &[("http://h.test/a", 1)], |bench, frontier, ctx| {
        let host = bench.host("h.test").host;
        frontier.handle(GaveUp { host, until: None }, ctx);
        assert_eq!(told("h.test").take::<Retire>().len() + HOSTS.with_borrow(|all| all[0].1.take::<Retire>().len()), 1);
        let changes = bench.store.take::<Commit>();
        assert!(matches!(changes.as_slice(), [Commit { change: Change::Yield { until: None, .. }, .. }]));
        assert!(lock(&bench.node.actors.hosts).len() <= 1);
    });
}

/// What the Store was told of pages to which better ways wait, a page of them after the other.
fn followed(bench: &Bench) -> Vec<Vec<SeenKey>> {
    let changes = bench.store.take::<Commit>().into_iter().map(|commit| commit.change);
    changes.filter_map(|change| if let Change::FollowNearer(keys) = change { Some(keys) } else { None }).collect()
}

#[test]
fn pages_to_which_better_ways_wait_are_handed_over_each_once_when_a_url_was_too_deep_and_again_after_a_reload() {
    const PAGES: u16 = 600;
    let bench = Bench::new(&[]);
    let mut batch = Batch::new();
    let mut keys: Vec<SeenKey> = Vec::new();
    for n in 0..PAGES {
        let url = bench.url(&format!("http://h{}.test/{n}", n % 7));
        let entry = QueueEntry::new(&url, 1, UnixMillis(0));
        keys.push(bench.key(&url));
        batch.put::<Nearer>(&bench.key(&url), &NearerValue { judged: Reach { depth: 2, limit: None }, entry });
    }
    bench.storage.write(&batch).unwrap();
    keys.sort_unstable();
    started(Frontier::new(bench.node.clone(), nobody), |frontier, ctx| {
        let set = |too_deep| {
            let counters = Counters { nearer: PAGES.into(), too_deep, ..Counters::default() };
            *lock(&bench.node.crawl.progress.counters) = counters;
        };
        set(false);
        frontier.tick();
        assert_eq!(followed(&bench), Vec::<Vec<SeenKey>>::new(), "nothing is too deep");
        set(true);
        for why in ["the first time", "after a reload"] {
            (0..9).for_each(|_| frontier.tick());
            let pages = followed(&bench);
            assert!(pages.len() > 2, "bounded pages of them");
            assert_eq!(pages.concat(), keys, "{why}");
            frontier.handle(Reload, ctx);
        }
    });
}
