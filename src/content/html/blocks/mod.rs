//! What a page's card is made of: its text in blocks with their letters, links and region, and what it says of itself for others. Collected
//! from the tokens of the one tokenizer, and only where a card is asked for.

mod regions;

use super::element::Element;
use super::facts::PageFacts;
use super::fold::Fold;
use super::tag::Tag;
use crate::domain::card::{Block, Card, Find, Region, Said, card, language_of, letters};
use regions::Regions;

/// Bytes of text kept of a page.
const MAX_TEXT: usize = 1 << 20;
/// Blocks kept of a page.
const MAX_BLOCKS: usize = 10_000;
/// The most bytes of a language tag or a description.
const MAX_FIELD: usize = 4_096;

/// What a card is made of, beside title, description, keywords and links.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ForCard {
    /// `lang` of `<html>`, else what a `<meta http-equiv=content-language>` says.
    pub language: Option<String>,
    /// `og:site_name`.
    pub site_name: Option<String>,
    /// `og:description`.
    pub description: Option<String>,
    /// Its text, at most 1 MiB in 10,000 blocks.
    pub blocks: Vec<Block>,
}

impl PageFacts {
    /// The card of the page at this canonical URL, when it was read for one.
    pub fn card(&self, url: &str, find: Find) -> Option<Card> {
        Some(card(&self.said(url)?, find))
    }

    /// The language that its card would say.
    pub fn language(&self, url: &str) -> Option<String> {
        language_of(&self.said(url)?)
    }

    fn said<'a>(&'a self, url: &'a str) -> Option<Said<'a>> {
        let ForCard { language, site_name, description, blocks } = self.for_card.as_deref()?;
        Some(Said {
            url,
            title: self.title.as_deref(),
            keywords: &self.keywords,
            description: self.description.as_deref(),
            site_name: site_name.as_deref(),
            og_description: description.as_deref(),
            language: language.as_deref(),
            blocks,
            out_links: u32::try_from(self.links.iter().filter(|link| link.kind.leads()).count()).unwrap_or(u32::MAX),
        })
    }
}

/// Collects [`ForCard`] from tokens, or from plain text.
#[derive(Debug)]
pub struct Blocks {
    made: ForCard,
    /// Bytes that are left.
    room: usize,
    text: Fold,
    linked: u32,
    in_link: bool,
    heading: bool,
    regions: Regions,
    /// Where text beside its base characters goes, while it is in such an element (`rt`, `rp`).
    beside: Option<Beside>,
    /// How base characters of this block are read.
    readings: Fold,
    /// The line of plain text that is not over has nothing but white space.
    blank: bool,
}

/// Text that stands beside its base characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Beside {
    /// How they are read: it has a block of its own, so that they stand in a row.
    Reading,
    /// Brackets for who shows no ruby.
    Bracket,
}

impl Default for Blocks {
    fn default() -> Self {
        Self {
            made: ForCard::default(),
            room: MAX_TEXT,
            text: Fold::new(MAX_TEXT),
            linked: 0,
            in_link: false,
            heading: false,
            regions: Regions::default(),
            beside: None,
            readings: Fold::new(MAX_TEXT),
            blank: true,
        }
    }
}

impl Blocks {
    pub(super) fn start(&mut self, tag: &Tag<'_>) {
        if tag.foreign {
            return;
        }
        self.bound(tag.element);
        match tag.element {
            Element::Reading => self.beside(Beside::Reading),
            Element::RubyBracket => self.beside(Beside::Bracket),
            Element::A => self.in_link = tag.has("href"),
            Element::Heading => self.heading = true,
            Element::Html => keep(&mut self.made.language, tag.attr("lang").or_else(|| tag.attr("xml:lang"))),
            Element::Meta => self.meta(tag),
            _ => self.regions.open(tag),
        }
    }

    pub(super) fn end(&mut self, element: Element) {
        self.bound(element);
        match element {
            Element::A => self.in_link = false,
            Element::Reading | Element::RubyBracket | Element::Ruby => self.beside = None,
            _ => {}
        }
        self.regions.close(element);
    }

    /// Text that is shown.
    pub(super) fn text(&mut self, piece: &str) {
        match self.beside {
            Some(Beside::Reading) => return self.readings.push(piece),
            Some(Beside::Bracket) => return,
            None => {}
        }
        if self.room > 0 {
            self.linked = self.linked.saturating_add(if self.in_link { letters(piece) } else { 0 });
            self.text.push(piece);
        }
    }

    /// The next piece of a plain text, in which blank lines part paragraphs.
    pub fn paragraphs(&mut self, piece: &str) {
        for line in piece.split_inclusive('\n') {
            self.blank &= line.trim_ascii().is_empty();
            self.text(line);
            if line.ends_with('\n') && std::mem::replace(&mut self.blank, true) {
                self.end_block();
            }
        }
    }

    /// The page has ended.
    pub fn finish(mut self) -> Box<ForCard> {
        self.end_block();
        Box::new(self.made)
    }

    /// A tag of this element begins or ends.
    fn bound(&mut self, element: Element) {
        match element {
            Element::Br | Element::Input => self.text.part(),
            Element::Noscript => self.end_block(),
            _ if element.separates_words() => self.end_block(),
            _ => {}
        }
        // A heading that nobody ended ends here.
        self.heading &= element != Element::Heading && !regions::tells(element);
    }

    fn beside(&mut self, what: Beside) {
        self.beside = Some(what);
        self.readings.part();
    }

    /// The text so far is a block, and then what is beside it.
    fn end_block(&mut self) {
        self.beside = None;
        let (text, linked) = (std::mem::take(&mut self.text), std::mem::take(&mut self.linked));
        self.block(text, linked, self.heading, self.regions.now());
        let readings = std::mem::take(&mut self.readings);
        self.block(readings, 0, false, Region::Around);
        (self.text, self.readings) = (Fold::new(self.room), Fold::new(self.room));
    }

    fn block(&mut self, text: Fold, linked: u32, heading: bool, region: Region) {
        if text.is_empty() || self.made.blocks.len() >= MAX_BLOCKS {
            return;
        }
        let (mut text, _) = text.finish();
        text.shrink_to_fit();
        self.room -= self.room.min(text.len());
        if self.made.blocks.len() + 1 >= MAX_BLOCKS {
            self.room = 0;
        }
        let letters = letters(&text);
        self.made.blocks.push(Block { text, letters, linked: linked.min(letters), heading, region });
    }

    fn meta(&mut self, tag: &Tag<'_>) {
        let name = tag.attr("property").or_else(|| tag.attr("name")).or_else(|| tag.attr("http-equiv"));
        let name = name.unwrap_or_default().trim_ascii().to_ascii_lowercase();
        let place = match name.as_str() {
            "og:site_name" => &mut self.made.site_name,
            "og:description" => &mut self.made.description,
            "content-language" => &mut self.made.language,
            _ => return,
        };
        keep(place, tag.attr("content"));
    }
}

/// The first value that is not blank stays.
fn keep(place: &mut Option<String>, value: Option<impl AsRef<str>>) {
    if place.is_none() {
        *place = value.map(|value| Fold::all(value.as_ref(), MAX_FIELD)).filter(|value| !value.is_empty());
    }
}

#[cfg(test)]
mod tests;
