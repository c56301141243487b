//! A whole page from its bytes: charset, then markup, then facts; bounded.

use encoding_rs::Encoding;
use url::Url;

use super::extract::{ExtractOptions, Extractor};
use super::facts::PageFacts;
use crate::domain::charset::{CharsetSource, Decoder, HEAD, detect_in_domain};
use crate::domain::mime::{self, Kind};

/// How much of a page is read unless configured otherwise (`parse.max_parse`): 10 MiB.
pub const DEFAULT_MAX_PARSE: u64 = 10 << 20;

/// A page read to its end, or to the cap.
#[derive(Clone, Debug)]
pub struct Page {
    /// What it says.
    pub facts: PageFacts,
    /// The encoding it was read in.
    pub charset: &'static Encoding,
    /// Where that came from.
    pub charset_source: CharsetSource,
    /// Bytes read.
    pub bytes: u64,
    /// The page was longer than the cap and its rest was not read.
    pub cut: bool,
}

/// Takes the bytes of a page in pieces; holds back the first 64 KiB until the charset is known.
#[derive(Debug)]
pub struct PageReader {
    content_type: Option<String>,
    top_level: Option<String>,
    head: Vec<u8>,
    decoder: Option<Decoder>,
    extractor: Extractor,
    source: CharsetSource,
    bytes: u64,
    max_parse: u64,
    cut: bool,
}

impl PageReader {
    /// For the page at `url` sent with `content_type`; reads at most `max_parse` bytes of it.
    #[must_use]
    pub fn new(content_type: Option<&str>, url: &Url, opts: ExtractOptions, max_parse: u64) -> Self {
        let xhtml = mime::sniff(content_type, b"") == Kind::Xhtml;
        Self {
            content_type: content_type.map(str::to_owned),
            top_level: url.domain().and_then(|d| d.rsplit('.').next()).map(str::to_owned),
            head: Vec::new(),
            decoder: None,
            extractor: if xhtml { Extractor::for_xhtml(url, opts) } else { Extractor::new(url, opts) },
            source: CharsetSource::Guess,
            bytes: 0,
            max_parse,
            cut: false,
        }
    }

    /// The next bytes of the body; false once the cap is reached and no more are wanted.
    pub fn push(&mut self, bytes: &[u8]) -> bool {
        let room = usize::try_from(self.max_parse.saturating_sub(self.bytes)).unwrap_or(usize::MAX);
        let bytes = match bytes.get(..room) {
            Some(fitting) => {
                self.cut |= fitting.len() < bytes.len();
                fitting
            }
            None => bytes,
        };
        self.bytes += bytes.len() as u64;
        if self.decoder.is_some() {
            self.decode(bytes, false);
        } else {
            self.head.extend_from_slice(bytes);
            if self.head.len() >= HEAD {
                self.start(false);
            }
        }
        !self.cut
    }

    /// The body has ended.
    #[must_use]
    pub fn finish(mut self) -> Page {
        if self.decoder.is_some() {
            self.decode(&[], true);
        } else {
            self.start(true);
        }
        let charset = self.decoder.as_ref().map_or(encoding_rs::UTF_8, Decoder::encoding);
        Page { facts: self.extractor.finish(), charset, charset_source: self.source, bytes: self.bytes, cut: self.cut }
    }

    fn start(&mut self, last: bool) {
        let head = std::mem::take(&mut self.head);
        let (encoding, source) = detect_in_domain(self.content_type.as_deref(), &head, self.top_level.as_deref());
        self.source = source;
        self.decoder = Some(Decoder::new(encoding));
        self.decode(&head, last);
    }

    fn decode(&mut self, bytes: &[u8], last: bool) {
        let Self { decoder, extractor, .. } = self;
        if let Some(decoder) = decoder {
            decoder.decode(bytes, last, |text| extractor.feed(text));
        }
    }
}

/// Reads a whole page from `read`, which fills a buffer like `std::io::Read::read` and returns 0 at the end:
/// `read_page(|buf| body.read(buf), …)`.
///
/// # Errors
/// The first error of `read`.
pub fn read_page<E>(
    mut read: impl FnMut(&mut [u8]) -> Result<usize, E>,
    content_type: Option<&str>,
    url: &Url,
    opts: ExtractOptions,
    max_parse: u64,
) -> Result<Page, E> {
    let mut page = PageReader::new(content_type, url, opts, max_parse);
    let mut buf = vec![0; 32 * 1024];
    loop {
        let n = read(&mut buf)?;
        let Some(bytes) = buf.get(..n).filter(|b| !b.is_empty()) else { break };
        if !page.push(bytes) {
            break;
        }
    }
    Ok(page.finish())
}
