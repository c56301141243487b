//! HTML as a crawler needs it: links, title, directives and text from a stream of markup, without a tree.

mod directives;
mod extract;
mod facts;
mod page;

pub use directives::Directives;
pub use extract::{ExtractOptions, Extractor};
pub use facts::{Link, LinkKind, PageFacts};
pub use page::{Page, PageReader, read_page};
