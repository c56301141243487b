//! The shape of a URL: what is left of it without what varies.

use smallvec::SmallVec;
use xxhash_rust::xxh3::Xxh3;

use super::{date, segments};
use crate::domain::url::PageUrl;

/// The shortest text of letters and digits that may be drawn by lot.
const TOKEN: usize = 16;
/// The shortest hexadecimal number that counts as one: that of a short commit.
const HEX: usize = 7;

/// A URL with what varies left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Shape {
    /// Its path with numbers and identifiers folded, and the names of its parameters in order.
    pub key: u64,
    /// The wider subtree it lies in: everything below its first folder, every query of its path, or all that lies at the top.
    pub subtree: u64,
    /// That is the top of the host.
    top: bool,
    /// It without the identifiers of its path and its parameters, when there are any; numbers are kept.
    pub place: Option<u64>,
    /// A page of a calendar.
    pub calendar: bool,
}

impl Shape {
    /// Whether this is the key of the top of the host: whole sites lie there and lead to themselves alone.
    pub(super) fn is_site(&self, key: u64) -> bool {
        self.top && key == self.subtree
    }

    pub(super) fn of(url: &PageUrl) -> Self {
        Self { place: place(url), calendar: date::is_calendar(url), ..Self::kin(url) }
    }

    /// Without what only pages and new URLs are asked for: its place, and whether it is of a calendar.
    pub(super) fn kin(url: &PageUrl) -> Self {
        let names = segments(url);
        let (length, first) = (names.len(), names.first().copied());
        let mut hash = Xxh3::new();
        url.path().split('/').for_each(|segment| fold(segment, &mut hash));
        let subtree = match (url.query(), first) {
            (Some(_), _) => subtree(b"?", &hash),
            (None, Some(first)) if length > 1 => {
                let mut folder = Xxh3::new();
                fold(first, &mut folder);
                subtree(b"/", &folder)
            }
            _ => subtree(b".", &Xxh3::new()),
        };
        let top = url.query().is_none() && length <= 1;
        names_of_params(url).iter().for_each(|name| {
            hash.update(b"?");
            hash.update(name.as_bytes());
        });
        Self { key: hash.digest(), subtree, top, place: None, calendar: false }
    }
}

fn subtree(kind: &[u8], hash: &Xxh3) -> u64 {
    let mut hash = hash.clone();
    hash.update(b"\0");
    hash.update(kind);
    hash.digest()
}

/// The place of a URL with identifiers.
fn place(url: &PageUrl) -> Option<u64> {
    let (mut hash, mut any, mut session_id) = (Xxh3::new(), false, false);
    let mut parameters = |parts: &mut dyn Iterator<Item = &str>, hash: &mut Xxh3| {
        for part in parts {
            let token = part.split_once('=').filter(|(_, value)| is_token(value));
            session_id |= token.is_some();
            hash.update(b";");
            hash.update(token.map_or(part, |(name, _)| name).as_bytes());
        }
    };
    for segment in url.path().split('/') {
        let mut parts = segment.split(';');
        let name = parts.next().unwrap_or_default();
        let identifier = is_identifier(name);
        any |= identifier;
        hash.update(if identifier { b"*" } else { name.as_bytes() });
        parameters(&mut parts, &mut hash);
        hash.update(b"/");
    }
    parameters(&mut url.query().unwrap_or_default().split('&'), &mut hash);
    (any || session_id).then(|| hash.digest())
}

fn names_of_params(url: &PageUrl) -> SmallVec<[&str; 8]> {
    let names = url.query().unwrap_or_default().split('&').map(|part| part.split('=').next().unwrap_or_default());
    let mut names: SmallVec<[&str; 8]> = names.collect();
    names.sort_unstable();
    names.dedup();
    names
}

/// A segment with each run of digits as one, and an identifier drawn by lot as nothing but that. Path parameters (`;v=1`) count
/// by their names.
fn fold(segment: &str, hash: &mut Xxh3) {
    let mut parts = segment.split(';');
    hash.update(b"/");
    let name = parts.next().unwrap_or_default();
    if is_identifier(name) {
        hash.update(b"*")
    } else {
        fold_numbers(name, hash)
    }
    for part in parts {
        hash.update(b";");
        hash.update(part.split('=').next().unwrap_or_default().as_bytes());
    }
}

fn fold_numbers(segment: &str, hash: &mut Xxh3) {
    let mut rest = segment;
    while let Some(at) = rest.bytes().position(|b| b.is_ascii_digit()) {
        let (words, number) = rest.split_at(at);
        hash.update(words.as_bytes());
        hash.update(b"0");
        rest = number.trim_start_matches(|c: char| c.is_ascii_digit());
    }
    hash.update(rest.as_bytes());
}

/// Letters and digits mixed, long enough to be drawn by lot.
pub(super) fn is_token(value: &str) -> bool {
    value.len() >= TOKEN
        && value.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_')
        && value.bytes().any(|b| b.is_ascii_digit())
        && value.bytes().any(|b| b.is_ascii_alphabetic())
}

/// A long token without dashes, a hexadecimal number, a UUID, or base64 for URLs: words with dashes are titles.
fn is_identifier(segment: &str) -> bool {
    // ASP.NET without cookies: `/(S(lit3py55t21z5v55vlm25s55))/`.
    let segment = segment.strip_prefix("(S(").and_then(|rest| rest.strip_suffix("))")).unwrap_or(segment);
    let has = |what: fn(&u8) -> bool| segment.bytes().any(|b| what(&b));
    let hex = segment.bytes().all(|b| b.is_ascii_hexdigit() || b == b'-') && has(u8::is_ascii_digit);
    let dashes = segment.contains(['-', '_']);
    (is_token(segment) && (!dashes || (has(u8::is_ascii_uppercase) && has(u8::is_ascii_lowercase))))
        || (hex && has(u8::is_ascii_alphabetic) && ((!dashes && segment.len() >= HEX) || segment.len() == 36))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::cases::check;
    use crate::domain::url::{Canonicaliser, CleanRules};

    fn shape(tail: &str) -> Shape {
        Shape::of(&Canonicaliser::new(CleanRules::keep_all()).parse(&format!("http://a.test{tail}")).unwrap())
    }

    #[test]
    fn urls_are_of_one_shape_place_or_subtree_as_the_table_says() {
        check(include_str!("../../../tests/data/shapes.txt"), |[what, one, other]| {
            let (one, other) = (shape(one), shape(other));
            let same = match what {
                "shape" => one.key == other.key,
                "place" => one.place.unwrap() == other.place.unwrap(),
                _ => one.subtree == other.subtree,
            };
            [if same { "same" } else { "other" }]
        });
        assert_eq!(shape("/s/7/p").place, None);
        assert_eq!(["/", "/a", "/a/", "/a/b", "/?a=1"].map(|tail| shape(tail).top), [true, true, true, false, false]);
    }
}
