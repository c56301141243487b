//! Words of a Chinese page by their weight: how often they come, counted by place, times how rare they are in Chinese. Neighbours that
//! mostly stand together are one word.

use super::tongue::{MOST_WORDS, Names, Spelling, Table, Tongue};
use super::{Block, KEYWORDS, LONGEST_KEYWORD, Said};
use crate::domain::words::{Joint, fold, is_han, rarity};

/// What a word counts in the title, a heading, the content, and elsewhere.
const PLACES: [f64; 4] = [3.0, 2.0, 1.0, 0.3];
const TITLE: usize = 0;
const HEADING: usize = 1;
/// What a word gains that also stands in the title, a heading, the URL.
const GAINS: [f64; 3] = [0.5, 0.25, 0.25];
/// Neighbours that stand together so often are one word, if that is half the places of the rarer one.
const TOGETHER: u32 = 3;

/// A word where it stands.
#[derive(Clone, Copy)]
struct Token<'t> {
    /// Of which text it is a part, and from which byte to which.
    of: &'t str,
    from: usize,
    to: usize,
    id: u32,
    /// Where it stands, see [`PLACES`].
    place: usize,
    /// The token before it is its neighbour.
    follows: bool,
}

impl<'t> Token<'t> {
    fn text(&self) -> &'t str {
        self.of.get(self.from..self.to).unwrap_or_default()
    }
}

/// What is known of a word.
struct Stat<'t> {
    form: Spelling<'t>,
    count: f64,
    places: [bool; 4],
    first: usize,
}

/// The best words, best first; ties by their first place.
pub(super) fn best(said: &Said<'_>, content: &[bool], tongue: &Tongue) -> Vec<String> {
    let mut names = Names::default();
    let tokens = tokens(said, content, tongue, &mut names);
    let tokens = together(&together(&tokens, &mut names), &mut names);
    let url = fold(&percent_encoding::percent_decode_str(said.url).decode_utf8_lossy()).into_owned();
    let mut scored: Vec<(f64, usize, &str, String)> = Vec::new();
    for stat in stats(&tokens).into_values() {
        let form = stat.form.text;
        let Some(folded) = tongue.keyword(form) else { continue };
        let holds = [stat.places[TITLE], stat.places[HEADING], url.contains(folded.as_ref())];
        let gain: f64 = holds.iter().zip(GAINS).filter(|(holds, _)| **holds).map(|(_, gain)| gain).sum();
        scored.push((stat.count * rarity(form) * (1.0 + gain), stat.first, form, folded.into_owned()));
    }
    scored.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    chosen(scored.into_iter().map(|(_, _, form, folded)| (form, folded)))
}

/// Ten and ten more, for those that other sources have too; none that is a part of one before it.
fn chosen<'t>(scored: impl Iterator<Item = (&'t str, String)>) -> Vec<String> {
    let mut out: Vec<(&str, String)> = Vec::new();
    for (form, folded) in scored {
        let inside = |whole: &String| *whole == folded || folded.contains(is_han) && whole.contains(&folded);
        if !out.iter().any(|(_, whole)| inside(whole)) {
            out.push((form, folded));
        }
        if out.len() >= 2 * KEYWORDS {
            break;
        }
    }
    out.into_iter().map(|(form, _)| form.to_owned()).collect()
}

/// The words that say something, title first.
fn tokens<'t>(said: &Said<'t>, content: &[bool], tongue: &Tongue, names: &mut Names<'t>) -> Vec<Token<'t>> {
    let place = |block: &Block, content: bool| if block.leads() { HEADING } else { 3 - usize::from(content) };
    let blocks = said.blocks.iter().zip(content);
    let placed = blocks.map(|(block, is_content)| (block.text.as_str(), place(block, *is_content)));
    let texts = said.title.map(|title| (title, TITLE)).into_iter().chain(placed);
    let mut out = Vec::new();
    let mut room = MOST_WORDS;
    for (of, place) in texts {
        let words = tongue.words(of, room);
        room -= words.len();
        let mut before: Option<bool> = None;
        for word in words {
            let Some(told) = names.told(&word, tongue) else {
                before = None;
                continue;
            };
            let near = match word.joint {
                Joint::None => true,
                Joint::Space => before == Some(false) && !word.han,
                Joint::Apart => false,
            };
            let to = word.start + word.text.len();
            out.push(Token { of, from: word.start, to, id: told.id, place, follows: near && before.is_some() });
            before = Some(word.han);
        }
        if room == 0 {
            break;
        }
    }
    out
}

/// The same with neighbours that belong together as one; done again, it makes words of up to four.
fn together<'t>(tokens: &[Token<'t>], names: &mut Names<'t>) -> Vec<Token<'t>> {
    let mut counts: Table<u32, u32> = Table::default();
    let mut pairs: Table<(u32, u32), u32> = Table::default();
    for token in tokens {
        *counts.entry(token.id).or_default() += 1;
    }
    let neighbours = || tokens.windows(2).filter_map(|two| if let [a, b] = two { Some((a, b)) } else { None });
    for (a, b) in neighbours().filter(|(_, b)| b.follows) {
        *pairs.entry((a.id, b.id)).or_default() += 1;
    }
    let count = |id| counts.get(&id).copied().unwrap_or_default();
    let belong = |a: &Token<'_>, b: &Token<'_>| {
        let n = pairs.get(&(a.id, b.id)).copied().unwrap_or_default();
        b.follows && n >= TOGETHER && 2 * n >= count(a.id).min(count(b.id)) && b.to - a.from <= LONGEST_KEYWORD
    };
    let mut out = Vec::with_capacity(tokens.len());
    let mut rest = tokens;
    while let [a, behind @ ..] = rest {
        rest = behind;
        let mut made = *a;
        if let [b, behind @ ..] = behind
            && belong(a, b)
        {
            made.to = b.to;
            made.id = names.id(fold(made.text()));
            rest = behind;
        }
        out.push(made);
    }
    out
}

fn stats<'t>(tokens: &[Token<'t>]) -> Table<u32, Stat<'t>> {
    let mut stats: Table<u32, Stat<'t>> = Table::default();
    for (first, token) in tokens.iter().enumerate() {
        let new = || Stat { form: Spelling::new(token.text()), count: 0.0, places: [false; 4], first };
        let stat = stats.entry(token.id).or_insert_with(new);
        stat.form.or(token.text());
        stat.count += PLACES.get(token.place).copied().unwrap_or_default();
        if let Some(place) = stat.places.get_mut(token.place) {
            *place = true;
        }
    }
    stats
}
