//! Bodies kept as they came (`store.http_body = "exact"`).

use super::server::{Server, Session};
use super::*;
use crate::document::Document;
use crate::document::chunks;
use crate::domain::cases::unescaped;
use crate::domain::cut::Cut;

const HEAD: &str = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";

fn exact() -> Http {
    Http::new(HttpConfig { exact: true, ..config() }).unwrap()
}

fn read(document: &Document) -> Vec<u8> {
    document.to_vec().unwrap()
}

#[expect(clippy::result_large_err, reason = "what the client gives")]
fn ask(http: Http, raw: impl Into<Vec<u8>>) -> Result<Fetched, FetchFault> {
    let server = Server::raw(raw);
    let result = on_runtime(http.fetch(request(server.address)));
    drop(http); // its connection, for which the server waits
    result
}

/// What is kept of an answer with this body: the exact bytes, and the answer.
fn kept(body: impl AsRef<[u8]>, limits: FetchLimits) -> (Option<Vec<u8>>, Fetched) {
    let server = Server::raw([HEAD.as_bytes(), body.as_ref()].concat());
    let fetched = on_runtime(exact().fetch(FetchRequest { limits, ..request(server.address) })).unwrap();
    (fetched.exact.as_ref().map(read), fetched)
}

fn chunked(payload: &[u8], size: usize, extension: &str) -> Vec<u8> {
    let mut out = Vec::new();
    for chunk in payload.chunks(size) {
        out.extend_from_slice(format!("{:x}{extension}\r\n", chunk.len()).as_bytes());
        out.extend_from_slice(chunk);
        out.extend_from_slice(b"\r\n");
    }
    out
}

#[test]
fn every_byte_of_a_whole_body_is_kept_with_sizes_extensions_and_trailers_and_no_byte_after_it() {
    let payload: Vec<u8> = (0..400_000u32).flat_map(u32::to_le_bytes).collect();
    for (size, extension, end) in [
        (7_000, "", "0\r\n\r\n"),
        (300_000, " \t", "000\r\nETag: \"x\"\r\nX: y\r\n\r\n"),
        (2_000_000, ";a=\"b\";c", "0;last\r\n\r\n"),
        (13, "", "0\r\n\r\n"),
    ] {
        let body = [&chunked(&payload, size, extension), end.as_bytes()].concat();
        let (kept, fetched) = kept([&body[..], b"HTTP/1.1 200 OK\r\n\r\nanother"].concat(), FetchLimits::default());
        assert!(kept.as_ref() == Some(&body), "{size}: {:?}", kept.map(|kept| kept.len()));
        assert!(fetched.cut.is_none() && read(&fetched.body) == payload, "{size}");
    }
}

#[test]
fn answers_over_one_connection_are_kept_apart_however_their_bytes_come() {
    let server = Server::start(|mut session: Session| {
        while session.read_request() {
            for byte in [HEAD.as_bytes(), b"3\r\nabc\r\n0\r\n\r\n"].concat() {
                session.write(&[byte]);
            }
        }
    });
    on_runtime(async {
        let http = exact();
        for reused in [false, true, true] {
            let fetched = http.fetch(request(server.address)).await.unwrap();
            assert_eq!((fetched.reused, fetched.cut), (reused, None));
            assert_eq!(read(&fetched.exact.unwrap()), b"3\r\nabc\r\n0\r\n\r\n");
        }
    });
}

#[test]
fn a_body_without_chunks_is_as_it_came_already() {
    for (raw, cut) in [
        ("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", None),
        ("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhello", Some(Cut::Disconnect)),
        ("HTTP/1.0 200 OK\r\n\r\nhello", None),
    ] {
        let fetched = ask(exact(), raw).unwrap();
        assert_eq!((read(&fetched.exact.unwrap()), fetched.cut), (b"hello".to_vec(), cut), "{raw}");
        assert!(ask(client(), raw).unwrap().exact.is_none(), "nobody asked for it");
    }
}

#[test]
fn a_chunked_body_that_is_cut_is_kept_without_its_chunks() {
    let two = "5\r\nhello\r\n6\r\n world\r\n";
    for (body, want) in [
        (format!("{two}0\r\n\r\n"), "hello wo"),
        (two[..15].to_owned(), "hello w"),
        (two[..9].to_owned(), "hello"),
        ("5\r\nhello\r\nzz\r\nmore".to_owned(), "hello"),
    ] {
        let (kept, fetched) = kept(&body, FetchLimits { max_body: 8, ..FetchLimits::default() });
        assert!(kept.is_none() && fetched.cut.is_some(), "{body:?}");
        assert_eq!(String::from_utf8(read(&fetched.body)).unwrap(), want, "{body:?}");
    }
}

#[test]
fn chunk_lines_that_would_fill_the_disk_are_not_kept_and_the_body_is() {
    let body = [chunked(&[b'x'; 90], 1, ""), b"0\r\n\r\n".to_vec()].concat();
    let (kept, fetched) = kept(&body, FetchLimits { max_body: 100, ..FetchLimits::default() });
    assert!(kept.is_none() && fetched.cut.is_none());
    assert_eq!(read(&fetched.body), [b'x'; 90]);
    let long = [&b"2\r\nab\r\n"[..], &vec![b'0'; 4 << 20], b"1\r\nc\r\n0\r\n\r\n"].concat();
    let (kept, fetched) = self::kept(long, FetchLimits::default());
    assert!(kept.is_some_and(|kept| kept.len() > 4 << 20) && fetched.cut.is_none());
    assert_eq!(read(&fetched.body), b"abc");
}

#[test]
fn an_answer_in_another_transfer_coding_is_kept_without_it() {
    for coding in ["gzip, chunked", "x-own"] {
        let server = Server::raw(format!("HTTP/1.1 200 OK\r\nTransfer-Encoding: {coding}\r\n\r\n2\r\nok\r\n0\r\n\r\n"));
        let fetched = on_runtime(exact().fetch(request(server.address))).unwrap();
        assert!(fetched.exact.is_none() && !fetched.body.is_empty(), "{coding}");
    }
}

#[test]
fn every_answer_of_the_table_is_the_same_whether_its_bytes_are_kept_or_not() {
    let table = include_str!("../../../../tests/data/http/answers.tsv");
    let mut coded = 0;
    for row in table.lines().filter(|line| !line.starts_with('#')) {
        let raw = unescaped(row.split('\t').nth(1).unwrap());
        let (with, without) = (ask(exact(), raw.clone()), ask(client(), raw.clone()));
        assert_eq!(super::framing::outcome(&with), super::framing::outcome(&without), "{row}");
        let Ok(Fetched { exact: Some(exact), body, .. }) = with else { continue };
        let (exact, body) = (read(&exact), read(&body));
        assert!(exact.is_empty() || raw.windows(exact.len()).any(|bytes| bytes == exact), "{row}");
        if exact != body {
            assert_eq!(chunks::payload(&exact).as_ref(), Ok(&body), "{row}");
            coded += 1;
        }
    }
    assert!(coded > 3, "{coded}");
}
