//! Sitemaps (sitemaps.org, protocol 0.9): pages that a site wants to have found, and indexes of further sitemaps.

mod choose;
mod collect;
mod lines;
mod sites;

use crate::base::kinds::names;
use crate::base::time::UnixMillis;
use crate::content::html::LinkKind;

pub use choose::{Choice, Chooser, FileRules, by_urgency};
pub use collect::Collector;
pub use lines::Lines;
pub use sites::{Sites, is_announced, is_named_by_seed};

pub(crate) use lines::begins_as_url;

/// URLs of one sitemap (sitemaps.org, "Using Sitemap index files").
pub const DEFAULT_MAX_URLS: usize = 50_000;

/// Bytes of one sitemap, uncompressed (the same).
pub const DEFAULT_MAX_BYTES: u64 = 50 << 20;

/// Priority of an entry that says none, in hundredths.
pub const DEFAULT_PRIORITY: u8 = 50;

/// The longest text of an element that is looked at; the standard allows 2,048 characters of a `<loc>`.
const MAX_TEXT: usize = 8 * 1024;

/// How much of a sitemap is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SitemapLimits {
    /// Entries; more are left out.
    pub max_urls: usize,
    /// Bytes, compression taken off; more are not read.
    pub max_bytes: u64,
}

impl Default for SitemapLimits {
    fn default() -> Self {
        Self { max_urls: DEFAULT_MAX_URLS, max_bytes: DEFAULT_MAX_BYTES }
    }
}

/// A sitemap as far as it was read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sitemap {
    /// What it names, in the order of the file.
    pub entries: Vec<Entry>,
    /// How reading it ended.
    pub end: End,
}

/// One thing that a sitemap names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Its address as written, white space around it removed.
    pub loc: String,
    /// True for another sitemap, which an index names.
    pub file: bool,
    /// When it was changed last.
    pub lastmod: Option<UnixMillis>,
    /// Its importance among the pages of its site, in hundredths.
    pub priority: Option<u8>,
}

names! {
    /// How reading a sitemap ended.
    #[derive(Default)]
    End {
        /// At its end.
        #[default]
        Done = "done";
        /// Before: it was longer than the limits, or broken off.
        Cut = "cut";
        /// It is no sitemap, or no XML from some point on. What came before counts.
        Malformed = "malformed";
    }
}

impl Entry {
    fn page(loc: String) -> Self {
        Self { loc, file: false, lastmod: None, priority: None }
    }

    /// Its name among the kinds of links.
    pub fn kind(&self) -> LinkKind {
        if self.file { LinkKind::SitemapFile } else { LinkKind::SitemapEntry }
    }

    /// What else it says, for people: `lastmod 2005-01-01T00:00:00Z, priority 0.8`.
    pub fn said(&self) -> String {
        let at = |ms: UnixMillis| jiff::Timestamp::from_millisecond(i64::try_from(ms.0).unwrap_or(i64::MAX)).ok();
        let lastmod = self.lastmod.and_then(at).map(|at| format!("lastmod {at}"));
        let priority = self.priority.map(|p| format!("priority {}", f32::from(p) / 100.0));
        [lastmod, priority].into_iter().flatten().collect::<Vec<_>>().join(", ")
    }
}
