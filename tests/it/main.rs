//! Tests of the whole: the program, a node in one process, the daemon. One binary, so that RocksDB is linked once.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test that cannot go on fails")]

mod cli;
mod crawl;
#[cfg(feature = "faults")]
mod deaths;
mod limits;
mod politeness;
mod restart;
mod support;
mod warc_tools;
