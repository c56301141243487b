//! What can be wrong with the rules.

/// Why rules cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ScopeError {
    /// A pattern that does not compile.
    #[error("scope.{key}: `{pattern}` is not a regular expression: {fault}")]
    Pattern {
        /// `include` or `exclude`.
        key: &'static str,
        /// As the user wrote it.
        pattern: String,
        /// What the compiler says, on one line.
        fault: String,
    },
    /// Patterns that are too large together.
    #[error("scope.{key}: the patterns are too large together (16 MiB compiled); use fewer or simpler ones")]
    TooLarge {
        /// `include` or `exclude`.
        key: &'static str,
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
