//! What is in the index after a crawl, and after pages changed.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use nix::sys::signal::Signal;

use super::*;
use crate::site::{Site, page};

#[test]
fn after_a_crawl_the_documents_are_its_pages_of_text_and_no_others() {
    let mut sandbox = sandbox("");
    let log = sandbox.finish();
    assert!(log.contains("index: answers=0001"), "{log}");
    let (told, found) = (verified(&sandbox), documents(&sandbox));
    let expected = indexable(&sandbox.data());
    same(&found, &expected);
    assert!(expected.len() > 50 && told["right"] == expected.len(), "{told}");
    let unread = found.values().filter(|card| !card["unread"].is_null()).count();
    assert_eq!(unread, 0);
    let titled = found.values().filter(|card| card["title"].is_string()).count();
    assert!(titled > expected.len() / 2, "{titled} of {}", expected.len());
    let status = index(&sandbox, &["status"]).done();
    assert!(status.contains(&format!("generation 0001: {} documents up to entry", expected.len())), "{status}");
    assert!(status.contains(", 0 entries behind, "), "{status}");
}

#[test]
fn an_index_built_at_rest_is_the_one_that_was_made_beside_the_crawl() {
    let mut sandbox = sandbox("");
    sandbox.finish();
    let beside = documents(&sandbox);
    let graph = in_links(&sandbox, beside.keys().cloned());
    let told = index(&sandbox, &["build", "--fresh"]).done();
    assert!(
        told.contains(&format!("{} documents put in in ", beside.len())) && told.contains("generation 0002"),
        "{told}"
    );
    assert_eq!(documents(&sandbox), beside);
    assert_eq!(in_links(&sandbox, beside.keys().cloned()), graph);
    assert_eq!(index(&sandbox, &["build"]).done().lines().next().unwrap().split(" put").next(), Some("0 documents"));
    verified(&sandbox);
}

#[test]
fn a_crawl_that_is_killed_again_and_again_has_the_same_index() {
    let mut sandbox = asking_every("5ms", scale(), "");
    for kill in 1..=3 * scale() {
        let mut crawl = Running::start(&mut sandbox, &[]);
        until_index(&crawl, "documents", |view| view["documents"].as_u64() >= Some(20 * u64::from(kill)));
        crawl.daemon.signal(Signal::SIGKILL);
        crawl.daemon.wait();
        verified(&sandbox);
    }
    sandbox.finish();
    let expected = indexable(&sandbox.data());
    same(&documents(&sandbox), &expected);
    verified(&sandbox);
    println!("{} kills, {} documents", 3 * scale(), expected.len());
}

#[test]
fn a_crawl_of_which_every_step_of_the_index_fails_or_kills_it_ends_with_the_truth_and_with_the_index() {
    let points = "index.open=error@1;index.page=panic@5;index.commit=error@1;index.committed=panic@1";
    let mut sandbox = sandbox("");
    let mut crawl = sandbox.start(&[], Some(points));
    let truth = sandbox.truth().len();
    let failed = |log: &str| log.matches("the index waits: again_in_s=").count();
    until("the failures", || (failed(&crawl.log()) >= 4).then_some(()), || crawl.log());
    until("the crawl", || (sandbox.lines().len() >= truth).then_some(()), || crawl.log());
    crawl.signal(Signal::SIGTERM);
    assert_eq!(crawl.wait().code(), Some(0), "{}", crawl.log());
    crate::checkpoint::assert_is_the_truth(&sandbox);
    for pass in 1..=scale() {
        std::fs::remove_dir_all(sandbox.data().join("index")).unwrap();
        for (point, at) in [
            ("index.open", 1),
            ("index.batch", 2),
            ("index.page", 2 + pass),
            ("index.added", 8 + pass),
            ("index.commit", 1),
            ("index.committed", 1),
        ] {
            let kill = format!("{point}=kill@{at}");
            let mut crawl = sandbox.start(&["--until-done"], Some(&kill));
            assert_eq!(crawl.wait().code(), None, "{kill}: {}", crawl.log());
        }
        verified(&sandbox);
        sandbox.finish();
        same(&documents(&sandbox), &indexable(&sandbox.data()));
        verified(&sandbox);
    }
    println!("{} kills at six points of the index", 6 * scale());
}

#[test]
fn a_page_of_which_the_index_dies_three_times_is_there_without_its_text_and_is_listed() {
    let mut sandbox = sandbox("");
    let mut crawl =
        Running { daemon: sandbox.start(&[], Some("index.page=panic@1-3")), at: "127.0.0.1:1".parse().unwrap() };
    crawl.at = crate::checkpoint::admin(&crawl.daemon).parse().unwrap();
    let view = until_index(&crawl, "a page without its text", |view| {
        caught_up(view) && view["bare"].as_array().is_some_and(|bare| !bare.is_empty())
    });
    assert_eq!((view["failures"].as_u64(), view["unread"].as_u64() >= Some(1)), (Some(3), true), "{view}");
    until("the crawl", || (sandbox.lines().len() >= sandbox.truth().len()).then_some(()), || crawl.daemon.log());
    let (code, told) = crawl.ctl(&["index"]);
    assert!(code == 0 && told.contains("3 failures; "), "{told}");
    until_index(&crawl, "all", caught_up);
    assert_eq!(crawl.ctl(&["stop"]).0, 0);
    crawl.end();
    verified(&sandbox);
    let unread: Vec<_> = documents(&sandbox).into_values().filter(|card| card["unread"] == true).collect();
    assert_eq!(unread.len(), 1, "{unread:?}");
}

/// A small site whose pages change while a test runs: path to status, type, more header lines and body.
type Pages = Arc<Mutex<BTreeMap<&'static str, (u16, &'static str, &'static str, &'static str)>>>;

const WORDS: &str =
    "<p>Wolf spiders do not spin webs to catch their prey; they hunt it down, or wait for it at the mouth of a burrow.";

#[test]
fn what_turns_into_something_else_leaves_the_index_and_what_fails_stays_as_it_was() {
    let home = "<title>home</title><a href=/b>b</a><a href=/c>c</a><a href=/d>d</a><a href=/e>e</a><a href=/f>f</a>\
                <a href=/g>g</a><a href=/h>h</a><a href=/i>i</a><a href=/p>p</a><a href=/x>x</a><a href=/z>z</a><a href=/n>n</a>";
    let noindex = "<meta name=robots content=noindex><title>hidden</title>";
    let pages: Pages = Arc::new(Mutex::new(BTreeMap::from([
        ("/", (200, "text/html", "", home)),
        ("/b", (200, "text/html", "", "<title>b</title>")),
        ("/c", (200, "text/html", "", "<title>b</title>")), // the same content
        ("/d", (200, "text/html", "", noindex)),
        ("/e", (200, "text/html", "", "<title>e</title>")),
        ("/f", (302, "text/html", "Location: /b\r\n", "")),
        ("/g", (200, "text/html", "", "<title>g</title>")),
        ("/h", (404, "text/html", "", "<title>none</title>")),
        ("/i", (200, "text/html", "", "<title>i</title>")),
        ("/p", (200, "text/plain", "", "plain words")),
        ("/x", (200, "application/rss+xml", "", "<rss><channel><item><link>/b</link></item></channel></rss>")),
        ("/z", (200, "image/png", "", "\u{1}PNG")),
        ("/n", (200, "text/html", "X-Robots-Tag: noindex\r\n", WORDS)),
    ])));
    let served = pages.clone();
    let site = Site::http(move |_, path| match served.lock().unwrap().get(path) {
        Some((status, kind, more, body)) => page(*status, kind, more, body),
        None => page(404, "text/plain", "", "none"),
    });
    let settings = format!(
        "scope.mode = \"hosts\"\nadmin.listen = \"127.0.0.1:0\"\nlog.level = \"info\"\ndisk.pause_below = \"1MB\"\ndisk.reserve = 0\n\
         dns.overrides = {{ \"*.test\" = \"{0}\" }}\nnet.allow = [\"127.0.0.1/32:{1}\"]\ncrawl.seeds = [\"http://a.test/\"]\n\
         politeness.min_delay = \"1ms\"\npoliteness.delay_factor = 0\nfetch.retries = 0\nindex.enabled = true\nindex.refresh = \"1s\"\n\
         store.memory = \"32MiB\"\nindex.memory = \"16MiB\"\n",
        site.address,
        site.port()
    );
    let mut sandbox = Sandbox::alone(&settings);
    let crawl = Running::start(&mut sandbox, &[]);
    let entries = |view: &Value| view["seq"].as_u64().unwrap();
    let first = until_index(&crawl, "the first pages", |view| caught_up(view) && entries(view) >= 13);
    let names = |sandbox: &Sandbox| {
        documents(sandbox).keys().map(|url| url.trim_start_matches("http://a.test").to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(names(&sandbox), ["/", "/b", "/c", "/e", "/g", "/i", "/p"]);

    for (path, (status, kind, more, body)) in [
        ("/b", (200, "text/html", "", "<title>another</title>")),
        ("/c", (302, "text/html", "Location: /b\r\n", "")),
        ("/d", (200, "text/html", "", "<title>shown</title>")),
        ("/e", (200, "text/html", "", noindex)),
        ("/g", (410, "text/html", "", "")),
        ("/i", (503, "text/html", "", "")),
    ] {
        pages.lock().unwrap().insert(path, (status, kind, more, body));
    }
    let (code, told) = crawl.ctl(&["host", "a.test", "recrawl"]);
    assert_eq!(code, 0, "{told}");
    let again = entries(&first) + 12;
    until_index(&crawl, "all pages once more", |view| caught_up(view) && entries(view) >= again);
    until(
        "the crawl's rest",
        || (crawl.status().waiting + crawl.status().processing == 0).then_some(()),
        || crawl.daemon.log(),
    );
    until_index(&crawl, "all", caught_up);
    assert_eq!(names(&sandbox), ["/", "/b", "/d", "/i", "/p"]);
    assert_eq!(documents(&sandbox)["http://a.test/b"]["title"], "another");
    assert_eq!(crawl.ctl(&["stop"]).0, 0);
    crawl.end();
    verified(&sandbox);
    let before = documents(&sandbox);
    index(&sandbox, &["build", "--fresh"]).done();
    assert_eq!(documents(&sandbox), before, "made anew from the archive it is the same");
    verified(&sandbox);

    // For a site of one's own.
    let told = index(&sandbox, &["build", "--fresh", "--set", "index.noindex=ignore"]).done();
    assert!(told.contains("7 documents put in"), "{told}");
    assert_eq!(names(&sandbox), ["/", "/b", "/d", "/e", "/i", "/n", "/p"]);
}
