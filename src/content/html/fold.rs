//! White space folding for text that comes in pieces.

use crate::domain::text::cut_at;

/// Collects text with runs of white space folded to one space, none at the ends, up to a number of bytes.
#[derive(Debug, Default)]
pub(crate) struct Fold {
    text: String,
    max: usize,
    space: bool,
    /// No more is taken.
    pub(crate) full: bool,
}

impl Fold {
    /// Takes at most `max` bytes.
    pub(crate) fn new(max: usize) -> Self {
        Self { max, ..Self::default() }
    }

    /// What `text` is after folding, at most `max` bytes of it.
    pub(crate) fn all(text: &str, max: usize) -> String {
        let mut fold = Self::new(max);
        fold.push(text);
        fold.finish().0
    }

    /// More text; words at the joint grow together unless there is white space.
    pub(crate) fn push(&mut self, text: &str) {
        let mut rest = text;
        while !self.full && !rest.is_empty() {
            let (words, gap) = words(rest);
            self.add(rest.get(..words).unwrap_or_default());
            self.space |= gap > 0;
            rest = rest.get(words + gap..).unwrap_or_default();
        }
    }

    /// What comes next is another word.
    pub(crate) fn part(&mut self) {
        self.space = true;
    }

    /// Bytes in use.
    #[cfg(test)]
    pub(crate) fn held(&self) -> usize {
        self.text.capacity()
    }

    /// There is no text yet.
    pub(crate) fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    /// The text, and whether some had to be left out.
    pub(crate) fn finish(mut self) -> (String, bool) {
        self.text.truncate(self.text.trim_ascii_end().len());
        (self.text, self.full)
    }

    fn add(&mut self, words: &str) {
        if words.is_empty() {
            return;
        }
        if self.space && !self.text.is_empty() && self.text.len() < self.max {
            self.text.push(' ');
        }
        self.space = false;
        let room = self.max - self.text.len().min(self.max);
        if words.len() <= room {
            self.text.push_str(words);
        } else {
            self.text.push_str(cut_at(words, room));
            self.full = true;
        }
    }
}

/// Bytes of the words at the start of `text` that are one space apart, and of the white space after them.
fn words(text: &str) -> (usize, usize) {
    let bytes = text.as_bytes();
    let plain = |at: usize| bytes.get(at).is_some_and(|b| CLASS[*b as usize] == PLAIN);
    let mut at = 0;
    let word = loop {
        match bytes.get(at) {
            None => return (at, 0),
            Some(b) if CLASS[*b as usize] == PLAIN => at += 1,
            Some(b' ') if at > 0 && plain(at + 1) => at += 2,
            Some(_) => match gap(bytes, at) {
                0 => at += 1,
                n => break (at, n),
            },
        }
    };
    let (end, mut width) = word;
    loop {
        match gap(bytes, end + width) {
            0 => return (end, width),
            n => width += n,
        }
    }
}

const PLAIN: u8 = 0;
const SPACE: u8 = 1;
const LEAD: u8 = 2;

/// Bytes that are no white space, that are, and that may begin one of more bytes.
static CLASS: [u8; 256] = {
    let mut class = [PLAIN; 256];
    let spaces = b" \t\n\r\x0b\x0c\0";
    let mut i = 0;
    while i < spaces.len() {
        class[spaces[i] as usize] = SPACE;
        i += 1;
    }
    class[0xc2] = LEAD;
    class[0xe1] = LEAD;
    class[0xe2] = LEAD;
    class[0xe3] = LEAD;
    class
};

/// The width in bytes of the white space character at `at`, 0 if there is none. A NUL counts as white space.
fn gap(bytes: &[u8], at: usize) -> usize {
    let Some(first) = bytes.get(at) else { return 0 };
    if CLASS[*first as usize] == SPACE {
        return 1;
    }
    match (first, bytes.get(at + 1), bytes.get(at + 2)) {
        (0xc2, Some(0x85 | 0xa0), _) => 2,
        (0xe1, Some(0x9a), Some(0x80)) => 3,
        (0xe2, Some(0x80), Some(0x80..=0x8a | 0xa8 | 0xa9 | 0xaf)) => 3,
        (0xe2, Some(0x81), Some(0x9f)) => 3,
        (0xe3, Some(0x80), Some(0x80)) => 3,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn white_space_of_all_kinds_is_folded() {
        assert_eq!(Fold::all(" a\u{a0}\u{3000}\n b\tc　 ", 100), "a b c");
        assert_eq!(Fold::all("", 100), "");
        assert_eq!(Fold::all(" \n ", 100), "");
    }

    #[test]
    fn text_is_cut_between_characters() {
        let mut fold = Fold::new(4);
        fold.push("aé漢");
        assert_eq!(fold.finish(), ("aé".into(), true));
        assert_eq!(Fold::all("ab cd", 3), "ab");
    }

    #[test]
    fn every_unicode_white_space_character_is_known() {
        for c in (0..=0x10_ffff).filter_map(char::from_u32).filter(|c| c.is_whitespace()) {
            assert_eq!(Fold::all(&format!("a{c}b"), 10), "a b", "{c:?}");
        }
    }

    proptest! {
        #[test]
        fn folding_is_splitting_and_joining(text in "[ab\u{e9}\u{3000}\u{a0} \n\u{2003}\u{2010}]{0,40}") {
            let want = text.split_whitespace().collect::<Vec<_>>().join(" ");
            prop_assert_eq!(Fold::all(&text, 1000), want);
        }

        #[test]
        fn the_cut_does_not_depend_on_the_pieces(text in "[a\u{e9}\u{6f22} ]{0,30}", max in 0usize..40, at in 0usize..30) {
            let at = (0..=at.min(text.len())).rev().find(|n| text.is_char_boundary(*n)).unwrap();
            let mut pieces = Fold::new(max);
            pieces.push(&text[..at]);
            pieces.push(&text[at..]);
            let mut whole = Fold::new(max);
            whole.push(&text);
            prop_assert_eq!(pieces.finish(), whole.finish());
        }
    }
}
