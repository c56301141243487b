//! URLs: looked up, and explained in each state they can be in.

use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};

use super::*;

/// A site with something of everything; `/slow` answers when it is told to.
fn site(gate: Receiver<()>) -> Site {
    let gate = Arc::new(Mutex::new(gate));
    Site::http(move |host, path| match (host, path) {
        ("a.test", "/robots.txt") => page(200, "text/plain", "", "User-agent: *\nDisallow: /private\n"),
        (_, "/robots.txt") => none(),
        ("a.test", "/") => html(
            "<a href=/ok>1</a><a href=/private/x>2</a><a href=/moved>3</a><a href=/missing>4</a><a href=/same>5</a>\
             <a href=http://other.test/>6</a><a href=/x/a/a/a>7</a><a href=/pic.png>8</a>",
        ),
        (_, "/ok" | "/same") => html("<title>fine</title>one text"),
        (_, "/moved") => page(301, "text/html", "Location: /ok\r\n", ""),
        (_, "/busy") => page(503, "text/plain", "", "busy"),
        (_, "/slow") => {
            let _ = gate.lock().unwrap().recv();
            html("slow")
        }
        _ => none(),
    })
}

/// Reads the explanation of a URL, and that the look-up tells the same state.
fn explain(desk: &Desk, url: &str) -> Value {
    let of = |route: &str| desk.get(&format!("/api/v1/{route}?url={}", escaped(url)));
    let (explained, looked_up) = (of("explain"), of("urls"));
    assert_eq!(explained["state"], looked_up["state"], "{explained}\n{looked_up}");
    assert_eq!(explained["reason"], looked_up["reason"], "{explained}\n{looked_up}");
    explained
}

#[test]
fn a_url_in_each_state_is_explained() {
    let (open, gate) = channel();
    let site = site(gate);
    let sandbox = in_front_of(&site).set("fetch.retry_delays=[\"1h\"]");
    let live = sandbox.start_bare();
    let desk = Desk::of(&live);
    live.seed(&["http://a.test/"]);
    live.until("the site to be crawled", |s| s.done >= 4 && s.waiting + s.processing == 0);

    let says = |url: &str, state: &str, part: &str| {
        let e = explain(&desk, url);
        let answer = e["answer"].as_str().unwrap();
        assert!(e["state"] == state && answer.contains(part), "{url}: {e:#}");
        e
    };
    let ok = says("HTTP://A.test:80/x/../ok#top", "done", "with status 200; its record is in ");
    assert_eq!(ok["page"]["title"], "fine", "{ok:#}");
    assert_eq!(ok["found"], serde_json::json!({"via": "http://a.test/", "seed": false}), "{ok:#}");
    assert!(ok["answer"].as_str().unwrap().ends_with(" It was found on http://a.test/."), "{ok:#}");
    says("http://a.test/", "done", " It is a seed.");
    assert_eq!(ok["canonical"]["url"], "http://a.test/ok");
    assert_eq!(ok["canonical"]["changed"].as_array().unwrap().len(), 5, "{ok:#}");
    assert_eq!(ok["attempts"][0]["status"], 200, "{ok:#}");
    let (ok, same) = (ok["page"]["how"].clone(), explain(&desk, "http://a.test/same")["page"]["how"].clone());
    assert!([&ok, &same].iter().any(|how| *how == "duplicate"), "one of two equal pages came second: {ok} {same}");
    says("http://a.test/moved", "done", "status 301: it redirects elsewhere");
    let missing = says("http://a.test/missing", "error", "It was given up: status_4xx; ");
    assert_eq!(missing["attempts"][0]["status"], 404, "{missing:#}");
    says("http://a.test/private/x", "rejected", "robots.txt forbids it (2: Disallow: /private)");
    says("http://other.test/", "rejected", "It was turned away (scope): other.test is no host of the scope");
    says("http://a.test/x/a/a/a", "rejected", "It was turned away (repeats): path segments are repeated");
    says("http://a.test/pic.png", "rejected", "skip_extensions names png");

    let begin = "Nobody found a link to it yet; ";
    says("http://a.test/never", "unknown", &format!("{begin}it would be accepted: a.test is a host of the scope"));
    says("http://a.test/private/never", "unknown", "robots.txt forbids it (2: Disallow: /private)");
    says("http://third.test/", "unknown", &format!("{begin}it would be turned away (scope): third.test is no host"));
    assert!(explain(&desk, "http://third.test/")["host"].is_null());

    live.seed(&["http://b.test/slow"]);
    live.until("the slow page to be asked for", |s| s.in_flight == 1);
    says("http://b.test/slow", "processing", "It is in hand");
    live.control().pause().unwrap();
    live.seed(&["http://b.test/1", "http://b.test/2"]);
    let second = says("http://b.test/2", "waiting", "nothing is begun now (paused by the operator)");
    let before = second["queue"]["before"].as_u64().unwrap();
    assert!(before >= 1 && second["answer"].as_str().unwrap().contains("of the host come"), "{second:#}");
    assert_eq!((&second["queue"]["seed"], &second["hold"]["code"]), (&true.into(), &"paused".into()));
    open.send(()).unwrap();
    live.control().resume().unwrap();
    live.seed(&["http://b.test/busy"]);
    live.until("the busy page to be parked", |s| s.waiting == 1 && s.processing == 0);
    let busy = says(
        "http://b.test/busy",
        "waiting",
        "It waits: its first try failed (status_5xx), it is tried again in 59 min",
    );
    let outcome = &busy["attempts"][0]["outcome"];
    assert_eq!((&busy["queue"]["failed_attempts"], outcome), (&1.into(), &"status_5xx".into()), "{busy:#}");
    drop(desk);
    live.end();
}

#[test]
fn a_waiting_url_is_told_when_its_host_is_asked_again() {
    let site = Site::http(|_, path| if path == "/robots.txt" { none() } else { html("x") });
    let sandbox = in_front_of(&site).gap(Duration::from_secs(3_600));
    let live = sandbox.start_bare();
    let desk = Desk::of(&live);
    live.seed(&["http://a.test/1", "http://a.test/2"]);
    live.until("robots.txt to be there", |s| s.hosts_parked == 1);
    let e = explain(&desk, "http://a.test/2");
    let answer = e["answer"].as_str().unwrap();
    let begin =
        "It waits: the host is asked again in 59 min (the gap between two requests); 1 URL of the host comes before it";
    assert!(answer.starts_with(begin), "{e:#}");
    assert_eq!((&e["host"]["state"], &e["host"]["wait"]["why"]), (&"parked".into(), &"gap".into()), "{e:#}");
    drop(desk);
    live.close();
}

#[test]
fn what_is_no_url_is_refused_with_what_is_expected() {
    let site = Site::http(|_, _| none());
    let sandbox = in_front_of(&site);
    let live = sandbox.start_bare();
    let desk = Desk::of(&live);
    for route in ["/api/v1/urls", "/api/v1/explain"] {
        let path = |query: &str| format!("{route}{query}");
        desk.refuses(&[
            (&path(""), "missing field `url`"),
            (&path("?url="), "such as https://example.org/"),
            (&path("?url=mailto:a@b"), "neither http nor https"),
            (&path("?url=/relative"), "such as https://example.org/"),
            (&path(&format!("?url=http://a.test/{}", "x".repeat(3_000))), "longer than the limit"),
            (&path("?url=http://a.test/&url=http://b.test/"), "duplicate field"),
        ]);
        assert_eq!(desk.json("POST", route).0, 405);
    }
    drop(desk);
    live.close();
}
