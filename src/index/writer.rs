//! Writes an index: documents in and out, and commits that say up to where it is true.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use tantivy::indexer::{IndexWriterOptions, LogMergePolicy};
use tantivy::{Index, IndexWriter, Term};

use super::entry::{Entry, Held, ID};
use super::error::IndexError;
use super::room::Room;
use super::schema::{Fields, Stand, opened, stand};

/// Bytes of documents on their way to the worker.
const ON_THE_WAY: usize = 32 << 20;
/// Documents of a segment that is not merged any more.
const LARGEST_SEGMENT: usize = 5_000_000;
/// Share of deleted documents from which a segment is written anew.
const DELETED: f32 = 0.3;

/// The one writer of an index. Its folder is locked.
pub struct Writer {
    dir: PathBuf,
    writer: IndexWriter<Held>,
    fields: Fields,
    room: Arc<Room>,
}

impl Writer {
    /// Opens the index in `dir`, which exists, to write; an empty folder becomes an empty index. `memory`: bytes of the arena, at least 15 MB.
    ///
    /// # Errors
    /// [`IndexError`]: it does not open, somebody else writes it, or it has other fields.
    pub fn open(dir: &Path, memory: usize) -> Result<Self, IndexError> {
        let (index, fields) = opened(dir)?;
        let options = IndexWriterOptions::builder()
            .memory_budget_per_thread(memory)
            .num_worker_threads(1)
            .num_merge_threads(1)
            .build();
        let writer = index.writer_with_options(options).map_err(IndexError::library("write", dir))?;
        let mut policy = LogMergePolicy::default();
        policy.set_max_docs_before_merge(LARGEST_SEGMENT);
        policy.set_del_docs_ratio_before_merge(DELETED);
        writer.set_merge_policy(Box::new(policy));
        Ok(Self { dir: dir.to_owned(), writer, fields, room: Room::new(ON_THE_WAY) })
    }

    /// Up to where the last commit says that it is true; none of an empty index.
    ///
    /// # Errors
    /// [`IndexError`]: the payload cannot be read.
    pub fn stand(&self) -> Result<Option<Stand>, IndexError> {
        stand(self.index(), &self.dir)
    }

    pub(super) fn index(&self) -> &Index {
        self.writer.index()
    }

    /// Adds a document. Waits while too many bytes are on their way. One with the same id has to be deleted before.
    ///
    /// # Errors
    /// [`IndexError`]: the worker has died.
    pub fn add(&mut self, entry: &Entry) -> Result<(), IndexError> {
        let held = Held { _room: self.room.take(entry.bytes()), document: entry.document(&self.fields) };
        self.writer.add_document(held).map(|_| ()).map_err(IndexError::library("write", &self.dir))
    }

    /// Deletes the document with an id, as far as it was added before.
    pub fn delete(&mut self, id: &[u8; ID]) {
        self.writer.delete_term(Term::from_field_bytes(self.fields.id, id));
    }

    /// Writes and syncs all that was added and deleted, and up to where it is true now: all of it or nothing.
    ///
    /// # Errors
    /// [`IndexError`]: it cannot be written. What was added since the last commit is then gone.
    pub fn commit(&mut self, stand: &Stand) -> Result<(), IndexError> {
        let failed = IndexError::library("commit", &self.dir);
        let payload = serde_json::to_string(stand).unwrap_or_default();
        let mut commit = self.writer.prepare_commit().map_err(&failed)?;
        commit.set_payload(&payload);
        commit.commit().map(|_| ()).map_err(failed)
    }

    /// Waits until what is being merged is, and closes it.
    ///
    /// # Errors
    /// [`IndexError`]: a thread died.
    pub fn close(self) -> Result<(), IndexError> {
        self.writer.wait_merging_threads().map_err(IndexError::library("close", &self.dir))
    }
}
