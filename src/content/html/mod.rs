//! HTML as a crawler needs it: links, title, directives and text from a stream of markup, without a tree.
//!
//! [`PageReader`] (bytes to facts) is the whole way; [`Extractor`] takes text that is already decoded. Beneath are a tokenizer
//! that searches bytes instead of stepping through characters (`tokenizer`, `tag`, `raw`), what little of the tree it must know
//! (`foreign`), and the collector of facts (`extract`).

mod blocks;
mod directives;
mod element;
mod entities;
mod extract;
mod facts;
mod fold;
mod foreign;
mod link_list;
mod links;
mod media;
mod outline;
mod page;
mod raw;
mod rewrite;
mod script;
mod srcdoc;
mod srcset;
mod tag;
mod tokenizer;

pub use blocks::{Blocks, ForCard};
pub use directives::Directives;
pub(crate) use element::separates_words;
pub use entities::decode_references;
pub use extract::{ExtractOptions, Extractor};
pub use facts::{HAS_TEXT, Link, LinkKind, PageFacts, Refresh};
pub(crate) use fold::Fold;
pub use links::kind_of_rel;
pub use outline::{Outline, outline};
#[cfg(test)]
pub(crate) use page::page_of;
pub use page::{DEFAULT_MAX_PARSE, Page, PageReader};
pub use rewrite::{Rewritten, rewrite};
pub use srcset::parse_refresh;
