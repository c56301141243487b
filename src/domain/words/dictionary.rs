//! Words that are added to jieba's dictionary, for texts of a field or place whose names it does not know.

use std::sync::OnceLock;

use jieba_rs::Jieba;
use xxhash_rust::xxh3::xxh3_64;

use super::forms::form;
use super::tokens::LONGEST_TOKEN;

/// Words at most: more than jieba has itself.
pub const MOST_OWN_WORDS: usize = 500_000;
/// The highest frequency that a word may be given.
const MOST_FREQUENT: usize = 1_000_000_000;

/// The one that this process cuts Chinese by.
static OWN: OnceLock<Dictionary> = OnceLock::new();

/// Words, each with its frequency; one without is as frequent as it must be to be cut as one word.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Dictionary(Vec<(String, Option<usize>)>);

/// A line that is no entry of a dictionary.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {why}")]
pub struct BadEntry {
    /// Its number, from 1 on.
    pub line: usize,
    /// What is wrong with it.
    pub why: String,
}

impl Dictionary {
    /// One word a line, as jieba's user dictionaries have them: the word, and if wanted its frequency (of 60 million words) and its part of
    /// speech, which is passed over. Empty lines, and those that begin with `#`, say nothing.
    ///
    /// # Errors
    /// [`BadEntry`]: the first line that is none.
    pub fn read(text: &str) -> Result<Self, BadEntry> {
        let mut words = Vec::new();
        for (at, line) in text.trim_start_matches('\u{feff}').lines().enumerate() {
            let bad = |why: String| BadEntry { line: at + 1, why };
            let mut parts = line.split_whitespace();
            let Some(word) = parts.next().filter(|word| !word.starts_with('#')) else { continue };
            if word.len() > LONGEST_TOKEN {
                return Err(bad(format!("a word of {} bytes; expected at most {LONGEST_TOKEN}", word.len())));
            }
            if words.len() == MOST_OWN_WORDS {
                return Err(bad(format!("more than {MOST_OWN_WORDS} words")));
            }
            let frequency = match parts.next() {
                Some(part) if part.starts_with(|c: char| c.is_ascii_alphabetic()) => None,
                Some(part) => match part.parse() {
                    Ok(frequency @ 1..=MOST_FREQUENT) => Some(frequency),
                    _ => return Err(bad(format!("{part:?} is no frequency; expected 1 to {MOST_FREQUENT}, or none"))),
                },
                None => None,
            };
            words.push((word.to_owned(), frequency));
        }
        Ok(Self(words))
    }

    /// From now on Chinese is cut by jieba's dictionary and this one; the first one of a process counts. To be called before any text is cut.
    pub fn teach(self) {
        let _ = OWN.set(self);
    }

    /// jieba, with these words, each as it is written and as the index has it.
    pub(super) fn taught(&self) -> Jieba {
        let mut jieba = Jieba::new();
        for (word, frequency) in &self.0 {
            let formed = form(word);
            jieba.add_word(word, *frequency, None);
            if formed != *word {
                jieba.add_word(&formed, *frequency, None);
            }
        }
        jieba
    }

    fn digest(&self) -> u64 {
        let lines = self.0.iter().map(|(word, frequency)| format!("{word} {}\n", frequency.unwrap_or(0)));
        xxh3_64(lines.collect::<String>().as_bytes())
    }
}

/// The words of this process.
pub(super) fn own() -> Option<&'static Dictionary> {
    OWN.get().filter(|dictionary| !dictionary.0.is_empty())
}

/// Whether this process was taught words.
pub fn is_taught() -> bool {
    OWN.get().is_some()
}

/// Which words were added: 0 when none were.
pub fn own_words() -> u64 {
    own().map_or(0, Dictionary::digest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_words_with_a_frequency_and_a_part_of_speech_as_jieba_has_them() {
        let text = "\u{feff}云计算 5\n李小福 2 nr\r\n\n# of a field\n#人名 x\n  easy_install   3 eng\n台中\n好用 n\n";
        let read = Dictionary::read(text).unwrap();
        let words =
            [("云计算", Some(5)), ("李小福", Some(2)), ("easy_install", Some(3)), ("台中", None), ("好用", None)];
        assert_eq!(read.0, words.map(|(word, frequency)| (word.to_owned(), frequency)));
        assert_ne!(read.digest(), Dictionary::read("云计算 6").unwrap().digest());
    }

    #[test]
    fn a_line_that_is_none_is_named() {
        let long = "好".repeat(22);
        for (text, line, why) in [
            ("台中\n好用 0", 2, "\"0\" is no frequency"),
            ("好用 -1", 1, "\"-1\" is no frequency"),
            ("好用 9999999999", 1, "\"9999999999\" is no frequency"),
            (&*format!("a\n\n{long}"), 3, "a word of 66 bytes"),
        ] {
            let bad = Dictionary::read(text).unwrap_err();
            assert!(bad.line == line && bad.why.contains(why), "{bad}");
        }
        let many = "好\n".repeat(MOST_OWN_WORDS + 1);
        assert_eq!(Dictionary::read(&many).unwrap_err().line, MOST_OWN_WORDS + 1);
    }

    #[test]
    fn added_words_are_cut_as_one_in_both_ways_of_writing() {
        let dictionary = Dictionary::read("创新办\n狼蛛科動物").unwrap();
        let cut = |jieba: &Jieba, text: &str| {
            jieba.cut(text, true).into_iter().map(|token| token.word.to_owned()).collect::<Vec<_>>()
        };
        let (own, plain) = (dictionary.taught(), Jieba::new());
        for (text, word) in
            [("李小福是创新办主任", "创新办"), ("狼蛛科動物很多", "狼蛛科動物"), ("狼蛛科动物很多", "狼蛛科动物")]
        {
            assert!(cut(&own, text).iter().any(|found| found == word), "{:?}", cut(&own, text));
            assert!(!cut(&plain, text).iter().any(|found| found == word), "{:?}", cut(&plain, text));
        }
    }
}
