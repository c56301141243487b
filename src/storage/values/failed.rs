//! A URL given up.

use super::wire::fields;
use crate::domain::reason::Failure;
use crate::domain::time::UnixMillis;

fields! {
    /// A URL given up, in full, so that it can be told of and tried again.
    FailedValue {
        /// The URL.
        url: String,
        /// Why.
        reason: Failure,
        /// The status of the last answer, if there was one.
        status: Option<u16>,
        /// When it was given up.
        when: UnixMillis,
        /// The capture of that answer.
        captured: Option<UnixMillis>,
        /// Fetches that failed.
        attempts: u8,
        /// Depth of the shortest path known.
        depth: u16,
        /// Redirects that led here in a row.
        hops: u8,
        /// True for a seed.
        seed: bool,
        /// When it was first found.
        discovered: UnixMillis,
        /// The seed it goes back to; `None` for a seed itself.
        origin: Option<String>,
        /// The page it was first found on.
        via: Option<String>,
    }
}
