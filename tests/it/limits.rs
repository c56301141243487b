//! Limits, pause and resume, seeds that come later, hosts that join the scope.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::support::audit_check::fetch_counts;
use lycosa::admin::Control;
use lycosa::crawl::node::Stop;
use lycosa::testweb::{TestWebConfig, TruthQuery};

use crate::support::{Ended, Sandbox, truth_any};

fn small() -> TestWebConfig {
    TestWebConfig { hosts: 4, pages: 25, links: 8, min_size: 1_000, max_size: 1_500, ..TestWebConfig::default() }
}

#[test]
fn a_page_limit_is_exact() {
    for max in [1, 7, 40] {
        let sandbox = Sandbox::new(small()).set(&format!("crawl.max_pages={max}"));
        let live = sandbox.start();
        assert_eq!(live.until_stop(), Stop::Pages);
        let ended = live.close();
        assert_eq!(ended.status.pages_stored, max, "{}", ended.report());
        assert_eq!(ended.asked().len() as u64, max);
    }
}

#[test]
fn a_page_limit_that_redirects_and_errors_eat_into_ends_the_crawl_all_the_same() {
    let web = TestWebConfig { redirects: 0.3, errors: 0.2, error_status: vec![404], flaky: 0.1, ..small() };
    let sandbox = Sandbox::new(web).set("crawl.max_pages=30");
    let live = sandbox.start();
    assert_eq!(live.until_stop(), Stop::Pages);
    let ended = live.close();
    assert_eq!(ended.status.pages_stored, 30, "{}", ended.report());
}

#[test]
fn a_byte_limit_ends_the_crawl_within_what_is_in_flight() {
    let sandbox = Sandbox::new(small()).set("crawl.max_bytes=20000");
    let live = sandbox.start();
    assert_eq!(live.until_stop(), Stop::Bytes);
    let ended = live.close();
    let most = 20_000 + 32 * 6_000;
    assert!((20_000..most).contains(&ended.status.bytes), "{}", ended.report());
}

#[test]
fn a_time_limit_ends_the_crawl() {
    let sandbox = Sandbox::new(small()).set("crawl.max_time=300ms").gap(Duration::from_millis(50));
    let live = sandbox.start();
    assert_eq!(live.until_stop(), Stop::Time);
    live.close();
}

#[test]
fn a_host_gets_its_budget_of_pages_and_no_more() {
    for quantum in [2, 100] {
        let sandbox = Sandbox::new(small())
            .set("traps.pages_per_host=6")
            .set(&format!("frontier.host_quantum={{pages={quantum},time=\"10s\"}}"));
        let ended = sandbox.crawl();
        assert_eq!(by_host(&ended), [6; 4], "quantum {quantum}");
        assert!(ended.status.rejected_by_reason.contains_key("host_budget"), "{}", ended.report());
    }
}

#[test]
fn what_a_host_had_before_a_restart_counts_towards_its_budget() {
    let sandbox = Sandbox::new(small()).set("traps.pages_per_host=6").set("crawl.max_pages=9");
    let live = sandbox.start();
    assert_eq!(live.until_stop(), Stop::Pages);
    assert!(by_host(&live.close()).iter().sum::<u32>() >= 9);
    let ended = sandbox.set("crawl.max_pages=1000").crawl();
    assert_eq!(by_host(&ended), [6; 4]);
}

/// How many pages of each host were asked for since the start of the web.
fn by_host(ended: &Ended) -> Vec<u32> {
    let mut hosts: BTreeMap<String, u32> = BTreeMap::new();
    for (url, n) in fetch_counts(&ended.entries) {
        *hosts.entry(url.split('/').nth(2).unwrap().to_owned()).or_default() += n;
    }
    hosts.into_values().collect()
}

#[test]
fn a_pause_stops_requests_and_a_resume_goes_on() {
    let sandbox = Sandbox::new(small()).gap(Duration::from_millis(5));
    let live = sandbox.start();
    live.until("some pages", |s| s.done > 10);
    live.control().pause().unwrap();
    // Nothing begins any more; what is in flight ends.
    live.until("the flight to end", |s| s.in_flight == 0 && live.node.is_quiet());
    let asked = sandbox.web.audit_len();
    std::thread::sleep(Duration::from_millis(300)); // that nothing happens cannot be awaited
    assert_eq!(sandbox.web.audit_len(), asked);
    assert!(live.control().status().idle_reason.contains("paused"));
    live.control().resume().unwrap();
    assert_eq!(live.until_stop(), Stop::Done);
    let ended = live.end();
    ended.assert_is(&sandbox.web.truth(truth_any()));
    ended.assert_none_twice();
    ended.assert_polite();
}

#[test]
fn a_disk_with_too_little_space_pauses_the_crawl_before_its_first_request() {
    let sandbox = Sandbox::new(small()).set("disk.pause_below=1000TiB");
    let live = sandbox.start_bare();
    live.during_watch(|| {
        live.until("the pause", |s| s.state == lycosa::telemetry::State::Paused);
        live.seed(&["http://h0.test/"]);
        assert!(live.control().status().idle_reason.contains("disk"));
    });
    let ended = live.close();
    assert!(ended.asked().is_empty());
    assert_eq!(ended.status.waiting, 1);
}

#[test]
fn seeds_may_come_while_it_runs_and_bring_their_hosts_into_the_scope() {
    let web = TestWebConfig { off_host: 0.3, ..small() };
    let sandbox = Sandbox::new(web).set("scope.mode=hosts").set("crawl.until_done=false");
    let live = sandbox.start();
    let first = sandbox.web.truth(TruthQuery::default());
    live.until("the first host to be done", |s| s.waiting + s.processing == 0 && s.done > 0);
    assert!(live.control().status().idle_reason.starts_with("the frontier is empty"));
    let report = live.seed(&["http://h1.test/", "http://h0.test/", "mailto:a@b"]);
    assert_eq!((report.accepted, report.known, report.rejected.len()), (1, 1, 1), "{report:?}");
    live.until("the second host to be done", |s| s.waiting + s.processing == 0 && s.done > first.len() as u64);
    let again = live.seed(&["http://h1.test/"]);
    assert_eq!((again.accepted, again.known), (0, 1));
    let ended = live.end();
    let asked = ended.asked();
    assert!(first.is_subset(&asked));
    let hosts: std::collections::BTreeSet<_> = asked.iter().map(|u| u.split('/').nth(2).unwrap()).collect();
    assert_eq!(hosts.into_iter().collect::<Vec<_>>(), ["h0.test", "h1.test"]);
    ended.assert_none_twice();
    // Links to the second host, rejected while it was out of scope, are taken up when they are found again only; but the
    // host's own pages are all linked from itself.
    assert!(asked.iter().filter(|u| u.contains("//h1.")).count() > 15, "{asked:?}");
}

#[test]
fn the_host_a_seed_redirects_to_joins_the_scope_also_after_a_restart() {
    let web = TestWebConfig { start_redirect: true, off_host: 0.2, ..small() };
    let sandbox = Sandbox::new(web).set("scope.mode=hosts");
    let live = sandbox.start();
    live.until("the redirect", |s| s.done >= 3);
    live.close();
    let ended = sandbox.crawl();
    ended.assert_is(&sandbox.web.truth(TruthQuery::default()));
    ended.assert_none_twice();
    assert!(ended.asked().iter().any(|u| u.contains("//h1.test/p/")));
}

#[test]
fn a_leading_www_changes_nothing_about_the_scope() {
    let sandbox = Sandbox::new(small()).set("scope.mode=hosts").set("crawl.seeds=[\"http://www.h0.test/\"]");
    let live = sandbox.start();
    let also = live.seed(&["http://h0.test/"]);
    assert_eq!(also.accepted, 1);
    assert_eq!(live.until_stop(), Stop::Done);
    let mut truth = sandbox.web.truth(TruthQuery::default());
    truth.insert("http://www.h0.test/".into());
    live.end().assert_is(&truth);
}
