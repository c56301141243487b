//! gzip taken off a body that is a gzip file: `sitemap.xml.gz`.

use std::io::{self, Write};

use flate2::write::MultiGzDecoder;

/// Compressed bytes taken at a time: they may become a thousand times as many.
const STEP: usize = 1024;

/// Takes gzip in pieces and hands on what was in it.
pub(super) struct Gunzip(MultiGzDecoder<Vec<u8>>);

impl Gunzip {
    pub fn new() -> Self {
        Self(MultiGzDecoder::new(Vec::new()))
    }

    /// The next bytes; `out` says whether it wants more.
    ///
    /// # Errors
    /// They are not gzip. What came before was handed on.
    pub fn push(&mut self, bytes: &[u8], mut out: impl FnMut(&[u8]) -> bool) -> io::Result<bool> {
        for step in bytes.chunks(STEP) {
            let written = self.0.write_all(step).and_then(|()| self.0.flush());
            let plain = std::mem::take(self.0.get_mut());
            if !out(&plain) {
                return Ok(false);
            }
            written?;
        }
        Ok(true)
    }

    /// Whether the stream was whole.
    pub fn finish(mut self, mut out: impl FnMut(&[u8]) -> bool) -> bool {
        let whole = self.0.try_finish().is_ok();
        out(&std::mem::take(self.0.get_mut()));
        whole
    }
}
