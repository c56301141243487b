//! Why a node does not start.

use crate::base::disk::DiskFault;

/// Why a node could not be started.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "each message says what its fields are")]
#[non_exhaustive]
pub enum StartError {
    #[error(transparent)]
    Storage(#[from] crate::storage::StorageError),
    /// A restore that was killed half way.
    #[error(transparent)]
    Checkpoint(#[from] crate::recovery::checkpoint::CheckpointError),
    #[error(transparent)]
    Scope(#[from] crate::domain::scope::ScopeError),
    #[error("[net] allow: {0}")]
    Allow(#[from] crate::net::guard::AllowError),
    #[error(transparent)]
    Memory(#[from] crate::domain::memory::TooLittle),
    #[error("[dns] overrides: {0}")]
    Dns(#[from] crate::net::dns::OverrideError),
    #[error(transparent)]
    Archive(#[from] crate::warc::WarcError),
    #[error("TLS could not be set up: {0}")]
    Tls(#[from] crate::net::tls::TlsSetupError),
    #[error(transparent)]
    Access(#[from] crate::config::AccessError),
    /// An address that this machine does not have.
    #[error("fetch.source_address: no connection can come from {address}: {source}")]
    Source { address: std::net::IpAddr, source: std::io::Error },
    /// A folder or a thread.
    #[error("{doing}: {source}")]
    Io { doing: String, source: std::io::Error },
    /// The thread of the actors ended before they were started.
    #[error("the actors could not be started; see the log")]
    Actors,
}

impl StartError {
    /// What it says of the disk, if that has a part in it.
    pub fn fault(&self) -> Option<DiskFault> {
        match self {
            Self::Storage(e) => Some(e.fault()),
            Self::Archive(e) => Some(e.fault()),
            Self::Io { source, .. } => Some(DiskFault::of_io(source)),
            Self::Checkpoint(e) => e.fault(),
            Self::Scope(_) | Self::Allow(_) | Self::Memory(_) | Self::Dns(_) | Self::Tls(_) | Self::Actors => None,
            Self::Access(_) | Self::Source { .. } => None,
        }
    }
}
