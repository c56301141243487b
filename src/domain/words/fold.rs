//! One form for words that differ in case, width, marks and composition.

use std::borrow::Cow;

use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::{canonical_combining_class, decompose_canonical};

/// `text` in the form in which words are compared: NFKC (UAX 15), lower case, without marks on Latin, Greek and Cyrillic letters, and
/// without letters that only look like marks (`ß` is `ss`, `ø` is `o`, `ł` is `l`). At most about eleven times as long.
pub fn fold(text: &str) -> Cow<'_, str> {
    if text.is_ascii() {
        let upper = text.bytes().any(|b| b.is_ascii_uppercase());
        return if upper { text.to_ascii_lowercase().into() } else { text.into() };
    }
    if text.chars().all(is_plain) {
        return text.into();
    }
    let mut out = String::with_capacity(text.len());
    let mut bare = false;
    for c in text.nfkc().flat_map(char::to_lowercase) {
        let first = first_of(c);
        if canonical_combining_class(first) != 0 {
            // A mark, or what lower case leaves of one, goes with the letter that lost its own.
            if !bare {
                out.push(c);
            }
            continue;
        }
        bare = loses_marks(first);
        match (bare, spelt(first)) {
            (_, Some(letters)) => out.push_str(letters),
            (true, None) => out.push(first),
            (false, None) => out.push(c),
        }
    }
    out.into()
}

/// Folded already: most of Han, and kana.
fn is_plain(c: char) -> bool {
    matches!(c, '\u{4e00}'..='\u{9fff}' | '\u{3041}'..='\u{3096}' | '\u{30a1}'..='\u{30fa}' | '\u{30fc}' | '0'..='9' | 'a'..='z')
}

/// The letter under the marks.
fn first_of(c: char) -> char {
    let mut first = None;
    decompose_canonical(c, |part| {
        first.get_or_insert(part);
    });
    first.unwrap_or(c)
}

/// Latin, Greek and Cyrillic.
fn loses_marks(c: char) -> bool {
    matches!(c, 'a'..='z' | '\u{df}'..='\u{24f}' | '\u{250}'..='\u{2af}' | '\u{370}'..='\u{3ff}' | '\u{400}'..='\u{52f}'
        | '\u{1e00}'..='\u{1fff}')
}

/// Letters that Unicode does not take apart, and the curved apostrophe.
fn spelt(c: char) -> Option<&'static str> {
    Some(match c {
        'ß' => "ss",
        'æ' => "ae",
        'œ' => "oe",
        'ø' => "o",
        'ł' => "l",
        'đ' | 'ð' => "d",
        'þ' => "th",
        'ı' => "i",
        'ς' => "σ",
        '\u{2019}' => "'",
        _ => return None,
    })
}
