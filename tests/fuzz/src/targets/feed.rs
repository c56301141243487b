//! Feeds. Input: a byte of options, a byte for the size of pieces, a line of Content-Type, then the body.

use super::content::html::ExtractOptions;
use super::content::modules::{Body, ParseRules};
use super::input::{byte, line, size, text};
use super::pages::same_page;

/// A feed says the same however it came, and no more than is wanted.
pub fn check(data: &[u8]) {
    let (options, rest) = byte(data);
    let (size, rest) = size(rest);
    let (content_type, body) = line(rest);
    let max_links = if options & 1 != 0 { 3 } else { 10_000 };
    let extract = ExtractOptions { max_links, assets: options & 2 != 0, ..ExtractOptions::default() };
    let rules = ParseRules { extract, ..ParseRules::default() };
    let url = ::url::Url::parse("http://h.test/dir/feed?q").expect("a good URL");
    let content_type = text(content_type);
    let Some(page) = same_page(&Body::sniffed(&url, Some(&content_type), body), &rules, size) else { return };
    assert!(page.facts.links.len() <= max_links);
    for link in &page.facts.links {
        assert!(!link.href.is_empty() && link.text.chars().count() <= 200);
    }
}
