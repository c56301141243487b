//! The index of pages: `[index]`.

use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::section;
use crate::base::units::{duration, size};
use crate::domain::card::Find;

section! {
    /// `[index]`: the index of pages, made beside the crawl.
    IndexSection {
        /// Whether it is made.
        enabled: bool = false;
        /// Memory for what is not written yet.
        memory: u64 as "size" = 64 << 20;
        /// After so long what was added can be found.
        refresh: Duration as "duration" = Duration::from_secs(10);
        /// Bytes of a page's text that are taken in; 1 MiB at most.
        max_text: u64 as "size" = 1 << 20;
        /// How keywords are found.
        keywords: Find = Find::Fill;
        /// A file of words added to jieba's dictionary.
        dictionary: Option<PathBuf> = None;
        /// What becomes of pages that say `noindex`.
        noindex: NoIndex = NoIndex::Respect;
    }
}

/// What becomes of pages that say `noindex`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum NoIndex {
    /// They are left out.
    #[default]
    Respect,
    /// They are taken in: for sites of one's own.
    Ignore,
}
