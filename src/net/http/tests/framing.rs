//! What hostile and sloppy answers become.

use super::server::Server;
use super::*;
use crate::domain::cases::unescaped;
use crate::domain::cut::Cut;
use crate::net::head;
use crate::net::protocol::{Conditional, HttpVersion};

pub(super) fn outcome(result: &Result<Fetched, FetchFault>) -> String {
    match result {
        Ok(fetched) => {
            let cut = fetched.cut.map_or("whole", Cut::as_str);
            let notes: String = fetched.notes.iter().map(|note| format!(" {note}")).collect();
            format!("{} {cut} {:?}{notes}", fetched.status, bytes(fetched))
        }
        Err(fault) => format!("fail {}", fault.failure),
    }
}

fn expected(cell: &str) -> String {
    match cell.split_once('"').and_then(|(head, rest)| Some((head, rest.rsplit_once('"')?))) {
        Some((head, (body, notes))) => format!("{head}{:?}{notes}", unescaped(body)),
        None => cell.to_owned(),
    }
}

#[test]
fn every_answer_of_the_table_becomes_what_the_table_says() {
    let table = include_str!("../../../../tests/data/http/answers.tsv");
    let rows: Vec<_> =
        table.lines().filter(|l| !l.starts_with('#')).map(|l| l.split('\t').collect::<Vec<_>>()).collect();
    assert!(rows.len() > 60);
    let mut wrong = Vec::new();
    for row in rows {
        let [name, raw, want] = row[..] else { panic!("three cells: {row:?}") };
        let server = Server::raw(unescaped(raw));
        let result = on_runtime(client().fetch(request(server.address)));
        if outcome(&result) != expected(want) {
            wrong.push(format!("{name}: {} instead of {}, {result:?}", outcome(&result), expected(want)));
        }
        if let Ok(fetched) = result {
            assert!(unescaped(raw).windows(fetched.response_head.len()).any(|w| w == fetched.response_head), "{name}");
            assert_eq!(head::final_head(&fetched.response_head), Some(fetched.response_head.as_slice()), "{name}");
            assert!(fetched.wire_bytes as usize >= fetched.response_head.len());
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn the_request_is_sent_as_given_and_kept_to_the_byte() {
    let server = Server::raw("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
    let mut request = request(server.address);
    request.url = url("http://h0.test:8500/a/b?q=1");
    request.headers.push(("host".to_owned(), "evil.test".to_owned()));
    request.conditional =
        Some(Conditional { etag: Some("W/\"x\"".to_owned()), last_modified: Some("yesterday".to_owned()) });
    let fetched = on_runtime(client().fetch(request)).unwrap();
    let sent = String::from_utf8(server.requests.recv().unwrap()).unwrap();
    assert_eq!(
        sent,
        "GET /a/b?q=1 HTTP/1.1\r\nHost: h0.test:8500\r\nUser-Agent: Lycosa/test\r\nAccept: text/html, */*;q=0.1\r\n\
         Accept-Encoding: gzip\r\nIf-None-Match: W/\"x\"\r\nIf-Modified-Since: yesterday\r\n\r\n"
    );
    assert_eq!(String::from_utf8(fetched.request_head).unwrap(), sent);
    assert_eq!(fetched.peer, Some(server.address));
}

#[test]
fn the_head_is_kept_to_the_byte() {
    let raw = "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 Fine\r\nX-B: 1\r\nTRANSFER-encoding:  chunked\r\nx-b: 2\r\n\r\n\
        5\r\nhello\r\n0\r\n\r\n";
    let server = Server::raw(raw);
    let fetched = on_runtime(client().fetch(request(server.address))).unwrap();
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    assert_eq!(
        text(&fetched.response_head),
        "HTTP/1.1 200 Fine\r\nX-B: 1\r\nTRANSFER-encoding:  chunked\r\nx-b: 2\r\n\r\n"
    );
    assert_eq!(fetched.header("X-b").as_deref(), Some("1"));
    assert_eq!(fetched.header_list("x-B").as_deref(), Some("1, 2"));
    assert_eq!(fetched.version, HttpVersion::Http11);
    assert_eq!(fetched.wire_bytes, raw.len() as u64);
}

#[test]
fn of_many_headers_the_first_are_taken_and_what_frames_the_body() {
    for (lines, taken) in [(150, 150), (999, 999), (1_100, 1_000)] {
        let headers: String = (0..lines).map(|i| format!("X-{i}: {i}\r\n")).collect();
        let server = Server::raw(format!("HTTP/1.1 200 OK\r\n{headers}Content-Length: 2\r\n\r\nokmore"));
        let fetched = on_runtime(client().fetch(request(server.address))).unwrap();
        assert_eq!((fetched.headers.len(), bytes(&fetched)), (taken + 1, b"ok".to_vec()));
    }
}

#[test]
fn a_head_of_200_kb_is_taken_and_an_endless_one_refused() {
    let long = Server::raw(format!("HTTP/1.1 200 OK\r\nX: {}\r\n\r\nok", "a".repeat(200_000)));
    let fetched = on_runtime(client().fetch(request(long.address))).unwrap();
    assert_eq!((fetched.headers[0].1.len(), bytes(&fetched)), (200_000, b"ok".to_vec()));
    let piece = "a".repeat(50_000);
    let never: [fn(&str) -> Vec<u8>; 3] = [
        |piece| format!("HTTP/1.1 200 OK\r\nX: {}", piece.repeat(40)).into_bytes(),
        |_| "HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n".repeat(50_000).into_bytes(),
        |_| b"\r\n".repeat(1_000_000),
    ];
    for raw in never {
        let server = Server::raw(raw(&piece));
        let fault = on_runtime(client().fetch(request(server.address))).unwrap_err();
        assert_eq!(fault.failure, Failure::BadHttp, "{fault}");
    }
}
