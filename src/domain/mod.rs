//! Pure rules of crawling: no tokio, actix, rocksdb, IO or clock. `now` is an argument.

pub mod ask;
pub mod card;
#[cfg(test)]
pub(crate) mod cases;
pub(crate) mod coded;
pub mod cut;
pub mod diff;
pub mod fingerprint;
pub mod found_as;
pub mod frontier;
pub mod host;
pub mod login;
pub mod memory;
pub mod mirror_names;
pub mod note;
pub mod orders;
pub mod outcome;
pub mod partition;
pub mod politeness;
pub mod rank;
pub mod reach;
pub mod reason;
pub mod revisit;
pub mod robots;
pub mod scope;
pub mod secret_header;
pub mod seed;
pub mod statuses;
pub mod text;
pub mod textprint;
pub mod traps;
pub mod url;
pub mod usage;
pub mod visit;
pub mod w3c_date;
pub mod words;
