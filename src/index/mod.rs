//! The index of pages: which page says what, and which page links where. Derived from feed and archive: it can be thrown away and made
//! again, and always knows up to which entry of the feed it is true (ADR 26).
//!
//! The only room that knows the library underneath (tantivy); without the feature `search` there is no index.

mod dismax;
mod error;
mod links;
mod query;
mod room;
mod row;
mod tokenizer;

pub mod entry;
pub mod follow;
pub mod generations;
pub mod make;
pub mod rank;
pub mod reader;
pub mod schema;
pub mod search;
pub mod served;
pub mod snippet;
pub mod verify;
pub mod writer;

pub use entry::Entry;
pub use error::IndexError;
pub use follow::{FollowError, Follower, Source, Step};
pub use generations::Folder;
pub use make::{Look, Making, link_key};
pub use rank::{Links, Sort};
pub use reader::Reader;
pub use schema::{Fields, Stand};
pub use search::{Found, Hit, Search, Why};
pub use served::{Doing, Served};
pub use snippet::{Piece, snippet};
pub use writer::Writer;

#[cfg(test)]
mod tests;
