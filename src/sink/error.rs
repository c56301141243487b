//! What can go wrong with a sink here, not at its server.

use std::io;

use crate::base::fault::Injected;
use crate::export::ExportError;
use crate::storage::StorageError;
use crate::storage::values::CONSUMERS;

/// Why a sink rests.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "each message says what its fields are")]
#[non_exhaustive]
pub enum SinkError {
    #[error(transparent)]
    Storage(#[from] StorageError),
    #[error(transparent)]
    Export(#[from] ExportError),
    #[error(transparent)]
    Injected(#[from] Injected),
    #[error("{doing}: {source}")]
    Io { doing: String, source: io::Error },
    #[error(
        "{CONSUMERS} read the feed under a name already, and nothing would be kept for this one: `lycosa ctl feed forget NAME` takes one away"
    )]
    Full,
}
