//! The memory twin: a sorted map a family. It keeps the same contract as RocksDB and can be told to fail.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use super::{Batch, Family, Op, Pair, Storage, StorageError, StorageStats, check_ascending, format};

type Map = BTreeMap<Vec<u8>, Vec<u8>>;

/// A store in memory. Nothing survives the process.
#[derive(Debug, Default)]
pub struct MemoryStorage {
    inner: RwLock<Inner>,
    failing_writes: AtomicU64,
    failing_syncs: AtomicU64,
    unanswered_writes: AtomicU64,
}

#[derive(Clone, Debug, Default)]
struct Inner {
    maps: BTreeMap<Family, Map>,
    sequence: u64,
    synced: u64,
}

impl MemoryStorage {
    /// An empty store.
    pub fn new() -> Self {
        Self::default()
    }

    /// A store with its format record, as an opened folder has it; the seed is fixed.
    ///
    /// # Errors
    /// None in practice; the type is that of every store.
    pub fn formatted(seed: u64) -> Result<Self, StorageError> {
        let storage = Self::new();
        format::prepare(&storage, Some(seed), Path::new("memory"))?;
        Ok(storage)
    }

    /// The next `n` writes fail and change nothing.
    pub fn fail_next_writes(&self, n: u64) {
        self.failing_writes.store(n, Ordering::SeqCst);
    }

    /// The next `n` writes are made, and said to have failed: how it looks when the fate of a batch is not known.
    pub fn fail_next_answers(&self, n: u64) {
        self.unanswered_writes.store(n, Ordering::SeqCst);
    }

    /// The next `n` syncs fail.
    pub fn fail_next_syncs(&self, n: u64) {
        self.failing_syncs.store(n, Ordering::SeqCst);
    }

    /// The sequence number up to which writes were synced.
    pub fn synced(&self) -> u64 {
        self.read().synced
    }

    /// A copy of what is stored: what another process would find after a kill.
    pub fn snapshot(&self) -> Self {
        Self { inner: RwLock::new(self.read().clone()), ..Self::default() }
    }

    // A panic elsewhere cannot leave the maps half changed in a way that matters here: a batch is applied without a call
    // that can panic.
    fn read(&self) -> RwLockReadGuard<'_, Inner> {
        self.inner.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn change(&self) -> RwLockWriteGuard<'_, Inner> {
        self.inner.write().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Takes one from a count of faults to inject; true when there was one.
fn take_fault(faults: &AtomicU64) -> bool {
    faults.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1)).is_ok()
}

impl Inner {
    fn get(&self, family: Family, key: &[u8]) -> Option<Vec<u8>> {
        self.maps.get(&family)?.get(key).cloned()
    }

    fn apply(&mut self, op: &Op) {
        match op {
            Op::Put { family, key, value } => {
                self.maps.entry(*family).or_default().insert(key.clone(), value.clone());
            }
            Op::Delete { family, key } => {
                if let Some(map) = self.maps.get_mut(family) {
                    map.remove(key);
                }
            }
        }
        self.sequence = self.sequence.saturating_add(1);
    }
}

impl Storage for MemoryStorage {
    fn get(&self, family: Family, key: &[u8]) -> Result<Option<Vec<u8>>, StorageError> {
        Ok(self.read().get(family, key))
    }

    fn multi_get(&self, family: Family, keys: &[Vec<u8>]) -> Result<Vec<Option<Vec<u8>>>, StorageError> {
        check_ascending(family, keys)?;
        let inner = self.read();
        Ok(keys.iter().map(|key| inner.get(family, key)).collect())
    }

    fn scan(&self, family: Family, from: &[u8], until: &[u8], limit: usize) -> Result<Vec<Pair>, StorageError> {
        let upper = if until.is_empty() { Bound::Unbounded } else { Bound::Excluded(until) };
        if !until.is_empty() && from >= until {
            return Ok(Vec::new());
        }
        let inner = self.read();
        let Some(map) = inner.maps.get(&family) else { return Ok(Vec::new()) };
        let range = map.range::<[u8], _>((Bound::Included(from), upper));
        Ok(range.take(limit).map(|(key, value)| (key.clone(), value.clone())).collect())
    }

    fn write(&self, batch: &Batch) -> Result<u64, StorageError> {
        if take_fault(&self.failing_writes) {
            return Err(StorageError::Injected { doing: "writing a batch" });
        }
        let mut inner = self.change();
        batch.ops().iter().for_each(|op| inner.apply(op));
        if take_fault(&self.unanswered_writes) {
            return Err(StorageError::Injected { doing: "answering a write" });
        }
        Ok(inner.sequence)
    }

    fn sync(&self) -> Result<(), StorageError> {
        if take_fault(&self.failing_syncs) {
            return Err(StorageError::Injected { doing: "syncing" });
        }
        let mut inner = self.change();
        inner.synced = inner.sequence;
        Ok(())
    }

    fn sequence(&self) -> u64 {
        self.read().sequence
    }

    fn stats(&self) -> StorageStats {
        let bytes = |map: &Map| map.iter().map(|(key, value)| key.len() + value.len()).sum::<usize>();
        let memory = self.read().maps.values().map(bytes).sum::<usize>() as u64;
        StorageStats { memory, memtables: memory, ..StorageStats::default() }
    }
}
