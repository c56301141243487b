//! The query language of the search: what somebody types becomes a tree. Every text has one; only an unknown field is an error, for it would
//! find what nobody asked for. Rules with an example each: docs/search.md and `tests/data/ask.txt`.

mod filter;
mod sought;

use std::fmt;

use crate::base::time::UnixMillis;
use crate::domain::text::cut_at;

pub use filter::Filter;
pub use sought::Sought;

/// Bytes of a query that are read.
pub const MOST_BYTES: usize = 512;
/// Words and filters of a query that are taken.
pub const MOST_WORDS: usize = 32;

/// Bytes shown of what is left out.
const SHOWN: usize = 40;

/// The fields that may stand before a colon, in the order in which they are listed.
pub const FIELDS: [&str; 10] = ["title", "url", "key", "host", "site", "lang", "mime", "links", "since", "before"];

/// What somebody looks for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ask {
    /// All of them must hold.
    pub clauses: Vec<Clause>,
    /// All words that may stand wherever, in a row as they were typed, when they are more than one token: pages that have them so come first.
    pub row: Option<Sought>,
    /// What was typed and not understood, or too much: each a sentence.
    pub left_out: Vec<String>,
}

/// One condition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Clause {
    /// It must not hold.
    pub not: bool,
    /// One of these holds; within it all.
    pub any: Vec<Vec<Part>>,
}

/// A part of a condition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Part {
    /// These words stand in the page, in this field of it.
    Text(Where, Sought),
    /// The page is such a one.
    Filter(Filter),
}

/// In which field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Where {
    /// Wherever.
    Any,
    /// In its title.
    Title,
    /// In its URL.
    Url,
    /// In its keywords.
    Keys,
}

/// A field that there is not.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no field {0:?}; fields are {list}; put what is no field in quotation marks", list = Listed)]
pub struct UnknownField(pub String);

struct Listed;

impl fmt::Display for Listed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&FIELDS.join(", "))
    }
}

impl Ask {
    /// Reads a query; `now` is what durations count back from (`since:7d`).
    ///
    /// # Errors
    /// [`UnknownField`].
    pub fn read(text: &str, now: UnixMillis) -> Result<Self, UnknownField> {
        let mut ask = Self::default();
        let short = cut_at(text, MOST_BYTES);
        if short.len() < text.len() {
            ask.left_out.push(format!("what stands behind the first {MOST_BYTES} bytes"));
        }
        let (mut rest, mut or, mut room, mut row) = (short, false, MOST_WORDS, String::new());
        while let Some((chunk, behind)) = Chunk::next(rest) {
            rest = behind;
            match chunk.value {
                "OR" if chunk.is_bare() => or = true,
                "AND" if chunk.is_bare() => {}
                _ => {
                    let told = ask.left_out.len();
                    let mut parts = ask.parts(&chunk, now)?;
                    if parts.is_empty() && ask.left_out.len() == told && chunk.value.contains(char::is_alphanumeric) {
                        ask.left_out.push(unsought(chunk.value));
                    }
                    if parts.len() > room {
                        ask.left_out.push(format!("what stands behind the first {MOST_WORDS} words"));
                        parts.truncate(room);
                        rest = "";
                    }
                    room -= parts.len();
                    if chunk.field.is_none() && !chunk.not {
                        row.extend([chunk.value, " "]);
                    }
                    ask.add(parts, chunk.not, std::mem::take(&mut or));
                }
            }
        }
        if ask.is_empty() && ask.left_out.is_empty() && !text.trim().is_empty() {
            ask.left_out.push(unsought(short));
        }
        ask.row = Sought::whole(&row).filter(|row| row.terms.len() > 1);
        Ok(ask)
    }

    /// Whether nothing is looked for.
    pub fn is_empty(&self) -> bool {
        self.clauses.is_empty()
    }

    /// The words that a page is to have, wherever they may stand: what is marked in it.
    pub fn wanted(&self) -> impl Iterator<Item = &Sought> {
        let clauses = self.clauses.iter().filter(|clause| !clause.not);
        clauses.flat_map(|clause| clause.any.iter().flatten()).filter_map(|part| match part {
            Part::Text(Where::Any | Where::Title, sought) => Some(sought),
            _ => None,
        })
    }

    fn add(&mut self, parts: Vec<Part>, not: bool, or: bool) {
        if parts.is_empty() {
            return;
        }
        match self.clauses.last_mut().filter(|before| or && !not && !before.not) {
            Some(before) => before.any.push(parts),
            None => self.clauses.push(Clause { not, any: vec![parts] }),
        }
    }

    fn parts(&mut self, chunk: &Chunk<'_>, now: UnixMillis) -> Result<Vec<Part>, UnknownField> {
        let place = match chunk.field {
            None => Where::Any,
            Some(name) => match name.to_ascii_lowercase().as_str() {
                "title" => Where::Title,
                "url" => Where::Url,
                "key" => Where::Keys,
                name => return self.filter(name, chunk, now),
            },
        };
        let sought =
            if chunk.quoted { Sought::whole(chunk.value).into_iter().collect() } else { Sought::words(chunk.value) };
        Ok(sought.into_iter().map(|sought| Part::Text(place, sought)).collect())
    }

    fn filter(&mut self, name: &str, chunk: &Chunk<'_>, now: UnixMillis) -> Result<Vec<Part>, UnknownField> {
        match Filter::read(name, chunk.value, now) {
            None => Err(UnknownField(name.into())),
            Some(Ok(filter)) => Ok(vec![Part::Filter(filter)]),
            Some(Err(wanted)) => {
                self.left_out.push(format!("{name}:{}: expected {wanted}", chunk.value));
                Ok(Vec::new())
            }
        }
    }
}

/// Says of what was typed that no page can have it.
fn unsought(typed: &str) -> String {
    format!("{}: nothing in it can be looked for", cut_at(typed.trim(), SHOWN))
}

/// What stands between white space, or in quotation marks.
struct Chunk<'t> {
    not: bool,
    field: Option<&'t str>,
    quoted: bool,
    value: &'t str,
}

impl<'t> Chunk<'t> {
    /// The next one, and what stands behind it.
    fn next(text: &'t str) -> Option<(Self, &'t str)> {
        let text = text.trim_start();
        if text.is_empty() {
            return None;
        }
        let taken = text.strip_prefix('-').filter(|rest| !rest.starts_with(|c: char| c == '-' || c.is_whitespace()));
        let (not, rest) = taken.map_or((false, text), |rest| (true, rest));
        let (field, rest) = split_field(rest).map_or((None, rest), |(field, rest)| (Some(field), rest));
        if let Some(rest) = rest.strip_prefix(is_quote) {
            let (value, behind) = rest.split_once(is_quote).unwrap_or((rest, ""));
            return Some((Self { not, field, quoted: true, value: bare(field, value) }, behind));
        }
        let end = rest.find(char::is_whitespace).unwrap_or(rest.len());
        let (value, behind) = rest.split_at(end);
        Some((Self { not, field, quoted: false, value: bare(field, value) }, behind))
    }

    fn is_bare(&self) -> bool {
        !self.not && !self.quoted && self.field.is_none()
    }
}

/// A URL without its scheme, which the words of a page's URL are without too; where links lead is asked with it.
fn bare<'t>(field: Option<&str>, value: &'t str) -> &'t str {
    let rest = value.strip_prefix("https://").or_else(|| value.strip_prefix("http://"));
    let is_sought = field.is_none_or(|field| !field.eq_ignore_ascii_case("links"));
    rest.filter(|rest| is_sought && !rest.is_empty()).unwrap_or(value)
}

/// Quotation marks as keyboards of all countries make them.
fn is_quote(c: char) -> bool {
    matches!(c, '"' | '“' | '”' | '„' | '＂')
}

/// A name of two letters or more before a colon, unless what follows says that it is none: `http://`, `std::fs`, `host:80`, `Warning: …`.
/// With a colon of Chinese texts only a field: behind any other name it is the colon of a text.
fn split_field(text: &str) -> Option<(&str, &str)> {
    let at = text.find(|c: char| !c.is_ascii_alphabetic())?;
    let (name, rest) = text.split_at(at);
    let value = rest.strip_prefix([':', '：'])?;
    let first = value.chars().next()?;
    let known = FIELDS.iter().any(|field| field.eq_ignore_ascii_case(name));
    let port = || {
        value
            .split(|c: char| !c.is_ascii_alphanumeric())
            .next()
            .is_some_and(|port| port.bytes().all(|b| b.is_ascii_digit()))
    };
    let none = first.is_whitespace()
        || matches!(first, ':' | '：')
        || !known && (rest.starts_with('：') || value.starts_with("//") || port());
    (at > 1 && !none).then_some((name, value))
}

#[cfg(test)]
mod tests;
