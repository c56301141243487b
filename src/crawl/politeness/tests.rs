//! The lanes of a host alone: no fetcher, no frontier; the clock stands still until it is moved.

use std::time::Duration;

use actix::System;

use super::*;
use crate::crawl::bench::Bench;
use crate::crawl::fetcher::{Fetch, FetchPurpose, Report, RobotsAnswer};
use crate::crawl::frontier::Want;
use crate::domain::outcome::{Answer, FetchOutcome};
use crate::domain::politeness::{Pace, PaceSignal};
use crate::storage::values::HostState;
use crate::storage::{Batch, Storage as _, tables};

/// The gap of the settings below; an answer's end is rounded up to a whole millisecond.
const GAP: Duration = Duration::from_millis(20 + 1);

/// With these links queued.
fn bench(links: &[(&str, u16)]) -> Bench {
    let bench = Bench::new(&["dns.overrides={ '*.test' = '127.0.0.1:8500' }", "politeness.min_delay=20ms"]);
    bench.queue(links);
    bench
}

/// Starts the host and gives it all that is queued.
async fn started(bench: &Bench) -> Mailbox<Host> {
    let state = crate::storage::read::host_state(&*bench.storage, bench.host("h.test")).unwrap().unwrap();
    let mailbox = start(&bench.node, bench.host("h.test"), &state);
    assert_eq!(bench.frontier.next::<Want>().await.host, bench.host("h.test").host);
    mailbox.tell(Leases(bench.leases()));
    mailbox
}

/// The slot goes back, and the host hears what became of the request.
fn answer(fetch: Fetch, status: u16, text: Option<&str>) {
    let Fetch { slot, purpose, reply, .. } = fetch;
    let text = text.map(|text| text.as_bytes().to_vec());
    let robots = RobotsAnswer { status, text, location: None, records: Vec::new() };
    let robots = matches!(purpose, FetchPurpose::Robots { .. }).then_some(robots);
    slot.finish(Duration::ZERO, PaceSignal::Ok);
    drop(purpose);
    let _ = reply.send(Report { outcome: FetchOutcome::Answer(Answer::of(status)), robots });
}

/// Everything that can go on without the clock has gone on.
async fn quiet() {
    for _ in 0..50 {
        tokio::task::yield_now().await;
    }
}

#[test]
fn a_host_started_with_a_state_from_before_its_back_off_asks_for_nothing() {
    let bench = bench(&[("http://h.test/a", 1)]);
    let at = bench.host("h.test");
    let old = crate::storage::read::host_state(&*bench.storage, at).unwrap().unwrap();
    let mut pace = Pace::new();
    let throttled = PaceSignal::Throttled { retry_after: Some(Duration::from_secs(7_200)) };
    let rules = bench.node.crawl.live().host_rules("h.test").pace;
    pace.finished(bench.node.clock.now(), Duration::ZERO, throttled, &rules);
    let mut batch = Batch::new();
    batch.put::<tables::HostState>(&at, &HostState { pace: pace.encode(), ..old.clone() });
    bench.storage.write(&batch).unwrap();
    System::new().block_on(async {
        let mailbox = start(&bench.node, at, &old);
        assert_eq!(bench.frontier.next::<Want>().await.host, at.host);
        mailbox.tell(Leases(bench.leases()));
        quiet().await;
        bench.node.clock.advance(GAP * 10);
        quiet().await;
        assert!(bench.fetcher.take::<Fetch>().is_empty(), "two hours are not over");
        assert_eq!(bench.node.slots.pace_of(&at.host).map(|pace| pace.earliest()), Some(pace.earliest()));
        mailbox.tell(Retire);
    });
}

#[test]
fn robots_txt_comes_first_and_then_one_request_at_a_time_each_a_gap_after_the_last_answer() {
    let bench = bench(&[("http://h.test/a", 1), ("http://h.test/b", 1)]);
    System::new().block_on(async {
        let mailbox = started(&bench).await;
        let robots = bench.fetcher.next::<Fetch>().await;
        assert_eq!(robots.url.tail(), "/robots.txt");
        assert!(matches!(robots.purpose, FetchPurpose::Robots { cross_host: false }));
        quiet().await;
        assert!(bench.fetcher.take::<Fetch>().is_empty(), "nothing is asked before its rules are known");
        answer(robots, 404, None);
        for tail in ["/a", "/b"] {
            quiet().await;
            assert!(bench.fetcher.take::<Fetch>().is_empty(), "the gap is not over before {tail}");
            bench.node.clock.advance(GAP);
            let page = bench.fetcher.next::<Fetch>().await;
            assert_eq!(page.url.tail(), tail);
            bench.node.clock.advance(GAP * 10);
            quiet().await;
            assert!(bench.fetcher.take::<Fetch>().is_empty(), "the slot is taken");
            answer(page, 200, None);
        }
        mailbox.tell(Retire);
    });
}

#[test]
fn what_robots_txt_forbids_is_turned_away_without_a_request() {
    let bench = bench(&[("http://h.test/private", 1)]);
    System::new().block_on(async {
        let mailbox = started(&bench).await;
        answer(bench.fetcher.next::<Fetch>().await, 200, Some("User-agent: *\nDisallow: /private"));
        let parsed = bench.deduper.next::<crate::crawl::deduper::Parsed>().await;
        let rejected = crate::storage::ledger::Ending::Rejected(crate::domain::reason::Rejection::Robots);
        assert_eq!((parsed.lease.url.tail(), parsed.ending.clone()), ("/private", rejected));
        assert!(bench.fetcher.take::<Fetch>().is_empty());
        mailbox.tell(Retire);
    });
}

#[test]
fn a_request_that_dies_gives_its_url_and_its_slot_back() {
    let bench = bench(&[("http://h.test/a", 1), ("http://h.test/b", 1)]);
    System::new().block_on(async {
        let mailbox = started(&bench).await;
        answer(bench.fetcher.next::<Fetch>().await, 404, None);
        bench.node.clock.advance(GAP);
        drop(bench.fetcher.next::<Fetch>().await); // its Fetcher died
        bench.node.clock.advance(GAP);
        let next = bench.fetcher.next::<Fetch>().await;
        assert_eq!(next.url.tail(), "/b");
        let returned = bench.frontier.take::<crate::crawl::frontier::LeaseReturned>();
        let a = bench.node.prints.url(&bench.url("http://h.test/a"));
        assert_eq!(returned.iter().map(|message| message.0.url_key).collect::<Vec<_>>(), [a]);
        mailbox.tell(Retire);
    });
}
