//! Percent-encodings in their normal form (RFC 3986 section 6.2.2): unreserved characters decoded, hex upper-case. What the URL
//! Standard encodes in a path and the `url` crate does not.

use std::borrow::Cow;

use percent_encoding::percent_encode_byte;

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
    for (piece, byte) in pieces(text) {
        match byte {
            None => out.push_str(piece),
            Some(byte) => push_byte(byte, out),
        }
    }
}

/// The pieces of a text: each encoding with the byte it stands for, and what stands between them.
pub(super) fn pieces(text: &str) -> impl Iterator<Item = (&str, Option<u8>)> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let byte = decoded(rest.as_bytes());
        let next = || memchr::memchr(b'%', rest.as_bytes().get(1..)?).map(|at| at + 1);
        let length = if byte.is_some() { 3 } else { next().unwrap_or(rest.len()) };
        let (piece, after) = rest.split_at_checked(length).filter(|_| length > 0)?;
        rest = after;
        Some((piece, byte))
    })
}

/// The byte that the encoding at the beginning of `text` stands for.
pub(in crate::domain) fn decoded(text: &[u8]) -> Option<u8> {
    let [b'%', high, low, ..] = text else { return None };
    let digit = |b: &u8| char::from(*b).to_digit(16);
    u8::try_from(digit(high)? * 16 + digit(low)?).ok()
}

fn push_byte(byte: u8, out: &mut String) {
    if is_unreserved(byte) && !(byte.is_ascii_hexdigit() && ends_in_stray_percent(out)) {
        out.push(char::from(byte));
    } else {
        out.push_str(percent_encode_byte(byte));
    }
}

fn ends_in_stray_percent(out: &str) -> bool {
    let bytes = out.as_bytes();
    let last = |n: usize| bytes.len().checked_sub(n).and_then(|at| bytes.get(at)).copied();
    last(1) == Some(b'%') || (last(2) == Some(b'%') && last(1).is_some_and(|b| b.is_ascii_hexdigit()))
}

/// RFC 3986 section 2.3.
pub(in crate::domain) fn is_unreserved(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~')
}
