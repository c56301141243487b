//! Markup to facts. Input: a byte of options, a byte for the size of pieces, then the page.

use ::url::Url;

use super::content::html::{ExtractOptions, Extractor, PageFacts};
use super::domain::card::{Find, KEYWORDS, LONGEST_KEYWORD};
use super::input::{byte, pieces, size, text};

/// A longer reference is no link (`content::html::links`).
const LONGEST_HREF: usize = 8 * 1024;

/// The facts do not depend on how the page came, stay within their limits, and cost linear work.
pub fn check(data: &[u8]) {
    let (options, rest) = byte(data);
    let (size, rest) = size(rest);
    let html = text(rest);
    let opts = ExtractOptions {
        assets: options & 1 != 0,
        max_links: if options & 2 != 0 { 3 } else { 10_000 },
        max_text: if options & 4 != 0 { 20 } else { 1 << 20 },
        card: options & 16 != 0,
        ..ExtractOptions::default()
    };
    let xhtml = options & 8 != 0;
    let whole = read(std::iter::once(&*html), html.len(), xhtml, &opts);
    within_limits(&whole, &opts);
    assert_eq!(read(pieces(&html, size), html.len(), xhtml, &opts), whole, "in pieces of {size}");
    Find::ALL.iter().for_each(|find| card(&whole, *find));
}

fn read<'a>(html: impl Iterator<Item = &'a str>, length: usize, xhtml: bool, opts: &ExtractOptions) -> PageFacts {
    let page = Url::parse("http://h.test/dir/page.html?q").expect("a good URL");
    let make = if xhtml { Extractor::for_xhtml } else { Extractor::new };
    let mut extractor = make(&page, opts.clone());
    html.for_each(|piece| extractor.feed(piece));
    assert!(extractor.work() <= 4 * length as u64, "{} for {length} bytes", extractor.work());
    extractor.finish()
}

/// A card is within its bounds, and again the same.
fn card(facts: &PageFacts, find: Find) {
    let card = facts.card("http://h.test/dir/page.html?q", find);
    assert_eq!(card, facts.card("http://h.test/dir/page.html?q", find));
    let Some(card) = card else { return };
    assert!(card.lead.is_none_or(|lead| lead.len() <= 1_500) && card.keywords.len() <= KEYWORDS);
    assert!(card.keywords.iter().all(|key| key.word.len() <= LONGEST_KEYWORD));
}

fn within_limits(facts: &PageFacts, opts: &ExtractOptions) {
    // References are counted here, URLs later: of one URL there may be several spellings, and repeats.
    assert!(facts.links.len() <= 5 * opts.max_links && facts.text.len() <= opts.max_text);
    for link in &facts.links {
        assert!((1..=LONGEST_HREF).contains(&link.href.len()));
        assert_eq!(link.href.trim_matches(|c: char| c <= ' '), link.href);
        assert!(link.text.chars().count() <= 200);
        folded(&link.text);
    }
    folded(&facts.text);
    [&facts.title, &facts.description].into_iter().flatten().for_each(|field| folded(field));
    facts.keywords.iter().for_each(|word| folded(word));
    for url in [&facts.base, &facts.canonical].into_iter().flatten() {
        assert_eq!(Url::parse(url).expect("an absolute URL").as_str(), url);
    }
}

/// No white space but single spaces between words.
fn folded(text: &str) {
    let words: Vec<_> = text.split_ascii_whitespace().collect();
    assert_eq!(words.join(" "), text);
}
