//! How the words of one page are read: its language.

use std::borrow::Cow;

use super::LONGEST_KEYWORD;
use crate::domain::words::{Han, Stops, Word, fold, is_number, says_nothing, words};

/// Words of a page that are looked at; what comes behind them adds little.
pub(super) const MOST_WORDS: usize = 20_000;

/// See the module.
#[derive(Debug)]
pub(super) struct Tongue {
    /// ISO 639.
    pub language: Option<String>,
    han: Han,
    /// It is Chinese.
    pub chinese: bool,
    /// English words stop everywhere: no page of the web is free of them.
    lists: [Option<Stops>; 2],
}

impl Tongue {
    /// Of a page in this language.
    pub fn of(language: Option<String>) -> Self {
        let han = if language.as_deref() == Some("ja") { Han::Japanese } else { Han::Chinese };
        let chinese = matches!(language.as_deref(), Some("zh" | "yue" | "lzh" | "wuu"));
        let lists =
            [Some("en"), if chinese { Some("zh") } else { language.as_deref() }].map(|list| list.and_then(Stops::of));
        Self { language, han, chinese, lists }
    }

    /// The first words of a text.
    pub fn words<'t>(&self, text: &'t str, most: usize) -> Vec<Word<'t>> {
        words(text, self.han, most)
    }

    /// A folded word that says nothing.
    fn stops(&self, folded: &str) -> bool {
        says_nothing(folded) || self.lists.iter().flatten().any(|list| list.holds(folded))
    }

    /// A word that says nothing, or is too long to say anything here.
    pub fn is_stop(&self, word: &Word<'_>) -> bool {
        self.telling(word).is_none()
    }

    /// The folded form of a word that says something.
    pub fn telling<'t>(&self, word: &Word<'t>) -> Option<Cow<'t, str>> {
        let fits = word.text.len() <= LONGEST_KEYWORD;
        fits.then(|| fold(word.text)).filter(|folded| !self.stops(folded))
    }

    /// A word of a page in folded form, when it may be a keyword by itself: two characters at least, at most [`LONGEST_KEYWORD`] bytes,
    /// no number, not one that says nothing.
    pub fn keyword<'t>(&self, word: &'t str) -> Option<Cow<'t, str>> {
        let fits = word.len() <= LONGEST_KEYWORD && word.chars().nth(1).is_some() && !is_number(word);
        fits.then(|| fold(word)).filter(|folded| !self.stops(folded))
    }
}

/// Of two spellings of a word the one that shows how it is written within a sentence: in lower case, when it is ever.
pub(super) fn plainer<'t>(one: &'t str, other: &'t str) -> &'t str {
    let capital = |word: &str| word.contains(char::is_uppercase);
    if capital(one) && !capital(other) { other } else { one }
}
