//! Sitemaps: XML, plain text, either of them as a gzip file.

use super::xml::{Expected, XmlReader, is_gzip, root_of};
use super::{Body, MimeModule, PageSink, ParseRules};
use crate::content::feed;
use crate::content::mime::Kind;
use crate::content::sitemap::{Collector, begins_as_url};

/// The module for sitemaps. It takes what begins as one, whatever its type; and what was found as one unless it begins as a feed or
/// is plainly something else.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sitemap;

impl MimeModule for Sitemap {
    fn name(&self) -> &'static str {
        "sitemap"
    }

    fn takes(&self, body: &Body<'_>) -> bool {
        if is_gzip(body.head) {
            return body.sitemap || ends_as_packed_xml(body.url.path());
        }
        let expected = body.sitemap || ends_as_packed_xml(body.url.path());
        if !expected && !matches!(body.kind, Kind::Xml | Kind::Text) {
            return false;
        }
        match (body.kind, root_of(body.content_type, body.head).as_deref()) {
            (_, Some(root)) if Collector::reads(root) => true,
            (kind, Some(root)) if feed::Collector::reads(root) => kind == Kind::Other && body.sitemap,
            (Kind::Xml, None) => body.sitemap,
            (Kind::Text, _) => body.sitemap || is_named_as_list(body.url.path()),
            (Kind::Html | Kind::Other, None) => body.sitemap && begins_with_url(body.head),
            (Kind::Xml | Kind::Xhtml | Kind::Html | Kind::Other, _) => false,
        }
    }

    fn open(&self, body: &Body<'_>, rules: &ParseRules) -> Box<dyn PageSink> {
        Box::new(XmlReader::new(body, rules, Expected::Sitemap, is_gzip(body.head)))
    }
}

/// `….xml.gz`, as sitemaps are named that a page links to.
fn ends_as_packed_xml(path: &str) -> bool {
    path.len() > 7 && path.to_ascii_lowercase().ends_with(".xml.gz")
}

/// `…sitemap….txt`, or `urllist.txt`, as Yahoo had it.
fn is_named_as_list(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or_default().to_ascii_lowercase();
    name.contains("sitemap") && name.ends_with(".txt") || name == "urllist.txt"
}

fn begins_with_url(head: &[u8]) -> bool {
    let head = String::from_utf8_lossy(head.get(..64).unwrap_or(head));
    begins_as_url(head.trim_start_matches(|c: char| c.is_whitespace() || c == '\u{feff}'))
}
