//! Reading, changing, refusing, taking back.

use lycosa::cli::testweb::TestWebConfig;
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
        (json!({"host.": {"min_delay": "1s"}}), 400, "no host name"),
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
        ("POST", "/api/v1/settings/undo", "", 409),
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
    assert_eq!(live.node.live.generation(), 1);
    end(live, admin);
}

#[test]
fn each_value_says_who_set_it_and_changes_are_listed_and_taken_back_one_by_one() {
    let sandbox = small();
    let live = sandbox.start();
    let admin = Admin::of(&live);
    assert_eq!(admin.get("politeness.min_delay"), (json!("2ms"), "--set".to_owned()));
    assert_eq!(admin.get("traps.max_params"), (json!(20), "default".to_owned()));
    let made = admin.set(&json!({"traps.max_params": 7, "scope.exclude": ["/x"]}));
    assert_eq!((&made["change"]["generation"], &made["job"]), (&json!(2), &Value::Null));
    admin.set(&json!({"traps.max_params": 9}));
    assert_eq!(admin.set(&json!({"traps.max_params": 9}))["change"]["changed"], json!([]), "nothing new");
    admin.told("PUT", "/api/v1/settings/hosts/*.A.test", &json!({"max_connections": 2}));
    assert_eq!(admin.get("traps.max_params"), (json!(9), "admin".to_owned()));
    let all = admin.told("GET", "/api/v1/settings", &Value::Null);
    let built_in =
        |key: &str| all["settings"].as_array().unwrap().iter().find(|s| s["key"] == key).unwrap()["default"].clone();
    assert_eq!((built_in("traps.max_params"), built_in("crawl.max_pages")), (json!(20), Value::Null));
    let own = json!({"max_connections": 2, "min_delay": null});
    assert_eq!(admin.get("host.*.a.test"), (own, "admin".to_owned()));
    let history = admin.told("GET", "/api/v1/settings/history", &Value::Null);
    let numbers: Vec<_> = history.as_array().unwrap().iter().map(|c| c["generation"].as_u64().unwrap()).collect();
    assert_eq!(numbers, [4, 3, 2]);
    assert_eq!(history[1]["changed"], json!([{"key": "traps.max_params", "before": 7, "after": 9}]));
    for (undoes, params) in [(4, 9), (3, 7), (2, 20)] {
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
    assert_eq!(live.node.live().retry.delays.len(), 5);
    assert_eq!(live.node.live.generation(), 2);
    admin.set(&json!({"fetch.retries": null}));
    assert_eq!(admin.get("fetch.retries"), (json!(1), "--set".to_owned()));
    assert_eq!(admin.get("politeness.max_delay"), (json!("9s"), "admin".to_owned()));
    end(live, admin);
    let live = sandbox.start();
    assert_eq!(live.node.live().retry.delays.len(), 1);
    assert_eq!(live.node.live.generation(), 3);
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
