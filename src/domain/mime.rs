//! What kind of document a body is, by its declared type and its first bytes.
//!
//! As browsers do (WHATWG MIME Sniffing, 7 and 7.1): a declared HTML or XML type is believed unless the bytes are plainly
//! something binary, no type or an unknown one is sniffed, and `text/plain` is only checked for being binary. One decision
//! departs from it: a body declared HTML that begins as XML but not as XHTML (a sitemap or feed sent with the wrong type) is XML.

/// How many bytes from the start of a body [`sniff`] looks at.
pub const HEAD: usize = 1445;

/// The kinds that are told apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// HTML.
    Html,
    /// XHTML sent as XML.
    Xhtml,
    /// Any other XML: feeds, sitemaps.
    Xml,
    /// Plain text.
    Text,
    /// Anything else: images, archives, PDF, scripts, style sheets.
    Other,
}

/// The kind of a body that begins with `head` and was sent as `content_type`.
#[must_use]
pub fn sniff(content_type: Option<&str>, head: &[u8]) -> Kind {
    let head = head.get(..HEAD).unwrap_or(head);
    let essence = essence(content_type.unwrap_or_default());
    if has_magic(head) {
        return Kind::Other;
    }
    match declared(&essence) {
        Declared::Html => match from_bytes(head) {
            Kind::Xml => Kind::Xml,
            _ => Kind::Html,
        },
        Declared::Known(kind @ (Kind::Xhtml | Kind::Xml)) => kind,
        Declared::Known(Kind::Text) if looks_binary(head) => Kind::Other,
        Declared::Known(kind) => kind,
        Declared::Unknown => from_bytes(head),
    }
}

enum Declared {
    Html,
    Known(Kind),
    Unknown,
}

/// `text/html` of `Text/HTML; charset=x`, in lower case; of several types joined by commas the last.
fn essence(content_type: &str) -> String {
    let last = content_type.rsplit(',').next().unwrap_or_default();
    let whole = if last.contains('/') { last } else { content_type };
    whole.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}

fn declared(essence: &str) -> Declared {
    match essence {
        "text/html" => Declared::Html,
        "application/xhtml+xml" => Declared::Known(Kind::Xhtml),
        "text/xml" | "application/xml" => Declared::Known(Kind::Xml),
        "text/plain" => Declared::Known(Kind::Text),
        "" | "unknown/unknown" | "application/unknown" | "*/*" | "application/octet-stream" => Declared::Unknown,
        e if !e.contains('/') => Declared::Unknown,
        e if e.ends_with("+xml") && !e.starts_with("image/") => Declared::Known(Kind::Xml),
        _ => Declared::Known(Kind::Other),
    }
}

/// The signatures of what servers most often send under a wrong type (MIME Sniffing, 6).
const MAGIC: [&[u8]; 13] = [
    b"%PDF-",
    b"%!PS-Adobe-",
    b"\x89PNG\r\n\x1a\n",
    b"GIF87a",
    b"GIF89a",
    b"\xff\xd8\xff",
    b"PK\x03\x04",
    b"\x1f\x8b\x08",
    b"Rar!\x1a\x07",
    b"7z\xbc\xaf\x27\x1c",
    b"OggS\0",
    b"wOFF",
    b"wOF2",
];

fn has_magic(head: &[u8]) -> bool {
    let riff = head.starts_with(b"RIFF") && matches!(head.get(8..12), Some(b"WEBP" | b"WAVE" | b"AVI "));
    let mp4 = head.get(4..8) == Some(b"ftyp");
    riff || mp4 || MAGIC.iter().any(|m| head.starts_with(m))
}

/// Starts of HTML, in any case, each to be followed by white space or `>` (MIME Sniffing, 7.1).
const HTML_STARTS: [&[u8]; 16] = [
    b"<!doctype html",
    b"<html",
    b"<head",
    b"<script",
    b"<iframe",
    b"<h1",
    b"<div",
    b"<font",
    b"<table",
    b"<a",
    b"<style",
    b"<title",
    b"<b",
    b"<body",
    b"<br",
    b"<p",
];

fn from_bytes(head: &[u8]) -> Kind {
    let start = without_mark(head).trim_ascii_start();
    let starts = |want: &[u8]| start.get(..want.len()).is_some_and(|s| s.eq_ignore_ascii_case(want));
    let ended = |want: &[u8]| start.get(want.len()).is_some_and(|b| b.is_ascii_whitespace() || *b == b'>');
    if start.starts_with(b"<!--") || HTML_STARTS.iter().any(|h| starts(h) && ended(h)) {
        return Kind::Html;
    }
    if start.starts_with(b"<?xml") {
        return if is_xhtml(start) { Kind::Html } else { Kind::Xml };
    }
    let feed = [&b"<rss"[..], b"<feed", b"<urlset", b"<sitemapindex", b"<rdf:rdf"].iter().any(|f| starts(f));
    match (feed, looks_binary(head)) {
        (true, _) => Kind::Xml,
        (false, true) => Kind::Other,
        (false, false) => Kind::Text,
    }
}

/// After an XML declaration comes HTML's own doctype or element.
fn is_xhtml(head: &[u8]) -> bool {
    head.windows(5).any(|w| w.eq_ignore_ascii_case(b"<html"))
        || head.windows(14).any(|w| w.eq_ignore_ascii_case(b"<!doctype html"))
}

fn without_mark(head: &[u8]) -> &[u8] {
    head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head)
}

/// Bytes that text does not have (MIME Sniffing, 3, "binary data byte"); UTF-16 with its mark is text.
fn looks_binary(head: &[u8]) -> bool {
    let utf16 = head.starts_with(b"\xff\xfe") || head.starts_with(b"\xfe\xff");
    !utf16 && head.iter().any(|b| matches!(b, 0..=8 | 0x0b | 0x0e..=0x1a | 0x1c..=0x1f))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kind_is_that_of_browsers() {
        for (content_type, head, want) in [
            (Some("text/html"), &b"hello"[..], Kind::Html),
            (Some("Text/HTML; charset=x"), b"", Kind::Html),
            (Some("text/html"), b"%PDF-1.4", Kind::Other),
            (Some("text/html"), b"\x89PNG\r\n\x1a\n", Kind::Other),
            (Some("text/html"), b"<?xml version='1.0'?><rss>", Kind::Xml),
            (Some("text/html"), b"<?xml version='1.0'?>\n<!DOCTYPE html PUBLIC>", Kind::Html),
            (Some("text/html"), b"\n <urlset xmlns=''>", Kind::Xml),
            (Some("application/xhtml+xml"), b"<html>", Kind::Xhtml),
            (Some("application/rss+xml"), b"<rss>", Kind::Xml),
            (Some("application/xml"), b"<html>", Kind::Xml),
            (Some("image/svg+xml"), b"<svg>", Kind::Other),
            (Some("text/plain"), b"<html>", Kind::Text),
            (Some("text/plain"), b"a\0b", Kind::Other),
            (Some("text/plain"), b"\xff\xfea\0", Kind::Text),
            (Some("text/css"), b"<html>", Kind::Other),
            (Some("image/png"), b"<html>", Kind::Other),
            (Some("html"), b"<html>", Kind::Html),
            (Some("text/plain, text/html"), b"x", Kind::Html),
            (None, b"  <!DOCTYPE HTML>", Kind::Html),
            (None, b"\xef\xbb\xbf<html lang=x>", Kind::Html),
            (None, b"<!-- c -->", Kind::Html),
            (None, b"<p>", Kind::Html),
            (None, b"<pre>", Kind::Text),
            (None, b"<?xml version='1.0'?><feed>", Kind::Xml),
            (None, b"plain words", Kind::Text),
            (None, b"\x00\x01", Kind::Other),
            (None, b"PK\x03\x04", Kind::Other),
            (None, b"", Kind::Text),
        ] {
            assert_eq!(sniff(content_type, head), want, "{content_type:?} {head:?}");
        }
    }
}
