//! Character references: `&amp;`, `&#39;`, `&#x27;` and the 2,125 names (WHATWG HTML, 13.2.5.72 to 13.2.5.80).

use std::borrow::Cow;

use html5ever::data::{C1_REPLACEMENTS, NAMED_ENTITIES};
use memchr::memchr;

/// The longest reference looked at, in bytes from its `&`. Names are shorter; a number padded with more zeros than this
/// stays as written, so that a stream need never hold back more.
pub(super) const LONGEST: usize = 48;
const LONGEST_NAME: usize = 31;
const LONGEST_WITHOUT_SEMICOLON: usize = 6;

/// Where a reference stands; in attributes `&copy=1` is not a reference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// Between tags.
    Text,
    /// In an attribute's value.
    Attribute,
}

/// What a reference stands for: some names mean two characters.
type Meaning = (char, Option<char>);

/// Hands `raw` to `sink` in pieces, with references replaced.
pub(super) fn decode(raw: &str, place: Place, mut sink: impl FnMut(&str)) {
    let mut rest = raw;
    while let Some((before, from)) = split_at_ampersand(rest) {
        if !before.is_empty() {
            sink(before);
        }
        let used = match reference(from, place) {
            Some((meaning, used)) => {
                hand_over(meaning, &mut sink);
                used
            }
            None => {
                sink("&");
                1
            }
        };
        rest = from.get(used..).unwrap_or_default();
    }
    if !rest.is_empty() {
        sink(rest);
    }
}

/// Hands `raw` to `sink` in pieces, with references that end in a semicolon replaced, as in XML: those of XML, numbers, and, as
/// feeds have them, HTML's names. What is none stays as written.
pub fn decode_references(raw: &str, mut sink: impl FnMut(&str)) {
    let mut rest = raw;
    while let Some((before, from)) = split_at_ampersand(rest) {
        sink(before);
        let end = from.bytes().take(LONGEST).position(|b| b == b';').map_or(1, |at| at + 1);
        let token = from.get(..end).unwrap_or(from);
        match token.ends_with(';').then(|| reference(token, Place::Text)).flatten() {
            Some((meaning, used)) if used == end => hand_over(meaning, &mut sink),
            _ => sink(token),
        }
        rest = from.get(end..).unwrap_or_default();
    }
    sink(rest);
}

/// An attribute's value as browsers see it.
pub(super) fn attribute(raw: &str) -> Cow<'_, str> {
    let plain = if memchr(b'&', raw.as_bytes()).is_some() {
        let mut out = String::with_capacity(raw.len());
        decode(raw, Place::Attribute, |piece| out.push_str(piece));
        Cow::Owned(out)
    } else {
        Cow::Borrowed(raw)
    };
    // A NUL of the source is replaced (13.2.5.36); a reference cannot make one.
    if memchr(0, plain.as_bytes()).is_some() { Cow::Owned(plain.replace('\0', "\u{fffd}")) } else { plain }
}

/// How many bytes of `text` can be decoded now: a reference that may go on in the next piece is left out.
pub(super) fn complete(text: &[u8]) -> usize {
    let from = text.len().saturating_sub(LONGEST);
    let tail = text.get(from..).unwrap_or_default();
    match memchr::memrchr(b'&', tail) {
        Some(at) if tail.iter().skip(at + 1).all(|b| b.is_ascii_alphanumeric() || *b == b'#') => from + at,
        _ => text.len(),
    }
}

fn split_at_ampersand(s: &str) -> Option<(&str, &str)> {
    memchr(b'&', s.as_bytes()).and_then(|at| s.split_at_checked(at))
}

fn hand_over((first, second): Meaning, sink: &mut impl FnMut(&str)) {
    sink(first.encode_utf8(&mut [0; 4]));
    if let Some(second) = second {
        sink(second.encode_utf8(&mut [0; 4]));
    }
}

/// The reference at the start of `from` (an `&`), with its length.
fn reference(from: &str, place: Place) -> Option<(Meaning, usize)> {
    match from.as_bytes().get(1)? {
        b'#' => numeric(from.as_bytes()),
        b if b.is_ascii_alphanumeric() => named(from, place),
        _ => None,
    }
}

fn named(from: &str, place: Place) -> Option<(Meaning, usize)> {
    let run = from.get(1..)?;
    let length = run.bytes().take(LONGEST_NAME + 1).take_while(u8::is_ascii_alphanumeric).count();
    if run.as_bytes().get(length) == Some(&b';')
        && let Some(meaning) = run.get(..=length).and_then(meaning)
    {
        return Some((meaning, length + 2));
    }
    // No name without semicolon is the beginning of another.
    let mut shorter =
        (2..=length.min(LONGEST_WITHOUT_SEMICOLON)).filter_map(|end| Some((meaning(run.get(..end)?)?, end)));
    let (meaning, end) = shorter.next()?;
    let next = run.as_bytes().get(end);
    if place == Place::Attribute && next.is_some_and(|b| b.is_ascii_alphanumeric() || *b == b'=') {
        return None;
    }
    Some((meaning, end + 1))
}

/// The meaning of a name, which ends in a semicolon but for those that browsers accept without.
fn meaning(name: &str) -> Option<Meaning> {
    match name {
        "amp;" => return Some(('&', None)),
        "lt;" => return Some(('<', None)),
        "gt;" => return Some(('>', None)),
        "quot;" => return Some(('"', None)),
        "nbsp;" => return Some(('\u{a0}', None)),
        _ => {}
    }
    // The table has each beginning of a name too, with zeros.
    let (first, second) = NAMED_ENTITIES.get(name).filter(|(first, _)| *first != 0)?;
    Some((char::from_u32(*first)?, char::from_u32(*second).filter(|c| *c != '\0')))
}

fn numeric(from: &[u8]) -> Option<(Meaning, usize)> {
    let (radix, start) = if matches!(from.get(2), Some(b'x' | b'X')) { (16, 3) } else { (10, 2) };
    let mut value: u32 = 0;
    let mut at = start;
    while let Some(digit) = from.get(at).and_then(|b| char::from(*b).to_digit(radix)) {
        value = value.saturating_mul(radix).saturating_add(digit);
        at += 1;
        if at >= LONGEST {
            return None;
        }
    }
    if at == start {
        return None;
    }
    let semicolon = usize::from(from.get(at) == Some(&b';'));
    Some(((character(value), None), at + semicolon))
}

/// The character of a numeric reference: C1 controls mean windows-1252, what is no character is U+FFFD (13.2.5.80).
fn character(value: u32) -> char {
    match value {
        0 => Some('\u{fffd}'),
        0x80..=0x9f => C1_REPLACEMENTS.get(value as usize - 0x80).copied().flatten(),
        _ => None,
    }
    .or(char::from_u32(value))
    .unwrap_or('\u{fffd}')
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::cases::check;

    fn text(raw: &str) -> String {
        let mut out = String::new();
        decode(raw, Place::Text, |p| out.push_str(p));
        out
    }

    #[test]
    fn the_longest_names_are_as_long_as_is_looked_for() {
        let names = || NAMED_ENTITIES.entries().filter(|(_, means)| means.0 != 0).map(|(name, _)| *name);
        assert_eq!(names().count(), 2_231);
        assert_eq!(names().filter_map(|name| name.strip_suffix(';')).map(str::len).max(), Some(LONGEST_NAME));
        let bare: Vec<&str> = names().filter(|name| !name.ends_with(';')).collect();
        assert_eq!(bare.iter().map(|name| name.len()).max(), Some(LONGEST_WITHOUT_SEMICOLON));
        let begins_another = |name: &&&str| bare.iter().any(|other| other != *name && other.starts_with(**name));
        assert_eq!(bare.iter().find(begins_another), None);
    }

    #[test]
    fn references_in_texts_and_attributes_mean_what_the_table_says() {
        check(include_str!("../../../tests/data/html/references.txt"), |[raw]| {
            [text(raw), attribute(raw).into_owned()]
        });
        let long = format!("&#{}65;", "0".repeat(100));
        assert_eq!(text(&long), long);
    }

    #[test]
    fn only_a_reference_that_may_go_on_is_held_back() {
        for (raw, ready) in [("abc&am", 3), ("abc&amp;", 8), ("&", 0), ("&#x", 0), ("a& ", 3), ("é&", 2), ("", 0)] {
            assert_eq!(complete(raw.as_bytes()), ready, "{raw}");
        }
        let long = format!("&{}", "a".repeat(LONGEST));
        assert_eq!(complete(long.as_bytes()), long.len());
    }

    #[test]
    fn a_nul_in_an_attribute_is_replaced() {
        assert_eq!(attribute("a\0b"), "a\u{fffd}b");
    }
}
