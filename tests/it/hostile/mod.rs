//! Every fault of servers in one crawl: it goes on, each URL ends with its reason, and everything lent comes back.

mod cuts;
mod faults;
mod server;

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use lycosa::crawl::node::Stop;
use lycosa::storage::values::UrlState;
use lycosa::testweb::TestWebConfig;
use serde_json::Value;

use self::faults::{Fault, MAX_BODY, MAX_DECODED};
use self::server::{Play, Server, answer, send};
use crate::support::{Ended, Sandbox};

/// The bytes that a cell of `answers.tsv` means.
fn unescape(text: &str) -> Vec<u8> {
    let mut out = Vec::new();
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let escaped = match rest.as_bytes() {
            [b'\\', b'x', ..] => rest.get(2..4).map(|hex| (u8::from_str_radix(hex, 16).unwrap(), 4)),
            [b'\\', b'r', ..] => Some((b'\r', 2)),
            [b'\\', b'n', ..] => Some((b'\n', 2)),
            [b'\\', b't', ..] => Some((b'\t', 2)),
            [b'\\', b'0', ..] => Some((0, 2)),
            _ => None,
        };
        let used = escaped.map_or(c.len_utf8(), |(_, used)| used);
        match escaped {
            Some((byte, _)) => out.push(byte),
            None => out.extend_from_slice(&rest.as_bytes()[..used]),
        }
        rest = &rest[used..];
    }
    out
}

/// What a crawl makes of a row of `answers.tsv`.
fn in_a_crawl(cell: &str) -> String {
    let words: Vec<&str> = cell.split(' ').collect();
    if let ["fail", reason] = words[..] {
        return format!("- {reason} -");
    }
    let (status, cut) = (words[0], words[1].replace("whole", "-"));
    let reason = match status.parse().unwrap() {
        200..=399 if words[1..] == ["disconnect", "\"\"", "chunk_fault"] => return "- body_cut -".into(),
        304 => return "- not_modified_unasked -".into(),
        200..=399 => "done",
        400..=499 => "status_4xx",
        500..=599 => "status_5xx",
        _ => "status_other",
    };
    format!("{status} {reason} {cut}")
}

/// The rows of the table that the client's own tests use, each at a host of its own.
fn rows() -> BTreeMap<String, (Play, String)> {
    let table = include_str!("../../data/http/answers.tsv");
    let rows = table.lines().filter(|line| !line.starts_with('#')).enumerate();
    rows.map(|(n, row)| {
        let cells: Vec<&str> = row.split('\t').collect();
        let bytes = unescape(cells[1]);
        let play: Play = Arc::new(move |stream, _| {
            send(stream, &bytes);
        });
        (format!("row{n}"), (play, in_a_crawl(cells[2])))
    })
    .collect()
}

/// What became of each host's first page.
fn outcomes(ended: &Ended, text: &str) -> HashMap<String, (String, Vec<String>)> {
    let captures: HashMap<&str, _> = ended.found.pages.values().map(|page| (page.url.as_str(), page)).collect();
    let lines = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    lines
        .map(|line| {
            let url = line["url"].as_str().unwrap().to_owned();
            let capture = captures.get(url.as_str());
            let status = capture.map_or("-".into(), |page| page.status.to_string());
            let reason = line["reason"].as_str().filter(|reason| *reason != "revisit").unwrap_or("done");
            let cut = capture.and_then(|page| page.cut).map_or("-", |cut| cut.as_str());
            let notes = capture.map(|p| p.remarks.notes.iter().map(|n| n.as_str().to_owned()).collect());
            (url, (format!("{status} {reason} {cut}"), notes.unwrap_or_default()))
        })
        .collect()
}

/// A whole crawl, and its `crawl.jsonl`.
fn crawl(server: &Server, hosts: impl Iterator<Item = String>) -> (Ended, String) {
    let seeds: Vec<String> = hosts.map(|host| format!("\"http://{host}.test/\"")).collect();
    let sandbox = Sandbox::new(TestWebConfig { hosts: 1, pages: 1, ..TestWebConfig::default() })
        .set(&format!("dns.overrides={{\"*.test\"=\"{}\"}}", server.address))
        .set(&format!("crawl.seeds=[{}]", seeds.join(",")))
        .set(&format!("fetch.max_body={MAX_BODY}"))
        .set(&format!("fetch.max_decoded={MAX_DECODED}"))
        .set("fetch.retries=1")
        .set("fetch.timeouts.first_byte=3s")
        .set("fetch.timeouts.min_rate=1000")
        .set("fetch.timeouts.min_rate_window=2s");
    let ended = sandbox.crawl();
    assert_eq!(ended.files_of("spill"), Vec::<String>::new(), "spill files are left");
    let lines = ended.file("crawl.jsonl");
    (ended, lines)
}

#[test]
fn every_fault_ends_with_its_reason_and_the_crawl_goes_on() {
    let faults: BTreeMap<String, Fault> = faults::all().into_iter().map(|fault| (fault.name.clone(), fault)).collect();
    let plays: HashMap<String, Play> = faults.iter().map(|(name, fault)| (name.clone(), fault.play.clone())).collect();
    let server = Server::start(move |host| plays.get(host.strip_suffix(".test")?).cloned());
    let (ended, lines) = crawl(&server, faults.keys().cloned());
    let outcomes = outcomes(&ended, &lines);
    let mut wrong = Vec::new();
    for (name, fault) in &faults {
        let (outcome, notes) = &outcomes[&format!("http://{name}.test/")];
        if outcome != fault.wanted || notes != fault.notes {
            wrong.push(format!("{name}: {outcome} {notes:?}, wanted {} {:?}", fault.wanted, fault.notes));
        }
    }
    assert!(wrong.is_empty(), "{}\n{}", wrong.join("\n"), ended.report());
    // Where they led: a chain ends at its limit, an address inside is not asked, a refresh is followed.
    let of = |url: &str| outcomes.get(url).map(|(outcome, _)| outcome.as_str());
    assert_eq!(of("http://chain.test/20"), Some("302 done -"));
    assert_eq!(of("http://refresh.test/next"), Some("200 done -"));
    assert_eq!(of("http://to-bytes.test/%C4%E3?%BA%C3"), Some("200 done -"));
    assert_eq!(of("http://no-location.test/choice"), Some("200 done -"), "browsers show such a page");
    assert!(of("http://chain.test/22").is_none() && ended.status.rejected_by_reason["redirects"] == 1);
    assert!(ended.status.rejected_by_reason.contains_key("address"), "{}", ended.report());
}

#[test]
fn every_answer_of_the_table_ends_in_a_crawl_as_the_table_says() {
    let rows = rows();
    assert!(rows.len() > 45);
    let plays: HashMap<String, Play> = rows.iter().map(|(name, (play, _))| (name.clone(), play.clone())).collect();
    let server = Server::start(move |host| plays.get(host.strip_suffix(".test")?).cloned());
    let (ended, lines) = crawl(&server, rows.keys().cloned());
    let outcomes = outcomes(&ended, &lines);
    let wrong: Vec<String> = rows
        .iter()
        .map(|(name, (_, wanted))| (name, &outcomes[&format!("http://{name}.test/")].0, wanted))
        .filter(|(_, outcome, wanted)| outcome != wanted)
        .map(|(name, outcome, wanted)| format!("{name}: {outcome}, wanted {wanted}"))
        .collect();
    assert!(wrong.is_empty(), "{}\n{}", wrong.join("\n"), ended.report());
}

#[test]
fn a_seed_without_a_scheme_is_asked_for_by_http_where_nobody_speaks_tls_and_the_guess_slows_nobody() {
    // It waits for the end of a head, also of what is none.
    let page: Play = Arc::new(|stream, _| {
        send(stream, &answer("200 OK", "text/html", b"<p>here"));
    });
    let server = Server::start(move |_| Some(page.clone()));
    let sandbox = Sandbox::new(TestWebConfig { hosts: 1, pages: 1, ..TestWebConfig::default() })
        .set(&format!("dns.overrides={{\"*.test\"=\"{}\"}}", server.address))
        .set("fetch.timeouts.tls=1s")
        .set("politeness.delay_factor=60")
        .set("politeness.max_delay=1h")
        .set("crawl.until_done_first_patience=20s");
    let live = sandbox.start_bare();
    live.seed(&["mute.test"]);
    assert_eq!(live.until_stop(), Stop::Done);
    let ended = live.end();
    let state = ended.found.state_of("http://mute.test/");
    assert!(matches!(state, Some(UrlState::Done { .. })), "{}", ended.report());
}
