//! A commit under construction: what it reads, it reads through its own writes.

use super::keys::{Key, KeyRange};
use super::tables::{MetaRecord, Table};
use super::values::Value;
use super::{Batch, Family, Storage, StorageError, read};
use crate::domain::fingerprint::KeyMap;

/// Changes laid over a storage; [`Txn::into_batch`] makes them one atomic write.
pub struct Txn<'s> {
    storage: &'s dyn Storage,
    overlay: KeyMap<(Family, Vec<u8>), Option<Vec<u8>>>,
}

impl<'s> Txn<'s> {
    /// No changes yet.
    pub fn new(storage: &'s dyn Storage) -> Self {
        Self { storage, overlay: KeyMap::default() }
    }

    /// The database as it is before this commit.
    pub fn storage(&self) -> &'s dyn Storage {
        self.storage
    }

    /// The record as this commit will leave it.
    ///
    /// # Errors
    /// The storage's own, or a record that cannot be read.
    pub fn get<T: Table>(&self, key: &T::Key) -> Result<Option<T::Value>, StorageError> {
        self.value(T::FAMILY, key.encode())
    }

    /// A single record of the whole folder, as this commit will leave it.
    ///
    /// # Errors
    /// As [`get`](Self::get).
    pub fn get_meta<M: MetaRecord>(&self, of: M::Of) -> Result<Option<M>, StorageError> {
        self.value(Family::Meta, M::key(of).encode())
    }

    fn value<V: Value>(&self, family: Family, key: Vec<u8>) -> Result<Option<V>, StorageError> {
        let slot = (family, key);
        let decode = |bytes: &[u8]| read::value(family, &slot.1, bytes);
        match self.overlay.get(&slot) {
            Some(bytes) => bytes.as_deref().map(decode).transpose(),
            None => self.storage.get(family, &slot.1)?.as_deref().map(decode).transpose(),
        }
    }

    /// The first key of a range as stored: what this commit changes is not regarded.
    ///
    /// # Errors
    /// The storage's own.
    pub fn first_stored<T: Table>(&self, range: &KeyRange) -> Result<Option<T::Key>, StorageError> {
        read::first_key::<T>(self.storage, range)
    }

    /// The first records of a range as stored: what this commit changes is not regarded.
    ///
    /// # Errors
    /// The storage's own, or a record that cannot be read.
    pub fn stored<T: Table>(&self, range: &KeyRange, most: usize) -> read::Result<Vec<(T::Key, T::Value)>> {
        read::scan::<T>(self.storage, range, most)
    }

    /// Sets a record.
    pub fn put<T: Table>(&mut self, key: &T::Key, value: &T::Value) {
        self.overlay.insert((T::FAMILY, key.encode()), Some(value.encode()));
    }

    /// Removes a record.
    pub fn delete<T: Table>(&mut self, key: &T::Key) {
        self.overlay.insert((T::FAMILY, key.encode()), None);
    }

    /// Sets a single record of the whole folder.
    pub fn put_meta<M: MetaRecord>(&mut self, of: M::Of, value: &M) {
        self.overlay.insert((Family::Meta, M::key(of).encode()), Some(value.encode()));
    }

    /// Removes a single record of the whole folder.
    pub fn delete_meta<M: MetaRecord>(&mut self, of: M::Of) {
        self.overlay.insert((Family::Meta, M::key(of).encode()), None);
    }

    /// All changes as one atomic write, in the order of their keys: the engine's memory table finds the place of a key that
    /// follows the one before at once, and searches for any other.
    pub fn into_batch(self) -> Batch {
        let mut batch = Batch::new();
        let mut changes: Vec<_> = self.overlay.into_iter().collect();
        changes.sort_unstable_by(|(a, _), (b, _)| a.cmp(b));
        for ((family, key), value) in changes {
            match value {
                Some(value) => batch.put_raw(family, key, value),
                None => batch.delete_raw(family, key),
            }
        }
        batch
    }
}
