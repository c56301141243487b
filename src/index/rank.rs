//! In which order pages are shown. Every weight of the search stands here; they are judged by pages that are to be found by their titles
//! (`tests/it/search.rs`, ADR 27).

use serde::{Deserialize, Serialize};
use tantivy::schema::Field;

use super::schema::Fields;
use crate::base::kinds::kinds;

/// What a word counts that is found in the second best field, the third, and so on.
pub(super) const TIE: f32 = 0.2;
/// What the words in a row count in the text, and in the title.
pub(super) const ROW: [f32; 2] = [1.5, 6.0];
/// A word without its ending.
pub(super) const STEM: f32 = 0.5;
/// A word of the dictionary.
pub(super) const WORDS: f32 = 0.7;
/// A word that UAX 29 has whole beside its parts.
pub(super) const WHOLE: f32 = 1.5;
/// Of a page with such a priority half of what priorities can add is added.
const MIDDLE: f64 = 10.0;
/// What priorities can add.
const LINKED: f64 = 0.5;
/// What each link from the seed takes, and how many do.
const DEPTH: (f64, u64) = (0.02, 5);

/// Fields in which words stand with their places, and what a word counts there.
pub(super) fn weighed(fields: &Fields) -> [(&'static str, Field, f32); 6] {
    [
        ("title", fields.title, 4.0),
        ("heads", fields.heads, 2.0),
        ("keys", fields.keys, 2.0),
        ("url", fields.url, 1.5),
        ("descr", fields.descr, 1.5),
        ("text", fields.text, 1.0),
    ]
}

kinds! {
    /// What comes first.
    #[derive(Default)]
    Sort {
        /// What says most of what is looked for.
        #[default]
        Relevance = "relevance",
        /// What is linked from elsewhere, from here, and links itself.
        Priority = "priority",
        /// What has most links.
        OutLinks = "out_links",
        /// What most pages link to.
        InLinks = "in_links",
        /// What was captured last.
        Newest = "newest",
    }
}

/// Links of a page, and to it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Links {
    /// Links on it.
    pub out_links: u64,
    /// Pages of the index that link to it.
    pub in_links: u64,
    /// Those of them of other registrable domains.
    pub in_external: u64,
}

impl Links {
    /// How much the page is linked: 4 lg(1 + `in_external`) + lg(1 + `in_links`) + ¼ lg(1 + `out_links`), of logarithms to the base of ten.
    pub fn priority(self) -> f64 {
        let lg = |n: u64| (1.0 + n as f64).log10();
        4.0 * lg(self.in_external) + lg(self.in_links) + lg(self.out_links) / 4.0
    }
}

/// What [`factors`] can make more of what words count, whatever the links are.
pub(super) fn most(depth: u64) -> f64 {
    (1.0 + LINKED) * deep(depth)
}

fn deep(depth: u64) -> f64 {
    1.0 - DEPTH.0 * depth.min(DEPTH.1) as f64
}

/// What the links to a page and its depth make of what its words count.
pub(super) fn factors(links: Links, depth: u64) -> [f64; 2] {
    let priority = links.priority();
    [1.0 + LINKED * priority / (priority + MIDDLE), deep(depth)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_that_is_linked_from_elsewhere_counts_more_and_a_deep_one_less() {
        let linked = |in_external, in_links, out_links| Links { out_links, in_links, in_external };
        assert_eq!(linked(0, 0, 0).priority(), 0.0);
        assert_eq!(linked(9, 99, 9_999).priority(), 4.0 + 2.0 + 1.0);
        assert_eq!(factors(linked(0, 0, 0), 0), [1.0, 1.0]);
        let [links, depth] = factors(linked(99, 99, 0), 9);
        assert!((links - 1.25).abs() < 1e-12 && (depth - 0.9).abs() < 1e-12, "{links} {depth}");
    }
}
