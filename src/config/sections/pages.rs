//! What is read of pages: `[parse] [sitemaps] [[extract]]`.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::section;
use crate::base::units::{duration, optional_duration, size};
use crate::content::sitemap::{DEFAULT_MAX_BYTES, DEFAULT_MAX_URLS, FileRules};
use crate::domain::refresh::{Cycle, Heed};

section! {
    /// `[parse]`: pages.
    ParseSection {
        /// Parser threads; one a core when absent.
        threads: Option<usize> = None;
        /// Only so much of a page is parsed.
        max_parse: u64 as "size" = 200 << 20;
        /// A larger page is not read into a tree for the rules of `[[extract]]`.
        max_extract: u64 as "size" = 2 << 20;
        /// Links taken from one page.
        max_links_per_page: usize = 100_000;
        /// Whether images, scripts, style sheets and the like are links too.
        assets: bool = false;
    }
}

section! {
    /// `[sitemaps]`: sitemaps, and where they are looked for.
    SitemapsSection {
        /// Whether those that robots.txt names are fetched.
        #[serde(rename = "use")]
        in_use: bool = true;
        /// Whether `/sitemap.xml` and `/sitemap_index.xml` are asked for where robots.txt names none.
        well_known: bool = false;
        /// URLs taken from one.
        max_urls: usize = DEFAULT_MAX_URLS;
        /// Bytes read of one, compression taken off.
        max_bytes: u64 as "size" = DEFAULT_MAX_BYTES;
        /// Indexes that are followed from one to the next.
        max_nesting: u8 = 2;
        /// Sitemaps taken from one robots.txt, or from one index.
        max_files: usize = 1_000;
        /// After so long a sitemap is read again; never when absent.
        revisit: Option<Duration> as "optional_duration" = None;
        /// A page is not fetched again for its `<lastmod>` before so long after its last visit.
        lastmod_gap: Duration as "duration" = Duration::from_secs(3_600);
    }
}

impl SitemapsSection {
    /// Which further sitemaps an index leads to.
    pub fn file_rules(&self) -> FileRules {
        FileRules { in_use: self.in_use, max_files: self.max_files, max_nesting: self.max_nesting }
    }
}

section! {
    /// `[refresh]`: when pages are visited again.
    RefreshSection {
        /// `off`, a duration, five fields of cron with a zone, or `adapt`.
        cycle: Cycle = Cycle::Off;
        /// With `adapt`: a page of weight 1 that always changes is visited once in this time; all others in proportion.
        pace: Duration as "duration" = Duration::from_secs(86_400);
        /// With `adapt`: no page comes sooner.
        min_interval: Duration as "duration" = Duration::from_secs(3_600);
        /// With `adapt`: no page comes later.
        max_interval: Duration as "duration" = Duration::from_secs(90 * 86_400);
        /// Part of a host's pages that are visits while new ones wait.
        share: f64 = 0.5;
        /// What counts as a change: `text`, `all` or `large`.
        heed: Heed = Heed::Text;
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
