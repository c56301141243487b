//! The document input stream (M22): one downloaded body, in memory while small, in a spill file when large, readable
//! as often as wanted and from any thread without being downloaded again.
//!
//! | file | what |
//! |---|---|
//! | [`writer`] | [`DocumentWriter`]: takes the body as it arrives |
//! | [`reader`] | [`DocumentReader`]: a cursor of its own over a [`Document`] |
//! | [`budget`] | [`SpillBudget`]: the cap on bytes that lie in spill files at one time |
//! | [`decode`] | [`decoded`]: takes the content coding off, with a cap |

pub mod budget;
pub mod chunks;
pub mod decode;
pub mod reader;
pub mod writer;

use std::fs::File;
use std::sync::Arc;

use bytes::Bytes;

pub use budget::{SpillBudget, SpillError};
pub use decode::{Decoded, DecodedEnd, decoded, decoded_as};
pub use reader::DocumentReader;
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
    Memory(Bytes),
    Spilled { file: File, len: u64, _charge: SpillCharge },
}

impl Document {
    /// A document that lies in memory.
    #[must_use]
    pub fn from_bytes(bytes: impl Into<Bytes>) -> Self {
        Self { inner: Arc::new(Inner::Memory(bytes.into())) }
    }

    /// A document of no bytes.
    #[must_use]
    pub fn empty() -> Self {
        Self::from_bytes(Bytes::new())
    }

    fn spilled(file: File, len: u64, charge: SpillCharge) -> Self {
        Self { inner: Arc::new(Inner::Spilled { file, len, _charge: charge }) }
    }

    /// Its length in bytes.
    #[must_use]
    pub fn len(&self) -> u64 {
        match &*self.inner {
            Inner::Memory(bytes) => bytes.len() as u64,
            Inner::Spilled { len, .. } => *len,
        }
    }

    /// Whether it has no bytes.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether it lies in a spill file; such a document counts as large (architecture, back-pressure).
    #[must_use]
    pub fn is_spilled(&self) -> bool {
        matches!(&*self.inner, Inner::Spilled { .. })
    }

    /// A new cursor at the first byte; independent of all others.
    #[must_use]
    pub fn reader(&self) -> DocumentReader {
        DocumentReader::new(self.clone())
    }

    /// Its first bytes, at most `max`, for sniffing a type or a charset.
    ///
    /// # Errors
    /// The spill file cannot be read.
    pub fn prefix(&self, max: usize) -> std::io::Result<Vec<u8>> {
        use std::io::Read;
        let mut out = Vec::new();
        self.reader().take(max as u64).read_to_end(&mut out)?;
        Ok(out)
    }
}

#[cfg(test)]
mod tests;
