//! The form in which words are put into the index and looked for: folded, and of Han characters that write the same word one.

use std::borrow::Cow;
use std::sync::LazyLock;

use hanconv::RawDictionary;
use unicode_segmentation::UnicodeSegmentation;

use super::fold::fold;

/// Han characters of the planes' first one that have variants; those beyond are so rare that nobody writes them both ways.
const FIRST: u32 = 0x3400;
const LAST: u32 = 0x9fff;

/// New Japanese forms that are other characters of Chinese: 予 gives, 豫 delays.
const OTHERS: [char; 4] = ['予', '缶', '醋', '疏'];

/// Ways of writing a character in Japanese names, each with the usual one, which neither NFKC nor OpenCC's tables make of it.
const VARIANTS: [(char, char); 10] = [
    ('髙', '高'),
    ('嵜', '崎'),
    ('桒', '桑'),
    ('栁', '柳'),
    ('冨', '富'),
    ('濵', '濱'),
    ('邉', '邊'),
    ('渕', '淵'),
    ('逹', '達'),
    ('槗', '橋'),
];

/// By character from [`FIRST`] to [`LAST`]; 110 KB, made when the first Han text comes.
static ONE_FORM: LazyLock<Box<[char]>> = LazyLock::new(one_form);

/// `text` as the index has it: [`fold`], without characters that nobody sees, and each Han character in its simplified form (OpenCC's
/// table; new Japanese forms by way of the traditional ones). 圖, 图 and 図 are 图. At most about eleven times as long.
pub fn form(text: &str) -> Cow<'_, str> {
    let folded = match text.is_ascii() || !text.chars().any(is_unseen) {
        true => fold(text),
        // Before it is folded: a mark goes with its letter, whatever nobody sees between.
        false => fold(&text.chars().filter(|c| !is_unseen(*c)).collect::<String>()).into_owned().into(),
    };
    if folded.is_ascii() || folded.chars().all(|c| one(c) == c) {
        return folded;
    }
    folded.chars().map(one).collect::<String>().into()
}

/// A text in its form that knows where each piece of it stood.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Mapped {
    /// As [`form`] gives it, but for letters that only make one with those beside them.
    pub text: String,
    /// Where a character of the form, and of the text, begin; one each for what is seen as one.
    pairs: Vec<(usize, usize)>,
    length: usize,
}

impl Mapped {
    /// The form of this text.
    pub fn of(text: &str) -> Self {
        let mut mapped = Self { length: text.len(), ..Self::default() };
        for (at, cluster) in text.grapheme_indices(true) {
            mapped.pairs.push((mapped.text.len(), at));
            mapped.text.push_str(&form(cluster));
        }
        mapped
    }

    /// The bytes of the text of which these bytes of the form were made.
    pub fn written(&self, start: usize, end: usize) -> std::ops::Range<usize> {
        let first = self.pairs.partition_point(|(formed, _)| *formed <= start).saturating_sub(1);
        let last = self.pairs.partition_point(|(formed, _)| *formed < end);
        let at = |nth: usize| self.pairs.get(nth).map_or(self.length, |(_, at)| *at);
        at(first)..at(last)
    }
}

/// Soft hyphens, joiners, marks of direction, variation selectors: within words, and no part of them.
fn is_unseen(c: char) -> bool {
    matches!(c, '\u{ad}' | '\u{34f}' | '\u{200b}'..='\u{200f}' | '\u{2060}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}')
}

fn one(c: char) -> char {
    let at = u32::from(c);
    if !(FIRST..=LAST).contains(&at) {
        return match c {
            '\u{fa11}' => '崎', // has no decomposition, though it lies among compatibility characters
            '𠮷' => '吉',
            '𣘺' => '桥',
            other => other,
        };
    }
    ONE_FORM.get((at - FIRST) as usize).copied().unwrap_or(c)
}

fn one_form() -> Box<[char]> {
    let mut forms: Box<[char]> = (FIRST..=LAST).filter_map(char::from_u32).collect();
    let pairs =
        |of: RawDictionary| of.iter().filter_map(|(key, value)| Some((key.chars().next()?, value.chars().next()?)));
    let place = |c: char| u32::from(c).checked_sub(FIRST).map(|at| at as usize);
    let mut taken = std::collections::HashSet::from(OTHERS);
    for (traditional, simplified) in pairs(RawDictionary::TSCharacters) {
        if let Some(form) = place(traditional).and_then(|at| forms.get_mut(at)) {
            *form = simplified;
        }
        taken.extend([traditional, simplified]);
    }
    // New forms that stand for several old ones say nothing of which.
    taken.extend(pairs(RawDictionary::JPShinjitaiCharacters).map(|(new, _)| new));
    for (old, new) in pairs(RawDictionary::JPVariants).filter(|(_, new)| !taken.contains(new)) {
        let simplified = place(old).and_then(|at| forms.get(at)).copied().unwrap_or(old);
        if let Some(form) = place(new).and_then(|at| forms.get_mut(at)) {
            *form = simplified;
        }
    }
    for (variant, usual) in VARIANTS {
        if let Some(form) = place(variant).and_then(|at| forms.get_mut(at)) {
            *form = usual;
        }
    }
    // A form of a form: once is enough for whoever asks.
    let once = forms.clone();
    for form in &mut forms {
        *form = place(*form).and_then(|at| once.get(at)).copied().unwrap_or(*form);
    }
    forms
}
