//! Which encoding a page is in, and decoding it piece by piece.

use encoding_rs::{CoderResult, Encoding, UTF_8};

/// How many bytes from the start of a body [`detect`] wants to see.
pub const HEAD: usize = 64 * 1024;

/// What told us the encoding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CharsetSource {
    /// A byte order mark.
    Bom,
    /// `charset` in the Content-Type header.
    Header,
    /// A `<meta>` near the start of the page.
    Meta,
    /// The XML declaration.
    Xml,
    /// The bytes themselves.
    Guess,
}

/// The encoding of a body that begins with `head`.
#[must_use]
pub fn detect(_content_type: Option<&str>, head: &[u8]) -> (&'static Encoding, CharsetSource) {
    match Encoding::for_bom(head) {
        Some((encoding, _)) => (encoding, CharsetSource::Bom),
        None => (UTF_8, CharsetSource::Guess),
    }
}

/// Decodes a body piece by piece to UTF-8; memory stays at one buffer of 16 KiB.
pub struct Decoder {
    encoding: &'static Encoding,
    inner: encoding_rs::Decoder,
    buffer: String,
}

impl std::fmt::Debug for Decoder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Decoder").field("encoding", &self.encoding.name()).finish_non_exhaustive()
    }
}

impl Decoder {
    /// For a body in `encoding`; its byte order mark, if any, is removed.
    #[must_use]
    pub fn new(encoding: &'static Encoding) -> Self {
        Self { encoding, inner: encoding.new_decoder_with_bom_removal(), buffer: String::with_capacity(16 * 1024) }
    }

    /// The encoding being decoded.
    #[must_use]
    pub fn encoding(&self) -> &'static Encoding {
        self.encoding
    }

    /// Hands the text of `bytes` to `sink` in pieces; a character cut at the end waits for the next call, unless `last`.
    /// What cannot be decoded becomes U+FFFD. Nothing may follow `last`.
    pub fn decode(&mut self, mut bytes: &[u8], last: bool, mut sink: impl FnMut(&str)) {
        loop {
            self.buffer.clear();
            let (result, read, _) = self.inner.decode_to_string(bytes, &mut self.buffer, last);
            if !self.buffer.is_empty() {
                sink(&self.buffer);
            }
            bytes = bytes.get(read..).unwrap_or_default();
            if result == CoderResult::InputEmpty {
                return;
            }
        }
    }
}
