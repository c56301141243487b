//! Keywords from what the author wrote as such, and from the title; the text follows.

use super::tongue::Tongue;
use super::{Find, KEYWORDS, Keyword, KeywordFrom, LONGEST_KEYWORD, Said, chinese, phrases};
use crate::domain::text::cut_at;
use crate::domain::words::{Joint, Word, fold, is_han};

/// Han characters, or words of other scripts, that an entry may have and stay as it was written.
const SHORT: usize = 4;
/// Of more entries than this only those count that occur on the page.
const MANY: usize = 30;
/// Bytes of the page in which they are looked for.
const LOOKED_AT: usize = 256 * 1024;
/// Entries that are looked at.
const ENTRIES: usize = 200;
/// Words of one entry that are looked at.
const WORDS: usize = 200;

/// Collects keywords, each once.
pub(super) struct Entries<'a> {
    said: &'a Said<'a>,
    tongue: &'a Tongue,
    out: Vec<Keyword>,
    /// Those of `out`, folded.
    seen: Vec<String>,
}

impl<'a> Entries<'a> {
    pub fn new(said: &'a Said<'a>, tongue: &'a Tongue) -> Self {
        Self { said, tongue, out: Vec::new(), seen: Vec::new() }
    }

    /// The keywords of the page: what its author names, then its title, then its text.
    pub fn keywords(mut self, content: &[bool], find: Find) -> Vec<Keyword> {
        for from in KeywordFrom::ALL {
            match from {
                KeywordFrom::Meta => self.of_meta(),
                KeywordFrom::Title => self.of_title(),
                KeywordFrom::Text => self.of_text(content),
            }
            if self.is_full() || find == Find::First && !self.out.is_empty() {
                break;
            }
        }
        self.out
    }

    fn is_full(&self) -> bool {
        self.out.len() >= KEYWORDS
    }

    fn of_meta(&mut self) {
        let written = self.said.keywords.iter().map(String::as_str);
        let mut entries: Vec<&str> = written.flat_map(|entry| entry.split('|')).take(ENTRIES).collect();
        // White space parts them only where nothing else does.
        if let [one] = entries[..] {
            entries = one.split_whitespace().take(ENTRIES).collect();
        }
        if entries.len() > MANY {
            let page = self.page();
            entries.retain(|entry| page.contains(fold(entry.trim()).as_ref()));
        }
        for entry in entries {
            if self.is_full() {
                return;
            }
            let entry = trimmed(entry);
            let words = self.tongue.words(entry, WORDS);
            if is_short(&words) {
                self.add(entry, KeywordFrom::Meta);
            } else {
                let parts = words.chunk_by(|_, next| next.joint != Joint::Apart);
                parts.for_each(|part| self.of_part(entry, part, KeywordFrom::Meta));
            }
        }
    }

    /// What the page shows, folded.
    fn page(&self) -> String {
        let mut page = String::new();
        let texts = self.said.title.into_iter().chain(self.said.blocks.iter().map(|block| block.text.as_str()));
        for text in texts {
            let room = LOOKED_AT.saturating_sub(page.len());
            page.push_str(&fold(cut_at(text, room)));
            page.push('\n');
        }
        page
    }

    fn of_title(&mut self) {
        let title = self.said.title.unwrap_or_default();
        let words = self.tongue.words(title, WORDS);
        for part in words.chunk_by(|_, next| next.joint != Joint::Apart) {
            self.of_part(title, self.within(part), KeywordFrom::Title);
        }
    }

    /// What stands between punctuation: whole when it is short, else its words.
    fn of_part(&mut self, text: &str, part: &[Word<'_>], from: KeywordFrom) {
        if is_short(part) {
            return self.add(slice(text, part), from);
        }
        let tongue = self.tongue;
        // Han words stand alone, others with their neighbours.
        for run in part.chunk_by(|word, next| !word.han && !next.han && !tongue.is_stop(word) && !tongue.is_stop(next))
        {
            match run.len() <= SHORT {
                true => self.add(slice(text, run), from),
                false => run.iter().for_each(|word| self.add(word.text, from)),
            }
        }
    }

    /// Without words at its ends that say nothing.
    fn within<'w, 't>(&self, part: &'w [Word<'t>]) -> &'w [Word<'t>] {
        let says = |word: &Word<'_>| !self.tongue.is_stop(word);
        let ends = part.iter().position(says).zip(part.iter().rposition(says));
        ends.and_then(|(first, last)| part.get(first..=last)).unwrap_or_default()
    }

    fn of_text(&mut self, content: &[bool]) {
        let best = match self.tongue.chinese {
            true => chinese::best(self.said, content, self.tongue),
            false => phrases::best(self.said, content, self.tongue),
        };
        for word in best {
            self.add(&word, KeywordFrom::Text);
        }
    }

    fn add(&mut self, word: &str, from: KeywordFrom) {
        let word = trimmed(word);
        if self.is_full() || word.len() > LONGEST_KEYWORD {
            return;
        }
        let Some(folded) = self.tongue.keyword(word) else { return };
        let inside = |whole: &String| from == KeywordFrom::Text && holds(whole, &folded);
        let idle = self.tongue.words(word, SHORT + 1).iter().all(|word| self.tongue.is_stop(word));
        if idle || self.seen.iter().any(|whole| *whole == folded || inside(whole)) {
            return;
        }
        self.seen.push(folded.into_owned());
        self.out.push(Keyword { word: word.to_owned(), from });
    }
}

/// Whether a keyword holds this one, as a part of a run of Han or as whole words.
fn holds(whole: &str, part: &str) -> bool {
    let letter = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() && !is_han(c));
    let bounded = |at: usize| {
        let (before, behind) = (whole.get(..at).unwrap_or_default(), whole.get(at + part.len()..).unwrap_or_default());
        !letter(before.chars().next_back()) && !letter(behind.chars().next())
    };
    whole.match_indices(part).any(|(at, _)| bounded(at))
}

fn is_short(words: &[Word<'_>]) -> bool {
    let han = words.iter().filter(|word| word.han).map(|word| word.text.chars().count()).sum::<usize>();
    han <= SHORT && words.iter().filter(|word| !word.han).count() <= SHORT
}

/// From the first of these words to the last, as written.
fn slice<'t>(text: &'t str, words: &[Word<'_>]) -> &'t str {
    let (Some(first), Some(last)) = (words.first(), words.last()) else { return "" };
    text.get(first.start..last.start + last.text.len()).unwrap_or_default()
}

/// Without quotes, brackets and other punctuation around it.
fn trimmed(entry: &str) -> &str {
    let edge = |c: char| {
        c.is_whitespace()
            || c.is_control()
            || c.is_ascii_punctuation() && !matches!(c, '+' | '#')
            || !is_han(c)
                && matches!(c, '\u{a1}'..='\u{bf}' | '\u{2000}'..='\u{206f}' | '\u{3000}'..='\u{303f}' | '\u{ff00}'..='\u{ff0f}')
    };
    entry.trim_matches(edge)
}
