//! How the words of one page are read: its language.

use std::borrow::Cow;
use std::collections::HashMap;

use foldhash::fast::RandomState;

use super::LONGEST_KEYWORD;
use crate::domain::words::{Han, Stops, Word, fold, is_number, says_nothing, words};

/// Words of a page that are looked at; what comes behind them adds little.
pub(super) const MOST_WORDS: usize = 20_000;

/// A table of what is met on one page.
pub(super) type Table<K, V> = HashMap<K, V, RandomState>;

/// A word that says something, wherever it stands.
#[derive(Clone, Copy)]
pub(super) struct Told {
    /// The number of its folded form.
    pub id: u32,
    /// It is a number.
    pub number: bool,
}

/// The words of a page that say something, numbered by their folded forms from 0 on. What is known of one spelling is found out once.
#[derive(Default)]
pub(super) struct Names<'t> {
    spelt: Table<&'t str, Option<Told>>,
    ids: Table<String, u32>,
}

impl<'t> Names<'t> {
    /// The number of a folded form.
    pub fn id(&mut self, folded: Cow<'_, str>) -> u32 {
        if let Some(id) = self.ids.get(folded.as_ref()) {
            return *id;
        }
        let id = u32::try_from(self.ids.len()).unwrap_or(u32::MAX);
        self.ids.insert(folded.into_owned(), id);
        id
    }

    /// What a word of the page tells, if anything.
    pub fn told(&mut self, word: &Word<'t>, tongue: &Tongue) -> Option<Told> {
        if let Some(known) = self.spelt.get(word.text) {
            return *known;
        }
        let told = tongue.telling(word).map(|folded| Told { id: self.id(folded), number: is_number(word.text) });
        self.spelt.insert(word.text, told);
        told
    }
}

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

/// Of the spellings of a word the one that shows how it is written within a sentence: in lower case, when it is ever; else the first.
#[derive(Clone, Copy)]
pub(super) struct Spelling<'t> {
    pub text: &'t str,
    capital: bool,
}

impl<'t> Spelling<'t> {
    pub fn new(text: &'t str) -> Self {
        Self { text, capital: has_capital(text) }
    }

    /// It is also spelt so.
    pub fn or(&mut self, other: &'t str) {
        if self.capital && !has_capital(other) {
            *self = Self { text: other, capital: false };
        }
    }
}

fn has_capital(word: &str) -> bool {
    word.contains(char::is_uppercase)
}
