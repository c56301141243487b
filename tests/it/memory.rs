//! Memory: it does not grow with the frontier (I6), and a crawl that is short of it goes on.

use std::time::Duration;

use lycosa::admin::Control;
use lycosa::config::GroupBy;
use lycosa::crawl::node::{Node, Stop};
use lycosa::telemetry::metrics::Registry;
use lycosa::testweb::TestWebConfig;

use crate::support::{Sandbox, truth_any};

fn small() -> TestWebConfig {
    TestWebConfig { hosts: 4, pages: 50, links: 8, min_size: 500, max_size: 800, ..TestWebConfig::default() }
}

/// Many hosts, every page full of links to all of them.
fn explosion() -> TestWebConfig {
    TestWebConfig { hosts: 400, pages: 60, links: 150, off_host: 0.9, ..small() }
}

/// The bound of each registry, as `docs/performance.md` has it.
fn bound(node: &Node, registry: Registry) -> u64 {
    let settings = &node.crawl.rules.settings;
    let (active, pages) = (settings.max_active_hosts() as u64, node.permits.pages_total as u64);
    let leases = active * 17 + pages; // sixteen that wait at a Host, one on its way, and pages in flight
    match registry {
        Registry::ActiveHosts => active,
        Registry::RestingHosts => 50_000 + leases,
        Registry::Leases => leases,
        Registry::Slots => active + pages,
        Registry::SlotGroups => {
            assert_eq!(settings.politeness.group_by, GroupBy::Host, "others have one for each that is throttled");
            active + pages
        }
        Registry::Heads => 1_024 * (8 + 2),
        // A page's permit is back a moment before its marks are taken away.
        Registry::PendingUrls => 2 * pages * settings.parse.max_links_per_page as u64,
        Registry::PendingContents => 2 * pages,
        Registry::PopularUrls => 200_000,
        Registry::LedgerHosts => 200_000,
        Registry::DnsNames => 100_000,
    }
}

fn assert_within_bounds(node: &Node) {
    node.slots.sweep(node.clock.now()); // as the watch does each second
    node.publish_metrics(&lycosa::admin::status(node));
    for registry in Registry::ALL {
        let (n, most) = (node.telemetry.metrics.entries_of(*registry), bound(node, *registry));
        let n = u64::try_from(n).unwrap();
        assert!(n <= most, "I6: {registry:?} has {n} entries, its bound is {most}");
    }
}

#[test]
fn i6_no_registry_grows_beyond_its_bound_while_the_frontier_does() {
    let sandbox = Sandbox::new(explosion())
        .set("frontier.max_active_hosts=20")
        .set("frontier.host_quantum={pages=3,time=\"10s\"}")
        .set("crawl.until_done=false");
    let live = sandbox.start();
    for queued in [500, 2_000, 5_000, 10_000] {
        live.until("the frontier to grow", |s| {
            assert_within_bounds(&live.node);
            s.waiting >= queued
        });
    }
    assert!(live.control().status().hosts_waiting > 300, "{}", live.control().status().hosts_waiting);
    let ended = live.close();
    assert!(ended.status.done < 1_000, "{}", ended.report());
}

#[test]
fn i6_hosts_that_must_wait_for_hours_are_on_disk_only() {
    let web = TestWebConfig { hosts: 150, errors: 1.0, error_status: vec![503], retry_after: 7_200, ..explosion() };
    let sandbox = Sandbox::new(web).set("frontier.max_active_hosts=20").set("crawl.until_done=false");
    let live = sandbox.start_bare();
    live.seed(&(0..150).map(|n| format!("http://h{n}.test/p/1")).collect::<Vec<_>>());
    live.seed(&(0..150).map(|n| format!("http://h{n}.test/p/2")).collect::<Vec<_>>());
    live.until("all hosts to be parked", |s| s.hosts_parked == 150 && s.hosts_active == 0);
    live.until("their places to be given up", |_| {
        live.node.slots.sweep(live.node.clock.now());
        live.node.slots.hosts() == 0
    });
    let ended = live.close();
    let pages = ended.entries.iter().filter(|e| !e.url().ends_with("/robots.txt")).count();
    assert_eq!(pages, 150, "none is asked before its time, though it was forgotten");
}

#[test]
fn i4_a_seen_filter_that_may_not_grow_loses_no_url_and_doubles_none() {
    // Room for the first filter, of a thousand URLs, and not for a second one beside it.
    let (rest, database) = (lycosa::domain::memory::REST, lycosa::domain::memory::LEAST_DATABASE);
    let sandbox = Sandbox::new(TestWebConfig { hosts: 4, pages: 900, ..small() })
        .set("dedup.bloom_urls=1000")
        .set("store.memory=16MiB")
        .set(&format!("memory.max={}", rest + database + 2_000))
        .set("politeness.min_delay=0s");
    let live = sandbox.start();
    assert_eq!(live.until_stop(), Stop::Done);
    let filter = live.node.crawl.filter.bytes.load(std::sync::atomic::Ordering::Relaxed);
    assert!((1_000..2_000).contains(&filter), "{filter}");
    let ended = live.end();
    ended.assert_is(&sandbox.web.truth(truth_any()));
    ended.assert_none_twice();
    assert!(ended.status.discovered > 3_000);
}

#[cfg(feature = "faults")]
#[test]
fn a_crawl_short_of_memory_goes_on_with_fewer_pages_at_a_time_and_gets_all_back() {
    use lycosa::base::fault::Fault;
    let sandbox = Sandbox::new(small())
        .set("fetch.concurrency=4")
        .set("memory.max=1TiB")
        .set("crawl.until_done=false")
        .gap(Duration::from_millis(20));
    sandbox.faults.set("node.memory", Fault::Error, 1, 3);
    let live = sandbox.start();
    live.during_watch(|| {
        live.until("permits to be withheld", |s| s.permits_withheld == 4);
        let before = live.control().status().done;
        live.until("pages with the rest of them", |s| s.done > before);
        live.until("all permits to be back", |s| s.permits_withheld == 0);
        live.until("the end of the work", |s| s.waiting + s.processing == 0 && s.done > 0);
    });
    let ended = live.end();
    ended.assert_is(&sandbox.web.truth(truth_any()));
    ended.assert_none_twice();
}

#[cfg(feature = "faults")]
#[test]
fn a_crawl_that_stays_short_of_memory_comes_to_its_end() {
    use lycosa::base::fault::Fault;
    // So slow that without a least number of permits, eight would be halved to none before the end.
    let slow = Duration::from_millis(150);
    let sandbox = Sandbox::new(small()).set("memory.max=1TiB").set("fetch.concurrency=4").gap(slow);
    sandbox.faults.set("node.memory", Fault::Error, 1, u64::MAX);
    let ended = sandbox.crawl();
    ended.assert_is(&sandbox.web.truth(truth_any()));
    let looks = sandbox.faults.hits("node.memory");
    assert!(looks >= 5, "too quick, {looks} looks at the memory");
}
