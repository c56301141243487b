//! Chinese, which is written without spaces: words by jieba (a dictionary of 349,046 words with their frequencies; what is not in it by a
//! hidden Markov model, as in its `cut`). The same words as PyPI's `jieba` 0.42.1 (tests/it/words.rs).

use std::sync::LazyLock;

use jieba_rs::Jieba;

use super::dictionary::{self, Dictionary};

/// Some 40 MB, made of the dictionary within the program, and of words that were added, when the first Chinese text comes.
static JIEBA: LazyLock<Jieba> = LazyLock::new(|| dictionary::own().map_or_else(Jieba::new, Dictionary::taught));

/// All words that the dictionary's frequencies are counted over.
const TOTAL: f64 = 60_101_967.0;
/// A rarer word counts as this rare: the natural logarithm of one in 1.2 million.
const RAREST: f64 = 14.0;
/// Characters that jieba gets at a time: its memory and work are bounded by its block.
const BLOCK: usize = 512;

/// A character of Chinese script (Unicode, script Han), the signs of repetition and of zero among them.
pub fn is_han(c: char) -> bool {
    c >= '々'
        && matches!(c, '\u{4e00}'..='\u{9fff}' | '\u{3400}'..='\u{4dbf}' | '\u{f900}'..='\u{faff}'
            | '\u{20000}'..='\u{323af}' | '々' | '〇')
}

/// The words of a run of Han characters.
pub fn cut(run: &str) -> impl Iterator<Item = &str> {
    blocks(run).flat_map(|block| JIEBA.cut(block, true).into_iter().map(|token| token.word))
}

/// How rare a word is in Chinese: ln(all words / how often this one comes), from 0 to 14. What is not in the dictionary is as rare as its
/// parts make it.
pub fn rarity(word: &str) -> f64 {
    (TOTAL / JIEBA.suggest_freq(word).max(1) as f64).ln().clamp(0.0, RAREST)
}

/// `run` in pieces of at most [`BLOCK`] characters.
fn blocks(run: &str) -> impl Iterator<Item = &str> {
    let mut rest = run;
    std::iter::from_fn(move || {
        let end = rest.char_indices().nth(BLOCK).map_or(rest.len(), |(at, _)| at);
        let (block, behind) = rest.split_at_checked(end)?;
        rest = behind;
        (!block.is_empty()).then_some(block)
    })
}
