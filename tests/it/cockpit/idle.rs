//! Why nothing is happening: each kind of blocker is named.

use std::sync::Mutex;
use std::sync::atomic::Ordering;
use std::sync::mpsc::channel;

use lycosa::base::disk::DiskFault;
use lycosa::base::disk::policy::Lack;
use lycosa::base::disk::state::Shortage;
use lycosa::base::time::UnixMillis;

use super::*;

/// The codes told, with the whole answer; the status tells the same line.
fn codes(desk: &Desk) -> (Vec<String>, Value) {
    let why = desk.get("/api/v1/why-idle");
    let codes: Vec<String> =
        why["findings"].as_array().unwrap().iter().map(|f| f["code"].as_str().unwrap().to_owned()).collect();
    assert_eq!(why["idle"], codes[0] != "not_idle", "{why:#}");
    (codes, why)
}

/// A name server that answers SERVFAIL for ever; the thread ends with the process of the tests.
fn no_name_server() -> std::net::SocketAddr {
    let socket = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
    let at = socket.local_addr().unwrap();
    std::thread::spawn(move || {
        let mut packet = [0; 512];
        while let Ok((length, from)) = socket.recv_from(&mut packet) {
            packet[2] |= 0x80; // an answer
            packet[3] = packet[3] & 0xf0 | 2; // SERVFAIL
            let _ = socket.send_to(&packet[..length], from);
        }
    });
    at
}

/// Waits until the code is told; gives its finding.
fn until_told(live: &Live<'_>, desk: &Desk, code: &str) -> Value {
    let found = std::cell::RefCell::new(Value::Null);
    live.until(code, |_| {
        let why = desk.get("/api/v1/why-idle");
        let finding = why["findings"].as_array().unwrap().iter().find(|f| f["code"] == code).cloned();
        *found.borrow_mut() = finding.clone().unwrap_or(why);
        finding.is_some()
    });
    found.into_inner()
}

fn on(site: &Site, doing: impl FnOnce(&Live<'_>, &Desk), more: &[&str]) {
    let sandbox = more.iter().fold(in_front_of(site), |sandbox, set| sandbox.set(set));
    let live = sandbox.start_bare();
    let desk = Desk::of(&live);
    doing(&live, &desk);
    drop(desk);
    live.close();
}

fn plain() -> Site {
    Site::http(|_, path| if path == "/robots.txt" { none() } else { html("x") })
}

#[test]
fn holds_of_the_whole_crawl_are_named() {
    on(
        &plain(),
        |live, desk| {
            let node = &live.node;
            let (first, why) = codes(desk);
            assert_eq!(first, ["frontier_empty"], "{why:#}");
            assert!(why["answer"].as_str().unwrap().contains("lycosa ctl seeds add URL"), "{why:#}");
            live.control().pause().unwrap();
            assert_eq!(codes(desk).0, ["paused"]);
            node.disk.set_low(Shortage { path: "/data".into(), lack: Lack::Bytes { free: 5, needed: 6 } });
            let (low, why) = codes(desk);
            assert!(
                low == ["disk_low"] && why["answer"].as_str().unwrap().contains("/data is low on space"),
                "{why:#}"
            );
            node.disk.has_room();
            node.disk.spill_failed(DiskFault::Io, "EIO", UnixMillis(1));
            assert_eq!(codes(desk).0, ["disk_fault"]);
            node.disk.spill_works();
            node.crawl.switches.draining.store(true, Ordering::Release);
            assert_eq!(codes(desk).0, ["draining"]);
            node.crawl.switches.draining.store(false, Ordering::Release);
            let turn = node.checkpoints.clone().try_acquire_owned().unwrap();
            assert_eq!(codes(desk).0, ["paused", "checkpoint"]);
            drop(turn);
            live.control().resume().unwrap();
            assert_eq!(codes(desk).0, ["frontier_empty"]);
        },
        &[],
    );
}

#[test]
fn a_page_that_the_parser_has_for_long_is_told_first() {
    on(
        &plain(),
        |live, desk| {
            let node = &live.node;
            let thread = node.actors.pulses.worker("parser");
            let of = |ago: u64| UnixMillis(node.clock.now().0.saturating_sub(ago));
            let just_now = thread.work(of(0));
            assert_eq!(codes(desk).0, ["frontier_empty"]);
            drop(just_now);
            let for_long = thread.work(of(120_000));
            let (told, why) = codes(desk);
            assert_eq!(told, ["parser_slow", "frontier_empty"]);
            assert!(why["answer"].as_str().unwrap().contains("the parser has worked on one page for 2"), "{why:#}");
            drop(for_long);
            assert_eq!(codes(desk).0, ["frontier_empty"]);
        },
        &[],
    );
}

#[test]
fn permits_that_are_all_taken_and_short_memory_are_named() {
    on(
        &plain(),
        |live, desk| {
            let node = &live.node;
            let all = u32::try_from(node.permits.pages_total).unwrap();
            let taken = node.permits.pages.clone().try_acquire_many_owned(all).unwrap();
            live.seed(&["http://a.test/"]);
            let (taken_all, why) = codes(desk);
            assert!(["permits_taken", "store_slow", "parser_slow"].contains(&taken_all[0].as_str()), "{why:#}");
            node.permits.withheld.store(1, Ordering::Release);
            assert_eq!(codes(desk).0, ["memory_short"]);
            node.permits.withheld.store(0, Ordering::Release);
            drop(taken);
            live.until("the page", |s| s.done == 1);
        },
        &[],
    );
}

#[test]
fn a_request_in_flight_is_not_idle() {
    let (open, gate) = channel();
    let gate = Mutex::new(gate);
    let site = Site::http(move |_, path| match path {
        "/robots.txt" => none(),
        _ => {
            let _ = gate.lock().unwrap().recv();
            html("x")
        }
    });
    on(
        &site,
        |live, desk| {
            live.seed(&["http://a.test/"]);
            live.until("the page to be asked for", |_| site.asked().contains(&"a.test /".to_owned()));
            let finding = until_told(live, desk, "not_idle");
            assert!(finding["sentence"].as_str().unwrap().contains("1 request is in flight"), "{finding:#}");
            assert_eq!(codes(desk).1["answer"], "");
            open.send(()).unwrap();
            live.until("the page", |s| s.done == 1);
        },
        &[],
    );
}

#[test]
fn hosts_that_wait_are_told_with_the_reason_and_the_time() {
    let hour = "politeness.min_delay=1h";
    let seeds = ["http://a.test/1", "http://a.test/2"];
    let parked = |live: &Live<'_>| live.until("the host to be parked", |s| s.hosts_parked == 1 && s.in_flight == 0);
    on(
        &plain(),
        |live, desk| {
            live.seed(&seeds);
            parked(live);
            let finding = until_told(live, desk, "hosts_waiting");
            assert_eq!(finding["sentence"], "1 host between two requests");
            assert!(finding["until_ms"].as_u64().unwrap() > live.node.clock.now().0 + 3_000_000, "{finding:#}");
            let answer = codes(desk).1["answer"].as_str().unwrap().to_owned();
            assert_eq!(answer, "1 host between two requests");
        },
        &[hour],
    );
    let busy = Site::http(|_, path| match path {
        "/robots.txt" => none(),
        _ => page(429, "text/plain", "Retry-After: 3000\r\n", "slow down"),
    });
    on(
        &busy,
        |live, desk| {
            live.seed(&seeds);
            parked(live);
            let finding = until_told(live, desk, "hosts_backing_off");
            assert_eq!(finding["sentence"], "1 host parked (back-off or Retry-After)");
        },
        &["fetch.retry_delays=[\"1h\"]"],
    );
    let refuses = Site::http(|_, path| match path {
        "/robots.txt" => none(),
        _ => page(403, "text/plain", "", "no"),
    });
    on(
        &refuses,
        |live, desk| {
            live.seed(&seeds);
            parked(live);
            let finding = until_told(live, desk, "hosts_backing_off");
            assert_eq!(finding["sentence"], "1 host left alone after many refusals in a row (fetch.waf_brake)");
            let answer = codes(desk).1["answer"].as_str().unwrap().to_owned();
            assert!(!answer.contains("last trouble"), "it is of a page that waits no more: {answer}");
        },
        &["fetch.waf_brake=1"],
    );
    let closed = Site::http(|_, _| page(500, "text/plain", "", "down"));
    on(
        &closed,
        |live, desk| {
            live.seed(&seeds);
            parked(live);
            let finding = until_told(live, desk, "robots_unreachable");
            assert_eq!(finding["sentence"], "robots.txt of 1 host cannot be reached");
            assert!(finding["until_ms"].as_u64().unwrap() > live.node.clock.now().0 + 3_000_000, "{finding:#}");
        },
        &["robots.error_retry=[\"1h\"]"],
    );
}

#[test]
fn failing_names_retries_and_a_reached_limit_are_named() {
    on(
        &plain(),
        |live, desk| {
            live.seed(&["http://name.example/"]);
            let finding = until_told(live, desk, "dns_failing");
            assert!(finding["sentence"].as_str().unwrap().contains("http://name.example/"), "{finding:#}");
        },
        &[&format!("dns.servers=[\"{}\"]", no_name_server()), "fetch.retry_delays=[\"1h\"]"],
    );
    let busy = Site::http(|_, path| if path == "/robots.txt" { none() } else { page(503, "text/plain", "", "busy") });
    on(
        &busy,
        |live, desk| {
            live.seed(&["http://a.test/"]);
            let finding = until_told(live, desk, "retries_waiting");
            assert_eq!(finding["sentence"], "1 URL waits for its next try");
        },
        &["fetch.retry_delays=[\"1h\"]"],
    );
    on(
        &plain(),
        |live, desk| {
            live.seed(&["http://a.test/1", "http://b.test/1"]);
            live.until("one page", |s| s.done == 1 && s.processing == 0);
            let finding = until_told(live, desk, "limit_reached");
            assert!(finding["advice"].as_str().unwrap().contains("crawl.max_pages"), "{finding:#}");
        },
        &["crawl.max_pages=1"],
    );
}
