//! What of a text is put into the index, and looked for in it: tokens with their places.
//!
//! Scripts with spaces by words (UAX 29), scripts without by overlapping pairs of characters: so nothing hangs on a segmenter that cuts
//! a text and a question in the same way. Words of Chinese for ranking come beside ([`ranked`]).
//!
//! Pairs hold no sign, and a phrase is sought by every second of them: so what parts two runs without spaces leaves a place empty, and no
//! phrase crosses it. Beside words with spaces that is done by what ends a clause; between two of these by nothing: a period ends
//! abbreviations too, and a comma stands in names.

use unicode_normalization::char::is_combining_mark;
use unicode_segmentation::UnicodeSegmentation;

use super::han::{cut, is_han};
use super::split::signs;

/// A longer token is no word; bytes. Its place stays empty.
pub const LONGEST_TOKEN: usize = 64;
/// Places left out between two blocks: no phrase crosses from one to the next.
pub const BLOCK_GAP: u32 = 10;

/// What a token is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Letters and digits in a row.
    Word,
    /// Several of these that are one by UAX 29 (`node.js`, `foo_bar`, `1.5`), at the place of the first of them.
    Whole,
    /// Two neighbours of a script without spaces.
    Pair,
    /// The last character of such a run.
    Last,
}

/// A piece of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Token<'t> {
    /// At most [`LONGEST_TOKEN`] bytes.
    pub text: &'t str,
    /// Its place: one more than that of the word or character before it, two more behind a sign that parts them.
    pub place: u32,
    /// Its first byte in the text.
    pub start: usize,
    /// The byte behind it. A pair that a line's end parts is longer in the text.
    pub end: usize,
    /// What it is.
    pub kind: Kind,
}

/// The tokens of a text in its [`form`](super::form), from this place on; the place behind the last one. Stops when `each` says so.
pub fn tokens(text: &str, place: u32, each: impl FnMut(Token<'_>) -> bool) -> u32 {
    let mut found = Tokens { text, place, each, before: None, stopped: false };
    if text.is_ascii() {
        found.spaced(0, text.len());
        return found.place;
    }
    let mut at = 0;
    while !found.stopped && at < text.len() {
        let rest = text.get(at..).unwrap_or_default();
        if rest.starts_with(is_unspaced) {
            at = found.unspaced(at);
        } else {
            let end = at + rest.find(is_unspaced).unwrap_or(rest.len());
            found.spaced(at, end);
            at = end;
        }
    }
    found.place
}

/// Words of Chinese, Japanese and Korean for ranking, of a text in its [`form`](super::form): Han by jieba, others as they stand. A word that
/// is longer than [`LONGEST_TOKEN`] bytes is none.
pub fn ranked(text: &str, mut each: impl FnMut(&str)) {
    let mut rest = text;
    while let Some(at) = rest.find(is_joined_or_korean) {
        rest = rest.get(at..).unwrap_or_default();
        let kind = rest.chars().next().map(Row::of);
        let end = rest.find(|c| Some(Row::of(c)) != kind).unwrap_or(rest.len());
        let (run, behind) = rest.split_at(end);
        match kind {
            Some(Row::Han) => cut(run).filter(|word| word.len() <= LONGEST_TOKEN).for_each(&mut each),
            Some(Row::Katakana | Row::Hangul) if run.len() <= LONGEST_TOKEN => each(run),
            _ => {}
        }
        rest = behind;
    }
}

/// A character of a script that is written without spaces: Han, kana, Hangul, Thai, Lao, Khmer, Burmese.
pub fn is_unspaced(c: char) -> bool {
    // Hangul has spaces, and many endings; none of a word is whole between them.
    let listed = || {
        is_joined(c)
            || is_hangul(c)
            || matches!(c, '\u{e01}'..='\u{e3a}' | '\u{e40}'..='\u{e4e}' // Thai
        | '\u{e81}'..='\u{ece}' | '\u{edc}'..='\u{edf}' // Lao
        | '\u{1000}'..='\u{103f}' | '\u{1050}'..='\u{109d}' | '\u{a9e0}'..='\u{a9ef}' | '\u{aa60}'..='\u{aa7f}' // Burmese
        | '\u{1780}'..='\u{17d3}' | '\u{17d7}' | '\u{17dc}' | '\u{17dd}') // Khmer
    };
    c >= '\u{e01}' && listed()
}

/// Han and kana: where a line of source ends between two of them, nothing is written.
fn is_joined(c: char) -> bool {
    is_han(c)
        || matches!(c, '\u{3041}'..='\u{309f}' | '\u{30a1}'..='\u{30fa}' | '\u{30fc}'..='\u{30ff}' | '\u{31f0}'..='\u{31ff}')
}

fn is_hangul(c: char) -> bool {
    matches!(c, '\u{ac00}'..='\u{d7a3}' | '\u{1100}'..='\u{11ff}')
}

/// What ends a clause in a text in its form (Unicode, PropList.txt: those of Terminal_Punctuation that stand beside scripts without spaces).
fn ends_clause(c: char) -> bool {
    matches!(
        c,
        ',' | '.' | ';' | ':' | '!' | '?' | '、' | '。' | '\u{e5a}' | '\u{e5b}' | '\u{104a}' | '\u{104b}' | '\u{17d4}'
            ..='\u{17d6}'
    )
}

/// Whether what stands between two words or runs keeps them apart; `unspaced`: whether the one before, the one behind are of a script
/// without spaces. White space does so within Thai, Lao, Khmer and Burmese, where it ends a clause; not within Korean.
fn parts(before: &str, between: &str, behind: &str, unspaced: [bool; 2]) -> bool {
    match unspaced {
        [false, false] => false,
        [true, true] if between.trim().is_empty() => !before.ends_with(is_hangul) && !behind.starts_with(is_hangul),
        [true, true] => true,
        _ => between.contains(ends_clause),
    }
}

fn is_joined_or_korean(c: char) -> bool {
    !matches!(Row::of(c), Row::Other)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Row {
    Han,
    Katakana,
    Hangul,
    Other,
}

impl Row {
    fn of(c: char) -> Self {
        match c {
            '\u{30a1}'..='\u{30fa}' | '\u{30fc}'..='\u{30ff}' | '\u{31f0}'..='\u{31ff}' => Self::Katakana,
            '\u{ac00}'..='\u{d7a3}' => Self::Hangul,
            c if is_han(c) => Self::Han,
            _ => Self::Other,
        }
    }
}

struct Tokens<'t, F> {
    text: &'t str,
    place: u32,
    each: F,
    /// The byte behind the last word or run, and whether that was of a script without spaces.
    before: Option<(usize, bool)>,
    stopped: bool,
}

impl<F: FnMut(Token<'_>) -> bool> Tokens<'_, F> {
    fn tell(&mut self, text: &str, place: u32, start: usize, end: usize, kind: Kind) {
        if !self.stopped && text.len() <= LONGEST_TOKEN {
            self.stopped = !(self.each)(Token { text, place, start, end, kind });
        }
    }

    /// Leaves a place empty where what stands before these bytes keeps them apart.
    fn begin(&mut self, start: usize, end: usize, unspaced: bool) {
        let piece = |from, to| self.text.get(from..to).unwrap_or_default();
        if let Some((last, before)) = self.before
            && (before || unspaced)
            && parts(piece(0, last), piece(last, start), piece(start, self.text.len()), [before, unspaced])
        {
            self.place = self.place.saturating_add(1);
        }
        self.before = Some((end, unspaced));
    }

    /// The run that begins at this byte; the byte behind it.
    fn unspaced(&mut self, at: usize) -> usize {
        self.begin(at, at, true);
        let (mut start, mut before) = (at, None::<char>);
        let mut end = at;
        let mut chars = self.text.get(at..).unwrap_or_default().char_indices().map(|(i, c)| (at + i, c)).peekable();
        while let Some((here, c)) = chars.next() {
            if !is_unspaced(c) {
                let joins = |(_, next): &(usize, char)| before.is_some_and(is_joined) && is_joined(*next);
                if c == ' ' && chars.peek().is_some_and(joins) {
                    continue;
                }
                break;
            }
            if let Some(before) = before {
                let mut pair = [0; 8];
                let length = before.encode_utf8(&mut pair).len();
                let length = length + c.encode_utf8(pair.get_mut(length..).unwrap_or_default()).len();
                let pair = pair.get(..length).and_then(|pair| std::str::from_utf8(pair).ok()).unwrap_or_default();
                self.tell(pair, self.place, start, here + c.len_utf8(), Kind::Pair);
                self.place = self.place.saturating_add(1);
            }
            (before, start, end) = (Some(c), here, here + c.len_utf8());
            if self.stopped {
                return end;
            }
        }
        self.tell(self.text.get(start..end).unwrap_or_default(), self.place, start, end, Kind::Last);
        self.place = self.place.saturating_add(1);
        self.before = Some((end, true));
        end
    }

    /// A run of scripts with spaces.
    fn spaced(&mut self, at: usize, end: usize) {
        let run = self.text.get(at..end).unwrap_or_default();
        for stretch in stretches(run) {
            let (ascii, mut done) = (run.get(..stretch.end).unwrap_or_default(), stretch.start);
            if stretch.ascii {
                while !self.stopped
                    && let Some((start, length)) = ascii_word(ascii, done)
                {
                    done = self.word(run, start, start + length, at);
                }
                continue;
            }
            let words = run.get(stretch.start..stretch.end).unwrap_or_default().split_word_bound_indices();
            for (start, piece) in words.map(|(start, piece)| (stretch.start + start, piece)) {
                if start >= done && piece.contains(is_part) {
                    done = self.word(run, start, start + piece.len(), at);
                }
                if self.stopped {
                    return;
                }
            }
        }
    }

    /// A word of a run that begins at the byte `at` of the text; the byte behind its signs.
    fn word(&mut self, run: &str, start: usize, end: usize, at: usize) -> usize {
        let word = run.get(start..end).unwrap_or_default();
        let signed = end + signs(run.get(end..).unwrap_or_default(), word);
        self.begin(at + start, at + signed, false);
        if signed > end {
            let word = run.get(start..signed).unwrap_or_default();
            self.tell(word, self.place, at + start, at + signed, Kind::Word);
            self.place = self.place.saturating_add(1);
            return signed;
        }
        if word.bytes().all(|b| b.is_ascii_alphanumeric()) {
            self.tell(word, self.place, at + start, at + end, Kind::Word);
            self.place = self.place.saturating_add(1);
            return end;
        }
        let first = self.place;
        let (mut part, mut parts) = (0, 0);
        while let Some(from) = word.get(part..).and_then(|rest| rest.find(is_part)).map(|from| part + from) {
            let rest = word.get(from..).unwrap_or_default();
            part = from + rest.find(|c| !is_part(c)).unwrap_or(rest.len());
            let (from, to) = (start + from, start + part);
            self.tell(run.get(from..to).unwrap_or_default(), self.place, at + from, at + to, Kind::Word);
            self.place = self.place.saturating_add(1);
            parts += 1;
        }
        if parts > 1 {
            self.tell(word, first, at + start, at + end, Kind::Whole);
        }
        end
    }
}

/// Of what parts of a word consist.
fn is_part(c: char) -> bool {
    c.is_alphanumeric() || !c.is_ascii() && is_combining_mark(c)
}

/// A piece of a text that ends behind a space, or with the text: no word goes over its ends.
pub(super) struct Stretch {
    pub start: usize,
    pub end: usize,
    /// It is ASCII, whose words are found without tables.
    pub ascii: bool,
}

/// A text of scripts with spaces in stretches that are ASCII and such that are not. A space that a mark may stand on ends none.
pub(super) fn stretches(text: &str) -> impl Iterator<Item = Stretch> {
    let bytes = text.as_bytes();
    let ends = |at: usize| bytes.get(at) == Some(&b' ') && bytes.get(at + 1).is_some_and(u8::is_ascii);
    let mut start = 0;
    let mut other = text.bytes().position(|b| !b.is_ascii()).unwrap_or(bytes.len());
    std::iter::from_fn(move || {
        if start >= bytes.len() {
            return None;
        }
        let plain = if other == bytes.len() {
            other
        } else {
            (start..other).rev().find(|at| ends(*at)).map_or(start, |at| at + 1)
        };
        let ascii = plain > start;
        let end =
            if ascii { plain } else { (other..bytes.len()).find(|at| ends(*at)).map_or(bytes.len(), |at| at + 1) };
        let stretch = Stretch { start, end, ascii };
        start = end;
        if !ascii {
            let rest = bytes.get(end..).unwrap_or_default();
            other = end + rest.iter().position(|b| !b.is_ascii()).unwrap_or(rest.len());
        }
        Some(stretch)
    })
}

/// The next word of a text of ASCII from a byte on, as UAX 29 finds it: where it begins, and its bytes.
pub(super) fn ascii_word(text: &str, from: usize) -> Option<(usize, usize)> {
    let bytes = text.as_bytes();
    let inside = |b: &u8| b.is_ascii_alphanumeric() || *b == b'_';
    let mut start = from;
    loop {
        start += bytes.get(start..)?.iter().position(inside)?;
        let mut end = start;
        let mut lettered = false;
        while let Some(b) = bytes.get(end) {
            if inside(b) {
                lettered |= *b != b'_';
            } else if end == start || !joins(bytes, end) {
                break;
            }
            end += 1;
        }
        if lettered {
            return Some((start, end - start));
        }
        start = end;
    }
}

/// A sign between two letters or two digits that does not part them.
fn joins(bytes: &[u8], at: usize) -> bool {
    let both = |kind: fn(&u8) -> bool| {
        let before = at.checked_sub(1).and_then(|before| bytes.get(before));
        before.is_some_and(kind) && bytes.get(at + 1).is_some_and(kind)
    };
    match bytes.get(at) {
        Some(b'.' | b'\'') => both(u8::is_ascii_alphabetic) || both(u8::is_ascii_digit),
        Some(b':') => both(u8::is_ascii_alphabetic),
        Some(b',' | b';') => both(u8::is_ascii_digit),
        _ => false,
    }
}
