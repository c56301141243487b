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
        /// Visits a second, of all hosts together.
        max_rate: Option<f64> = None;
        /// What counts as a change: `text`, `all` or `large`.
        heed: Heed = Heed::Text;
    }
}

/// One `[[schedule]]`: other visits for some pages; the first rule that a page fits holds. What a rule does not name is as in `[refresh]`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ScheduleSection {
    /// Regular expressions on the page's URL; all pages when there are none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub urls: Vec<String>,
    /// `host`, `*.domain`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub hosts: Vec<String>,
    /// Media types, or how they begin: `application/pdf`, `image/`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub types: Vec<String>,
    /// Tags of the seed that the page goes back to.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    /// From this date on: `2027-09-01`, or with a time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// Until before this date.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<String>,
    /// As `refresh.cycle`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cycle: Option<Cycle>,
    /// As `refresh.min_interval`.
    #[serde(with = "optional_duration", skip_serializing_if = "Option::is_none")]
    pub min: Option<Duration>,
    /// As `refresh.max_interval`.
    #[serde(with = "optional_duration", skip_serializing_if = "Option::is_none")]
    pub max: Option<Duration>,
    /// A factor of the weight, 0.01 to 100.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub weight: Option<f64>,
    /// As `refresh.heed`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub heed: Option<Heed>,
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
