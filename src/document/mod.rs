//! The document input stream: one downloaded body, in memory while small, in a spill file when large, readable
//! as often as wanted and from any thread without being downloaded again.
//!
//! | file | what |
//! |---|---|
//! | [`writer`] | [`DocumentWriter`]: takes the body as it arrives |
//! | [`budget`] | [`SpillBudget`]: the cap on bytes that lie in spill files at one time |
//! | [`decode`] | [`decoded`]: takes the content coding off, with a cap |

pub mod budget;
pub mod chunks;
pub mod decode;
pub mod writer;

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::unix::fs::FileExt;
use std::sync::Arc;

use bytes::Bytes;

pub use budget::{SpillBudget, SpillError};
pub use decode::{Decoded, DecodedEnd, decoded, decoded_as};
pub use writer::{DocumentWriter, SpillConfig};

use budget::SpillCharge;

/// One downloaded body: the payload without transfer coding, its content coding (gzip …) still on.
///
/// Cloning is cheap; the spill file, already unlinked, disappears with the last clone.
#[derive(Clone, Debug)]
pub struct Document {
    inner: Arc<Inner>,
}

#[derive(Debug)]
enum Inner {
    Memory { bytes: Bytes, _charge: Option<SpillCharge> },
    Spilled { file: File, len: u64, _charge: Option<SpillCharge> },
}

impl Document {
    /// A document that lies in memory.
    pub fn from_bytes(bytes: impl Into<Bytes>) -> Self {
        Self::in_memory(bytes, None)
    }

    fn in_memory(bytes: impl Into<Bytes>, charge: Option<SpillCharge>) -> Self {
        Self { inner: Arc::new(Inner::Memory { bytes: bytes.into(), _charge: charge }) }
    }

    /// A document of no bytes.
    pub fn empty() -> Self {
        Self::from_bytes(Bytes::new())
    }

    /// The first `len` bytes of a file that is nobody else's, charged to no budget.
    pub fn from_file(file: File, len: u64) -> Self {
        Self::spilled(file, len, None)
    }

    fn spilled(file: File, len: u64, charge: Option<SpillCharge>) -> Self {
        Self { inner: Arc::new(Inner::Spilled { file, len, _charge: charge }) }
    }

    /// Its length in bytes.
    pub fn len(&self) -> u64 {
        match &*self.inner {
            Inner::Memory { bytes, .. } => bytes.len() as u64,
            Inner::Spilled { len, .. } => *len,
        }
    }

    /// Whether it has no bytes.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether it lies in a spill file; such a document counts as large (architecture, back-pressure).
    pub fn is_spilled(&self) -> bool {
        matches!(&*self.inner, Inner::Spilled { .. })
    }

    /// A new cursor at the first byte; independent of all others.
    pub fn reader(&self) -> DocumentReader {
        DocumentReader { document: self.clone(), at: 0 }
    }

    /// Writes all of it.
    ///
    /// # Errors
    /// Those of `out`; the spill file cannot be read, or has become shorter.
    pub fn write_to(&self, out: &mut (impl Write + ?Sized)) -> io::Result<()> {
        if let Inner::Memory { bytes, .. } = &*self.inner {
            return out.write_all(bytes);
        }
        let written = io::copy(&mut self.reader(), out)?;
        if written == self.len() { Ok(()) } else { Err(io::ErrorKind::UnexpectedEof.into()) }
    }

    /// All of it in memory.
    pub fn to_vec(&self) -> io::Result<Vec<u8>> {
        let mut out = Vec::new();
        self.write_to(&mut out)?;
        Ok(out)
    }
}

/// Reads a [`Document`] from its first byte; it keeps the document alive and moves no other cursor.
#[derive(Clone, Debug)]
pub struct DocumentReader {
    document: Document,
    at: u64,
}

impl Read for DocumentReader {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let n = match &*self.document.inner {
            Inner::Memory { bytes, .. } => {
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

#[cfg(test)]
mod tests;
