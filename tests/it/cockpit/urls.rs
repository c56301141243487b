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

/// One of the deciding facts.
fn fact(explained: &Value, name: &str) -> String {
    let facts = explained["facts"].as_array().unwrap();
    let found = facts.iter().find(|fact| fact["name"] == name).unwrap_or_else(|| panic!("no {name}: {explained:#}"));
    found["text"].as_str().unwrap().to_owned()
}

#[test]
fn a_url_in_each_state_is_explained() {
    let (open, gate) = channel();
    let site = site(gate);
    let sandbox = in_front_of(&site).set("fetch.retry_delays=[\"1h\"]").set("traps.max_repeats=2");
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
    let ok = says("HTTP://A.test:80/x/../ok#top", "done", "with status 200: ");
    assert_eq!(ok["page"]["title"], "fine", "{ok:#}");
    assert_eq!(ok["found"], serde_json::json!({"via": "http://a.test/", "seed": false}), "{ok:#}");
    assert!(ok["answer"].as_str().unwrap().contains("; its record is in "), "{ok:#}");
    assert_eq!(fact(&ok, "found"), "on http://a.test/");
    assert!(fact(&ok, "WARC").contains(".warc.gz") && fact(&ok, "page").contains("“fine”"), "{ok:#}");
    assert_eq!(fact(&says("http://a.test/", "done", "Crawled at "), "found"), "as a seed");
    assert_eq!(ok["canonical"]["url"], "http://a.test/ok");
    assert_eq!(ok["canonical"]["changed"].as_array().unwrap().len(), 5, "{ok:#}");
    assert_eq!(ok["attempts"][0]["status"], 200, "{ok:#}");
    let (ok, same) = (ok["page"]["how"].clone(), explain(&desk, "http://a.test/same")["page"]["how"].clone());
    assert!([&ok, &same].iter().any(|how| *how == "duplicate"), "one of two equal pages came second: {ok} {same}");
    says("http://a.test/moved", "done", "status 301: it redirects to http://a.test/ok; ");
    let missing = says("http://a.test/missing", "error", "(status_4xx, answer 404); ");
    assert_eq!(missing["attempts"][0]["status"], 404, "{missing:#}");
    says("http://a.test/private/x", "rejected", "robots.txt forbids it (2: Disallow: /private)");
    says("http://other.test/", "rejected", "turned away (scope), because other.test is no host of the scope");
    says("http://a.test/x/a/a/a", "rejected", "turned away (repeats), because path segments are repeated");
    says("http://a.test/pic.png", "rejected", "skip_extensions names png");

    let begin = "Not crawled: nobody found a link to it yet; ";
    says("http://a.test/never", "unknown", &format!("{begin}it would be accepted: a.test is a host of the scope"));
    says("http://a.test/private/never", "unknown", "robots.txt forbids it (2: Disallow: /private)");
    says("http://third.test/", "unknown", &format!("{begin}it would be turned away (scope): third.test is no host"));
    assert!(explain(&desk, "http://third.test/")["host"].is_null());

    live.seed(&["http://b.test/slow"]);
    // Its robots.txt is in flight before it is, which looks the same from here: the site knows.
    live.until("the slow page to be asked for", |_| site.asked().contains(&"b.test /slow".to_owned()));
    says("http://b.test/slow", "processing", "Being crawled now: ");
    live.control().pause().unwrap();
    live.seed(&["http://b.test/1", "http://b.test/2"]);
    let second = says("http://b.test/2", "waiting", "nothing is begun now (paused by the operator)");
    let before = second["queue"]["before"].as_u64().unwrap();
    let place = format!("waiting in the queue of b.test, rank 0, {before} before it");
    assert!(before >= 1 && second["answer"].as_str().unwrap().contains(&place), "{second:#}");
    assert_eq!((&second["queue"]["seed"], &second["hold"]["code"]), (&true.into(), &"paused".into()));
    open.send(()).unwrap();
    live.control().resume().unwrap();
    live.seed(&["http://b.test/busy"]);
    live.until("the busy page to be parked", |s| s.waiting == 1 && s.processing == 0);
    let busy = says(
        "http://b.test/busy",
        "waiting",
        "Not crawled yet: its first try failed (status_5xx, answer 503), it is tried again; earliest ",
    );
    let outcome = &busy["attempts"][0]["outcome"];
    assert_eq!((&busy["queue"]["failed_attempts"], outcome), (&1.into(), &"status_5xx".into()), "{busy:#}");
    assert!(fact(&busy, "attempts").ends_with(" status_5xx 503"), "{busy:#}");
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
    let begin = "Not crawled yet: waiting in the queue of a.test, rank 0, 1 before it; earliest ";
    let end = "(in 1 h 59 min), because of the gap of 1h between two requests (politeness.min_delay).";
    assert!(answer.starts_with(begin) && answer.ends_with(end), "{e:#}");
    assert_eq!((&e["host"]["state"], &e["host"]["wait"]["why"]), (&"parked".into(), &"gap".into()), "{e:#}");
    drop(desk);
    live.close();
}

#[test]
fn what_only_nofollow_links_name_is_known_as_that_until_another_link_leads_there() {
    let site = Site::http(|_, path| match path {
        "/robots.txt" => none(),
        "/" => html("<a rel=nofollow href=/no>x</a><a rel=ugc href=/later>x</a><a href=/page>x</a><a href=/shy>x</a>"),
        "/page" => html("<a href=/later>x</a><a rel=nofollow href=/>x</a>"),
        "/shy" => html("<meta name=robots content=nofollow><a href=/behind>x</a><a href=/page>x</a>"),
        _ => html("x"),
    });
    let sandbox = in_front_of(&site);
    let live = sandbox.start_bare();
    let desk = Desk::of(&live);
    live.seed(&["http://a.test/"]);
    live.until("all pages", |s| s.done == 4 && s.waiting + s.processing == 0);
    for (path, via) in [("no", "http://a.test/"), ("behind", "http://a.test/shy")] {
        let e = explain(&desk, &format!("http://a.test/{path}"));
        let answer = e["answer"].as_str().unwrap();
        assert!(answer.starts_with("Not crawled: turned away (nofollow); every link to it found so far says"), "{e:#}");
        assert_eq!((&e["reason"], &e["found"]["via"]), (&"nofollow".into(), &via.into()), "{e:#}");
    }
    for path in ["", "page", "shy", "later"] {
        assert_eq!(explain(&desk, &format!("http://a.test/{path}"))["state"], "done", "{path}");
    }
    drop(desk);
    let ended = live.end();
    ended.assert_none_twice();
    assert_eq!(ended.status.rejected_by_reason, [("nofollow".to_owned(), 2)].into());
}

#[test]
fn a_query_in_letters_is_found_as_the_pages_of_the_crawl_write_it() {
    let site = Site::http(|_, path| match path {
        "/robots.txt" => none(),
        "/" => html("<meta charset=gbk><a href='/s?q=&#22825;&#27668;&p=1'>x</a>"),
        _ => html("x"),
    });
    let sandbox = in_front_of(&site);
    let live = sandbox.start_bare();
    let desk = Desk::of(&live);
    live.seed(&["http://a.test/"]);
    live.until("both pages", |s| s.done == 2);
    for typed in ["http://a.test/s?q=\u{5929}\u{6c14}&p=1", "a.test/s?q=\u{5929}\u{6c14}&p=1"] {
        let e = explain(&desk, typed);
        assert_eq!(
            (&e["canonical"]["url"], &e["state"]),
            (&"http://a.test/s?q=%CC%EC%C6%F8&p=1".into(), &"done".into())
        );
        assert!(fact(&e, "URL").contains("its query was taken as GBK, as the crawl knows it"), "{e:#}");
    }
    let unknown = explain(&desk, "http://a.test/s?q=\u{96e8}");
    assert_eq!(
        (&unknown["canonical"]["url"], &unknown["assumed"]),
        (&"http://a.test/s?q=%E9%9B%A8".into(), &Value::Null)
    );
    drop(desk);
    live.end();
}

#[test]
fn a_url_without_a_scheme_is_taken_as_the_crawl_knows_it_and_else_as_browsers_do() {
    let site = Site::http(|_, path| if path == "/robots.txt" { none() } else { html("x") });
    let sandbox = in_front_of(&site);
    let live = sandbox.start_bare();
    let desk = Desk::of(&live);
    live.seed(&["http://a.test/1"]);
    live.until("the page", |s| s.done == 1);
    for (typed, url, why) in [
        ("a.test/1", "http://a.test/1", "as the crawl knows it"),
        ("//A.test:80/1#top", "http://a.test/1", "as the crawl knows it"),
        ("a.test/2", "http://a.test/2", "as the crawl asks its host"),
        ("b.test", "https://b.test/", "as browsers do"),
        ("a.test:8080/1", "https://a.test:8080/1", "as browsers do"),
    ] {
        let e = explain(&desk, typed);
        let (assumed, text) = (e["assumed"].as_str().unwrap(), fact(&e, "URL"));
        assert!(e["canonical"]["url"] == url && assumed.ends_with(why) && text.contains(assumed), "{typed}: {e:#}");
    }
    assert_eq!(explain(&desk, "http://a.test/1")["assumed"], Value::Null);
    assert_eq!(desk.get("/api/v1/page?url=a.test/1")["capture"]["url"], "http://a.test/1");
    assert_eq!(desk.get("/api/v1/hosts/a.test/robots?url=a.test/1")["robots"]["scheme"], "http");
    desk.refuses(&[("/api/v1/explain?url=word", "such as https://example.org/")]);
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
            (&path(""), "the query: url is missing"),
            (&path("?url="), "such as https://example.org/"),
            (&path("?url=mailto:a@b"), "neither http nor https"),
            (&path("?url=/relative"), "such as https://example.org/"),
            (&path(&format!("?url=http://a.test/{}", "x".repeat(3_000))), "longer than the limit"),
            (&path("?url=http://a.test/&url=http://b.test/"), "url is there twice"),
        ]);
        assert_eq!(desk.json("POST", route).0, 405);
    }
    drop(desk);
    live.close();
}
