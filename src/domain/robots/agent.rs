//! Which groups are ours (RFC 9309, section 2.2.1).

use super::lines::{Field, lines};

/// Whose groups are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Choice<'a> {
    /// Those that name this product token.
    Named(&'a [u8]),
    /// Those for everybody.
    Star,
}

impl Choice<'_> {
    /// Whether a User-agent line with this value speaks of us.
    pub fn is_meant_by(self, value: &[u8]) -> bool {
        match self {
            Self::Named(ours) => product_token(value).eq_ignore_ascii_case(ours),
            Self::Star => is_star(value),
        }
    }
}

/// The first of our `tokens` that any group names, else the groups for everybody, else none. A group that names us and
/// has no rules still counts: it frees us from the rules for everybody.
pub(super) fn choose<'a>(text: &[u8], tokens: &[&'a str]) -> Option<Choice<'a>> {
    let ours: Vec<&[u8]> = tokens.iter().map(|token| product_token(token.trim().as_bytes())).collect();
    let mut best: Option<usize> = None;
    let mut star = false;
    for (field, value) in lines(text).filter_map(|line| line.record()) {
        if field != Field::UserAgent {
            continue;
        }
        star |= is_star(value);
        let named = product_token(value);
        let found = ours.iter().position(|token| !token.is_empty() && token.eq_ignore_ascii_case(named));
        best = match (best, found) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        };
    }
    match best.and_then(|at| ours.get(at)) {
        Some(token) => Some(Choice::Named(token)),
        None => star.then_some(Choice::Star),
    }
}

/// The product token at the start of `value`, so that `FooBot/2.1 (+https://…)` is FooBot. The RFC's token has letters,
/// `-` and `_` only; digits are taken as well, since crawlers have them in their names.
fn product_token(value: &[u8]) -> &[u8] {
    let end = value.iter().position(|b| !(b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_')));
    value.get(..end.unwrap_or(value.len())).unwrap_or_default()
}

/// `*`, alone or before white space.
fn is_star(value: &[u8]) -> bool {
    matches!(value, [b'*', rest @ ..] if rest.first().is_none_or(u8::is_ascii_whitespace))
}
