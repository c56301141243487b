//! Connections that break in the middle of answers: pages are fetched again, the better copy is kept, and nothing is lost.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::net::TcpStream;
use std::sync::{Arc, Mutex};

use lycosa::domain::cut::Cut;
use lycosa::storage::values::{PageRecord, UrlState};
use lycosa::testweb::TestWebConfig;
use serde_json::Value;

use super::server::{Server, answer, reset, send};
use crate::support::{Ended, Sandbox};

const PAGES: usize = 150;

/// What becomes of one try at a page.
#[derive(Clone, Copy, PartialEq)]
enum Try {
    Whole,
    /// Reset before a byte.
    Reset,
    /// Only the head.
    Head,
    /// The head and so many percent of the body; then reset, or closed.
    Part(usize, bool),
    /// An error of the server.
    Error,
}

/// Plays `of`, by host and path and the number of the try.
fn server(
    body: impl Fn(&str) -> Vec<u8> + Send + Sync + 'static,
    of: impl Fn(&str, usize) -> Try + Send + Sync + 'static,
) -> Server {
    let tries: Arc<Mutex<HashMap<String, usize>>> = Arc::default();
    let of = Arc::new(of);
    let body = Arc::new(body);
    Server::start(move |host| {
        let (tries, of, body, host) = (tries.clone(), of.clone(), body.clone(), host.to_owned());
        Some(Arc::new(move |stream: &mut TcpStream, path: &str| {
            let count = {
                let mut tries = tries.lock().unwrap();
                let count = tries.entry(format!("{host}{path}")).or_default();
                *count += 1;
                *count - 1
            };
            let (body, chunked) = (body(path), path.len().is_multiple_of(2));
            let (head, body) = match chunked {
                true => {
                    let head =
                        b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nTransfer-Encoding: chunked\r\n\r\n".to_vec();
                    (head, [format!("{:x}\r\n", body.len()).as_bytes(), &body, b"\r\n0\r\n\r\n"].concat())
                }
                false => (answer("200 OK", "text/html", &body)[..].to_vec(), body),
            };
            let head = if chunked { head } else { head[..head.len() - body.len()].to_vec() };
            match of(&format!("{host}{path}"), count) {
                Try::Whole => {
                    send(stream, &[head, body].concat());
                }
                Try::Reset => reset(stream),
                Try::Head => {
                    send(stream, &head);
                }
                Try::Part(percent, hard) => {
                    send(stream, &[&head, &body[..body.len() * percent / 100]].concat());
                    if hard {
                        std::thread::sleep(std::time::Duration::from_millis(50)); // so that what was sent is read first
                        reset(stream);
                    }
                }
                Try::Error => {
                    send(stream, &answer("500 Internal Server Error", "text/plain", b"later"));
                }
            }
        }))
    })
}

/// A whole crawl; its folder is there as long as the sandbox.
fn crawl(server: &Server, hosts: &[&str]) -> (Sandbox, Ended) {
    let seeds: Vec<String> = hosts.iter().map(|host| format!("\"http://{host}.test/\"")).collect();
    let sandbox = Sandbox::new(TestWebConfig { hosts: 1, pages: 1, ..TestWebConfig::default() })
        .set(&format!("dns.overrides={{\"*.test\"=\"{}\"}}", server.address))
        .set(&format!("crawl.seeds=[{}]", seeds.join(",")))
        .set("fetch.retries=3")
        .fetching_again()
        .set("fetch.retry_delays=[\"20ms\"]");
    let ended = sandbox.crawl();
    (sandbox, ended)
}

/// The captures of each path, the latest last, and the state of its URL.
fn captures(ended: &Ended) -> BTreeMap<String, Vec<PageRecord>> {
    let mut of: BTreeMap<String, Vec<PageRecord>> = BTreeMap::new();
    for page in ended.found.pages.values() {
        of.entry(page.url.clone()).or_default().push(page.clone());
    }
    of.values_mut().for_each(|captures| captures.sort_by_key(|page| page.fetched));
    of
}

/// A number that depends on a text and looks like chance.
fn chance(text: &str) -> usize {
    text.bytes().fold(7_usize, |n, b| (n.wrapping_mul(31) ^ usize::from(b)).wrapping_mul(0x9e37_79b9) >> 3)
}

#[test]
fn no_page_is_lost_and_none_done_with_a_half_when_connections_break_at_random() {
    let body = |path: &str| {
        let n: usize = path[1..].parse().unwrap_or(0);
        let link = |n: usize| if n < PAGES { format!("<a href=/{n}>x</a>") } else { String::new() };
        let words = format!("<p>page {n} has {} words of its own</p>", n * 7).repeat(20);
        format!("<title>{n}</title>{}{words}{}", link(2 * n + 1), link(2 * n + 2)).into_bytes()
    };
    let server = server(body, |path, count| {
        if path == "a.test/" || count == 3 {
            return Try::Whole;
        }
        match chance(&format!("{path} {count}")) % 12 {
            0 => Try::Reset,
            1 => Try::Head,
            2 => Try::Part(50, true),
            3 => Try::Part(80, false),
            _ => Try::Whole,
        }
    });
    let (_sandbox, ended) = crawl(&server, &["a"]);
    let pages = captures(&ended);
    let wanted: BTreeSet<String> =
        (1..PAGES).map(|n| format!("http://a.test/{n}")).chain(["http://a.test/".into()]).collect();
    assert_eq!(pages.keys().cloned().collect::<BTreeSet<_>>(), wanted, "{}", ended.report());
    let halves = pages.values().filter(|captures| captures.len() > 1).count();
    assert!(halves > 5, "the test has none to show: {halves}");
    for (url, captures) in &pages {
        assert_eq!(captures.last().unwrap().cut, None, "{url}\n{}", ended.report());
    }
    for line in ended.lines().values() {
        assert!(line["notes"].as_array().is_none_or(Vec::is_empty) && line["status"] == 200, "{line}");
    }
    assert_eq!(ended.status.done, PAGES as u64);
}

#[test]
fn the_better_half_is_kept_when_nothing_better_comes_and_an_empty_one_is_an_error() {
    const HOSTS: [&str; 6] = ["worse", "better", "gone", "none", "error", "whole"];
    let server = server(page_with_an_early_link, |place, count| match (place, count) {
        ("worse.test/", 0) => Try::Part(70, false),
        ("worse.test/", _) => Try::Part(20, false),
        ("better.test/", count) => Try::Part(20 + 20 * count, true),
        ("gone.test/", 0) => Try::Part(50, true),
        ("gone.test/", _) => Try::Reset,
        ("none.test/", _) => Try::Head,
        ("error.test/", 0) => Try::Part(50, false),
        ("error.test/", _) => Try::Error,
        ("whole.test/", 0) => Try::Part(50, false),
        _ => Try::Whole,
    });
    let (_sandbox, ended) = crawl(&server, &HOSTS);
    let pages = captures(&ended);
    let of = |host: &str| pages.get(&format!("http://{host}.test/")).cloned().unwrap_or_default();
    let cuts = |host: &str| of(host).iter().map(|page| page.cut).collect::<Vec<_>>();
    let (half, all) = (Some(Cut::Disconnect), page_with_an_early_link("/").len() as u64);
    assert_eq!(cuts("worse"), [half], "the shorter half of a later try does not take its place");
    assert!(of("worse")[0].bytes > all / 2, "{all}");
    assert_eq!(cuts("better"), [half; 4], "each is longer than the one before");
    assert!(of("better").is_sorted_by_key(|page| page.bytes));
    assert_eq!(cuts("gone"), [half], "a half is better than nothing");
    assert_eq!(cuts("error"), [half], "and better than an error");
    assert_eq!(cuts("whole"), [half, None]);
    assert!(of("none").is_empty());
    let text = ended.file("crawl.jsonl");
    let lines: BTreeMap<String, Value> = text
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap())
        .map(|line| (line["url"].as_str().unwrap().to_owned(), line))
        .collect();
    for host in HOSTS.into_iter().filter(|host| *host != "none") {
        let (url, pages_of) = (format!("http://{host}.test/"), of(host));
        let (line, latest) = (&lines[&url], pages_of.last().unwrap());
        assert_eq!((&line["status"], &line["reason"]), (&200.into(), &Value::Null), "{line}");
        assert_eq!(line["offset"].as_u64(), latest.warc.as_ref().map(|place| place.offset), "{line}");
        assert!(pages.contains_key(&format!("{url}found")), "links of a half are read: {host}");
        let state = ended.found.state_of(&url);
        assert!(
            matches!(state, Some(UrlState::Done { captured, .. }) if captured == latest.fetched),
            "{host} {state:?}"
        );
    }
    assert_eq!(lines["http://none.test/"]["reason"], "body_cut");
}

fn page_with_an_early_link(path: &str) -> Vec<u8> {
    format!("<title>{path}</title><a href=/found>x</a>{}", "<p>words and words</p>".repeat(40)).into_bytes()
}
