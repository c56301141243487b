//! Whole answers: what hyper reads, and what is read from the same bytes for the archive. Input: a byte for the size of
//! pieces, then all that the server sends.

use super::input::size;
use super::net::head::{final_head, parse_head};
use super::transport::{Answer, answer};

/// Both readers agree on which head is the final one, and the exchange ends whatever was sent.
pub fn check(data: &[u8]) {
    let (size, wire) = size(data);
    let whole = answer(wire, wire.len().max(1));
    assert_eq!(answer(wire, size), whole, "in pieces of {size}");
    if let Some(answer) = whole.filter(|answer| answer.status != 101) {
        same_head(wire, &answer);
    }
}

fn same_head(wire: &[u8], answer: &Answer) {
    let head = final_head(wire).expect("hyper found a head");
    let parsed = parse_head(head).expect("hyper could read it");
    assert_eq!(parsed.status, answer.status);
    assert!(answer.body.len() + head.len() <= wire.len(), "more than was sent");
    // hyper leaves out values with control characters; they are kept here, as browsers keep them.
    let plain = |value: &[u8]| value.iter().all(|b| *b == b'\t' || !b.is_ascii_control());
    let known = parsed.headers.iter().filter(|(_, value)| plain(value));
    let mut ours: Vec<_> = known.map(|(n, v)| (n.to_ascii_lowercase(), words(v))).collect();
    let mut theirs: Vec<_> = answer.headers.iter().map(|(n, v)| (n.to_string(), words(v.as_bytes()))).collect();
    ours.sort();
    theirs.sort();
    assert_eq!(ours, theirs);
}

/// A folded value is joined by one space here and by several there.
fn words(value: &[u8]) -> Vec<Vec<u8>> {
    value.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty()).map(<[u8]>::to_vec).collect()
}
