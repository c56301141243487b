//! Plain text: its encoding and, where it is wanted, the text itself. Addresses in it are no links.

use url::Position;

use super::{Body, MimeModule, PageSink, ParseRules};
use crate::content::charset::TextStream;
use crate::content::html::{Blocks, Page, PageFacts};
use crate::content::mime::Kind;
use crate::domain::text::cut_at;
use crate::domain::textprint::{Printer, Shown};

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
            stream: TextStream::new(body.content_type, body.url, rules.max_parse),
            kept: Kept {
                text: String::new(),
                cut: false,
                max: rules.extract.max_text,
                printer: Printer::new(&body.url[Position::BeforePath..Position::AfterQuery]),
                blocks: rules.extract.card.then(Box::default),
            },
        })
    }
}

struct TextReader {
    stream: TextStream,
    kept: Kept,
}

/// The text, as far as it is wanted.
struct Kept {
    text: String,
    cut: bool,
    /// In bytes.
    max: usize,
    printer: Printer,
    /// Its paragraphs, for its card.
    blocks: Option<Box<Blocks>>,
}

impl Kept {
    /// Appends as many whole characters as there is room for.
    fn append(&mut self, piece: &str) {
        self.printer.push(piece);
        if let Some(blocks) = &mut self.blocks {
            blocks.paragraphs(piece);
        }
        let room = self.max.saturating_sub(self.text.len());
        if piece.len() <= room && !self.cut {
            return self.text.push_str(piece);
        }
        self.text.push_str(if self.cut { "" } else { cut_at(piece, room) });
        self.cut = true;
    }
}

impl PageSink for TextReader {
    fn push(&mut self, bytes: &[u8]) -> bool {
        self.stream.push(bytes, |piece| self.kept.append(piece))
    }

    fn finish(mut self: Box<Self>) -> Page {
        let Self { stream, kept } = &mut *self;
        let decoded = stream.finish(|piece| kept.append(piece));
        let Kept { text, cut, printer, blocks, .. } = self.kept;
        let (print, told) = printer.finish();
        let shown = Shown { print, told, ..Shown::default() };
        let for_card = blocks.map(|blocks| blocks.finish());
        Page::of(PageFacts { text, text_cut: cut, shown, for_card, ..PageFacts::default() }, decoded)
    }
}

#[cfg(test)]
mod tests {
    use url::Url;

    use super::*;
    use crate::content::html::ExtractOptions;

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
