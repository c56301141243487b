//! Servers that know a page under another spelling of its URL only, refreshes, and redirects that lead nowhere.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use serde_json::Value;

use crate::cockpit::in_front_of;
use crate::site::{Site, html, page};
use crate::support::Sandbox;

const SESSION: &str = "0123456789abcdef0123456789abcdef";

fn to(location: &str) -> String {
    page(302, "text/html", &format!("Location: {location}\r\n"), "")
}

/// Canonical paths, and the spelling that alone has the page.
fn forms() -> Vec<(&'static str, String)> {
    vec![
        ("/q", format!("/q?PHPSESSID={SESSION}")),
        ("/p", format!("/p;jsessionid={SESSION}.node1")),
        ("/c", "/c?utm_source=home".into()),
        ("/d?id=7", "/d?id=7&gclid=abc".into()),
        ("/~e", "/%7Ee".into()),
        ("/f-g", "/f%2Dg".into()),
        ("/%C3%A9", "/%c3%a9".into()),
        ("/h", "/h?".into()),
    ]
}

/// Each form's page leads to another below it, relative to where it was asked for.
fn site() -> Site {
    Site::http(|_, path| {
        let gates = forms();
        let links: String = gates.iter().map(|(bare, _)| format!("<a href='{bare}'>x</a>")).collect();
        match gates.iter().find(|(bare, full)| path == *bare || path == full) {
            _ if path == "/" => html(&links),
            Some((bare, full)) if path == *bare => to(full),
            Some((_, full)) => html(&format!("<title>behind {full}</title>")),
            None => page(404, "text/plain", "", "none"),
        }
    })
}

/// Crawls until nothing is left; gives the lines of `crawl.jsonl` by path, and the archive.
fn crawl(sandbox: &Sandbox, seeds: &[&str]) -> (std::collections::BTreeMap<String, Value>, String) {
    let live = sandbox.start_bare();
    live.seed(seeds);
    live.until("all to come to an end", |s| s.waiting + s.processing == 0);
    let ended = live.end();
    (ended.lines(), ended.archive())
}

#[test]
fn a_page_is_asked_for_under_the_spelling_that_its_server_redirects_to() {
    let site = site();
    let (lines, archive) = crawl(&in_front_of(&site).fetching_again(), &["http://a.test/"]);
    for (bare, full) in forms() {
        let line = &lines[bare];
        let asked = format!("http://a.test{full}");
        assert_eq!((&line["status"], &line["asked"]), (&200.into(), &asked.as_str().into()), "{line}");
        assert_eq!(line["hop_path"], "LR");
        assert!(archive.contains(&format!("WARC-Target-URI: {asked}\r\n")), "{asked}");
        let requests = site.asked();
        let of = |path: &str| requests.iter().filter(|r| **r == format!("a.test {path}")).count();
        assert_eq!((of(bare), of(&full)), (1, 1), "{requests:?}");
    }
}

#[test]
fn links_are_asked_for_with_the_encodings_they_are_written_in_and_their_base_is_what_was_asked_for() {
    let site = Site::http(|_, path| match path {
        "/" => html("<a href='/%7Ee/a'>1</a><a href='/~e/a'>2</a><a href='/x^y'>3</a><a href='/x%5Ey'>4</a>"),
        "/%7Ee/a" => html("<a href=b>b</a>"),
        "/%7Ee/b" | "/x%5Ey" => html("<title>there</title>"),
        _ => page(404, "text/plain", "", "none"),
    });
    let (lines, _) = crawl(&in_front_of(&site), &["http://a.test/"]);
    let status: Vec<_> = lines.iter().map(|(path, line)| (path.as_str(), line["status"].clone())).collect();
    assert_eq!(
        status,
        [("/", 200.into()), ("/x%5Ey", 200.into()), ("/~e/a", 200.into()), ("/~e/b", 200.into())]
            .map(|(p, s): (&str, Value)| (p, s))
    );
}

#[test]
fn ever_new_session_numbers_end_at_the_limit_of_redirects() {
    let count = Arc::new(AtomicUsize::new(0));
    let site = Site::http(move |_, path| match path.starts_with("/q") {
        true => to(&format!("/q?PHPSESSID=0123456789abcdef{:016x}", count.fetch_add(1, Ordering::Relaxed))),
        false => html("<a href=/q>x</a>"),
    });
    let sandbox = in_front_of(&site).fetching_again().set("fetch.max_redirects=4");
    let (lines, _) = crawl(&sandbox, &["http://a.test/"]);
    let asked = site.asked().iter().filter(|r| r.contains("/q")).count();
    assert_eq!(asked, 5, "the first and four redirects");
    let refused = lines["/q"]["target_refused"].as_str().unwrap();
    assert!(refused.starts_with("redirects: more than 4"), "{refused}");
}

#[test]
fn a_kill_between_a_spelling_and_its_next_fetch_loses_nothing_of_it() {
    let (gate, full) = (Arc::new(AtomicBool::new(false)), format!("/q?PHPSESSID={SESSION}"));
    let (open, wanted) = (gate.clone(), full.clone());
    let site = Site::http(move |_, path| match path {
        "/" => html("<a href=/q>x</a>"),
        "/q" => to(&wanted),
        _ if path == wanted => {
            while !open.load(Ordering::Acquire) {
                std::thread::sleep(std::time::Duration::from_millis(2));
            }
            html("<title>behind</title>")
        }
        _ => page(404, "text/plain", "", "none"),
    });
    let sandbox = in_front_of(&site).fetching_again();
    let live = sandbox.start_bare();
    live.seed(&["http://a.test/"]);
    let asked = || site.asked().iter().any(|r| *r == format!("a.test {full}"));
    live.until("the request under the other spelling", |_| asked());
    let fork = sandbox.fork();
    gate.store(true, Ordering::Release);
    live.drop_at_once();
    let sandbox = sandbox.resume(fork);
    let live = sandbox.start_bare();
    live.until("the end", |s| s.done == 2 && s.waiting + s.processing == 0);
    let ended = live.end_after_fork();
    let bare = site.asked().iter().filter(|r| *r == "a.test /q").count();
    assert_eq!(bare, 1, "it goes on with the spelling: {:?}", site.asked());
    let captured = ended.found.pages.values().find(|page| page.status == 200 && page.url.ends_with("/q")).unwrap();
    assert_eq!(captured.asked(), format!("http://a.test{full}"));
}

#[test]
fn pages_that_lead_on_by_themselves_are_all_found_however_many() {
    for (wait, body) in [(5, "<h1>Picture</h1>"), (1, "<p>a few words"), (0, "<p>a few words")] {
        let site = Site::http(move |_, path| match path.trim_start_matches('/').parse::<u32>() {
            Ok(n) if n < 25 => {
                let (next, word) = (n + 1, "abcdefghijklmnopqrstuvwxyz".get(n as usize..).unwrap());
                let on = format!("<meta http-equiv=refresh content='{wait}; url=/{next}'>");
                html(&format!("<title>{n}</title>{on}{body} {word} <img src=/{word}.png>"))
            }
            _ => html("<a href=/0>x</a>"),
        });
        let sandbox = in_front_of(&site).set("fetch.max_redirects=3");
        let (lines, _) = crawl(&sandbox, &["http://a.test/"]);
        let found: BTreeSet<u32> = lines.keys().filter_map(|path| path.strip_prefix('/')?.parse().ok()).collect();
        assert_eq!(found, (0..=25).collect(), "{wait} {body}");
    }
}

#[test]
fn redirects_between_pages_that_lead_on_by_themselves_have_room_in_the_limit() {
    let word = |n: u32| "abcdefghijklmnopqrstuvwxyz".get(n as usize..).unwrap();
    let site = Site::http(move |_, path| match path.rsplit('/').next().and_then(|n| n.parse::<u32>().ok()) {
        Some(n) if path.starts_with("/go/") => to(&format!("/on/{n}")),
        Some(n) if path.starts_with("/on/") => to(&format!("/{n}")),
        Some(n) if n < 16 => {
            let on = format!("<meta http-equiv=refresh content='0; url=/go/{}'>", n + 1);
            html(&format!("<title>{n}</title>{on}<p>wait {} <img src=/{}.png>", word(n), word(n)))
        }
        _ => html("<a href=/0>x</a>"),
    });
    let (lines, _) = crawl(&in_front_of(&site), &["http://a.test/"]);
    let found: BTreeSet<u32> = lines.keys().filter_map(|path| path.strip_prefix('/')?.parse().ok()).collect();
    assert_eq!(found, (0..=16).collect());
}

#[test]
fn what_looks_like_session_ids_and_names_pages_is_asked_for() {
    let ids = ["550e8400-e29b-41d4-a716-446655440000", SESSION, "9e107d9d372bb6826bd81d3542a419d6"];
    let site = Site::http(move |_, path| match path {
        "/" => html(&ids.map(|id| format!("<a href='/talk?session={id}'>{id}</a>")).concat()),
        _ if path.starts_with("/talk?session=") => html(&format!("<title>{path}</title><a href='/'>back</a>")),
        _ => page(404, "text/plain", "", "none"),
    });
    let (lines, _) = crawl(&in_front_of(&site), &["http://a.test/"]);
    assert_eq!(lines.len(), 4, "{:?}", lines.keys());
    assert!(lines.values().all(|line| line["status"] == 200), "{lines:?}");
}

#[test]
fn a_seeds_refresh_widens_the_scope_only_from_a_page_without_content() {
    let site = Site::http(|host, path| match (host, path) {
        ("a.test", "/") => html("<meta http-equiv=refresh content='0; url=http://b.test/'><p>moved"),
        ("c.test", "/") => html("<meta http-equiv=refresh content='0; url=http://d.test/'><a href=/more>more</a>"),
        ("c.test", "/more") | ("b.test" | "d.test", "/") => html("<title>there</title>"),
        _ => page(404, "text/plain", "", "none"),
    });
    crawl(&in_front_of(&site), &["http://a.test/", "http://c.test/"]);
    let asked: BTreeSet<_> =
        site.asked().into_iter().filter(|r| !r.ends_with("robots.txt") && !r.contains("sitemap")).collect();
    let wanted = ["a.test /", "b.test /", "c.test /", "c.test /more"].map(str::to_owned);
    assert_eq!(asked, wanted.into());
}

#[test]
fn where_a_redirect_leads_and_nobody_goes_is_said_with_the_rule() {
    let site = Site::http(|_, path| match path {
        "/" => html("<a href=/out>1</a><a href=/hidden>2</a><a href=/one>3</a><a href=/self>4</a><a href=/no>5</a>"),
        "/out" => to("http://b.test/"),
        "/hidden" => to("/private/x"),
        "/one" => to("/two"),
        "/two" => to("/one"),
        "/self" => to("/self"),
        "/no" => to("http://a b.test/"),
        _ => page(404, "text/plain", "", "none"),
    });
    let sandbox = in_front_of(&site).set("scope.exclude=['/private/']");
    let (lines, _) = crawl(&sandbox, &["http://a.test/"]);
    let refused = |path: &str| lines[path]["target_refused"].as_str().unwrap_or_default().to_owned();
    assert!(refused("/out").starts_with("scope: ") && refused("/out").contains("b.test"), "{}", refused("/out"));
    assert!(
        refused("/hidden").starts_with("excluded: ") && refused("/hidden").contains("/private/"),
        "{}",
        refused("/hidden")
    );
    let noted = |path: &str, note: &str| lines[path]["notes"].as_array().unwrap().contains(&note.into());
    assert!(noted("/out", "redirect_refused") && noted("/hidden", "redirect_refused"));
    assert!(noted("/two", "redirect_loop") && noted("/self", "redirect_self") && noted("/no", "redirect_nowhere"));
    assert!(noted("/no", "links_refused"));
}

#[test]
fn a_link_that_is_no_url_leaves_a_trace_and_one_to_an_odd_host_is_followed() {
    let asked = Arc::new(Mutex::new(Vec::new()));
    let log = asked.clone();
    let site = Site::http(move |host, _| {
        log.lock().unwrap().push(host.to_owned());
        html("<a href='http://xn--board-ngr.test/'>1</a><a href='http://a b.test/'>2</a><a href='ftp://a.test/'>3</a>")
    });
    let sandbox = in_front_of(&site).set("scope.mode=any");
    let live = sandbox.start_bare();
    live.seed(&["http://a.test/"]);
    live.until("both hosts", |s| s.done == 2 && s.waiting + s.processing == 0);
    let metrics = live.node.telemetry.metrics.text();
    for (reason, n) in [("malformed", 2), ("scheme", 2), ("too_long", 0)] {
        let line = format!("lycosa_links_refused_total{{reason=\"{reason}\"}} {n}\n");
        assert!(metrics.contains(&line), "{line}{metrics}");
    }
    let ended = live.end();
    assert_eq!(ended.lines()["/"]["notes"], serde_json::json!(["links_refused"]));
    assert!(asked.lock().unwrap().iter().any(|host| host == "xn--board-ngr.test"));
}

#[test]
fn robots_txt_is_asked_about_the_spelling_that_is_asked_for() {
    let site = Site::http(|_, path| match path {
        "/robots.txt" => page(200, "text/plain", "", "User-agent: *\nDisallow: /*jsessionid\n"),
        "/" => html("<a href=/p>x</a>"),
        "/p" => to(&format!("/p;jsessionid={SESSION}")),
        _ => html("<title>not for crawlers</title>"),
    });
    let (lines, _) = crawl(&in_front_of(&site).fetching_again(), &["http://a.test/"]);
    assert!(!site.asked().iter().any(|r| r.contains("jsessionid")), "{:?}", site.asked());
    assert_eq!(lines["/p"]["reason"], "robots");
}
