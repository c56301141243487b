//! The cap on bytes that lie in spill files at one time, shared by every fetcher of a node.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Why a body could not be kept; becomes `Failure::Spill`.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "each message says what its fields are")]
pub enum SpillError {
    #[error("{wanted} more bytes do not fit the spill budget of {limit} bytes: wait for pages in work, or raise it")]
    Budget { wanted: u64, limit: u64 },
    #[error("the spill file in {dir} failed: {source}; check the folder and the free space")]
    Io { dir: String, source: io::Error },
}

/// A byte budget, of spill files or of the memory that large bodies share; clones share it.
#[derive(Clone, Debug)]
pub struct SpillBudget {
    inner: Arc<Counter>,
}

#[derive(Debug)]
struct Counter {
    limit: u64,
    used: AtomicU64,
}

impl SpillBudget {
    /// A budget of `limit` bytes.
    pub fn new(limit: u64) -> Self {
        Self { inner: Arc::new(Counter { limit, used: AtomicU64::new(0) }) }
    }

    /// Bytes in use now.
    pub fn used(&self) -> u64 {
        self.inner.used.load(Ordering::Relaxed)
    }

    /// The whole budget in bytes.
    pub fn limit(&self) -> u64 {
        self.inner.limit
    }

    /// Less than an eighth is free.
    pub fn is_short(&self) -> bool {
        self.limit().saturating_sub(self.used()) < self.limit() / 8
    }

    /// An empty charge that can grow.
    pub(super) fn open(&self) -> SpillCharge {
        SpillCharge { budget: self.clone(), bytes: 0 }
    }

    fn take(&self, bytes: u64) -> Result<(), SpillError> {
        let counter = &self.inner;
        let sum = |used: u64| used.checked_add(bytes).filter(|sum| *sum <= counter.limit);
        let taken = counter.used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, sum);
        taken.map(drop).map_err(|_| SpillError::Budget { wanted: bytes, limit: counter.limit })
    }
}

/// Bytes taken out of the budget; they come back on drop.
#[derive(Debug)]
pub(super) struct SpillCharge {
    budget: SpillBudget,
    bytes: u64,
}

impl SpillCharge {
    /// Bytes taken so far.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Takes `bytes` more.
    pub(super) fn grow(&mut self, bytes: u64) -> Result<(), SpillError> {
        self.budget.take(bytes)?;
        self.bytes = self.bytes.saturating_add(bytes);
        Ok(())
    }
}

impl Drop for SpillCharge {
    fn drop(&mut self) {
        self.budget.inner.used.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}
