//! The kind of a body. Input: Content-Type on one line, then the body.

use super::content::mime::{Declared, HEAD, Kind, sniff, sniff_declared};
use super::input::{line, text};

/// Case of the type and what lies behind the head change nothing; what has no type is never taken for XHTML.
pub fn check(data: &[u8]) {
    let (content_type, body) = line(data);
    let content_type = text(content_type);
    let kind = sniff(Some(&content_type), body);
    assert_eq!(sniff(Some(&content_type.to_ascii_uppercase()), body), kind);
    let head = body.get(..HEAD).unwrap_or(body);
    let longer = [head, &[0; HEAD][head.len()..], b"<html>\x01"].concat();
    assert_eq!(sniff(Some(&content_type), &longer[..HEAD]), sniff(Some(&content_type), &longer));
    assert_ne!(sniff(None, body), Kind::Xhtml);
    assert_eq!(sniff(None, body), sniff(Some(""), body));
    let unsniffed = sniff_declared(Declared { content_type: None, nosniff: true }, body);
    assert!(matches!(unsniffed, Kind::Text | Kind::Other), "nothing with scripts where sniffing is forbidden");
}
