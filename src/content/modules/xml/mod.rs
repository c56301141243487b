//! The modules for documents of XML, feeds and sitemaps: compression, encoding, tokens; what is collected from them is
//! `content::sitemap`'s and `content::feed`'s.

mod gunzip;
mod pump;
mod reader;
#[cfg(test)]
mod tests;

use quick_xml::Reader;
use quick_xml::events::Event;

use super::{Body, MimeModule, PageSink, ParseRules};
use crate::content::charset::{Decoder, detect_in_domain};
use crate::content::mime::Kind;
use crate::content::sitemap::begins_as_url;
use crate::content::{feed, sitemap};
use reader::{Expected, XmlReader};

/// The module for feeds: whatever begins as one, unless it is declared to be no document.
#[derive(Clone, Copy, Debug, Default)]
pub struct Feed;

impl MimeModule for Feed {
    fn name(&self) -> &'static str {
        "feed"
    }

    fn lists_urls(&self) -> bool {
        true
    }

    fn takes(&self, body: &Body<'_>) -> bool {
        let root = || root_of(body.content_type, body.head);
        matches!(body.kind, Kind::Xml | Kind::Text) && root().is_some_and(|root| feed::Collector::reads(&root))
    }

    fn open(&self, body: &Body<'_>, rules: &ParseRules) -> Box<dyn PageSink> {
        Box::new(XmlReader::new(body, rules, Expected::Xml, false))
    }
}

/// The module for sitemaps. It takes what begins as one, whatever its type; and what was found as one unless it begins as a feed or
/// is plainly something else.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sitemap;

impl MimeModule for Sitemap {
    fn name(&self) -> &'static str {
        "sitemap"
    }

    fn lists_urls(&self) -> bool {
        true
    }

    fn takes(&self, body: &Body<'_>) -> bool {
        let expected = body.sitemap || ends_as_packed_xml(body.url.path());
        if is_gzip(body.head) || !expected && !matches!(body.kind, Kind::Xml | Kind::Text) {
            return expected;
        }
        match (body.kind, root_of(body.content_type, body.head).as_deref()) {
            (_, Some(root)) if sitemap::Collector::reads(root) => true,
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

/// How a gzip stream begins (RFC 1952, 2.3.1), with the only method there is.
fn is_gzip(head: &[u8]) -> bool {
    head.starts_with(&[0x1f, 0x8b, 8])
}

/// Bytes looked at for the root; and where comments or a document type take more, so many.
const LOOK: [usize; 2] = [4 * 1024, ROOT_WITHIN];

/// The root of a feed or sitemap is found within so many bytes, when they are at hand.
pub const ROOT_WITHIN: usize = 32 * 1024;

/// The local name of the root element in lower case; `None` when it does not stand near the start, or there is other text before
/// it.
fn root_of(content_type: Option<&str>, head: &[u8]) -> Option<String> {
    let [first, more] = LOOK.map(|look| head.get(..look).unwrap_or(head));
    root_in(content_type, first).or_else(|| root_in(content_type, more).filter(|_| more.len() > first.len()))
}

fn root_in(content_type: Option<&str>, head: &[u8]) -> Option<String> {
    // Of most bodies no more is needed than this. NULs and marks are those of UTF-16 and UTF-8.
    let first = head.iter().find(|b| !b.is_ascii_whitespace() && !matches!(b, 0 | 0xef | 0xbb | 0xbf | 0xfe | 0xff));
    if first != Some(&b'<') {
        return None;
    }
    let mut text = String::new();
    Decoder::new(detect_in_domain(content_type, head, None).0).decode(head, true, |piece| text.push_str(piece));
    let start = text.trim_start_matches(|c: char| c.is_whitespace() || c == '\u{feff}');
    let mut reader = Reader::from_str(start);
    reader.config_mut().allow_dangling_amp = true;
    loop {
        match reader.read_event() {
            Ok(Event::Start(tag) | Event::Empty(tag)) => {
                return Some(String::from_utf8_lossy(tag.local_name().as_ref()).to_ascii_lowercase());
            }
            Ok(Event::Text(text)) if text.iter().any(|b| !b.is_ascii_whitespace()) => return None,
            Ok(Event::Decl(_) | Event::PI(_) | Event::DocType(_) | Event::Comment(_) | Event::Text(_)) => {}
            Err(quick_xml::Error::IllFormed(_)) => {}
            Ok(_) | Err(_) => return None,
        }
    }
}
