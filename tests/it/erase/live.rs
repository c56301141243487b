//! A host is erased under a running crawl of many hosts: ordered by the endpoint, gone on with over kills, ended by signals.

use std::collections::BTreeMap;
use std::fs;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use nix::sys::signal::Signal;
use serde_json::{Value, json};

use super::{CANARY, HOST, captures, does, links, noise, nothing_is_left, sandbox};
use crate::admin::Running;
use crate::sandbox::{Sandbox, judge_archive, python, until};
use crate::site::{Site, page};

/// Hosts beside the one that is erased.
const HOSTS: usize = 19;
/// Pages of each host, and pages that all have alike.
const PAGES: usize = 24;
const SAME: usize = 4;

fn hosts() -> Vec<String> {
    (0..HOSTS).map(|n| format!("h{n}.test")).collect()
}

fn answer(host: &str, path: &str) -> String {
    let own = host == HOST;
    let (secret, head) = if own { (CANARY, format!("X-Secret: {CANARY}\r\n")) } else { ("", String::new()) };
    let html = |text: &str| page(200, "text/html", &head, text);
    match path {
        "/robots.txt" => page(200, "text/plain", "", &format!("# {secret}\nUser-agent: *\nAllow: /\n")),
        "/" => {
            let pages = |from, to| (from..to).map(|n| format!("/p{secret}{n}"));
            let same = (0..SAME).map(|n| format!("/same/{n}"));
            // The host comes to what all have alike before the others.
            let ahead = if own { 0 } else { 4 };
            html(&links(pages(0, ahead).chain(same).chain(pages(ahead, PAGES))))
        }
        _ if path.starts_with("/same/") => page(200, "text/html", "", &noise(path, 2_000)),
        _ => html(&format!(
            "<title>{secret}</title><p>{secret} {}<a href=\"http://{HOST}/\">x</a>",
            noise(&format!("{host}{path}"), 4_000)
        )),
    }
}

fn begun(settings: &str) -> (Site, Sandbox) {
    let site = Site::http(answer);
    let seeds: Vec<String> = hosts().iter().map(String::as_str).chain([HOST]).map(|h| format!("http://{h}/")).collect();
    let settings = format!("crawl.order = \"breadth\"\n{settings}");
    let mut sandbox = sandbox(&site, &seeds, &settings);
    // Slow enough that it is under way still when the order comes.
    let text = fs::read_to_string(sandbox.config_file()).unwrap();
    sandbox.without("crawl.seeds");
    sandbox.also(&text.replace("politeness.min_delay = \"1ms\"", "politeness.min_delay = \"50ms\""));
    (site, sandbox)
}

fn asked_of(site: &Site, host: &str) -> usize {
    let begins = format!("{host} ");
    site.asked().iter().filter(|asked| asked.starts_with(&begins)).count()
}

/// Waits until every host was asked for some pages, which are not all.
fn until_under_way(site: &Site, crawl: &Running) {
    let all: Vec<String> = hosts().into_iter().chain([HOST.to_owned()]).collect();
    let look = || {
        std::thread::sleep(Duration::from_millis(10));
        all.iter().all(|host| asked_of(site, host) >= 13).then_some(())
    };
    until("pages of every host", look, || crawl.daemon.log());
    crawl.until_status("pages of every host that are committed", |status| status.done >= 10 * HOSTS as u64);
}

fn until_idle(crawl: &Running) {
    crawl.until_status("the end of the work", |status| {
        status.waiting == 0 && status.processing == 0 && status.in_flight == 0 && status.discovered > 100
    });
}

type Captures = BTreeMap<(String, String, String), String>;

/// What holds when all is done: nothing of the host is left, every page of the others is there, and none has moved.
fn is_whole(sandbox: &Sandbox, before: &Captures) {
    let data = sandbox.data();
    does(&["check", "--erased", HOST], &data, 0);
    does(&["check", "--full"], &data, 0);
    nothing_is_left(&data);
    if let Some(python) = python() {
        judge_archive(&python, &data.join("warc"), None);
    }
    let after = captures(sandbox);
    for ((url, file, offset), record) in before {
        if record.contains(&format!("WARC-Refers-To-Target-URI: http://{HOST}/")) {
            let path = url.splitn(4, '/').nth(3).unwrap();
            let own: Vec<_> = after.iter().filter(|((other, ..), _)| other == url).collect();
            assert!(own.len() == 1 && own[0].1.contains(&noise(&format!("/{path}"), 2_000)), "{url}: {own:?}");
        } else {
            let same = after.get(&(url.clone(), file.clone(), offset.clone()));
            assert!(same == Some(record), "{url} in {file} at {offset} is not what it was");
        }
    }
    let mut pages: BTreeMap<String, usize> = BTreeMap::new();
    for (url, ..) in after.keys() {
        *pages.entry(url.clone()).or_default() += 1;
    }
    for host in hosts() {
        let wanted =
            (0..PAGES).map(|n| format!("/p{n}")).chain((0..SAME).map(|n| format!("/same/{n}"))).chain(["/".into()]);
        for path in wanted {
            let url = format!("http://{host}{path}");
            assert_eq!(pages.get(&url), Some(&1), "{url} is there once");
        }
    }
}

/// The status of the answer to an order; 0 when there is none.
fn post_to(at: SocketAddr, path: &str) -> u16 {
    let ask = || -> std::io::Result<String> {
        let mut stream = TcpStream::connect(at)?;
        let close = "Connection: close\r\nContent-Length: 0";
        stream.write_all(format!("POST {path} HTTP/1.1\r\nHost: {at}\r\n{close}\r\n\r\n").as_bytes())?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        Ok(answer)
    };
    ask().ok().and_then(|answer| answer.get(9..12)?.parse().ok()).unwrap_or(0)
}

fn purge(crawl: &Running) -> Value {
    let (code, answer) = crawl.post(&format!("/api/v1/hosts/{HOST}/block?purge=own"), "", "");
    assert_eq!(code, 202, "{answer}");
    serde_json::from_str(&answer).unwrap()
}

/// Waits until the endpoint says that a host is being erased.
fn until_erasing(crawl: &Running) -> Value {
    let look = || {
        std::thread::sleep(Duration::from_millis(10));
        let (code, answer) = crawl.get("/api/v1/status");
        (code == 503).then(|| serde_json::from_str(&answer).unwrap())
    };
    until("the erasure", look, || crawl.daemon.log())
}

fn until_crawling(crawl: &Running) {
    let look = || {
        std::thread::sleep(Duration::from_millis(20));
        (crawl.get("/api/v1/status").0 == 200).then_some(())
    };
    until("the crawl again", look, || crawl.daemon.log());
}

#[test]
fn a_running_crawl_has_a_host_erased_says_how_far_it_is_and_goes_on_in_the_same_process() {
    let (site, mut sandbox) = begun("index.enabled = true\nindex.memory = \"16MiB\"");
    let mut crawl = Running::of(sandbox.start(&[], Some("erase.noted=delay:5s@1")));
    until_under_way(&site, &crawl);
    let (code, answer) = crawl.ctl(&["host", "never.test", "block", "--purge"]);
    assert!(code == 1 && answer.contains("nothing is known of the host never.test"), "{answer}");
    assert_eq!(crawl.post(&format!("/api/v1/hosts/{HOST}/block?purge=all"), "", "").0, 400);
    let read = json!({ "after": 5, "hold": true }).to_string();
    let acknowledged = || (crawl.put("/api/v1/feed/consumers/reader", &read).0 == 200).then_some(());
    until("five entries that are shown", acknowledged, || crawl.daemon.log());
    let ordered = purge(&crawl);
    let id = ordered["erasure"]["id"].as_str().unwrap().to_owned();
    assert!(ordered["orders"]["blocked"].is_u64(), "{ordered}");

    let told = until_erasing(&crawl);
    assert_eq!((&told["status"], &told["erasing"]["id"]), (&json!(503), &json!(id)), "{told}");
    let (code, answer) = crawl.ctl(&["status"]);
    assert!(code == 1 && answer.contains("a host is being erased: step 1 of 8"), "{answer}");
    assert_eq!((crawl.get("/healthz").0, crawl.get("/readyz").0, crawl.get("/metrics").0), (200, 503, 503));
    assert_eq!(crawl.get("/").0, 503);
    assert!(crawl.daemon.ended().is_none(), "it is the same process");
    let (before, of_host) = (captures(&sandbox), asked_of(&site, HOST));
    assert!(!told.to_string().contains(HOST), "{told}");

    until_crawling(&crawl);
    until_idle(&crawl);
    assert_eq!(asked_of(&site, HOST), of_host, "nothing is asked of it any more");
    let (_, listed) = crawl.get(&format!("/api/v1/erasures?host={HOST}"));
    let listed: Value = serde_json::from_str(&listed).unwrap();
    assert_eq!(
        (&listed[0]["id"], &listed[0]["erased"], listed.as_array().unwrap().len()),
        (&json!(id), &json!(true), 1)
    );
    assert_eq!(crawl.get("/api/v1/erasures?host=h1.test").1, "[]");
    let (code, certificate) = crawl.get(&format!("/api/v1/erasures/{id}"));
    let certificate: Value = serde_json::from_str(&certificate).unwrap();
    assert!(code == 200 && certificate["before"]["relying"].as_u64().unwrap() > 0, "{certificate}");
    assert_eq!(crawl.get("/api/v1/erasures/../FORMAT").0, 404);
    assert!(crawl.ctl(&["erasures"]).1.contains(&id));
    assert!(crawl.ctl(&["host", HOST]).1.contains("blocked by the operator"));
    let (_, reader) = crawl.get("/api/v1/feed/consumers/reader");
    let reader: Value = serde_json::from_str(&reader).unwrap();
    assert_eq!((&reader["after"], &reader["hold"]), (&json!(5), &json!(true)), "{reader}");
    let pages = (HOSTS * (1 + PAGES)) as u64;
    let documents = || {
        std::thread::sleep(Duration::from_millis(100));
        let index: Value = serde_json::from_str(&crawl.get("/api/v1/index").1).unwrap();
        (index["behind"] == 0 && index["documents"].as_u64()? >= pages).then_some(())
    };
    until("the index, made anew", documents, || crawl.get("/api/v1/index").1);
    assert_eq!(crawl.ctl(&["stop"]).0, 0);
    let log = crawl.end();
    assert_eq!(log.matches("admin endpoint listens").count(), 2, "{log}");
    is_whole(&sandbox, &before);
}

#[test]
fn killed_anywhere_between_the_order_and_its_end_each_start_goes_on_with_it() {
    let (site, mut sandbox) = begun("");
    let crawl = Running::of(sandbox.start(&[], Some("erase.ordered=kill@1")));
    until_under_way(&site, &crawl);
    let order = format!(
        "POST /api/v1/hosts/{HOST}/block?purge=own HTTP/1.1\r\nHost: {}\r\nContent-Length: 0\r\n\r\n",
        crawl.at
    );
    crawl.ask(&order);
    let mut killed = crawl.daemon;
    assert_eq!(killed.wait().code(), None, "{}", killed.log());
    let (mut before, mut of_host) = (Captures::new(), 0);
    let kills = [
        "node.drain",
        "node.closed",
        "erase.noted",
        "erase.batch",
        "erase.carried",
        "erase.noted_bytes",
        "erase.member",
        "erase.overwritten",
        "erase.indexed",
        "erase.lines",
        "erase.contents",
        "erase.keys",
        "storage.rewrite",
        "erase.rewritten",
        "erase.beside",
        "erase.certified",
    ];
    for kill in kills {
        let mut life = sandbox.start(&[], Some(&format!("{kill}=kill@1")));
        assert_eq!(life.wait().code(), None, "{kill}: {}", life.log());
        if kill == "erase.noted" {
            (before, of_host) = (captures(&sandbox), asked_of(&site, HOST));
        }
    }
    let log = sandbox.finish();
    assert!(log.contains("a host is erased"), "{log}");
    assert_eq!(asked_of(&site, HOST), of_host, "nothing is asked of it any more");
    is_whole(&sandbox, &before);
}

#[test]
fn of_orders_at_once_one_is_taken_and_the_others_leave_their_hosts_as_they_were() {
    let (site, mut sandbox) = begun("");
    let crawl = Running::of(sandbox.start(&[], None));
    until_under_way(&site, &crawl);
    let hosts = [HOST, "h1.test", "h2.test"];
    let order = |host: &&'static str| {
        let (at, host) = (crawl.at, *host);
        std::thread::spawn(move || (host, post_to(at, &format!("/api/v1/hosts/{host}/block?purge=own"))))
    };
    let orders: Vec<_> = hosts.iter().map(order).collect();
    let answers: Vec<_> = orders.into_iter().map(|order| order.join().unwrap()).collect();
    let taken: Vec<&str> = answers.iter().filter(|(_, code)| *code == 202).map(|(host, _)| *host).collect();
    assert_eq!(taken.len(), 1, "{answers:?}");
    let erased = || {
        std::thread::sleep(Duration::from_millis(20));
        crawl.get(&format!("/api/v1/erasures?host={}", taken[0])).1.contains("\"erased\":true").then_some(())
    };
    until("the erasure", erased, || crawl.daemon.log());
    for host in hosts {
        let erased = crawl.get(&format!("/api/v1/erasures?host={host}")).1.contains("\"erased\":true");
        let blocked = crawl.ctl(&["host", host]).1.contains("blocked by the operator");
        assert_eq!((erased, blocked), (taken == [host], taken == [host]), "{host} {answers:?}");
    }
    assert_eq!(crawl.ctl(&["stop"]).0, 0);
    crawl.end();
}

#[test]
fn an_erasure_waits_for_the_archive_that_its_captures_are_in() {
    let (site, mut sandbox) = begun("");
    let crawl = Running::of(sandbox.start(&[], Some("erase.noted=kill@1")));
    until_under_way(&site, &crawl);
    purge(&crawl);
    let mut killed = crawl.daemon;
    assert_eq!(killed.wait().code(), None, "{}", killed.log());
    let (warc, away) = (sandbox.data().join("warc"), sandbox.data().join("away"));
    for empty in [false, true] {
        fs::rename(&warc, &away).unwrap();
        if empty {
            fs::create_dir(&warc).unwrap();
        }
        let mut refused = sandbox.start(&[], None);
        assert_eq!(refused.wait().code(), Some(2), "{}", refused.log());
        assert!(refused.log().contains(".lycosa-owner is missing"), "{}", refused.log());
        assert!(sandbox.data().join("ERASING").exists() && !warc.join(".lycosa-owner").exists());
        if warc.exists() {
            fs::remove_dir_all(&warc).unwrap();
        }
        fs::rename(&away, &warc).unwrap();
    }
    assert!(sandbox.finish().contains("a host is erased"));
}

#[test]
fn a_stop_ends_an_erasure_early_and_the_next_start_goes_on() {
    let (site, mut sandbox) = begun("");
    let crawl = Running::of(sandbox.start(&[], Some("erase.noted=delay:5s@1")));
    until_under_way(&site, &crawl);
    purge(&crawl);
    until_erasing(&crawl);
    let before = captures(&sandbox);
    assert_eq!(crawl.ctl(&["stop"]), (0, "stop: done\n".into()));
    let log = crawl.end();
    assert!(log.contains("stopped while a host was being erased; the next start goes on with that"), "{log}");
    let noted = || fs::metadata(sandbox.data().join("ERASING")).is_ok();
    assert!(noted());
    for signal in [Signal::SIGTERM, Signal::SIGINT] {
        let mut life = sandbox.start(&["--until-done"], Some("erase.carried=delay:5s@1;erase.contents=delay:5s@1"));
        until("the erasure", || life.log().contains("erasing: step=2").then_some(()), || life.log());
        life.signal(signal);
        assert_eq!(life.wait().code(), Some(11), "{}", life.log());
        assert!(!life.log().contains("admin endpoint listens"), "{}", life.log());
    }
    sandbox.finish();
    is_whole(&sandbox, &before);
}

#[test]
fn an_erasure_that_fails_ends_the_run_and_calls_the_operator() {
    let hooks = Site::http(|_, _| page(200, "text/plain", "", ""));
    let hook = format!("\n[[webhook]]\nurl = \"http://{}/hook\"\non = [\"finished\"]", hooks.address);
    let (site, mut sandbox) = begun(&hook);
    let crawl = Running::of(sandbox.start(&[], Some("erase.indexed=error@1")));
    until_under_way(&site, &crawl);
    purge(&crawl);
    let mut life = crawl.daemon;
    assert_eq!(life.wait().code(), Some(1), "{}", life.log());
    assert!(life.log().contains("lycosa: fault injected at erase.indexed"), "{}", life.log());
    assert_eq!(hooks.asked().iter().filter(|asked| asked.ends_with(" /hook")).count(), 1, "{:?}", hooks.asked());
    sandbox.finish();
    is_whole(&sandbox, &Captures::new());
}
