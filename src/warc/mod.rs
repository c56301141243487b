//! WARC 1.1, CDXJ and `crawl.jsonl`: what a crawl leaves for others to read.
//!
//! | file | concept |
//! |---|---|
//! | [`record`] | builds whole records, one gzip member each |
//! | [`http_head`] | HTTP heads as stored: redacted, framing made true |
//! | [`digest`], [`date`], [`id`], [`header`], [`info`], [`metadata`] | parts of a record |
//! | [`gz`], [`spool`] | compressing; small in memory, large in a file |

pub mod append;
pub mod archive;
pub mod cdxj;
pub mod date;
pub mod digest;
mod error;
pub mod gz;
pub mod header;
pub mod http_head;
pub mod id;
pub mod info;
pub mod jsonl;
pub mod metadata;
pub mod name;
pub mod page;
pub mod reader;
pub mod record;
mod repair;
pub mod scan;
pub mod spool;
pub mod surt;
pub mod writer;

pub use error::WarcError;

#[cfg(test)]
mod tests;
