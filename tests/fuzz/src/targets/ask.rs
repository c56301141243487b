//! Queries, and words of texts. Input: a text.

use super::base::time::UnixMillis;
use super::domain::ask::{Ask, MOST_WORDS, Part};
use super::domain::words::{Kind, LONGEST_TOKEN, Mapped, Stem, form, ranked, tokens};
use super::input::text;

/// A query is a tree within its bounds, or names a field; tokens lie in order within their text, which keeps its form; what is found in a form
/// has a place in the text.
pub fn check(data: &[u8]) {
    let text = text(data);
    let formed = form(&text);
    assert_eq!(form(&formed), formed);
    let mut before = 0;
    tokens(&formed, 0, |token| {
        assert!(token.text.len() <= LONGEST_TOKEN && !token.text.is_empty());
        assert!(formed.get(token.start..token.end).is_some(), "{token:?}");
        assert!(token.kind == Kind::Whole || token.place >= before, "{token:?}");
        before = token.place;
        for language in ["de", "en", "fr", "ru", "tr", "ar"] {
            Stem::of(language).expect("it has stems").bare(token.text);
        }
        true
    });
    ranked(&formed, |word| assert!(word.len() <= LONGEST_TOKEN && formed.contains(word)));
    let mapped = Mapped::of(&text);
    tokens(&mapped.text, 0, |token| {
        assert!(text.get(mapped.written(token.start, token.end)).is_some_and(|piece| !piece.is_empty()), "{token:?}");
        true
    });
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
