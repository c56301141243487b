//! What the Store is told.

use std::time::Duration;

use actix::Message;
use tokio::sync::{OwnedSemaphorePermit, oneshot};

use crate::actors::lease::Lease;
use crate::actors::node::PagePermit;
use crate::checkpoint::CheckpointError;
use crate::checkpoint::make::{Draft, Position};
use crate::storage::ledger::Change;
use crate::warc::page::PageRecords;

/// A change to be committed, with everything that ends with it.
#[derive(Message)]
#[rtype(result = "()")]
pub struct Commit {
    /// Refused when another epoch is in force; `None` for changes that hang on nothing pending.
    pub epoch: Option<u64>,
    /// The change.
    pub change: Change,
    /// The lease that ends with it.
    pub lease: Option<Lease>,
    /// The permit that comes back with it.
    pub permit: Option<PagePermit>,
    /// Exchanges for the archive; a page has one.
    pub records: Vec<PageRecords>,
    /// How long its fetch took.
    pub took: Duration,
    /// Called after the commit; dropped when it is lost.
    pub reply: Option<Box<dyn FnOnce() + Send>>,
}

impl Commit {
    /// A change that ends nothing.
    #[must_use]
    pub fn bare(change: Change) -> Self {
        Self { epoch: None, change, lease: None, permit: None, records: Vec::new(), took: Duration::ZERO, reply: None }
    }
}

/// Everything is to be brought to the disk and closed: the node ends.
#[derive(Message)]
#[rtype(result = "()")]
pub struct Close {
    /// False when requests were cut off: hosts may have been asked later than the disk knows (I1).
    pub drained: bool,
    /// Answered with false when closing failed.
    pub reply: oneshot::Sender<bool>,
}

/// The database is to be linked into a draft of a checkpoint, between two commits and with no archive file open.
#[derive(Message)]
#[rtype(result = "()")]
pub struct TakeCheckpoint {
    /// Where to.
    pub draft: Draft,
    /// One at a time; travels with the draft.
    pub turn: OwnedSemaphorePermit,
    /// Draft and turn come back with what was found.
    pub reply: oneshot::Sender<Result<Taken, CheckpointError>>,
}

/// A draft with its database.
#[derive(Debug)]
pub struct Taken {
    /// The draft.
    pub draft: Draft,
    /// The turn.
    pub turn: OwnedSemaphorePermit,
    /// What stood at that moment.
    pub position: Position,
}
