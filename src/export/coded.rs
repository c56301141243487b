//! A file of an export, compressed as its name says.

use std::io::{self, Write};
use std::path::Path;

use flate2::write::GzEncoder;

use super::Sink;

/// What is written in one coding, or none.
pub(super) enum Coded<'a> {
    Plain(Sink<'a>),
    Gzip(GzEncoder<Sink<'a>>),
    Zstd(zstd::Encoder<'static, Sink<'a>>),
}

impl<'a> Coded<'a> {
    /// By the ending of a name: `.gz`, `.zst`, or none.
    pub fn by_name(path: &Path, sink: Sink<'a>) -> io::Result<Self> {
        match path.extension().and_then(|ending| ending.to_str()) {
            Some("gz") => Ok(Self::gzip(sink)),
            Some("zst") => {
                let mut encoder = zstd::Encoder::new(sink, zstd::DEFAULT_COMPRESSION_LEVEL)?;
                encoder.include_checksum(true)?;
                Ok(Self::Zstd(encoder))
            }
            _ => Ok(Self::Plain(sink)),
        }
    }

    /// gzip, whatever its name is; without a time in it.
    pub fn gzip(sink: Sink<'a>) -> Self {
        Self::Gzip(GzEncoder::new(sink, flate2::Compression::default()))
    }

    /// Ends the coding.
    pub fn finish(self) -> io::Result<Sink<'a>> {
        match self {
            Self::Plain(sink) => Ok(sink),
            Self::Gzip(encoder) => encoder.finish(),
            Self::Zstd(encoder) => encoder.finish(),
        }
    }
}

impl Write for Coded<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Plain(sink) => sink.write(bytes),
            Self::Gzip(encoder) => encoder.write(bytes),
            Self::Zstd(encoder) => encoder.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Plain(sink) => sink.flush(),
            Self::Gzip(encoder) => encoder.flush(),
            Self::Zstd(encoder) => encoder.flush(),
        }
    }
}
