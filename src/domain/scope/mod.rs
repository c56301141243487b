//! Which URLs a crawl wants: by host, domain or prefix, by pattern, by file type and by depth.
//!
//! A URL is asked, in this order: `deny_hosts`; the mode (or `allow_hosts`, or a host that joined); `exclude`;
//! `include`; `skip_extensions`; `max_depth`. The first that says no decides.

mod judge;
mod lists;
mod prefixes;
#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};

use super::url::PatternError;

pub use judge::Scope;
pub use lists::HostPatterns;

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

/// `[scope]`: what a crawl wants and what it leaves.
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
    /// Endings of file names that are not fetched, without the dot. When absent archives, disk images and programs, and without
    /// `parse.assets` also images, audio, video and fonts.
    pub skip_extensions: Option<Vec<String>>,
    /// Tracking parameters removed from URLs; `utm_*` covers a family; the built-in list when absent.
    pub remove_params: Option<Vec<String>>,
    /// Session ids removed from query and path, whatever their value; when absent the built-in list, by their value.
    pub remove_sessions: Option<Vec<String>>,
    /// Whether rejected URLs are remembered, so that wider rules can take them up again.
    pub record_rejected: bool,
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
            skip_extensions: None,
            remove_params: None,
            remove_sessions: None,
            record_rejected: true,
        }
    }
}

/// Why rules cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ScopeError {
    /// A pattern that cannot be used, or all of them together.
    #[error("scope.{key}: {fault}")]
    Pattern {
        /// `include` or `exclude`.
        key: &'static str,
        /// What is wrong.
        fault: PatternError,
    },
    /// A text that is neither a URL prefix nor a SURT prefix.
    #[error("scope.mode: `{0}` is no prefix; write a URL (https://example.org/docs/) or a SURT (http://(org,example,)")]
    Prefix(String),
    /// An empty list of prefixes.
    #[error("scope.mode: prefixes needs at least one prefix, such as https://example.org/docs/")]
    NoPrefix,
    /// A host pattern that can match no host.
    #[error("scope.{key}: `{pattern}` is no host; write example.org or *.example.org")]
    Host {
        /// `allow_hosts` or `deny_hosts`.
        key: &'static str,
        /// As the user wrote it.
        pattern: String,
    },
}
