//! Reads an index.

use std::path::{Path, PathBuf};

use tantivy::schema::{IndexRecordOption, Value};
use tantivy::{DocSet, Index, IndexReader, ReloadPolicy, Searcher, TERMINATED, TantivyDocument, Term};

use super::entry::ID;
use super::error::IndexError;
use super::schema::{Fields, Stand, opened, stand};

/// An index that is read. It shows the last commit that it was told of by [`Reader::reload`].
pub struct Reader {
    dir: PathBuf,
    index: Index,
    reader: IndexReader,
    fields: Fields,
}

impl Reader {
    /// Opens the index in a folder.
    ///
    /// # Errors
    /// [`IndexError`]: it does not open, or has other fields.
    pub fn open(dir: &Path) -> Result<Self, IndexError> {
        let (index, fields) = opened(dir)?;
        let builder = index.reader_builder().reload_policy(ReloadPolicy::Manual);
        let reader = builder.try_into().map_err(IndexError::library("open", dir))?;
        Ok(Self { dir: dir.to_owned(), index, reader, fields })
    }

    /// Its fields.
    pub fn fields(&self) -> &Fields {
        &self.fields
    }

    /// When the capture was made whose document has an id, milliseconds since 1970, and whether it is stale; none when there is no such document.
    ///
    /// # Errors
    /// [`IndexError`]: it cannot be read.
    pub fn document(&self, id: &[u8; ID]) -> Result<Option<(u64, bool)>, IndexError> {
        let term = Term::from_field_bytes(self.fields.id, id);
        let look = || -> tantivy::Result<Option<(u64, bool)>> {
            for segment in self.searcher().segment_readers() {
                let index = segment.inverted_index(self.fields.id)?;
                let Some(mut postings) = index.read_postings(&term, IndexRecordOption::Basic)? else { continue };
                let mut document = postings.doc();
                while document != TERMINATED {
                    if !segment.is_deleted(document) {
                        let column = |name| segment.fast_fields().u64(name).map(|column| column.first(document));
                        return Ok(Some((column("captured")?.unwrap_or(0), column("stale")? == Some(1))));
                    }
                    document = postings.advance();
                }
            }
            Ok(None)
        };
        look().map_err(|e| self.failed(e))
    }

    /// The card of each document, as it is kept.
    ///
    /// # Errors
    /// [`IndexError`]: it cannot be read.
    pub fn each_card(&self, mut each: impl FnMut(&str)) -> Result<(), IndexError> {
        let mut look = || -> tantivy::Result<()> {
            for segment in self.searcher().segment_readers() {
                let store = segment.get_store_reader(1)?;
                for document in segment.doc_ids_alive() {
                    let document: TantivyDocument = store.get(document)?;
                    each(document.get_first(self.fields.card).and_then(|value| value.as_str()).unwrap_or_default());
                }
            }
            Ok(())
        };
        look().map_err(|e| self.failed(e))
    }

    /// Whether any document, one that was replaced too, is of a host.
    ///
    /// # Errors
    /// [`IndexError`]: it cannot be read.
    pub fn has_host(&self, host: &str) -> Result<bool, IndexError> {
        let found = self.searcher().doc_freq(&Term::from_field_text(self.fields.host, host));
        found.map(|documents| documents > 0).map_err(|e| self.failed(e))
    }

    /// Documents that can be found.
    pub fn documents(&self) -> u64 {
        self.searcher().num_docs()
    }

    pub(super) fn failed(&self, source: tantivy::TantivyError) -> IndexError {
        IndexError::Library { doing: "read", dir: self.dir.clone(), source }
    }

    /// A view of the last commit that stays as it is.
    pub fn searcher(&self) -> Searcher {
        self.reader.searcher()
    }

    /// Reads all bytes of it.
    ///
    /// # Errors
    /// [`IndexError`]: some are not those that were written.
    pub fn verify(&self) -> Result<(), IndexError> {
        let damaged = self.index.validate_checksum().map_err(IndexError::library("read", &self.dir))?;
        match damaged.into_iter().next() {
            Some(file) => Err(IndexError::Damaged { file: self.dir.join(file) }),
            None => Ok(()),
        }
    }

    /// Takes up the last commit.
    ///
    /// # Errors
    /// [`IndexError`]: a file is not there or not whole.
    pub fn reload(&self) -> Result<(), IndexError> {
        self.reader.reload().map_err(IndexError::library("read", &self.dir))
    }

    /// Up to where the last commit says that it is true; none of an empty index.
    ///
    /// # Errors
    /// [`IndexError`]: the payload cannot be read.
    pub fn stand(&self) -> Result<Option<Stand>, IndexError> {
        stand(&self.index, &self.dir)
    }
}
