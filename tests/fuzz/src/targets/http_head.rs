//! Heads of answers and requests as bytes, and the two forms in which they are archived.

use super::input::byte;
use super::net::head::{ParsedHead, final_head, parse_head};
use super::warc::http_head::{
    Coding, REDACTED, head_len, mime, redacted_request, status, stored_response, transfer_coding,
};

/// A head read, printed and read again is the same; its archived form tells the truth and no secret.
pub fn check(data: &[u8]) {
    let (length, data) = byte(data);
    let length = u64::from(length);
    if let Some(head) = final_head(data) {
        assert_eq!(final_head(head), Some(head), "a final head is its own");
        reread(head);
        if status(head).is_some() {
            stored(head, length); // no other is an answer
        }
    }
    reread(data);
    redacted(data);
    let _ = (mime(data), status(data));
}

fn reread(head: &[u8]) {
    let Some(parsed) = parse_head(head) else { return };
    let mut printed = format!("HTTP/1.1 {}\r\n", parsed.status).into_bytes();
    for (name, value) in &parsed.headers {
        printed.extend_from_slice(&[name.as_bytes(), b": ", value, b"\r\n"].concat());
    }
    printed.extend_from_slice(b"\r\n");
    let again = parse_head(&printed).expect("what was printed can be read");
    assert_eq!((again.status, again.headers), (parsed.status, parsed.headers));
}

fn values(head: &ParsedHead, name: &str) -> Vec<Vec<u8>> {
    head.headers.iter().filter(|(n, _)| n.eq_ignore_ascii_case(name)).map(|(_, value)| value.clone()).collect()
}

fn stored(head: &[u8], length: u64) {
    let once = stored_response(head, length);
    assert!(once.ends_with(b"\r\n\r\n"));
    assert_eq!(transfer_coding(&once), Coding::Plain);
    assert_eq!(head_len(&once), Some(once.len()));
    let bodiless = length == 0 && matches!(status(&once), Some(100..=199 | 204 | 304));
    if let Some(parsed) = parse_head(&once).filter(|_| !bodiless) {
        let lengths = values(&parsed, "content-length");
        assert!(lengths.iter().all(|told| number(told) == Some(length)) && lengths.len() <= 1);
    }
    assert_eq!(stored_response(&once, length), once, "stored twice");
}

fn number(value: &[u8]) -> Option<u64> {
    std::str::from_utf8(value).ok().filter(|text| text.bytes().all(|b| b.is_ascii_digit()))?.parse().ok()
}

fn redacted(head: &[u8]) {
    let once = redacted_request(head);
    assert!(once.ends_with(b"\r\n"));
    assert_eq!(redacted_request(&once), once, "redacted twice");
    let lines = once.split(|b| *b == b'\n').skip(1).take_while(|line| !matches!(*line, b"\r" | b""));
    for line in lines {
        if let Some(value) = ["cookie:", "authorization:"].iter().find_map(|name| value_of(line, name)) {
            assert_eq!(value, REDACTED);
        }
    }
}

fn value_of<'a>(line: &'a [u8], name: &str) -> Option<&'a [u8]> {
    let (start, value) = line.split_at_checked(name.len())?;
    start.eq_ignore_ascii_case(name.as_bytes()).then(|| value.trim_ascii())
}
