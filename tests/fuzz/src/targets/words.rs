//! Words of texts. Input: a text.

use super::domain::words::{
    Dictionary, Han, Kind, LONGEST_TOKEN, Mapped, Stem, TokenList, form, language, ranked, tokens, unpacked, words,
};
use super::input::text;

/// Words that are asked for.
const MOST: usize = 1_000;

/// Tokens lie in order within their text, which keeps its form; what is found in a form has a place in the text; tokens come back from the
/// form in which an index takes them; a dictionary is read or has a line that is none.
pub fn check(data: &[u8]) {
    let text = text(data);
    let formed = form(&text);
    assert_eq!(form(&formed), formed);
    let (mut before, mut list) = (0, TokenList::default());
    tokens(&formed, 0, |token| {
        assert!(token.text.len() <= LONGEST_TOKEN && !token.text.is_empty());
        assert!(formed.get(token.start..token.end).is_some(), "{token:?}");
        assert!(token.kind == Kind::Whole || token.place >= before, "{token:?}");
        before = token.place;
        for language in ["de", "en", "fr", "ru", "tr", "ar"] {
            Stem::of(language).expect("it has stems").bare(token.text);
        }
        list.push(token.text, token.place);
        true
    });
    assert_eq!(unpacked(list.packed()).count(), list.len());
    ranked(&formed, |word| assert!(word.len() <= LONGEST_TOKEN && formed.contains(word)));
    let mapped = Mapped::of(&text);
    tokens(&mapped.text, 0, |token| {
        assert!(text.get(mapped.written(token.start, token.end)).is_some_and(|piece| !piece.is_empty()), "{token:?}");
        true
    });
    for han in [Han::Chinese, Han::Japanese] {
        words(&text, han, MOST).iter().for_each(|word| assert!(text[word.start..].starts_with(word.text), "{word:?}"));
    }
    assert!(language(&text, None).is_none_or(|language| language.len() <= 3));
    if let Err(bad) = Dictionary::read(&text) {
        assert!((1..=text.lines().count()).contains(&bad.line), "{bad}");
    }
}
