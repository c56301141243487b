//! Bytes to text. Input: Content-Type and top-level domain on a line each, a byte for the size of pieces, then the body.

use encoding_rs::{Encoding, UTF_8};

use super::content::charset::{CharsetSource, Decoder, detect_in_domain};
use super::content::modules::{Body, ParseRules};
use super::input::{line, size, text};
use super::pages::same_page;

/// An encoding is found for anything, and the text does not depend on how the bytes came.
pub fn check(data: &[u8]) {
    let (content_type, rest) = line(data);
    let (top_level, rest) = line(rest);
    let (size, body) = size(rest);
    let content_type = text(content_type);
    let (encoding, source) = detect_in_domain(Some(&content_type), body, Some(&text(top_level)));
    assert_eq!(Encoding::for_label(encoding.name().as_bytes()), Some(encoding));
    assert_eq!(source == CharsetSource::Bom, Encoding::for_bom(body).is_some());
    let whole = decode(encoding, std::iter::once(body));
    assert_eq!(decode(encoding, body.chunks(size)), whole, "in pieces of {size}");
    if let (true, Ok(valid)) = (encoding == UTF_8, std::str::from_utf8(body)) {
        assert_eq!(whole, valid.strip_prefix('\u{feff}').unwrap_or(valid));
    }
    let url = ::url::Url::parse("http://h.test/").expect("a good URL");
    same_page(&Body::sniffed(&url, Some(&content_type), body), &ParseRules::default(), size);
}

fn decode<'a>(encoding: &'static Encoding, body: impl Iterator<Item = &'a [u8]>) -> String {
    let mut decoder = Decoder::new(encoding);
    let mut out = String::new();
    body.for_each(|piece| decoder.decode(piece, false, |text| out.push_str(text)));
    decoder.decode(&[], true, |text| out.push_str(text));
    out
}
