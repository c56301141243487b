//! A whole page from its bytes: charset, then markup, then facts; bounded.

use std::collections::BTreeMap;

use encoding_rs::Encoding;
use url::Url;

use super::extract::{ExtractOptions, Extractor};
use super::facts::PageFacts;
use crate::content::charset::{CharsetSource, Decoded, TextStream};
use crate::content::extract::Extracted;
use crate::content::mime::{self, Kind};

/// How much of a page is read unless configured otherwise (`parse.max_parse`): 200 MiB, all that is decoded of a body.
pub const DEFAULT_MAX_PARSE: u64 = 200 << 20;

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
    /// What the rules of `[[extract]]` found.
    pub extracted: BTreeMap<String, Extracted>,
    /// Rules are meant for it, but it is too large or too deep for a tree.
    pub extract_skipped: bool,
}

/// Nothing was read.
impl Default for Page {
    fn default() -> Self {
        let (charset, charset_source) = (encoding_rs::UTF_8, CharsetSource::Guess);
        let (facts, extracted) = (PageFacts::default(), BTreeMap::new());
        Self { facts, charset, charset_source, bytes: 0, cut: false, extracted, extract_skipped: false }
    }
}

impl Page {
    /// What these facts and this reading of the bytes make.
    pub fn of(facts: PageFacts, decoded: Decoded) -> Self {
        let Decoded { charset, source, bytes, cut } = decoded;
        Self { facts, charset, charset_source: source, bytes, cut, ..Self::default() }
    }
}

/// Takes the bytes of a page in pieces; holds back the first 64 KiB until the charset is known.
pub struct PageReader {
    stream: TextStream,
    extractor: Extractor,
}

impl PageReader {
    /// For the page at `url` sent with `content_type`; reads at most `max_parse` bytes of it.
    pub fn new(content_type: Option<&str>, url: &Url, opts: ExtractOptions, max_parse: u64) -> Self {
        Self::of_kind(mime::sniff(content_type, b""), content_type, url, opts, max_parse)
    }

    /// The same for what the first bytes showed to be of this kind.
    pub fn of_kind(kind: Kind, content_type: Option<&str>, url: &Url, opts: ExtractOptions, max_parse: u64) -> Self {
        let xhtml = kind == Kind::Xhtml;
        Self {
            stream: TextStream::new(content_type, url, max_parse),
            extractor: if xhtml { Extractor::for_xhtml(url, opts) } else { Extractor::new(url, opts) },
        }
    }

    /// The next bytes of the body; false once the cap is reached and no more are wanted.
    pub fn push(&mut self, bytes: &[u8]) -> bool {
        self.stream.push(bytes, |text| self.extractor.feed(text))
    }

    /// The body has ended.
    pub fn finish(mut self) -> Page {
        let decoded = self.stream.finish(|text| self.extractor.feed(text));
        Page::of(self.extractor.finish(), decoded)
    }
}

/// The page that this markup is, at `http://h.test/dir/page`.
#[cfg(test)]
pub(crate) fn page_of(html: &str) -> Page {
    let url = Url::parse("http://h.test/dir/page").unwrap();
    let mut reader = PageReader::new(Some("text/html"), &url, ExtractOptions::default(), 1_000);
    reader.push(html.as_bytes());
    reader.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn url() -> Url {
        Url::parse("http://h.test/").unwrap()
    }

    fn page(bytes: &[u8], piece: usize, max_parse: u64) -> Page {
        let mut reader = PageReader::new(Some("text/html"), &url(), ExtractOptions::default(), max_parse);
        let _ = bytes.chunks(piece).all(|piece| reader.push(piece));
        reader.finish()
    }

    #[test]
    fn a_page_longer_than_the_head_is_read_to_its_end_in_any_pieces() {
        let (filler, _, _) = encoding_rs::GBK.encode("<p>中文网页</p>");
        let mut bytes = b"<meta charset=gbk><title>t</title>".to_vec();
        bytes.extend(filler.repeat(10_000));
        bytes.extend(b"<a href=last>");
        for piece in [1, 777, 1 << 20] {
            let page = page(&bytes, piece, DEFAULT_MAX_PARSE);
            assert_eq!((page.charset.name(), page.charset_source), ("GBK", CharsetSource::Meta));
            assert_eq!((page.bytes, page.cut), (bytes.len() as u64, false));
            assert_eq!(page.facts.text.split(' ').filter(|w| *w == "中文网页").count(), 10_000);
            assert_eq!(page.facts.links.len(), 1);
        }
    }

    #[test]
    fn no_more_than_the_cap_is_read_and_the_page_is_marked() {
        let bytes = b"<a href=1></a><a href=2></a>";
        for piece in [1, 5, 100] {
            let cut = page(bytes, piece, 14);
            assert_eq!((cut.bytes, cut.cut, cut.facts.links.len()), (14, true, 1), "pieces of {piece}");
            let whole = page(bytes, piece, 28);
            assert_eq!((whole.bytes, whole.cut, whole.facts.links.len()), (28, false, 2), "pieces of {piece}");
        }
    }

    #[test]
    fn a_page_in_utf16_is_read_whole_in_any_pieces() {
        let html = format!("<title>漢字と𠀀</title><p>{}<a href='?q=é'>ä</a>", "文字列 ".repeat(20_000));
        let units = || html.encode_utf16();
        let mark = |bytes: Vec<u8>, mark: [u8; 2]| [mark.to_vec(), bytes].concat();
        let little: Vec<u8> = units().flat_map(u16::to_le_bytes).collect();
        let big: Vec<u8> = units().flat_map(u16::to_be_bytes).collect();
        for (bytes, name, source) in [
            (little.clone(), "UTF-16LE", CharsetSource::Guess),
            (big.clone(), "UTF-16BE", CharsetSource::Guess),
            (mark(little, [0xff, 0xfe]), "UTF-16LE", CharsetSource::Bom),
            (mark(big, [0xfe, 0xff]), "UTF-16BE", CharsetSource::Bom),
        ] {
            for piece in [3, 1 << 20] {
                let page = page(&bytes, piece, DEFAULT_MAX_PARSE);
                assert_eq!((page.charset.name(), page.charset_source), (name, source));
                assert_eq!(page.facts.title.as_deref(), Some("漢字と𠀀"));
                assert_eq!((page.facts.links[0].href.as_str(), page.facts.links[0].text.as_str()), ("?q=é", "ä"));
                assert!(!page.facts.text.contains('\u{fffd}') && page.facts.text.ends_with("文字列 ä"));
            }
        }
    }

    #[test]
    fn the_query_of_a_link_is_encoded_as_the_page_is() {
        use crate::domain::url::{Canonicaliser, CleanRules};
        let (bytes, _, _) = encoding_rs::GB18030.encode("<meta charset=gbk><a href='/€?q=中&p='>x</a>");
        let mut bytes = bytes.into_owned();
        // The euro sign of GBK is one byte.
        let end = bytes.windows(2).position(|w| w == b"'>").unwrap();
        bytes.insert(end, 0x80);
        let page = page(&bytes, 100, 1_000);
        assert_eq!(page.facts.links[0].href, "/€?q=中&p=€");
        let canon = Canonicaliser::new(CleanRules::default());
        let joined = canon.joiner(url(), Some(page.charset)).join(&page.facts.links[0].href).unwrap();
        assert_eq!(joined.as_str(), "http://h.test/%E2%82%AC?q=%D6%D0&p=%80");
    }

    /// The most bytes that a reader holds while `bytes` come again and again until `total`.
    fn held(bytes: &[u8], total: usize, opts: ExtractOptions) -> (usize, Page) {
        let mut reader = PageReader::new(Some("text/html"), &url(), opts, u64::MAX);
        let (mut most, mut came) = (0, 0);
        while came < total {
            reader.push(bytes);
            came += bytes.len();
            most = most.max(reader.stream.head.capacity() + reader.extractor.held());
        }
        (most, reader.finish())
    }

    #[test]
    fn a_page_of_50_mb_needs_little_memory_and_linear_work() {
        let opts = || ExtractOptions { max_text: 0, max_links: 100, ..ExtractOptions::default() };
        let links = b"<p>some words <a href=/page?n=1>a link</a> &amp; more <!-- c --><br>".repeat(500);
        for piece in [&links[..], &b"x".repeat(1 << 16), &b"<a href='".repeat(1 << 12), &b"<!--".repeat(1 << 12)] {
            let (held, page) = held(piece, 50 << 20, opts());
            assert!(held < 2 << 20, "{held} bytes held");
            assert!(page.bytes >= 50 << 20 && page.facts.links.len() <= 100);
        }
    }

    #[test]
    fn a_million_nested_elements_are_counted_not_remembered() {
        for bit in ["<div>", "<svg>", "<template>", "<b>", "<math><mi>", "<table><td>", "<noscript>"] {
            let piece = bit.repeat(1 << 12);
            let (held, page) = held(piece.as_bytes(), (1 << 20) * bit.len(), ExtractOptions::default());
            assert!(held < 1 << 20, "{bit}: {held} bytes held");
            assert_eq!(page.facts.links.len(), 0, "{bit}");
        }
        let html = format!("{}<a href=/deep>x</a>", "<div><b>".repeat(1 << 19));
        assert_eq!(page(html.as_bytes(), 1 << 16, DEFAULT_MAX_PARSE).facts.links[0].href, "/deep");
    }

    #[test]
    fn an_empty_page_says_nothing() {
        let page = page(b"", 1, DEFAULT_MAX_PARSE);
        assert_eq!(page.facts, PageFacts::default());
        assert_eq!(page.charset, encoding_rs::UTF_8);
    }

    #[test]
    fn xhtml_is_known_by_its_type() {
        for (content_type, links) in [("application/xhtml+xml", 1), ("text/html", 0)] {
            let mut reader = PageReader::new(Some(content_type), &url(), ExtractOptions::default(), 1000);
            reader.push(b"<script src='x'/><a href='y'>");
            assert_eq!(reader.finish().facts.links.len(), links, "{content_type}");
        }
    }
}
