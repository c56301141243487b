//! Hosts are asked one request at a time and never early: by the web's own log (I1).

use std::collections::BTreeMap;
use std::time::Duration;

use lycosa::testweb::robots::RobotsMode;
use lycosa::testweb::{AuditEntry, TestWebConfig};

use crate::support::{Manners, Sandbox, check_manners, truth_any};

const MS: fn(u64) -> Duration = Duration::from_millis;

fn small() -> TestWebConfig {
    TestWebConfig { hosts: 4, pages: 12, links: 8, min_size: 300, max_size: 1_500, ..TestWebConfig::default() }
}

#[test]
fn the_gap_is_kept_from_the_end_of_each_answer_robots_included() {
    let web = TestWebConfig { robots: RobotsMode::Mixed, latency_ms: 3, jitter_ms: 8, ..small() };
    let sandbox = Sandbox::new(web).gap(MS(40));
    let ended = sandbox.crawl();
    ended.assert_is(&sandbox.web.truth(truth_any()));
    ended.assert_none_twice();
    ended.assert_polite();
}

#[test]
fn a_slow_answer_stretches_the_gap_by_the_factor() {
    let web = TestWebConfig { hosts: 2, pages: 6, latency_ms: 30, ..small() };
    let sandbox = Sandbox::new(web).set("politeness.delay_factor=2");
    let ended = sandbox.crawl();
    ended.assert_is(&sandbox.web.truth(truth_any()));
    check_manners(&ended.entries, &Manners::gap(MS(60)));
}

#[test]
fn a_crawl_delay_is_obeyed_from_the_answer_that_names_it() {
    let web = TestWebConfig { robots: RobotsMode::CrawlDelay(0.12), hosts: 3, pages: 8, ..small() };
    let sandbox = Sandbox::new(web);
    let ended = sandbox.crawl();
    ended.assert_is(&sandbox.web.truth(truth_any()));
    let gaps = (0..3).map(|n| (format!("h{n}.test"), MS(120))).collect::<BTreeMap<_, _>>();
    check_manners(&ended.entries, &Manners { gaps, ..Manners::gap(MS(2)) });
}

#[test]
fn robots_txt_is_asked_for_once_a_host_and_before_its_pages() {
    let sandbox = Sandbox::new(TestWebConfig { robots: RobotsMode::Allow, ..small() });
    let ended = sandbox.crawl();
    let mut first: BTreeMap<&str, &AuditEntry> = BTreeMap::new();
    for entry in &ended.entries {
        first.entry(&entry.host).or_insert(entry);
    }
    assert_eq!(first.len(), 4);
    assert!(first.values().all(|e| e.path == "/robots.txt"), "{first:?}");
    let asked = crate::support::audit_check::robots_counts(&ended.entries);
    assert!(asked.values().all(|n| *n == 1), "{asked:?}");
}

#[test]
fn a_retry_after_holds_for_the_whole_host() {
    let web = TestWebConfig { errors: 0.1, error_status: vec![503], retry_after: 1, hosts: 3, pages: 10, ..small() };
    let sandbox = Sandbox::new(web).set("fetch.retries=1");
    let ended = sandbox.crawl();
    ended.assert_is(&sandbox.web.truth(truth_any()));
    ended.assert_polite();
    let mut refused = 0;
    for entry in ended.entries.iter().filter(|e| e.status == 503) {
        refused += 1;
        let next = ended
            .entries
            .iter()
            .filter(|e| e.host == entry.host && e.t_request_us > entry.t_end_us)
            .min_by_key(|e| e.t_request_us);
        if let Some(next) = next {
            let gap = Duration::from_micros(next.t_request_us - entry.t_end_us);
            assert!(gap >= MS(999), "{} {gap:?} after {} said 503", next.url(), entry.url());
        }
    }
    assert!(refused > 0);
}

#[test]
fn a_site_of_one_s_own_may_be_asked_several_times_at_once() {
    let web = TestWebConfig { latency_ms: 20, hosts: 1, pages: 40, off_host: 0.0, ..small() };
    let own = r#"host=[{match="*.test",max_connections=3,min_delay="1ms"}]"#;
    let sandbox = Sandbox::new(web).set(own);
    let ended = sandbox.crawl();
    ended.assert_is(&sandbox.web.truth(truth_any()));
    ended.assert_none_twice();
    let most = crate::support::audit_check::max_in_flight_per_host(&ended.entries);
    assert!(most.values().all(|n| (2..=3).contains(n)), "{most:?}");
}

#[test]
fn a_robots_txt_that_fails_closes_the_host_until_it_answers() {
    let web = TestWebConfig { robots: RobotsMode::Failing, hosts: 1, pages: 5, ..small() };
    let sandbox = Sandbox::new(web).set("crawl.until_done=false");
    let live = sandbox.start();
    live.until("robots.txt to be asked for twice", |_| sandbox.web.audit_len() >= 2);
    let ended = live.close();
    assert!(ended.asked().is_empty(), "{:?}", ended.asked());
    assert_eq!(ended.status.waiting, 1);
    check_manners(&ended.entries, &Manners::gap(MS(999)));
}
