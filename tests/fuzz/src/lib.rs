//! The program's code that reads what strangers send, without RocksDB and actors, for the fuzzer.
//!
//! The files are the program's own, included by path, so that a target is built in a minute with the fuzzer's flags.
//! [`targets`] is also part of the program's tests (`tests/it/corpus.rs`), which replay the corpus without a fuzzer.

#![allow(dead_code, unused_imports, unused_macros, reason = "a part of the program is used")]

/// What the pure rooms stand on.
#[path = "../../../src/base"]
pub mod base {
    pub(crate) mod kinds;
    pub mod sync;
    pub mod time;
    pub mod units;
}

#[path = "../../../src/domain/mod.rs"]
pub mod domain;

#[path = "../../../src/content/mod.rs"]
pub mod content;

/// Content codings, chunks.
#[path = "../../../src/document"]
pub mod document {
    pub mod chunks;
    pub mod decode;
}

/// Heads, where bodies end, cookies.
#[path = "../../../src/net"]
pub mod net {
    pub mod cookies;
    pub mod framing;
    pub mod head;
}

/// Reading and writing of WARC records.
#[path = "../../../src/warc"]
pub mod warc {
    pub mod header;
    pub mod http_head;
    pub mod member;
    pub mod reader;
    pub mod surt;
}

pub mod targets;
