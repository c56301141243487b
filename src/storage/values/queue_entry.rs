//! One URL to fetch.

use super::wire::fields;
use crate::domain::time::UnixMillis;
use crate::domain::url::Scheme;

fields! {
    /// One URL to fetch; its host's name is in the host's state, so that a URL costs its tail only.
    QueueEntry {
        /// http or https.
        scheme: Scheme,
        /// The effective port.
        port: u16,
        /// Path and query, beginning with `/`.
        tail: String,
        /// Links from the nearest seed.
        depth: u16,
        /// Redirects that led here in a row.
        hops: u8,
        /// Fetches that failed so far.
        attempts: u8,
        /// True for a seed.
        seed: bool,
        /// When it was first found.
        discovered: UnixMillis,
        /// The seed it goes back to; `None` for a seed itself.
        origin: Option<String>,
        /// The page it was found on.
        via: Option<String>,
    }
}
