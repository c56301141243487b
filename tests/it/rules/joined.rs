//! Seeds added while the crawl runs stay in the scope whatever modes it goes through.

use lycosa::domain::url::{Canonicaliser, CleanRules};
use lycosa::storage::read;
use lycosa::telemetry::StatusSnapshot;
use lycosa::testweb::TestWebConfig;
use serde_json::json;

use super::client::Admin;
use crate::support::{Live, Sandbox};

fn narrow() -> Sandbox {
    let web = TestWebConfig { hosts: 4, pages: 6, links: 4, min_size: 300, max_size: 900, ..TestWebConfig::default() };
    Sandbox::new(web).set("scope.mode=hosts").set("crawl.until_done=false")
}

fn until_idle(live: &Live<'_>) {
    live.until("an empty frontier", |s: &StatusSnapshot| s.waiting + s.processing == 0 && s.discovered > 0);
}

fn is_wanted(live: &Live<'_>, url: &str) -> bool {
    let url = Canonicaliser::new(CleanRules::default()).parse(url).unwrap();
    live.node.crawl.scope.read().unwrap().judge(&url, 0).is_ok()
}

fn wanted(live: &Live<'_>) -> [bool; 4] {
    [0, 1, 2, 3].map(|host| is_wanted(live, &format!("http://h{host}.test/any")))
}

#[test]
fn seeds_added_before_and_under_any_are_in_the_scope_of_hosts_also_after_a_restart() {
    let sandbox = narrow();
    let live = sandbox.start();
    let admin = Admin::of(&live);
    let seed =
        |host: &str| admin.told("POST", "/api/v1/seeds", &json!({"seeds": [{"url": format!("http://{host}.test/")}]}));
    until_idle(&live);
    seed("h1");
    admin.set(&json!({"scope.mode": "any"}));
    seed("h2");
    admin.force(&json!({"scope.mode": "prefixes", "scope.prefixes": ["http://h3.test/"]}));
    assert_eq!(wanted(&live), [false, false, false, true], "prefixes say exactly what is wanted");
    admin.force(&json!({"scope.mode": null, "scope.prefixes": null}));
    assert_eq!(wanted(&live), [true, true, true, false]);
    let mut kept = read::joined_hosts(&*live.storage, live.node.crawl.id).unwrap();
    kept.sort();
    assert_eq!(kept, ["h1.test", "h2.test"]);
    drop(admin);
    live.end();
    let live = sandbox.start();
    assert_eq!(wanted(&live), [true, true, true, false], "after a restart");
    live.end();
}
