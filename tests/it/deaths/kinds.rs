//! Each actor dies in each way it can.

use std::collections::BTreeSet;

use lycosa::base::fault::{Fault, Faults, POINTS, Point};
use lycosa::crawl::node::Stop;
use lycosa::crawl::supervise::Kind;
use lycosa::testweb::TestWebConfig;

use super::{sandbox, survives, web};
use crate::support::{Ended, Sandbox, truth_any};

/// Crawls to the truth, and expects that actors of this kind died meanwhile.
fn dies(sandbox: &Sandbox, kind: Kind) -> Ended {
    let live = sandbox.start();
    assert_eq!(live.until_stop(), Stop::Done);
    assert!(live.node.telemetry.metrics.restarts(kind) > 0, "no {} died", kind.as_str());
    let ended = live.end();
    ended.assert_is(&sandbox.web.truth(truth_any()));
    ended.assert_polite();
    ended
}

/// Where an actor dies: in a handler, a timer, a future, `started`, its factory; and where it stops.
const WAYS: &[(Kind, Fault, &[&str])] = &[
    (Kind::Supervisor, Fault::Panic, &["supervisor.died", "supervisor.started", "supervisor.new"]),
    (Kind::Supervisor, Fault::Stop, &["supervisor.died"]),
    (Kind::Frontier, Fault::Panic, &["frontier.want", "frontier.tick", "frontier.started", "frontier.new"]),
    (Kind::Frontier, Fault::Stop, &["frontier.want"]),
    (Kind::Politeness, Fault::Panic, &["host.leases", "host.visit", "host.started"]),
    (Kind::Politeness, Fault::Stop, &["host.leases"]),
    (Kind::Fetcher, Fault::Panic, &["fetcher.fetch", "fetcher.started", "fetcher.new"]),
    (Kind::Fetcher, Fault::Stop, &["fetcher.fetch"]),
    (Kind::Parser, Fault::Panic, &["parser.parse", "parser.started", "parser.new"]),
    (Kind::Parser, Fault::Stop, &["parser.parse"]),
    (Kind::Deduper, Fault::Panic, &["deduper.parsed", "deduper.tick", "deduper.started", "deduper.new"]),
    (Kind::Deduper, Fault::Stop, &["deduper.parsed"]),
    (Kind::Store, Fault::Panic, &["store.commit", "store.barrier", "store.started", "store.new"]),
    (Kind::Store, Fault::Stop, &["store.commit"]),
];

#[test]
fn i5_an_actor_of_any_kind_dies_in_any_way_and_nothing_is_lost() {
    for (kind, fault, points) in WAYS {
        for point in *points {
            let sandbox = sandbox().set("durability.sync=20ms");
            sandbox.faults.set(point, *fault, 1, 2);
            if *kind == Kind::Supervisor {
                sandbox.faults.set("parser.parse", Fault::Panic, 2, 3); // somebody for it to be told of
            }
            dies(&sandbox, *kind);
        }
    }
}

/// What is passed only when a node begins or ends.
fn is_of_the_end(point: &Point) -> bool {
    let at_the_end = ["store.close", "store.closing", "store.closed", "filter.save", "filter.saved"];
    at_the_end.contains(&point.name) || ["archive.rotate", "archive.sorted", "archive.renamed"].contains(&point.name)
}

/// These points do this once, in one crawl, each after a third of its passes of a crawl without faults; not later than at the 20th, for
/// those that the clock brings are more on a busy machine, and are to come before the end of a crawl that is quicker.
fn in_one_crawl(dry: &Faults, points: &[&Point], fault: Fault) {
    let sandbox = busy();
    let at = |point: &Point| (dry.hits(point.name) / 3).clamp(1, 20);
    points.iter().for_each(|point| sandbox.faults.set(point.name, fault, at(point), at(point)));
    survives(&sandbox);
    let missed: Vec<_> = points.iter().filter(|p| sandbox.faults.hits(p.name) < at(p)).map(|p| p.name).collect();
    assert_eq!(missed, [""; 0], "not passed");
}

/// A crawl without faults, to count how often each point is passed.
fn dry() -> Faults {
    let sandbox = busy();
    survives(&sandbox);
    sandbox.faults
}

/// robots.txt everywhere, duplicates, short turns, quick barriers: every point is passed.
fn busy() -> Sandbox {
    let sandbox = Sandbox::new(TestWebConfig { duplicates: 0.3, ..web() });
    let sandbox = sandbox.set("frontier.host_quantum={pages=5,time=\"10s\"}");
    sandbox.set("durability.sync=20ms").set("fetch.retries=10")
}

/// Passed in every crawl: no start from a saved filter, no disk that refuses, not a database on disk, not the program's own, no link of another member,
/// no checkpoint.
fn usual() -> Vec<&'static Point> {
    let rare = |p: &&Point| is_of_the_end(p) || ["deduper.take_in", "filter.load", "store.mend"].contains(&p.name);
    let elsewhere = [
        "storage",
        "node",
        "erase",
        "index",
        "sink",
        "credit",
        "checkpoint",
        "export",
        "import",
        "member",
        "moves",
        "part",
        "restore",
        "upload",
    ];
    POINTS.iter().filter(|p| !elsewhere.contains(&p.room()) && !rare(p)).collect()
}

/// So many crawls that no page can meet three points that blame it: it would be poison.
const CRAWLS: usize = 30;

#[test]
fn a_panic_at_every_point_of_the_house_loses_nothing() {
    let (dry, points) = (dry(), usual());
    for n in 0..CRAWLS {
        let mut some: Vec<_> = points.iter().copied().skip(n).step_by(CRAWLS).collect();
        if some.iter().any(|p| p.room() == "supervisor") {
            some.push(lycosa::base::fault::find("deduper.tick").unwrap()); // somebody for it to be told of
        }
        in_one_crawl(&dry, &some, Fault::Panic);
    }
}

#[test]
fn an_error_at_every_point_that_can_fail_loses_nothing() {
    let dry = dry();
    let points: Vec<_> = usual().into_iter().filter(|p| p.fails && p.name != "store.opened").collect();
    in_one_crawl(&dry, &points, Fault::Error);
}

#[test]
fn a_store_that_cannot_open_its_files_tries_again() {
    let sandbox = sandbox();
    sandbox.faults.set("store.opened", Fault::Error, 1, 1);
    let live = sandbox.start_bare();
    live.until("the second try", |_| sandbox.faults.hits("store.opened") > 1);
    live.seed(&live.node.crawl.rules.settings.crawl.seeds.clone());
    assert_eq!(live.until_stop(), Stop::Done);
    live.end().assert_is(&sandbox.web.truth(truth_any()));
}

/// Closing is interrupted at each step; the next start puts it right.
#[test]
fn a_node_that_dies_while_it_closes_is_put_right_by_the_next_start() {
    for point in POINTS.iter().filter(|p| is_of_the_end(p)) {
        for fault in [Fault::Panic, Fault::Error].into_iter().filter(|fault| point.offers(*fault)) {
            let mut sandbox = sandbox();
            sandbox.faults.set(point.name, fault, 1, 1);
            let live = sandbox.start();
            live.until("pages", |s| s.done >= 20);
            live.drop_at_once();
            assert!(sandbox.faults.hits(point.name) > 0, "{} was not passed", point.name);
            sandbox.faults = Faults::default();
            survives(&sandbox);
        }
    }
}

/// A time-out for every phase, so that no request may last longer than this: then it hangs.
fn impatient(sandbox: Sandbox) -> Sandbox {
    sandbox
        .set("fetch.timeouts={connect=\"400ms\",tls=\"50ms\",first_byte=\"400ms\",body=\"400ms\"}")
        .set("supervision.hung_after=2200ms")
}

#[test]
fn a_wait_that_hangs_is_given_up_and_what_it_held_comes_back() {
    let web = TestWebConfig { hosts: 12, pages: 6, ..web() };
    let sandbox = impatient(Sandbox::new(web));
    let points: Vec<_> = POINTS.iter().filter(|p| p.hangs).collect();
    assert!(points.len() >= 10);
    for (point, at) in points.iter().zip(1..) {
        sandbox.faults.set(point.name, Fault::Hang, at, at);
    }
    let live = sandbox.start();
    assert_eq!(live.until_stop(), Stop::Done);
    let restarts = |kind| live.node.telemetry.metrics.restarts(kind);
    assert!(restarts(Kind::Politeness) >= 4, "resolver (before and after), robots.txt, report");
    assert!(restarts(Kind::Fetcher) >= 1, "its connections may be the cause");
    assert_eq!(restarts(Kind::Store) + restarts(Kind::Deduper) + restarts(Kind::Parser) + restarts(Kind::Frontier), 0);
    for (point, at) in points.iter().zip(1..) {
        assert!(
            sandbox.faults.hits(point.name) > at,
            "{} was passed {} times",
            point.name,
            sandbox.faults.hits(point.name)
        );
    }
    let ended = live.end();
    ended.assert_is(&sandbox.web.truth(truth_any()));
    ended.assert_polite();
}

#[test]
fn a_slow_step_anywhere_is_no_death() {
    let sandbox = busy();
    for point in usual() {
        sandbox.faults.set(point.name, Fault::Delay(std::time::Duration::from_millis(3)), 1, 4);
    }
    let live = sandbox.start();
    assert_eq!(live.until_stop(), Stop::Done);
    assert!(Kind::ALL.iter().all(|kind| live.node.telemetry.metrics.restarts(*kind) == 0));
    let ended = live.end();
    ended.assert_is(&sandbox.web.truth(truth_any()));
    ended.assert_polite();
    ended.assert_none_twice();
}

#[test]
fn i5_a_new_deduper_begins_a_new_epoch_so_that_nothing_hangs_on_marks_it_has_forgotten() {
    let sandbox = sandbox();
    sandbox.faults.set("deduper.settled", Fault::Panic, 2, 3);
    let live = sandbox.start();
    assert_eq!(live.until_stop(), Stop::Done);
    let deaths = live.node.telemetry.metrics.restarts(Kind::Deduper);
    let others: u64 = [Kind::Store, Kind::Frontier].iter().map(|k| live.node.telemetry.metrics.restarts(*k)).sum();
    assert_eq!((deaths, others), (2, 0));
    assert_eq!(live.node.crawl.epoch.now(), 1 + deaths, "one for each Deduper");
    live.end().assert_is(&sandbox.web.truth(truth_any()));
}

#[test]
fn i1_a_lane_that_waited_for_a_permit_looks_at_the_time_again_before_it_asks() {
    // Two lanes a host, one place on the wire: the second lane has its slot and waits; the first one's answer moves the time.
    let sandbox = Sandbox::new(TestWebConfig { hosts: 1, latency_ms: 3, ..web() })
        .gap(std::time::Duration::from_millis(25))
        .set("fetch.concurrency=1")
        .set("host=[{match=\"*.test\",max_connections=2,min_delay=\"25ms\"}]");
    let live = sandbox.start();
    assert_eq!(live.until_stop(), Stop::Done);
    let early =
        crate::support::audit_check::early_requests(&sandbox.web.audit(), |_| std::time::Duration::from_millis(25));
    assert_eq!(early.len(), 0, "{early:?}");
    assert_eq!(live.node.telemetry.metrics.restarts(Kind::Politeness), 0, "a request before its time ends its lane");
    live.end().assert_is(&sandbox.web.truth(truth_any()));
}

#[cfg(feature = "rocksdb")]
#[test]
fn faults_of_the_database_end_a_run_at_worst_and_the_next_one_goes_on() {
    let steps =
        ["storage.get", "storage.multi_get", "storage.scan", "storage.write", "storage.written", "storage.sync"];
    let mut ended: BTreeSet<&str> = BTreeSet::new();
    for (step, at) in steps.into_iter().zip([40, 20, 20, 12, 12, 5]) {
        for fault in [Fault::Error, Fault::Panic] {
            let mut sandbox = sandbox().set("durability.sync=20ms").on_rocks();
            sandbox.faults.set(step, fault, at, at);
            let live = sandbox.start();
            let stop = live.until_stop();
            assert!(sandbox.faults.hits(step) >= at, "{step} was passed {} times", sandbox.faults.hits(step));
            if stop != Stop::Done {
                assert!(matches!(stop, Stop::Disk(_)), "{step}: {stop:?}");
                ended.insert(step);
            }
            live.drop_at_once(); // and what is left fits together
            sandbox.faults = Faults::default();
            survives(&sandbox);
        }
    }
    assert!(
        !ended.contains("storage.write") && !ended.contains("storage.written"),
        "a write is tried again: {ended:?}"
    );
}
