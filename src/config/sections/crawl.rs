//! What to crawl, in which order, how far: `[agent] [crawl] [frontier] [traps]`.

use std::time::Duration;

use serde::{Deserialize, Serialize};

pub use crate::domain::credit::Dividend;
pub use crate::domain::rank::Order;

use super::{DepthLimit, SeedSection, section};
use crate::base::units::{duration, optional_duration, optional_size};
use crate::domain::credit::{CreditRules, Tax};
use crate::domain::priority::{Rule, RuleError, Says, Weight};
use crate::domain::url::with_schemes;

section! {
    /// `[agent]`: how the crawler introduces itself.
    AgentSection {
        /// Product name in the User-Agent.
        name: String = "Lycosa".into();
        /// Version in the User-Agent.
        version: String = env!("CARGO_PKG_VERSION").into();
        /// A page about this crawl, shown in the User-Agent.
        url: Option<String> = None;
        /// A mail address, sent as `From:`.
        email: Option<String> = None;
        /// The names this crawler answers to in robots.txt, the most specific first; its own name when empty.
        robots_tokens: Vec<String> = Vec::new();
    }
}

section! {
    /// `[crawl]`: seeds and limits.
    CrawlSection {
        /// Name of the crawl, written into the WARC files.
        name: String = "default".into();
        /// Start URLs.
        seeds: Vec<SeedSection> = Vec::new();
        /// Order of the crawl.
        order: Order = Order::Mixed;
        /// Stop after so many stored pages.
        max_pages: Option<u64> = None;
        /// Links are followed so many steps from a seed; when absent 20 in the scope modes `domains` and `any`, without end in the others.
        max_depth: Option<DepthLimit> = None;
        /// Whether the folders above each URL found, and above the seeds, are asked for too.
        ascend: bool = false;
        /// Stop after this time.
        max_time: Option<Duration> as "optional_duration" = None;
        /// Stop when the bodies of the captures add up to so many bytes, as received.
        max_bytes: Option<u64> as "optional_size" = None;
        /// End when nothing is left, instead of waiting for new seeds.
        until_done: bool = false;
        /// Stop after so many URLs given up as errors.
        max_failures: Option<u64> = None;
        /// How long an `until_done` crawl waits for retries, from the last URL that was finished. When absent a tenth of the time
        /// crawled, at least 30 s, at most 1 h; what was never tried is then waited for up to 1 h.
        until_done_patience: Option<Duration> as "optional_duration" = None;
        /// The same as long as no page was fetched at all, when the seeds or the network are most likely wrong.
        until_done_first_patience: Duration as "duration" = Duration::from_secs(30);
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

section! {
    /// How long a host keeps its place before another gets its turn: whichever is reached first.
    #[derive(Copy)]
    HostQuantum {
        /// Pages.
        pages: u64 = 100;
        /// Time.
        time: Duration as "duration" = Duration::from_secs(60);
    }
}

section! {
    /// `[frontier]`: queues.
    FrontierSection {
        /// Number of front queues, 1 to 8.
        ranks: u8 = 8;
        /// Importance by depth; the last holds for all deeper pages.
        depth_weights: Vec<f64> = vec![10.0, 8.0, 5.0, 2.0, 0.5];
        /// Hosts crawled at a time; three times `fetch.concurrency` when absent.
        max_active_hosts: Option<usize> = None;
        /// A host's turn.
        host_quantum: HostQuantum = HostQuantum::default();
        /// Link credit (AOPIC) ranks what waits; with order `best` only.
        credit: bool = false;
        /// The part of a page's credit that its links do not get, 0 to 1.
        credit_tax: f64 = 0.1;
        /// To whom it is paid back.
        credit_dividend: Dividend = Dividend::default();
    }
}

impl FrontierSection {
    /// Link credit, where it is on.
    pub fn credit_rules(&self) -> Option<CreditRules> {
        let rules = CreditRules { tax: Tax::new(self.credit_tax), dividend: self.credit_dividend };
        self.credit.then_some(rules)
    }
}

/// `[[priority]]`: pages that are more, or less, important than others. Of what is given each must hold, of a list one; the first rule
/// that covers a page decides.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PrioritySection {
    /// Regular expressions over the whole URL, like those of `scope.include`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub urls: Vec<String>,
    /// Hosts: `example.org`, or `*.example.org` for every host below.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub hosts: Vec<String>,
    /// What the page's seed is called.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    /// Their importance is multiplied with this: 0.01 to 100.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub weight: Option<Weight>,
    /// Their rank, whatever their importance: 0 comes first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rank: Option<u8>,
}

impl PrioritySection {
    /// The rule ready for use.
    ///
    /// # Errors
    /// A pattern that can match nothing.
    pub fn compiled(&self) -> Result<Rule, RuleError> {
        let says = self.rank.map_or(Says::Weight(self.weight.unwrap_or_default()), Says::Rank);
        Rule::new(&self.urls, &self.hosts, &self.tags, says)
    }
}

section! {
    /// `[traps]`: endless URL spaces.
    TrapsSection {
        /// Longest URL, bytes.
        max_url_length: usize = 2_000;
        /// Most path segments; no limit when absent.
        max_segments: Option<usize> = None;
        /// How often a path segment may repeat; no limit when absent.
        max_repeats: Option<usize> = None;
        /// Most query parameters; no limit when absent.
        max_params: Option<usize> = None;
        /// New URLs of any one shape at a host, numbers and values left out; no limit when absent.
        pages_per_pattern: Option<u32> = None;
        /// Whether identifiers in URLs are taken for session numbers when their pages come again under others.
        sessions: bool = true;
        /// Whether another order of parameters is held back once pages have shown that it means nothing.
        permutations: bool = true;
        /// Pages in a row without anything new after which a shape, a space, or a domain's hosts may not feed themselves;
        /// 0: no limit.
        barren_pages: u32 = 100;
        /// Hosts of one registrable domain; when absent none in the scope modes of chosen hosts, 1,000 in `any`.
        hosts_per_domain: Option<u32> = None;
        /// Most pages of one host; when absent none in the scope modes of chosen hosts, 10,000 in `any`.
        pages_per_host: Option<u64> = None;
    }
}
