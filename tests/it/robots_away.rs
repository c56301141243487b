//! robots.txt that cannot be had: who waits for it, and for how long.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use lycosa::domain::reason::Failure;
use lycosa::storage::values::UrlState;

use crate::cockpit::{Desk, in_front_of};
use crate::site::{Site, html, none, page};
use crate::support::Sandbox;

const RULES: &str = "User-agent: *\nDisallow: /private\n";

fn text(body: &str) -> String {
    page(200, "text/plain", "", body)
}

/// The head of a text that never comes whole.
fn broken_off() -> String {
    text(RULES).replace(&format!("Content-Length: {}", RULES.len()), "Content-Length: 5000")
}

/// A crawl from these seeds on, whatever the hosts, that is to end.
fn crawl_of(site: &Site, seeds: &[&str]) -> Sandbox {
    let sandbox = in_front_of(site).set(&format!("crawl.seeds={seeds:?}"));
    sandbox.set("scope.mode=any").set("crawl.until_done=true")
}

fn links(urls: impl Iterator<Item = String>) -> String {
    html(&urls.map(|url| format!("<a href={url}>x</a>")).collect::<String>())
}

/// A port of 127.0.0.1 where nobody listens.
fn dead_port() -> u16 {
    std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

/// Twenty pages of `port` and as many of a port of the same host whose robots.txt is out of reach, which stand before them.
fn mixed(site: &Site, away: u16) -> Sandbox {
    let seed = format!("http://a.test:{}/", site.port());
    in_front_of(site)
        .set("dns.overrides={\"*.test\"=\"127.0.0.1\"}")
        .set(&format!("net.allow=[\"127.0.0.1/32:{}\",\"127.0.0.1/32:{away}\"]", site.port()))
        .set("crawl.until_done=true")
        .set("frontier.host_quantum={pages=3,time=\"1h\"}")
        .set(&format!("crawl.seeds=[\"{seed}\"]"))
}

fn leading_to(away: u16) -> Site {
    Site::http(move |_, path| match path {
        "/robots.txt" => none(),
        "/" => {
            let away = (0..20).map(|n| format!("http://a.test:{away}/{n}"));
            links(away.chain((0..20).map(|n| format!("/{n}"))))
        }
        _ => html("here"),
    })
}

#[test]
fn urls_of_another_port_go_on_quantum_after_quantum_and_life_after_life() {
    let away = Site::http(|_, _| broken_off());
    let site = leading_to(away.port());
    let sandbox = mixed(&site, away.port()).set("robots.error_retry=[\"1h\"]").set("crawl.until_done=false");
    let live = sandbox.start();
    live.until("some pages", |s| s.done >= 5);
    live.close();
    let live = sandbox.start_bare();
    live.until("all of the port that answers", |s| s.done == 21 && s.processing == 0);
    let desk = Desk::of(&live);
    let mut codes = serde_json::Value::Null;
    let asked = std::cell::RefCell::new(&mut codes);
    live.until("the truth of why it is idle", |_| {
        let why = desk.get("/api/v1/why-idle");
        let told = why["findings"].as_array().unwrap().iter().any(|f| f["code"] == "robots_unreachable");
        **asked.borrow_mut() = why;
        told
    });
    assert!(codes.to_string().contains("robots.txt of 1 host cannot be reached"), "{codes:#}");
    let url = format!("http://a.test:{}/7", away.port());
    let explained = desk.get(&format!("/api/v1/explain?url={}", crate::cockpit::escaped(&url)));
    let answer = explained["answer"].as_str().unwrap();
    assert!(answer.contains("its robots.txt cannot be reached"), "{answer}");
    assert_eq!(explained["queue"]["failed_attempts"], 0, "a daemon goes on asking");
    drop(desk);
    live.close();
    assert_eq!(away.asked().iter().filter(|asked| !asked.ends_with("/robots.txt")).count(), 0);
}

#[test]
fn a_crawl_that_is_to_end_gives_up_what_has_no_robots_txt() {
    let away = dead_port();
    let site = leading_to(away);
    let sandbox = mixed(&site, away).set("fetch.retry_delays=[\"20ms\"]");
    let ended = sandbox.crawl();
    assert_eq!((ended.status.pages_stored, ended.status.waiting), (21, 0), "{}", ended.report());
    assert_eq!(ended.status.errors, 20, "{}", ended.report());
}

#[test]
fn a_robots_txt_that_fails_for_ever_costs_each_url_its_attempts_in_a_crawl_that_is_to_end() {
    let site = Site::http(|host, path| match (host, path) {
        ("seed.test", "/robots.txt") => none(),
        ("seed.test", _) => {
            links(["busy", "cut"].iter().flat_map(|host| (0..3).map(move |n| format!("http://{host}.test/{n}"))))
        }
        ("busy.test", _) => page(500, "text/plain", "", ""),
        _ => broken_off(),
    });
    let sandbox = crawl_of(&site, &["http://seed.test/"]).set("fetch.retry_delays=[\"20ms\"]");
    let ended = sandbox.crawl();
    for host in ["busy", "cut"] {
        for n in 0..3 {
            let state = ended.found.state_of(&format!("http://{host}.test/{n}"));
            let given_up = matches!(state, Some(UrlState::Error { reason: Failure::RobotsUnreachable }));
            assert!(given_up, "{host} {n}: {state:?}");
        }
    }
}

#[test]
fn what_was_learned_stands_in_for_all_pages_however_often_robots_txt_fails_afterwards() {
    let asked: Arc<Mutex<std::collections::HashMap<String, u32>>> = Arc::default();
    let site = Site::http(move |host, path| {
        let first = |host: &str| {
            let mut asked = asked.lock().unwrap();
            let times = asked.entry(host.to_owned()).or_default();
            *times += 1;
            *times == 1
        };
        match (host, path) {
            ("seed.test", "/robots.txt") => none(),
            ("seed.test", _) => links(["busy", "empty", "none"].iter().map(|host| format!("http://{host}.test/"))),
            ("busy.test", "/robots.txt") if first(host) => text(RULES),
            ("empty.test", "/robots.txt") if first(host) => text(""),
            ("none.test", "/robots.txt") if first(host) => none(),
            ("busy.test", "/robots.txt") => page(503, "text/plain", "", ""),
            (_, "/robots.txt") => broken_off(),
            (_, "/") => links((0..4).map(|n| format!("/{n}")).chain(["/private/x".into()])),
            _ => html("here"),
        }
    });
    let sandbox = crawl_of(&site, &["http://seed.test/"]).set("robots.max_age=1ms");
    let ended = sandbox.crawl();
    assert_eq!((ended.status.pages_stored, ended.status.waiting), (1 + 5 + 6 + 6, 0), "{}", ended.report());
    assert!(!site.asked().contains(&"busy.test /private/x".to_owned()), "{:?}", site.asked());
}

#[test]
fn hosts_that_lead_to_one_robots_txt_have_it_asked_for_once() {
    let site = Site::http(|host, path| match (host, path) {
        ("rules.test", _) => text(RULES),
        (_, "/robots.txt") => page(301, "text/plain", "Location: http://rules.test/shared\r\n", ""),
        _ => links(["/private/x".to_owned(), "/open".into()].into_iter()),
    });
    let seeds: Vec<String> = (0..12).map(|n| format!("http://h{n}.test/")).collect();
    let seeds: Vec<&str> = seeds.iter().map(String::as_str).collect();
    let ended = crawl_of(&site, &seeds).crawl();
    assert_eq!(ended.status.pages_stored, 24, "{}", ended.report());
    let shared = site.asked().iter().filter(|asked| *asked == "rules.test /shared").count();
    assert_eq!(shared, 1);
    assert!(!site.asked().iter().any(|asked| asked.contains("private")), "{:?}", site.asked());
}

#[test]
fn hosts_that_lead_to_one_host_do_not_stand_before_its_own_pages() {
    let site = Site::http(|host, path| match (host, path) {
        ("seed.test", "/robots.txt") => none(),
        ("seed.test", _) => {
            links(["http://victim.test/".to_owned()].into_iter().chain((0..30).map(|n| format!("http://h{n}.test/"))))
        }
        ("victim.test", "/") => links((0..40).map(|n| format!("/{n}"))),
        ("victim.test", _) => text(RULES),
        (_, "/robots.txt") => {
            page(302, "text/plain", &format!("Location: http://victim.test/robots.txt?{host}\r\n"), "")
        }
        _ => html("here"),
    });
    let sandbox = crawl_of(&site, &["http://seed.test/"]).set("fetch.concurrency=64").gap(Duration::from_millis(20));
    let ended = sandbox.crawl();
    assert_eq!(ended.status.pages_stored, 1 + 41 + 30, "{}", ended.report());
    let asked: Vec<String> = site.asked().into_iter().filter(|asked| asked.starts_with("victim.test ")).collect();
    let is_stranger = |asked: &String| asked.contains("?h");
    let last_own = asked.iter().rposition(|asked| !is_stranger(asked)).unwrap();
    let began = asked.iter().position(|asked| asked == "victim.test /0").unwrap();
    let between = asked[began..last_own].iter().filter(|asked| is_stranger(asked)).count();
    assert!(between <= 8, "{between} strangers among 40 pages: {asked:?}");
}

#[test]
fn a_robots_txt_that_is_being_asked_for_is_told_so() {
    let (open, gate) = channel::<()>();
    let gate = Mutex::new(gate);
    let begun = Arc::new(AtomicU32::new(0));
    let seen = begun.clone();
    let site = Site::http(move |_, path| {
        if path == "/robots.txt" {
            seen.fetch_add(1, Ordering::AcqRel);
            let _ = gate.lock().unwrap().recv();
            return none();
        }
        html("here")
    });
    let sandbox = in_front_of(&site);
    let live = sandbox.start_bare();
    let desk = Desk::of(&live);
    live.seed(&["http://a.test/"]);
    live.until("robots.txt to be asked for", |_| begun.load(Ordering::Acquire) > 0);
    let explained = desk.get("/api/v1/explain?url=http%3A%2F%2Fa.test%2F");
    let because = explained["robots_verdict"]["because"].as_str().unwrap();
    assert!(because.contains("is being asked for since"), "{explained:#}");
    assert!(explained["answer"].as_str().unwrap().contains("is being asked for since"), "{explained:#}");
    open.send(()).unwrap();
    live.until("the page", |s| s.done == 1);
    drop(desk);
    live.end();
}

#[test]
fn hosts_led_to_one_that_rests_do_not_hold_the_places_of_others() {
    let site = Site::http(|host, path| match (host, path) {
        ("victim.test", _) => page(503, "text/plain", "Retry-After: 3600\r\n", "later"),
        ("fine.test", "/robots.txt") => none(),
        ("fine.test", _) => html("here"),
        _ => page(302, "text/plain", &format!("Location: http://victim.test/robots.txt?{host}\r\n"), ""),
    });
    let sandbox = in_front_of(&site).set("frontier.max_active_hosts=1").set("scope.mode=any");
    let live = sandbox.start_bare();
    let mut seeds: Vec<String> = (0..20).map(|n| format!("http://led{n}.test/")).collect();
    seeds.push("http://fine.test/".into());
    live.seed(&seeds);
    let asked = |host: &str| site.asked().iter().filter(|asked| asked.starts_with(host)).count();
    let led = || site.asked().into_iter().filter(|asked| asked.starts_with("led")).collect::<BTreeSet<_>>().len();
    live.until("the turn of all", |s| s.done == 1 && led() == 20);
    assert_eq!(asked("victim.test"), 1, "the others know that it rests");
    live.close();
}
