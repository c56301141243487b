//! A URL turned away.

use super::grown::Grown;
use super::wire::fields;
use crate::domain::found_as::FoundAs;
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
        /// As what it was found; a link in what an older program wrote.
        found: FoundAs,
        /// How it is asked for, where that is not the canonical form.
        spelling: Option<String>,
    }
}

/// Version 1 ends before `origin`, version 2 before `found`, version 3 before `spelling`.
impl Grown for RejectedValue {
    const LATEST: u8 = 4;

    fn version(&self) -> u8 {
        match (self.found, &self.origin) {
            _ if self.spelling.is_some() => 4,
            (FoundAs::Link, None) => 1,
            (FoundAs::Link, Some(_)) => 2,
            _ => 3,
        }
    }

    fn missing(version: u8) -> usize {
        usize::from(4_u8.saturating_sub(version))
    }
}
