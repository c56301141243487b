//! Path patterns: one spelling for what is the same, and the match itself (RFC 9309, sections 2.2.2 and 2.2.3).
//!
//! Both the rule and the URL are brought into the same spelling first: percent-encoded unreserved characters decoded,
//! everything that is not a URL character encoded, hex digits in upper case. A `*` or `$` of the URL is spelled `%2A`
//! or `%24`, as a rule must write them to mean them; after that a `*` in a pattern can only be the wildcard.
//! Inside a query `:`, `/`, `?` and `@` delimit nothing (RFC 3986, section 3.4), so there their encoded form is decoded
//! too: the RFC's table has `baz=https://foo.bar` and `baz=https%3A%2F%2Ffoo.bar` as the same. This is done for rules
//! that have a `?`, and for the URL when it is held against such a rule.

use memchr::memmem;
use percent_encoding::percent_encode_byte;

use crate::domain::url::percent::{decoded, is_unreserved};

/// How far the spelling is unified.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Spelling {
    /// The same in path and query.
    Plain,
    /// Also delimiters without meaning, after the first `?`.
    Query,
}

/// A rule's pattern, ready to match.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Pattern {
    /// Literal text in the common spelling, with `*` for the wildcard; never two `*` in a row, none at the end of an
    /// open pattern.
    pub text: Vec<u8>,
    /// Ended by `$`: must match to the URL's end.
    pub anchored: bool,
    /// What to hold it against.
    pub spelling: Spelling,
    /// Its length in octets, all wildcards counted: the measure of how specific it is.
    pub octets: u32,
}

impl Pattern {
    /// The pattern a rule's value stands for. `None` when it can match nothing: empty, or beginning with neither `/`
    /// nor `*`.
    pub fn new(value: &[u8]) -> Option<Self> {
        if !matches!(value.first(), Some(b'/' | b'*')) {
            return None;
        }
        let (body, anchored) = match value.strip_suffix(b"$") {
            Some(body) => (body, true),
            None => (value, false),
        };
        let spelling = if memchr::memchr(b'?', body).is_some() { Spelling::Query } else { Spelling::Plain };
        let spelled = spell(body, spelling, true);
        let octets = u32::try_from(spelled.len() + usize::from(anchored)).unwrap_or(u32::MAX);
        let mut text = spelled;
        text.dedup_by(|a, b| *a == b'*' && *b == b'*');
        if !anchored && text.last() == Some(&b'*') {
            text.pop();
        }
        Some(Self { text, anchored, spelling, octets })
    }
}

/// Whether `pattern` (as in [`Pattern::text`]) matches `path` from its start. Each literal piece is looked for once,
/// leftmost first, behind the one before, which finds a match if there is one; so the time is linear in both.
pub(super) fn matches(pattern: &[u8], anchored: bool, path: &[u8]) -> bool {
    let mut pieces = pattern.split(|b| *b == b'*');
    let Some(mut rest) = pieces.next().and_then(|first| path.strip_prefix(first)) else { return false };
    let Some(mut piece) = pieces.next() else { return !anchored || rest.is_empty() };
    for next in pieces {
        match behind(piece, rest) {
            Some(tail) => rest = tail,
            None => return false,
        }
        piece = next;
    }
    if anchored { rest.ends_with(piece) } else { behind(piece, rest).is_some() }
}

fn behind<'a>(piece: &[u8], text: &'a [u8]) -> Option<&'a [u8]> {
    let at = memmem::find(text, piece)?;
    text.get(at.checked_add(piece.len())?..)
}

/// `text` in the common spelling; `wildcards` says whether `*` is one.
pub(super) fn spell(text: &[u8], spelling: Spelling, wildcards: bool) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    let mut in_query = false;
    let mut rest = text;
    while let [octet, tail @ ..] = rest {
        let encoded = decoded(rest);
        rest = tail;
        match (*octet, encoded) {
            (_, Some(value)) => {
                rest = tail.get(2..).unwrap_or_default();
                let loose = in_query && spelling == Spelling::Query && matches!(value, b':' | b'/' | b'?' | b'@');
                if is_unreserved(value) || loose { out.push(value) } else { escape(&mut out, value) }
            }
            (b'*', _) if wildcards => out.push(b'*'),
            (octet, _) if is_url_octet(octet) => {
                in_query |= octet == b'?';
                out.push(octet);
            }
            (octet, _) => escape(&mut out, octet),
        }
    }
    out
}

fn escape(out: &mut Vec<u8>, octet: u8) {
    out.extend_from_slice(percent_encode_byte(octet).as_bytes());
}

/// Octets that stand for themselves: unreserved and reserved ones (RFC 3986, section 2), and a `%` that escapes
/// nothing. Not `*` and `$`, which mean themselves in a rule only when encoded.
fn is_url_octet(octet: u8) -> bool {
    is_unreserved(octet) || b"%:/?#[]@!&'()+,;=".contains(&octet)
}
