//! What a change would do is told beforehand, and is what it does.

use lycosa::testweb::TestWebConfig;
use serde_json::{Value, json};

use super::client::Admin;
use crate::support::Sandbox;

#[test]
fn a_trial_of_all_tells_exactly_what_the_change_does_and_a_sample_says_that_it_is_one() {
    let web =
        TestWebConfig { hosts: 70, pages: 6, links: 30, min_size: 300, max_size: 900, ..TestWebConfig::default() };
    let sandbox = Sandbox::new(web).set("crawl.until_done=false");
    let live = sandbox.start();
    let admin = Admin::of(&live);
    live.until("a queue", |s| s.pages_stored >= 40);
    admin.told("POST", "/api/v1/pause", &Value::Null);
    live.until("quiet", |_| live.node.is_quiet());
    let narrower = json!({"scope.mode": "hosts", "traps.max_segments": 4});
    let sample = admin.told("PATCH", "/api/v1/settings?dry_run=true", &narrower);
    let job = admin.told("POST", "/api/v1/settings/dry-run", &narrower);
    let all = admin.until_done(&job)["result"].clone();
    assert_eq!(admin.told("GET", "/api/v1/settings/history", &Value::Null), json!([]), "nothing is changed");
    let n = |part: &Value| part.as_u64().unwrap();
    let turned = n(&all["queued"]["changing"]["scope"]);
    assert_eq!((&all["sample"], &all["queued"]["looked"]), (&json!(false), &all["queued"]["of"]));
    assert!(turned > 0, "{all}");
    assert!(all["queued"]["examples"][0]["rule"].as_str().is_some_and(|rule| rule.contains("test")), "{all}");
    if n(&sample["queued"]["looked"]) < n(&sample["queued"]["of"]) {
        assert_eq!(sample["sample"], true);
        assert!(n(&sample["queued"]["changing"]["scope"]) <= turned);
    }
    // Now for earnest.
    admin.force(&narrower);
    admin.told("POST", "/api/v1/resume", &Value::Null);
    live.until("an empty frontier", |s| s.waiting + s.processing == 0);
    let rejected = live.node.crawl.counters().rejected_total();
    assert!(rejected >= turned, "{rejected} of {turned}");
    let wider = json!({"scope.mode": "any", "traps.max_segments": null});
    let back = admin.until_done(&admin.told("POST", "/api/v1/settings/dry-run", &wider))["result"].clone();
    assert_eq!(n(&back["rejected"]["changing"]["scope"]), rejected, "{back}");
    assert_eq!(back["rejected"]["of"], rejected);
    let made = admin.told("PATCH", "/api/v1/settings?readmit=true", &wider);
    assert_eq!(admin.until_done(&made["job"])["changed"], rejected);
    live.until("an empty frontier", |s| s.waiting + s.processing == 0);
    drop(admin);
    let ended = live.end();
    ended.assert_is(&sandbox.web.truth(crate::support::truth_any()));
    ended.assert_none_twice();
}
