//! How the words of one page are read: its language and script.

use std::borrow::Cow;

use super::{LONGEST_KEYWORD, Said};
use crate::domain::words::{Han, Word, fold, is_han, is_number, is_stop, words};

/// Words of a page that are looked at; what comes behind them adds little.
pub(super) const MOST_WORDS: usize = 20_000;
/// Characters that tell a page's script.
const SAMPLE: usize = 4_000;

/// See the module.
#[derive(Debug)]
pub(super) struct Tongue {
    /// ISO 639.
    pub language: Option<String>,
    han: Han,
    /// Its words are mostly Chinese.
    pub chinese: bool,
}

impl Tongue {
    /// Of a page in this language. Without one, its script decides: kana make it Japanese, and half Han Chinese.
    pub fn of(language: Option<String>, said: &Said<'_>) -> Self {
        let texts = || said.title.into_iter().chain(said.blocks.iter().map(|block| block.text.as_str()));
        let chars = || texts().flat_map(str::chars).filter(|c| c.is_alphabetic()).take(SAMPLE);
        let [all, of_han, kana] = chars().fold([0, 0, 0], |[all, han, kana], c| {
            [all + 1, han + usize::from(is_han(c)), kana + usize::from(matches!(c, '\u{3041}'..='\u{30ff}'))]
        });
        let japanese = match language.as_deref() {
            Some(language) => language == "ja",
            None => kana * 10 > all,
        };
        let chinese =
            !japanese && (matches!(language.as_deref(), Some("zh" | "yue" | "lzh" | "wuu")) || of_han * 2 > all);
        Self { language, han: if japanese { Han::Japanese } else { Han::Chinese }, chinese }
    }

    /// The first words of a text.
    pub fn words<'t>(&self, text: &'t str, most: usize) -> Vec<Word<'t>> {
        words(text, self.han, most)
    }

    /// A folded word that says nothing.
    pub fn stops(&self, folded: &str) -> bool {
        let language = if self.chinese { Some("zh") } else { self.language.as_deref() };
        is_stop(folded, language)
    }

    /// A word that says nothing.
    pub fn is_stop(&self, word: &Word<'_>) -> bool {
        self.stops(&fold(word.text))
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
