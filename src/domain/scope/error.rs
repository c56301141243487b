//! What can be wrong with the rules.

use crate::domain::url::PatternError;

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
