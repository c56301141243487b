//! Sitemaps. Input: a byte of options, a byte for the size of pieces, a line of Content-Type, then the body.

use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;

use super::content::modules::{Body, ParseRules};
use super::content::sitemap::SitemapLimits;
use super::input::{byte, line, size, text};
use super::pages::same_page;

/// A sitemap says the same however it came, packed or not, and no more than is wanted.
pub fn check(data: &[u8]) {
    let (options, rest) = byte(data);
    let (size, rest) = size(rest);
    let (content_type, body) = line(rest);
    let max_urls = if options & 1 != 0 { 3 } else { 50_000 };
    let rules = ParseRules { sitemaps: SitemapLimits { max_urls, max_bytes: 1 << 20 }, ..ParseRules::default() };
    let packed = if options & 2 != 0 { packed(body) } else { body.to_vec() };
    let (url, content_type) = (::url::Url::parse("http://h.test/sitemap.xml").expect("a good URL"), text(content_type));
    let body = Body::sniffed(&url, Some(&content_type), &packed).found_as_sitemap(options & 4 == 0);
    let Some(page) = same_page(&body, &rules, size) else { return };
    let Some(sitemap) = page.facts.sitemap else { return };
    assert!(page.facts.links.is_empty() && sitemap.entries.len() <= max_urls);
    for entry in &sitemap.entries {
        assert!(!entry.loc.is_empty() && entry.loc.trim() == entry.loc);
        assert!(entry.priority.is_none_or(|priority| priority <= 100));
        let _ = entry.said();
    }
}

fn packed(body: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(body).and_then(|()| encoder.finish()).expect("a vector takes all")
}
