//! Queries. Input: a text.

use super::base::time::UnixMillis;
use super::domain::ask::{Ask, MOST_WORDS, Part};
use super::input::text;

/// A query is a tree within its bounds, or names a field.
pub fn check(data: &[u8]) {
    let text = text(data);
    let Ok(ask) = Ask::read(&text, UnixMillis(1_700_000_000_000)) else { return };
    let parts = ask.clauses.iter().flat_map(|clause| clause.any.iter().flatten());
    assert!(parts.clone().count() <= MOST_WORDS);
    for part in parts {
        if let Part::Text(_, sought) = part {
            assert_eq!(sought.terms.first().map(|(place, _)| *place), Some(0));
            assert!(sought.terms.windows(2).all(|two| two[0].0 < two[1].0), "{sought:?}");
        }
    }
}
