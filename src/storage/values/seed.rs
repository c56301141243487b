//! A seed.

use super::wire::fields;
use crate::base::time::UnixMillis;

fields! {
    /// A seed, and what was said of it when it was added.
    SeedValue {
        /// The seed.
        url: String,
        /// When it was first added.
        added: UnixMillis,
        /// Its own place in the queue: 0 comes first.
        rank: Option<u8>,
        /// Links that are followed from it in a row.
        max_depth: Option<u16>,
        /// What it is called.
        tags: Vec<String>,
        /// It was written without a scheme: http is asked when https does not answer.
        guessed: bool,
    }
}

impl SeedValue {
    /// True when something was said of it by its name.
    #[must_use]
    pub fn says(&self) -> bool {
        self.rank.is_some() || self.max_depth.is_some() || !self.tags.is_empty()
    }
}
