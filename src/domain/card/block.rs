//! What a page's text is in pieces.

use crate::domain::words::is_han;

/// Where on a page a block stands, by elements and ARIA roles around it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Region {
    /// In `main` or `article`.
    Main,
    /// In none of the others.
    #[default]
    Body,
    /// In `form`, and in none of those of `Around`. Some servers put whole pages into one.
    Form,
    /// In `nav`, `header`, `footer`, `aside` or `noscript`.
    Around,
}

/// The text between two tags that begin or end a block.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Block {
    /// White space folded, not empty.
    pub text: String,
    /// Its [`letters`].
    pub letters: u32,
    /// Those that stand in links.
    pub linked: u32,
    /// It is a heading, `h1` to `h6`.
    pub heading: bool,
    /// Where it stands.
    pub region: Region,
}

impl Block {
    /// It is a heading of the page, not of what stands around it.
    pub(super) fn leads(&self) -> bool {
        self.heading && self.region != Region::Around
    }
}

/// Letters and digits of a text; a Han character counts two.
pub fn letters(text: &str) -> u32 {
    let all: usize = match text.is_ascii() {
        true => text.bytes().filter(u8::is_ascii_alphanumeric).count(),
        false => text.chars().map(weight).sum(),
    };
    u32::try_from(all).unwrap_or(u32::MAX)
}

/// What a character counts.
pub(super) fn weight(c: char) -> usize {
    if is_han(c) { 2 } else { usize::from(c.is_alphanumeric()) }
}
