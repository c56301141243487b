//! What Common Crawl's WAT files say of a page: title, base, metas, links and scripts of its head, and every reference with the place
//! where it stands, as it is written. Keys and paths are those of its extractor, `ia-web-commons`.

use std::collections::BTreeMap;

use serde::Serialize;
use url::Url;

use super::element::Element;
use super::entities::decode_references;
use super::fold::Fold;
use super::links::LONGEST_HREF;
use super::tag::Tag;
use super::tokenizer::{Sink, Tokenizer};
use crate::content::charset::TextStream;
use crate::content::mime::Kind;
use crate::domain::text::cut_at;

/// Bytes of texts that an outline has at most, each entry counting 64 more.
const ROOM: usize = 4 << 20;
/// What each entry counts beside its texts.
const ENTRY: usize = 64;
/// The longest title.
const MAX_TITLE: usize = 4_096;
/// The most bytes of a link's text.
const MAX_TEXT: usize = 512;

/// One element: `path` as `A@/href`, `url`, and what else is said of it.
pub type Said = BTreeMap<&'static str, String>;

/// A page in outline; in JSON the `HTML-Metadata` of a WAT.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct Outline {
    /// What the head says.
    pub head: Head,
    /// References in the order of the page; those of anchors stand where the anchor ends.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub links: Vec<Said>,
}

/// See [`Outline`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct Head {
    /// The first title that is not blank.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The first `<base href>`, as written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub base: Option<String>,
    /// `<meta>` elements.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub metas: Vec<Said>,
    /// `<link href>` elements.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub link: Vec<Said>,
    /// `<script src>` elements.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub scripts: Vec<Said>,
}

/// The attributes of an element that hold a reference: element, attribute, path, attributes told beside it.
#[rustfmt::skip]
const REFERENCES: &[(Element, &str, &str, &[&str])] = &[
    (Element::A, "href", "A@/href", &["target", "alt", "title", "rel", "hreflang", "type"]),
    (Element::Area, "href", "AREA@/href", &["rel"]),
    (Element::Audio, "src", "AUDIO@/src", &[]),
    (Element::Body, "background", "BODY@/background", &[]),
    (Element::Embed, "src", "EMBED@/src", &[]),
    (Element::Form, "action", "FORM@/action", &["target", "method"]),
    (Element::Frame, "src", "FRAME@/src", &[]),
    (Element::Iframe, "src", "IFRAME@/src", &[]),
    (Element::Img, "src", "IMG@/src", &["alt", "title"]),
    (Element::Img, "longdesc", "IMG@/longdesc", &[]),
    (Element::Input, "src", "INPUT@/src", &[]),
    (Element::Input, "formaction", "INPUT@/formaction", &[]),
    (Element::Link, "href", "LINK@/href", &["rel", "type"]),
    (Element::Object, "codebase", "OBJECT@/codebase", &[]),
    (Element::Object, "data", "OBJECT@/data", &[]),
    (Element::Script, "src", "SCRIPT@/src", &["type"]),
    (Element::Source, "src", "SOURCE@/src", &[]),
    (Element::Track, "src", "TRACK@/src", &[]),
    (Element::Video, "src", "VIDEO@/src", &[]),
    (Element::Video, "poster", "VIDEO@/poster", &[]),
];

/// What is told of a `<meta>`.
const META: &[&str] = &["name", "rel", "content", "http-equiv", "property"];

/// The outline of the page `body` at `url`, sent with `content_type`; at most `max` bytes of it are read.
pub fn outline(kind: Kind, content_type: Option<&str>, url: &Url, body: &[u8], max: u64) -> Outline {
    let mut stream = TextStream::new(content_type, url, max);
    let mut tokenizer = Tokenizer::new(kind == Kind::Xhtml);
    let mut collector = Collector { room: ROOM, ..Collector::default() };
    stream.push(body, |text| tokenizer.feed(text, &mut collector));
    stream.finish(|text| tokenizer.feed(text, &mut collector));
    tokenizer.finish(&mut collector);
    collector.end_anchor();
    collector.made
}

#[derive(Default)]
struct Collector {
    made: Outline,
    room: usize,
    title: Option<Fold>,
    anchor: Option<(Said, Fold)>,
}

impl Collector {
    /// The attributes of `tag` that are among `names`; empty when there is no room left.
    fn told(&mut self, tag: &Tag<'_>, names: &[&'static str]) -> Said {
        let values = names.iter().filter_map(|name| Some((*name, tag.attr(name)?)));
        let told: Said = values.map(|(name, value)| (name, cut_at(&value, LONGEST_HREF).to_owned())).collect();
        let size: usize = told.values().map(|value| value.len() + ENTRY).sum();
        if size > self.room {
            return Said::new();
        }
        self.room -= size;
        told
    }

    fn reference(&mut self, tag: &Tag<'_>, attribute: &str, path: &str, also: &[&'static str]) {
        let Some(url) = tag.attr(attribute).filter(|url| url.len() + ENTRY <= self.room.min(LONGEST_HREF)) else {
            return;
        };
        self.room -= url.len() + ENTRY;
        let mut said = self.told(tag, also);
        said.extend([("path", path.to_owned()), ("url", url.trim().to_owned())]);
        match tag.element {
            Element::A => self.anchor = Some((said, Fold::new(MAX_TEXT))),
            Element::Link => self.made.head.link.push(said),
            Element::Script => self.made.head.scripts.push(said),
            _ => self.made.links.push(said),
        }
    }

    fn end_anchor(&mut self) {
        if let Some((mut said, text)) = self.anchor.take() {
            let (text, _) = text.finish();
            if !text.is_empty() && text.len() <= self.room {
                self.room -= text.len();
                said.insert("text", text);
            }
            self.made.links.push(said);
        }
    }
}

impl Sink for Collector {
    fn wants(&self, element: Element) -> bool {
        let told = matches!(element, Element::Base | Element::Html | Element::Meta);
        told || REFERENCES.iter().any(|(of, ..)| *of == element)
    }

    fn start(&mut self, tag: &Tag<'_>) {
        match tag.element {
            Element::A => self.end_anchor(),
            Element::Title if !tag.foreign && self.made.head.title.is_none() => self.title = Some(Fold::new(MAX_TITLE)),
            Element::Base if self.made.head.base.is_none() => {
                self.made.head.base = self.told(tag, &["href"]).remove("href")
            }
            Element::Meta => {
                let said = self.told(tag, META);
                self.made.head.metas.extend(Some(said).filter(|said| !said.is_empty()));
            }
            Element::Html => {
                if let Some(language) = self.told(tag, &["lang"]).remove("lang") {
                    let said = Said::from([("name", "HTML@/lang".to_owned()), ("content", language)]);
                    self.made.head.metas.push(said);
                }
            }
            _ => {}
        }
        for (_, attribute, path, also) in REFERENCES.iter().filter(|(of, ..)| *of == tag.element) {
            self.reference(tag, attribute, path, also);
        }
        if tag.element.separates_words() {
            self.part();
        }
    }

    fn end(&mut self, element: Element) {
        match element {
            Element::A => self.end_anchor(),
            Element::Title => {
                let title = self.title.take().map(|title| title.finish().0);
                self.made.head.title = self.made.head.title.take().or(title.filter(|title| !title.is_empty()));
            }
            _ if element.separates_words() => self.part(),
            _ => {}
        }
    }

    fn text(&mut self, text: &str, references: bool) {
        let Some(fold) = self.title.as_mut().or(self.anchor.as_mut().map(|(_, text)| text)) else { return };
        match references {
            true => decode_references(text, |piece| fold.push(piece)),
            false => fold.push(text),
        }
    }

    fn script(&mut self, _: &str) {}
}

impl Collector {
    fn part(&mut self) {
        if let Some((_, text)) = &mut self.anchor {
            text.part();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn of(content_type: &str, body: &[u8]) -> serde_json::Value {
        let url = Url::parse("http://h.test/dir/page").unwrap();
        serde_json::to_value(outline(Kind::Html, Some(content_type), &url, body, 1 << 20)).unwrap()
    }

    #[test]
    fn an_outline_has_the_keys_and_paths_of_common_crawl() {
        let html = "<html lang=de><head><title> Spinnen &amp; Netze </title><title>no</title><base href=/b/><meta charset=utf-8>\
            <meta name=keywords content='a,b'><meta property=og:url content=http://h.test/><link rel=stylesheet href=s.css>\
            <script src=x.js type=module>'<a href=no>'</script></head><body background=bg.png>\
            <a href=' ../a?b=1&amp;c#d ' rel=nofollow target=_blank>The <b>wolf</b><br>spider</a><img src=i.png alt='An eye'>\
            <form action=/s method=get><input type=image src=go.gif></form><iframe src=f></iframe><a name=x>no</a>";
        let found = of("text/html", html.as_bytes());
        assert_eq!(
            found,
            json!({
                "Head": {
                    "Title": "Spinnen & Netze",
                    "Base": "/b/",
                    "Metas": [
                        {"name": "HTML@/lang", "content": "de"},
                        {"name": "keywords", "content": "a,b"},
                        {"property": "og:url", "content": "http://h.test/"},
                    ],
                    "Link": [{"path": "LINK@/href", "url": "s.css", "rel": "stylesheet"}],
                    "Scripts": [{"path": "SCRIPT@/src", "url": "x.js", "type": "module"}],
                },
                "Links": [
                    {"path": "BODY@/background", "url": "bg.png"},
                    {"path": "A@/href", "url": "../a?b=1&c#d", "rel": "nofollow", "target": "_blank", "text": "The wolf spider"},
                    {"path": "IMG@/src", "url": "i.png", "alt": "An eye"},
                    {"path": "FORM@/action", "url": "/s", "method": "get"},
                    {"path": "INPUT@/src", "url": "go.gif"},
                    {"path": "IFRAME@/src", "url": "f"},
                ],
            })
        );
    }

    #[test]
    fn a_page_is_read_in_its_charset_and_one_that_says_nothing_has_an_empty_head() {
        let (gbk, _, _) = encoding_rs::GBK.encode("<title>狼蛛</title><a href=x>蜘蛛</a>");
        let found = of("text/html; charset=gbk", &gbk);
        assert_eq!((&found["Head"]["Title"], &found["Links"][0]["text"]), (&json!("狼蛛"), &json!("蜘蛛")));
        assert_eq!(of("text/html", b"<p>x"), json!({ "Head": {} }));
    }

    #[test]
    fn an_outline_is_bounded_whatever_a_page_is_made_of() {
        for piece in [
            "<a href=x>".to_owned(),
            format!("<img src={} alt={0}>", "y".repeat(LONGEST_HREF)),
            "<meta name=a>".to_owned(),
        ] {
            let body = piece.repeat((6 << 20) / piece.len());
            let url = Url::parse("http://h.test/").unwrap();
            let found = outline(Kind::Html, None, &url, body.as_bytes(), u64::MAX);
            let said = found.links.iter().chain(&found.head.metas).flat_map(|said| said.values());
            assert!(said.map(String::len).sum::<usize>() <= ROOM + 1_000, "{}", piece.len());
        }
    }
}
