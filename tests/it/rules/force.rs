//! A change that its author may not mean is made only by who says so.

use lycosa::crawl::node::Stop;
use lycosa::testweb::TestWebConfig;
use serde_json::{Value, json};

use super::client::Admin;
use crate::support::Sandbox;

fn detail(problem: &Value) -> &str {
    problem["detail"].as_str().unwrap()
}

#[test]
fn a_budget_below_the_count_ends_the_crawl_only_by_force() {
    let web = TestWebConfig { hosts: 2, pages: 30, ..TestWebConfig::default() };
    let sandbox = Sandbox::new(web).set("crawl.until_done=false");
    let live = sandbox.start();
    let admin = Admin::of(&live);
    live.until("pages", |s| s.pages_stored >= 5);
    let less = json!({"crawl.max_pages": 5});
    let (status, problem) = admin.ask("PATCH", "/api/v1/settings", &less.to_string());
    assert_eq!(status, 409, "{problem}");
    for part in ["the crawl would end at once", "pages are stored, crawl.max_pages is 5", "?force=true"] {
        assert!(detail(&problem).contains(part), "{problem}");
    }
    let trial = admin.told("PATCH", "/api/v1/settings?dry_run=true", &less);
    assert!(trial["warnings"][0].as_str().is_some_and(|w| w.contains("crawl.max_pages is 5")), "{trial}");
    assert_eq!(admin.get("crawl.max_pages").0, Value::Null);
    assert_eq!(admin.set(&json!({"crawl.max_pages": 1_000_000}))["change"]["generation"], 2);
    admin.force(&less);
    assert_eq!(live.until_stop(), Stop::Pages);
    drop(admin);
    live.close();
}

#[test]
fn most_of_a_queue_is_turned_away_only_by_force_also_by_an_undo() {
    let web =
        TestWebConfig { hosts: 70, pages: 6, links: 30, min_size: 300, max_size: 900, ..TestWebConfig::default() };
    let sandbox = Sandbox::new(web).set("crawl.until_done=false");
    let live = sandbox.start();
    let admin = Admin::of(&live);
    live.until("a queue", |s| s.pages_stored >= 40);
    admin.told("POST", "/api/v1/pause", &Value::Null);
    live.until("quiet", |_| live.node.is_quiet());
    let narrower = json!({"scope.mode": "hosts"});
    let (status, problem) = admin.ask("PATCH", "/api/v1/settings", &narrower.to_string());
    assert!(status == 409 && detail(&problem).contains("most of the queue would be turned away"), "{problem}");
    admin.set(&json!({"politeness.delay_factor": 0.5})); // judges nobody
    admin.force(&narrower);
    admin.set(&json!({"scope.mode": "any"}));
    let (status, problem) = admin.ask("POST", "/api/v1/settings/undo", "");
    assert!(status == 409 && detail(&problem).contains("?force=true"), "{problem}");
    assert_eq!(admin.get("scope.mode").0, "any");
    let undone = admin.told("POST", "/api/v1/settings/undo?force=true", &Value::Null);
    assert_eq!((&undone["change"]["undoes"], admin.get("scope.mode").0), (&json!(4), json!("hosts")));
    admin.told("POST", "/api/v1/resume", &Value::Null);
    live.until("an empty frontier", |s| s.waiting + s.processing == 0);
    drop(admin);
    live.end();
}
