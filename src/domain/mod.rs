//! Pure rules of crawling: no tokio, actix, rocksdb, IO or clock. `now` is an argument.

pub mod charset;
pub mod fingerprint;
pub mod frontier;
pub mod host;
pub mod html;
pub mod mime;
pub mod outcome;
pub mod partition;
pub mod politeness;
pub mod rank;
pub mod reason;
pub mod robots;
pub mod scope;
pub mod time;
pub mod traps;
pub mod url;
