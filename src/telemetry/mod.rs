//! What can be seen of a running crawl: metric names, log set-up, the status snapshot.

pub mod status;

pub use status::{State, StatusSnapshot};
