//! Which values look like session ids: long, and of letters and digits as chance mixes them. What names a page is short, a number, or
//! made of words.

/// Letters and digits that a session id has at least (PHP: 22 and more, Java and phpBB: 32, ASP: 24).
const SHORTEST: usize = 16;

/// So often letters and digits follow each other in an unbroken id at least; words with a year have one or two such places.
const CHANGES: usize = 3;

/// The same in one with `-`, `_`, `.` or `,` in it, as names made of several words have them too.
const CHANGES_IN_PARTS: usize = 5;

/// Upper-case letters without a digit that pass for an id (ASP has 24).
const CAPITALS: usize = 20;

/// The lengths of the parts of a UUID (RFC 9562 section 4).
const UUID: [usize; 5] = [8, 4, 4, 4, 12];

/// Whether a parameter's value looks like a session id, whatever its name.
pub(super) fn looks_like_session(value: &str) -> bool {
    let is_separator = |c: char| matches!(c, '-' | '_' | '.' | ',');
    let mut parts = value.split(is_separator);
    let length = value.chars().filter(|c| !is_separator(*c)).count();
    if length < SHORTEST || !parts.clone().all(|part| part.bytes().all(|b| b.is_ascii_alphanumeric())) {
        return false;
    }
    let whole = length == value.len();
    let needed = if whole { CHANGES } else { CHANGES_IN_PARTS };
    let changes: usize = parts.clone().map(changes).sum();
    changes >= needed
        || whole && length >= CAPITALS && value.bytes().all(|b| b.is_ascii_uppercase())
        || is_uuid(value)
        || parts.any(is_hexadecimal)
}

/// Places in a part where a letter stands beside a digit.
fn changes(part: &str) -> usize {
    part.as_bytes().windows(2).filter(|pair| matches!(pair, [a, b] if a.is_ascii_digit() != b.is_ascii_digit())).count()
}

/// A number that only hexadecimal digits can write, long enough by itself (a node's name may follow it).
fn is_hexadecimal(part: &str) -> bool {
    part.len() >= SHORTEST
        && part.bytes().all(|b| b.is_ascii_hexdigit())
        && part.bytes().any(|b| b.is_ascii_digit())
        && part.bytes().any(|b| b.is_ascii_alphabetic())
}

fn is_uuid(value: &str) -> bool {
    value.split('-').map(str::len).eq(UUID) && value.bytes().all(|b| b == b'-' || b.is_ascii_hexdigit())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::cases::check;

    #[test]
    fn a_session_id_is_told_from_what_names_a_page_by_its_value() {
        let rows = check(include_str!("../../../tests/data/sessions.tsv"), |[value]| {
            [if looks_like_session(value) { "session" } else { "page" }]
        });
        assert!(rows > 30);
    }
}
