//! WARC 1.1, CDXJ and `crawl.jsonl`: what a crawl leaves for others to read.
//!
//! | file | concept |
//! |---|---|
//! | [`archive`] | all files of a crawl together; the one the Store holds |
//! | [`page`] | all records of one fetched page; what a parser thread makes |
//! | [`record`], [`info`], [`metadata`], [`header`] | builds records, one member each |
//! | [`http_head`] | HTTP heads as stored: credentials redacted, framing made true |
//! | [`digest`], [`date`], [`member`] | digests, dates, compression |
//! | [`append`], [`name`], [`writer`] | append-only files of known good length; names; one WARC being written |
//! | [`cdxj`], [`surt`], [`jsonl`] | the index and its keys; one line a finished URL |
//! | [`repair`] | tails cut, lost records found, strays dealt with at a start |
//! | [`reader`], [`scan`], [`pick`], [`pages`] | reads WARC files, checks digests, reads one response by its place, or all of any file |
//! | [`group`] | the records of one capture as they lie in their file |
//! | [`robots`] | which robots.txt was in force at a moment, by the indexes |
//! | [`filler`], [`recast`] | what takes the place of an erased record; records of a capture written once more as something else |
//! | [`again`] | what a stored response says: content codings taken off, text, links, card |
//!
//! `docs/warc.md` tells users what is in the files.

pub mod again;
pub mod append;
pub mod archive;
pub mod cdxj;
pub mod date;
pub mod digest;
mod error;
pub mod exchange;
pub mod filler;
pub mod folder;
pub mod group;
pub mod header;
pub mod http_head;
pub mod info;
pub mod jsonl;
pub mod member;
pub mod metadata;
pub mod name;
pub mod page;
pub mod pages;
pub mod pick;
pub mod reader;
pub mod recast;
pub mod record;
pub mod repair;
pub mod robots;
pub mod scan;
pub mod surt;
pub mod writer;

pub use error::WarcError;

#[cfg(test)]
mod tests;
