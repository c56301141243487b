//! A part of a package, whose length and digests must be known before it is written there.

use std::fs::File;
use std::io::{self, BufWriter, Seek, Write};
use std::path::Path;

use data_encoding::HEXLOWER;
use flate2::Crc;
use sha2::{Digest as _, Sha256};

/// Takes bytes and keeps their number and digests alone.
pub(super) struct Measure {
    /// How many there were.
    pub length: u64,
    crc: Crc,
    sha: Sha256,
}

impl Default for Measure {
    fn default() -> Self {
        Self { length: 0, crc: Crc::new(), sha: Sha256::new() }
    }
}

impl Measure {
    /// Their CRC-32.
    pub fn crc(&self) -> u32 {
        self.crc.sum()
    }

    /// Their SHA-256, hexadecimal.
    pub fn sha256(&self) -> String {
        HEXLOWER.encode(&self.sha.clone().finalize())
    }
}

impl Write for Measure {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.length += bytes.len() as u64;
        self.crc.update(bytes);
        self.sha.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// What is written into a nameless file first.
pub(super) struct Part {
    file: BufWriter<File>,
    /// Of what was written.
    pub measure: Measure,
}

impl Part {
    /// An empty one, whose file lies in `dir`.
    pub fn new(dir: &Path) -> io::Result<Self> {
        Ok(Self { file: BufWriter::new(tempfile::tempfile_in(dir)?), measure: Measure::default() })
    }

    /// Writes it where it belongs.
    pub fn copy(self, out: &mut impl Write) -> io::Result<Measure> {
        let mut file = self.file.into_inner().map_err(io::IntoInnerError::into_error)?;
        file.rewind()?;
        io::copy(&mut file, out)?;
        Ok(self.measure)
    }
}

impl Write for Part {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write_all(bytes)?;
        self.measure.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}
