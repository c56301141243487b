//! Where words begin and end.

use unicode_segmentation::UnicodeSegmentation;

use super::han::{cut, is_han};
use super::tokens::{ascii_word, stretches};

/// What runs of Han characters are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Han {
    /// Chinese: segmented.
    Chinese,
    /// Japanese: kana stand between, so a run is a word.
    Japanese,
}

/// What stands between a word and the one before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Joint {
    /// Nothing.
    None,
    /// White space, or a hyphen between letters.
    Space,
    /// Punctuation, or the text begins here.
    Apart,
}

/// A word of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Word<'t> {
    /// As it is written.
    pub text: &'t str,
    /// Its first byte in the text.
    pub start: usize,
    /// It is Han.
    pub han: bool,
    /// What stands before it.
    pub joint: Joint,
}

/// Words before an apostrophe that are no part of the word behind it (French, Italian, Catalan).
const ELISIONS: [&str; 9] = ["l", "d", "j", "n", "s", "c", "m", "t", "qu"];

/// Bytes of a word with the space behind it, about.
const WORD: usize = 6;

/// The first words of `text`, at most `most`. Names such as `c++`, `c#`, `node.js` and `foo_bar` are whole; `l'eau` is `eau`, `Ada's` is
/// `Ada`. A word holds a letter or a digit.
pub fn words(text: &str, han: Han, most: usize) -> Vec<Word<'_>> {
    let out = Vec::with_capacity(most.min(text.len() / WORD + 1));
    let mut found = Words { text, out, most, joint: Joint::Apart };
    if text.is_ascii() {
        found.spaced(text, 0);
        return found.out;
    }
    let mut at = 0;
    while found.out.len() < most
        && let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty())
    {
        let of_han = rest.starts_with(is_han);
        let end = rest.find(|c| is_han(c) != of_han).unwrap_or(rest.len());
        let run = rest.get(..end).unwrap_or_default();
        match (of_han, han) {
            (true, Han::Japanese) => found.push(run, at, true),
            (true, Han::Chinese) => found.chinese(run, at),
            (false, _) => found.spaced(run, at),
        }
        at += end;
    }
    found.out
}

struct Words<'t> {
    text: &'t str,
    out: Vec<Word<'t>>,
    most: usize,
    /// What stands behind the last word.
    joint: Joint,
}

impl<'t> Words<'t> {
    fn push(&mut self, text: &'t str, start: usize, han: bool) {
        if self.out.len() < self.most && !text.is_empty() {
            self.out.push(Word { text, start, han, joint: self.joint });
            self.joint = Joint::None;
        }
    }

    fn chinese(&mut self, run: &'t str, at: usize) {
        let mut start = at;
        for word in cut(run) {
            self.push(word, start, true);
            start += word.len();
        }
    }

    /// A run without Han.
    fn spaced(&mut self, run: &'t str, at: usize) {
        for stretch in stretches(run) {
            let mut done = stretch.start;
            if stretch.ascii {
                let ascii = run.get(..stretch.end).unwrap_or_default();
                while let Some((from, length)) = ascii_word(ascii, done)
                    && self.out.len() < self.most
                {
                    self.gap(run, done..from, at);
                    done = from + length;
                    done += signs(run.get(done..).unwrap_or_default(), run.get(from..done).unwrap_or_default());
                    self.word(run.get(from..done).unwrap_or_default(), at + from);
                }
                self.gap(run, done..stretch.end, at);
                continue;
            }
            let pieces = run.get(stretch.start..stretch.end).unwrap_or_default().split_word_bound_indices();
            for (from, piece) in pieces.map(|(from, piece)| (stretch.start + from, piece)) {
                if from < done {
                    continue; // a sign that belongs to the word before it
                }
                done = from + piece.len();
                if piece.contains(char::is_alphanumeric) {
                    done += signs(run.get(done..).unwrap_or_default(), piece);
                    self.word(run.get(from..done).unwrap_or_default(), at + from);
                } else {
                    self.between(piece, at + from);
                }
                if self.out.len() >= self.most {
                    return;
                }
            }
        }
    }

    fn word(&mut self, word: &'t str, start: usize) {
        if word.bytes().all(|b| b.is_ascii_alphanumeric()) {
            return self.push(word, start, false);
        }
        let bare = word.strip_suffix("'s").or_else(|| word.strip_suffix("’s")).unwrap_or(word);
        let elided = bare.split_once(['\'', '’']).filter(|(before, _)| {
            before.len() <= 2 && ELISIONS.iter().any(|elision| elision.eq_ignore_ascii_case(before))
        });
        match elided {
            Some((_, rest)) => {
                self.joint = Joint::Apart;
                self.push(rest, start + bare.len() - rest.len(), false);
            }
            None => self.push(bare, start, false),
        }
    }

    /// What stands between two words of ASCII.
    fn gap(&mut self, run: &str, gap: std::ops::Range<usize>, at: usize) {
        if run.get(gap.clone()) == Some(" ") {
            self.joint = self.joint.max(Joint::Space);
            return;
        }
        for from in gap {
            self.between(run.get(from..=from).unwrap_or_default(), at + from);
        }
    }

    fn between(&mut self, piece: &str, at: usize) {
        let joint = if piece.chars().all(char::is_whitespace) || self.is_hyphen(piece, at) {
            Joint::Space
        } else {
            Joint::Apart
        };
        self.joint = self.joint.max(joint);
    }

    fn is_hyphen(&self, piece: &str, at: usize) -> bool {
        let letter = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
        let (before, behind) = (self.text.get(..at), self.text.get(at + piece.len()..));
        matches!(piece, "-" | "\u{2010}" | "・")
            && letter(before.and_then(|text| text.chars().next_back()))
            && letter(behind.and_then(|text| text.chars().next()))
    }
}

/// Bytes of the signs behind a word that belong to it: `++`, and `#` behind a letter or two.
pub(super) fn signs(rest: &str, word: &str) -> usize {
    let length = if rest.starts_with("++") && word.is_ascii() {
        2
    } else if rest.starts_with('#') && word.len() <= 2 && word.bytes().all(|b| b.is_ascii_alphabetic()) {
        1
    } else {
        return 0;
    };
    let more = rest.get(length..).and_then(|rest| rest.chars().next());
    if more.is_some_and(|c| c.is_alphanumeric() || matches!(c, '+' | '#')) { 0 } else { length }
}
