//! `/api/v1/events` of a running daemon.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::time::Duration;

use lycosa::testweb::TestWebConfig;
use nix::sys::signal::Signal;
use serde_json::Value;

use crate::admin::Running;
use crate::sandbox::{Sandbox, until};

fn sandbox() -> Sandbox {
    let web = TestWebConfig { hosts: 20, pages: 500, errors: 0.1, error_status: vec![404], ..TestWebConfig::default() };
    Sandbox::new(web, "politeness.min_delay = \"20ms\"\npoliteness.delay_factor = 0\nstore.memory = \"32MiB\"\n")
}

/// A stream that is being listened to.
struct Stream(BufReader<TcpStream>);

impl Stream {
    fn open(crawl: &Running, query: &str, more: &str) -> Self {
        let mut stream = TcpStream::connect(crawl.at).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        write!(stream, "GET /api/v1/events{query} HTTP/1.1\r\nHost: {}\r\n{more}\r\n", crawl.at).unwrap();
        Self(BufReader::new(stream))
    }

    fn line(&mut self) -> Option<String> {
        let mut line = String::new();
        let n = self.0.read_line(&mut line).unwrap();
        (n > 0).then(|| line.trim_end().to_owned())
    }

    fn status(&mut self) -> u16 {
        self.line().unwrap().split(' ').nth(1).unwrap().parse().unwrap()
    }

    /// The next event: its kind and data; none at the end of the stream.
    fn next(&mut self) -> Option<(String, Value)> {
        let mut kind = String::new();
        loop {
            let line = self.line()?;
            if let Some(name) = line.strip_prefix("event: ") {
                name.clone_into(&mut kind);
            } else if let Some(data) = line.strip_prefix("data: ") {
                return Some((kind, serde_json::from_str(data).unwrap()));
            } else if line == "0" {
                return None; // the last chunk
            }
        }
    }
}

#[test]
fn pages_and_errors_come_as_they_happen_and_a_filter_leaves_the_rest_out() {
    let mut sandbox = sandbox();
    let crawl = Running::start(&mut sandbox, &[]);
    let mut all = Stream::open(&crawl, "", "");
    let mut errors = Stream::open(&crawl, "?kind=error&host=h3.test,h4.test", "");
    assert_eq!((all.status(), errors.status()), (200, 200));
    let mut kinds = BTreeSet::new();
    while !(kinds.contains("page") && kinds.contains("error")) {
        let (kind, data) = all.next().unwrap();
        assert_eq!(data["kind"], kind.as_str());
        if kind == "page" && data["reason"] == "stored" {
            let url = data["url"].as_str().unwrap();
            assert!(url.contains(data["host"].as_str().unwrap()) && data["status"] == 200, "{data}");
            assert!(data["bytes"].as_u64().unwrap() > 0 && data["ms"].as_u64().is_some(), "{data}");
        }
        kinds.insert(kind);
    }
    for _ in 0..3 {
        let (kind, data) = errors.next().unwrap();
        assert_eq!((kind.as_str(), &data["reason"]), ("error", &"status_4xx".into()));
        assert!(["h3.test", "h4.test"].contains(&data["host"].as_str().unwrap()), "{data}");
    }
    assert_eq!(crawl.get("/api/v1/events?kind=pages").0, 400);
    assert_eq!(crawl.post("/api/v1/pause", "", "").0, 200);
    while all.next().unwrap().1["reason"] != "paused" {}
    assert_eq!(crawl.post("/api/v1/stop", "", "").0, 200);
    let last: Vec<Value> = std::iter::from_fn(|| all.next()).map(|(_, data)| data["reason"].clone()).collect();
    assert_eq!(last.last(), Some(&"stopped".into()), "{last:?}");
    crawl.end();
}

#[test]
fn a_filter_lets_the_end_of_the_crawl_pass_and_one_that_did_not_come_is_told_by_the_exit_code() {
    let heard = |end: fn(&Running)| {
        let mut sandbox = sandbox();
        let crawl = Running::start(&mut sandbox, &[]);
        let ended = std::thread::scope(|scope| {
            let listening = scope.spawn(|| crawl.ctl(&["events", "--kind", "blocked", "--host", "h3.test"]));
            let listener = || crawl.get("/metrics").1.contains("lycosa_event_listeners 1\n").then_some(());
            until("somebody who listens", listener, || crawl.daemon.log());
            end(&crawl);
            listening.join().unwrap()
        });
        (sandbox, crawl, ended)
    };
    let (_kept, crawl, (code, text)) = heard(|crawl| assert_eq!(crawl.post("/api/v1/stop", "", "").0, 200));
    assert!(code == 0 && text.contains(" state stopped "), "{code} {text}");
    crawl.end();
    let (_kept, mut crawl, (code, text)) = heard(|crawl| crawl.daemon.signal(Signal::SIGKILL));
    assert!(code == 1 && text.contains("did not say that it stopped"), "{code} {text}");
    crawl.daemon.wait();
}

#[test]
fn who_comes_back_is_told_what_went_by_and_one_too_many_is_refused() {
    let mut sandbox = sandbox();
    let crawl = Running::start(&mut sandbox, &[]);
    crawl.until_status("pages that nobody heard of", |s| s.done > 20);
    let mut back = Stream::open(&crawl, "?kind=page", "Last-Event-ID: 1\r\n");
    assert_eq!(back.status(), 200);
    let (kind, data) = back.next().unwrap();
    assert!(kind == "missed" && data["missed"].as_u64().unwrap() >= 20, "{kind} {data}");
    let mut others: Vec<Stream> = (0..16).map(|_| Stream::open(&crawl, "", "")).collect();
    let statuses: Vec<u16> = others.iter_mut().map(Stream::status).collect();
    assert_eq!((statuses.iter().filter(|s| **s == 200).count(), statuses.last()), (15, Some(&503)));
    drop((back, others));
    until(
        "places that are free again",
        || (crawl.get("/metrics").1.contains("lycosa_event_listeners 0\n")).then_some(()),
        || crawl.daemon.log(),
    );
    assert_eq!(Stream::open(&crawl, "", "").status(), 200);
    assert_eq!(crawl.post("/api/v1/stop", "", "").0, 200);
    crawl.end();
}

#[test]
fn a_listener_that_reads_nothing_neither_stops_the_crawl_nor_its_end() {
    let mut sandbox = sandbox();
    let crawl = Running::start(&mut sandbox, &[]);
    let deaf: Vec<Stream> = (0..16).map(|_| Stream::open(&crawl, "", "")).collect();
    crawl.until_status("a crawl that goes on", |s| s.done > 2_000);
    assert_eq!(crawl.post("/api/v1/stop", "", "").0, 200);
    crawl.end();
    drop(deaf);
}
