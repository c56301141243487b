//! Small things about text that several rooms need.

use std::borrow::Cow;

use memchr::{memchr, memchr2};
use percent_encoding::percent_encode_byte;

/// As much of a text from its begin as fits into `max` bytes, whole characters only.
pub fn cut_at(text: &str, max: usize) -> &str {
    let end = (0..=max.min(text.len())).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
    text.get(..end).unwrap_or_default()
}

/// What stands before and behind the first such ASCII character.
pub fn cut(text: &str, at: u8) -> Option<(&str, &str)> {
    let found = memchr(at, text.as_bytes())?;
    Some((text.get(..found)?, text.get(found + 1..)?))
}

/// The lines of a text, ended by LF, CR or both.
pub fn lines(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = Some(text);
    std::iter::from_fn(move || {
        let text = rest?;
        let Some((line, tail)) = memchr2(b'\n', b'\r', text).and_then(|end| text.split_at_checked(end)) else {
            return rest.take();
        };
        rest = tail.strip_prefix(b"\r\n").or_else(|| tail.get(1..));
        Some(line)
    })
}

/// A URL as its bytes were sent: what is no UTF-8 is percent-encoded byte by byte, as browsers do and curl does by keeping the
/// bytes. Replacement characters would lead to another URL.
pub fn url_text(bytes: &[u8]) -> Cow<'_, str> {
    if let Ok(text) = std::str::from_utf8(bytes) {
        return text.into();
    }
    let mut out = String::with_capacity(bytes.len() * 2);
    for chunk in bytes.utf8_chunks() {
        out.push_str(chunk.valid());
        out.extend(chunk.invalid().iter().map(|byte| percent_encode_byte(*byte)));
    }
    out.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_character_is_cut() {
        for (max, wanted) in [(0, ""), (1, "a"), (2, "a"), (3, "aé"), (4, "aé"), (6, "aé中"), (99, "aé中")] {
            assert_eq!(cut_at("aé中", max), wanted, "{max}");
        }
    }
}
