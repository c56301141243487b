//! In which region of a page the tokens are, without a tree.

use crate::content::html::element::Element;
use crate::content::html::tag::Tag;
use crate::domain::card::Region;

/// Elements within each other that are told apart; deeper ones are counted.
const DEEPEST: usize = 256;

/// Elements whose begin and end tell regions.
const TRACKED: [Element; 9] = [
    Element::Div,
    Element::Article,
    Element::Main,
    Element::Nav,
    Element::Header,
    Element::Footer,
    Element::Aside,
    Element::Form,
    Element::Noscript,
];

/// Whether the tags of this element tell regions.
pub(super) fn tells(element: Element) -> bool {
    TRACKED.contains(&element)
}

/// What an element says of its inside, by its ARIA role or else its name (HTML Accessibility API Mappings, 3.4).
fn region(tag: &Tag<'_>) -> Option<Region> {
    let role = tag.attr("role").unwrap_or_default().trim_ascii().to_ascii_lowercase();
    match role.split_ascii_whitespace().next().unwrap_or_default() {
        "main" | "article" => return Some(Region::Main),
        "form" => return Some(Region::Form),
        "navigation" | "banner" | "contentinfo" | "complementary" | "search" => return Some(Region::Around),
        _ => {}
    }
    match tag.element {
        Element::Article | Element::Main => Some(Region::Main),
        Element::Form => Some(Region::Form),
        Element::Div => None,
        _ => Some(Region::Around),
    }
}

/// The regions that are open: an end tag closes the innermost element of its name with all in it, and nothing when there is none.
#[derive(Debug, Default)]
pub(super) struct Regions {
    /// Kinds, and what they say.
    open: Vec<(usize, Option<Region>)>,
    /// How many of each kind are in `open`, and how many deeper.
    counts: [(u32, u32); TRACKED.len()],
    /// How many say each: main, form, around.
    say: [u32; 3],
}

impl Regions {
    /// A start tag.
    pub(super) fn open(&mut self, tag: &Tag<'_>) {
        let kind = TRACKED.iter().position(|tracked| *tracked == tag.element);
        let Some((kind, (open, deeper))) = kind.and_then(|kind| Some((kind, self.counts.get_mut(kind)?))) else {
            return;
        };
        if self.open.len() >= DEEPEST {
            *deeper = deeper.saturating_add(1);
            return;
        }
        let region = region(tag);
        *open += 1;
        self.open.push((kind, region));
        if let Some(said) = said(region).and_then(|at| self.say.get_mut(at)) {
            *said += 1;
        }
    }

    /// An end tag.
    pub(super) fn close(&mut self, element: Element) {
        let Some(kind) = TRACKED.iter().position(|tracked| *tracked == element) else { return };
        match self.counts.get_mut(kind) {
            Some((_, deeper)) if *deeper > 0 => return *deeper -= 1,
            Some((open, _)) if *open > 0 => {}
            _ => return,
        }
        while let Some((popped, region)) = self.open.pop() {
            if let Some((open, _)) = self.counts.get_mut(popped) {
                *open -= 1;
            }
            if let Some(said) = said(region).and_then(|at| self.say.get_mut(at)) {
                *said -= 1;
            }
            if popped == kind {
                return;
            }
        }
    }

    /// Where the text stands that comes next.
    pub(super) fn now(&self) -> Region {
        match self.say.map(|count| count > 0) {
            [_, _, true] => Region::Around,
            [_, true, _] => Region::Form,
            [true, _, _] => Region::Main,
            [false, false, false] => Region::Body,
        }
    }
}

fn said(region: Option<Region>) -> Option<usize> {
    match region? {
        Region::Main => Some(0),
        Region::Form => Some(1),
        Region::Around => Some(2),
        Region::Body => None,
    }
}
