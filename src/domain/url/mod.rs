//! Canonical URLs: one text per page, so that the seen test, the queue and the archive agree about what a page is.
//!
//! [`Canonicaliser`] turns what a page or a user wrote into a [`PageUrl`]. The form is WHATWG URL (parsed by the `url`
//! crate) and then, in this order: user information, fragment, default port and the host's trailing dot dropped;
//! percent-encodings normalised as RFC 3986 section 6.2.2 says; tracking and session parameters removed
//! ([`CleanRules`]); an empty query dropped. Canonicalising a canonical URL changes nothing.
//!
//! The canonical form is the key of a page. Where it was written otherwise, a server may know it by that spelling alone: it is
//! asked for as it was written ([`PageUrl::asked`]).

mod canonical;
mod changes;
mod clean;
mod joiner;
mod page_url;
mod pattern;
pub(super) mod percent;
mod session;
mod stand_in;
mod typed;

pub use canonical::{Canonicaliser, MAX_INPUT_LENGTH};
pub use changes::changes;
pub use clean::CleanRules;
pub use joiner::Joiner;
pub use page_url::{MAX_PAGE_URL_LENGTH, PageUrl, Scheme};
pub use pattern::{PatternError, UrlPatterns};
pub use stand_in::{join_any, named as without_stand_in, parse_any};
pub use typed::with_schemes;

use crate::domain::reason::Rejection;

/// Why a text is no URL of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
pub enum UrlError {
    /// A scheme that is neither http nor https.
    #[error("the URL's scheme is neither http nor https")]
    Scheme,
    /// No host, a host that cannot be a DNS name or an address, a bad port, or a relative reference without a base.
    #[error("not a complete URL with a valid host and port, such as https://example.org/")]
    Malformed,
    /// Longer than the limit, before or after it was brought into canonical form.
    #[error("the URL is longer than the limit for URLs")]
    TooLong,
}

impl UrlError {
    /// Every error.
    pub const ALL: [Self; 3] = [Self::Scheme, Self::Malformed, Self::TooLong];

    /// True for what was meant as a page's URL: another scheme leads elsewhere by right.
    pub fn is_fault(self) -> bool {
        self != Self::Scheme
    }

    /// The same as a reason that storage, logs and metrics know.
    pub fn rejection(self) -> Rejection {
        match self {
            Self::Scheme => Rejection::Scheme,
            Self::Malformed => Rejection::Malformed,
            Self::TooLong => Rejection::TooLong,
        }
    }
}

#[cfg(test)]
mod tests;
