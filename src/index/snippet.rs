//! Where on a page what was looked for stands: a piece of its text with the words marked.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashSet};
use std::ops::Range;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::domain::ask::Sought;
use crate::domain::card::Block;
use crate::domain::text::cut_at;
use crate::domain::words::{Mapped, Stem, form, tokens};

/// Characters of a snippet.
const LONG: usize = 240;
/// Bytes of a block that are looked at for the piece to show.
const LOOKED_AT: usize = 64 * 1024;

/// A piece of a snippet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Piece {
    /// As the page has it.
    pub text: String,
    /// It was looked for.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub marked: bool,
}

/// What was looked for, and where: bytes of a text, and which of the words.
type Match = (Range<usize>, usize);

/// A token, and the bytes where it stands.
type Stands<'t> = (Cow<'t, str>, Range<usize>);

/// About 240 characters in a row of a page with most of the words that were looked for; none when none is there. `stem`: of the page's
/// language.
pub fn snippet(blocks: &[Block], wanted: &[&Sought], stem: Option<Stem>) -> Option<Vec<Piece>> {
    let marker = Marker { wanted, stem };
    let mut best: Option<(usize, usize)> = None;
    for (nth, block) in blocks.iter().enumerate() {
        let formed = form(cut_at(&block.text, LOOKED_AT));
        if !marker.may(&formed) {
            continue;
        }
        let distinct = marker.matches(&formed).into_iter().map(|(_, which)| which).collect::<HashSet<_>>().len();
        // Sentences before headings: those say more.
        let worth = 2 * distinct + usize::from(distinct > 0 && !block.heading);
        if best.is_none_or(|(most, _)| worth > most) && distinct > 0 {
            best = Some((worth, nth));
        }
        if worth > 2 * wanted.len() {
            break;
        }
    }
    let (_, nth) = best?;
    let mut text = cut_at(&blocks.get(nth)?.text, LOOKED_AT).to_owned();
    let mut behind = blocks.iter().skip(nth + 1);
    while text.chars().count() < LONG / 2
        && let Some(next) = behind.next()
    {
        text.push(' ');
        text.push_str(cut_at(&next.text, LOOKED_AT));
    }
    let mapped = Mapped::of(&text);
    let matches = marker.matches(&mapped.text).into_iter();
    let matches: Vec<Match> = matches.map(|(at, which)| (mapped.written(at.start, at.end), which)).collect();
    let window = window(&text, &matches);
    Some(pieces(&text, window, &matches))
}

struct Marker<'a> {
    wanted: &'a [&'a Sought],
    stem: Option<Stem>,
}

impl Marker<'_> {
    /// Whether one may be in a text, which is in its form.
    fn may(&self, formed: &str) -> bool {
        self.wanted.iter().filter_map(|sought| sought.terms.first().map(|first| (sought, &*first.1))).any(
            |(sought, first)| {
                let bare = self.stem.filter(|_| sought.word && sought.terms.len() == 1).map(|stem| stem.bare(first));
                formed.contains(first) || bare.is_some_and(|bare| formed.contains(&*bare))
            },
        )
    }

    /// Where they are, in order; what lies within another is left out.
    fn matches(&self, formed: &str) -> Vec<Match> {
        let mut at: BTreeMap<u32, Vec<Stands<'_>>> = BTreeMap::new();
        tokens(formed, 0, |token| {
            // A pair over a line's end stands apart in the text.
            let same = formed.get(token.start..token.end).filter(|text| *text == token.text);
            let text = same.map_or_else(|| token.text.to_owned().into(), Cow::from);
            at.entry(token.place).or_default().push((text, token.start..token.end));
            true
        });
        let mut found = Vec::new();
        for (which, sought) in self.wanted.iter().enumerate() {
            let is = |place: u32, term: &str, last: bool| -> Option<Range<usize>> {
                let fits = |text: &str| {
                    text == term || last && sought.open && text.starts_with(term) || self.stems(sought, text, term)
                };
                at.get(&place).into_iter().flatten().find(|(text, _)| fits(text)).map(|(_, range)| range.clone())
            };
            for place in at.keys() {
                let ranges = sought
                    .terms
                    .iter()
                    .enumerate()
                    .map(|(nth, (off, term))| is(place.saturating_add(*off), term, nth + 1 == sought.terms.len()));
                if let Some(ranges) = ranges.collect::<Option<Vec<_>>>()
                    && let (Some(first), Some(last)) = (ranges.first(), ranges.last())
                {
                    found.push((first.start..last.end, which));
                }
            }
        }
        found.sort_by_key(|(range, _)| (range.start, usize::MAX - range.end));
        found
    }

    fn stems(&self, sought: &Sought, text: &str, term: &str) -> bool {
        let stem = self.stem.filter(|_| sought.word && sought.terms.len() == 1);
        stem.is_some_and(|stem| stem.bare(text) == stem.bare(term))
    }
}

/// The bytes of a text that are shown.
fn window(text: &str, matches: &[Match]) -> Range<usize> {
    let starts: Vec<usize> = text.char_indices().map(|(at, _)| at).chain([text.len()]).collect();
    let nth = |byte: usize| starts.partition_point(|at| *at < byte);
    let count = starts.len() - 1;
    if count <= LONG {
        return 0..text.len();
    }
    let chars: Vec<(Range<usize>, usize)> =
        matches.iter().map(|(range, which)| (nth(range.start)..nth(range.end), *which)).collect();
    let reach = |first: &Range<usize>| {
        let within = chars.iter().filter(|(range, _)| range.start >= first.start && range.end <= first.start + LONG);
        let within: Vec<_> = within.collect();
        let distinct = within.iter().map(|(_, which)| which).collect::<HashSet<_>>().len();
        (distinct, within.iter().map(|(range, _)| range.end).max().unwrap_or(first.end))
    };
    let mut best = (0, 0..LONG);
    for (range, _) in chars.iter().take(200) {
        let (distinct, end) = reach(range);
        if distinct > best.0 {
            best = (distinct, range.start..end.max(range.end).min(range.start + LONG));
        }
    }
    let spare = LONG - (best.1.end - best.1.start);
    let begin = best.1.start.saturating_sub(spare / 3);
    let end = (begin + LONG).min(count);
    let begin = end.saturating_sub(LONG).min(begin);
    let at = |nth: usize| starts.get(nth).copied().unwrap_or(text.len());
    whole_words(text, at(begin)..at(end), at(best.1.start)..at(best.1.end))
}

/// The same without words that are cut at its ends, unless those are among what must stay.
fn whole_words(text: &str, shown: Range<usize>, stays: Range<usize>) -> Range<usize> {
    let space = |piece: &str, last: bool| if last { piece.rfind(' ') } else { piece.find(' ').map(|at| at + 1) };
    let mut range = shown.clone();
    if shown.start > 0
        && let Some(at) = text.get(shown.start..stays.start).and_then(|piece| space(piece, false))
    {
        range.start += at;
    }
    if shown.end < text.len()
        && let Some(at) = text.get(stays.end..shown.end).and_then(|piece| space(piece, true))
    {
        range.end = stays.end + at;
    }
    range
}

fn pieces(text: &str, window: Range<usize>, matches: &[Match]) -> Vec<Piece> {
    let mut pieces: Vec<Piece> = Vec::new();
    let mut push = |text: &str, marked| {
        if !text.is_empty() {
            pieces.push(Piece { text: text.into(), marked });
        }
    };
    push(if window.start > 0 { "… " } else { "" }, false);
    let mut at = window.start;
    for (range, _) in matches {
        let (start, end) = (range.start.max(at), range.end.min(window.end));
        if start >= end {
            continue;
        }
        push(text.get(at..start).unwrap_or_default(), false);
        push(text.get(start..end).unwrap_or_default(), true);
        at = end;
    }
    push(text.get(at..window.end).unwrap_or_default(), false);
    push(if window.end < text.len() { " …" } else { "" }, false);
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::time::UnixMillis;
    use crate::domain::ask::Ask;

    fn shown(query: &str, texts: &[&str], language: &str) -> String {
        let blocks: Vec<Block> = texts.iter().map(|text| Block { text: (*text).into(), ..Block::default() }).collect();
        let ask = Ask::read(query, UnixMillis(0)).unwrap();
        let wanted: Vec<&Sought> = ask.wanted().collect();
        let pieces = snippet(&blocks, &wanted, Stem::of(language)).unwrap_or_default();
        pieces.iter().map(|piece| if piece.marked { format!("[{}]", piece.text) } else { piece.text.clone() }).collect()
    }

    #[test]
    fn words_are_marked_as_they_are_written() {
        for (query, texts, language, wanted) in [
            ("spider", &["The Spider spins.", "No."][..], "en", "The [Spider] spins. No."),
            ("spider", &["All Spiders spin."], "en", "All [Spiders] spin."),
            ("spid*", &["All Spiders spin."], "", "All [Spiders] spin."),
            ("\"wolf spider\"", &["A wolf. A Wolf-Spider!"], "en", "A wolf. A [Wolf-Spider]!"),
            ("strasse", &["Die Straße."], "de", "Die [Straße]."),
            ("搜索引擎", &["这是搜索 引擎。"], "zh", "这是[搜索 引擎]。"),
            ("图书馆", &["在圖書館裡"], "zh", "在[圖書館]裡"),
            ("书", &["一本书。"], "zh", "一本[书]。"),
            ("node.js", &["With Node.js here"], "en", "With [Node.js] here"),
            ("absent", &["The spider"], "en", ""),
            ("a b", &["a.", "a b a"], "", "[a] [b] [a]"),
        ] {
            assert_eq!(shown(query, texts, language), wanted, "{query} {texts:?}");
        }
    }

    #[test]
    fn of_a_long_text_the_piece_with_most_words_is_shown() {
        let filler = "nothing to see here ".repeat(40);
        let text = format!("The spider first. {filler} Here a spider spins its web in the dark. {filler}");
        let found = shown("spider web", &[&text], "en");
        assert!(
            found.starts_with("… ") && found.ends_with(" …") && found.contains("[spider] spins its [web]"),
            "{found}"
        );
        assert!(found.chars().count() <= LONG + 4 + 4, "{found}");
        let text = format!("{}{}{}", "无关的文字。".repeat(80), "这里有一个搜索引擎。", "无关的文字。".repeat(80));
        let found = shown("搜索引擎", &[&text], "zh");
        assert!(found.contains("[搜索引擎]") && found.chars().count() <= LONG + 6, "{found}");
    }

    #[test]
    fn a_page_made_to_be_dear_is_shown_in_little_work() {
        let text = "a ".repeat(500_000);
        assert!(!shown("a", &[&text], "en").is_empty());
        let text = "蛛".repeat(300_000);
        assert!(!shown("蛛蛛蛛", &[&text], "zh").is_empty());
    }
}
