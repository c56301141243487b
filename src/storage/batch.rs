//! What is written together: all of it or nothing.

use super::keys::Key;
use super::schema::Family;
use super::tables::{MetaRecord, Table};
use super::values::Value;

/// One change of one key.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "each name says it")]
pub enum Op {
    /// Sets the value of a key.
    Put { family: Family, key: Vec<u8>, value: Vec<u8> },
    /// Removes a key; removing an absent key is no error.
    Delete { family: Family, key: Vec<u8> },
}

/// Changes that are committed atomically, applied in the order they were added (a later one wins).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Batch {
    ops: Vec<Op>,
    bytes: usize,
}

impl Batch {
    /// An empty batch.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets a record of a table.
    pub fn put<T: Table>(&mut self, key: &T::Key, value: &T::Value) {
        self.put_raw(T::FAMILY, key.encode(), value.encode());
    }

    /// Removes a record of a table.
    pub fn delete<T: Table>(&mut self, key: &T::Key) {
        self.delete_raw(T::FAMILY, key.encode());
    }

    /// Sets a single record of the whole folder.
    pub fn put_meta<M: MetaRecord>(&mut self, of: M::Of, value: &M) {
        self.put_raw(Family::Meta, M::key(of).encode(), value.encode());
    }

    /// Removes a single record of the whole folder.
    pub fn delete_meta<M: MetaRecord>(&mut self, of: M::Of) {
        self.delete_raw(Family::Meta, M::key(of).encode());
    }

    /// Sets an already encoded record.
    pub fn put_raw(&mut self, family: Family, key: Vec<u8>, value: Vec<u8>) {
        self.bytes = self.bytes.saturating_add(key.len()).saturating_add(value.len());
        self.ops.push(Op::Put { family, key, value });
    }

    /// Removes an already encoded key.
    pub fn delete_raw(&mut self, family: Family, key: Vec<u8>) {
        self.bytes = self.bytes.saturating_add(key.len());
        self.ops.push(Op::Delete { family, key });
    }

    /// Appends everything of `other`, which applies after what is here already.
    pub fn append(&mut self, other: Self) {
        self.bytes = self.bytes.saturating_add(other.bytes);
        self.ops.extend(other.ops);
    }

    /// The changes in order.
    pub fn ops(&self) -> &[Op] {
        &self.ops
    }

    /// Number of changes.
    pub fn len(&self) -> usize {
        self.ops.len()
    }

    /// True when there is nothing to write.
    pub fn is_empty(&self) -> bool {
        self.ops.is_empty()
    }

    /// Bytes of all keys and values.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Forgets everything, keeps the room.
    pub fn clear(&mut self) {
        self.ops.clear();
        self.bytes = 0;
    }
}
