//! The daemon ends itself: by its budget, by its watchdog, by a page that kills it. The next start goes on.

use std::collections::BTreeSet;

use lycosa::testweb::{AuditEntry, TestWebConfig};

use super::poison::plain_page;
use crate::sandbox::{Sandbox, is_rules};

const SETTINGS: &str = "crawl.max_depth = \"none\"\npoliteness.min_delay = \"5ms\"\npoliteness.delay_factor = 0\n\
    fetch.concurrency = 8\nfetch.threads = 1\nparse.threads = 2\nstore.memory = \"32MiB\"\n";

fn sandbox() -> Sandbox {
    Sandbox::new(TestWebConfig { hosts: 3, pages: 50, links: 8, latency_ms: 3, ..TestWebConfig::default() }, SETTINGS)
}

fn asked(sandbox: &Sandbox) -> BTreeSet<String> {
    sandbox.web.audit().iter().map(AuditEntry::url).filter(|url| !is_rules(url)).collect()
}

/// A life that ends with 70; gives its log.
fn ends_with_70(sandbox: &mut Sandbox, faults: &str, set: &str) -> String {
    let mut daemon = sandbox.start(&["--until-done", "--set", set], Some(faults));
    let status = daemon.wait();
    assert_eq!(status.code(), Some(70), "{}", daemon.log());
    daemon.log()
}

/// Goes on to the truth; gives the log of that last life.
fn goes_on(sandbox: &mut Sandbox) -> String {
    let log = sandbox.finish();
    assert_eq!(asked(sandbox), sandbox.truth());
    assert_eq!(sandbox.index().keys().filter(|u| !is_rules(u)).count(), sandbox.truth().len());
    log
}

#[test]
fn a_budget_that_is_spent_ends_the_daemon_with_70_closed_cleanly_and_the_next_start_goes_on() {
    let mut sandbox = sandbox();
    for (faults, actor) in [
        ("deduper.parsed=panic@6-1000", "deduper"),
        ("frontier.committed=panic@6-1000", "frontier"),
        ("parser.parse=panic@4-1000", "parser"),
        ("fetcher.fetch=panic@6-1000", "fetcher"),
        ("frontier.new=panic@1-1000", "frontier"),
    ] {
        let log = ends_with_70(&mut sandbox, faults, "supervision.budget=3");
        assert!(log.contains(&format!("{actor} died too often")), "{log}");
        assert!(!log.contains("not closed cleanly") && !log.contains("has not ended in time"), "{log}");
        assert_eq!(sandbox.open_files(), [""; 0], "{log}");
    }
    let log = goes_on(&mut sandbox);
    assert!(!log.contains("did not end cleanly"), "{log}");
}

#[test]
fn a_store_that_spends_its_budget_is_repaired_by_the_next_start() {
    let mut sandbox = sandbox();
    let log = ends_with_70(&mut sandbox, "store.group=panic@8-1000", "supervision.budget=3");
    assert!(log.contains("store died too often"), "{log}");
    let log = goes_on(&mut sandbox);
    assert!(log.contains("did not end cleanly"), "{log}");
}

#[test]
fn a_blocked_thread_ends_the_daemon_with_70_and_the_next_start_goes_on() {
    let mut sandbox = sandbox();
    for (point, thread) in [("store.commit", "store"), ("parser.page", "parser")] {
        let faults = format!("{point}=delay:10m@5");
        let log = ends_with_70(&mut sandbox, &faults, "supervision.blocked_after=3s");
        assert!(
            log.contains(&format!("a thread is blocked, the process ends; start it again: thread={thread}")),
            "{log}"
        );
    }
    let log = goes_on(&mut sandbox);
    assert!(
        log.contains("pages were in hand when the process ended"),
        "a page that blocks its thread has a strike: {log}"
    );
}

#[test]
fn a_page_that_ends_the_process_each_time_is_given_up_at_the_fifth_and_its_neighbours_are_not() {
    let mut sandbox = sandbox();
    let truth = sandbox.truth();
    let poison = plain_page(&sandbox.web, &truth);
    let faults = format!("parser.page {poison}=kill@1-1000");
    for life in 1..=5 {
        let mut daemon = sandbox.start(&["--until-done"], Some(&faults));
        assert_eq!(daemon.wait().code(), None, "life {life}\n{}", daemon.log());
    }
    let mut last = sandbox.start(&["--until-done"], Some(&faults));
    assert_eq!(last.wait().code(), Some(0), "{}", last.log());
    assert!(last.log().contains(&format!("repeated crashes: url={poison}")), "{}", last.log());
    let of_it: Vec<_> = sandbox.lines().into_iter().filter(|line| line["url"] == *poison).collect();
    assert_eq!(of_it.len(), 1);
    assert_eq!(of_it[0]["reason"], "poison");
    assert_eq!(sandbox.web.audit().iter().filter(|e| e.url() == poison).count(), 5);
    let given_up = sandbox.lines().iter().filter(|line| line["reason"] == "poison").count();
    assert_eq!(given_up, 1, "what was in hand beside it is innocent");
    assert!(asked(&sandbox).len() * 10 > truth.len() * 9);
}
