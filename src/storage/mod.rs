//! The one database: its schema, its keys and values, RocksDB and its memory twin.
//!
//! | file | what lives there |
//! |---|---|
//! | [`schema`] | all column families, the format version |
//! | [`keys`] | fixed-width big-endian keys, bounds for scans |
//! | [`values`] | versioned values |
//! | [`tables`] | which key and which value belong to which family |
//! | [`batch`] | what is written together |
//! | [`read`] | typed look-ups and scans |
//! | [`feed`] | what became of each page, as it is read |
//! | [`folder`] | the data folder's marker |
//! | [`format`](mod@format) | version and seed inside the database |
//! | [`share`] | which partitions are this folder's own, in a crawl in parts |
//! | [`memory`] | the twin in memory, for tests and dry runs |
//! | `rocks` | RocksDB (feature `rocksdb`) |
//!
//! One room writes (Store); everybody reads. A [`Batch`] is atomic; it survives a kill of the process once `write` has
//! returned, and a loss of power once `sync` has returned after it.

pub mod batch;
pub mod credit;
pub mod error;
pub mod feed;
pub mod folder;
pub mod format;
pub mod keys;
pub mod ledger;
pub mod mark;
pub mod memory;
pub mod newest;
pub mod read;
#[cfg(feature = "rocksdb")]
pub mod rocks;
pub mod schema;
pub mod share;
pub mod tables;
pub mod txn;
pub mod values;

#[cfg(test)]
mod contract;

pub use batch::{Batch, Op};
pub use error::StorageError;
pub use memory::MemoryStorage;
#[cfg(feature = "rocksdb")]
pub use rocks::{RocksOptions, RocksStorage};
pub use schema::{FORMAT_VERSION, Family};

/// A record as stored: key, value.
pub type Pair = (Vec<u8>, Vec<u8>);

/// Records removed in one batch, where the engine has no better way.
const CLEARED: usize = 1_000;

/// What storage says of itself. Bytes, or counts of things.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StorageStats {
    /// Memory held by block cache and memtables, bytes.
    pub memory: u64,
    /// The part of it in memtables, bytes.
    pub memtables: u64,
    /// Live files on disk, bytes.
    pub disk: u64,
    /// Bytes that compaction has yet to rewrite.
    pub compaction_debt: u64,
    /// Writes the engine slows down or stops at present.
    pub stalled: bool,
    /// Errors of background work since the store was opened.
    pub background_errors: u64,
}

/// A store of records in families, ordered by key.
///
/// Writes are atomic and applied in order. Reads see every write that has returned.
pub trait Storage: Send + Sync {
    /// The value of a key.
    ///
    /// # Errors
    /// When the engine fails.
    fn get(&self, family: Family, key: &[u8]) -> Result<Option<Vec<u8>>, StorageError>;

    /// The values of ascending keys (equal neighbours allowed), in their order.
    ///
    /// # Errors
    /// [`StorageError::Unsorted`] when the keys do not ascend; else when the engine fails.
    fn multi_get(&self, family: Family, keys: &[Vec<u8>]) -> Result<Vec<Option<Vec<u8>>>, StorageError>;

    /// The first `limit` records from `from` included to `until` excluded (empty: to the end), ascending.
    ///
    /// # Errors
    /// When the engine fails.
    fn scan(&self, family: Family, from: &[u8], until: &[u8], limit: usize) -> Result<Vec<Pair>, StorageError>;

    /// Commits a batch and gives the store's sequence number after it. An empty batch changes nothing.
    ///
    /// # Errors
    /// When the engine fails: then nothing of the batch is to be relied on, and later writes may be refused
    /// ([`StorageError::Latched`]) until the store is opened again.
    fn write(&self, batch: &Batch) -> Result<u64, StorageError>;

    /// Makes every write that has returned survive a loss of power.
    ///
    /// # Errors
    /// When the engine fails.
    fn sync(&self) -> Result<(), StorageError>;

    /// The number of the last write: it grows by at least one for each change of a batch, across restarts too.
    fn sequence(&self) -> u64;

    /// What storage says of itself.
    fn stats(&self) -> StorageStats;

    /// Writes a consistent copy of the whole store into the new folder `dir`, by links where the file system allows; the
    /// folder above it must be there. Everything written before is in it.
    ///
    /// # Errors
    /// [`StorageError::NoCheckpoint`] for a store that lives in memory; else when the engine fails.
    fn checkpoint(&self, dir: &std::path::Path) -> Result<(), StorageError> {
        let _ = dir;
        Err(StorageError::NoCheckpoint)
    }

    /// Removes all records of a range, and gives back their room. Not atomic: it is done again after a kill.
    ///
    /// # Errors
    /// When the engine fails.
    fn clear(&self, family: Family, range: &keys::KeyRange) -> Result<(), StorageError> {
        loop {
            let found = self.scan(family, &range.from, &range.until, CLEARED)?;
            if found.is_empty() {
                return Ok(());
            }
            let mut batch = Batch::new();
            found.into_iter().for_each(|(key, _)| batch.delete_raw(family, key));
            self.write(&batch)?;
        }
    }

    /// Makes writes possible again after one has failed; true when that needed something. What the failed batch became is to
    /// be looked up afterwards. Readers wait meanwhile.
    ///
    /// # Errors
    /// When the store cannot be opened; it then refuses everything ([`StorageError::Latched`]) until a later try succeeds.
    fn reopen(&self) -> Result<bool, StorageError> {
        Ok(false)
    }

    /// Writes what is only in the log to where it needs none, so that the log is not its only copy. At a clean stop.
    ///
    /// # Errors
    /// When the engine fails; nothing is lost then.
    fn flush(&self) -> Result<(), StorageError> {
        Ok(())
    }

    /// Lets go of the folder and of what runs in the background; everything asked afterwards is refused. A store without
    /// either does nothing.
    fn close(&self) {}
}

/// Refuses keys that do not ascend.
fn check_ascending(family: Family, keys: &[Vec<u8>]) -> Result<(), StorageError> {
    if keys.is_sorted() { Ok(()) } else { Err(StorageError::Unsorted { family }) }
}
