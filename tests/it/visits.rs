//! Pages are visited again when their cycle says so, and what is said of that.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use crate::cockpit::{Desk, in_front_of};
use crate::site::{Site, html, none, page};
use crate::support::Sandbox;

fn times(site: &Site, path: &str) -> usize {
    site.asked().iter().filter(|line| **line == format!("a.test {path}")).count()
}

fn daemon(site: &Site, cycle: &str) -> Sandbox {
    in_front_of(site)
        .fetching_again()
        .set("crawl.seeds=[\"http://a.test/\"]")
        .set(&format!("refresh.cycle={cycle}"))
        .set("refresh.pace=1s")
        .set("refresh.min_interval=1s")
}

#[test]
fn a_page_is_visited_by_its_cycle_for_as_long_as_it_is_there_and_its_new_links_are_followed() {
    let shown = Arc::new(AtomicUsize::new(0));
    let known = shown.clone();
    let site = Site::http(move |_, path| match path {
        "/" => {
            let links: String = (0..known.load(Ordering::SeqCst)).map(|n| format!("<a href=/new{n}>n</a>")).collect();
            html(&format!("<p>home <a href=/gone>x</a> <a href=/still>y</a> {links}"))
        }
        "/gone" if known.load(Ordering::SeqCst) > 0 => page(410, "text/html", "", "it was here"),
        "/robots.txt" => none(),
        _ => html(&format!("<p>the page {path}")),
    });
    let sandbox = daemon(&site, "1s").set("schedule=[{urls=[\"/still\"], cycle=\"1h\"}]");
    let live = sandbox.start();
    live.until("second visits", |_| times(&site, "/") > 1 && times(&site, "/gone") > 1);
    shown.store(2, Ordering::SeqCst);
    live.until("the new pages, visited too", |_| times(&site, "/new0") > 1 && times(&site, "/new1") > 1);
    live.until("what is gone to be left alone", |s| times(&site, "/gone") > 2 && s.errors == 1);
    live.until("further visits", |_| times(&site, "/") > 5);
    let metrics = live.node.telemetry.metrics.text();
    let ended = live.end();
    assert_eq!(times(&site, "/still"), 1, "its rule says once an hour");
    assert!(metrics.contains("lycosa_visits_total{visit=\"gone\"}"), "{metrics}");
    assert!(metrics.contains("lycosa_visits_planned "), "{metrics}");
    let lines: Vec<Value> = ended.file("crawl.jsonl").lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let told = |url: &str| -> Vec<String> {
        let of = lines.iter().filter(|line| line["url"] == url);
        of.map(|line| line["visit"].as_str().unwrap_or_default().to_owned()).collect()
    };
    let home = told("http://a.test/");
    assert_eq!(home[0], "", "a line says it from the second visit on");
    assert!(home.iter().any(|visit| visit == "changed") && home.iter().any(|visit| visit == "unchanged"), "{home:?}");
    let gone: Vec<_> =
        lines.iter().filter(|line| line["url"] == "http://a.test/gone").map(|line| &line["status"]).collect();
    assert_eq!((gone[0], gone[gone.len() - 1]), (&json!(200), &json!(410)));
}

#[test]
fn a_visit_is_told_before_it_comes_reckoned_anew_on_demand_and_made_at_once() {
    let site = Site::http(|_, path| match path {
        "/" => html("<p>home <a href=/a/1>1</a> <a href=/a/2>2</a> <a href=/b/1>3</a>"),
        "/robots.txt" => none(),
        _ => html(&format!("<p>the page {path}")),
    });
    let sandbox = daemon(&site, "off");
    let live = sandbox.start();
    live.until("all pages", |s| s.done == 4 && s.waiting + s.processing == 0);
    let desk = Desk::of(&live);
    let one = |path: &str| desk.get(&format!("/api/v1/schedule?url=http://a.test{path}"));
    assert!(one("/a/1")["schedule"]["answer"].as_str().unwrap().contains("cycle is off"), "{}", one("/a/1"));
    assert_eq!(desk.get("/api/v1/schedule/due?host=a.test")["items"], json!([]));
    let (status, answer) =
        desk.send("PATCH", "/api/v1/settings", r#"{"refresh.cycle": "adapt", "refresh.pace": "1d"}"#);
    assert_eq!(status, 200, "{answer}");
    let job = |path: &str, body: &str| {
        let (status, job) = desk.send("POST", path, body);
        assert_eq!(status, 202, "{job}");
        let at = format!("/api/v1/jobs/{}", job["id"]);
        let ended = Mutex::new(Value::Null);
        live.until("the job's end", |_| {
            *ended.lock().unwrap() = desk.get(&at);
            ended.lock().unwrap()["state"] != "running"
        });
        ended.into_inner().unwrap()
    };
    let done = job("/api/v1/schedule/reschedule", "");
    assert_eq!((&done["state"], &done["result"]["planned"]), (&json!("done"), &json!(4)), "{done}");
    let due = desk.get("/api/v1/schedule/due?host=a.test");
    let urls: Vec<&str> = due["items"].as_array().unwrap().iter().map(|line| line["url"].as_str().unwrap()).collect();
    assert_eq!((urls.len(), urls[0]), (4, "http://a.test/"), "a seed weighs most: {due}");
    let told = one("/a/1");
    assert!(told["schedule"]["answer"].as_str().unwrap().starts_with("It is visited next at "), "{told}");
    let explained = desk.get("/api/v1/explain?url=http://a.test/a/1");
    assert!(explained["facts"].as_array().unwrap().iter().any(|fact| fact["name"] == "next visit"), "{explained}");
    let hosts = desk.get("/api/v1/schedule/hosts");
    assert_eq!(hosts["items"][0]["pages"], 4, "{hosts}");
    let fresh = job("/api/v1/reports/freshness", "");
    assert_eq!(fresh["result"]["lines"][0]["pages"], 4, "{fresh}");
    assert_eq!(job("/api/v1/urls/visit", r#"{"pattern": "/a/"}"#)["result"]["queued"], 2);
    live.until("the visits", |s| {
        times(&site, "/a/1") == 2 && times(&site, "/a/2") == 2 && s.waiting + s.processing == 0
    });
    assert_eq!(job("/api/v1/urls/visit", r#"{"urls": ["http://a.test/b/1"]}"#)["result"]["queued"], 1);
    live.until("the visit", |s| times(&site, "/b/1") == 2 && s.waiting + s.processing == 0);
    let (status, refused) = desk.send("POST", "/api/v1/urls/visit", "{}");
    assert_eq!(status, 400, "{refused}");
    let unknown = r#"{"urls": ["http://a.test/b/1", "http://a.test/never"]}"#;
    let (status, refused) = desk.send("POST", "/api/v1/urls/visit", unknown);
    assert!(
        status == 404 && refused["detail"].as_str().unwrap().contains("nothing is known of http://a.test/never"),
        "{refused}"
    );
    drop(desk);
    live.end();
    assert_eq!(times(&site, "/"), 1);
}

#[test]
fn a_page_given_up_after_it_was_captured_is_told_so_also_by_the_next_process() {
    let gone = Arc::new(AtomicBool::new(false));
    let known = gone.clone();
    let site = Site::http(move |_, path| match path {
        "/" => html("<p>home <a href=/a>a</a>"),
        "/a" if known.load(Ordering::SeqCst) => page(410, "text/html", "", "it was here"),
        "/robots.txt" => none(),
        _ => html("<p>a page"),
    });
    let sandbox = daemon(&site, "off");
    let live = sandbox.start();
    live.until("all pages", |s| s.done == 2 && s.waiting + s.processing == 0);
    let captured = Desk::of(&live).get("/api/v1/explain?url=http://a.test/a")["page"]["captured_ms"].as_u64().unwrap();
    gone.store(true, Ordering::SeqCst);
    let (status, _) = Desk::of(&live).send("POST", "/api/v1/urls/visit", r#"{"urls": ["http://a.test/a"]}"#);
    assert_eq!(status, 202);
    live.until("it to be given up", |s| s.errors == 1);
    live.close();
    let live = sandbox.start();
    let desk = Desk::of(&live);
    let told = desk.get("/api/v1/explain?url=http://a.test/a");
    let answer = told["answer"].as_str().unwrap();
    assert!(answer.starts_with("Crawled at ") && answer.contains(", and given up later at "), "{told:#}");
    let view = desk.get("/api/v1/urls?url=http://a.test/a");
    assert!(
        view["at_ms"].as_u64().unwrap() > captured && told["attempts"][0]["at_ms"].as_u64().unwrap() > captured,
        "{view} {told:#}"
    );
    drop(desk);
    live.end();
}

#[test]
fn what_holds_visits_back_is_named_be_it_the_rate_or_the_operator() {
    let site = Site::http(|_, path| match path {
        "/" => html(&(0..40).map(|n| format!("<a href=/p{n}>p</a>")).collect::<String>()),
        "/robots.txt" => none(),
        _ => html(&format!("<p>the page {path}")),
    });
    let sandbox = daemon(&site, "1s").set("refresh.max_rate=0.01");
    let live = sandbox.start();
    let desk = Desk::of(&live);
    live.until("visits that wait for the rate", |_| {
        let why = desk.get("/api/v1/why-idle");
        let findings = why["findings"].as_array().unwrap();
        findings
            .iter()
            .any(|f| f["code"] == "visits_bounded" && f["sentence"].as_str().unwrap().contains("refresh.max_rate"))
    });
    let of = || desk.get("/api/v1/schedule/hosts")["items"][0].clone();
    live.until("what is due, and for how long", |_| {
        let host = of();
        host["due"].as_u64().unwrap() > 30 && host["late_seconds"].as_u64().unwrap() > 0
    });
    assert_eq!(of()["held"], Value::Null);
    assert_eq!(desk.send("POST", "/api/v1/hosts/a.test/block", "").0, 200);
    assert_eq!(of()["held"], "blocked");
    drop(desk);
    live.close();
}

#[test]
fn a_host_with_a_budget_of_pages_keeps_those_that_it_has_when_they_are_visited() {
    let site = Site::http(|_, path| match path {
        "/robots.txt" => none(),
        _ => html(&(0..20).map(|n| format!("<a href=/p{n}>p</a>")).collect::<String>()),
    });
    let sandbox = daemon(&site, "1s").set("traps.pages_per_host=6");
    let live = sandbox.start();
    live.until("visits", |_| times(&site, "/") > 3);
    let pages = |site: &Site| (0..20).filter(|n| times(site, &format!("/p{n}")) > 0).count();
    live.until("a stop between visits", |s| s.waiting + s.processing == 0);
    let ended = live.end();
    assert_eq!(pages(&site), 5, "beside the seed");
    assert_eq!(ended.found.counters.done, 6);
}
