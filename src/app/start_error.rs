//! Why a node does not start.

use crate::base::disk::DiskFault;

/// Why a node could not be started.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// The data folder.
    #[error(transparent)]
    Storage(#[from] crate::storage::StorageError),
    /// A restore that was killed half way.
    #[error(transparent)]
    Checkpoint(#[from] crate::recovery::checkpoint::CheckpointError),
    /// The scope's patterns.
    #[error(transparent)]
    Scope(#[from] crate::domain::scope::ScopeError),
    /// The allowed addresses.
    #[error("[net] allow: {0}")]
    Allow(#[from] crate::net::guard::AllowError),
    /// `memory.max`.
    #[error(transparent)]
    Memory(#[from] crate::domain::memory::TooLittle),
    /// The overrides of names.
    #[error("[dns] overrides: {0}")]
    Dns(#[from] crate::net::dns::OverrideError),
    /// The archive's folder.
    #[error(transparent)]
    Archive(#[from] crate::warc::WarcError),
    /// TLS.
    #[error("TLS could not be set up: {0}")]
    Tls(#[from] crate::net::tls::TlsSetupError),
    /// Credentials.
    #[error(transparent)]
    Access(#[from] crate::config::AccessError),
    /// An address that this machine does not have.
    #[error("fetch.source_address: no connection can come from {address}: {source}")]
    Source {
        /// The address.
        address: std::net::IpAddr,
        /// The system's error.
        source: std::io::Error,
    },
    /// A folder or a thread.
    #[error("{doing}: {source}")]
    Io {
        /// What was being done.
        doing: String,
        /// The system's error.
        source: std::io::Error,
    },
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
