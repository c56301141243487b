//! Narrow, then wide: the same set as a wide crawl, and nothing is asked for twice.

use lycosa::storage::keys::KeyRange;
use lycosa::storage::values::LiveSettings;
use lycosa::storage::{read, tables};
use lycosa::telemetry::StatusSnapshot;
use lycosa::testweb::{TestWebConfig, TruthQuery};
use serde_json::{Value, json};

use super::client::Admin;
use crate::cockpit::in_front_of;
use crate::site::{Site, html, none};
use crate::support::{Live, Sandbox, truth_any};

fn web() -> TestWebConfig {
    TestWebConfig { hosts: 5, pages: 20, links: 8, min_size: 300, max_size: 900, ..TestWebConfig::default() }
}

/// A crawl of the seed's host that does not end by itself.
fn narrow() -> Sandbox {
    Sandbox::new(web()).set("scope.mode=hosts").set("crawl.until_done=false")
}

fn idle(s: &StatusSnapshot) -> bool {
    s.waiting + s.processing == 0 && s.discovered > 0
}

fn until_idle(live: &Live<'_>) {
    live.until("an empty frontier", idle);
}

/// Widens, and waits until everything that was rejected has been judged again.
fn widen(admin: &Admin) -> Value {
    let made = admin.told("PATCH", "/api/v1/settings?readmit=true", &json!({"scope.mode": "any"}));
    admin.until_done(&made["job"])
}

#[test]
fn a_finished_narrow_crawl_that_is_widened_becomes_the_wide_one() {
    let sandbox = narrow();
    let live = sandbox.start();
    let admin = Admin::of(&live);
    until_idle(&live);
    let asked = sandbox.web.audit().iter().map(|e| e.host.clone()).collect::<std::collections::BTreeSet<_>>();
    assert_eq!(asked.len(), 1, "only the seed's host: {asked:?}");
    let job = widen(&admin);
    assert!(job["changed"].as_u64().unwrap() > 0, "{job}");
    until_idle(&live);
    let record: LiveSettings = read::meta(&*live.storage, ()).unwrap().unwrap();
    assert_eq!(record.readmit, None, "that it is done is noted");
    let again = admin.told("POST", "/api/v1/urls/readmit", &json!({}));
    assert_eq!(admin.until_done(&again)["changed"], 0, "twice changes nothing");
    drop(admin);
    let ended = live.end();
    ended.assert_is(&sandbox.web.truth(truth_any()));
    ended.assert_none_twice();
    ended.assert_polite();
    for line in ended.file("crawl.jsonl").lines() {
        let line: Value = serde_json::from_str(line).unwrap();
        assert_eq!(line["seed"], sandbox.web.start_url(), "{line}");
    }
}

#[test]
fn a_running_crawl_that_is_narrowed_and_widened_again_ends_as_the_wide_one() {
    let sandbox = Sandbox::new(web()).set("crawl.until_done=false");
    let live = sandbox.start();
    let admin = Admin::of(&live);
    live.until("some pages", |s| s.pages_stored >= 10);
    admin.force(&json!({"scope.mode": "hosts"}));
    until_idle(&live);
    let rejected = read::scan::<tables::Rejected>(&*live.storage, &KeyRange::all(), usize::MAX).unwrap();
    assert!(rejected.iter().any(|(_, value)| value.generation == 2), "queued URLs are turned away by the new rules");
    let lines = std::fs::read_to_string(sandbox.data().join("crawl.jsonl")).unwrap();
    assert!(lines.lines().any(|line| line.contains("\"reason\":\"scope\"")), "{lines}");
    let stored = lycosa::admin::status(&live.node).pages_stored;
    assert!(stored < sandbox.web.truth(truth_any()).len() as u64, "it was narrowed too late to tell anything");
    widen(&admin);
    until_idle(&live);
    drop(admin);
    let ended = live.end();
    ended.assert_is(&sandbox.web.truth(truth_any()));
    ended.assert_none_twice();
    ended.assert_polite();
}

#[test]
fn changes_in_quick_succession_lose_no_url() {
    let sandbox = Sandbox::new(TestWebConfig { hosts: 8, ..web() }).set("crawl.until_done=false");
    let live = sandbox.start();
    let admin = Admin::of(&live);
    for pages in [5, 15, 25, 40, 60] {
        live.until("more pages", |s| s.pages_stored >= pages || idle(s));
        admin.force(&json!({"scope.mode": "hosts", "scope.exclude": ["/[0-9]*7"]}));
        widen_all(&admin);
    }
    until_idle(&live);
    drop(admin);
    let ended = live.end();
    ended.assert_is(&sandbox.web.truth(truth_any()));
    ended.assert_none_twice();
}

/// Takes both back, while URLs are on their way that were judged by the rules of a moment before.
fn widen_all(admin: &Admin) {
    let wide = json!({"scope.mode": null, "scope.exclude": null});
    let made = admin.told("PATCH", "/api/v1/settings?readmit=true", &wide);
    admin.until_done(&made["job"]);
}

#[test]
fn budgets_of_shapes_hold_for_what_is_judged_again_unless_they_are_named() {
    let links: String = (0..60).map(|n| format!("<a href=/p/{n}>{n}</a>")).collect();
    let site = Site::http(move |_, path| if path == "/robots.txt" { none() } else { html(&format!("{path}{links}")) });
    let sandbox = in_front_of(&site).set("traps.pages_per_pattern=15");
    let live = sandbox.start();
    let admin = Admin::of(&live);
    live.seed(&["http://a.test/"]);
    let done = |n: u64| live.until("so many pages", |s| s.done == n && idle(s));
    let readmitted = |told: &Value| admin.until_done(told)["changed"].as_u64().unwrap();
    done(16);
    let other = admin.told("PATCH", "/api/v1/settings?readmit=true", &json!({"scope.skip_extensions": ["zip"]}));
    assert_eq!(readmitted(&other["job"]), 0, "a change that has nothing to do with them");
    let higher = admin.told("PATCH", "/api/v1/settings?readmit=true", &json!({"traps.pages_per_pattern": 20}));
    assert_eq!(readmitted(&higher["job"]), 5);
    done(21);
    assert_eq!(readmitted(&admin.told("POST", "/api/v1/urls/readmit", &json!({"reason": "pattern_budget"}))), 40);
    done(61);
    drop(admin);
    live.end().assert_none_twice();
}

/// A list that goes on and on and says nothing.
fn without_end() -> Site {
    Site::http(|_, path| match path.strip_prefix("/list/").and_then(|n| n.parse::<u32>().ok()) {
        Some(n) => html(&format!("<p>Nothing here<a href=/list/{}>on</a>", n + 1)),
        None if path == "/" => html("<p>All of it<a href=/list/1>on</a>"),
        None => none(),
    })
}

#[test]
fn what_was_held_back_before_a_restart_is_counted_by_reason_and_taken_up_again() {
    let site = without_end();
    let sandbox = in_front_of(&site).set("traps.barren_pages=10");
    let live = sandbox.start();
    live.seed(&["http://a.test/"]);
    live.until("something to be held back", |s| s.held_back.urls == 1 && idle(s));
    let before = lycosa::admin::status(&live.node).done;
    live.end();
    let live = sandbox.start();
    let admin = Admin::of(&live);
    let held = lycosa::admin::status(&live.node).held_back;
    assert_eq!((held.urls, held.reasons.get("barren"), held.shapes.len()), (1, Some(&1), 0));
    let why = admin.told("GET", "/api/v1/why-idle", &Value::Null).to_string();
    assert!(why.contains("1 URL is held back (barren)"), "{why}");
    let job = admin.told("POST", "/api/v1/urls/readmit", &json!({"held_back": true}));
    assert_eq!(admin.until_done(&job)["changed"], 1);
    live.until("as many pages more", |s| s.done >= before + 10 && s.held_back.urls == 1 && idle(s));
    assert_eq!(lycosa::admin::status(&live.node).held_back.shapes.len(), 1, "and told of anew");
    drop(admin);
    live.end().assert_none_twice();
}

#[test]
fn what_is_held_back_is_shown_by_shape_and_taken_up_again_by_one_command() {
    let site = without_end();
    let sandbox = in_front_of(&site).set("traps.barren_pages=10");
    let live = sandbox.start();
    let admin = Admin::of(&live);
    live.seed(&["http://a.test/"]);
    let held = |urls: u64| live.until("something to be held back", |s| s.held_back.urls == urls && idle(s));
    held(1);
    let status = lycosa::admin::status(&live.node);
    assert!((10..20).contains(&status.done), "{}", status.done);
    let [shape] = &status.held_back.shapes[..] else { panic!("{:?}", status.held_back) };
    assert_eq!((shape.host.as_str(), shape.reason.as_str(), shape.urls), ("a.test", "barren", 1));
    assert!(shape.example.starts_with("http://a.test/list/"), "{}", shape.example);
    let why = admin.told("GET", "/api/v1/why-idle", &Value::Null);
    let codes: Vec<_> = why["findings"].as_array().unwrap().iter().map(|finding| &finding["code"]).collect();
    assert!(codes.contains(&&json!("held_back")), "{why}");
    for round in 2..4 {
        let job = admin.told("POST", "/api/v1/urls/readmit", &json!({"held_back": true}));
        assert_eq!(admin.until_done(&job)["changed"], 1);
        live.until("as many pages more", |s| s.done >= 10 * round && s.held_back.urls == 1 && idle(s));
    }
    let other = admin.told("POST", "/api/v1/urls/readmit", &json!({}));
    assert_eq!(admin.until_done(&other)["changed"], 0, "it is not for the rules to take it up");
    drop(admin);
    live.end().assert_none_twice();
}

#[test]
fn a_change_outlives_a_restart_and_what_it_admits_is_taken_up_when_asked_for() {
    let sandbox = narrow();
    let live = sandbox.start();
    let admin = Admin::of(&live);
    until_idle(&live);
    admin.set(&json!({"scope.mode": "any"}));
    drop(admin);
    live.end().assert_is(&sandbox.web.truth(TruthQuery::default()));
    let live = sandbox.start();
    let admin = Admin::of(&live);
    assert_eq!(admin.get("scope.mode"), (json!("any"), "admin".to_owned()));
    assert_eq!(live.node.crawl.live.generation(), 2);
    let job = admin.told("POST", "/api/v1/urls/readmit", &json!({"reason": "scope"}));
    admin.until_done(&job);
    until_idle(&live);
    drop(admin);
    let ended = live.end();
    ended.assert_is(&sandbox.web.truth(truth_any()));
    ended.assert_none_twice();
}

#[test]
fn a_kill_right_after_the_change_costs_nothing_for_the_next_start_goes_on_by_itself() {
    let sandbox = narrow();
    let live = sandbox.start();
    let admin = Admin::of(&live);
    until_idle(&live);
    live.until_all_is_back();
    admin.told("POST", "/api/v1/pause", &Value::Null); // so that nothing is in flight at the kill
    admin.told("PATCH", "/api/v1/settings?readmit=true", &json!({"scope.mode": "any"}));
    let fork = sandbox.fork();
    let record: LiveSettings = read::meta(fork.storage(), ()).unwrap().unwrap();
    assert!(record.overlay.contains_key("scope.mode"));
    drop(admin);
    live.drop_at_once();
    let sandbox = sandbox.resume(fork);
    let live = sandbox.start();
    let admin = Admin::of(&live);
    admin.told("POST", "/api/v1/resume", &Value::Null); // the pause was kept
    if record.readmit.is_some() {
        admin.until_done_of_kind("readmit"); // else the kill came after its end
    }
    until_idle(&live);
    drop(admin);
    let ended = live.end();
    ended.assert_is(&sandbox.web.truth(truth_any()));
    ended.assert_none_twice();
}

#[test]
fn a_crawl_until_done_does_not_end_while_rejected_urls_are_judged_again() {
    let sandbox = narrow();
    let live = sandbox.start();
    let admin = Admin::of(&live);
    until_idle(&live);
    let made =
        admin.told("PATCH", "/api/v1/settings?readmit=true", &json!({"scope.mode": "any", "crawl.until_done": true}));
    assert_eq!(made["change"]["generation"], 2);
    assert_eq!(live.until_stop(), lycosa::crawl::node::Stop::Done);
    drop(admin);
    let ended = live.end();
    ended.assert_is(&sandbox.web.truth(truth_any()));
    ended.assert_none_twice();
}

#[test]
fn other_rules_in_the_file_at_a_restart_turn_queued_urls_away_as_well() {
    let sandbox = Sandbox::new(web()).set("crawl.until_done=false");
    let live = sandbox.start();
    live.until("some pages", |s| s.pages_stored >= 10);
    let others = live.close().asked();
    let sandbox = sandbox.set("scope.mode=hosts");
    let live = sandbox.start();
    assert_eq!(live.node.crawl.live.generation(), 2);
    until_idle(&live);
    let ended = live.end();
    let truth = sandbox.web.truth(TruthQuery::default());
    let new: Vec<_> = ended.asked().difference(&others).filter(|url| !truth.contains(*url)).cloned().collect();
    assert!(new.is_empty(), "asked for although the rules do not want it any more: {new:?}");
    assert!(truth.is_subset(&ended.asked()));
    ended.assert_none_twice();
}
