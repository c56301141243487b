//! What goes into the archive, and in which form: `store.statuses`, `store.http_body`, `store.block_digest`.

use std::collections::BTreeMap;

use crate::cockpit::in_front_of;
use crate::site::{Site, html, page};
use crate::support::{Ended, Sandbox};
use lycosa::warc::digest::WarcDigest;

fn has(archive: &str, path: &str) -> bool {
    archive.contains(&format!("WARC-Target-URI: http://a.test{path}\r\n"))
}

#[test]
fn answers_of_other_statuses_are_handled_and_left_out_of_the_archive() {
    let site = Site::http(|_, path| match path {
        "/" => html("<a href=/moved>m</a><a href=/gone>g</a><a href=/broken>b</a><a href=/teapot>t</a>"),
        "/moved" => page(302, "text/html", "Location: /to\r\n", "moved"),
        "/to" => html("<p>here"),
        "/broken" => page(500, "text/html", "", "<a href=/never>n</a>"),
        "/teapot" => page(418, "text/plain", "", "short and stout"),
        _ => crate::site::none(),
    });
    let sandbox = in_front_of(&site)
        .set("crawl.seeds=[\"http://a.test/\"]")
        .set("crawl.until_done=true")
        .set("fetch.retries=0")
        .set("store.statuses=2xx,418");
    let ended = sandbox.crawl(); // which is checked as every crawl is
    let (lines, archive) = (ended.lines(), ended.archive());
    for (path, status, reason) in
        [("/moved", 302, "unstored"), ("/gone", 404, "status_4xx"), ("/broken", 500, "status_5xx")]
    {
        let line = &lines[path];
        assert_eq!((&line["status"], &line["reason"]), (&status.into(), &reason.into()), "{line}");
        assert!(line.get("warc").is_none() && line["digest"].is_string(), "{line}");
        assert!(!has(&archive, path), "{path}");
    }
    assert_eq!(lines["/moved"]["target"], "http://a.test/to");
    assert_eq!(lines["/teapot"]["reason"], "status_4xx");
    for path in ["/", "/to", "/teapot"] {
        assert!(lines[path]["warc"].is_string() && has(&archive, path), "{}", lines[path]);
    }
    assert!(!has(&archive, "/robots.txt"), "it is not there: 404");
    for record in archive.split("WARC/1.1\r\n").skip(1) {
        let is_response = record.starts_with("WARC-Type: response");
        assert_eq!(record.contains("\r\nWARC-Block-Digest: "), !is_response, "store.block_digest is off: {record}");
    }
    assert_eq!(lines.len(), 6, "{lines:?}");
}

/// An answer in two chunks and a trailer.
fn chunked(status: u16, body: &str) -> String {
    let (one, two) = body.split_at(body.len() / 2);
    format!(
        "HTTP/1.1 {status} X\r\nContent-Type: text/html\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n\
         {:X}\r\n{one}\r\n{:x}\r\n{two}\r\n0\r\n\r\n",
        one.len(),
        two.len()
    )
}

const START: &str =
    "<a href=/same/1>1</a><a href=/same/2>2</a><a href=/none>n</a><a href=/cut>c</a><a href=/plain>p</a>";
const SAME: &str = "<title>t</title><p>the same words twice";
const CUT: &str = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n\
     ff\r\n<p>it breaks off";

fn site() -> Site {
    Site::http(|_, path| match path {
        "/robots.txt" => chunked(200, "User-agent: *\nAllow: /\n"),
        "/" => chunked(200, START),
        "/none" => chunked(404, "<p>not here"),
        "/cut" => CUT.to_owned(),
        "/plain" => html("<p>plain"),
        _ => chunked(200, SAME),
    })
}

/// A crawl with `store.http_body = "exact"`, and what the archive must hold: URL, status, decoded body; none of a revisit.
pub fn exact_crawl() -> (Sandbox, Ended, BTreeMap<String, (u16, String)>) {
    let site = site();
    let sandbox = in_front_of(&site)
        .set("crawl.seeds=[\"http://a.test/\"]")
        .set("crawl.until_done=true")
        .set("fetch.retries=0")
        .set("store.http_body=exact")
        .set("store.block_digest=true");
    let ended = sandbox.crawl();
    let expected = [
        ("/robots.txt", 200, "User-agent: *\nAllow: /\n"),
        ("/", 200, START),
        ("/same/1", 200, SAME),
        ("/same/2", 200, SAME),
        ("/none", 404, "<p>not here"),
        ("/cut", 200, "<p>it breaks off"),
        ("/plain", 200, "<p>plain"),
    ];
    let expected = expected.map(|(path, status, body)| (format!("http://a.test{path}"), (status, body.to_owned())));
    (sandbox, ended, expected.into())
}

#[test]
fn exact_bodies_are_archived_byte_by_byte_and_known_content_is_a_revisit_all_the_same() {
    let (_sandbox, ended, _) = exact_crawl();
    let (lines, archive) = (ended.lines(), ended.archive());
    for answer in [chunked(200, START), chunked(200, SAME), chunked(404, "<p>not here"), html("<p>plain")] {
        assert_eq!(archive.matches(&format!("\r\n\r\n{answer}\r\n\r\n")).count(), 1, "{answer}\n{archive}");
    }
    let block = WarcDigest::of(chunked(200, START).as_bytes());
    assert!(archive.contains(&format!("\r\nWARC-Block-Digest: {block}\r\n")), "{archive}");
    let how = |path: &str| lines[path]["reason"].as_str().map(str::to_owned);
    let mut same = [how("/same/1"), how("/same/2")];
    same.sort();
    assert_eq!(same, [None, Some("revisit".into())]);
    assert_eq!(lines["/same/1"]["digest"], lines["/same/2"]["digest"]);
    let cut = "\r\nX-Crawl-Transfer-Encoding: chunked\r\nContent-Length: 16\r\n\r\n<p>it breaks off\r\n\r\n";
    assert!(archive.contains(cut) && archive.contains("\r\nWARC-Truncated: disconnect\r\n"), "{archive}");
    assert_eq!(lines["/"]["bytes"], START.len());
}
