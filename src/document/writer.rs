//! Takes a body as it arrives and makes the [`Document`] of it.

use std::fs::File;
use std::io::{self, Write};
use std::path::PathBuf;

use super::Document;
use super::budget::{SpillBudget, SpillCharge, SpillError};

/// Bytes gathered before one write to the spill file.
const SPILL_CHUNK: usize = 64 * 1024;

/// Bytes by which a body grows in the room that bodies share, and the most that it may have in memory with them.
const STEP: usize = 64 * 1024;
const MOST_IN_MEMORY: usize = 1 << 20;

/// Where and when a body leaves memory.
#[derive(Clone, Debug)]
pub struct SpillConfig {
    /// Folder for spill files; they are unlinked as soon as they are made, so a kill leaves nothing behind.
    pub dir: PathBuf,
    /// Bytes a body may have in memory whatever there is of others (64 KiB).
    pub memory_body: usize,
    /// Room in memory for what is longer, as long as there is some: a file for each would cost more than the page.
    pub shared: SpillBudget,
    /// The shared cap on spilled bytes.
    pub budget: SpillBudget,
}

/// A body being received. [`push`](Self::push) it piece by piece, then [`finish`](Self::finish) it. Whoever does so is on an arbiter:
/// each write to the disk is left to a blocking thread of the runtime.
#[derive(Debug)]
pub struct DocumentWriter {
    config: SpillConfig,
    buffer: Vec<u8>,
    /// What is taken of the shared room.
    shared: Option<SpillCharge>,
    spill: Option<Spill>,
    len: u64,
}

#[derive(Debug)]
struct Spill {
    file: File,
    charge: SpillCharge,
}

impl DocumentWriter {
    /// An empty document to be.
    pub fn new(config: SpillConfig) -> Self {
        Self { config, buffer: Vec::new(), shared: None, spill: None, len: 0 }
    }

    /// Room is made for so many bytes at once, as far as a body has room of its own: then it is not copied as it grows.
    #[must_use]
    pub fn expecting(mut self, bytes: u64) -> Self {
        self.buffer.reserve_exact(usize::try_from(bytes).unwrap_or(usize::MAX).min(self.capacity()));
        self
    }

    /// Bytes pushed so far.
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Whether nothing was pushed yet.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Appends `bytes`.
    ///
    /// # Errors
    /// The spill budget is used up, or the spill file refused; the document is gone then.
    pub async fn push(mut self, mut bytes: &[u8]) -> Result<Self, SpillError> {
        loop {
            let room = self.capacity().saturating_sub(self.buffer.len());
            let (now, later) = bytes.split_at_checked(room).unwrap_or((bytes, &[]));
            self.buffer.extend_from_slice(now);
            self.len += now.len() as u64;
            if later.is_empty() {
                return Ok(self);
            }
            bytes = later;
            if !self.grows() {
                self = self.flush().await?;
            }
        }
    }

    /// Ends the document; what is still buffered of a spilled one is written (at most one chunk).
    pub async fn finish(mut self) -> Result<Document, SpillError> {
        if self.spill.is_some() {
            self = self.flush().await?;
        }
        Ok(match self.spill {
            Some(Spill { file, charge }) => Document::spilled(file, self.len, Some(charge)),
            None => {
                self.buffer.shrink_to_fit();
                Document::in_memory(self.buffer, self.shared)
            }
        })
    }

    /// Moves what is in memory to the spill file.
    async fn flush(mut self) -> Result<Self, SpillError> {
        let dir = self.config.dir.display().to_string();
        let task = tokio::task::spawn_blocking(move || self.spill_buffer().map(|()| self));
        task.await.unwrap_or_else(|e| Err(SpillError::Io { dir, source: io::Error::other(e) }))
    }

    fn spill_buffer(&mut self) -> Result<(), SpillError> {
        let mut spill = match self.spill.take() {
            Some(spill) => spill,
            None => {
                let file = tempfile::tempfile_in(&self.config.dir).map_err(|e| self.io_error(e))?;
                Spill { file, charge: self.config.budget.open() }
            }
        };
        spill.charge.grow(self.buffer.len() as u64)?;
        spill.file.write_all(&self.buffer).map_err(|e| self.io_error(e))?;
        self.buffer.clear();
        if self.shared.take().is_some() {
            self.buffer.shrink_to(SPILL_CHUNK);
        }
        self.spill = Some(spill);
        Ok(())
    }

    /// Bytes the buffer may hold: the memory share before the first spill, one chunk after it.
    fn capacity(&self) -> usize {
        let shared = self.shared.as_ref().map_or(0, |charge| charge.bytes() as usize);
        if self.spill.is_some() { SPILL_CHUNK } else { self.config.memory_body.max(1) + shared }
    }

    /// Takes more of the shared room, if it may and there is some.
    fn grows(&mut self) -> bool {
        let may = self.spill.is_none() && self.capacity() + STEP <= MOST_IN_MEMORY;
        may && self.shared.get_or_insert_with(|| self.config.shared.open()).grow(STEP as u64).is_ok()
    }

    fn io_error(&self, source: io::Error) -> SpillError {
        SpillError::Io { dir: self.config.dir.display().to_string(), source }
    }
}
