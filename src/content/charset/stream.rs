//! A body that becomes text as it comes: its first bytes wait until its encoding is known.

use encoding_rs::{Encoding, UTF_8};
use url::Url;

use super::{CharsetSource, Decoder, HEAD, detect_in_domain};

/// Takes a body in pieces and hands on its text. Holds at most [`HEAD`] bytes and a piece, reads at most `max` bytes.
pub struct TextStream {
    content_type: Option<String>,
    top_level: Option<String>,
    /// Bytes held back.
    pub(crate) head: Vec<u8>,
    decoder: Option<Decoder>,
    source: CharsetSource,
    bytes: u64,
    max: u64,
    /// The cap was reached.
    pub cut: bool,
}

/// What is known of a body when it has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decoded {
    /// The encoding it was read in.
    pub charset: &'static Encoding,
    /// Where that came from.
    pub source: CharsetSource,
    /// Bytes read.
    pub bytes: u64,
    /// It was longer than the cap, its rest was not read.
    pub cut: bool,
}

impl TextStream {
    /// For the body of `url`, sent with `content_type`.
    pub fn new(content_type: Option<&str>, url: &Url, max: u64) -> Self {
        Self {
            content_type: content_type.map(str::to_owned),
            top_level: url.domain().and_then(|d| d.rsplit('.').next()).map(str::to_owned),
            head: Vec::new(),
            decoder: None,
            source: CharsetSource::Guess,
            bytes: 0,
            max,
            cut: false,
        }
    }

    /// The next bytes; false once the cap is reached and no more are wanted.
    pub fn push(&mut self, bytes: &[u8], sink: impl FnMut(&str)) -> bool {
        let room = usize::try_from(self.max.saturating_sub(self.bytes)).unwrap_or(usize::MAX);
        let fits = bytes.get(..room).unwrap_or(bytes);
        self.cut |= fits.len() < bytes.len();
        self.bytes += fits.len() as u64;
        if let Some(decoder) = &mut self.decoder {
            decoder.decode(fits, false, sink);
        } else {
            self.head.extend_from_slice(fits);
            if self.head.len() >= HEAD {
                self.begin(false, sink);
            }
        }
        !self.cut
    }

    /// The body has ended: hands on what was held back.
    pub fn finish(&mut self, sink: impl FnMut(&str)) -> Decoded {
        match &mut self.decoder {
            Some(decoder) => decoder.decode(&[], true, sink),
            None => self.begin(true, sink),
        }
        let charset = self.decoder.as_ref().map_or(UTF_8, Decoder::encoding);
        Decoded { charset, source: self.source, bytes: self.bytes, cut: self.cut }
    }

    fn begin(&mut self, last: bool, sink: impl FnMut(&str)) {
        let head = std::mem::take(&mut self.head);
        let (encoding, source) = detect_in_domain(self.content_type.as_deref(), &head, self.top_level.as_deref());
        self.source = source;
        self.decoder.insert(Decoder::new(encoding)).decode(&head, last, sink);
    }
}
