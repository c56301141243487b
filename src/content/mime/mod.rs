//! What kind of document a body is, by its declared type and its first bytes.
//!
//! As browsers do (WHATWG MIME Sniffing, 7 and 7.1): a declared HTML or XML type is believed unless the bytes are plainly
//! something binary, no type or an unknown one is sniffed, `text/plain` is only checked for being binary, and
//! `X-Content-Type-Options: nosniff` forbids it all but for the harmless. Decisions that depart from it, because a crawler looks
//! for links and not for something to show: a body declared HTML whose first element is that of a feed or sitemap is XML, one
//! declared XML whose first element is `html` is XHTML, and `application/octet-stream` counts as unknown.

mod magic;
mod types;

use crate::base::kinds::names;

pub use magic::media_type;
pub use types::{is_among, is_type_glob};

/// How many bytes from the start of a body [`sniff`] looks at.
pub const HEAD: usize = 1445;

names! {
    /// The kinds that are told apart.
    Kind {
        /// HTML.
        Html = "html";
        /// XHTML sent as XML.
        Xhtml = "xhtml";
        /// Any other XML: feeds, sitemaps.
        Xml = "xml";
        /// Plain text.
        Text = "text";
        /// Anything else: images, archives, PDF, scripts, style sheets.
        Other = "other";
    }
}

impl Kind {
    /// The media type of all that is of this kind, if there is one.
    pub fn media_type(self) -> Option<&'static str> {
        match self {
            Self::Html => Some("text/html"),
            Self::Xhtml => Some("application/xhtml+xml"),
            Self::Xml => Some("application/xml"),
            Self::Text => Some("text/plain"),
            Self::Other => None,
        }
    }
}

/// What an answer's head says of its type.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Declared<'a> {
    /// The value of `Content-Type`.
    pub content_type: Option<&'a str>,
    /// `X-Content-Type-Options: nosniff`.
    pub nosniff: bool,
}

impl Declared<'_> {
    /// It says that the body is XML, in whatever words.
    pub fn is_xml(&self) -> bool {
        matches!(supplied(&essence(self.content_type.unwrap_or_default())), Supplied::Known(Kind::Xml))
    }
}

/// Whether a value of `X-Content-Type-Options` forbids to sniff: the first of its list counts (Fetch, 3.7).
pub fn is_nosniff(value: &str) -> bool {
    value.split(',').next().is_some_and(|first| first.trim().eq_ignore_ascii_case("nosniff"))
}

/// The kind of a body that begins with `head` and was sent as `content_type`, when nothing forbids to sniff.
pub fn sniff(content_type: Option<&str>, head: &[u8]) -> Kind {
    sniff_declared(Declared { content_type, nosniff: false }, head)
}

/// The kind of a body that begins with `head` and was declared so.
pub fn sniff_declared(declared: Declared<'_>, head: &[u8]) -> Kind {
    let head = head.get(..HEAD).unwrap_or(head);
    let essence = essence(declared.content_type.unwrap_or_default());
    if declared.nosniff {
        return unsniffed(&essence, head);
    }
    if media_type(head).is_some() {
        return Kind::Other;
    }
    match supplied(&essence) {
        Supplied::Unknown | Supplied::Stream => from_bytes(head),
        Supplied::Known(Kind::Html) if root(head).is_some_and(is_feed) => Kind::Xml,
        Supplied::Known(Kind::Xml) if root(head).is_some_and(|name| name.eq_ignore_ascii_case(b"html")) => Kind::Xhtml,
        Supplied::Known(Kind::Text) if looks_binary(head) => Kind::Other,
        Supplied::Known(kind) => kind,
    }
}

/// The declared kind as it is; without one, only what cannot run scripts is told apart (MIME Sniffing, 7, "no-sniff flag").
fn unsniffed(essence: &str, head: &[u8]) -> Kind {
    match supplied(essence) {
        Supplied::Known(kind) => kind,
        Supplied::Unknown if media_type(head).is_none() && !looks_binary(head) => Kind::Text,
        Supplied::Unknown | Supplied::Stream => Kind::Other,
    }
}

enum Supplied {
    Known(Kind),
    /// `application/octet-stream`, and S3's `binary/octet-stream`: what servers send for files they do not know.
    Stream,
    Unknown,
}

/// `text/html` of `Text/HTML; charset=x`, in lower case; of several types joined by commas the last. As in Chromium it ends at a blank
/// or a parenthesis too.
pub fn essence(content_type: &str) -> String {
    let last = content_type.rsplit(',').find(|part| part.contains('/')).unwrap_or(content_type);
    let name = last.trim().split([';', ' ', '\t', '(']).next();
    name.unwrap_or_default().to_ascii_lowercase()
}

fn supplied(essence: &str) -> Supplied {
    match essence {
        "text/html" => Supplied::Known(Kind::Html),
        "application/xhtml+xml" => Supplied::Known(Kind::Xhtml),
        "text/xml" | "application/xml" => Supplied::Known(Kind::Xml),
        "text/plain" => Supplied::Known(Kind::Text),
        "application/rss" | "application/x-rss" | "text/rss" | "application/atom" | "text/atom" => {
            Supplied::Known(Kind::Xml)
        }
        "application/octet-stream" | "binary/octet-stream" => Supplied::Stream,
        "" | "unknown/unknown" | "application/unknown" | "*/*" => Supplied::Unknown,
        e if !e.contains('/') => Supplied::Unknown,
        e if e.ends_with("+xml") && !e.starts_with("image/") => Supplied::Known(Kind::Xml),
        _ => Supplied::Known(Kind::Other),
    }
}

/// Starts of HTML, in any case, each to be followed by white space or `>` (MIME Sniffing, 7.1).
#[rustfmt::skip]
const HTML_STARTS: [&[u8]; 16] = [
    b"<!doctype html", b"<html", b"<head", b"<script", b"<iframe", b"<h1", b"<div", b"<font", b"<table", b"<a",
    b"<style", b"<title", b"<b", b"<body", b"<br", b"<p",
];

fn from_bytes(head: &[u8]) -> Kind {
    let start = start_of(head);
    let starts = |want: &[u8]| start.get(..want.len()).is_some_and(|s| s.eq_ignore_ascii_case(want));
    let ended = |want: &[u8]| start.get(want.len()).is_some_and(|b| b.is_ascii_whitespace() || *b == b'>');
    let root = root(head);
    if root.is_some_and(is_feed) {
        return Kind::Xml;
    }
    if start.starts_with(b"<!--") || HTML_STARTS.iter().any(|h| starts(h) && ended(h)) {
        return Kind::Html;
    }
    if start.starts_with(b"<?xml") {
        return if root.is_some_and(|name| name.eq_ignore_ascii_case(b"html")) { Kind::Html } else { Kind::Xml };
    }
    if looks_binary(head) { Kind::Other } else { Kind::Text }
}

/// The name of a feed's or sitemap's first element, with or without a prefix.
fn is_feed(root: &[u8]) -> bool {
    let local = root.rsplit(|b| *b == b':').next().unwrap_or_default();
    [&b"rss"[..], b"feed", b"rdf", b"urlset", b"sitemapindex"].iter().any(|name| name.eq_ignore_ascii_case(local))
}

/// The name of the first element behind declaration, processing instructions, comments and doctype; none when the bytes end
/// before it, or when text comes first.
fn root(head: &[u8]) -> Option<&[u8]> {
    let mut rest = start_of(head);
    loop {
        let inner = rest.strip_prefix(b"<")?;
        let end = match inner {
            [b'?', ..] => after(inner, b"?>")?,
            [b'!', b'-', b'-', ..] => after(inner.get(3..)?, b"-->")?,
            [b'!', ..] => after_doctype(inner)?,
            _ => {
                let end = inner.iter().position(|b| b.is_ascii_whitespace() || matches!(b, b'>' | b'/'));
                return inner.get(..end.unwrap_or(inner.len())).filter(|name| !name.is_empty());
            }
        };
        rest = end.trim_ascii_start();
    }
}

fn after<'a>(bytes: &'a [u8], end: &[u8]) -> Option<&'a [u8]> {
    bytes.get(memchr::memmem::find(bytes, end)? + end.len()..)
}

/// What follows a doctype; its internal subset may hold `>`.
fn after_doctype(bytes: &[u8]) -> Option<&[u8]> {
    match bytes.get(memchr::memchr2(b'[', b'>', bytes)?) {
        Some(b'[') => after(after(bytes, b"]")?, b">"),
        _ => after(bytes, b">"),
    }
}

/// Behind white space and marks of UTF-8: some files begin with a line end before the mark, some with two marks.
fn start_of(head: &[u8]) -> &[u8] {
    let mut start = head.trim_ascii_start();
    while let Some(behind) = start.strip_prefix(b"\xef\xbb\xbf") {
        start = behind.trim_ascii_start();
    }
    start
}

/// Bytes that text does not have (MIME Sniffing, 3, "binary data byte"); UTF-16 with its mark is text.
fn looks_binary(head: &[u8]) -> bool {
    let utf16 = head.starts_with(b"\xff\xfe") || head.starts_with(b"\xfe\xff");
    !utf16 && head.iter().any(|b| matches!(b, 0..=8 | 0x0b | 0x0e..=0x1a | 0x1c..=0x1f))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::cases::{check, given, unescaped};

    #[test]
    fn the_kind_is_that_of_the_table() {
        let checked = check(include_str!("../../../tests/data/mime.txt"), |[content_type, nosniff, head]| {
            let declared = Declared { content_type: given(content_type), nosniff: nosniff == "nosniff" };
            [sniff_declared(declared, &unescaped(given(head).unwrap_or_default())).as_str()]
        });
        assert!(checked >= 80, "only {checked} rows");
    }

    #[test]
    fn only_the_first_value_of_the_list_forbids_to_sniff() {
        for (value, want) in [("nosniff", true), (" NoSniff ,x", true), ("x, nosniff", false), ("", false)] {
            assert_eq!(is_nosniff(value), want, "{value}");
        }
    }

    #[test]
    fn a_root_that_does_not_come_within_the_head_is_none() {
        for head in
            ["", "<", "<?xml", "<!-- <rss>", "<!DOCTYPE rss [<!ENTITY a '>'> <rss>", "text <rss>", "<!doctype x"]
        {
            assert_eq!(root(head.as_bytes()), None, "{head}");
        }
        assert_eq!(root(b"<!DOCTYPE rss [<!ENTITY a '>'>] > <?x?> <!-- --> <rss v=1>"), Some(&b"rss"[..]));
    }
}
