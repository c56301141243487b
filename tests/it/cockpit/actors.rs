//! Actors: all are shown, also one that is down; each can be restarted, and nothing is lost.

use lycosa::crawl::node::Stop;
use lycosa::crawl::supervise::Kind;

use super::*;
use crate::support::truth_any;

const KINDS: [&str; 7] = ["supervisor", "frontier", "politeness", "fetcher", "parser", "deduper", "store"];

fn listed(desk: &Desk, query: &str) -> Vec<Value> {
    desk.get(&format!("/api/v1/actors{query}"))["items"].as_array().unwrap().clone()
}

#[test]
fn every_actor_is_shown_and_each_kind_alone() {
    let sandbox =
        Sandbox::new(TestWebConfig { hosts: 3, pages: 40, ..TestWebConfig::default() }).gap(Duration::from_millis(20));
    let live = sandbox.start();
    let desk = Desk::of(&live);
    live.until("hosts at work", |s| s.done > 10 && s.hosts_active > 1);
    let all = listed(&desk, "?limit=1000");
    for kind in KINDS {
        let of_kind: Vec<&Value> = all.iter().filter(|a| a["kind"] == kind).collect();
        assert!(!of_kind.is_empty() && of_kind.iter().all(|a| a["state"] == "running"), "{kind}: {all:#?}");
        assert!(listed(&desk, &format!("?kind={kind}&limit=1000")).iter().all(|a| a["kind"] == kind));
    }
    let store = all.iter().find(|a| a["kind"] == "store").unwrap();
    assert_eq!(
        (&store["instance"], &store["restarts"], &store["last_fault"]),
        (&"main".into(), &0.into(), &Value::Null)
    );
    assert!(store["handled"].as_u64().unwrap() > 0 && store["observed"]["commits"].as_i64().unwrap() > 0, "{store:#}");
    let (p50, p99) = (store["handle_p50_seconds"].as_f64().unwrap(), store["handle_p99_seconds"].as_f64().unwrap());
    assert!(p50 > 0.0 && p50 <= p99, "{store:#}");
    assert!(!store["thread"].as_str().unwrap().is_empty());
    let one = desk.get("/api/v1/actors?limit=1");
    let two = desk.get(&format!("/api/v1/actors?limit=1&cursor={}", one["next"].as_str().unwrap()));
    assert_eq!((&one["items"][0]["kind"], &two["items"][0]["kind"]), (&"supervisor".into(), &"frontier".into()));
    desk.refuses(&[
        ("/api/v1/actors?kind=x", "kind: expected one of supervisor"),
        ("/api/v1/actors?limit=0", "1 to 1000"),
    ]);
    drop(desk);
    live.close();
}

#[test]
fn i5_every_actor_is_restarted_on_request_and_nothing_is_lost_or_counted_as_a_death() {
    let web = TestWebConfig { hosts: 4, pages: 60, ..TestWebConfig::default() };
    let sandbox = Sandbox::new(web).gap(Duration::from_millis(10)).set("supervision.budget=3");
    let live = sandbox.start();
    let desk = Desk::of(&live);
    live.until("pages", |s| s.done > 5);
    for round in 1..=6 {
        for kind in KINDS {
            let Some(actor) = listed(&desk, &format!("?kind={kind}&limit=1")).pop() else { continue };
            let instance = actor["instance"].as_str().unwrap();
            let (status, after) = desk.json("POST", &format!("/api/v1/actors/{kind}/{instance}/restart"));
            if kind == "politeness" && status != 200 {
                continue; // the host retired meanwhile
            }
            assert_eq!((status, &after["state"], &after["faults"]), (200, &"running".into(), &0.into()), "{after}");
            let lives = if kind == "politeness" { 1 } else { round };
            assert!(after["restarts"].as_u64().unwrap() >= lives, "{after}");
        }
    }
    assert_eq!(live.until_stop(), Stop::Done);
    for kind in
        [Kind::Supervisor, Kind::Frontier, Kind::Politeness, Kind::Fetcher, Kind::Parser, Kind::Deduper, Kind::Store]
    {
        assert_eq!(live.node.telemetry.metrics.restarts(kind), 0, "a restart that was asked for is no death");
    }
    assert!(live.node.telemetry.metrics.restarts_asked(Kind::Store) >= 6, "but it is counted");
    for path in ["store/other", "politeness/none.test", "fetcher/99"] {
        assert_eq!(desk.json("POST", &format!("/api/v1/actors/{path}/restart")).0, 404, "{path}");
    }
    let (status, refused) = desk.json("POST", "/api/v1/actors/king/main/restart");
    assert!(status == 400 && refused["detail"].as_str().unwrap().contains("expected one of supervisor, "), "{refused}");
    assert_eq!(desk.json("GET", "/api/v1/actors/store/main/restart").0, 405);
    drop(desk);
    let ended = live.end();
    ended.assert_is(&sandbox.web.truth(truth_any()));
    ended.assert_polite();
}

#[cfg(feature = "faults")]
#[test]
fn while_an_actor_is_down_every_question_is_answered() {
    use lycosa::base::fault::Fault;
    let site = Site::http(|_, path| if path == "/robots.txt" { none() } else { html("x") });
    // After its death the Store rests for longer than this test takes.
    let sandbox = in_front_of(&site).set("supervision.backoff=20s").set("supervision.backoff_max=20s");
    sandbox.faults.set("store.commit", Fault::Panic, 1, 1);
    let live = sandbox.start_bare();
    let desk = Desk::of(&live);
    live.node.mailboxes().deduper.tell(lycosa::crawl::deduper::Inject { seeds: vec![], reply: None });
    live.until("the Store's death", |_| live.node.telemetry.metrics.restarts(Kind::Store) == 1);
    let store = listed(&desk, "?kind=store").pop().unwrap();
    assert_eq!((&store["state"], &store["faults"]), (&"restarting".into(), &1.into()), "{store:#}");
    assert!(store["last_fault"]["why"].as_str().unwrap().contains("store.commit"), "{store:#}");
    for path in ["why-idle", "explain?url=http://a.test/", "urls?url=http://a.test/", "hosts", "status", "actors"] {
        desk.get(&format!("/api/v1/{path}"));
    }
    let why = desk.get("/api/v1/why-idle");
    let down = why["findings"].as_array().unwrap().iter().find(|f| f["code"] == "actor_restarting");
    assert!(down.is_some_and(|f| f["sentence"].as_str().unwrap().contains("store")), "{why:#}");
    let (status, store) = desk.json("POST", "/api/v1/actors/store/main/restart");
    assert_eq!(
        (status, &store["state"], &store["faults"]),
        (200, &"running".into(), &1.into()),
        "its rest ends: {store}"
    );
    live.seed(&["http://a.test/"]);
    live.until("the page", |s| s.done == 1);
    drop(desk);
    live.end();
}
