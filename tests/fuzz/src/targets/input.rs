//! Several arguments out of one input.

use std::borrow::Cow;

/// The first line, and what follows it.
pub fn line(data: &[u8]) -> (&[u8], &[u8]) {
    let end = data.iter().position(|b| *b == b'\n').unwrap_or(data.len());
    let (line, rest) = data.split_at(end);
    (line, rest.strip_prefix(b"\n").unwrap_or(rest))
}

/// The first byte, 0 if there is none, and what follows it.
pub fn byte(data: &[u8]) -> (u8, &[u8]) {
    data.split_first().map_or((0, data), |(first, rest)| (*first, rest))
}

/// A length between 1 and 16 for pieces, and what follows it.
pub fn size(data: &[u8]) -> (usize, &[u8]) {
    let (first, rest) = byte(data);
    (usize::from(first % 16) + 1, rest)
}

/// The bytes as text, what is no UTF-8 replaced.
pub fn text(data: &[u8]) -> Cow<'_, str> {
    String::from_utf8_lossy(data)
}

/// The text in pieces of at least `size` bytes, cut at characters.
pub fn pieces(text: &str, size: usize) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let end = (size..=rest.len()).find(|at| rest.is_char_boundary(*at)).unwrap_or(rest.len());
        let (piece, after) = rest.split_at(end);
        rest = after;
        (!piece.is_empty()).then_some(piece)
    })
}
