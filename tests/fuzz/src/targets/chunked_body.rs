//! Chunked bodies. Input: a byte for the size of pieces, then what follows the head.

use super::document::chunks;
use super::http_answer::answer;
use super::input::size;
use super::net::framing::Ended;

const HEAD: &[u8] = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";

/// The payload does not depend on how the bytes came, is never more than was sent, is that of the RFC's grammar, and what is
/// read of the same bytes in an archive.
pub fn check(data: &[u8]) {
    let (size, sent) = size(data);
    let wire = [HEAD, sent].concat();
    let whole = answer(&wire, wire.len()).expect("the head is good");
    assert_eq!(answer(&wire, size).as_ref(), Some(&whole), "in pieces of {size}");
    assert!(whole.payload.len() <= sent.len());
    match chunks::payload(sent) {
        Ok(payload) => assert_eq!((payload, whole.ended.is_some()), (whole.payload.clone(), true)),
        Err(_) => assert_eq!(whole.ended, None),
    }
    if let Some(payload) = plain(sent) {
        assert_eq!((whole.payload, whole.ended), (payload, Some(Ended::Whole(None))));
    }
}

/// The payload of well-formed chunks without extensions and trailers (RFC 9112, section 7.1); none for anything else.
fn plain(mut rest: &[u8]) -> Option<Vec<u8>> {
    let mut payload = Vec::new();
    loop {
        let digits = rest.iter().position(|b| !b.is_ascii_hexdigit()).filter(|n| (1..=8).contains(n))?;
        let (number, after) = rest.split_at(digits);
        let length = usize::from_str_radix(std::str::from_utf8(number).ok()?, 16).ok()?;
        let chunk = after.strip_prefix(b"\r\n")?;
        if length == 0 {
            return chunk.starts_with(b"\r\n").then_some(payload);
        }
        payload.extend_from_slice(chunk.get(..length)?);
        rest = chunk.get(length..)?.strip_prefix(b"\r\n")?;
    }
}
