//! Character references: `&amp;`, `&#39;`, `&#x27;` and the 2,125 names (WHATWG HTML, 13.2.5.72 to 13.2.5.80).

use std::borrow::Cow;

use memchr::memchr;

use super::entity_names::{NAMED, WITHOUT_SEMICOLON};

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

enum Meaning {
    Name(&'static str),
    Number(char),
}

/// Hands `raw` to `sink` in pieces, with references replaced.
pub(super) fn decode(raw: &str, place: Place, mut sink: impl FnMut(&str)) {
    let mut rest = raw;
    while let Some((before, from)) = split_at_ampersand(rest) {
        if !before.is_empty() {
            sink(before);
        }
        let used = match reference(from.as_bytes(), place) {
            Some((Meaning::Name(text), used)) => {
                sink(text);
                used
            }
            Some((Meaning::Number(c), used)) => {
                sink(c.encode_utf8(&mut [0; 4]));
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
        match token.ends_with(';').then(|| reference(token.as_bytes(), Place::Text)).flatten() {
            Some((meaning, used)) if used == end => match meaning {
                Meaning::Name(text) => sink(text),
                Meaning::Number(c) => sink(c.encode_utf8(&mut [0; 4])),
            },
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

/// The reference at the start of `from` (an `&`), with its length.
fn reference(from: &[u8], place: Place) -> Option<(Meaning, usize)> {
    match from.get(1)? {
        b'#' => numeric(from),
        b if b.is_ascii_alphanumeric() => named(from, place),
        _ => None,
    }
}

fn named(from: &[u8], place: Place) -> Option<(Meaning, usize)> {
    let run = from.get(1..)?;
    let length = run.iter().take(LONGEST_NAME + 1).take_while(|b| b.is_ascii_alphanumeric()).count();
    let name = run.get(..length)?;
    if run.get(length) == Some(&b';')
        && let Some(text) = meaning(name)
    {
        return Some((Meaning::Name(text), length + 2));
    }
    let short = (2..=length.min(LONGEST_WITHOUT_SEMICOLON)).filter_map(|n| name.get(..n)).find(|n| bare(n))?;
    let next = run.get(short.len());
    if place == Place::Attribute && next.is_some_and(|b| b.is_ascii_alphanumeric() || *b == b'=') {
        return None;
    }
    Some((Meaning::Name(meaning(short)?), short.len() + 1))
}

fn meaning(name: &[u8]) -> Option<&'static str> {
    match name {
        b"amp" => return Some("&"),
        b"lt" => return Some("<"),
        b"gt" => return Some(">"),
        b"quot" => return Some("\""),
        b"nbsp" => return Some("\u{a0}"),
        _ => {}
    }
    let at = NAMED.binary_search_by(|(n, _)| n.as_bytes().cmp(name)).ok()?;
    NAMED.get(at).map(|(_, text)| *text)
}

fn bare(name: &[u8]) -> bool {
    WITHOUT_SEMICOLON.binary_search_by(|n| n.as_bytes().cmp(name)).is_ok()
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
    Some((Meaning::Number(character(value)), at + semicolon))
}

/// The character of a numeric reference: C1 controls mean windows-1252, what is no character is U+FFFD (13.2.5.80).
fn character(value: u32) -> char {
    const C1: [char; 32] = [
        '€', '\u{81}', '‚', 'ƒ', '„', '…', '†', '‡', 'ˆ', '‰', 'Š', '‹', 'Œ', '\u{8d}', 'Ž', '\u{8f}', '\u{90}', '‘',
        '’', '“', '”', '•', '–', '—', '˜', '™', 'š', '›', 'œ', '\u{9d}', 'ž', 'Ÿ',
    ];
    match value {
        0 => '\u{fffd}',
        0x80..=0x9f => C1.get(value as usize - 0x80).copied().unwrap_or('\u{fffd}'),
        _ => char::from_u32(value).unwrap_or('\u{fffd}'),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(raw: &str) -> String {
        let mut out = String::new();
        decode(raw, Place::Text, |p| out.push_str(p));
        out
    }

    #[test]
    fn both_tables_are_in_order_and_agree() {
        assert!(NAMED.windows(2).all(|w| w[0].0 < w[1].0));
        assert!(WITHOUT_SEMICOLON.windows(2).all(|w| w[0] < w[1] && !w[1].starts_with(w[0])));
        assert!(WITHOUT_SEMICOLON.iter().all(|n| meaning(n.as_bytes()).is_some()));
        assert_eq!(NAMED.iter().map(|(n, _)| n.len()).max(), Some(LONGEST_NAME));
        assert_eq!(WITHOUT_SEMICOLON.iter().map(|n| n.len()).max(), Some(LONGEST_WITHOUT_SEMICOLON));
    }

    #[test]
    fn a_name_without_semicolon_is_read_in_text_but_not_before_a_letter_in_an_attribute() {
        for (raw, in_text, in_attribute) in [
            ("a&copy=1", "a©=1", "a&copy=1"),
            ("a&copy1", "a©1", "a&copy1"),
            ("a&copy;1", "a©1", "a©1"),
            ("a&copy", "a©", "a©"),
            ("a&copy#", "a©#", "a©#"),
            ("&notit;", "¬it;", "&notit;"),
            ("&notin;", "∉", "∉"),
            ("?a=b&lang=en", "?a=b&lang=en", "?a=b&lang=en"),
            ("&amp;amp;", "&amp;", "&amp;"),
            ("&ampamp;", "&amp;", "&ampamp;"),
            ("&&amp;&", "&&&", "&&&"),
            ("&NotEqualTilde;", "≂̸", "≂̸"),
            ("&CounterClockwiseContourIntegral;", "∳", "∳"),
        ] {
            assert_eq!(text(raw), in_text, "{raw} in text");
            assert_eq!(attribute(raw), in_attribute, "{raw} in an attribute");
        }
    }

    #[test]
    fn numbers_are_characters_or_the_replacement_character() {
        for (raw, want) in [
            ("&#65;&#x41;&#X41", "AAA"),
            ("&#150;", "–"),
            ("&#0;&#xD800;&#x110000;&#99999999999999999999;", "\u{fffd}\u{fffd}\u{fffd}\u{fffd}"),
            ("&#;&#x;&#xg", "&#;&#x;&#xg"),
            ("&#0000000000065;", "A"),
        ] {
            assert_eq!(text(raw), want, "{raw}");
        }
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
