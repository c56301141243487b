//! Other delays and other limits are taken up by hosts that are at work.

use std::collections::BTreeMap;
use std::time::Duration;

use lycosa::crawl::node::Stop;
use lycosa::testweb::{AuditEntry, TestWebConfig};
use serde_json::json;

use super::client::Admin;
use crate::support::{Sandbox, truth_any};

fn web() -> TestWebConfig {
    TestWebConfig { hosts: 3, pages: 12, links: 8, min_size: 300, max_size: 900, ..TestWebConfig::default() }
}

/// Gaps of each host between an answer and the next request, from the second request after `since` on: the first may have
/// been on its way.
fn gaps_since(entries: &[AuditEntry], since: usize) -> Vec<(String, Duration)> {
    let mut hosts: BTreeMap<&str, Vec<&AuditEntry>> = BTreeMap::new();
    for entry in entries.iter().skip(since) {
        hosts.entry(&entry.host).or_default().push(entry);
    }
    let mut gaps = Vec::new();
    for (host, mut entries) in hosts {
        entries.sort_by_key(|e| e.t_request_us);
        let pairs = entries.windows(2);
        gaps.extend(
            pairs.map(|p| (host.to_owned(), Duration::from_micros(p[1].t_request_us.saturating_sub(p[0].t_end_us)))),
        );
    }
    gaps
}

#[test]
fn i1_a_longer_delay_holds_for_hosts_at_work_and_a_host_of_its_own_keeps_its_own() {
    let sandbox = Sandbox::new(TestWebConfig { pages: 30, ..web() }).gap(Duration::from_millis(10));
    let live = sandbox.start();
    let admin = Admin::of(&live);
    live.until("some pages", |s| s.pages_stored >= 5);
    admin.told("PUT", "/api/v1/settings/hosts/h1.test", &json!({"min_delay": "60ms"}));
    admin.set(&json!({"politeness.min_delay": "25ms"}));
    let since = sandbox.web.audit_len();
    assert_eq!(live.until_stop(), Stop::Done);
    drop(admin);
    let ended = live.end();
    ended.assert_is(&sandbox.web.truth(truth_any()));
    ended.assert_polite();
    let gaps = gaps_since(&ended.entries, since);
    assert!(gaps.len() > 10, "it was changed too late to tell anything: {gaps:?}");
    for (host, gap) in gaps {
        let least = Duration::from_millis(if host == "h1.test" { 59 } else { 24 }); // the node's clock rounds down
        assert!(gap >= least, "I1: {host} was asked after {gap:?}");
    }
}

#[test]
fn a_limit_that_is_lifted_lets_a_crawl_that_stood_at_it_go_on() {
    let sandbox = Sandbox::new(web()).set("crawl.max_pages=7");
    let live = sandbox.start();
    let admin = Admin::of(&live);
    live.until("the limit", |s| s.pages_stored == 7);
    assert_eq!(admin.get("crawl.max_pages"), (json!(7), "--set".to_owned()));
    admin.set(&json!({"crawl.max_pages": ""}));
    assert_eq!(admin.get("crawl.max_pages"), (json!(null), "admin".to_owned()));
    assert_eq!(live.until_stop(), Stop::Done);
    drop(admin);
    let ended = live.end();
    ended.assert_is(&sandbox.web.truth(truth_any()));
    ended.assert_none_twice();
}

#[test]
fn a_limit_that_is_set_ends_the_crawl() {
    let sandbox = Sandbox::new(web());
    let live = sandbox.start();
    let admin = Admin::of(&live);
    live.until("some pages", |s| s.pages_stored >= 3);
    admin.force(&json!({"crawl.max_pages": 4}));
    assert_eq!(live.until_stop(), Stop::Pages);
    drop(admin);
    live.close().assert_none_twice();
}
