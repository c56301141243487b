//! What a search answers.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Pages that match, the best first.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct SearchView {
    /// Pages that match; at least so many when it is `partial`.
    pub total: u64,
    /// It took too long: some pages were not looked at.
    pub partial: bool,
    /// The pages asked for.
    pub hits: Vec<HitView>,
    /// The cursor of what follows; none at the end, and behind the first thousand.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub next: Option<String>,
    /// What was typed and not understood, or too much.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub left_out: Vec<String>,
    /// How far the index is.
    pub as_of: AsOf,
}

/// How far the index is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AsOf {
    /// The last entry of the feed that it has.
    pub seq: u64,
    /// Entries that it lacks.
    pub behind: u64,
    /// The newest capture in it, milliseconds since 1970.
    pub captured_ms: u64,
    /// Pages in it.
    pub documents: u64,
}

/// A page that matches.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct HitView {
    /// Its URL.
    pub url: String,
    /// Its title.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub title: Option<String>,
    /// Where what was looked for stands, in pieces; empty when that is not on the page as it is stored, or it forbids copies.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub snippet: Vec<PieceView>,
    /// When it was captured, milliseconds since 1970.
    pub captured_ms: u64,
    /// Since when it has this content, as far as captures tell.
    pub changed_ms: u64,
    /// It could not be fetched the last time.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub stale: bool,
    /// Pages with the same content that are not shown.
    pub same: u32,
    /// What its words count, times what its links and depth make of it.
    pub score: f64,
    /// How much it is linked (`docs/search.md`).
    pub priority: f64,
    /// Links on it.
    pub out_links: u64,
    /// Pages that link to it.
    pub in_links: u64,
    /// Those of them of other registrable domains.
    pub in_external: u64,
    /// Links from the nearest seed.
    pub depth: u64,
    /// Its card (`docs/card.md`).
    pub card: serde_json::Value,
    /// How it came to its place, with `explain=1`.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub why: Vec<WhyView>,
}

/// How much a page is linked by the pages of the index.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Linked {
    /// Pages that link to it.
    pub in_links: u64,
    /// Those of them of other registrable domains.
    pub in_external: u64,
    /// What that and its own links make (`docs/search.md`).
    pub priority: f64,
}

/// A piece of a snippet.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct PieceView {
    /// As the page has it.
    pub text: String,
    /// It was looked for.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub marked: bool,
}

/// A part of a score.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct WhyView {
    /// A word, the words in a row, or `links`, `depth`.
    pub what: String,
    /// Where it was found.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub field: Option<String>,
    /// What it counts; of a word the best field counts, and a fifth of the others. Of `links` and `depth`: by what the sum is multiplied.
    pub counts: f64,
}

/// Links of a page, or to it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LinksView {
    /// The page.
    pub url: String,
    /// `in` or `out`.
    pub direction: String,
    /// How many pages link to it, or it links to, as far as the index knows.
    pub total: u64,
    /// Those of them of other registrable domains.
    pub external: u64,
    /// The pages asked for.
    pub items: Vec<LinkView>,
    /// The cursor of what follows; none at the end.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub next: Option<String>,
}

/// A page that links, or is linked.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LinkView {
    /// Its URL.
    pub url: String,
    /// Its title, if it is in the index.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub title: Option<String>,
    /// What the link says.
    #[serde(skip_serializing_if = "String::is_empty", default)]
    pub text: String,
    /// The element that it stands in.
    #[serde(skip_serializing_if = "String::is_empty", default)]
    pub kind: String,
    /// It is of another registrable domain.
    pub external: bool,
}
