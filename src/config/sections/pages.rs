//! What is read of pages: `[parse] [sitemaps] [[extract]]`.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::base::units::{duration, optional_duration, size};
use crate::content::sitemap::{DEFAULT_MAX_BYTES, DEFAULT_MAX_URLS, FileRules};

/// `[parse]`: pages.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ParseSection {
    /// Parser threads; one a core when absent.
    pub threads: Option<usize>,
    /// Only so much of a page is parsed.
    #[serde(with = "size")]
    pub max_parse: u64,
    /// A larger page is not read into a tree for the rules of `[[extract]]`.
    #[serde(with = "size")]
    pub max_extract: u64,
    /// Links taken from one page.
    pub max_links_per_page: usize,
    /// Whether images, scripts, style sheets and the like are links too.
    pub assets: bool,
}

impl Default for ParseSection {
    fn default() -> Self {
        Self { threads: None, max_parse: 200 << 20, max_extract: 2 << 20, max_links_per_page: 100_000, assets: false }
    }
}

/// `[sitemaps]`: sitemaps, and where they are looked for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SitemapsSection {
    /// Whether those that robots.txt names are fetched.
    #[serde(rename = "use")]
    pub in_use: bool,
    /// Whether `/sitemap.xml` and `/sitemap_index.xml` are asked for where robots.txt names none.
    pub well_known: bool,
    /// URLs taken from one.
    pub max_urls: usize,
    /// Bytes read of one, compression taken off.
    #[serde(with = "size")]
    pub max_bytes: u64,
    /// Indexes that are followed from one to the next.
    pub max_nesting: u8,
    /// Sitemaps taken from one robots.txt, or from one index.
    pub max_files: usize,
    /// After so long a sitemap is read again; never when absent.
    #[serde(with = "optional_duration")]
    pub revisit: Option<Duration>,
    /// A page is not fetched again for its `<lastmod>` before so long after its last visit.
    #[serde(with = "duration")]
    pub lastmod_gap: Duration,
}

impl Default for SitemapsSection {
    fn default() -> Self {
        Self {
            in_use: true,
            well_known: false,
            max_urls: DEFAULT_MAX_URLS,
            max_bytes: DEFAULT_MAX_BYTES,
            max_nesting: 2,
            max_files: 1_000,
            revisit: None,
            lastmod_gap: Duration::from_secs(3_600),
        }
    }
}

impl SitemapsSection {
    /// Which further sitemaps an index leads to.
    pub fn file_rules(&self) -> FileRules {
        FileRules { in_use: self.in_use, max_files: self.max_files, max_nesting: self.max_nesting }
    }
}

/// `[[extract]]`: one value, or list of values, of every page that it is meant for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExtractSection {
    /// Its key in `extracted`: letters, digits, `_`, `-`, `.`.
    pub name: String,
    /// CSS selector.
    pub selector: String,
    /// `text`, `html`, or `attr:NAME`.
    #[serde(default = "text")]
    pub take: String,
    /// A list of all that fit (at most 100), not the first only.
    #[serde(default)]
    pub many: bool,
    /// Regular expressions on the page's URL; all pages when there are none.
    #[serde(default)]
    pub urls: Vec<String>,
}

fn text() -> String {
    "text".into()
}
