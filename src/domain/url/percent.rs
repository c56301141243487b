//! Percent-encodings in their normal form (RFC 3986 section 6.2.2): unreserved characters decoded, hex upper-case. What the URL
//! Standard encodes in a path and the `url` crate does not.

use std::borrow::Cow;

/// `text` with every percent-encoding in its normal form; everything else stays as it is.
///
/// A `%` that begins no encoding stays too. An encoding is not decoded where the decoded character would complete such
/// a stray `%` to an encoding that the author did not write (`%2%65` is not `%2e`).
pub(super) fn normal(text: &str) -> Cow<'_, str> {
    if memchr::memchr(b'%', text.as_bytes()).is_none() {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    push_normal(text, &mut out);
    Cow::Owned(out)
}

/// A path of the `url` crate with `^` encoded: it belongs to the path percent-encode set of the URL Standard since March 2025, and
/// `url` 2.5.8 leaves it (servo/rust-url#1140). In a query it stays.
pub(super) fn standard_path(path: &str) -> Cow<'_, str> {
    if path.contains('^') { Cow::Owned(path.replace('^', "%5E")) } else { Cow::Borrowed(path) }
}

fn push_normal(text: &str, out: &mut String) {
    let mut rest = text;
    while let Some(at) = memchr::memchr(b'%', rest.as_bytes()) {
        let (before, from_percent) = rest.split_at(at);
        out.push_str(before);
        match decoded(from_percent) {
            None => {
                out.push('%');
                rest = from_percent.get(1..).unwrap_or_default();
            }
            Some(byte) => {
                push_byte(byte, out);
                rest = from_percent.get(3..).unwrap_or_default();
            }
        }
    }
    out.push_str(rest);
}

/// The byte that the encoding at the beginning of `text` stands for.
pub(super) fn decoded(text: &str) -> Option<u8> {
    let digit = |at: usize| char::from(*text.as_bytes().get(at)?).to_digit(16);
    u8::try_from(digit(1)? * 16 + digit(2)?).ok()
}

fn push_byte(byte: u8, out: &mut String) {
    const HEX: [char; 16] = ['0', '1', '2', '3', '4', '5', '6', '7', '8', '9', 'A', 'B', 'C', 'D', 'E', 'F'];
    if is_unreserved(byte) && !(byte.is_ascii_hexdigit() && ends_in_stray_percent(out)) {
        out.push(char::from(byte));
        return;
    }
    out.push('%');
    out.extend([HEX.get(usize::from(byte >> 4)), HEX.get(usize::from(byte & 15))].into_iter().flatten());
}

fn ends_in_stray_percent(out: &str) -> bool {
    let bytes = out.as_bytes();
    let last = |n: usize| bytes.len().checked_sub(n).and_then(|at| bytes.get(at)).copied();
    last(1) == Some(b'%') || (last(2) == Some(b'%') && last(1).is_some_and(|b| b.is_ascii_hexdigit()))
}

/// RFC 3986 section 2.3.
pub(super) fn is_unreserved(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~')
}
