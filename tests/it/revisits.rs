//! Sitemaps are read again, and what they call changed is fetched once more.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use lycosa::crawl::node::Stop;
use lycosa::domain::orders::HostOrder;
use lycosa::storage::values::{DoneKind, UrlState};
use lycosa::testweb::TestWebConfig;

use crate::cockpit::in_front_of;
use crate::site::{Site, none, page};
use crate::support::{Ended, Sandbox};

/// A small site whose pages change while a test runs: `host/path` to type and body.
#[derive(Clone, Default)]
struct Pages(Arc<Mutex<BTreeMap<String, String>>>);

impl Pages {
    fn of(pages: &[(&str, &str)]) -> Self {
        let all = Self::default();
        pages.iter().for_each(|(at, body)| all.put(at, body));
        all
    }

    fn put(&self, at: &str, body: &str) {
        self.0.lock().unwrap().insert(at.to_owned(), body.to_owned());
    }

    fn drop(&self, at: &str) {
        self.0.lock().unwrap().remove(at);
    }

    fn answer(&self, host: &str, path: &str) -> String {
        let at = format!("{host}{path}");
        let Some(body) = self.0.lock().unwrap().get(&at).cloned() else { return none() };
        let kind = if at.ends_with(".txt") { "text/plain" } else { "text/html" };
        page(200, if at.ends_with(".xml") { "text/xml" } else { kind }, "", &body)
    }

    fn serve(&self) -> Site {
        let pages = self.clone();
        Site::http(move |host, path| pages.answer(host, path))
    }
}

/// A sitemap: URLs with what their entries say beside.
fn map(entries: &[(&str, &str)]) -> String {
    let entry = |(url, more): &(&str, &str)| format!("<url><loc>{url}</loc>{more}</url>");
    format!("<urlset>{}</urlset>", entries.iter().map(entry).collect::<String>())
}

/// This second.
fn now() -> String {
    seconds_ahead(0)
}

/// The next second, which is later than all that was fetched until now: a reading in a second believes it.
fn changed() -> String {
    seconds_ahead(1)
}

fn seconds_ahead(n: i64) -> String {
    let second = jiff::Timestamp::now().as_second() + n;
    format!("<lastmod>{}</lastmod>", jiff::Timestamp::from_second(second).unwrap())
}

fn times(site: &Site, asked: &str) -> usize {
    site.asked().iter().filter(|line| *line == asked).count()
}

/// A daemon that reads sitemaps again each second.
fn daemon(site: &Site) -> Sandbox {
    in_front_of(site)
        .fetching_again()
        .set("crawl.seeds=[\"http://a.test/\"]")
        .set("sitemaps.revisit=1s")
        .set("sitemaps.lastmod_gap=1ms")
}

fn lines(ended: &Ended, url: &str) -> Vec<serde_json::Value> {
    let file = ended.file("crawl.jsonl");
    let all = file.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
    all.filter(|line| line["url"] == url).collect()
}

const OLD: &str = "<lastmod>2020-01-01</lastmod>";
const FUTURE: &str = "<lastmod>2999-01-01</lastmod>";

#[test]
fn after_a_restart_a_sitemap_is_read_again_and_only_what_is_new_or_changed_since_is_fetched() {
    let (a, b, c, d) = ("http://a.test/a", "http://a.test/b", "http://a.test/c", "http://a.test/d");
    let pages = Pages::of(&[
        ("a.test/robots.txt", "Sitemap: /s.xml\n"),
        ("a.test/s.xml", &map(&[(a, OLD), (b, ""), (c, OLD), (d, FUTURE)])),
    ]);
    for path in ["", "a", "b", "c", "d", "new"] {
        pages.put(&format!("a.test/{path}"), &format!("<p>page {path}"));
    }
    let site = pages.serve();
    let sandbox = daemon(&site);
    let live = sandbox.start();
    live.until("all pages", |s| s.done == 6 && s.waiting + s.processing == 0);
    live.close();
    let live = sandbox.start();
    live.until("a reading with nothing new", |_| times(&site, "a.test /s.xml") > 1);
    live.until("its end", |s| s.waiting + s.processing == 0);
    pages.put("a.test/s.xml", &map(&[(a, &changed()), (b, ""), (c, OLD), (d, FUTURE), ("http://a.test/new", OLD)]));
    live.until("the changes", |s| times(&site, "a.test /a") >= 2 && s.done == 7 && s.waiting + s.processing == 0);
    let idle = |s: &lycosa::telemetry::StatusSnapshot| s.idle_reason.contains("the next sitemap is read again in");
    live.until("the status to tell of the next reading", idle);
    let before = times(&site, "a.test /s.xml");
    live.until("one more reading", |_| times(&site, "a.test /s.xml") > before);
    live.until("its end", |s| s.done == 7 && s.waiting + s.processing == 0);
    let metrics = live.node.telemetry.metrics.text();
    let ended = live.end();
    for (path, n) in [("a", 2), ("b", 1), ("c", 1), ("d", 1), ("new", 1), ("", 1)] {
        assert_eq!(times(&site, &format!("a.test /{path}")), n, "/{path}");
    }
    assert!(metrics.contains("lycosa_revisits_queued_total{reason=\"lastmod\"} 1"), "{metrics}");
    let again = lines(&ended, a);
    assert_eq!(again[1]["reason"], "revisit", "its content is as it was: {again:?}");
    assert_eq!((&again[1]["via"], &again[1]["seed"]), (&"http://a.test/s.xml".into(), &"http://a.test/".into()));
}

#[test]
fn a_page_called_changed_by_a_sitemap_that_is_a_better_way_to_it_is_fetched_once_more_and_takes_the_way() {
    let pages = Pages::of(&[
        ("a.test/robots.txt", "Sitemap: /s.xml\n"),
        ("a.test/s.xml", &map(&[("http://a.test/", OLD)])),
        ("a.test/", "<p>home <a href=/one>1</a>"),
        ("a.test/one", "<p>first <a href=/two>2</a>"),
        ("a.test/two", "<p>second <a href=/>home</a>"),
    ]);
    let site = pages.serve();
    let sandbox = daemon(&site).set("crawl.max_depth=9");
    let live = sandbox.start();
    live.until("all pages", |s| s.done == 4 && s.waiting + s.processing == 0);
    pages.put("a.test/s.xml", &map(&[("http://a.test/two", &changed())]));
    live.until("the page once more", |s| times(&site, "a.test /two") > 1 && s.waiting + s.processing == 0);
    let before = times(&site, "a.test /s.xml");
    live.until("one more reading", |s| times(&site, "a.test /s.xml") > before && s.waiting + s.processing == 0);
    let ended = live.end();
    assert_eq!(times(&site, "a.test /two"), 2);
    let hops: Vec<_> = lines(&ended, "http://a.test/two").iter().map(|line| line["hop_path"].clone()).collect();
    assert_eq!((hops.len(), ended.found.counters.nearer), (2, 0), "{hops:?}");
    assert_ne!(hops[0], hops[1], "the way is the sitemap's");
}

#[test]
fn what_a_clock_ahead_has_dated_is_read_again_at_once_when_the_clock_is_right() {
    let pages = Pages::of(&[("a.test/robots.txt", "Sitemap: /s.xml\n"), ("a.test/", "home"), ("a.test/a", "<p>a")]);
    pages.put("a.test/s.xml", &map(&[("http://a.test/a", OLD)]));
    let site = pages.serve();
    let sandbox = daemon(&site).set("sitemaps.revisit=12h").clock_off_by(30 * 86_400_000);
    let live = sandbox.start();
    live.until("all pages", |s| s.done == 3 && s.waiting + s.processing == 0);
    live.close();
    let sandbox = sandbox.clock_off_by(0);
    let live = sandbox.start();
    live.until("the sitemap and its page once more", |_| times(&site, "a.test /a") > 1);
    live.until("its end", |s| s.waiting + s.processing == 0);
    live.end();
    assert_eq!(
        (times(&site, "a.test /s.xml"), times(&site, "a.test /a")),
        (2, 2),
        "once, and then they are dated right"
    );
}

#[test]
fn a_page_is_asked_for_on_the_condition_that_it_has_changed_and_one_that_has_not_is_a_reference() {
    let url = "http://a.test/a";
    let pages = Pages::of(&[("a.test/robots.txt", "Sitemap: /s.xml\n"), ("a.test/", "home"), ("a.test/a", "<p>a")]);
    pages.put("a.test/s.xml", &map(&[(url, OLD)]));
    let own = pages.clone();
    let date = "Wed, 01 Jan 2020 00:00:00 GMT";
    let site = Site::of_heads(move |head, host, path| match (path, head.contains("If-None-Match: \"one\"\r\n")) {
        ("/a", false) => page(200, "text/html", &format!("ETag: \"one\"\r\nLast-Modified: {date}\r\n"), "<p>a"),
        ("/a", true) => "HTTP/1.1 304 Not Modified\r\nETag: \"one\"\r\nConnection: close\r\n\r\n".into(),
        _ => own.answer(host, path),
    });
    let sandbox = daemon(&site);
    let live = sandbox.start();
    for n in 2..4 {
        live.until("the pages", |s| s.done == 3 && s.waiting + s.processing == 0);
        pages.put("a.test/s.xml", &map(&[(url, &changed())]));
        live.until("the page again", |_| times(&site, "a.test /a") >= n);
    }
    live.until("the end", |s| s.done == 3 && s.waiting + s.processing == 0);
    let ended = live.end();
    assert!(matches!(ended.found.state_of(url), Some(UrlState::Done { how: DoneKind::NotModified, .. })));
    let heads: Vec<String> = site.heads().into_iter().filter(|head| head.starts_with("GET /a ")).collect();
    assert!(!heads[0].contains("If-"), "{heads:?}");
    for head in &heads[1..] {
        assert!(head.contains(&format!("If-Modified-Since: {date}\r\n")), "the validators are kept: {head}");
    }
    for line in &lines(&ended, url)[1..] {
        assert_eq!((&line["reason"], &line["status"]), (&"not_modified".into(), &304.into()), "{line}");
    }
}

#[test]
fn a_site_that_says_now_at_every_reading_is_fetched_once_a_reading_at_most_and_not_before_its_rest() {
    let url = "http://a.test/a";
    let pages = Pages::of(&[("a.test/robots.txt", "Sitemap: /s.xml\n"), ("a.test/", "home"), ("a.test/a", "<p>a")]);
    let own = pages.clone();
    let site = Site::http(move |host, path| match path {
        "/s.xml" => page(200, "text/xml", "", &map(&[(url, &now())])),
        _ => own.answer(host, path),
    });
    let live_until_readings = |gap: &str, n: usize| {
        let (read, fetched) = (times(&site, "a.test /s.xml"), times(&site, "a.test /a"));
        let sandbox = daemon(&site).set(&format!("sitemaps.lastmod_gap={gap}"));
        let live = sandbox.start();
        live.until("readings", |s| times(&site, "a.test /s.xml") >= read + n && s.waiting + s.processing == 0);
        live.end();
        (times(&site, "a.test /s.xml") - read, times(&site, "a.test /a") - fetched)
    };
    assert_eq!(live_until_readings("1h", 2).1, 1);
    let (read, fetched) = live_until_readings("1ms", 3);
    assert!(fetched > 1 && fetched <= read, "{fetched} times in {read} readings");
}

#[test]
fn a_sitemap_whose_dates_are_not_all_heeded_is_read_whole_and_else_asked_whether_it_has_changed() {
    let (file, url) = ("a.test/s.xml", "http://a.test/a");
    let pages = Pages::of(&[("a.test/robots.txt", "Sitemap: /s.xml\n"), ("a.test/", "home"), ("a.test/a", "<p>a")]);
    pages.put(file, &map(&[(url, OLD)]));
    let own = pages.clone();
    let site = Site::of_heads(move |head, host, path| {
        let answer = own.answer(host, path);
        let tag = format!("\"{}\"", answer.bytes().fold(7_u64, |sum, b| sum.wrapping_mul(31) + u64::from(b)));
        match (path, head.contains(&format!("If-None-Match: {tag}\r\n"))) {
            ("/s.xml", true) => format!("HTTP/1.1 304 Not Modified\r\nETag: {tag}\r\nConnection: close\r\n\r\n"),
            ("/s.xml", false) => answer.replace("Connection", &format!("ETag: {tag}\r\nConnection")),
            _ => answer,
        }
    });
    let sandbox = daemon(&site).set("sitemaps.lastmod_gap=3s");
    let live = sandbox.start();
    live.until("all pages", |s| s.done == 3 && s.waiting + s.processing == 0);
    pages.put(file, &map(&[(url, &changed())]));
    live.until("the page after its rest", |_| times(&site, "a.test /a") == 2);
    let unchanged = |s: &lycosa::telemetry::StatusSnapshot| s.statuses.get(&304).is_some_and(|n| *n > 1);
    live.until("two answers that nothing has changed", |s| unchanged(s) && s.waiting + s.processing == 0);
    live.end();
}

#[test]
fn a_kill_after_a_reading_loses_none_of_what_it_queued_once_more() {
    let urls: Vec<String> = (0..20).map(|n| format!("http://a.test/{n}")).collect();
    let all = |said: &str| map(&urls.iter().map(|url| (url.as_str(), said)).collect::<Vec<_>>());
    let pages = Pages::of(&[("a.test/robots.txt", "Sitemap: /s.xml\n"), ("a.test/", "home")]);
    pages.put("a.test/s.xml", &all(OLD));
    urls.iter().for_each(|url| pages.put(url.trim_start_matches("http://"), &format!("<p>{url}")));
    let site = pages.serve();
    let sandbox = daemon(&site).gap(std::time::Duration::from_millis(10));
    let live = sandbox.start();
    live.until("all pages", |s| s.done == 22 && s.waiting + s.processing == 0);
    pages.put("a.test/s.xml", &all(&changed()));
    live.until("some of them again", |s| s.waiting + s.processing > 0 && s.pages_stored > 30);
    let fork = sandbox.fork();
    live.drop_at_once();
    let sandbox = sandbox.resume(fork);
    let live = sandbox.start();
    live.until("all of them again", |s| s.done == 22 && s.waiting + s.processing == 0);
    let ended = live.end_after_fork();
    let captures = ended.found.captures();
    assert!(urls.iter().all(|url| captures[url] == 2), "{captures:?}");
}

#[test]
fn a_recrawled_sitemap_of_an_index_on_another_host_still_speaks_for_the_one_whose_robots_txt_named_it() {
    let index = "<sitemapindex><sitemap><loc>http://cdn.test/child.xml</loc></sitemap></sitemapindex>";
    let pages = Pages::of(&[
        ("a.test/robots.txt", "Sitemap: http://cdn.test/index.xml\n"),
        ("a.test/", "home"),
        ("a.test/one", "<p>one"),
        ("a.test/later", "<p>later"),
        ("cdn.test/index.xml", index),
        ("cdn.test/child.xml", &map(&[("http://a.test/one", "")])),
    ]);
    let site = pages.serve();
    let sandbox = in_front_of(&site).fetching_again().set("crawl.seeds=[\"http://a.test/\"]");
    let live = sandbox.start();
    live.until("all pages", |s| s.done == 4 && s.waiting + s.processing == 0);
    pages.put("cdn.test/child.xml", &map(&[("http://a.test/later", ""), ("http://b.test/foreign", "")]));
    live.order("cdn.test", HostOrder::Recrawl).unwrap();
    live.until("what it names now", |s| s.done == 5 && s.waiting + s.processing == 0);
    live.end();
    assert_eq!((times(&site, "a.test /later"), times(&site, "cdn.test /child.xml")), (1, 2));
    assert!(!site.asked().iter().any(|line| line.starts_with("b.test")), "{:?}", site.asked());
}

#[test]
fn a_sitemap_that_fails_for_a_while_is_read_when_it_is_there_again() {
    let pages = Pages::of(&[
        ("a.test/robots.txt", "Sitemap: /s.xml\n"),
        ("a.test/", "home"),
        ("a.test/late", "<p>late"),
        ("a.test/s.xml", &map(&[])),
    ]);
    let site = pages.serve();
    let sandbox = daemon(&site);
    let live = sandbox.start();
    live.until("the pages", |s| s.done == 2 && s.waiting + s.processing == 0);
    pages.drop("a.test/s.xml");
    live.until("its failure", |s| s.errors == 1);
    pages.put("a.test/s.xml", &map(&[("http://a.test/late", "")]));
    live.until("what it names", |s| s.done == 3 && s.errors == 0 && s.waiting + s.processing == 0);
    live.end();
    assert_eq!(times(&site, "a.test /late"), 1);
}

#[test]
fn a_crawl_that_is_to_end_reads_no_sitemap_again() {
    let pages = Pages::of(&[("a.test/robots.txt", "Sitemap: /s.xml\n"), ("a.test/", "home")]);
    pages.put("a.test/s.xml", &map(&[("http://a.test/1", ""), ("http://a.test/2", ""), ("http://a.test/3", "")]));
    let site = pages.serve();
    let sandbox = daemon(&site).set("crawl.until_done=true").gap(std::time::Duration::from_millis(400));
    let live = sandbox.start();
    assert_eq!(live.until_stop(), Stop::Done);
    live.end();
    assert_eq!(times(&site, "a.test /s.xml"), 1, "it was due before the end");
}

#[test]
fn the_sitemaps_of_a_whole_web_are_read_again_and_again() {
    let web = TestWebConfig { hosts: 3, pages: 5, links: 3, sitemaps: true, ..TestWebConfig::default() };
    let sandbox = Sandbox::new(web)
        .fetching_again()
        .set("crawl.until_done=false")
        .set("sitemaps.revisit=1s")
        .gap(std::time::Duration::from_millis(2));
    let live = sandbox.start();
    live.until("all URLs", |s| s.done == 3 * (5 + 5 + 3) && s.waiting + s.processing == 0);
    let stored = live.node.crawl.counters().pages_stored;
    live.until("nine sitemaps twice more", |s| s.pages_stored >= stored + 18 && s.waiting + s.processing == 0);
    let ended = live.end();
    ended.assert_polite();
    for (url, n) in ended.found.captures() {
        assert_eq!(n > 1, url.contains("sitemap"), "{url}");
    }
}
