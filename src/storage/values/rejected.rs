//! A URL turned away.

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
        /// The seed it goes back to; `None` for a seed itself.
        origin: Option<String>,
        /// As what it was found.
        found: FoundAs,
        /// How it is asked for, where that is not the canonical form.
        spelling: Option<String>,
    }
}
