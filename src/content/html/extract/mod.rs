//! From markup to [`PageFacts`].
//!
//! Decisions: the first title and description that are not blank count. What stands in a `<template>` is no part of the page,
//! as in browsers, unless the template makes a shadow tree (`shadowrootmode`). `<noscript>` holds ordinary markup. Text is
//! everything but scripts, styles, titles, text areas, templates and the fallbacks of frames.

use std::borrow::Cow;

use url::{Position, Url};

use super::blocks::Blocks;
use super::directives::Directives;
use super::element::Element;
use super::entities::{self, Place};
use super::facts::{Link, LinkKind, PageFacts, Refresh};
use super::fold::Fold;
use super::link_list::LinkList;
use super::links::{self, Rel};
use super::media::Media;
use super::script::Watch;
use super::srcdoc::{self, Framed};
use super::srcset::parse_refresh;
use super::tag::Tag;
use super::tokenizer::{Sink, Tokenizer};
use crate::domain::textprint::{Printer, Shown};
use crate::domain::url::{join_any, parse_any, without_stand_in};

/// The most bytes of a title, a description or one keyword.
const MAX_FIELD: usize = 4096;
const MAX_KEYWORDS: usize = 100;
/// Frames with a base of their own.
const MAX_BASES: usize = 100;
/// The most characters of a link's text.
const MAX_LINK_TEXT: usize = 200;

/// What to take from a page and how much of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExtractOptions {
    /// Also report images, scripts, style sheets and media.
    pub assets: bool,
    /// The page may lead to this many URLs. References in several spellings are collected to four times as many.
    pub max_links: usize,
    /// No more text than this many bytes.
    pub max_text: usize,
    /// Names of ours that a `<meta name>` may address besides `robots`, for instance `lycosa`.
    pub agent_tokens: Vec<String>,
    /// Also collect what the page's card is made of.
    pub card: bool,
}

impl Default for ExtractOptions {
    fn default() -> Self {
        Self { assets: false, max_links: 100_000, max_text: 1 << 20, agent_tokens: vec!["lycosa".into()], card: false }
    }
}

/// Takes markup in pieces and collects the facts of the page.
#[derive(Debug)]
pub struct Extractor {
    tokenizer: Tokenizer,
    collector: Collector,
    page: Url,
}

impl Extractor {
    /// For the HTML page at `page_url`.
    pub fn new(page_url: &Url, opts: ExtractOptions) -> Self {
        Self { tokenizer: Tokenizer::new(false), collector: Collector::new(opts, page_url), page: page_url.clone() }
    }

    /// For a page sent as XHTML: `<script/>` is closed, CDATA sections are text.
    pub fn for_xhtml(page_url: &Url, opts: ExtractOptions) -> Self {
        Self { tokenizer: Tokenizer::new(true), ..Self::new(page_url, opts) }
    }

    /// The next piece of the page, cut anywhere.
    pub fn feed(&mut self, chunk: &str) {
        self.tokenizer.feed(chunk, &mut self.collector);
    }

    /// Bytes gone through so far, those looked at twice included: a measure of the work, at most about three times what
    /// was fed.
    pub fn work(&self) -> u64 {
        self.tokenizer.work
    }

    /// Bytes it holds but for the facts, which have limits of their own.
    #[cfg(test)]
    pub(super) fn held(&self) -> usize {
        let anchor = self.collector.anchor.as_ref().map_or(0, |anchor| anchor.text.held() + anchor.alt.held());
        let folds = [self.collector.title.as_ref().map_or(0, Fold::held), anchor, self.collector.text.held()];
        self.tokenizer.held() + folds.iter().sum::<usize>()
    }

    /// For the page in a frame that stands so deep.
    pub(super) fn framed(page_url: &Url, opts: ExtractOptions, depth: u8) -> Self {
        let mut made = Self::new(page_url, opts);
        made.collector.depth = depth;
        made
    }

    /// The page in a frame has ended.
    pub(super) fn finish_framed(mut self) -> Framed {
        self.tokenizer.finish(&mut self.collector);
        self.collector.end_anchor();
        self.collector.resolve_framed(None);
        let Collector { facts, links, base_href, .. } = self.collector;
        Framed { links: links.list, cut: links.cut, base: base_href, nofollow: facts.robots.nofollow }
    }

    /// The page has ended.
    pub fn finish(mut self) -> PageFacts {
        self.tokenizer.finish(&mut self.collector);
        self.collector.finish(&self.page)
    }
}

/// Keeps what the tokens say.
#[derive(Debug)]
struct Collector {
    opts: ExtractOptions,
    facts: PageFacts,
    links: LinkList,
    base_href: Option<String>,
    canonical_href: Option<String>,
    text: Fold,
    blocks: Option<Box<Blocks>>,
    printer: Printer,
    media: Media,
    watch: Watch,
    title: Option<Fold>,
    anchor: Option<Anchor>,
    /// Open templates, from the outermost that makes no shadow tree.
    templates: u32,
    /// Frames around it.
    depth: u8,
    /// Links of frames that have a base of their own: where they begin and end, and that base.
    framed: Vec<(usize, usize, String)>,
}

/// A link that is open.
#[derive(Debug)]
struct Anchor {
    /// Its place among the links.
    at: usize,
    text: Fold,
    /// What its images say in words: its name for who does not see them, when it has no text.
    alt: Fold,
}

impl Collector {
    fn new(opts: ExtractOptions, page: &Url) -> Self {
        Self {
            text: Fold::new(opts.max_text),
            printer: Printer::new(&page[Position::BeforePath..Position::AfterQuery]),
            media: Media::of_page(page.host_str().unwrap_or_default()),
            links: LinkList::new(opts.max_links),
            blocks: opts.card.then(Box::default),
            opts,
            watch: Watch::default(),
            facts: PageFacts::default(),
            base_href: None,
            canonical_href: None,
            title: None,
            anchor: None,
            templates: 0,
            depth: 0,
            framed: Vec::new(),
        }
    }

    fn finish(mut self, page: &Url) -> PageFacts {
        self.end_title();
        self.end_anchor();
        self.facts.base = self.base_href.take().and_then(|href| base(page, &href));
        let base = self.facts.base_url(page);
        self.resolve_framed(Some(&base));
        self.facts.canonical = self.canonical_href.and_then(|href| web_url(&base, &href));
        (self.facts.text, self.facts.text_cut) = self.text.finish();
        self.facts.visible = self.watch.visible;
        self.facts.needs_script = self.watch.needs_script();
        let (print, told) = self.printer.finish();
        self.facts.shown = Shown { print, told, media: self.media.finish() };
        (self.facts.links, self.facts.links_cut) = (self.links.list, self.links.cut);
        self.facts.for_card = self.blocks.map(|blocks| blocks.finish());
        self.facts
    }

    fn add_link(&mut self, kind: LinkKind, href: &str, nofollow: bool, text: &str) {
        let Some(href) = links::usable(href) else { return };
        if matches!(kind, LinkKind::A | LinkKind::Area | LinkKind::Frame) {
            self.watch.link();
        }
        if !self.links.takes(kind, href, nofollow) {
            return;
        }
        let text = link_text(Fold::all(text, MAX_LINK_TEXT * 4));
        self.links.list.push(Link { href: href.to_owned(), kind, nofollow, text });
    }

    fn links_of(&mut self, tag: &Tag<'_>) {
        let rel = Rel::of(tag);
        let nofollow = rel.any(&links::REL_NOFOLLOW);
        let described = match tag.element {
            Element::Area | Element::Img => tag.attr("alt"),
            Element::Link | Element::Iframe | Element::Frame => tag.attr("title"),
            _ => None,
        };
        let text = described.unwrap_or_default();
        let before = self.links.list.len();
        links::of_tag(tag, &rel, self.opts.assets, |kind, href| self.add_link(kind, href, nofollow, &text));
        if tag.element == Element::A {
            self.end_anchor();
            if self.links.list.len() > before {
                let room = || Fold::new(MAX_LINK_TEXT * 4);
                self.anchor = Some(Anchor { at: before, text: room(), alt: room() });
            }
        }
        if tag.element == Element::Link && rel.any(&["canonical"]) && self.canonical_href.is_none() {
            self.canonical_href = tag.attr("href").map(Cow::into_owned).filter(|h| short(h));
        }
    }

    /// The links of the page that stands in a frame's attribute.
    fn frame(&mut self, markup: &str) {
        let from = self.links.list.len();
        let framed = srcdoc::read(markup, &self.opts, self.depth + 1);
        self.links.cut |= framed.cut;
        let base = framed.base.filter(|_| self.framed.len() < MAX_BASES);
        for link in framed.links {
            self.watch.link();
            let nofollow = link.nofollow || framed.nofollow;
            let reference = base.as_ref().map(|base| format!("{base} {}", link.href));
            if self.links.takes(link.kind, reference.as_deref().unwrap_or(&link.href), nofollow) {
                self.links.list.push(Link { nofollow, ..link });
            }
        }
        self.framed.extend(base.map(|base| (from, self.links.list.len(), base)));
    }

    /// Frames that have a base of their own have it relative to that of the page; to an absolute one where that is not known yet.
    fn resolve_framed(&mut self, base: Option<&Url>) {
        for (from, to, own) in std::mem::take(&mut self.framed) {
            let absolute = || parse_any(&own);
            let (Some(links), Some(base)) = (self.links.list.get_mut(from..to), base.cloned().or_else(absolute)) else {
                continue;
            };
            srcdoc::resolve(links, &own, &base);
        }
    }

    fn meta(&mut self, tag: &Tag<'_>) {
        let Some(content) = tag.attr("content") else { return };
        if tag.attr("http-equiv").is_some_and(|h| h.trim_ascii().eq_ignore_ascii_case("refresh")) {
            if let Some((seconds, url)) = parse_refresh(&content).filter(|(_, url)| short(url)) {
                self.facts.refresh.get_or_insert_with(|| Refresh { seconds, href: url.to_owned() });
                if !url.is_empty() {
                    self.add_link(LinkKind::MetaRefresh, url, false, "");
                }
            }
            return;
        }
        let Some(name) = tag.attr("name") else { return };
        let is = |n: &str| name.trim_ascii().eq_ignore_ascii_case(n);
        if is("robots") || self.opts.agent_tokens.iter().any(|t| is(t)) {
            self.facts.robots = self.facts.robots.and(Directives::from_meta(&content));
        } else if is("description") && self.facts.description.is_none() {
            self.facts.description = Some(Fold::all(&content, MAX_FIELD)).filter(|d| !d.is_empty());
        } else if is("keywords") {
            self.keywords(&content);
        }
    }

    fn keywords(&mut self, content: &str) {
        for word in content.split([',', '，', '、', ';', '；']) {
            let word = Fold::all(word, MAX_FIELD);
            let known = &mut self.facts.keywords;
            if !word.is_empty() && known.len() < MAX_KEYWORDS && !known.contains(&word) {
                known.push(word);
            }
        }
    }

    fn end_title(&mut self) {
        if let Some(fold) = self.title.take()
            && self.facts.title.is_none()
        {
            self.facts.title = Some(fold.finish().0).filter(|t| !t.is_empty());
        }
    }

    fn end_anchor(&mut self) {
        if let Some(Anchor { at, text, alt }) = self.anchor.take()
            && let Some(link) = self.links.list.get_mut(at)
        {
            let text = text.finish().0;
            link.text = link_text(if text.is_empty() { alt.finish().0 } else { text });
        }
    }

    fn separate_words(&mut self) {
        self.text.part();
        self.printer.part();
        if let Some(anchor) = &mut self.anchor {
            anchor.text.part();
        }
    }

    /// What stands for a picture says something of the page, though it is no text of it.
    fn image(&mut self, tag: &Tag<'_>) {
        let Some(alt) = tag.attr("alt") else { return };
        self.printer.part();
        self.printer.push(&alt);
        self.printer.part();
        if let Some(anchor) = &mut self.anchor {
            anchor.alt.part();
            anchor.alt.push(&alt);
        }
    }

    fn add_text(&mut self, piece: &str) {
        self.printer.push(piece);
        match (&mut self.title, &mut self.anchor) {
            (Some(title), _) => return title.push(piece),
            (None, Some(anchor)) => anchor.text.push(piece),
            (None, None) => {}
        }
        if let Some(blocks) = &mut self.blocks {
            blocks.text(piece);
        }
        self.watch.text(piece);
        self.text.push(piece);
    }

    /// A template's tags; true if the tag is in a template or is one.
    fn template_starts(&mut self, tag: &Tag<'_>) -> bool {
        let template = tag.element == Element::Template && !tag.foreign;
        if self.templates > 0 || template && !tag.has("shadowrootmode") {
            self.templates = self.templates.saturating_add(u32::from(template));
            return true;
        }
        template
    }
}

impl Sink for Collector {
    /// Media are named by attributes of any element.
    fn wants(&self, _: Element) -> bool {
        true
    }

    fn start(&mut self, tag: &Tag<'_>) {
        if self.template_starts(tag) {
            return;
        }
        if tag.element.separates_words() && !tag.foreign {
            self.separate_words();
        }
        if let Some(blocks) = &mut self.blocks {
            blocks.start(tag);
        }
        self.media.of_tag(tag);
        if tag.element == Element::Script {
            self.watch.script = true;
        }
        if tag.element == Element::Img {
            self.image(tag);
        }
        self.facts.pictures |= links::is_picture(tag.element);
        match tag.element {
            Element::Title if !tag.foreign => {
                self.title = Some(Fold::new(MAX_FIELD));
            }
            Element::Base if !tag.foreign && self.base_href.is_none() => {
                self.base_href = tag.attr("href").map(Cow::into_owned).filter(|h| short(h));
            }
            Element::Meta => self.meta(tag),
            Element::Noscript => self.watch.noscript(true),
            element if links::has_facts(element, self.opts.assets) => self.links_of(tag),
            _ => {}
        }
        if tag.element == Element::Iframe
            && let Some(markup) = tag.attr("srcdoc")
        {
            self.frame(&markup);
        }
    }

    fn end(&mut self, element: Element) {
        if self.templates > 0 {
            self.templates -= u32::from(element == Element::Template);
            return;
        }
        if element.separates_words() {
            self.separate_words();
        }
        if let Some(blocks) = &mut self.blocks {
            blocks.end(element);
        }
        match element {
            Element::A => self.end_anchor(),
            Element::Title => self.end_title(),
            Element::Noscript => self.watch.noscript(false),
            Element::Script => self.media.end_script(),
            _ => {}
        }
    }

    fn text(&mut self, text: &str, references: bool) {
        if self.templates > 0 {
            return;
        }
        if references && memchr::memchr(b'&', text.as_bytes()).is_some() {
            entities::decode(text, Place::Text, |piece| self.add_text(piece));
        } else {
            self.add_text(text);
        }
    }

    fn script(&mut self, text: &str) {
        if self.templates == 0 {
            self.media.script(text);
        }
    }
}

fn short(href: &str) -> bool {
    href.len() <= links::LONGEST_HREF
}

fn link_text(mut text: String) -> String {
    if text.len() > MAX_LINK_TEXT
        && let Some((at, _)) = text.char_indices().nth(MAX_LINK_TEXT)
    {
        text.truncate(at);
        text.truncate(text.trim_ascii_end().len());
    }
    text
}

/// The document's base (WHATWG HTML, 2.4.3): a bad one, or one of scheme `data` or `javascript`, counts as none.
fn base(page: &Url, href: &str) -> Option<String> {
    let url = join_any(page, href)?;
    (!matches!(url.scheme(), "data" | "javascript")).then(|| without_stand_in(url.as_str()).into_owned())
}

fn web_url(base: &Url, href: &str) -> Option<String> {
    let href = links::usable(href)?;
    let url = join_any(base, href)?;
    matches!(url.scheme(), "http" | "https").then(|| without_stand_in(url.as_str()).into_owned())
}

#[cfg(test)]
mod tests;
