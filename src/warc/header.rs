//! The header block of a record, safe against what servers put into values.

use std::borrow::Cow;
use std::fmt::Display;

use crate::domain::text::cut_at;

/// Longest value written, bytes; the rest is cut at a character.
pub const MAX_VALUE: usize = 16 * 1024;

/// A WARC header block being built; it begins with the version line.
pub struct HeaderBlock(Vec<u8>);

/// The version line alone.
impl Default for HeaderBlock {
    fn default() -> Self {
        Self(b"WARC/1.1\r\n".to_vec())
    }
}

impl HeaderBlock {
    /// Adds a field. Control characters in the value become spaces, so no value can begin a line of its own.
    pub fn put(&mut self, name: &'static str, value: impl Display) {
        put_field(&mut self.0, name, &value.to_string());
    }

    /// Adds a field whose value is a URI: what must not stand in a URI is percent-encoded, nothing else is changed.
    pub fn put_uri(&mut self, name: &'static str, uri: &str) {
        put_field(&mut self.0, name, &clean_uri(uri));
    }

    /// Adds a field if there is a value.
    pub fn put_opt(&mut self, name: &'static str, value: Option<impl Display>) {
        if let Some(value) = value {
            self.put(name, value);
        }
    }

    /// Adds `Content-Length` and the empty line that ends the block.
    pub fn finish(mut self, content_length: u64) -> Vec<u8> {
        self.put("Content-Length", content_length);
        self.0.extend_from_slice(b"\r\n");
        self.0
    }
}

/// Writes `name: value` and a line end; for header blocks and `application/warc-fields` alike.
pub(super) fn put_field(out: &mut Vec<u8>, name: &str, value: &str) {
    put_parts(out, name, &[cut_at(value.trim(), MAX_VALUE)]);
}

/// The same for a value in parts, without white space around it, of at most [`MAX_VALUE`] bytes.
pub(super) fn put_parts(out: &mut Vec<u8>, name: &str, parts: &[&str]) {
    out.extend_from_slice(name.as_bytes());
    out.extend_from_slice(b": ");
    let begin = out.len();
    parts.iter().for_each(|part| out.extend_from_slice(part.as_bytes()));
    let value = out.get_mut(begin..).unwrap_or_default();
    if any(value, |b| b.is_ascii_control()) {
        value.iter_mut().filter(|b| b.is_ascii_control()).for_each(|b| *b = b' ');
    }
    out.extend_from_slice(b"\r\n");
}

/// A URI on one line without spaces: control characters, spaces and `<>` are percent-encoded.
pub(super) fn clean_uri(uri: &str) -> Cow<'_, str> {
    let uri = uri.trim();
    let must_go = |b: u8| b.is_ascii_control() || matches!(b, b' ' | b'<' | b'>');
    if !any(uri.as_bytes(), must_go) {
        return Cow::Borrowed(uri);
    }
    let mut out = String::with_capacity(uri.len());
    for c in uri.chars() {
        match u8::try_from(c) {
            Ok(b) if must_go(b) => out.push_str(&format!("%{b:02X}")),
            _ => out.push(c),
        }
    }
    Cow::Owned(out)
}

/// Whether one of the bytes is such: looks at all of them, many at a time, since nearly always none is.
fn any(bytes: &[u8], is: impl Fn(u8) -> bool) -> bool {
    bytes.iter().fold(false, |any, b| any | is(*b))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn no_value_can_add_a_line(value in "(?s).{0,60}", uri in "(?s).{0,60}") {
            let mut block = HeaderBlock::default();
            block.put("A", &value);
            block.put_uri("B", &uri);
            let text = String::from_utf8(block.finish(7)).unwrap();
            let lines: Vec<_> = text.split("\r\n").collect();
            prop_assert_eq!(lines.len(), 6);
            prop_assert_eq!(lines[0], "WARC/1.1");
            prop_assert_eq!(&lines[3..], &["Content-Length: 7", "", ""][..]);
            prop_assert_eq!(text.matches(['\r', '\n']).count(), 10);
        }
    }

    #[test]
    fn a_line_end_in_a_value_becomes_a_space_and_in_a_uri_is_percent_encoded() {
        let mut block = HeaderBlock::default();
        block.put("A", "x\r\nWARC-Type: request");
        block.put_uri("B", "http://h.test/a b\r\nC: d");
        let text = String::from_utf8(block.finish(0)).unwrap();
        assert!(text.contains("A: x  WARC-Type: request\r\n"));
        assert!(text.contains("B: http://h.test/a%20b%0D%0AC:%20d\r\n"));
    }

    #[test]
    fn a_long_value_is_cut_at_a_character() {
        let mut block = HeaderBlock::default();
        block.put("A", "é".repeat(MAX_VALUE));
        assert!(block.finish(0).len() < MAX_VALUE + 100);
    }
}
