//! Phrases of a page in any other language, one to three words that stand together, by a weight of their words: how often they come, in
//! how many blocks, and how early. No corpus is needed (after YAKE!: Campos et al., "YAKE! Keyword extraction from single documents
//! using multiple local features", 2020).

use std::iter::once;

use super::block::letters;
use super::tongue::{MOST_WORDS, Names, Spelling, Table, Told, Tongue};
use super::{KEYWORDS, LONGEST_KEYWORD, Said};
use crate::domain::words::Joint;

/// Words of a phrase.
const LONGEST: usize = 3;
/// Words of fewer letters weigh half.
const SHORT: u32 = 3;
/// No word.
const NONE: u32 = u32::MAX;

/// The words of a phrase.
type Key = [u32; LONGEST];

/// A word where it stands.
#[derive(Clone, Copy)]
struct Token<'t> {
    of: &'t str,
    from: usize,
    to: usize,
    id: u32,
    /// Where its block is among those that are looked at, the title at 0.
    block: u32,
    number: bool,
    /// The token before it is its neighbour.
    follows: bool,
}

/// What is known of a word.
#[derive(Default)]
struct Stat {
    count: u32,
    blocks: u32,
    first: u32,
    last: u32,
    short: bool,
}

/// What is known of a phrase.
struct Phrase<'t> {
    form: Spelling<'t>,
    count: u32,
    titled: bool,
    first: usize,
}

/// The best phrases, best first; ties by their first place.
pub(super) fn best(said: &Said<'_>, content: &[bool], tongue: &Tongue) -> Vec<String> {
    let (tokens, stats, blocks) = tokens(said, content, tongue);
    let weight = |id: &u32| stats.get(*id as usize).map_or(0.0, |stat| stat.weight(blocks));
    let mut scored: Vec<(f64, usize, &str, Key)> = Vec::new();
    for (key, phrase) in phrases(&tokens) {
        let words = key.iter().filter(|id| **id != NONE).count() as f64;
        let known = words < 2.0 || phrase.titled || phrase.count >= 2;
        if !known || words < 2.0 && tongue.keyword(phrase.form.text).is_none() {
            continue;
        }
        let mean = key.iter().filter(|id| **id != NONE).map(weight).sum::<f64>() / words;
        let score = mean * (1.0 + f64::from(phrase.count).ln()) * words.sqrt();
        scored.push((score, phrase.first, phrase.form.text, key));
    }
    scored.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)).then(a.2.len().cmp(&b.2.len())));
    chosen(&scored)
}

/// Ten and ten more, for those that other sources have too; none that is a part of one before it.
fn chosen(scored: &[(f64, usize, &str, Key)]) -> Vec<String> {
    let mut out: Vec<(&str, Key)> = Vec::new();
    for (_, _, form, key) in scored {
        let words = key.split(|id| *id == NONE).next().unwrap_or_default();
        if !out.iter().any(|(_, whole)| whole.windows(words.len().max(1)).any(|part| part == words)) {
            out.push((form, *key));
        }
        if out.len() >= 2 * KEYWORDS {
            break;
        }
    }
    out.into_iter().map(|(form, _)| form.to_owned()).collect()
}

impl Stat {
    fn weight(&self, blocks: u32) -> f64 {
        let often = 1.0 + f64::from(self.count).ln();
        let spread = 0.5 + f64::from(self.blocks) / f64::from(blocks.max(1));
        let early = (3.0 + f64::from(self.first)).ln();
        often * spread / early * if self.short { 0.5 } else { 1.0 }
    }

    fn meet(&mut self, block: u32) {
        self.blocks += u32::from(self.count == 0 || self.last != block);
        self.count += 1;
        self.last = block;
    }
}

/// The words that say something in title, headings and content (in all blocks, when there is no content), what is known of each, and how
/// many blocks these are.
fn tokens<'t>(said: &Said<'t>, content: &[bool], tongue: &Tongue) -> (Vec<Token<'t>>, Vec<Stat>, u32) {
    let all = !content.contains(&true);
    let counted = said.blocks.iter().zip(content).filter(|(block, is_content)| all || block.leads() || **is_content);
    let texts = once(said.title.unwrap_or_default()).chain(counted.map(|(block, _)| block.text.as_str()));
    let mut names = Names::default();
    let (mut out, mut stats, mut room, mut block) = (Vec::new(), Vec::new(), MOST_WORDS, 0);
    for of in texts {
        let words = tongue.words(of, room);
        room -= words.len();
        let mut follows = false;
        for word in words {
            let Some(Told { id, number }) = names.told(&word, tongue) else {
                follows = false;
                continue;
            };
            if id as usize == stats.len() {
                stats.push(Stat { first: block, short: letters(word.text) <= SHORT, ..Stat::default() });
            }
            if let Some(stat) = stats.get_mut(id as usize) {
                stat.meet(block);
            }
            let to = word.start + word.text.len();
            let follows_this = follows && word.joint != Joint::Apart;
            out.push(Token { of, from: word.start, to, id, block, number, follows: follows_this });
            follows = true;
        }
        block += 1;
        if room == 0 {
            break;
        }
    }
    (out, stats, block)
}

fn phrases<'t>(tokens: &[Token<'t>]) -> Table<Key, Phrase<'t>> {
    let mut phrases: Table<Key, Phrase<'t>> = Table::default();
    for (at, first) in tokens.iter().enumerate().filter(|(_, first)| !first.number) {
        let mut key = [NONE; LONGEST];
        let run = tokens.get(at..).unwrap_or_default().iter().take(LONGEST).enumerate();
        for (nth, token) in run.take_while(|(nth, token)| *nth == 0 || token.follows) {
            let form = first.of.get(first.from..token.to).unwrap_or_default();
            if form.len() > LONGEST_KEYWORD {
                break;
            }
            if let Some(place) = key.get_mut(nth) {
                *place = token.id;
            }
            let titled = first.block == 0;
            let new = || Phrase { form: Spelling::new(form), count: 0, titled, first: at };
            let phrase = phrases.entry(key).or_insert_with(new);
            phrase.form.or(form);
            phrase.count += 1;
            phrase.titled |= titled;
        }
    }
    phrases
}
