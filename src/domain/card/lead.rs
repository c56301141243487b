//! The abstract of a page: the first sentences of its content.

use super::block::weight;
use super::{AbstractFrom, Block, Region, Said};
use crate::domain::text::cut_at;
use crate::domain::words::fold;

/// So many letters make a block content.
const CONTENT: u32 = 80;
/// So many are enough when it ends like a sentence.
const SENTENCE: u32 = 40;
/// So many letters of content in `main` or `article`, and what stands outside is left out.
const OF_MAIN: u32 = 200;
/// Letters of an abstract.
const MOST: usize = 300;
/// From so many letters on it may end with a sentence.
const ENOUGH: usize = 200;
/// Its most bytes, whatever its characters are.
const LONGEST: usize = 1_497;
/// Bytes of text that tell a page's language.
const SAMPLE: usize = 2 * 1_024;

/// Which blocks are the page's content: of what is neither around the page nor mostly links the paragraphs, those of `main` or `article`
/// alone when these hold enough. Blocks of forms count only when there are no others.
pub(super) fn content(blocks: &[Block]) -> Vec<bool> {
    let of = |regions: &[Region]| -> Vec<bool> {
        blocks.iter().map(|block| regions.contains(&block.region) && is_content(block)).collect()
    };
    let main = of(&[Region::Main]);
    if chosen(blocks, &main).map(|block| block.letters).fold(0, u32::saturating_add) >= OF_MAIN {
        return main;
    }
    let all = of(&[Region::Main, Region::Body]);
    if all.contains(&true) { all } else { of(&[Region::Form]) }
}

/// The blocks that are content.
fn chosen<'b>(blocks: &'b [Block], content: &[bool]) -> impl Iterator<Item = &'b Block> {
    blocks.iter().zip(content).filter_map(|(block, is)| is.then_some(block))
}

fn is_content(block: &Block) -> bool {
    let few_links = u64::from(block.linked) * 3 < u64::from(block.letters);
    few_links && (block.letters >= CONTENT || block.letters >= SENTENCE && ends_sentence(&block.text))
}

/// The text by which a page's language is told: its content, else whatever it shows, else its title.
pub(super) fn sample(content: &[bool], said: &Said<'_>) -> String {
    let text = joined(chosen(said.blocks, content).map(text), SAMPLE);
    let text = if text.is_empty() { joined(said.blocks.iter().map(self::text), SAMPLE) } else { text };
    if text.is_empty() { cut_at(said.title.unwrap_or_default(), SAMPLE).to_owned() } else { text }
}

fn text(block: &Block) -> &str {
    &block.text
}

/// The abstract and where it is from. The title, whole or without the name of the site, stands beside it and is not said again.
pub(super) fn lead(
    content: &[bool],
    blocks: &[Block],
    titles: [Option<&str>; 2],
    description: Option<&str>,
) -> Option<(String, AbstractFrom)> {
    let [title, _] = titles;
    let titles = titles.map(|title| title.map(fold));
    let new = |text: &&str| !titles.contains(&Some(fold(cut_at(text, LONGEST))));
    let of_content = || shortened(chosen(blocks, content).map(text).filter(new));
    let of_text = || shortened(blocks.iter().map(text).filter(new));
    let from = |text: Option<String>, from| text.map(|text| (text, from));
    from(of_content(), AbstractFrom::Content)
        .or_else(|| from(shortened(description.into_iter()), AbstractFrom::Description))
        .or_else(|| from(of_text(), AbstractFrom::Text))
        .or_else(|| from(shortened(title.into_iter()), AbstractFrom::Title))
}

/// The texts with a space between, until there are more than `most` bytes.
fn joined<'t>(texts: impl Iterator<Item = &'t str>, most: usize) -> String {
    let mut out = String::new();
    for text in texts {
        if !out.is_empty() {
            out.push(' ');
        }
        out.push_str(cut_at(text, most));
        if out.len() > most {
            break;
        }
    }
    out
}

/// The first letters of the texts, to the end of a sentence where one is near.
fn shortened<'t>(texts: impl Iterator<Item = &'t str>) -> Option<String> {
    let mut text = joined(texts, LONGEST * 2);
    let (mut count, mut sentence, mut word) = (0, None, 0);
    let mut cut = None;
    for (at, c) in text.char_indices() {
        count += weight(c);
        let end = at + c.len_utf8();
        if count > MOST || end > LONGEST {
            cut = Some(at);
            break;
        }
        if c.is_whitespace() || weight(c) == 2 {
            word = if c.is_whitespace() { at } else { end };
        }
        if count >= ENOUGH && ends_at(&text, end) {
            sentence = Some(end);
        }
    }
    let Some(cut) = cut else { return Some(text).filter(|text| !text.is_empty()) };
    match sentence {
        Some(end) => text.truncate(end),
        None => {
            text.truncate(if word > 0 { word } else { cut });
            text.truncate(text.trim_end().len());
            text.push('…');
        }
    }
    Some(text)
}

/// The sentence ends of Latin and Han scripts, of Devanagari, Arabic and Ethiopic.
fn is_end(c: char) -> bool {
    matches!(c, '.' | '!' | '?' | '。' | '！' | '？' | '．' | '｡' | '…' | '।' | '؟' | '۔' | '።')
}

/// Quotes and brackets that may close behind it.
fn closes(c: char) -> bool {
    matches!(c, '"' | '\'' | ')' | ']' | '”' | '’' | '»' | '」' | '』' | '）' | '】' | '》')
}

fn ends_sentence(text: &str) -> bool {
    text.trim_end_matches(closes).ends_with(is_end)
}

/// A sentence ends before byte `end`: no closing sign follows, and behind a sign of Latin a space does.
fn ends_at(text: &str, end: usize) -> bool {
    let (Some(before), Some(behind)) = (text.get(..end), text.get(end..)) else { return false };
    let next = behind.chars().next();
    let signs = before.trim_end_matches(closes);
    let spaced = signs.ends_with(['.', '!', '?', '؟', '।']);
    let bounded = |c: char| if spaced { c.is_whitespace() } else { !closes(c) && !is_end(c) };
    signs.ends_with(is_end) && before.len() - signs.len() <= 16 && next.is_none_or(bounded)
}
