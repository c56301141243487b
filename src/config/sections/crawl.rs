//! What to crawl, in which order, how far: `[agent] [crawl] [scope] [frontier] [traps]`.

use std::time::Duration;

use serde::{Deserialize, Serialize};

pub use crate::domain::rank::Order;

use super::{DepthLimit, SeedSection};
use crate::base::units::{duration, optional_duration, optional_size};
use crate::domain::scope::ScopeMode;
use crate::domain::url::with_schemes;

/// `[agent]`: how the crawler introduces itself.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct AgentSection {
    /// Product name in the User-Agent.
    pub name: String,
    /// Version in the User-Agent.
    pub version: String,
    /// A page about this crawl, shown in the User-Agent.
    pub url: Option<String>,
    /// A mail address, sent as `From:`.
    pub email: Option<String>,
    /// The names this crawler answers to in robots.txt, the most specific first; its own name when empty.
    pub robots_tokens: Vec<String>,
}

impl Default for AgentSection {
    fn default() -> Self {
        Self {
            name: "Lycosa".into(),
            version: env!("CARGO_PKG_VERSION").into(),
            url: None,
            email: None,
            robots_tokens: Vec::new(),
        }
    }
}

/// `[crawl]`: seeds and limits.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct CrawlSection {
    /// Name of the crawl, written into the WARC files.
    pub name: String,
    /// Start URLs.
    pub seeds: Vec<SeedSection>,
    /// Order of the crawl.
    pub order: Order,
    /// Stop after so many stored pages.
    pub max_pages: Option<u64>,
    /// Links are followed so many steps from a seed; when absent 20 in the scope modes `domains` and `any`, without end in the others.
    pub max_depth: Option<DepthLimit>,
    /// Whether the folders above each URL found, and above the seeds, are asked for too.
    pub ascend: bool,
    /// Stop after this time.
    #[serde(with = "optional_duration")]
    pub max_time: Option<Duration>,
    /// Stop when the bodies of the captures add up to so many bytes, as received.
    #[serde(with = "optional_size")]
    pub max_bytes: Option<u64>,
    /// End when nothing is left, instead of waiting for new seeds.
    pub until_done: bool,
    /// Stop after so many URLs given up as errors.
    pub max_failures: Option<u64>,
    /// How long an `until_done` crawl waits for retries, from the last URL that was finished. When absent a tenth of the time
    /// crawled, at least 30 s, at most 1 h; what was never tried is then waited for up to 1 h.
    #[serde(with = "optional_duration")]
    pub until_done_patience: Option<Duration>,
    /// The same as long as no page was fetched at all, when the seeds or the network are most likely wrong.
    #[serde(with = "duration")]
    pub until_done_first_patience: Duration,
}

impl Default for CrawlSection {
    fn default() -> Self {
        Self {
            name: "default".into(),
            seeds: Vec::new(),
            order: Order::Mixed,
            max_pages: None,
            max_depth: None,
            ascend: false,
            max_time: None,
            max_bytes: None,
            until_done: false,
            max_failures: None,
            until_done_patience: None,
            until_done_first_patience: Duration::from_secs(30),
        }
    }
}

impl CrawlSection {
    /// The same with whole URLs: a seed without a scheme means https first.
    #[must_use]
    pub(in crate::config) fn with_schemes(mut self) -> Self {
        for seed in &mut self.seeds {
            if let Some([https, _]) = with_schemes(&seed.url) {
                (seed.url, seed.guessed) = (https, true);
            }
        }
        self
    }

    /// The URLs of the seeds.
    pub fn seed_urls(&self) -> Vec<&str> {
        self.seeds.iter().map(|seed| seed.url.as_str()).collect()
    }
}

/// `[scope]`: what belongs to the crawl.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ScopeSection {
    /// The mode.
    pub mode: ScopeMode,
    /// URL or SURT prefixes, for the mode `prefixes`.
    pub prefixes: Vec<String>,
    /// Regular expressions; when there are any, a URL must match one as well.
    pub include: Vec<String>,
    /// Regular expressions; a URL that matches one is rejected.
    pub exclude: Vec<String>,
    /// Hosts that belong to the crawl besides; `*.example.org` covers subdomains.
    pub allow_hosts: Vec<String>,
    /// Hosts that never do.
    pub deny_hosts: Vec<String>,
    /// File extensions that are skipped. When absent: archives, disk images and programs, and without `parse.assets` also images,
    /// audio, video and fonts.
    pub skip_extensions: Option<Vec<String>>,
    /// Tracking parameters removed from URLs; `utm_*` covers a family; the built-in list when absent.
    pub remove_params: Option<Vec<String>>,
    /// Session ids removed from query and path, whatever their value; when absent the built-in list, by their value.
    pub remove_sessions: Option<Vec<String>>,
    /// Whether rejected URLs are remembered, so that wider rules can take them up again.
    pub record_rejected: bool,
}

impl Default for ScopeSection {
    fn default() -> Self {
        Self {
            mode: ScopeMode::Hosts,
            prefixes: Vec::new(),
            include: Vec::new(),
            exclude: Vec::new(),
            allow_hosts: Vec::new(),
            deny_hosts: Vec::new(),
            skip_extensions: None,
            remove_params: None,
            remove_sessions: None,
            record_rejected: true,
        }
    }
}

/// How long a host keeps its place before another gets its turn: whichever is reached first.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct HostQuantum {
    /// Pages.
    pub pages: u64,
    /// Time.
    #[serde(with = "duration")]
    pub time: Duration,
}

impl Default for HostQuantum {
    fn default() -> Self {
        Self { pages: 100, time: Duration::from_secs(60) }
    }
}

/// `[frontier]`: queues.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct FrontierSection {
    /// Number of front queues, 1 to 8.
    pub ranks: u8,
    /// Importance by depth; the last holds for all deeper pages.
    pub depth_weights: Vec<f64>,
    /// Hosts crawled at a time; three times `fetch.concurrency` when absent.
    pub max_active_hosts: Option<usize>,
    /// A host's turn.
    pub host_quantum: HostQuantum,
}

impl Default for FrontierSection {
    fn default() -> Self {
        Self {
            ranks: 8,
            depth_weights: vec![10.0, 8.0, 5.0, 2.0, 0.5],
            max_active_hosts: None,
            host_quantum: HostQuantum::default(),
        }
    }
}

/// `[traps]`: endless URL spaces.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TrapsSection {
    /// Longest URL, bytes.
    pub max_url_length: usize,
    /// Most path segments; no limit when absent.
    pub max_segments: Option<usize>,
    /// How often a path segment may repeat; no limit when absent.
    pub max_repeats: Option<usize>,
    /// Most query parameters; no limit when absent.
    pub max_params: Option<usize>,
    /// New URLs of any one shape at a host, numbers and values left out; no limit when absent.
    pub pages_per_pattern: Option<u32>,
    /// Whether identifiers in URLs are taken for session numbers when their pages come again under others.
    pub sessions: bool,
    /// Whether another order of parameters is held back once pages have shown that it means nothing.
    pub permutations: bool,
    /// Pages in a row without anything new after which a shape, a space, or a domain's hosts may not feed themselves; 0: no limit.
    pub barren_pages: u32,
    /// Hosts of one registrable domain; when absent none in the scope modes of chosen hosts, 1,000 in `any`.
    pub hosts_per_domain: Option<u32>,
    /// Most pages of one host; when absent none in the scope modes of chosen hosts, 10,000 in `any`.
    pub pages_per_host: Option<u64>,
}

impl Default for TrapsSection {
    fn default() -> Self {
        Self {
            max_url_length: 2_000,
            max_segments: None,
            max_repeats: None,
            max_params: None,
            pages_per_pattern: None,
            sessions: true,
            permutations: true,
            barren_pages: 100,
            hosts_per_domain: None,
            pages_per_host: None,
        }
    }
}
