//! A URL turned away.

use super::grown::Grown;
use super::wire::fields;
use crate::domain::reason::Rejection;

fields! {
    /// A URL turned away, in full, so that widened rules can readmit it.
    RejectedValue {
        /// The URL.
        url: String,
        /// Why.
        reason: Rejection,
        /// The generation of rules that said so.
        generation: u32,
        /// Depth of the shortest path known.
        depth: u16,
        /// The page it was found on.
        via: Option<String>,
        /// The seed it goes back to; `None` for a seed itself, and in what an older program wrote.
        origin: Option<String>,
    }
}

/// Version 1 ends before `origin`.
impl Grown for RejectedValue {
    const LATEST: u8 = 2;

    fn version(&self) -> u8 {
        if self.origin.is_some() { 2 } else { 1 }
    }

    fn missing(version: u8) -> usize {
        usize::from(version == 1)
    }
}
