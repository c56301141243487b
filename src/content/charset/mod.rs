//! Which encoding a page is in, and decoding it piece by piece.
//!
//! The order is that of browsers (WHATWG HTML, 13.2.3.2): byte order mark, `charset` of the Content-Type header, `<meta>`, XML
//! declaration, then a guess from the bytes (`chardetng`, and UTF-16 by its zeros). Three decisions depart from it, for servers that
//! declare one encoding for everything are common, and so are pages put together from pieces, or cut within a character. All count
//! the characters of several bytes in the whole head, and its faults; text in another encoding is full of faults when it is read as
//! UTF-8, and has few such characters by chance.
//!
//! | | characters of several bytes | read as |
//! |---|---|---|
//! | declared as something else | at least `PLAIN_UTF8`, and `OUTWEIGHS` for each fault | UTF-8 |
//! | not declared | at least `PLAIN_UTF8`, and `OUTWEIGHS_NOTHING` for each fault | UTF-8; a guesser gives it up at the first fault |
//! | declared UTF-8 | fewer than faults, and those more than `PLAIN_UTF8` | what the page says, if it can be, else as it looks |
//!
//! In a browser the last would be full of U+FFFD. A page that says UTF-8 and has some faults stays UTF-8, wherever they stand.

use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use encoding_rs::{
    CoderResult, DecoderResult, Encoding, REPLACEMENT, UTF_8, UTF_16BE, UTF_16LE, WINDOWS_1252, X_USER_DEFINED,
};

use crate::base::kinds::names;

mod prescan;
mod stream;

pub use stream::{Decoded, TextStream};

/// How many bytes from the start of a body [`detect_in_domain`] wants to see.
pub const HEAD: usize = 64 * 1024;

/// So many UTF-8 sequences of two or more bytes outweigh a declaration that says otherwise.
const PLAIN_UTF8: usize = 4;
/// So many of them for each fault, where another encoding is declared.
const OUTWEIGHS: usize = 16;
/// The same where none is.
const OUTWEIGHS_NOTHING: usize = 4;
/// The decoder's buffer, in bytes of UTF-8.
const BUFFER: usize = 16 * 1024;

names! {
    /// What told us the encoding.
    CharsetSource {
        /// A byte order mark.
        Bom = "bom";
        /// `charset` in the Content-Type header.
        Header = "header";
        /// A `<meta>` near the start of the page.
        Meta = "meta";
        /// The XML declaration.
        Xml = "xml";
        /// The bytes themselves.
        Guess = "guess";
    }
}

/// The encoding of a body that was sent as `content_type` and begins with `head` (as much as there is, up to [`HEAD`]); the top-level
/// domain of the page's host, in lower case (`cn`), helps the guess.
pub fn detect_in_domain(
    content_type: Option<&str>,
    head: &[u8],
    top_level: Option<&str>,
) -> (&'static Encoding, CharsetSource) {
    let head = head.get(..HEAD).unwrap_or(head);
    if let Some((encoding, _)) = Encoding::for_bom(head) {
        return (encoding, CharsetSource::Bom);
    }
    let header = content_type.and_then(header_label).and_then(for_label).filter(|e| !is_wrongly_utf16(e, head));
    let declared = header
        .map(|encoding| (encoding, CharsetSource::Header))
        .or_else(|| prescan::utf16(head))
        .or_else(|| prescan::meta(head).map(|encoding| (encoding, CharsetSource::Meta)))
        .or_else(|| prescan::xml(head).map(|encoding| (encoding, CharsetSource::Xml)));
    let Some((encoding, source)) = declared else { return (guess(head, top_level), CharsetSource::Guess) };
    let found = AsUtf8::of(head);
    match encoding == UTF_8 {
        false if found.outweighs(OUTWEIGHS) => (UTF_8, CharsetSource::Guess),
        true if found.is_none() => match prescan::meta(head) {
            Some(said) if said != UTF_8 && fits(said, head) => (said, CharsetSource::Meta),
            _ => (guess(head, top_level), CharsetSource::Guess),
        },
        _ => (encoding, source),
    }
}

/// The value of `charset` in a Content-Type. Of several types joined by commas the last one counts; one that says nothing of
/// its charset has that of the same type before it (Fetch, 3.4, "extract a MIME type").
fn header_label(content_type: &str) -> Option<&str> {
    let (mut essence, mut label) = ("", None);
    for value in content_type.split(',') {
        let mut parts = value.split(';');
        let this = parts.next().map(str::trim).filter(|this| this.contains('/')).unwrap_or(essence);
        let charset = parts.find_map(charset_in);
        if charset.is_some() || !this.eq_ignore_ascii_case(essence) {
            label = charset;
        }
        essence = this;
    }
    label
}

fn charset_in(parameter: &str) -> Option<&str> {
    let (name, value) = parameter.split_once('=')?;
    let quotes = |c: char| c == '"' || c == '\'' || c.is_ascii_whitespace();
    name.trim().eq_ignore_ascii_case("charset").then(|| value.trim_matches(quotes))
}

/// The encoding of a label; none for those that browsers refuse to decode (`hz-gb-2312` and the like): a guess serves better.
fn for_label(label: &str) -> Option<&'static Encoding> {
    Encoding::for_label(label.as_bytes()).filter(|encoding| *encoding != REPLACEMENT)
}

/// As [`for_label`], for a label that stands in the page: as it can be read bytewise it is not UTF-16.
fn for_label_in_page(label: &str) -> Option<&'static Encoding> {
    for_label(label).map(|encoding| match encoding {
        e if e == UTF_16LE || e == UTF_16BE => UTF_8,
        e if e == X_USER_DEFINED => WINDOWS_1252,
        e => e,
    })
}

/// Markup in UTF-16 is full of NULs.
fn is_wrongly_utf16(encoding: &'static Encoding, head: &[u8]) -> bool {
    (encoding == UTF_16LE || encoding == UTF_16BE) && !head.contains(&0)
}

/// What `head` is when it is read as UTF-8.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct AsUtf8 {
    /// Characters of several bytes.
    characters: usize,
    /// What a browser would show as U+FFFD each; a character cut at the end is none.
    faults: usize,
}

impl AsUtf8 {
    fn of(head: &[u8]) -> Self {
        // ESC begins the shifts of ISO-2022-JP, which is valid UTF-8 throughout, but has no byte above 0x7f.
        let mut rest = head.get(Encoding::ascii_valid_up_to(head)..).unwrap_or_default();
        let mut all = Self::default();
        while !rest.is_empty() {
            let whole = Encoding::utf8_valid_up_to(rest);
            let (valid, fault) = rest.split_at_checked(whole).unwrap_or_default();
            all.characters += first_bytes(valid);
            let Some(chunk) = fault.utf8_chunks().next() else { break };
            let cut = chunk.invalid().len() == fault.len()
                && std::str::from_utf8(fault).is_err_and(|e| e.error_len().is_none());
            all.faults += usize::from(!cut);
            rest = fault.get(chunk.invalid().len().max(1)..).unwrap_or_default();
        }
        all
    }

    /// It is UTF-8 and not by chance, when for each fault there must be so many characters.
    fn outweighs(self, each: usize) -> bool {
        self.characters >= PLAIN_UTF8 && self.characters / each >= self.faults
    }

    /// It is no UTF-8 at all.
    fn is_none(self) -> bool {
        self.faults > PLAIN_UTF8 && self.faults > self.characters
    }
}

/// How many bytes begin a character of several. Counted in bytes, of which a register holds many.
fn first_bytes(text: &[u8]) -> usize {
    let few = |bytes: &[u8]| usize::from(bytes.iter().map(|b| u8::from(*b >= 0xc0)).sum::<u8>());
    text.chunks(128).map(few).sum()
}

/// Whether `head`, which may end within a character, can be read in this encoding.
fn fits(encoding: &'static Encoding, head: &[u8]) -> bool {
    let mut text = String::with_capacity(encoding.new_decoder().max_utf8_buffer_length(head.len()).unwrap_or(0));
    let (result, _) = encoding.new_decoder().decode_to_string_without_replacement(head, &mut text, false);
    result == DecoderResult::InputEmpty
}

fn guess(head: &[u8], top_level: Option<&str>) -> &'static Encoding {
    if let Some(encoding) = utf16_by_zeros(head) {
        return encoding;
    }
    if head.is_ascii() && !head.contains(&0x1b) {
        return UTF_8;
    }
    if AsUtf8::of(head).outweighs(OUTWEIGHS_NOTHING) {
        return UTF_8;
    }
    let mut detector = EncodingDetector::new(Iso2022JpDetection::Allow);
    detector.feed(head, false);
    let top_level = top_level.map(str::as_bytes).filter(|t| is_top_level(t));
    detector.guess(top_level, Utf8Detection::Allow)
}

/// UTF-16 without mark or declaration: in markup at least a quarter of the units are ASCII, so the other byte is zero.
fn utf16_by_zeros(head: &[u8]) -> Option<&'static Encoding> {
    let units = head.get(..512).unwrap_or(head).chunks_exact(2);
    let count = units.len();
    let (mut first, mut second) = (0, 0);
    for unit in units {
        first += usize::from(unit.first() == Some(&0));
        second += usize::from(unit.get(1) == Some(&0));
    }
    let mostly = |many: usize, few: usize| many > 0 && many * 4 >= count && few * 16 <= many;
    if mostly(second, first) {
        Some(UTF_16LE)
    } else if mostly(first, second) {
        Some(UTF_16BE)
    } else {
        None
    }
}

/// What the detector accepts: it panics on anything else.
fn is_top_level(label: &[u8]) -> bool {
    label.first().is_some_and(u8::is_ascii_lowercase)
        && label.iter().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || *b == b'-')
}

/// Decodes a body piece by piece to UTF-8; memory stays at one buffer of 16 KiB.
pub struct Decoder {
    inner: encoding_rs::Decoder,
    buffer: String,
}

impl Decoder {
    /// For a body in `encoding`; its byte order mark, if any, is removed.
    pub fn new(encoding: &'static Encoding) -> Self {
        Self { inner: encoding.new_decoder_with_bom_removal(), buffer: String::with_capacity(BUFFER) }
    }

    /// The encoding being decoded.
    pub fn encoding(&self) -> &'static Encoding {
        self.inner.encoding()
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

#[cfg(test)]
mod tests;
