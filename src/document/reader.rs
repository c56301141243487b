//! A cursor over a document.

use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::FileExt;

use super::{Document, Inner};

/// Reads a [`Document`] from its first byte; it keeps the document alive and moves no other cursor.
#[derive(Clone, Debug)]
pub struct DocumentReader {
    document: Document,
    at: u64,
}

impl DocumentReader {
    pub(super) fn new(document: Document) -> Self {
        Self { document, at: 0 }
    }
}

impl Read for DocumentReader {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let n = match &*self.document.inner {
            Inner::Memory(bytes) => {
                let from = usize::try_from(self.at).unwrap_or(usize::MAX).min(bytes.len());
                (&bytes[from..]).read(buf)?
            }
            Inner::Spilled { file, len, .. } => {
                let left = usize::try_from(len.saturating_sub(self.at)).unwrap_or(usize::MAX);
                let want = buf.len().min(left);
                file.read_at(&mut buf[..want], self.at)?
            }
        };
        self.at += n as u64;
        Ok(n)
    }
}

impl Seek for DocumentReader {
    fn seek(&mut self, pos: SeekFrom) -> io::Result<u64> {
        let target = match pos {
            SeekFrom::Start(n) => Some(n),
            SeekFrom::End(n) => self.document.len().checked_add_signed(n),
            SeekFrom::Current(n) => self.at.checked_add_signed(n),
        };
        self.at = target.ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "seek before the first byte"))?;
        Ok(self.at)
    }
}
