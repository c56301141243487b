//! robots.txt as servers of the wild web give it, before a whole node.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use lycosa::domain::politeness::PaceWhy;
use lycosa::domain::reason::Rejection;
use lycosa::domain::robots::MAX_ROBOTS_BYTES;
use lycosa::storage::values::UrlState;

use crate::cockpit::in_front_of;
use crate::site::{Site, html, none, page};
use crate::support::{Ended, Sandbox};

/// Every page leads to these.
const LINKS: &str = "<a href=/private/x>x</a><a href=/open>o</a>";
const RULES: &str = "User-agent: *\nDisallow: /private\n";

fn text(body: &str) -> String {
    page(200, "text/plain", "", body)
}

/// The same, and the connection ends before its body does.
fn broken_off(body: &str) -> String {
    text(body).replace(&format!("Content-Length: {}", body.len()), "Content-Length: 5000")
}

/// A crawl of these seeds to its end.
fn crawl(sandbox: Sandbox, seeds: &[&str]) -> Ended {
    sandbox.set(&format!("crawl.seeds={seeds:?}")).set("crawl.until_done=true").crawl()
}

/// Requests for one host but for robots.txt.
fn pages(site: &Site, host: &str) -> Vec<String> {
    let of_host = |asked: String| asked.strip_prefix(host).and_then(|path| path.strip_prefix(' ')).map(str::to_owned);
    let mut pages: Vec<String> = site.asked().into_iter().filter_map(of_host).filter(|p| p != "/robots.txt").collect();
    pages.sort();
    pages
}

#[test]
fn a_robots_txt_may_redirect_to_another_host_and_holds_for_the_first() {
    let site = Site::http(|host, path| match (host, path) {
        ("a.test", "/robots.txt") => page(301, "text/plain", "Location: http://rules.test/rules\r\n", ""),
        ("rules.test", "/rules") => text(RULES),
        (_, "/robots.txt") => none(),
        _ => html(LINKS),
    });
    crawl(in_front_of(&site), &["http://a.test/"]);
    assert_eq!(pages(&site, "a.test"), ["/", "/open"]);
    assert_eq!(pages(&site, "rules.test"), ["/rules"]);
}

#[test]
fn a_robots_txt_that_did_not_come_whole_is_asked_for_again_before_any_page() {
    let asked = AtomicU32::new(0);
    let site = Site::http(move |_, path| match path {
        "/robots.txt" if asked.fetch_add(1, Ordering::Relaxed) < 2 => broken_off(RULES),
        "/robots.txt" => text(RULES),
        _ => html(LINKS),
    });
    crawl(in_front_of(&site), &["http://a.test/"]);
    let rules = "a.test /robots.txt";
    assert_eq!(site.asked(), [rules, rules, rules, "a.test /", "a.test /open"]);
}

#[test]
fn a_robots_txt_of_a_coding_that_is_not_known_closes_the_host() {
    let site = Site::http(|_, path| match path {
        "/robots.txt" => page(200, "text/plain", "Content-Encoding: compress\r\n", RULES),
        _ => html(LINKS),
    });
    let sandbox = in_front_of(&site);
    let live = sandbox.start();
    live.seed(&["http://a.test/"]);
    live.until("robots.txt to be asked for twice", |_| site.asked().len() >= 2);
    live.close();
    assert!(pages(&site, "a.test").is_empty(), "{:?}", site.asked());
}

#[test]
fn of_a_robots_txt_over_500_kib_half_a_rule_is_no_rule() {
    let filled = |rules: &str, length: usize| {
        let head = "User-agent: *\n";
        format!("{head}{}\n{rules}", "#".repeat(length - head.len() - 1 - rules.len()))
    };
    let whole = filled("Disallow: /private", MAX_ROBOTS_BYTES);
    let longer = filled("Disallow: /open\nDisallow: /private", MAX_ROBOTS_BYTES) + "/only/this\n";
    let site = Site::http(move |host, path| match (host, path) {
        ("whole.test", "/robots.txt") => text(&whole),
        ("longer.test", "/robots.txt") => text(&longer),
        _ => html(LINKS),
    });
    let sandbox = in_front_of(&site).set("crawl.seeds=[\"http://whole.test/\",\"http://longer.test/\"]");
    let sandbox = sandbox.set("crawl.until_done=true");
    sandbox.crawl();
    assert_eq!(pages(&site, "whole.test"), ["/", "/open"]);
    assert_eq!(pages(&site, "longer.test"), ["/", "/private/x"]);
    // The next life reads what was kept.
    let live = sandbox.start();
    live.seed(&["http://longer.test/private/y", "http://longer.test/open/y", "http://whole.test/private/y"]);
    live.until("the seeds", |s| s.waiting + s.processing == 0 && s.done == 5);
    live.end();
    assert_eq!(pages(&site, "whole.test"), ["/", "/open"]);
    assert_eq!(pages(&site, "longer.test"), ["/", "/private/x", "/private/y"]);
}

#[test]
fn two_ports_of_one_host_have_a_robots_txt_each() {
    let strict = Site::http(|_, path| if path == "/robots.txt" { text(RULES) } else { html(LINKS) });
    let open = Site::http(|_, path| if path == "/robots.txt" { none() } else { html(LINKS) });
    let sandbox = in_front_of(&open).set("dns.overrides={\"*.test\"=\"127.0.0.1\"}").set(&format!(
        "net.allow=[\"127.0.0.1/32:{}\",\"127.0.0.1/32:{}\"]",
        strict.port(),
        open.port()
    ));
    let seeds = [&strict, &open].map(|site| format!("http://a.test:{}/", site.port()));
    crawl(sandbox, &seeds.each_ref().map(String::as_str));
    assert_eq!(pages(&strict, "a.test"), ["/", "/open"]);
    assert_eq!(pages(&open, "a.test"), ["/", "/open", "/private/x"]);
}

#[test]
fn an_older_copy_holds_while_robots_txt_cannot_be_reached() {
    let asked = AtomicU32::new(0);
    let site = Site::http(move |_, path| match path {
        "/robots.txt" if asked.fetch_add(1, Ordering::Relaxed) == 0 => text(RULES),
        "/robots.txt" => broken_off("User-agent: *\nDisallow: /\n"),
        "/" => {
            std::thread::sleep(Duration::from_millis(900)); // a slow server: meanwhile the copy grows too old
            html(LINKS)
        }
        _ => html(LINKS),
    });
    crawl(in_front_of(&site).set("robots.max_age=600ms"), &["http://a.test/"]);
    assert_eq!(site.asked(), ["a.test /robots.txt", "a.test /", "a.test /robots.txt", "a.test /open"]);
}

#[test]
fn a_robots_txt_may_not_lead_where_the_operator_has_ruled_out_and_provokes_no_brake_elsewhere() {
    let site = Site::http(|host, path| match (host, path) {
        ("evil0.test", "/robots.txt") => page(302, "text/plain", "Location: http://denied.test/x\r\n", ""),
        ("evil1.test", "/robots.txt") => page(302, "text/plain", "Location: http://a.test/excluded/x\r\n", ""),
        ("evil2.test", "/robots.txt") => page(302, "text/plain", "Location: http://a.test/closed\r\n", ""),
        (_, "/closed") => page(403, "text/plain", "", ""),
        (_, "/robots.txt") => none(),
        _ => html("here"),
    });
    let sandbox = in_front_of(&site)
        .set("scope.mode=any")
        .set("scope.deny_hosts=[\"denied.test\"]")
        .set("scope.exclude=[\"/excluded/\"]")
        .set("fetch.waf_brake=1")
        .set("crawl.until_done_patience=1s")
        .set("robots.error_retry=[\"1h\"]");
    let seeds = ["http://evil0.test/", "http://evil1.test/", "http://evil2.test/", "http://a.test/"];
    let ended = crawl(sandbox, &seeds);
    let asked = site.asked();
    assert!(!asked.iter().any(|url| url.starts_with("denied.test") || url.contains("/excluded/")), "{asked:?}");
    assert!(asked.contains(&"a.test /closed".to_owned()) && asked.contains(&"a.test /".to_owned()), "{asked:?}");
    assert_eq!(ended.status.pages_stored, 4, "{}", ended.report());
}

#[test]
fn a_host_that_is_overloaded_is_heard_whoever_has_led_there() {
    let busy = || page(429, "text/plain", "Retry-After: 86400\r\n", "");
    let site = Site::http(move |host, path| match (host, path) {
        ("a.test", "/robots.txt") => page(302, "text/plain", "Location: http://b.test/busy\r\n", ""),
        ("c.test", "/robots.txt") => text("Sitemap: http://d.test/busy\n"),
        (_, "/busy") => busy(),
        (_, "/robots.txt") => none(),
        _ => html("here"),
    });
    let seeds = ["http://a.test/", "http://c.test/"];
    let sandbox = in_front_of(&site).set(&format!("crawl.seeds={seeds:?}"));
    let live = sandbox.start();
    for led in ["b.test", "d.test"] {
        let pace = || live.node.slots.pace_of(&live.node.prints.host(led));
        live.until(led, |_| pace().is_some_and(|pace| pace.why() == PaceWhy::RetryAfter));
        assert_eq!(pace().unwrap().backoff(), 1);
    }
    live.close();
}

#[test]
fn a_sitemap_on_another_host_is_asked_for_under_the_rules_of_that_host() {
    let site = Site::http(|host, path| match (host, path) {
        ("a.test", "/robots.txt") => {
            text("Sitemap: http://cdn.test/private/a.xml\nSitemap: http://cdn.test/open.xml\n")
        }
        ("cdn.test", "/robots.txt") => text(RULES),
        (_, "/robots.txt") => none(),
        _ => html("here"),
    });
    let ended = crawl(in_front_of(&site), &["http://a.test/"]);
    assert_eq!(pages(&site, "cdn.test"), ["/open.xml"]);
    let first = site.asked().iter().position(|asked| asked.starts_with("cdn.test")).unwrap();
    assert_eq!(site.asked()[first], "cdn.test /robots.txt");
    let turned = ended.found.state_of("http://cdn.test/private/a.xml");
    assert!(matches!(turned, Some(UrlState::Rejected { reason: Rejection::Robots, .. })), "{turned:?}");
}

#[test]
fn a_port_whose_robots_txt_is_out_of_reach_leaves_the_rest_of_its_host_alone() {
    let dead = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let site = Site::http(move |_, path| match path {
        "/robots.txt" => none(),
        "/" => html(&format!("<a href=http://a.test:{dead}/x>x</a><a href=/1>1</a><a href=/2>2</a><a href=/3>3</a>")),
        _ => html("here"),
    });
    let port = site.port();
    let sandbox = in_front_of(&site)
        .set("dns.overrides={\"*.test\"=\"127.0.0.1\"}")
        .set("crawl.order=breadth")
        .set("fetch.retry_delays=[\"1h\"]")
        .set("robots.error_retry=[\"1h\"]")
        .set("crawl.until_done_patience=1s");
    let ended = crawl(sandbox, &[&format!("http://a.test:{port}/")]);
    assert_eq!(ended.status.pages_stored, 4, "{}", ended.report());
}

#[test]
fn a_copy_that_is_due_again_at_once_forbids_what_it_forbids() {
    let site = Site::http(|_, path| if path == "/robots.txt" { text(RULES) } else { html(LINKS) });
    crawl(in_front_of(&site).set("robots.max_age=1ms").set("politeness.min_delay=20ms"), &["http://a.test/"]);
    assert_eq!(pages(&site, "a.test"), ["/", "/open"]);
}
