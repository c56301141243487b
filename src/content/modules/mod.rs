//! MIME modules: what is read from a body, by the kind of document it is.
//!
//! A [`MimeModule`] says which bodies it takes and reads them in pieces into a [`Page`]: links, title, text. What no module
//! takes is stored all the same and has no links. Crawl, `lycosa fetch` and `lycosa inspect` ask the same [`MimeModules`].
//!
//! A new one: a file here, its `mod` and `pub use` below, a line in `MimeModules::default` (`registry.rs`; the last is asked first). It
//! may take a body by its `content_type`; `content::mime` changes only where browsers sniff the type.

mod html;
mod json_feed;
mod leads;
mod marks;
mod registry;
mod text;
mod xml;

use std::sync::Arc;

use url::Url;

use crate::content::extract::ExtractRules;
use crate::content::html::{DEFAULT_MAX_PARSE, ExtractOptions, Page};
use crate::content::mime::{self, Declared, Kind};
use crate::content::sitemap::SitemapLimits;

pub use html::Html;
pub use json_feed::JsonFeed;
pub use leads::{FoundLink, bound, leads};
pub use marks::{AT_ONCE, HeaderDirectives, usage};
pub use registry::MimeModules;
pub use text::Text;
pub use xml::{Feed, ROOT_WITHIN, Sitemap};

/// What is known of a body before it is read.
#[derive(Clone, Copy, Debug)]
pub struct Body<'a> {
    /// Where it came from.
    pub url: &'a Url,
    /// Its declared type.
    pub content_type: Option<&'a str>,
    /// What it is taken for, by declaration and first bytes.
    pub kind: Kind,
    /// Its first bytes, content codings taken off: as far as there are so many at least [`mime::HEAD`], and [`ROOT_WITHIN`] of what is
    /// declared XML.
    pub head: &'a [u8],
    /// It was found as a sitemap: robots.txt or an index says that it is one.
    pub sitemap: bool,
}

impl<'a> Body<'a> {
    /// With the kind that declaration and first bytes make it.
    pub fn sniffed(url: &'a Url, content_type: Option<&'a str>, head: &'a [u8]) -> Self {
        Self::declared(url, Declared { content_type, nosniff: false }, head)
    }

    /// With the kind that all the head says of it and its first bytes make it.
    pub fn declared(url: &'a Url, declared: Declared<'a>, head: &'a [u8]) -> Self {
        let (content_type, kind) = (declared.content_type, mime::sniff_declared(declared, head));
        Self { url, content_type, kind, head, sitemap: false }
    }

    /// The same, found as a sitemap or not.
    #[must_use]
    pub fn found_as_sitemap(self, sitemap: bool) -> Self {
        Self { sitemap, ..self }
    }
}

/// What is taken out of a body, and how much of it.
#[derive(Clone, Debug)]
pub struct ParseRules {
    /// What is taken out.
    pub extract: ExtractOptions,
    /// Bytes read at most, content codings taken off; of sitemaps and feeds `sitemaps` says.
    pub max_parse: u64,
    /// How much of a sitemap is read.
    pub sitemaps: SitemapLimits,
    /// Values taken by name.
    pub fields: Arc<ExtractRules>,
    /// A larger page is not read into a tree for them.
    pub max_extract: u64,
}

/// Without rules for values.
impl Default for ParseRules {
    fn default() -> Self {
        Self {
            extract: ExtractOptions::default(),
            max_parse: DEFAULT_MAX_PARSE,
            sitemaps: SitemapLimits::default(),
            fields: Arc::default(),
            max_extract: 2 << 20,
        }
    }
}

/// Reads one kind of document.
pub trait MimeModule: Send + Sync {
    /// Its name, for people.
    fn name(&self) -> &'static str;

    /// Whether what it reads is a list of URLs, as a sitemap or a feed is.
    fn lists_urls(&self) -> bool {
        false
    }

    /// Whether it reads this body.
    fn takes(&self, body: &Body<'_>) -> bool;

    /// Begins to read a body that it takes. Never panics on what a server sends, and needs bounded memory.
    fn open(&self, body: &Body<'_>, rules: &ParseRules) -> Box<dyn PageSink>;
}

/// Takes a body in pieces.
pub trait PageSink {
    /// The next bytes; false when no more are wanted.
    fn push(&mut self, bytes: &[u8]) -> bool;

    /// The body has ended, or nobody has more of it.
    fn finish(self: Box<Self>) -> Page;
}
