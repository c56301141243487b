//! The rules as users write them.

use serde::{Deserialize, Serialize};

use super::extensions::{SKIPPED_FILES, SKIPPED_PARTS};

/// Which hosts and paths are wanted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ScopeMode {
    /// The hosts of the seeds; scheme, port and a leading `www.` make no difference.
    #[default]
    Hosts,
    /// The registrable domains of the seeds, with every host below them.
    Domains,
    /// The whole web.
    Any,
    /// What begins with one of the prefixes.
    Prefixes,
}

/// What a crawl wants and what it leaves.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ScopeRules {
    /// Hosts and paths.
    pub mode: ScopeMode,
    /// For the mode `prefixes`: URLs (`https://example.org/docs/`) or SURT prefixes (`http://(org,example,`).
    /// Scheme and port make no difference.
    ///
    /// A URL prefix without a path (`https://example.org`) also covers the hosts below it, one with a path covers its
    /// own host, with or without `www.`.
    pub prefixes: Vec<String>,
    /// Regular expressions over the whole URL, in canonical form or as people read it ([`UrlPatterns`](crate::domain::url::UrlPatterns)),
    /// unanchored; when there are any, one must match, in addition to the mode.
    pub include: Vec<String>,
    /// Regular expressions like those of `include`; none may match. Stronger than `include`.
    pub exclude: Vec<String>,
    /// Hosts wanted besides those of the mode: `example.org`, or `*.example.org` for every host below.
    pub allow_hosts: Vec<String>,
    /// Hosts never wanted, written like `allow_hosts`; stronger than everything else.
    pub deny_hosts: Vec<String>,
    /// Endings of file names that are not fetched, without the dot.
    pub skip_extensions: Vec<String>,
    /// How many links a page may be away from a seed (the seed itself: 0); `None` for no limit.
    pub max_depth: Option<u16>,
}

impl Default for ScopeRules {
    fn default() -> Self {
        Self {
            mode: ScopeMode::default(),
            prefixes: Vec::new(),
            include: Vec::new(),
            exclude: Vec::new(),
            allow_hosts: Vec::new(),
            deny_hosts: Vec::new(),
            skip_extensions: [SKIPPED_PARTS, SKIPPED_FILES].concat().into_iter().map(str::to_owned).collect(),
            max_depth: None,
        }
    }
}
