//! Actors die, stop, are left half mutated, and writes fail: nothing is lost, nothing done twice, no host asked early (I5).

mod ends;
mod kinds;
mod poison;

use std::sync::Arc;

use lycosa::base::fault::Fault;
use lycosa::crawl::node::Stop;
use lycosa::testweb::TestWebConfig;
use lycosa::testweb::robots::RobotsMode;

use crate::support::{Ended, Sandbox, truth_any};

fn web() -> TestWebConfig {
    TestWebConfig {
        hosts: 3,
        pages: 14,
        links: 8,
        min_size: 300,
        max_size: 1_500,
        redirects: 0.1,
        duplicates: 0.1,
        robots: RobotsMode::Mixed,
        ..TestWebConfig::default()
    }
}

/// Short turns, so that hosts also give up their places.
fn sandbox() -> Sandbox {
    Sandbox::new(web()).set("frontier.host_quantum={pages=5,time=\"10s\"}")
}

/// Crawls to the end in spite of the faults set: the truth, politely, all returned.
fn survives(sandbox: &Sandbox) -> Ended {
    let ended = sandbox.crawl();
    ended.assert_is(&sandbox.web.truth(truth_any()));
    ended.assert_polite();
    ended
}

/// Panics at `point` at each of its passes `at`, in a crawl of its own each; at most so many requests are repeated.
fn panics(point: &str, at: &[u64], refetches: u32) {
    for n in at {
        let sandbox = sandbox();
        sandbox.faults.set(point, Fault::Panic, *n, *n);
        let ended = survives(&sandbox);
        assert!(sandbox.faults.hits(point) >= *n, "{point} was passed {} times only", sandbox.faults.hits(point));
        let again: u32 = ended.refetched().iter().map(|(_, times)| times - 1).sum();
        assert!(again <= refetches, "{point}@{n}: {again} requests repeated: {:?}", ended.refetched());
    }
}

/// Pages that a lost epoch can cost: all between fetch and commit.
const IN_FLIGHT: u32 = 32;

#[test]
fn a_frontier_that_dies_hands_nothing_out_twice() {
    panics("frontier.started", &[1], 0);
    panics("frontier.tick", &[1, 3], 0);
    panics("frontier.want", &[1, 2, 4], 0);
    panics("frontier.committed", &[1, 2, 5, 9], 0);
    panics("frontier.committed.after", &[1, 4], 0);
    panics("frontier.gave_up", &[1, 2], 0);
}

#[test]
fn a_host_that_dies_is_asked_no_earlier_and_loses_no_url() {
    panics("host.started", &[1, 2], 0);
    panics("host.visit", &[1, 2, 7], 0);
    panics("host.leases", &[1, 2, 4], 0);
}

#[test]
fn a_fetcher_that_dies_costs_one_request_at_most() {
    panics("fetcher.started", &[1], 0);
    panics("fetcher.fetch", &[1, 4, 9], 0);
    panics("fetcher.fetched", &[2, 9], 1);
    panics("fetcher.hand_over", &[1, 9], 1);
}

#[test]
fn a_parser_that_dies_costs_one_page_at_most() {
    panics("parser.started", &[1], 0);
    panics("parser.parse", &[1, 7], 1);
    panics("parser.page", &[1, 7], 1);
}

#[test]
fn a_deduper_that_dies_leaves_no_mark_behind() {
    panics("deduper.started", &[1], 0);
    panics("deduper.inject", &[1], 0);
    panics("deduper.parsed", &[1, 2, 8], IN_FLIGHT);
    panics("deduper.commit", &[1, 2, 8], IN_FLIGHT);
    panics("deduper.settled", &[1, 4], IN_FLIGHT);
}

#[test]
fn a_store_that_dies_before_its_write_loses_the_group_whole() {
    panics("store.started", &[1], 0);
    panics("store.commit", &[1, 2, 9], IN_FLIGHT);
    panics("store.group", &[1, 3], IN_FLIGHT);
    panics("store.archived", &[1, 3], IN_FLIGHT);
    panics("store.applied", &[1, 5, 9], IN_FLIGHT);
    panics("store.write", &[1, 3], IN_FLIGHT);
}

#[test]
fn a_store_that_dies_after_its_write_has_committed() {
    panics("store.written", &[1, 2, 5], IN_FLIGHT);
}

#[test]
fn a_supervisor_that_dies_with_the_actor_it_is_told_of_rescues_nobody_later() {
    let sandbox = sandbox();
    sandbox.faults.set("supervisor.died", Fault::Panic, 1, 2);
    sandbox.faults.set("deduper.parsed", Fault::Panic, 3, 3);
    survives(&sandbox);
    assert!(sandbox.faults.hits("supervisor.died") >= 2);
}

#[test]
fn an_actor_that_stops_is_brought_back() {
    let sandbox = sandbox();
    sandbox.faults.set("host.leases", Fault::Stop, 1, 3);
    let ended = survives(&sandbox);
    ended.assert_none_twice();
}

#[test]
fn errors_in_the_middle_of_a_commit_undo_it_whole() {
    for point in ["store.group", "store.archived", "store.applied", "store.write"] {
        for at in [1, 4] {
            let sandbox = sandbox();
            sandbox.faults.set(point, Fault::Error, at, at + 1);
            survives(&sandbox);
            assert!(sandbox.faults.hits(point) > at);
        }
    }
}

#[test]
fn a_page_that_cannot_be_archived_is_tried_again_later_and_its_links_are_not_lost() {
    for point in ["parser.archive", "deduper.revisit"] {
        let sandbox = sandbox().set("fetch.retries=1"); // three failures of the one page that is known: none is counted
        sandbox.faults.set(point, Fault::Error, 1, 3);
        let ended = survives(&sandbox);
        assert!(sandbox.faults.hits(point) > 3, "{point} was passed {} times", sandbox.faults.hits(point));
        assert!(!ended.refetched().is_empty());
    }
}

#[test]
fn failed_writes_and_syncs_are_made_good() {
    let sandbox = sandbox().set("durability.sync=20ms");
    let live = sandbox.start();
    live.until("some pages", |s| s.done > 5);
    sandbox.memory().fail_next_writes(2);
    live.until("more pages", |s| s.done > 15);
    sandbox.memory().fail_next_syncs(2);
    assert_eq!(live.until_stop(), Stop::Done);
    let ended = live.end();
    ended.assert_is(&sandbox.web.truth(truth_any()));
    ended.assert_polite();
}

#[test]
fn i3_the_records_of_a_batch_that_got_in_are_not_cut_off_when_its_write_is_said_to_have_failed() {
    for sync in ["commit", "20ms"] {
        let sandbox = sandbox().set(&format!("durability.sync={sync}"));
        let live = sandbox.start();
        for pages in [5, 12] {
            live.until("pages", |s| s.done > pages);
            sandbox.memory().fail_next_answers(2);
        }
        assert_eq!(live.until_stop(), Stop::Done);
        let ended = live.end();
        ended.assert_is(&sandbox.web.truth(truth_any()));
        ended.assert_polite();
    }
}

#[test]
fn a_disk_that_refuses_every_write_stops_the_node_and_the_next_run_goes_on() {
    let sandbox = sandbox().set("disk.retry_for=300ms");
    let live = sandbox.start();
    live.until("some pages", |s| s.done > 5);
    sandbox.memory().fail_next_writes(1_000_000);
    assert!(matches!(live.until_stop(), Stop::Disk(_)));
    sandbox.memory().fail_next_writes(0);
    live.drop_at_once();
    let ended = survives(&sandbox);
    assert!(ended.status.done > 5);
}

#[test]
fn an_actor_that_dies_too_often_stops_the_node_and_the_next_run_goes_on() {
    let mut sandbox = sandbox();
    sandbox.faults.set("deduper.parsed", Fault::Panic, 4, u64::MAX);
    let live = sandbox.start();
    let stop = live.until_stop();
    assert!(matches!(&stop, Stop::Supervisor(why) if why.contains("deduper")), "{stop:?}");
    live.drop_at_once();
    sandbox.faults = lycosa::base::fault::Faults::default();
    survives(&sandbox);
}

#[test]
fn many_deaths_all_over_the_house_lose_nothing() {
    let points = [
        "frontier.tick",
        "frontier.want",
        "frontier.committed",
        "frontier.committed.after",
        "frontier.returned",
        "host.visit",
        "host.leases",
        "fetcher.fetch",
        "fetcher.fetched",
        "fetcher.hand_over",
        "parser.parse",
        "parser.page",
        "deduper.parsed",
        "deduper.commit",
        "deduper.settled",
        "store.commit",
        "store.group",
        "store.archived",
        "store.applied",
        "store.write",
        "store.written",
        "store.barrier",
    ];
    for seed in seeds(12) {
        let mut dice = seed;
        let mut draw = |below: u64| {
            dice = dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (dice >> 33) % below
        };
        let sandbox = varied(seed);
        let mut plan = Vec::new();
        for _ in 0..6 {
            let (point, first) = (points[draw(points.len() as u64) as usize], 1 + draw(12));
            let last = first + draw(2);
            let fails = draw(3) == 0 && lycosa::base::fault::find(point).is_some_and(|p| p.fails);
            let fault = if fails { Fault::Error } else { Fault::Panic };
            sandbox.faults.set(point, fault, first, last);
            plan.push((point, fault, first, last));
        }
        let note = Arc::new(plan);
        let shown = Shown(seed, note);
        survives(&sandbox);
        drop(shown);
    }
}

/// Another order, web, storage and placement with each seed; some pages fail and are tried again.
fn varied(seed: u64) -> Sandbox {
    let web = TestWebConfig { errors: 0.1, error_status: vec![404, 500], seed, ..web() };
    let order = ["breadth", "depth", "mixed", "best"][(seed % 4) as usize];
    let sandbox = Sandbox::new(web)
        .set("frontier.host_quantum={pages=5,time=\"10s\"}")
        .set("durability.sync=50ms")
        .set("fetch.retries=1")
        .set(&format!("crawl.order={order}"));
    match seed % 6 {
        0 => sandbox.together(),
        #[cfg(feature = "rocksdb")]
        1 => sandbox.on_rocks(),
        2 => sandbox.set("frontier.max_active_hosts=1"),
        3 => sandbox.set("fetch.concurrency=1"),
        _ => sandbox,
    }
}

/// Tells which plan failed.
struct Shown(u64, Arc<Vec<(&'static str, Fault, u64, u64)>>);

impl Drop for Shown {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("seed {} plan {:?}", self.0, self.1);
        }
    }
}

/// `LYCOSA_DEATHS=1000` for a long run; `LYCOSA_DEATHS_SEED=n` for one of them.
fn seeds(usual: u64) -> Vec<u64> {
    let number = |name: &str| std::env::var(name).ok().and_then(|n| n.parse::<u64>().ok());
    match number("LYCOSA_DEATHS_SEED") {
        Some(seed) => vec![seed],
        None => (0..number("LYCOSA_DEATHS").unwrap_or(usual)).collect(),
    }
}
