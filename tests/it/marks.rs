//! What pages and answers say of themselves, from the wire to everything that is kept: notes, canonical URL, usage, links with
//! their places, and what is left out of the archive.

use crate::cockpit::in_front_of;
use crate::site::{Site, html, page};

const ROBOTS: &str = "User-agent: *\nContent-Signal: ai-train=no\nContent-Usage: /app train-ai=n\n";
const MARKED: &str = "X-Robots-Tag: otherbot: none\r\nX-Robots-Tag: noarchive, *: noindex\r\n\
     Link: </canonical>; rel=\"canonical\", </next?p=2>; rel=next, </style>; rel=preload\r\nContent-Usage: train-ai=y\r\n";
const LINKS: &str = "<a href=/app>The <b>app</b></a><a href=/app>again</a><area href=/area><iframe src=/iframe></iframe>\
     <a rel=nofollow href=/no>no</a><link rel=next href=/link><meta http-equiv=refresh content='99;url=/refresh'>\
     <img src=/image>";

fn respond(_: &str, path: &str) -> String {
    match path {
        "/robots.txt" => page(200, "text/plain", "", ROBOTS),
        "/" => page(200, "text/html", MARKED, LINKS),
        "/app" => html("<div id=app></div><noscript>Please enable JavaScript</noscript><script src=/app.js></script>"),
        "/cut" => page(200, "text/html", "Content-Encoding: compress\r\n", "x"),
        path => html(&format!("<p>{path}")),
    }
}

#[test]
fn what_a_page_says_of_itself_reaches_everything_that_is_kept() {
    let site = Site::http(respond);
    let sandbox = in_front_of(&site)
        .set("crawl.seeds=[\"http://a.test/\",\"http://a.test/cut\"]")
        .set("crawl.until_done=true")
        .set("parse.assets=true");
    let live = sandbox.start();
    live.until_stop();
    let metrics = live.node.telemetry.metrics.text();
    let ended = live.end();

    let lines = ended.lines();
    assert_eq!(lines["/"]["notes"], serde_json::json!(["noindex", "noarchive"]), "{}", lines["/"]);
    assert_eq!(lines["/app"]["notes"], serde_json::json!(["needs_script"]));
    assert_eq!(lines["/cut"]["notes"], serde_json::json!(["decode_unsupported"]));
    assert_eq!(lines["/area"].get("notes"), None);
    let signal = "robots.txt: Content-Signal: ai-train=no";
    assert_eq!(lines["/"]["usage"], format!("{signal} | header: Content-Usage: train-ai=y"));
    assert_eq!(lines["/app"]["usage"], format!("{signal} | robots.txt: Content-Usage: train-ai=n"));
    for path in ["/next?p=2", "/link", "/refresh", "/iframe", "/image", "/canonical"] {
        assert!(lines.contains_key(path), "{path} was not followed: {:?}", lines.keys());
    }
    assert!(!lines.contains_key("/no") && !lines.contains_key("/style"));
    for (note, count) in
        [("noindex", 1), ("noarchive", 1), ("needs_script", 1), ("decode_unsupported", 1), ("reset", 0)]
    {
        let sample = format!("lycosa_page_notes_total{{note=\"{note}\"}} {count}\n");
        assert!(metrics.contains(&sample), "{sample}{metrics}");
    }

    let archive = ended.archive();
    for line in [
        "outlink: http://a.test/app L a/@href",
        "outlinkText: http://a.test/app The app",
        "outlinkText: http://a.test/app again",
        "outlink: http://a.test/area L area/@href",
        "outlink: http://a.test/iframe L iframe/@src",
        "outlink: http://a.test/no L a/@href",
        "outlink: http://a.test/link L link/@href",
        "outlink: http://a.test/refresh L meta/@refresh",
        "outlink: http://a.test/image E =EMBED_MISC",
        "outlink: http://a.test/next?p=2 L Link:",
        "contentUsage: robots.txt: Content-Signal: ai-train=no | header: Content-Usage: train-ai=y",
    ] {
        assert!(archive.contains(&format!("\r\n{line}\r\n")), "{line}\n{archive}");
    }
    let identified = archive.matches("\r\nWARC-Identified-Payload-Type: text/html\r\n").count();
    assert!(identified > 5, "{identified}");
}

#[test]
fn skipped_types_are_read_for_links_and_left_out_of_the_archive() {
    let site = Site::http(|_, path| match path {
        "/robots.txt" => crate::site::none(),
        "/" => {
            html("<title>t</title><a href=/same/1>1</a><a href=/same/2>2</a><a href=/moved>m</a><a href=/text>t</a>")
        }
        "/moved" => page(302, "text/html", "Location: /image\r\n", "moved"),
        "/image" => page(200, "image/x-own; q=1", "", "an image"),
        "/text" => page(200, "text/plain", "", "a text"),
        _ => html("<p>the same"),
    });
    let sandbox = in_front_of(&site)
        .set("crawl.seeds=[\"http://a.test/\"]")
        .set("crawl.until_done=true")
        .set("store.skip_types=[\"text/html\",\"image/*\"]");
    let ended = sandbox.crawl();
    let (lines, archive) = (ended.lines(), ended.archive());
    for path in ["/", "/same/1", "/same/2", "/image"] {
        let line = &lines[path];
        assert_eq!((&line["reason"], &line["status"]), (&"unstored".into(), &200.into()), "{line}");
        assert!(line.get("warc").is_none() && line["digest"].is_string(), "{line}");
        assert!(!archive.contains(&format!("WARC-Target-URI: http://a.test{path}\r\n")), "{path}");
    }
    for path in ["/text", "/moved"] {
        assert!(lines[path]["warc"].is_string(), "{}", lines[path]);
        assert!(archive.contains(&format!("WARC-Target-URI: http://a.test{path}\r\n")), "{path}");
    }
}

#[test]
fn nofollow_is_obeyed_unless_the_settings_say_that_the_site_is_ones_own() {
    let crawl = |sets: &[&str]| {
        let site = Site::http(|_, path| match path {
            "/robots.txt" => page(200, "text/plain", "", "User-agent: *\nDisallow: /kept\n"),
            "/" => html("<meta name=robots content='noindex,nofollow'><a href=/page>1</a><a href=/kept>2</a>"),
            "/page" => html("<a href=/link rel='nofollow noopener'>1</a>"),
            "/link" => page(200, "text/html", "X-Robots-Tag: nofollow\r\n", "<a href=/header>1</a>"),
            "/header" => page(200, "text/html", "X-Robots-Tag: nofollow\r\nRefresh: 0; url=/refresh\r\n", "x"),
            _ => html("<p>the end"),
        });
        let sandbox = in_front_of(&site).set("crawl.seeds=[\"http://a.test/\"]").set("crawl.until_done=true");
        let sandbox = sets.iter().fold(sandbox, |sandbox, set| sandbox.set(set));
        let ended = sandbox.crawl(); // its lines are read from its folder
        let fetched = |path: &str| ended.lines().get(path).is_some_and(|line| line["status"] == 200);
        ["/page", "/link", "/header", "/refresh", "/kept"].map(fetched)
    };
    assert_eq!(crawl(&[]), [false; 5]);
    assert_eq!(crawl(&["politeness.respect_nofollow=false"]), [true, true, true, true, false], "robots.txt holds");
    assert_eq!(crawl(&["politeness.respect_robots=false"]), [true; 5], "nofollow goes with it");
    let robots_alone = ["politeness.respect_robots=false", "politeness.respect_nofollow=true"];
    assert_eq!(crawl(&robots_alone), [false; 5]);
}
