//! Words without their endings (Snowball), so that *spiders* finds *spider*.

use std::borrow::Cow;

use frostem::{Algorithm, Stemmer};

/// Languages that have stems, as ISO 639-1 has them.
#[rustfmt::skip]
const LANGUAGES: [(&str, Algorithm); 18] = [
    ("ar", Algorithm::Arabic), ("da", Algorithm::Danish), ("de", Algorithm::German), ("el", Algorithm::Greek),
    ("en", Algorithm::English), ("es", Algorithm::Spanish), ("fi", Algorithm::Finnish), ("fr", Algorithm::French),
    ("hu", Algorithm::Hungarian), ("it", Algorithm::Italian), ("nl", Algorithm::Dutch), ("no", Algorithm::Norwegian),
    ("pl", Algorithm::Polish), ("pt", Algorithm::Portuguese), ("ro", Algorithm::Romanian), ("ru", Algorithm::Russian),
    ("sv", Algorithm::Swedish), ("tr", Algorithm::Turkish),
];

/// The stems of a language.
#[derive(Clone, Copy)]
pub struct Stem {
    language: &'static str,
    stemmer: Stemmer,
}

impl Stem {
    /// Of this language (ISO 639-1), if it has any.
    pub fn of(language: &str) -> Option<Self> {
        // Norwegian has one.
        let language = if matches!(language, "nb" | "nn") { "no" } else { language };
        let (language, algorithm) = LANGUAGES.iter().find(|(known, _)| *known == language)?;
        Some(Self { language, stemmer: Stemmer::new(*algorithm) })
    }

    /// What is left of a word in its [`form`](super::form); the word itself when it has no ending.
    pub fn bare(self, word: &str) -> Cow<'_, str> {
        self.stemmer.stem(word)
    }

    /// A bare word as the index has it: no stem of one language is that of another.
    pub fn term(self, bare: &str) -> String {
        format!("{}:{bare}", self.language)
    }
}
