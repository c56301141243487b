//! The server: audit, control paths, connections.

use std::io::{Read, Write};
use std::net::TcpStream;

use super::client::{Response, ask, exchange, get, parse};
use crate::testweb::{AuditEntry, TestWeb, TestWebConfig, TestWebError, TruthQuery};

fn plain() -> TestWeb {
    TestWeb::start(TestWebConfig { hosts: 3, pages: 20, ..TestWebConfig::default() }).unwrap()
}

#[test]
fn the_audit_tells_who_asked_what_when() {
    let web = plain();
    get(web.addr(), "H1.test:80", "/p/3");
    ask(web.addr(), "GET", "h2.test", "/nowhere?x", "");
    let audit = web.audit();
    let told: Vec<_> = audit.iter().map(|entry| (entry.url(), entry.status, entry.user_agent.as_str())).collect();
    assert_eq!(
        told,
        [("http://h1.test/p/3".to_owned(), 200, "naive/1"), ("http://h2.test/nowhere?x".to_owned(), 404, "naive/1")]
    );
    assert!(audit.iter().all(|entry| entry.complete && entry.t_end_us >= entry.t_request_us && entry.bytes > 100));
    assert!(audit[1].t_request_us >= audit[0].t_end_us);
    assert_eq!([audit[0].connection, audit[1].connection], [0, 1]);
}

#[test]
fn the_audit_is_served_as_json_lines_from_an_offset_and_cleared() {
    let web = plain();
    for path in ["/", "/p/1", "/p/2"] {
        get(web.addr(), "h0.test", path);
    }
    let served = get(web.addr(), "anything", "/_audit?since=1");
    let entries: Vec<AuditEntry> = served.text().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(entries, web.audit()[1..]);
    assert_eq!(served.header("x-audit-next"), Some("3"));
    assert_eq!(ask(web.addr(), "POST", "h0.test", "/_audit/clear", "Content-Length: 0\r\n").status, 200);
    assert!(web.audit().is_empty());
}

#[test]
fn the_truth_is_served_sorted_one_a_line() {
    let web = plain();
    let served = get(web.addr(), "h0.test", "/_truth?depth=1&scope=any").text();
    let query = TruthQuery { depth: Some(1), scope: "any".parse().unwrap(), ..TruthQuery::default() };
    let expected: String = web.truth(query).into_iter().map(|url| url + "\n").collect();
    assert_eq!(served, expected);
    assert_eq!(get(web.addr(), "h0.test", "/_truth?depth=one").status, 400);
}

#[test]
fn an_unknown_host_is_told_the_known_ones() {
    let web = plain();
    for host in ["127.0.0.1:8500", "h3.test", "www.example.org", "h01.test", "[::1]:80", ""] {
        let response = get(web.addr(), host, "/");
        assert_eq!(response.status, 404, "{host}");
        assert!(response.text().contains("h0.test to h2.test"), "{host}");
    }
}

#[test]
fn a_connection_serves_request_after_request_even_pipelined() {
    let web = plain();
    let one = "GET /p/1 HTTP/1.1\r\nHost: h0.test\r\n\r\n";
    let last = "GET /p/2 HTTP/1.1\r\nHost: h0.test\r\nConnection: close\r\n\r\n";
    let bytes = exchange(web.addr(), format!("{one}{one}{last}").as_bytes());
    assert_eq!(bytes.windows(15).filter(|window| window == b"HTTP/1.1 200 OK").count(), 3);
    assert!(web.audit().iter().all(|entry| entry.connection == 0));
}

#[test]
fn without_keep_alive_each_answer_closes() {
    let web = TestWeb::start(TestWebConfig { keep_alive: false, ..TestWebConfig::default() }).unwrap();
    let response = parse(&exchange(web.addr(), b"GET / HTTP/1.1\r\nHost: h0.test\r\n\r\n"));
    assert_eq!((response.status, response.header("connection")), (200, Some("close")));
}

#[test]
fn http_1_0_gets_no_chunks_and_a_closed_connection() {
    let web = TestWeb::start(TestWebConfig { chunked: 1.0, ..TestWebConfig::default() }).unwrap();
    let response = parse(&exchange(web.addr(), b"GET / HTTP/1.0\r\nHost: h0.test\r\n\r\n"));
    assert_eq!((response.header("transfer-encoding"), response.header("connection")), (None, Some("close")));
    assert!(response.text().ends_with("</html>\n"));
}

#[test]
fn a_head_request_gets_the_head_alone() {
    let web = plain();
    let (head, whole) = (ask(web.addr(), "HEAD", "h0.test", "/p/1", ""), ask(web.addr(), "GET", "h0.test", "/p/1", ""));
    assert!(head.raw.is_empty());
    assert_eq!(head.headers, whole.headers);
}

#[test]
fn an_answer_nobody_waits_for_is_noted_as_incomplete() {
    let config = TestWebConfig { large: 1.0, large_size: 32 << 20, ..TestWebConfig::default() };
    let web = TestWeb::start(config).unwrap();
    let mut stream = TcpStream::connect(web.addr()).unwrap();
    stream.write_all(b"GET /p/1 HTTP/1.1\r\nHost: h0.test\r\n\r\n").unwrap();
    stream.read_exact(&mut [0; 1_000]).unwrap();
    drop(stream);
    while web.audit_len() == 0 {
        std::thread::yield_now();
    }
    let audit = web.audit();
    assert!(!audit[0].complete && audit[0].bytes < 32 << 20);
}

#[test]
fn garbage_is_answered_400_and_other_methods_405() {
    let web = plain();
    assert_eq!(parse(&exchange(web.addr(), b"\x16\x03\x01\x02\x00\r\n\r\n")).status, 400);
    assert_eq!(ask(web.addr(), "DELETE", "h0.test", "/", "").status, 405);
    assert_eq!(ask(web.addr(), "POST", "h0.test", "/p/1", "Content-Length: 0\r\n").status, 405);
}

#[test]
fn an_address_in_use_is_a_clear_error() {
    let web = plain();
    let again = TestWeb::start(TestWebConfig { listen: web.addr(), ..TestWebConfig::default() });
    let Err(error @ TestWebError::Listen { .. }) = again else { panic!("two servers on one address") };
    assert!(error.to_string().contains(&web.addr().to_string()));
}

#[test]
fn a_stopped_web_answers_no_more() {
    let web = plain();
    let addr = web.addr();
    assert_eq!(get(addr, "h0.test", "/").status, 200);
    web.stop();
    let refused = TcpStream::connect(addr);
    assert!(refused.is_err(), "{refused:?}");
}

#[test]
fn several_threads_serve_one_web() {
    let web = TestWeb::start(TestWebConfig { threads: 3, ..TestWebConfig::default() }).unwrap();
    let bodies: Vec<Response> = (0..12).map(|_| get(web.addr(), "h0.test", "/p/5")).collect();
    assert!(bodies.iter().all(|response| response.body == bodies[0].body));
    assert_eq!(web.audit_len(), 12);
}
