//! The seven kinds of actor and what they share.
//!
//! ```text
//!  Inject / links ──> Deduper ──> Store ──commit──> Frontier ──leases──> Host (politeness, one per active host)
//!                        ^                                                   │ Fetch{lease, slot, permit, pinned address}
//!                        │ Parsed                                            v
//!                     Parser <──── Parse{lease, permit, document} ──── Fetcher pool ──report──> Host
//! ```
//! Each room: what it owns, receives, sends, never does, and how it looks after a restart, in its module's text.

pub mod admit;
pub mod asking;
#[cfg(test)]
pub(crate) mod bench;
pub(crate) mod budget;
pub mod control;
pub mod deduper;
pub mod fetcher;
pub mod frontier;
pub mod jobs;
pub mod lease;
pub mod link_room;
pub mod live;
pub mod mailbox;
pub mod node;
pub mod orders;
pub mod parser;
pub mod politeness;
pub mod pulse;
pub mod ranks;
pub mod readmit;
pub mod rules;
pub mod seeds;
pub mod slot;
pub mod state;
pub mod stats;
pub mod store;
pub mod stored;
pub mod strikes;
pub mod supervise;
pub mod together;
pub mod worker;

use crate::storage::StorageError;

pub use supervise::supervisor;

/// What comes of a look at the storage.
pub(crate) type Result<T, E = StorageError> = std::result::Result<T, E>;
