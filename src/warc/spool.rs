//! Finished bytes of a record: in memory while small, in an unnamed temporary file when large.

use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// Where records go that outgrow memory.
#[derive(Clone, Debug)]
pub struct SpoolRule {
    /// Folder of the temporary files; they have no name and vanish with their last handle.
    pub dir: PathBuf,
    /// Bytes a record may have in memory.
    pub memory: usize,
}

/// Bytes being written under a [`SpoolRule`].
pub struct Spool {
    rule: SpoolRule,
    data: RecordData,
}

/// The bytes of one record as they will stand in the WARC.
#[derive(Debug)]
pub enum RecordData {
    /// In memory.
    Memory(Vec<u8>),
    /// In a temporary file of this many bytes.
    File(File, u64),
}

impl RecordData {
    /// Length in bytes.
    #[must_use]
    pub fn len(&self) -> u64 {
        match self {
            Self::Memory(bytes) => bytes.len() as u64,
            Self::File(_, len) => *len,
        }
    }

    /// True when there are no bytes.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Hands all bytes, in order and in pieces, to `with`.
    ///
    /// # Errors
    /// Those of reading the temporary file and those of `with`.
    pub fn each_chunk<E: From<io::Error>>(&self, mut with: impl FnMut(&[u8]) -> Result<(), E>) -> Result<(), E> {
        match self {
            Self::Memory(bytes) => with(bytes),
            Self::File(file, len) => {
                let mut buffer = vec![0; 256 * 1024];
                let mut at = 0;
                while at < *len {
                    let want = usize::try_from(len - at).unwrap_or(usize::MAX).min(buffer.len());
                    let piece = buffer.get_mut(..want).unwrap_or_default();
                    file.read_exact_at(piece, at)?;
                    with(piece)?;
                    at += want as u64;
                }
                Ok(())
            }
        }
    }

    /// All bytes in memory; for tests and small records.
    ///
    /// # Errors
    /// Those of reading the temporary file.
    pub fn to_vec(&self) -> io::Result<Vec<u8>> {
        let mut out = Vec::new();
        self.each_chunk(|piece| {
            out.extend_from_slice(piece);
            Ok::<(), io::Error>(())
        })?;
        Ok(out)
    }
}

impl From<Vec<u8>> for RecordData {
    fn from(bytes: Vec<u8>) -> Self {
        Self::Memory(bytes)
    }
}

impl Spool {
    /// An empty spool.
    #[must_use]
    pub fn new(rule: SpoolRule) -> Self {
        Self { rule, data: RecordData::Memory(Vec::new()) }
    }

    /// The bytes written.
    #[must_use]
    pub fn into_data(self) -> RecordData {
        self.data
    }
}

fn spill(dir: &Path, bytes: &[u8]) -> io::Result<RecordData> {
    let mut file = tempfile::tempfile_in(dir)?;
    file.write_all(bytes)?;
    Ok(RecordData::File(file, bytes.len() as u64))
}

impl Write for Spool {
    fn write(&mut self, input: &[u8]) -> io::Result<usize> {
        if let RecordData::Memory(bytes) = &self.data
            && bytes.len().saturating_add(input.len()) > self.rule.memory
        {
            self.data = spill(&self.rule.dir, bytes)?;
        }
        match &mut self.data {
            RecordData::Memory(bytes) => bytes.extend_from_slice(input),
            RecordData::File(file, len) => {
                file.write_all(input)?;
                *len += input.len() as u64;
            }
        }
        Ok(input.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spool_moves_to_a_file_when_it_outgrows_memory_and_keeps_every_byte() {
        let dir = tempfile::tempdir().unwrap();
        let mut spool = Spool::new(SpoolRule { dir: dir.path().to_owned(), memory: 10 });
        spool.write_all(b"0123456789").unwrap();
        assert!(matches!(spool.data, RecordData::Memory(_)));
        spool.write_all(b"ab").unwrap();
        spool.write_all(b"cd").unwrap();
        let data = spool.into_data();
        assert!(matches!(data, RecordData::File(_, 14)));
        assert_eq!(data.to_vec().unwrap(), b"0123456789abcd");
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0, "the file has no name");
    }

    #[test]
    fn a_spool_that_cannot_make_its_file_says_so_and_keeps_what_it_had() {
        let mut spool = Spool::new(SpoolRule { dir: "/nonexistent/folder".into(), memory: 2 });
        spool.write_all(b"ab").unwrap();
        assert!(spool.write_all(b"c").is_err());
        assert_eq!(spool.into_data().to_vec().unwrap(), b"ab");
    }
}
