//! The text of a page in blocks. Input: a byte of options, a byte for the size of pieces, then the page.

use ::url::Url;

use super::content::html::{Blocks, ExtractOptions, Extractor, ForCard};
use super::domain::card::letters;
use super::input::{byte, pieces, size, text};

/// Bytes of text, and blocks, that are kept of a page (`content::html::blocks`).
const MOST: (usize, usize) = (1 << 20, 10_000);

/// Blocks do not depend on how the page came, of markup and of plain text; they hold folded text with its letters, and there are not too many.
pub fn check(data: &[u8]) {
    let (options, rest) = byte(data);
    let (size, rest) = size(rest);
    let page = text(rest);
    let plain = options & 1 != 0;
    let read = |size: usize| if plain { paragraphs(&page, size) } else { markup(&page, size, options & 2 != 0) };
    let whole = read(page.len().max(1));
    within_limits(&whole);
    assert_eq!(read(size), whole, "in pieces of {size}");
}

fn markup(page: &str, size: usize, xhtml: bool) -> ForCard {
    let url = Url::parse("http://h.test/dir/page.html?q").expect("a good URL");
    let make = if xhtml { Extractor::for_xhtml } else { Extractor::new };
    let mut extractor = make(&url, ExtractOptions { card: true, ..ExtractOptions::default() });
    pieces(page, size).for_each(|piece| extractor.feed(piece));
    *extractor.finish().for_card.expect("it was asked for")
}

fn paragraphs(page: &str, size: usize) -> ForCard {
    let mut blocks = Blocks::default();
    pieces(page, size).for_each(|piece| blocks.paragraphs(piece));
    *blocks.finish()
}

fn within_limits(made: &ForCard) {
    let bytes: usize = made.blocks.iter().map(|block| block.text.len()).sum();
    assert!(bytes <= MOST.0 && made.blocks.len() <= MOST.1);
    for block in &made.blocks {
        let folded: Vec<_> = block.text.split_ascii_whitespace().collect();
        assert!(!folded.is_empty() && folded.join(" ") == block.text, "{block:?}");
        assert!(block.letters == letters(&block.text) && block.linked <= block.letters, "{block:?}");
    }
}
