//! Reading, changing, refusing, taking back.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use lycosa::app::{Parts, Placement, Running, start};

use lycosa::base::clock::Clock;
use lycosa::base::fault::Faults;
use lycosa::base::fence::Fence;
use lycosa::config::Layers;
use lycosa::content::modules::MimeModules;
use lycosa::crawl::live::SettingsPatch;
use lycosa::crawl::live::change as change_settings;
use lycosa::crawl::live::undo as undo_settings;
use lycosa::crawl::node::Stop;
use lycosa::storage::MemoryStorage;
use lycosa::testweb::TestWebConfig;
use serde_json::{Value, json};

use super::client::Admin;
use crate::support::{Live, Sandbox};

/// A node with hardly anything to do.
fn small() -> Sandbox {
    let web = TestWebConfig { hosts: 1, pages: 2, links: 2, ..TestWebConfig::default() };
    Sandbox::new(web).set("crawl.until_done=false")
}

fn end(live: Live<'_>, admin: Admin) {
    drop(admin);
    live.until("an empty frontier", |s| s.waiting + s.processing == 0 && s.discovered > 0);
    live.end();
}

#[test]
fn what_the_file_would_not_take_is_refused_and_changes_nothing() {
    let sandbox = small();
    let live = sandbox.start();
    let admin = Admin::of(&live);
    let cases = [
        (json!({"politeness.min_delay": "soon"}), 400, "politeness.min_delay"),
        (json!({"politeness.min_delay": 5}), 400, "politeness.min_delay"),
        (json!({"traps.max_segments": 0}), 400, "allowed are 1 to 1000"),
        (json!({"scope.exclude": ["("]}), 400, "scope.exclude"),
        (json!({"scope.deny_hosts": ["a b"]}), 400, "scope.deny_hosts"),
        (json!({"scope.mode": "prefixes"}), 400, "scope.prefixes"),
        (json!({"crawl.max_page": 5}), 400, "no such key"),
        (json!({"scope.excludes": null}), 400, "scope.excludes: no such key"),
        (json!({"fetch.concurrency": null}), 409, "a restart is needed"),
        (json!({"crawl.max_pages": u64::MAX}), 400, "crawl.max_pages"),
        (json!({"host.a.test": {"max_connections": 65}}), 400, "allowed are 1 to 64"),
        (json!({"host.a.test": 5}), 400, "expected an object"),
        (json!({"host.": {"min_delay": "1s"}}), 400, "is no host"),
        (json!({"crawl.max_pages": 5, "fetch.concurrency": 5}), 409, "a restart is needed"),
        (json!({"store.data_dir": "/tmp"}), 409, "a restart is needed"),
        (json!([]), 400, "JSON"),
        (json!("x"), 400, "JSON"),
    ];
    for (body, status, part) in cases {
        let (was, answer) = admin.ask("PATCH", "/api/v1/settings", &body.to_string());
        assert_eq!(was, status, "{body}: {answer}");
        assert!(answer["detail"].as_str().is_some_and(|d| d.contains(part)), "{body}: {answer}");
        assert!(!answer["detail"].as_str().is_some_and(|d| d.starts_with("admin:")), "{body}: {answer}");
        let (was, _) = admin.ask("PATCH", "/api/v1/settings?dry_run=true", &body.to_string());
        assert_eq!(was, status, "{body}");
    }
    for (method, path, body, status) in [
        ("PATCH", "/api/v1/settings?dry_run=perhaps", "{}", 400),
        ("PATCH", "/api/v1/settings?dry-run=true", r#"{"crawl.max_depth": 1}"#, 400),
        ("PATCH", "/api/v1/settings?dry_run=true&dry_run=false", "{}", 400),
        ("PATCH", "/api/v1/settings", "{", 400),
        ("POST", "/api/v1/settings", "{}", 405),
        ("PATCH", "/api/v1/settings", "", 400),
        ("PATCH", "/api/v1/settings", r#"{"crawl.max_depth": 1, "crawl.max_depth": 2}"#, 400),
        ("POST", "/api/v1/settings/undo", "", 409),
        ("POST", "/api/v1/settings/undo", r#"{"generation": 1}"#, 400),
        ("POST", "/api/v1/urls/readmit", "", 400),
        ("PUT", "/api/v1/settings/hosts/a.test", "{}", 400),
        ("PUT", "/api/v1/settings/hosts/a*b", r#"{"min_delay":"1s"}"#, 400),
        ("DELETE", "/api/v1/settings/hosts/a.test", "", 404),
        ("POST", "/api/v1/urls/readmit", r#"{"reason":"because"}"#, 400),
        ("POST", "/api/v1/urls/readmit", r#"{"reason":"collision"}"#, 400),
        ("POST", "/api/v1/urls/readmit", r#"{"hosts":"a"}"#, 400),
        ("POST", "/api/v1/settings/dry-run", r#"{"a":1}"#, 400),
    ] {
        let (was, answer) = admin.ask(method, path, body);
        assert_eq!(was, status, "{method} {path} {body}: {answer}");
        assert!(answer["detail"].is_string(), "{answer}");
    }
    assert_eq!(admin.told("GET", "/api/v1/settings/history", &Value::Null), json!([]));
    assert_eq!(live.node.crawl.live.generation(), 1);
    end(live, admin);
}

#[test]
fn each_value_says_who_set_it_and_changes_are_listed_and_taken_back_one_by_one() {
    let sandbox = small();
    let live = sandbox.start();
    let admin = Admin::of(&live);
    assert_eq!(admin.get("politeness.min_delay"), (json!("2ms"), "--set".to_owned()));
    assert_eq!(admin.get("traps.max_params"), (Value::Null, "default".to_owned()));
    let made = admin.set(&json!({"traps.max_params": 7, "scope.exclude": ["/x"]}));
    assert_eq!((&made["change"]["generation"], &made["job"]), (&json!(2), &Value::Null));
    admin.set(&json!({"traps.max_params": 9}));
    assert_eq!(admin.set(&json!({"traps.max_params": 9}))["change"]["changed"], json!([]), "nothing new");
    admin.told("PUT", "/api/v1/settings/hosts/*.A.test", &json!({"max_connections": 2}));
    assert_eq!(admin.get("traps.max_params"), (json!(9), "admin".to_owned()));
    let all = admin.told("GET", "/api/v1/settings", &Value::Null);
    let built_in =
        |key: &str| all["settings"].as_array().unwrap().iter().find(|s| s["key"] == key).unwrap()["default"].clone();
    assert_eq!((built_in("traps.max_params"), built_in("crawl.max_pages")), (Value::Null, Value::Null));
    let own = json!({"max_connections": 2, "min_delay": null});
    assert_eq!(admin.get("host.*.a.test"), (own, "admin".to_owned()));
    let history = admin.told("GET", "/api/v1/settings/history", &Value::Null);
    let numbers: Vec<_> = history.as_array().unwrap().iter().map(|c| c["generation"].as_u64().unwrap()).collect();
    assert_eq!(numbers, [4, 3, 2]);
    assert_eq!(history[1]["changed"], json!([{"key": "traps.max_params", "before": 7, "after": 9}]));
    for (undoes, params) in [(4, json!(9)), (3, json!(7)), (2, Value::Null)] {
        let undone = admin.told("POST", "/api/v1/settings/undo", &Value::Null);
        assert_eq!(undone["change"]["undoes"], undoes);
        assert_eq!(admin.get("traps.max_params").0, params);
    }
    assert_eq!(admin.get("scope.exclude"), (json!([]), "default".to_owned()));
    assert_eq!(admin.ask("POST", "/api/v1/settings/undo", "").0, 409);
    end(live, admin);
}

#[test]
fn what_was_changed_lies_over_the_file_at_the_next_start_until_it_is_taken_back() {
    let sandbox = small();
    let live = sandbox.start();
    let admin = Admin::of(&live);
    admin.set(&json!({"fetch.retries": 5, "politeness.max_delay": "9s"}));
    end(live, admin);
    let sandbox = sandbox.set("fetch.retries=1").set("politeness.max_delay=7s");
    let live = sandbox.start();
    let admin = Admin::of(&live);
    assert_eq!(live.node.crawl.live().retry.delays.len(), 5);
    assert_eq!(live.node.crawl.live.generation(), 2);
    admin.set(&json!({"fetch.retries": null}));
    assert_eq!(admin.get("fetch.retries"), (json!(1), "--set".to_owned()));
    assert_eq!(admin.get("politeness.max_delay"), (json!("9s"), "admin".to_owned()));
    end(live, admin);
    let live = sandbox.start();
    assert_eq!(live.node.crawl.live().retry.delays.len(), 1);
    assert_eq!(live.node.crawl.live.generation(), 3);
    let admin = Admin::of(&live);
    end(live, admin);
}

#[test]
fn a_change_that_the_store_dies_over_is_made_all_the_same() {
    let sandbox = small();
    let live = sandbox.start();
    let admin = Admin::of(&live);
    live.until("an empty frontier", |s| s.waiting + s.processing == 0 && s.discovered > 0);
    sandbox.memory().fail_next_writes(2);
    let made = admin.set(&json!({"crawl.max_depth": 3}));
    assert_eq!(made["change"]["generation"], 2);
    assert_eq!(admin.get("crawl.max_depth").0, 3);
    drop(admin);
    live.end();
}

#[test]
fn the_description_tells_of_every_route_and_lets_values_be_of_any_type() {
    let sandbox = small();
    let live = sandbox.start();
    let admin = Admin::of(&live);
    let doc = admin.told("GET", "/api/openapi.json", &Value::Null);
    for (path, methods) in [
        ("/api/v1/settings", &["get", "patch"][..]),
        ("/api/v1/settings/history", &["get"]),
        ("/api/v1/settings/undo", &["post"]),
        ("/api/v1/settings/dry-run", &["post"]),
        ("/api/v1/settings/hosts/{pattern}", &["put", "delete"]),
        ("/api/v1/urls/readmit", &["post"]),
    ] {
        for method in methods {
            assert!(
                doc["paths"][path][method]["responses"]["200"].is_object()
                    || doc["paths"][path][method]["responses"]["202"].is_object(),
                "{method} {path}"
            );
        }
    }
    let value = &doc["components"]["schemas"]["SettingView"]["properties"]["value"];
    assert!(value.get("type").is_none(), "{value}");
    end(live, admin);
}

#[test]
fn a_limit_that_ended_the_crawl_gives_way_to_the_command_line_of_the_next_start() {
    let web = TestWebConfig { hosts: 4, pages: 25, links: 8, ..TestWebConfig::default() };
    let sandbox = Sandbox::new(web);
    let live = sandbox.start();
    let admin = Admin::of(&live);
    live.until("some pages", |s| s.pages_stored > 3);
    admin.force(&json!({"crawl.max_pages": 2}));
    assert_eq!(live.until_stop(), Stop::Pages);
    let made = admin.set(&json!({"traps.max_params": 7}));
    assert!(made["note"].as_str().is_some_and(|note| note.contains("next start")), "{made}");
    drop(admin);
    let first = live.close().status.pages_stored;

    let live = sandbox.start();
    assert_eq!(live.until_stop(), Stop::Pages, "it holds over a start that says nothing of it");
    live.close();
    let more = first + 20;
    let sandbox = sandbox.set(&format!("crawl.max_pages={more}"));
    let live = sandbox.start();
    let admin = Admin::of(&live);
    assert_eq!(admin.get("crawl.max_pages"), (json!(more), "--set".to_owned()));
    assert_eq!(admin.get("traps.max_params"), (json!(7), "admin".to_owned()));
    let history = admin.told("GET", "/api/v1/settings/history", &Value::Null);
    assert_eq!((&history[0]["by"], history[0]["changed"][0]["before"].as_u64()), (&json!("start"), Some(2)));
    assert_eq!((&history[1]["undone"], &history[2]["undone"]), (&json!(false), &json!(true)), "{history}");
    assert_eq!(live.until_stop(), Stop::Pages);
    drop(admin);
    assert_eq!(live.close().status.pages_stored, more);
}

/// A node of nothing but what is stored.
fn node_on(storage: &Arc<MemoryStorage>, data: &Path) -> Running {
    let sets = ["crawl.until_done=false", "admin.listen=off", "disk.pause_below=1", "disk.reserve=0", "scope.mode=any"];
    let data = format!("store.data_dir={}", data.display());
    let layers = sets.into_iter().chain([&*data]).fold(Layers::new(), |layers, set| layers.set(set).unwrap());
    let parts = Parts {
        storage: storage.clone(),
        seed: 7,
        clock: Clock::real(),
        faults: Faults::default(),
        fence: Fence::default(),
        placement: Placement::Together,
        modules: MimeModules::default(),
    };
    start(layers.load().unwrap(), parts).unwrap()
}

#[test]
fn settings_changed_when_the_crawl_has_ended_are_kept_for_the_next_start() {
    let (storage, folder) = (Arc::new(MemoryStorage::formatted(7).unwrap()), tempfile::tempdir().unwrap());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let set = |node, key: &str, value: Value| {
        let wish = SettingsPatch { changes: [(key.to_owned(), value)].into(), ..SettingsPatch::default() };
        runtime.block_on(change_settings(node, wish)).unwrap()
    };
    let running = node_on(&storage, folder.path());
    let node = running.node.clone();
    set(&node, "crawl.max_pages", json!(5));
    node.stop_with(Stop::Pages);
    set(&node, "crawl.max_depth", json!(3));
    assert!(running.shutdown(Duration::from_secs(10)));
    assert_eq!(runtime.block_on(undo_settings(&node, false)).unwrap().undoes, Some(3));
    set(&node, "crawl.max_pages", Value::Null);
    set(&node, "traps.max_params", json!(9));
    drop(node);
    let running = node_on(&storage, folder.path());
    let live = running.node.crawl.live();
    assert_eq!((live.generation, live.settings.crawl.max_pages, live.settings.traps.max_params), (6, None, Some(9)));
    assert_eq!(live.settings.source.origin("crawl.max_depth").to_string(), "default");
    assert!(running.shutdown(Duration::from_secs(10)));
}
