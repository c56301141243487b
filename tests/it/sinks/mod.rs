//! Sinks of the real program: a search server that misbehaves, a program that is killed, files that roll.

mod files;
mod lines;
mod stand_in;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};

use lycosa::testweb::TestWebConfig;
use nix::sys::signal::Signal;
use serde_json::Value;

use crate::admin::Running;
use crate::sandbox::{Sandbox, indexable, lines_of, scale, until};
use crate::site::{Site, page};
use stand_in::{Mood, StandIn};

/// Programs that are killed under a sink, at any moment and at each of its four points: in large 20.
fn kills() -> usize {
    if scale() == 1 { 4 } else { 20 }
}

/// A web with what makes pages come and go, large enough for so many kills.
fn web() -> TestWebConfig {
    TestWebConfig {
        hosts: 5,
        pages: if scale() == 1 { 30 } else { 150 },
        links: 8,
        min_size: 2_000,
        max_size: 8_000,
        duplicates: 0.15,
        redirects: 0.1,
        errors: 0.1,
        gbk: 0.2,
        ..TestWebConfig::default()
    }
}

fn sandbox(sinks: &str) -> Sandbox {
    let settings = "politeness.delay_factor = 0\npoliteness.min_delay = \"5ms\"\nstore.memory = \"32MiB\"\nfetch.retries = 0\n\
                    crawl.max_depth = \"none\"\ncheckpoint.every = \"0s\"\ndurability.sync = \"100ms\"\n";
    Sandbox::new(web(), &format!("{settings}{sinks}"))
}

/// The settings of a sink with an index at that server.
fn search(name: &str, server: &StandIn, more: &str) -> String {
    let at = server.address;
    format!(
        "[[sink]]\nname = \"{name}\"\nkind = \"opensearch\"\nurl = \"http://{at}/base/\"\nindex = \"pages\"\nevery = \"100ms\"\n{more}\n"
    )
}

/// What the endpoint says of the sink of this name, once it is as wanted.
fn until_sink(crawl: &Running, name: &str, what: &str, wanted: impl Fn(&Value) -> bool) -> Value {
    let look = || {
        std::thread::sleep(std::time::Duration::from_millis(20)); // the endpoint answers so many requests a second
        let (code, text) = crawl.get("/api/v1/sinks");
        if code == 503 {
            return None; // the feed is not taken up yet
        }
        let all: Value = serde_json::from_str(&text).unwrap();
        let view = all["sinks"].as_array().unwrap().iter().find(|sink| sink["name"] == name).unwrap().clone();
        wanted(&view).then_some(view)
    };
    until(what, look, || format!("{:?}\n{}", crawl.get("/api/v1/sinks"), crawl.daemon.log()))
}

fn caught_up(view: &Value) -> bool {
    view["doing"] == "waiting" && view["behind"] == 0 && view["after"].as_u64() > Some(0)
}

fn urls(server: &StandIn) -> BTreeSet<String> {
    server.documents().values().map(|(_, document)| document["url"].as_str().unwrap().to_owned()).collect()
}

/// The lines of a sink's list of what was refused.
fn rejected(sandbox: &Sandbox, name: &str) -> Vec<Value> {
    let text = std::fs::read_to_string(sandbox.data().join(format!("sinks/{name}.rejected.jsonl"))).unwrap_or_default();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// The newest capture of each page with its card, as an export tells it.
fn exported(sandbox: &Sandbox, options: &[&str]) -> BTreeMap<String, Value> {
    let (to, data, config) = (sandbox.beside("pages.jsonl"), sandbox.data(), sandbox.config_file());
    let mut all: Vec<&dyn AsRef<std::ffi::OsStr>> = vec![&"export", &"jsonl", &"--force", &"--no-progress"];
    all.extend(options.iter().map(|option| option as &dyn AsRef<std::ffi::OsStr>));
    all.extend([&"--data" as &dyn AsRef<std::ffi::OsStr>, &data, &"--config", &config, &"--to", &to]);
    crate::checkpoint::run(&all, None).done();
    let text = std::fs::read_to_string(to).unwrap();
    let lines = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    lines.map(|line| (line["id"].as_str().unwrap().to_owned(), line)).collect()
}

#[test]
fn a_server_that_misbehaves_has_the_truth_after_every_kill_and_no_page_is_fetched_for_it() {
    let server = StandIn::start(Mood::Wild, "/p/7");
    let mut sandbox = sandbox(&search("search", &server, "batch = 6\ntext = true"));
    for at_least in (1..=kills()).map(|kill| 15 * kill) {
        let mut crawl = Running::start(&mut sandbox, &[]);
        until("documents", || (server.documents().len() >= at_least).then_some(()), || crawl.daemon.log());
        crawl.daemon.signal(Signal::SIGKILL);
        crawl.daemon.wait();
    }
    let truth = sandbox.truth().len();
    let crawl = Running::start(&mut sandbox, &[]);
    until("the crawl", || (lines_of(&sandbox.data()).len() >= truth).then_some(()), || crawl.daemon.log());
    let wild = server.moods();
    server.mood(Mood::Calm);
    until_sink(&crawl, "search", "all documents", caught_up);
    assert_eq!(crawl.ctl(&["stop"]).0, 0);
    crawl.end();
    assert!(wild.len() >= 4, "too calm a server shows nothing: {wild:?}");

    let wanted = indexable(&sandbox.data());
    let (refused, taken): (BTreeSet<_>, BTreeSet<_>) = wanted.into_iter().partition(|url| url.contains("/p/7"));
    assert_eq!(urls(&server), taken);
    println!("{} kills, {} documents, {} refused, moods {wild:?}", kills(), taken.len(), refused.len());
    assert!(taken.len() > 50 && !refused.is_empty(), "{} {refused:?}", taken.len());
    let listed = rejected(&sandbox, "search");
    assert!(
        listed.iter().all(|line| line["status"] == 400 && line["why"].as_str().unwrap().contains("mapper_parsing"))
    );
    assert_eq!(listed.iter().map(|line| line["url"].as_str().unwrap().to_owned()).collect::<BTreeSet<_>>(), refused);
    let lines = exported(&sandbox, &["--text"]);
    for (id, (version, document)) in server.documents() {
        let (line, capture) = (&lines[&id], &lines[&id]["capture"]);
        assert_eq!(capture["captured_ms"], version, "{line}");
        for (own, theirs) in
            [("url", &line["url"]), ("digest", &capture["digest"]), ("card", &line["card"]), ("text", &line["text"])]
        {
            assert_eq!(&document[own], theirs, "{own}: {line}");
        }
        assert_eq!(document["lang"], line["card"]["language"], "{line}");
    }

    // A second sink, which begins with the first entry: the pages come out of the archive.
    let asked = sandbox.web.audit_len();
    let late = StandIn::start(Mood::Calm, "/p/7");
    sandbox.also(&search("late", &late, ""));
    let log = sandbox.finish();
    assert_eq!(urls(&late), taken, "{log}");
    assert_eq!(sandbox.web.audit_len(), asked, "no page is fetched for a sink");
    assert_eq!(late.documents().len(), server.documents().len());
}

#[test]
fn what_every_step_of_a_sink_that_fails_or_kills_leaves_is_made_good() {
    let server = StandIn::start(Mood::Calm, "");
    let mut sandbox = sandbox(&search("search", &server, "batch = 10"));
    let points = ["sink.batch=kill@2", "sink.entry=kill@7", "sink.answered=kill@1", "sink.acknowledged=kill@2"];
    for kill in points.into_iter().cycle().take(kills()) {
        let mut crawl = sandbox.start(&["--until-done"], Some(kill));
        assert_eq!(crawl.wait().code(), None, "{kill}: {}", crawl.log());
    }
    let mut crawl =
        sandbox.start(&["--until-done"], Some("sink.batch=error@1;sink.answered=panic@2;sink.acknowledged=error@1"));
    let status = crawl.wait();
    let log = crawl.log();
    assert!(status.code() == Some(0) && log.matches("a sink waits: sink=search again_in_s=").count() >= 1, "{log}");
    sandbox.finish();
    assert_eq!(urls(&server), indexable(&sandbox.data()), "{log}");
}

#[test]
fn a_crawl_ends_though_the_server_of_a_sink_never_answers_and_the_next_run_sends_what_is_left() {
    let server = StandIn::start(Mood::Silent, "");
    let mut sandbox = sandbox(&search("search", &server, ""));
    let mut crawl = sandbox.start(&["--until-done"], None);
    let status = crawl.wait();
    let log = crawl.log();
    assert_eq!(status.code(), Some(0), "{log}");
    crate::checkpoint::assert_is_the_truth(&sandbox);
    let left = sandbox.truth().len();
    let told = format!("the run ends before a sink has taken all; the next one goes on: sink=search left={left}\n");
    assert!(log.contains(&told), "{log}");
    let asked = sandbox.web.audit_len();

    // Of one that is away it is said once, everywhere.
    server.mood(Mood::Only(503));
    let crawl = Running::start(&mut sandbox, &[]);
    let view = until_sink(&crawl, "search", "some tries", |view| view["failures"].as_u64() >= Some(2));
    assert_eq!((view["doing"].as_str(), view["sent"].as_u64()), (Some("away"), Some(0)), "{view}");
    assert!(view["error"].as_str().unwrap().starts_with("503 ") && view["away_since_ms"].is_u64(), "{view}");
    let (code, told) = crawl.ctl(&["sinks"]);
    let line = format!("search: 503 {}", "{\"error\":\"so it is\"}");
    assert!(code == 0 && told.contains("  away  ") && told.contains(&line), "{told}");
    let metrics = crawl.get("/metrics").1;
    assert!(metrics.contains("\nlycosa_sink_away{sink=\"search\"} 1\n"), "{metrics}");
    assert!(metrics.contains(&format!("\nlycosa_sink_behind{{sink=\"search\"}} {}\n", view["behind"])), "{metrics}");
    let (code, told) = crawl.ctl(&["feed", "consumers"]);
    assert!(code == 0 && told.contains("sink:search") && told.contains("true"), "{told}");
    let status: Value = serde_json::from_str(&crawl.get("/api/v1/status").1).unwrap();
    assert!(status["troubles"]["sink_waits"]["example"].as_str().unwrap().starts_with("search: 503"), "{status}");
    let (code, told) = crawl.ctl(&["feed", "forget", "sink:search"]);
    assert!(code == 1 && told.contains("take it out of them first"), "{told}");
    server.mood(Mood::Calm);
    let view = until_sink(&crawl, "search", "the rest", caught_up);
    assert!(view["error"].is_null() && view["away_since_ms"].is_null(), "{view}");
    assert_eq!(crawl.ctl(&["stop"]).0, 0);
    let log = crawl.end();
    for once in ["a sink takes nothing", "a sink takes pages again: sink=search", "a sink has caught up: sink=search"] {
        assert_eq!(log.matches(once).count(), 1, "{once}\n{log}");
    }
    assert_eq!(urls(&server), indexable(&sandbox.data()));
    assert_eq!(sandbox.web.audit_len(), asked);

    // Taken out of the settings, it holds nothing once that is said.
    sandbox.without("[[sink]]");
    let crawl = Running::start(&mut sandbox, &[]);
    let strays = |log: &str| log.contains("`lycosa ctl feed forget sink:search` ends that");
    until("a word of it", || strays(&crawl.daemon.log()).then_some(()), || crawl.daemon.log());
    until("the feed", || (crawl.get("/api/v1/sinks").0 == 200).then_some(()), || crawl.daemon.log());
    assert_eq!(crawl.ctl(&["sinks"]), (0, "there are no sinks; [[sink]] in the settings makes some\n".into()));
    assert_eq!(crawl.ctl(&["feed", "forget", "sink:search"]).0, 0);
    assert_eq!(crawl.ctl(&["stop"]).0, 0);
    crawl.end();
}

/// A small site whose pages change while a test runs: path to status, more header lines and body.
type Pages = Arc<Mutex<BTreeMap<&'static str, (u16, &'static str, &'static str)>>>;

#[test]
fn a_page_that_goes_redirects_or_turns_noindex_is_taken_away_and_one_that_fails_stays() {
    let noindex = "<meta name=robots content=noindex><title>hidden</title>";
    let home = "<title>home</title><a href=/b>b</a><a href=/c>c</a><a href=/d>d</a><a href=/e>e</a><a href=/f>f</a><a href=/g>g</a>";
    let pages: Pages = Arc::new(Mutex::new(BTreeMap::from([
        ("/", (200, "", home)),
        ("/b", (200, "", "<title>b</title>")),
        ("/c", (200, "", "<title>c</title>")),
        ("/d", (200, "", noindex)),
        ("/e", (200, "", "<title>e</title>")),
        ("/f", (200, "", "<title>f</title>")),
        ("/g", (200, "", "<title>g</title>")),
    ])));
    let served = pages.clone();
    let site = Site::http(move |_, path| match served.lock().unwrap().get(path) {
        Some((status, more, body)) => page(*status, "text/html", more, body),
        None => page(404, "text/plain", "", "none"),
    });
    let server = StandIn::start(Mood::Calm, "");
    let settings = format!(
        "scope.mode = \"hosts\"\nadmin.listen = \"127.0.0.1:0\"\nlog.level = \"info\"\ndisk.pause_below = \"1MB\"\ndisk.reserve = 0\n\
         dns.overrides = {{ \"*.test\" = \"{0}\" }}\nnet.allow = [\"127.0.0.1/32:{1}\"]\ncrawl.seeds = [\"http://a.test/\"]\n\
         politeness.min_delay = \"1ms\"\npoliteness.delay_factor = 0\nfetch.retries = 0\nstore.memory = \"32MiB\"\n{2}",
        site.address,
        site.port(),
        search("search", &server, "")
    );
    let mut sandbox = Sandbox::alone(&settings);
    let crawl = Running::start(&mut sandbox, &[]);
    let titles = || -> BTreeMap<String, String> {
        let told = |document: &Value| {
            let path = document["url"].as_str().unwrap().trim_start_matches("http://a.test").to_owned();
            (path, format!("{} {}", document["card"]["title"].as_str().unwrap(), document["stale"]))
        };
        server.documents().values().map(|(_, document)| told(document)).collect()
    };
    let expect = |all: &[(&str, &str)]| -> BTreeMap<String, String> {
        all.iter().map(|(a, b)| (a.to_string(), b.to_string())).collect()
    };
    let first = expect(&[
        ("/", "home false"),
        ("/b", "b false"),
        ("/c", "c false"),
        ("/e", "e false"),
        ("/f", "f false"),
        ("/g", "g false"),
    ]);
    until("the first pages", || (titles() == first).then_some(()), || format!("{:?}", titles()));
    for (path, now) in [
        ("/b", (200, "", "<title>another</title>")),
        ("/c", (302, "Location: /b\r\n", "")),
        ("/d", (200, "", "<title>shown</title>")),
        ("/e", (200, "", noindex)),
        ("/f", (410, "", "")),
        ("/g", (503, "", "")),
    ] {
        pages.lock().unwrap().insert(path, now);
    }
    assert_eq!(crawl.ctl(&["host", "a.test", "recrawl"]).0, 0);
    let then = expect(&[("/", "home false"), ("/b", "another false"), ("/d", "shown false"), ("/g", "g true")]);
    until(
        "the pages as they are now",
        || (titles() == then).then_some(()),
        || format!("{:?}\n{}", titles(), crawl.daemon.log()),
    );
    let view = until_sink(&crawl, "search", "all", caught_up);
    assert!(view["removed"].as_u64() >= Some(3) && view["rejected"] == 0, "{view}");
    assert_eq!(crawl.ctl(&["stop"]).0, 0);
    crawl.end();
}
