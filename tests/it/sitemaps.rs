//! Sitemaps: what only they name is found, and nothing that they may not name.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use lycosa::domain::reason::Rejection;
use lycosa::storage::values::UrlState;
use lycosa::testweb::TestWebConfig;
use lycosa::testweb::robots::RobotsMode;

use crate::site::{Site, page};
use crate::support::{Ended, Sandbox, truth_any};

fn web() -> TestWebConfig {
    TestWebConfig {
        hosts: 3,
        pages: 12,
        links: 6,
        min_size: 300,
        max_size: 1_000,
        sitemaps: true,
        ..TestWebConfig::default()
    }
}

#[test]
fn pages_that_only_a_sitemap_names_are_found_once_each() {
    let sandbox = Sandbox::new(web());
    let live = sandbox.start();
    live.until_stop();
    let metrics = live.node.telemetry.metrics.text();
    let ended = live.end();
    let truth = sandbox.web.truth(truth_any());
    assert!(truth.contains("http://h0.test/unlinked/7") && truth.contains("http://h2.test/sitemap-even.xml.gz"));
    assert_eq!(truth.len(), 3 * (12 + 12 + 3));
    ended.assert_is(&truth);
    ended.assert_none_twice();
    ended.assert_polite();
    for line in ["lycosa_sitemaps_total{result=\"done\"} 9", "lycosa_sitemap_urls_total 42"] {
        assert!(metrics.contains(line), "{line} is missing in\n{metrics}");
    }
    let lines = ended.file("crawl.jsonl");
    let way = |url: &str| {
        let line = lines.lines().find(|line| line.contains(&format!("\"{url}\""))).unwrap();
        let line: serde_json::Value = serde_json::from_str(line).unwrap();
        (line["hop_path"].as_str().unwrap().to_owned(), line["via"].as_str().unwrap().to_owned())
    };
    let (index, even) = ("http://h0.test/sitemap-index.xml", "http://h0.test/sitemap-even.xml.gz");
    assert_eq!(way(index), ("M".into(), "http://h0.test/robots.txt".into()));
    assert_eq!(way(even), ("MM".into(), index.into()));
    assert_eq!(way("http://h0.test/unlinked/4"), ("M".into(), even.into()));
}

#[test]
fn a_rough_web_with_sitemaps_is_crawled_whole_in_every_order() {
    for order in ["breadth", "best"] {
        let rough = TestWebConfig { hosts: 4, pages: 20, links: 8, sitemaps: true, ..TestWebConfig::rough() };
        let sandbox = Sandbox::new(rough).set(&format!("crawl.order={order}"));
        let ended = sandbox.crawl();
        ended.assert_is(&sandbox.web.truth(truth_any()));
        ended.assert_none_twice();
    }
}

#[test]
fn switched_off_no_sitemap_is_asked_for() {
    let sandbox = Sandbox::new(web()).set("sitemaps.use=false");
    let without = Sandbox::new(TestWebConfig { sitemaps: false, ..web() });
    sandbox.crawl().assert_is(&without.web.truth(truth_any()));
}

#[test]
fn a_sitemap_that_robots_txt_forbids_is_not_asked_for() {
    let robots = TestWebConfig { robots: RobotsMode::DisallowAll, ..web() };
    let ended = Sandbox::new(robots).crawl();
    assert!(ended.asked().is_empty(), "{:?}", ended.asked());
}

#[test]
fn a_kill_at_any_moment_loses_nothing_that_sitemaps_name() {
    for discovered in [1, 2, 4, 20, 60] {
        let sandbox = Sandbox::new(web());
        let live = sandbox.start();
        live.until("URLs", |s| s.discovered >= discovered);
        let fork = sandbox.fork();
        live.drop_at_once();
        let sandbox = sandbox.resume(fork);
        let live = sandbox.start();
        live.until_stop();
        live.end_after_fork().assert_is(&sandbox.web.truth(truth_any()));
    }
}

/// Answers of a small site: `host/path` to type and body; anything else is a 404.
fn site(pages: &[(&str, &str, String)]) -> Site {
    let pages: BTreeMap<String, (String, String)> =
        pages.iter().map(|(at, kind, body)| ((*at).to_owned(), ((*kind).to_owned(), body.clone()))).collect();
    Site::http(move |host, path| match pages.get(&format!("{host}{path}")) {
        Some((kind, body)) => page(200, kind, "", body),
        None => page(404, "text/plain", "", ""),
    })
}

fn on(site: &Site, seed: &str) -> Sandbox {
    Sandbox::new(TestWebConfig { hosts: 1, pages: 1, ..TestWebConfig::default() })
        .set(&format!("dns.overrides={{\"*.test\"=\"{}\"}}", site.address))
        .set(&format!("crawl.seeds=[\"{seed}\"]"))
        .set("scope.mode=hosts")
}

fn index(urls: &[&str]) -> String {
    let entries: String = urls.iter().map(|url| format!("<sitemap><loc>{url}</loc></sitemap>")).collect();
    format!("<sitemapindex>{entries}</sitemapindex>")
}

fn map(urls: &[&str]) -> String {
    let entries: String = urls.iter().map(|url| format!("<url><loc>{url}</loc></url>")).collect();
    format!("<urlset>{entries}</urlset>")
}

fn rejected(ended: &Ended, url: &str) -> Option<Rejection> {
    match ended.found.state_of(url) {
        Some(UrlState::Rejected { reason, .. }) => Some(reason),
        _ => None,
    }
}

#[test]
fn indexes_of_themselves_end_and_those_behind_too_many_others_are_turned_away() {
    let own = "http://a.test/i.xml";
    let chain = |n: u32| index(&[&format!("http://a.test/n{n}.xml"), own]);
    let site = site(&[
        ("a.test/robots.txt", "text/plain", format!("Sitemap: {own}\nSitemap: /n0.xml\n")),
        ("a.test/", "text/html", "<p>home".into()),
        ("a.test/i.xml", "text/xml", index(&[own, "http://a.test/j.xml"])),
        ("a.test/j.xml", "text/xml", index(&[own])),
        ("a.test/n0.xml", "text/xml", chain(1)),
        ("a.test/n1.xml", "text/xml", chain(2)),
        ("a.test/n2.xml", "text/xml", chain(3)),
    ]);
    let ended = on(&site, "http://a.test/").crawl();
    assert_eq!(rejected(&ended, "http://a.test/n3.xml"), Some(Rejection::SitemapNesting));
    let mut asked = site.asked();
    asked.retain(|line| line.contains(".xml"));
    asked.sort();
    let wanted = ["i.xml", "j.xml", "n0.xml", "n1.xml", "n2.xml"].map(|file| format!("a.test /{file}"));
    assert_eq!(asked, wanted);
}

#[test]
fn a_sitemap_speaks_for_its_own_site_and_for_the_one_that_names_it() {
    let urls = ["http://a.test/one", "https://www.a.test/two", "http://cdn.test/page", "http://b.test/foreign"];
    let site = site(&[
        ("a.test/robots.txt", "text/plain", "Sitemap: http://cdn.test/index.xml\n".into()),
        ("a.test/", "text/html", "<a href=/own.xml>".into()),
        ("a.test/one", "text/html", "<p>one".into()),
        ("cdn.test/index.xml", "text/xml", index(&["http://cdn.test/child.xml", "http://b.test/foreign.xml"])),
        ("cdn.test/child.xml", "text/xml", map(&urls)),
        ("a.test/own.xml", "text/xml", map(&["http://a.test/linked", "http://b.test/other"])),
    ]);
    let ended = on(&site, "http://a.test/").crawl();
    let states = [
        ("http://b.test/foreign", Some(Rejection::SitemapForeign)),
        ("http://b.test/foreign.xml", Some(Rejection::SitemapForeign)),
        ("http://b.test/other", Some(Rejection::SitemapForeign)),
        ("http://cdn.test/page", Some(Rejection::Scope)),
        ("http://a.test/one", None),
    ];
    for (url, reason) in states {
        assert_eq!(rejected(&ended, url), reason, "{url}");
    }
    for asked in ["cdn.test /child.xml", "a.test /one", "a.test /linked", "cdn.test /robots.txt"] {
        assert!(site.asked().contains(&asked.to_owned()), "{asked} of {:?}", site.asked());
    }
    assert!(!site.asked().iter().any(|asked| asked.starts_with("b.test")), "{:?}", site.asked());
}

#[test]
fn the_most_urgent_pages_of_a_sitemap_are_asked_for_first_and_of_those_the_newest() {
    let entry = |path: &str, more: &str| format!("<url><loc>http://a.test/{path}</loc>{more}</url>");
    let entries = [
        entry("usual", ""),
        entry("old", "<lastmod>2001-01-01</lastmod>"),
        entry("minor", "<priority>0.1</priority><lastmod>2026-01-01</lastmod>"),
        entry("major", "<priority>0.9</priority>"),
        entry("new", "<priority>0.5</priority><lastmod>2026-01-01</lastmod>"),
    ];
    let site = site(&[
        ("a.test/robots.txt", "text/plain", "Sitemap: /s.xml\n".into()),
        ("a.test/", "text/html", "<p>home".into()),
        ("a.test/s.xml", "text/xml", format!("<urlset>{}</urlset>", entries.concat())),
    ]);
    for order in ["breadth", "mixed"] {
        let before = site.asked().len();
        on(&site, "http://a.test/").set(&format!("crawl.order={order}")).crawl();
        let asked = site.asked().split_off(before + 3);
        assert_eq!(asked, ["major", "new", "old", "usual", "minor"].map(|path| format!("a.test /{path}")), "{order}");
    }
}

#[test]
fn of_fifty_thousand_and_one_urls_all_but_one_are_queued() {
    let mut body = String::from("<urlset>");
    for n in 0..50_001 {
        write!(body, "<url><loc>http://a.test/{n}</loc></url>").unwrap();
    }
    let site = site(&[
        ("a.test/robots.txt", "text/plain", "Sitemap: http://a.test/sitemap.xml\n".into()),
        ("a.test/", "text/html", "<p>home".into()),
        ("a.test/sitemap.xml", "text/xml", body),
    ]);
    let sandbox = on(&site, "http://a.test/");
    let live = sandbox.start();
    live.until("the sitemap", |s| s.discovered >= 2 + 50_000);
    let metrics = live.node.telemetry.metrics.text();
    assert_eq!(live.close().found.counters.discovered, 2 + 50_000);
    assert!(metrics.contains("lycosa_sitemaps_total{result=\"cut\"} 1"));
}

#[test]
fn nothing_at_a_well_known_place_is_no_failure() {
    let site = site(&[
        ("a.test/", "text/html", "<p>home".into()),
        ("a.test/sitemap_index.xml", "text/xml", index(&["/further.xml"])),
        ("a.test/further.xml", "text/xml", map(&["/unlinked"])),
        ("a.test/unlinked", "text/html", "<p>unlinked".into()),
    ]);
    let ended = on(&site, "http://a.test/").set("sitemaps.well_known=true").crawl();
    assert_eq!(ended.status.errors, 0, "{}", ended.report());
    assert_eq!(ended.found.captured().len(), 5, "{:?}", ended.found.captured());
    assert!(ended.found.captured().contains("http://a.test/unlinked"));
    assert!(matches!(ended.found.state_of("http://a.test/sitemap.xml"), Some(UrlState::Done { .. })));

    let asked = site.asked().len();
    let plain = on(&site, "http://a.test/").crawl();
    assert_eq!((plain.status.done, site.asked().len() - asked), (1, 2), "by default nobody guesses");
}

#[test]
fn a_feed_leads_to_its_entries() {
    let long = format!("<!--{}-->", "x".repeat(30_000));
    let feed = "<feed xml:base='http://a.test/x/'><link rel=self href='http://a.test/feed'/>\
        <entry><link href='one'/></entry></feed>";
    let site = site(&[
        ("a.test/", "text/html", "<link rel=alternate type=application/atom+xml href=/feed>".into()),
        ("a.test/feed", "application/atom+xml", long + &feed.replace("rel=self", "rel='self'")),
        ("a.test/x/one", "text/html", "<p>one".into()),
    ]);
    let ended = on(&site, "http://a.test/").crawl();
    let urls = ["http://a.test/", "http://a.test/feed", "http://a.test/x/one"];
    assert_eq!(ended.found.captured().into_iter().collect::<Vec<_>>(), urls);
}

#[test]
fn a_sitemap_that_a_page_names_is_read_as_one_that_robots_txt_names() {
    let named = |body: &str, more: &str| {
        let (body, more) = (body.to_owned(), more.to_owned());
        let site = Site::http(move |host, path| match (host, path) {
            ("a.test", "/") => page(200, "text/html", &more, &body),
            // Its entries are no links, for which nofollow holds; of two types the last counts.
            ("cdn.test", "/pages.xml") => page(
                200,
                "application/json",
                "X-Robots-Tag: noindex, nofollow\r\nContent-Type: text/xml\r\n",
                &map(&["http://a.test/orphan", "http://b.test/foreign", "http://cdn.test/page"]),
            ),
            ("a.test", "/orphan") => page(200, "text/html", "", "<p>orphan"),
            _ => page(404, "text/plain", "", ""),
        });
        let sandbox = on(&site, "http://a.test/");
        let ended = sandbox.crawl();
        (ended, site, sandbox)
    };
    let link = "<link rel=sitemap href=http://cdn.test/pages.xml>";
    for (body, more) in [(link, ""), ("<p>home", "Link: <http://cdn.test/pages.xml>; rel=sitemap\r\n")] {
        let (ended, _site, _sandbox) = named(body, more);
        assert!(ended.found.captured().contains("http://a.test/orphan"), "{body}{more}: {}", ended.report());
        assert_eq!(rejected(&ended, "http://cdn.test/page"), Some(Rejection::Scope));
        let lines = ended.file("crawl.jsonl");
        assert!(lines.contains("\"hop_path\":\"M\""), "{lines}");
    }
    for body in
        [link.replace("rel=sitemap", "rel='sitemap nofollow'"), format!("<meta name=robots content=nofollow>{link}")]
    {
        let (ended, site, _sandbox) = named(&body, "");
        assert_eq!((ended.status.done, site.asked().len()), (1, 2), "{body}: {:?}", site.asked());
    }
    let (ended, _site, _sandbox) = named("<link rel=sitemap href=/none.xml>", "");
    assert_eq!(ended.status.errors, 1, "as one that robots.txt names and that is not there");
}

#[test]
fn what_a_seeded_sitemap_lists_is_crawled_as_far_as_the_scope_goes() {
    let site = site(&[
        ("cdn.test/s.xml", "text/xml", map(&["http://www.a.test/1", "http://blog.a.test/2", "http://b.test/3"])),
        ("cdn.test/i.xml", "text/xml", index(&["http://maps.test/j.xml", "http://cdn.test/s.xml"])),
        ("maps.test/j.xml", "text/xml", index(&["http://maps.test/k.xml"])),
        ("maps.test/k.xml", "text/xml", map(&["http://www.a.test/4"])),
        ("www.a.test/", "text/html", "<p>home".into()),
        ("www.a.test/1", "text/html", "<p>1".into()),
        ("blog.a.test/2", "text/html", "<p>2".into()),
        ("b.test/3", "text/html", "<p>3".into()),
        ("www.a.test/4", "text/html", "<a href=http://b.test/o.xml>x</a>".into()),
        ("b.test/o.xml", "text/xml", map(&["http://www.a.test/5"])),
    ]);
    for (seeds, mode, wanted) in [
        ("\"http://cdn.test/s.xml\"", "any", &["www.a.test/1", "blog.a.test/2", "b.test/3"][..]),
        ("\"http://cdn.test/s.xml\", \"http://www.a.test/\"", "hosts", &["www.a.test/", "www.a.test/1"]),
        (
            "\"http://cdn.test/i.xml\", \"http://www.a.test/\"",
            "hosts",
            &["www.a.test/", "www.a.test/1", "www.a.test/4"],
        ),
    ] {
        let sandbox =
            on(&site, "http://unused.test/").set(&format!("crawl.seeds=[{seeds}]")).set(&format!("scope.mode={mode}"));
        let ended = sandbox.crawl();
        let captured = ended.found.captured();
        let pages: Vec<&str> = captured
            .iter()
            .filter_map(|url| url.strip_prefix("http://"))
            .filter(|url| !url.ends_with(".xml"))
            .collect();
        let mut wanted = wanted.to_vec();
        wanted.sort_unstable();
        assert_eq!(pages, wanted, "{seeds} {mode}: {}", ended.report());
    }
    // What a page links to is no seed: nothing says that it may speak for others.
    let ended = on(&site, "http://www.a.test/4").set("scope.mode=any").crawl();
    assert_eq!(rejected(&ended, "http://www.a.test/5"), Some(Rejection::SitemapForeign));
}

#[test]
fn json_feeds_and_frames_lead_on() {
    let feed = r#"{"version":"https://jsonfeed.org/version/1.1","items":[{"url":"/one","content_html":"<a href='/no'>"}],"next_url":"/two.json"}"#;
    let frame = "<iframe srcdoc='&lt;a href=\"/framed\"&gt;x&lt;/a&gt;'></iframe>";
    let site = site(&[
        ("a.test/", "text/html", format!("<link rel=alternate type=application/feed+json href=/feed>{frame}")),
        ("a.test/feed", "application/feed+json", feed.into()),
        ("a.test/two.json", "application/json", feed.replace("/one", "/two").replace("next_url", "x")),
        ("a.test/one", "text/html", "<p>one".into()),
        ("a.test/two", "text/html", "<p>two".into()),
        ("a.test/framed", "text/html", "<p>framed".into()),
    ]);
    let ended = on(&site, "http://a.test/").crawl();
    let urls = ["", "feed", "framed", "one", "two", "two.json"].map(|path| format!("http://a.test/{path}"));
    assert_eq!(ended.found.captured().into_iter().collect::<Vec<_>>(), urls);
}

#[test]
fn patterns_in_letters_select_the_pages_they_were_copied_from() {
    let links =
        "<a href='/新闻/1'>x</a><a href='/old files/2'>x</a><a href=/c/3>x</a><a href=http://münchen.test/>x</a>";
    let site = site(&[
        ("a.test/", "text/html", links.into()),
        ("a.test/%E6%96%B0%E9%97%BB/1", "text/html", "<h1>标题</h1>".into()),
        ("a.test/old%20files/2", "text/html", "<h1>old</h1>".into()),
        ("a.test/c/3", "text/html", "<p>c".into()),
        ("xn--mnchen-3ya.test/", "text/html", "<p>m".into()),
    ]);
    let (news, old, c) = ("http://a.test/%E6%96%B0%E9%97%BB/1", "http://a.test/old%20files/2", "http://a.test/c/3");
    for (sets, wanted) in [
        (&["scope.include=['/新闻/', '^http://a.test/$']"][..], &[news][..]),
        (&["scope.include=['/%e6%96%b0%e9%97%bb/', '/old files/', 'test/$']"], &[news, old]),
        (&["scope.exclude=['/新闻/', '/old\\sfiles/']"], &[c]),
        (&["scope.mode=any", "scope.include=['münchen\\.test', '^http://a.test/$']"], &["http://xn--mnchen-3ya.test/"]),
        (
            &[
                "scope.mode=prefixes",
                "scope.prefixes=['http://a.test/新闻/', 'http://(test,a,)/old files/']",
                "crawl.seeds=['http://a.test/新闻/1', 'http://a.test/old files/2']",
            ],
            &[news, old],
        ),
    ] {
        let sandbox = sets.iter().fold(on(&site, "http://a.test/"), |sandbox, set| sandbox.set(set));
        let captured = sandbox.crawl().found.captured();
        let found: Vec<&str> = captured.iter().map(String::as_str).filter(|url| *url != "http://a.test/").collect();
        let mut wanted = wanted.to_vec();
        wanted.sort_unstable();
        assert_eq!(found, wanted, "{sets:?}");
    }
    let sandbox = on(&site, "http://a.test/").set("extract=[{name='x',selector='h1',urls=['/新闻/']}]");
    let ended = sandbox.crawl();
    let lines = ended.file("crawl.jsonl");
    assert!(lines.contains("\"extracted\":{\"x\":\"标题\"}") && !lines.contains("\"old\""), "{lines}");
}
