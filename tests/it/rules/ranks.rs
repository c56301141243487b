//! Rules of importance: what they cover is fetched first, what waits is ranked anew, and `explain` says why.

use lycosa::domain::rank::Ranker;
use lycosa::storage::keys::{KeyRange, QueueKey};
use lycosa::storage::values::{LiveSettings, QueueEntry};
use lycosa::storage::{read, tables};
use lycosa::telemetry::StatusSnapshot;
use lycosa::testweb::TestWebConfig;
use serde_json::{Value, json};

use super::client::Admin;
use crate::support::{Live, Sandbox, truth_any};

/// Pages whose number is even: the tails of their paths.
const EVEN: &str = "/p/[0-9]*[02468]$";

fn web(hosts: u32) -> TestWebConfig {
    TestWebConfig { hosts, pages: 60, links: 12, min_size: 300, max_size: 900, ..TestWebConfig::default() }
}

fn best(hosts: u32) -> Sandbox {
    Sandbox::new(web(hosts)).set("crawl.order=best")
}

fn is_even(path: &str) -> bool {
    let last = path.strip_prefix("/p/").and_then(|number| number.bytes().last());
    last.is_some_and(|digit| b"02468".contains(&digit))
}

/// The mean place among all requests of those for even pages, of a whole crawl by these settings.
fn mean_place(sets: &[&str]) -> f64 {
    let sandbox = sets.iter().fold(best(1), |sandbox, set| sandbox.set(set));
    let ended = sandbox.crawl();
    ended.assert_is(&sandbox.web.truth(truth_any()));
    ended.assert_none_twice();
    let places = sandbox.web.audit().into_iter().enumerate().filter(|(_, asked)| is_even(&asked.path));
    let places: Vec<u32> = places.map(|(place, _)| u32::try_from(place).unwrap()).collect();
    f64::from(places.iter().sum::<u32>()) / f64::from(u32::try_from(places.len()).unwrap())
}

#[test]
fn what_a_rule_covers_is_fetched_before_the_rest_by_a_rank_outright_as_by_a_weight() {
    let plain = mean_place(&[]);
    for says in ["rank = 0", "weight = 100"] {
        let first = mean_place(&[&format!("priority=[{{urls = ['{EVEN}'], {says}}}, {{weight = 0.01}}]")]);
        assert!(first + 5.0 < plain, "{says}: {first} against {plain} without");
    }
}

/// A crawl that is paused while many URLs wait.
fn paused(sandbox: &Sandbox) -> (Live<'_>, Admin) {
    let live = sandbox.start();
    let admin = Admin::of(&live);
    live.until("a queue", |s: &StatusSnapshot| s.waiting > 100);
    admin.told("POST", "/api/v1/pause", &Value::Null);
    live.until("nothing in flight", |_| live.node.is_quiet());
    (live, admin)
}

fn slow(hosts: u32) -> Sandbox {
    best(hosts).set("crawl.until_done=false").gap(std::time::Duration::from_millis(40))
}

/// What waits, in the order of its keys.
fn queue(live: &Live<'_>) -> Vec<(QueueKey, QueueEntry)> {
    read::scan::<tables::Queue>(&*live.storage, &KeyRange::all(), 100_000).unwrap()
}

/// Those that nobody has in hands.
fn waiting(live: &Live<'_>) -> Vec<(QueueKey, QueueEntry)> {
    let name = |key: &QueueKey| read::host_state(&*live.storage, key.host_crawl().host_at()).unwrap().unwrap().name;
    let leased = |key: &QueueKey, entry: &QueueEntry| {
        let url = entry.url(&name(key)).unwrap();
        live.node.crawl.leases.contains(&live.node.prints.url(&url))
    };
    queue(live).into_iter().filter(|(key, entry)| !leased(key, entry)).collect()
}

fn rule() -> Value {
    json!([{"urls": [EVEN], "weight": 100}, {"hosts": ["*.test", "h0.test"], "rank": 6}])
}

#[test]
fn a_rule_given_live_ranks_what_waits_anew_and_taken_back_leaves_the_queue_as_it_was() {
    let sandbox = slow(3);
    let (live, admin) = paused(&sandbox);
    let before = queue(&live);
    let made = admin.told("PATCH", "/api/v1/settings?rerank=true", &json!({"priority": rule()}));
    let job = admin.until_done(&made["rerank"]);
    assert!(job["result"]["moved"].as_u64().unwrap() > 50, "{job}");
    assert_eq!((job["changed"].clone(), job["kind"].clone()), (job["result"]["moved"].clone(), json!("rerank")));
    for (key, entry) in waiting(&live) {
        let by_rule = if is_even(&entry.tail) { 0 } else { 6 };
        assert!(key.rank == by_rule || Ranker::is_last(key.order), "{} at {}", entry.tail, key.rank);
    }
    let record: LiveSettings = read::meta(&*live.storage, ()).unwrap().unwrap();
    assert_eq!(record.rerank, None, "that it is done is noted");
    let again = admin.told("POST", "/api/v1/urls/rerank", &json!({}));
    assert_eq!(admin.until_done(&again)["result"]["moved"], 0, "a second time there is nothing to do");
    admin.told("POST", "/api/v1/settings/undo", &Value::Null);
    let one = admin.told("POST", "/api/v1/urls/rerank", &json!({"host": "h1.test"}));
    let of_one = admin.until_done(&one)["result"]["moved"].as_u64().unwrap();
    let back = admin.told("POST", "/api/v1/urls/rerank", &json!({}));
    let of_all = admin.until_done(&back)["result"]["moved"].as_u64().unwrap();
    assert_eq!(json!(of_one + of_all), job["result"]["moved"]);
    assert!(of_one > 0 && of_all > of_one, "{of_one} {of_all}");
    assert_eq!(queue(&live), before);
    let made = admin.told("PATCH", "/api/v1/settings?rerank=true", &json!({"priority": rule()}));
    admin.until_done(&made["rerank"]);
    let undone = admin.told("POST", "/api/v1/settings/undo?rerank=true", &Value::Null);
    assert_eq!(admin.until_done(&undone["rerank"])["result"]["moved"], job["result"]["moved"]);
    assert_eq!(queue(&live), before, "an undo ranks anew as a change does");
    assert_eq!(admin.ask("POST", "/api/v1/urls/rerank", "{\"hosts\":1}").0, 400);
    admin.told("POST", "/api/v1/resume", &Value::Null);
    live.until("an empty frontier", |s| s.waiting + s.processing == 0);
    drop(admin);
    let ended = live.end();
    ended.assert_is(&sandbox.web.truth(truth_any()));
    ended.assert_none_twice();
}

#[test]
fn killed_in_the_job_the_next_start_goes_on_with_it_and_nothing_is_lost_or_asked_for_twice() {
    let sandbox = slow(3);
    let (live, admin) = paused(&sandbox);
    let made = admin.told("PATCH", "/api/v1/settings?rerank=true", &json!({"priority": rule()}));
    assert_eq!(made["rerank"]["kind"], "rerank");
    let fork = sandbox.fork(); // wherever the job is
    let record: LiveSettings = read::meta(fork.storage(), ()).unwrap().unwrap();
    drop(admin);
    live.drop_at_once();
    let sandbox = sandbox.resume(fork);
    let live = sandbox.start();
    let admin = Admin::of(&live);
    if record.rerank.is_some() {
        admin.until_done_of_kind("rerank"); // else the kill came after its end
    }
    let record: LiveSettings = read::meta(&*live.storage, ()).unwrap().unwrap();
    assert_eq!(record.rerank, None);
    let again = admin.told("POST", "/api/v1/urls/rerank", &json!({}));
    admin.until_done(&again); // those that had been in somebody's hands
    for (key, entry) in waiting(&live) {
        let by_rule = if is_even(&entry.tail) { 0 } else { 6 };
        assert!(key.rank == by_rule || Ranker::is_last(key.order), "{} at {}", entry.tail, key.rank);
    }
    admin.told("POST", "/api/v1/resume", &Value::Null); // the pause was kept
    live.until("an empty frontier", |s| s.waiting + s.processing == 0);
    drop(admin);
    let ended = live.end();
    ended.assert_is(&sandbox.web.truth(truth_any()));
    ended.assert_none_twice();
}

#[test]
fn explain_names_every_factor_of_a_rank_with_its_value_and_where_it_comes_from() {
    let sandbox = slow(2)
        .set("crawl.seeds=[]")
        .set("host=[{match = \"h0.test\", weight = 0.5}]")
        .set(&format!("priority=[{{tags = ['news'], urls = ['{EVEN}'], weight = 4}}, {{urls = ['[13]$'], rank = 2}}]"));
    let live = sandbox.start_bare();
    let admin = Admin::of(&live);
    let seed = json!({"seeds": [{"url": sandbox.web.start_url(), "weight": 2, "tags": ["news"]}]});
    assert_eq!(admin.told("POST", "/api/v1/seeds", &seed)["accepted"], 1);
    live.until("a queue", |s: &StatusSnapshot| s.waiting > 60);
    admin.told("POST", "/api/v1/pause", &Value::Null);
    live.until("nothing in flight", |_| live.node.is_quiet());
    let explained = |tail: &str| admin.told("GET", &format!("/api/v1/explain?url=http://h0.test{tail}"), &Value::Null);
    let of_host = |(key, entry): &(QueueKey, QueueEntry)| {
        let at = key.host_crawl().host_at();
        let name = read::host_state(&*live.storage, at).unwrap().unwrap().name;
        (name == "h0.test" && entry.tail.starts_with("/p/")).then(|| entry.tail.clone())
    };
    let tails: Vec<String> = waiting(&live).iter().filter_map(of_host).collect();
    let even = tails.iter().find(|tail| is_even(tail)).expect("an even page waits");
    let told = explained(even);
    let ranking = &told["ranking"];
    let named = ranking["factors"].as_array().unwrap().iter().map(|f| (f["name"].as_str().unwrap(), f));
    let named: std::collections::BTreeMap<_, _> = named.collect();
    let names: Vec<&str> = named.keys().copied().collect();
    assert_eq!(names, ["depth", "host", "quality", "rule", "seed", "sitemap"]);
    for (name, value, from) in [
        ("seed", 2.0, "weight of the seed http://"),
        ("host", 0.5, "[[host]] match = \"h0.test\""),
        ("rule", 4.0, "[[priority]] number 1 (urls = [\"/p/"),
        ("sitemap", 1.0, "no sitemap"),
    ] {
        assert_eq!(named[name]["value"], value, "{told}");
        assert!(named[name]["from"].as_str().unwrap().contains(from), "{told}");
    }
    assert!(named["depth"]["from"].as_str().unwrap().starts_with("frontier.depth_weights at depth "), "{told}");
    let product: f64 = named.values().map(|f| f["value"].as_f64().unwrap()).product();
    assert!((product - ranking["importance"].as_f64().unwrap()).abs() < 1e-9, "{told}");
    let fact = told["facts"].as_array().unwrap().iter().find(|fact| fact["name"] == "rank").unwrap();
    assert!(fact["text"].as_str().unwrap().starts_with("importance "), "{fact}");
    let outright = explained("/p/100001"); // nobody has found it
    assert_eq!((outright["ranking"]["rank"].clone(), outright["state"].clone()), (json!(2), json!("unknown")));
    assert!(outright["ranking"]["because"].as_str().unwrap().contains("[[priority]] number 2"), "{outright}");
    drop(admin);
    live.close();
}
