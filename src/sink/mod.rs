//! Sinks: pages are handed on as they are committed, to a search server, to a server that takes lines, or into files that roll (ADR 31).
//!
//! A sink reads the feed behind the number that it has acknowledged, so what it does may be done twice, and nothing is left out. Here is
//! what is sent and what answers mean; who sends it is [`app`](crate::app).
//!
//! | file | concept |
//! |---|---|
//! | [`outbox`], [`judge`] | a batch on its way; what an answer means |
//! | [`bulk`], [`lines`] | what is sent: documents of an index, lines of JSON |
//! | [`files`] | files that roll |
//! | [`rejected`] | the list of what was never taken |
//! | [`served`] | what is told of a sink |

pub mod bulk;
mod error;
pub mod files;
pub mod judge;
pub mod lines;
pub mod outbox;
pub mod rejected;
pub mod served;

pub use error::SinkError;
pub use judge::{Answer, Verdict};
pub use outbox::{Outbox, Piece, Rejected, Request, Trust};
pub use served::{Doing, Served};
