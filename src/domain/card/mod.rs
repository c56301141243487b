//! The card of a page: what is said of it where there is room for a few lines only. Title, abstract, ten keywords, language, links.
//!
//! Pure: the same page has the same card wherever it is asked for. Each keyword and the abstract say where they come from. The rules
//! with an example each: docs/card.md.

mod block;
mod chinese;
mod entry;
mod lead;
mod phrases;
mod site;
mod tongue;

use serde::{Deserialize, Serialize};

use crate::base::kinds::names;
use crate::domain::text::cut_at;
use crate::domain::words::language;

pub use block::{Block, Region, letters};

use entry::Entries;
use tongue::Tongue;

/// Keywords at most.
pub const KEYWORDS: usize = 10;
/// The longest keyword, in bytes.
pub const LONGEST_KEYWORD: usize = 64;
/// The longest title, in bytes.
const LONGEST_TITLE: usize = 512;
/// The longest description, in bytes.
const LONGEST_DESCRIPTION: usize = 1_024;

/// What a card is made of.
#[derive(Clone, Copy, Debug, Default)]
pub struct Said<'a> {
    /// The page's canonical URL.
    pub url: &'a str,
    /// Its `<title>`.
    pub title: Option<&'a str>,
    /// Its `<meta name=keywords>`, split at commas.
    pub keywords: &'a [String],
    /// Its `<meta name=description>`.
    pub description: Option<&'a str>,
    /// Its `og:site_name`.
    pub site_name: Option<&'a str>,
    /// Its `og:description`.
    pub og_description: Option<&'a str>,
    /// The language that it declares, or its answer's head (BCP 47).
    pub language: Option<&'a str>,
    /// Its text.
    pub blocks: &'a [Block],
    /// Links on it.
    pub out_links: u32,
}

names! {
    /// How keywords are found.
    #[derive(Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    Find {
        /// From the next source until there are ten.
        Fill = "fill";
        /// From the first source that has any.
        First = "first";
    }
}

names! {
    /// Where a keyword comes from.
    #[derive(Serialize)]
    #[serde(rename_all = "snake_case")]
    KeywordFrom {
        /// `<meta name=keywords>`.
        Meta = "meta";
        /// `<title>`.
        Title = "title";
        /// The words of the page.
        Text = "text";
    }
}

names! {
    /// Where an abstract comes from.
    #[derive(Serialize)]
    #[serde(rename_all = "snake_case")]
    AbstractFrom {
        /// Blocks of content.
        Content = "content";
        /// `<meta name=description>`, else `og:description`.
        Description = "description";
        /// Whatever text the page shows.
        Text = "text";
        /// `<title>`.
        Title = "title";
    }
}

/// A keyword.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Keyword {
    /// As the page writes it, at most [`LONGEST_KEYWORD`] bytes.
    pub word: String,
    /// Where it comes from.
    pub from: KeywordFrom,
}

/// What is said of a page.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Card {
    /// Its title, at most 512 bytes.
    pub title: Option<String>,
    /// Its first sentences, about 300 letters of which a Han character counts two, at most 1,500 bytes.
    #[serde(rename = "abstract")]
    pub lead: Option<String>,
    /// Where that comes from; there when the abstract is.
    pub abstract_from: Option<AbstractFrom>,
    /// What the page says of itself, at most 1,024 bytes.
    pub description: Option<String>,
    /// At most ten, the best of each source first.
    pub keywords: Vec<Keyword>,
    /// ISO 639-1, or else 639-3.
    pub language: Option<String>,
    /// Links on the page: its priority, as the seed has it.
    pub out_links: u32,
}

/// The language of a page, as its card says it.
pub fn language_of(said: &Said<'_>) -> Option<String> {
    language_by(&lead::content(said.blocks), said)
}

fn language_by(content: &[bool], said: &Said<'_>) -> Option<String> {
    language(&lead::sample(content, said), said.language)
}

/// The card of a page.
pub fn card(said: &Said<'_>, find: Find) -> Card {
    let filled = |text: Option<&'_ str>, most| {
        let text = text.map(|text| cut_at(text.trim(), most).trim_end().to_owned());
        text.filter(|text| !text.is_empty())
    };
    let content = lead::content(said.blocks);
    let tongue = Tongue::of(language_by(&content, said));
    let title = filled(said.title, LONGEST_TITLE);
    let description = filled(said.description.or(said.og_description), LONGEST_DESCRIPTION);
    let bare = said.title.map(|title| site::off(title, said));
    let lead = lead::lead(&content, said.blocks, [title.as_deref(), bare], description.as_deref());
    let keywords = Entries::new(&Said { title: bare, ..*said }, &tongue).keywords(&content, find);
    let (lead, abstract_from) = lead.unzip();
    Card { title, lead, abstract_from, description, keywords, language: tongue.language, out_links: said.out_links }
}

#[cfg(test)]
mod tests;
