//! Plain text: its encoding and, where it is wanted, the text itself. Addresses in it are no links.

use super::{Body, MimeModule, PageSink, ParseRules};
use crate::domain::charset::{CharsetSource, Decoder, HEAD, detect_in_domain};
use crate::domain::html::{Page, PageFacts};
use crate::domain::mime::Kind;
use crate::domain::text::cut_at;

/// The module for plain text.
#[derive(Clone, Copy, Debug, Default)]
pub struct Text;

impl MimeModule for Text {
    fn name(&self) -> &'static str {
        "text"
    }

    fn takes(&self, body: &Body<'_>) -> bool {
        body.kind == Kind::Text
    }

    fn open(&self, body: &Body<'_>, rules: &ParseRules) -> Box<dyn PageSink> {
        Box::new(TextReader {
            content_type: body.content_type.map(str::to_owned),
            top_level: body.url.domain().and_then(|d| d.rsplit('.').next()).map(str::to_owned),
            head: Vec::new(),
            decoder: None,
            source: CharsetSource::Guess,
            text: String::new(),
            text_cut: false,
            bytes: 0,
            max_text: rules.extract.max_text,
            max_parse: rules.max_parse,
            cut: false,
        })
    }
}

/// Holds back the first 64 KiB until the encoding is known.
struct TextReader {
    content_type: Option<String>,
    top_level: Option<String>,
    head: Vec<u8>,
    decoder: Option<Decoder>,
    source: CharsetSource,
    text: String,
    text_cut: bool,
    bytes: u64,
    max_text: usize,
    max_parse: u64,
    cut: bool,
}

impl TextReader {
    fn begin(&mut self, last: bool) {
        let head = std::mem::take(&mut self.head);
        let (encoding, source) = detect_in_domain(self.content_type.as_deref(), &head, self.top_level.as_deref());
        self.source = source;
        self.decoder = Some(Decoder::new(encoding));
        self.decode(&head, last);
    }

    fn decode(&mut self, bytes: &[u8], last: bool) {
        let Self { decoder, text, text_cut, max_text, .. } = self;
        if let Some(decoder) = decoder {
            decoder.decode(bytes, last, |piece| append(text, piece, *max_text, text_cut));
        }
    }
}

/// Appends as many whole characters as there is room for.
fn append(text: &mut String, piece: &str, max: usize, cut: &mut bool) {
    let room = max.saturating_sub(text.len());
    if piece.len() <= room && !*cut {
        return text.push_str(piece);
    }
    text.push_str(if *cut { "" } else { cut_at(piece, room) });
    *cut = true;
}

impl PageSink for TextReader {
    fn push(&mut self, bytes: &[u8]) -> bool {
        let room = usize::try_from(self.max_parse.saturating_sub(self.bytes)).unwrap_or(usize::MAX);
        let fits = bytes.get(..room).unwrap_or(bytes);
        self.cut |= fits.len() < bytes.len();
        self.bytes += fits.len() as u64;
        if self.decoder.is_some() {
            self.decode(fits, false);
        } else {
            self.head.extend_from_slice(fits);
            if self.head.len() >= HEAD {
                self.begin(false);
            }
        }
        // Once the encoding is known and the text full, nothing more is to be learned.
        let full = self.decoder.is_some() && self.text.len() >= self.max_text;
        !(self.cut || full)
    }

    fn finish(mut self: Box<Self>) -> Page {
        if self.decoder.is_some() {
            self.decode(&[], true);
        } else {
            self.begin(true);
        }
        let charset = self.decoder.as_ref().map_or(encoding_rs::UTF_8, Decoder::encoding);
        let facts = PageFacts { text: self.text, text_cut: self.text_cut, ..PageFacts::default() };
        Page { facts, charset, charset_source: self.source, bytes: self.bytes, cut: self.cut, ..Page::default() }
    }
}

#[cfg(test)]
mod tests {
    use url::Url;

    use super::*;
    use crate::domain::html::ExtractOptions;

    fn read(bytes: &[u8], piece: usize, max_text: usize) -> Page {
        let url = Url::parse("http://h.test/a.txt").unwrap();
        let body = Body::sniffed(&url, Some("text/plain"), bytes);
        assert!(Text.takes(&body));
        let extract = ExtractOptions { max_text, ..ExtractOptions::default() };
        let mut sink = Text.open(&body, &ParseRules { extract, ..ParseRules::default() });
        for piece in bytes.chunks(piece) {
            if !sink.push(piece) {
                break;
            }
        }
        sink.finish()
    }

    #[test]
    fn plain_text_is_read_in_its_encoding_and_has_no_links() {
        let (bytes, _, _) =
            encoding_rs::GB18030.encode("天地玄黄，宇宙洪荒。日月盈昃，辰宿列张。http://h.test/x <a href=y>");
        for piece in [1, 7, 1000] {
            let page = read(&bytes, piece, 1000);
            assert!(page.facts.text.starts_with("天地玄黄"), "{:?}", page.facts.text);
            assert!(page.facts.links.is_empty() && !page.facts.text_cut);
        }
    }

    #[test]
    fn no_more_text_is_kept_than_wanted_and_no_character_is_cut() {
        for piece in [1, 3, 1000] {
            let page = read("ééé".as_bytes(), piece, 3);
            assert_eq!((page.facts.text.as_str(), page.facts.text_cut), ("é", true), "pieces of {piece}");
        }
    }
}
