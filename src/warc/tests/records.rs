use std::io::Read;

use flate2::bufread::MultiGzDecoder;
use proptest::prelude::*;

use super::pages::{Maker, NOON};
use crate::document::Document;
use crate::domain::cut::Cut;
use crate::warc::digest::{Digests, WarcDigest};
use crate::warc::info::WarcInfo;
use crate::warc::reader::WarcReader;
use crate::warc::record::{Capture, PROFILE_IDENTICAL, RecordBytes, RecordId, RecordKind, RefersTo, ResponseNotes};
use crate::warc::scan::{DigestFault, Scanned, scan_next};

fn text(record: &RecordBytes) -> String {
    let mut out = Vec::new();
    MultiGzDecoder::new(record.data.to_vec().unwrap().as_slice()).read_to_end(&mut out).unwrap();
    String::from_utf8(out).unwrap()
}

fn scanned(record: &RecordBytes) -> Scanned {
    scan_next(&mut WarcReader::new(record.data.to_vec().unwrap().as_slice(), 0)).unwrap().unwrap()
}

fn maker() -> Maker {
    Maker::new(&std::env::temp_dir())
}

fn body() -> Document {
    Document::from_bytes(&b"body"[..])
}

fn id(n: u8) -> RecordId {
    RecordId(uuid::Builder::from_random_bytes([n; 16]).into_uuid())
}

const CAPTURE: Capture<'_> = Capture { url: "http://h.test/a b", date: NOON, ip: None };

#[test]
fn a_response_record_has_the_headers_of_the_standard_and_its_content() {
    let head = b"HTTP/1.1 200 OK\r\n\r\n";
    let digests = Digests::of(Some(head), &body()).unwrap();
    let notes = ResponseNotes { truncated: Some(Cut::Length), identified_type: Some("text/plain") };
    let capture = Capture { ip: Some("2001:db8::1".parse().unwrap()), ..CAPTURE };
    let record = maker().builder.response(&capture, id(1), head, &body(), &digests, notes).unwrap();
    assert_eq!(record.kind, RecordKind::Response);
    let block = WarcDigest::of(b"HTTP/1.1 200 OK\r\n\r\nbody");
    let payload = WarcDigest::of(b"body");
    assert_eq!(
        text(&record),
        format!(
            "WARC/1.1\r\nWARC-Type: response\r\nWARC-Record-ID: <urn:uuid:01010101-0101-4101-8101-010101010101>\r\n\
             WARC-Date: 2024-05-06T12:00:00.123Z\r\nWARC-Target-URI: http://h.test/a%20b\r\n\
             WARC-IP-Address: 2001:db8::1\r\nWARC-Block-Digest: {block}\r\nWARC-Payload-Digest: {payload}\r\n\
             WARC-Identified-Payload-Type: text/plain\r\nWARC-Truncated: length\r\n\
             Content-Type: application/http;msgtype=response\r\nContent-Length: 23\r\n\r\n\
             HTTP/1.1 200 OK\r\n\r\nbody\r\n\r\n"
        )
    );
}

#[test]
fn a_request_record_keeps_no_credentials() {
    let head = b"GET / HTTP/1.1\r\nAuthorization: Basic c2VjcmV0\r\nCookie: secret\r\n\r\n";
    let record = maker().builder.request(&CAPTURE, id(2), id(1), head).unwrap();
    let text = text(&record);
    assert!(text.contains("WARC-Concurrent-To: <urn:uuid:01010101-"));
    assert!(text.contains("Content-Type: application/http;msgtype=request\r\n"));
    assert!(!text.contains("secret") && !text.contains("c2VjcmV0"), "{text}");
}

#[test]
fn a_revisit_record_names_the_earlier_capture() {
    let refers_to = RefersTo { profile: PROFILE_IDENTICAL, url: "http://h.test/first", date: NOON };
    let payload = WarcDigest::of(b"body");
    let head = b"HTTP/1.1 200 OK\r\n\r\n";
    let text = text(&maker().builder.revisit(&CAPTURE, id(3), head, payload, &refers_to).unwrap());
    for line in [
        "WARC-Type: revisit",
        "WARC-Profile: http://netpreserve.org/warc/1.1/revisit/identical-payload-digest",
        "WARC-Refers-To-Target-URI: http://h.test/first",
        "WARC-Refers-To-Date: 2024-05-06T12:00:00.123Z",
        &format!("WARC-Payload-Digest: {payload}"),
        &format!("WARC-Block-Digest: {}", WarcDigest::of(head)),
        "Content-Length: 19",
    ] {
        assert!(text.contains(&format!("\r\n{line}\r\n")), "{line} is not in {text}");
    }
}

#[test]
fn a_warcinfo_record_names_the_file() {
    let info = WarcInfo { software: "Lycosa/0".into(), ..WarcInfo::default() };
    let text = text(&maker().builder.warcinfo(id(4), NOON, "x.warc.gz", &info).unwrap());
    assert!(text.starts_with("WARC/1.1\r\nWARC-Type: warcinfo\r\n"));
    assert!(text.contains("WARC-Filename: x.warc.gz\r\n"));
    assert!(text.contains("\r\n\r\nsoftware: Lycosa/0\r\n"));
    assert!(!text.contains("WARC-Target-URI"));
}

#[test]
fn a_large_record_lies_in_a_file_and_a_small_one_in_memory() {
    let dir = tempfile::tempdir().unwrap();
    let mut maker = Maker::new(dir.path());
    let noise: Vec<u8> = (0..10_000_u32).flat_map(|n| WarcDigest::of(&n.to_le_bytes()).0).collect();
    let page = maker.page("http://h.test/", b"HTTP/1.1 200 OK\r\n\r\n", &noise);
    assert!(page.records()[0].data.is_spilled() && !page.records()[1].data.is_spilled());
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0, "the file has no name");
}

#[test]
fn a_page_becomes_a_revisit_under_the_same_name() {
    let mut maker = maker();
    let mut page = maker.html(1);
    let name = |page: &crate::warc::page::PageRecords| {
        let text = text(&page.records()[0]);
        text.lines().find(|l| l.starts_with("WARC-Record-ID")).unwrap().to_owned()
    };
    let before = name(&page);
    let refers_to = RefersTo { profile: PROFILE_IDENTICAL, url: "http://h.test/first", date: NOON };
    page.make_revisit(&mut maker.builder, &refers_to, WarcDigest([7; 20])).unwrap();
    assert!(page.is_revisit() && page.payload_digest() == WarcDigest([7; 20]));
    assert_eq!(name(&page), before, "request and metadata refer to it");
    assert!(!text(&page.records()[0]).contains("<p>"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn whatever_head_and_body_came_the_record_is_read_back_with_its_digests(
        head in prop::collection::vec(prop::sample::select(&b"\r\n: aTL0chunked"[..]), 0..60),
        known in prop::sample::select(&["", "HTTP/1.1 200 OK\r\n", "HTTP/1.1 204 N\nTransfer-Encoding: chunked\n"][..]),
        body in prop::collection::vec(any::<u8>(), 0..3000),
        url in "(?s).{0,30}",
    ) {
        let head = [known.as_bytes(), &head].concat();
        let page = maker().page(&url, &head, &body);
        let bytes: Vec<u8> = page.records().iter().flat_map(|r| r.data.to_vec().unwrap()).collect();
        let mut reader = WarcReader::new(bytes.as_slice(), 0);
        let first = scan_next(&mut reader).unwrap().unwrap();
        prop_assert_eq!(first.check_digests(), Ok(()));
        prop_assert_eq!(first.payload, Some(WarcDigest::of(&body)));
        prop_assert_eq!(first.cdxj_entry(), Some(page.entry().clone()));
        for _ in 0..2 {
            let next = scan_next(&mut reader).unwrap().unwrap();
            prop_assert_eq!(next.check_digests(), Ok(()));
            prop_assert!(next.cdxj_entry().is_none());
        }
        prop_assert!(scan_next(&mut reader).unwrap().is_none());
    }
}

#[test]
fn a_body_stored_as_it_came_has_its_own_head_and_the_digest_of_its_payload() {
    for (head, wire, payload) in [
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", "5\r\nhello\r\n0\r\nX: y\r\n\r\n", "hello"),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", "5\r\nhello\r\nff\r\n wo", "hello wo"),
        ("HTTP/1.1 304 X\r\nTransfer-Encoding: chunked\r\n\r\n", "", ""),
        ("HTTP/1.1 200 OK\nContent-Length: 99\n\n", "hello", "hello"),
        ("HTTP/1.0 200 OK\r\n\r\n", "hello", "hello"),
    ] {
        let page = maker().exact(head.as_bytes(), wire.as_bytes(), payload.as_bytes());
        let record = text(&page.records()[0]);
        assert!(record.ends_with(&format!("\r\n\r\n{head}{wire}\r\n\r\n")), "{record}");
        assert_eq!(page.payload_digest(), WarcDigest::of(payload.as_bytes()));
        let read = scanned(&page.records()[0]);
        assert_eq!(read.check_digests(), Ok(()), "{record}");
        assert_eq!(read.payload, Some(WarcDigest::of(payload.as_bytes())), "{record}");
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("a.warc.gz"), page.records()[0].data.to_vec().unwrap()).unwrap();
        let picked = crate::warc::pick::response_at(dir.path(), "a.warc.gz", 0, 1 << 20).unwrap();
        assert_eq!((picked.head, picked.body), (head.as_bytes().to_vec(), payload.as_bytes().to_vec()));
    }
}

#[test]
fn another_payload_in_the_same_chunks_is_noticed() {
    let head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
    let page = maker().exact(head, b"5\r\nhello\r\n0\r\n\r\n", b"hallo");
    assert_eq!(scanned(&page.records()[0]).check_digests(), Err(DigestFault::Payload));
}
