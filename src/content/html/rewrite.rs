//! A page with other references: in its own encoding, and otherwise byte for byte as it was.
//!
//! In nearly all encodings of pages markup is ASCII whose bytes are part of no other character (`<`, `>`, quotes, `=`, `/` and white space never
//! are in GBK, Big5, Shift_JIS and EUC, whose second bytes begin at 0x40 where they have any below 0x80 that mean something). So the tokenizer
//! runs over the bytes, each taken for one character, and only values of attributes are decoded. UTF-16 and ISO-2022-JP are decoded as a whole
//! and encoded again.

use std::borrow::Cow;
use std::ops::Range;

use encoding_rs::{Encoding, ISO_2022_JP, REPLACEMENT, UTF_16BE, UTF_16LE, mem};

use super::element::Element;
use super::entities;
use super::srcset;
use super::tag::Tag;
use super::tokenizer::{Sink, Tokenizer};
use crate::content::charset::{CharsetSource, HEAD, detect_in_domain};
use crate::content::css;
use crate::content::mime::Kind;

/// Attributes that hold one reference, on whatever element.
const REFERENCES: [&str; 9] =
    ["href", "src", "action", "formaction", "background", "poster", "cite", "longdesc", "xlink:href"];

/// What has become of a document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rewritten {
    /// Its bytes.
    pub bytes: Vec<u8>,
    /// References that were replaced.
    pub replaced: u64,
}

/// The page or style sheet `body`, sent with `content_type` by a host of the top-level domain `top_level`, with what `link` puts in the place of
/// each reference, which it gets decoded and without white space around it; where `link` gives none, it stays. What is put there must be ASCII.
///
/// Of a page `<base href>` is emptied, and so is `integrity` of what has another reference, for it may have other bytes then. Where the page
/// does not name the charset itself, a `<meta charset>` is put in.
pub fn rewrite(
    kind: Kind,
    content_type: Option<&str>,
    top_level: Option<&str>,
    body: &[u8],
    link: &mut dyn FnMut(&str) -> Option<String>,
) -> Rewritten {
    let head = body.get(..HEAD).unwrap_or(body);
    let (charset, _) = detect_in_domain(content_type, head, top_level);
    if charset == REPLACEMENT {
        return Rewritten { bytes: body.to_vec(), replaced: 0 };
    }
    let whole = [UTF_16BE, UTF_16LE, ISO_2022_JP].contains(&charset);
    let text = if whole { charset.decode_with_bom_removal(body).0 } else { mem::decode_latin1(body) };
    let mut rewriter = Rewriter {
        whole: text.len(),
        charset: (!whole).then_some(charset),
        link,
        edits: Vec::new(),
        replaced: 0,
        html: None,
    };
    match kind {
        Kind::Html | Kind::Xhtml => {
            let mut tokenizer = Tokenizer::new(kind == Kind::Xhtml);
            tokenizer.feed(&text, &mut rewriter);
            tokenizer.finish(&mut rewriter);
            let alone = detect_in_domain(None, head, None);
            let says_so = alone.0 == charset && matches!(alone.1, CharsetSource::Bom | CharsetSource::Meta);
            if kind == Kind::Html && !whole && !says_so {
                rewriter.name_charset(charset, &text);
            }
        }
        _ => rewriter.style(&text, 0..text.len()),
    }
    let Rewriter { edits, replaced, .. } = rewriter;
    Rewritten { bytes: encoded(&spliced(&text, edits), charset, whole), replaced }
}

/// A text in the encoding that it came in.
fn encoded(text: &str, charset: &'static Encoding, whole: bool) -> Vec<u8> {
    match charset {
        _ if !whole => mem::encode_latin1_lossy(text).into_owned(),
        charset if charset == UTF_16LE => {
            [0xfeff].into_iter().chain(text.encode_utf16()).flat_map(u16::to_le_bytes).collect()
        }
        charset if charset == UTF_16BE => {
            [0xfeff].into_iter().chain(text.encode_utf16()).flat_map(u16::to_be_bytes).collect()
        }
        charset => charset.encode(text).0.into_owned(),
    }
}

/// A text with pieces replaced; they lie in order.
fn spliced(text: &str, edits: Vec<(Range<usize>, String)>) -> String {
    let mut out = String::with_capacity(text.len() + text.len() / 8);
    let mut done = 0;
    for (place, new) in edits {
        let Some(kept) = text.get(done..place.start) else { continue };
        out.push_str(kept);
        out.push_str(&new);
        done = place.end;
    }
    out.push_str(text.get(done..).unwrap_or_default());
    out
}

struct Rewriter<'l> {
    /// Bytes of the whole text; the tokenizer's source may be its end.
    whole: usize,
    /// In what the characters of the text are to be decoded, when each is a byte.
    charset: Option<&'static Encoding>,
    link: &'l mut dyn FnMut(&str) -> Option<String>,
    edits: Vec<(Range<usize>, String)>,
    replaced: u64,
    /// Where the first `<html>` tag ends.
    html: Option<usize>,
}

impl Rewriter<'_> {
    /// A piece of the text in the characters that it means.
    fn decoded<'t>(&self, written: &'t str) -> Cow<'t, str> {
        match self.charset.filter(|_| !written.is_ascii()) {
            None => Cow::Borrowed(written),
            Some(charset) => {
                charset.decode_without_bom_handling(&mem::encode_latin1_lossy(written)).0.into_owned().into()
            }
        }
    }

    /// What is put in the place of a reference that is written so in an attribute.
    fn in_attribute(&mut self, written: &str) -> Option<String> {
        let new = self.asked(&entities::attribute(&self.decoded(written)))?;
        Some(new.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;"))
    }

    /// What is put in the place of a reference; it may stand in any quotes, and in `url()` without.
    fn asked(&mut self, reference: &str) -> Option<String> {
        let reference = reference.trim_matches(|c: char| c <= ' ' || c == '"' || c == '\'');
        let mut new = (self.link)(reference).filter(|new| new.is_ascii() && new != reference)?;
        for (plain, escaped) in [(' ', "%20"), ('"', "%22"), ('\'', "%27"), ('(', "%28"), (')', "%29")] {
            if new.contains(plain) {
                new = new.replace(plain, escaped);
            }
        }
        self.replaced += 1;
        Some(new)
    }

    /// Replaces references, pieces of the value that lies in `place`.
    fn pieces(&mut self, source: &str, place: Range<usize>, pieces: impl IntoIterator<Item = Range<usize>>) {
        for piece in pieces {
            let piece = place.start + piece.start..place.start + piece.end;
            if let Some(new) = source.get(piece.clone()).and_then(|written| self.in_attribute(written)) {
                self.edit(source, piece, new);
            }
        }
    }

    fn edit(&mut self, source: &str, place: Range<usize>, new: String) {
        let before = self.whole - source.len();
        self.edits.push((before + place.start..before + place.end, new));
    }

    /// Puts a `<meta charset>` in, behind `<html>` or the doctype.
    fn name_charset(&mut self, charset: &'static Encoding, text: &str) {
        let begin = text.len() - text.trim_ascii_start().len();
        let doctype =
            text.get(begin..).filter(|rest| rest.get(..9).is_some_and(|word| word.eq_ignore_ascii_case("<!doctype")));
        let behind = || doctype.and_then(|rest| Some(begin + rest.find('>')? + 1));
        let at = self.html.or_else(behind).unwrap_or(0);
        let place = self.edits.partition_point(|(edit, _)| edit.start < at);
        self.edits.insert(place, (at..at, format!("<meta charset=\"{}\">", charset.name())));
    }
}

/// Where a part of a text lies in it.
fn within(text: &str, part: &str) -> Range<usize> {
    let from = (part.as_ptr() as usize).saturating_sub(text.as_ptr() as usize);
    from..from + part.len()
}

impl Sink for Rewriter<'_> {
    fn wants(&self, _: Element) -> bool {
        true
    }

    fn start(&mut self, tag: &Tag<'_>) {
        let (source, replaced, before) = (tag.source, self.replaced, self.edits.len());
        let mut integrity = None;
        for (name, place) in tag.places() {
            let Some(value) = source.get(place.clone()).filter(|value| !value.is_empty()) else { continue };
            let is = |of: &str| name.eq_ignore_ascii_case(of);
            if is("href") && tag.element == Element::Base {
                self.edit(source, place, String::new());
            } else if REFERENCES.iter().any(|of| is(of)) || is("data") && tag.element == Element::Object {
                self.pieces(source, place.clone(), Some(0..value.len()));
            } else if is("srcset") || is("imagesrcset") {
                self.pieces(
                    source,
                    place.clone(),
                    srcset::urls(value).map(|url| within(value, url)).collect::<Vec<_>>(),
                );
            } else if is("style") {
                self.pieces(source, place.clone(), css::references(value).into_iter().map(|(from, to)| from..to));
            } else if is("content") && tag.attr("http-equiv").is_some_and(|says| says.eq_ignore_ascii_case("refresh")) {
                self.pieces(source, place.clone(), srcset::parse_refresh(value).map(|(_, url)| within(value, url)));
            } else if is("integrity") {
                integrity = Some(place);
            }
        }
        if let Some(place) = integrity.filter(|_| self.replaced > replaced) {
            self.edit(source, place, String::new());
            self.edits.get_mut(before..).unwrap_or_default().sort_by_key(|(place, _)| place.start);
        }
        if tag.element == Element::Html {
            self.html.get_or_insert(self.whole - source.len() + tag.end);
        }
    }

    fn end(&mut self, _: Element) {}

    fn text(&mut self, _: &str, _: bool) {}

    fn script(&mut self, _: &str) {}

    fn style(&mut self, source: &str, place: Range<usize>) {
        let Some(text) = source.get(place.clone()) else { return };
        for (from, to) in css::references(text) {
            let piece = place.start + from..place.start + to;
            let new = source.get(piece.clone()).and_then(|written| self.asked(&self.decoded(written)));
            if let Some(new) = new {
                self.edit(source, piece, new);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// With `N:reference` in the place of each.
    fn page(content_type: &str, body: &[u8]) -> Vec<u8> {
        let kind = if content_type.starts_with("text/css") { Kind::Other } else { Kind::Html };
        let letter = |c: char| if c.is_ascii() { c.to_string() } else { format!("U{:x}", u32::from(c)) };
        let mut link = |reference: &str| Some(format!("N:{}", reference.chars().map(letter).collect::<String>()));
        rewrite(kind, Some(content_type), Some("test"), body, &mut link).bytes
    }

    fn text(html: &str) -> String {
        String::from_utf8(page("text/html", html.as_bytes())).unwrap()
    }

    #[test]
    fn references_of_a_page_are_replaced_wherever_they_stand() {
        let cases = [
            ("<a href=x>x</a>", "<a href=N:x>x</a>"),
            ("<A HREF = ' x?a=1&amp;b ' class=y>", "<A HREF = 'N:x?a=1&amp;b' class=y>"),
            ("<base href=/b/ target=t><a href=x>", "<base href= target=t><a href=N:x>"),
            (
                "<img src=\"i (1).png\" srcset='a.png 1x,b.png 2x' alt=src>",
                "<img src=\"N:i%20%281%29.png\" srcset='N:a.png 1x,N:b.png 2x' alt=src>",
            ),
            ("<p style=\"background:url(&quot;i.png&quot;)\">", "<p style=\"background:url(N:i.png)\">"),
            ("<style>@import 'a.css';p{x:url(b)}</style>", "<style>@import 'N:a.css';p{x:url(N:b)}</style>"),
            ("<meta http-equiv=Refresh content='5; URL=x'>", "<meta http-equiv=Refresh content='5; URL=N:x'>"),
            ("<link rel=stylesheet integrity=sha256-x href=s.css>", "<link rel=stylesheet integrity= href=N:s.css>"),
            (
                "<script src=x.js>'<a href=no>'</script><!--<a href=no>-->",
                "<script src=N:x.js>'<a href=no>'</script><!--<a href=no>-->",
            ),
            ("<object data=o codebase=c></object><div data=no>", "<object data=N:o codebase=c></object><div data=no>"),
            ("<textarea><a href=no></textarea><a href>", "<textarea><a href=no></textarea><a href>"),
            ("<svg><use xlink:href=u.svg#a /></svg>", "<svg><use xlink:href=N:u.svg#a /></svg>"),
        ];
        for (html, want) in cases {
            assert_eq!(text(&format!("<meta charset=utf-8>{html}")), format!("<meta charset=utf-8>{want}"));
        }
    }

    #[test]
    fn a_page_stays_in_its_encoding() {
        for charset in ["gbk", "big5", "shift_jis", "euc-kr", "windows-1251", "iso-2022-jp", "gb18030", "utf-8"] {
            let encoding = Encoding::for_label(charset.as_bytes()).unwrap();
            let written = match charset {
                "windows-1251" => "привет",
                "euc-kr" => "가나다",
                _ => "表示中文十功",
            };
            let encoded = |html: &str| encoding.encode(&html.replace("…", written)).0.into_owned();
            let html =
                |href: &str| format!("<html><meta charset={charset}><title>…</title><a title='…' href='{href}'>…</a>");
            let name: String = written.chars().map(|c| format!("U{:x}", u32::from(c))).collect();
            let want = html(&format!("N:{name}"));
            let found = page("text/html", &encoded(&html("…")));
            assert_eq!(found, encoded(&want), "{charset}: {}", String::from_utf8_lossy(&found));
        }
        let utf16 = |html: &str| {
            [0xfeff].into_iter().chain(html.encode_utf16()).flat_map(u16::to_le_bytes).collect::<Vec<u8>>()
        };
        assert_eq!(page("text/html", &utf16("<p>…</p><a href=x>")), utf16("<p>…</p><a href=N:x>"));
    }

    #[test]
    fn a_charset_that_only_the_head_of_the_answer_named_is_written_into_the_page() {
        let (gbk, ..) = encoding_rs::GBK.encode("中");
        for (before, want) in [
            ("<!doctype html><html lang=zh>", "<!doctype html><html lang=zh><meta charset=\"GBK\">"),
            ("\n<!DOCTYPE html>", "\n<!DOCTYPE html><meta charset=\"GBK\">"),
            ("<p>", "<meta charset=\"GBK\"><p>"),
            ("<meta charset=gbk>", "<meta charset=gbk>"),
        ] {
            let found = page("text/html; charset=gbk", &[before.as_bytes(), &gbk].concat());
            assert_eq!(found, [want.as_bytes(), &gbk].concat());
        }
    }

    #[test]
    fn a_style_sheet_is_rewritten_too() {
        assert_eq!(
            page("text/css", b"@import url( a.css );p{x:url(\"b'c\")}"),
            b"@import url( N:a.css );p{x:url(\"N:b%27c\")}"
        );
    }

    proptest! {
        #[test]
        fn what_has_no_other_reference_stays_byte_for_byte(body in prop::collection::vec(any::<u8>(), 0..200), css in any::<bool>()) {
            let body = [b"<html><meta charset=gbk><a href='".as_slice(), &body].concat();
            let kind = if css { Kind::Other } else { Kind::Html };
            prop_assert_eq!(rewrite(kind, None, None, &body, &mut |_| None), Rewritten { bytes: body, replaced: 0 });
        }

        #[test]
        fn edits_lie_in_order_and_apart(html in "(<a href=x>|<img src='y' srcset='a 1x, b 2x' integrity=z>|<p style='x:url(y)'>|<style>|</style>|url\\(z\\)|<base href=b>|é|'|>|<){0,30}") {
            let mut asked = 0;
            let mut link = |_: &str| { asked += 1; Some("N".to_owned()) };
            let found = rewrite(Kind::Html, Some("text/html; charset=utf-8"), None, html.as_bytes(), &mut link);
            let text = String::from_utf8(found.bytes).unwrap();
            prop_assert!(text.matches('N').count() as u64 == found.replaced && found.replaced == asked, "{}", text);
        }
    }
}
