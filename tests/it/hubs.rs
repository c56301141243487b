//! Pages, and sitemaps, that name very many others.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::time::Duration;

use lycosa::base::fault::Fault;
use lycosa::crawl::node::Stop;
use lycosa::testweb::TestWebConfig;

use crate::site::{Site, html, none, page};
use crate::support::Sandbox;

/// Links in one change at most, as in the Deduper.
const CHUNK: u64 = 4_096;

/// A host whose start page has these anchors, and whose other pages have nothing.
fn site(anchors: u32, href: impl Fn(u32) -> String + Send + Sync + 'static) -> Site {
    let mut hub = String::from("<title>hub</title>");
    (0..anchors).for_each(|n| writeln!(hub, "<a href='{}'>{n}</a>", href(n)).unwrap());
    Site::http(move |_, path| match path {
        "/robots.txt" => none(),
        "/" => html(&hub),
        path => html(&format!("<p>{path}")),
    })
}

/// The crawl ends with the hub's commit.
fn sandbox(site: &Site) -> Sandbox {
    let overrides = format!("dns.overrides={{\"*.test\"=\"{}\"}}", site.address);
    Sandbox::new(TestWebConfig::default())
        .set(&overrides)
        .set("crawl.seeds=[\"http://a.test/\"]")
        .set("crawl.max_pages=1")
        .set("scope.mode=hosts")
}

#[test]
fn distinct_urls_are_counted_not_anchors_and_what_is_beyond_the_limit_is_noted() {
    let site = site(150_000, |n| format!("/p/{}#{n}", n % 120_000));
    for (most, found, cut) in [(200_000, 120_000, false), (100_000, 100_000, true)] {
        let sandbox = sandbox(&site).set(&format!("parse.max_links_per_page={most}"));
        let live = sandbox.start();
        assert_eq!(live.until_stop(), Stop::Pages);
        let ended = live.close();
        assert_eq!(ended.found.counters.discovered, found + 1, "{}", ended.report());
        assert_eq!(ended.lines()["/"].to_string().contains("links_cut"), cut);
        assert!(sandbox.faults.hits("deduper.chunk") >= found / CHUNK);
    }
}

#[test]
fn many_anchors_to_few_urls_lose_none_of_them() {
    let site = site(300_000, |n| if n == 299_999 { "/last".into() } else { format!("/p/{}?utm_source={n}", n % 50) });
    let sandbox = sandbox(&site).set("crawl.max_pages=");
    let live = sandbox.start();
    assert_eq!(live.until_stop(), Stop::Done);
    let ended = live.end();
    assert_eq!((ended.found.counters.discovered, ended.found.counters.done), (52, 52), "{}", ended.report());
    assert!(!ended.lines()["/"].to_string().contains("links_cut"));
}

#[test]
fn a_deduper_that_dies_between_two_chunks_of_a_page_loses_and_doubles_nothing() {
    let site = site(10_000, |n| format!("/p/{n}"));
    for at in [1, 2, 3] {
        let sandbox = sandbox(&site);
        sandbox.faults.set("deduper.chunk", Fault::Panic, at, at);
        let live = sandbox.start();
        assert_eq!(live.until_stop(), Stop::Pages);
        let ended = live.close();
        assert!(sandbox.faults.hits("deduper.chunk") >= at + 3, "once more from the first");
        assert_eq!(ended.found.counters.discovered, 10_001, "{at}: {}", ended.report());
    }
}

#[test]
fn what_a_kill_between_two_chunks_leaves_goes_on() {
    let site = site(60_000, |n| format!("/p/{n}"));
    let sandbox = sandbox(&site).set("crawl.order=breadth"); // the hub comes first again
    // One batch of the Store holds some chunks.
    sandbox.faults.set("store.group", Fault::Delay(Duration::from_secs(1)), 1, 1_000);
    let live = sandbox.start();
    live.until("the first chunks", |s| s.discovered > 1);
    let fork = sandbox.fork();
    live.drop_at_once();
    let sandbox = sandbox.resume(fork);
    let live = sandbox.start();
    let known = live.node.crawl.counters().discovered;
    assert!(known > 1 && known < 60_001 && (known - 1).is_multiple_of(CHUNK), "{known}: some of the page's links");
    assert_eq!((live.node.crawl.counters().done, live.node.crawl.counters().queued), (0, known), "and the page waits");
    assert_eq!(live.until_stop(), Stop::Pages);
    let ended = live.close();
    assert_eq!(ended.found.counters.discovered, 60_001, "{}", ended.report());
}

#[test]
fn the_urls_of_a_large_sitemap_are_committed_in_chunks_too() {
    let mut map = String::from("<urlset>");
    (0..9_000).for_each(|n| write!(map, "<url><loc>http://a.test/p/{n}</loc></url>").unwrap());
    map.push_str("</urlset>");
    let site = Site::http(move |_, path| match path {
        "/robots.txt" => page(200, "text/plain", "", "Sitemap: /map.xml"),
        "/map.xml" => page(200, "text/xml", "", &map),
        path => html(&format!("<p>{path}")),
    });
    for at in [0, 2, 3] {
        let sandbox = sandbox(&site).set("crawl.max_pages=");
        sandbox.faults.set("deduper.chunk", Fault::Panic, at, at);
        let live = sandbox.start();
        live.until("the sitemap", |s| s.discovered == 9_002);
        let ended = live.close();
        assert!(sandbox.faults.hits("deduper.chunk") >= 3);
        let known: BTreeSet<_> = ended.found.seen.keys().collect();
        assert_eq!(known.len(), 9_002);
    }
}
