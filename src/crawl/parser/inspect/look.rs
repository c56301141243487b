//! What looking at an answer's body gives. Crawl and `lycosa fetch` look through the same inspector.

use std::io::Read;

use super::onward::Redirect;
use crate::content::html::Page;
use crate::content::mime::{Declared, Kind, essence, media_type};
use crate::content::modules::{
    Body, HeaderDirectives, MimeModule, MimeModules, PageSink, ParseRules, ROOT_WITHIN, bound,
};
use crate::document::DecodedEnd;
use crate::domain::fingerprint::{ContentDigest, ContentHasher};
use crate::domain::note::Note;
use crate::domain::outcome::Verdict;
use crate::domain::textprint::Shown;
use crate::domain::url::{Canonicaliser, PageUrl};
use crate::net::protocol::Fetched;

/// Bytes looked at to tell the type.
const SNIFF: usize = 1_500;

/// Who reads what, and how much of it.
#[derive(Clone, Copy, Debug)]
pub struct Inspector<'r> {
    /// The modules in force.
    pub modules: &'r MimeModules,
    /// What they take out.
    pub rules: &'r ParseRules,
    /// Bytes of a body decoded at most.
    pub max_decoded: u64,
}

/// What looking at a body gives.
#[derive(Debug, Default)]
pub struct Inspection {
    /// What was read of it; nothing when no module reads it, or its verdict says that it is not read.
    pub page: Option<Page>,
    /// Of a body that came whole.
    pub content: Option<ContentDigest>,
    /// What it shows, as far as it came; nothing of a sitemap, nor of what its verdict says is not read.
    pub shown: Option<Shown>,
    /// The media type as sent, or where none was sent as found; without parameters.
    pub mime: String,
    /// What it was taken for; nothing where nobody looked.
    pub kind: Option<Kind>,
    /// The media type that its first bytes show, or its kind has (`WARC-Identified-Payload-Type`).
    pub identified: Option<&'static str>,
    /// The module that read it.
    pub module: Option<&'static str>,
    /// Bytes, content codings taken off.
    pub decoded: u64,
    /// What was odd about its coding.
    coding: Vec<Note>,
}

impl Inspector<'_> {
    /// Looks at the answer to `url`; `sitemap`: it was found as one. `buffer` is room for a piece of the body.
    pub fn look(
        &self,
        (url, sitemap): (&PageUrl, bool),
        fetched: &Fetched,
        verdict: &Verdict,
        head: &HeaderDirectives,
        buffer: &mut [u8],
    ) -> Inspection {
        let at = url.to_url();
        let content_type = fetched.content_type();
        let declared = Declared { content_type: content_type.as_deref(), nosniff: head.nosniff };
        if !verdict.parses() || fetched.body.is_empty() {
            let shown = verdict.parses().then(Shown::default);
            return Inspection { shown, mime: mime_of(declared, None), ..Inspection::default() };
        }
        let mut body = fetched.decoded_body(self.max_decoded);
        let mut hasher = ContentHasher::new();
        let mut sink: Option<Box<dyn PageSink>> = None;
        let mut looked = Inspection::default();
        let (mut wanted, mut whole) = (true, true);
        loop {
            let least = match looked.kind {
                None if declared.is_xml() => ROOT_WITHIN,
                None => SNIFF,
                Some(_) => 1,
            };
            let n = match read_some(&mut body, buffer, least) {
                Ok(0) => break,
                Ok(n) => n,
                Err(e) => {
                    log::debug!("body read only in part: url={url} error={e}");
                    whole = false;
                    break;
                }
            };
            let piece = buffer.get(..n).unwrap_or_default();
            if looked.kind.is_none() {
                let first = Body::declared(&at, declared, piece).found_as_sitemap(sitemap);
                let module = self.modules.of(&first);
                sink = module.map(|module| module.open(&first, self.rules));
                looked.module = module.map(MimeModule::name);
                looked.kind = Some(first.kind);
                looked.identified = media_type(piece).or(first.kind.media_type());
                looked.mime = mime_of(declared, Some(&first));
            }
            looked.decoded += n as u64;
            hasher.update(piece);
            if let (Some(sink), true) = (&mut sink, wanted) {
                wanted = sink.push(piece);
            }
        }
        if looked.kind.is_none() {
            looked.mime = mime_of(declared, None);
        }
        // Of a body that is cut, or decoded only in part, nobody knows what followed: it is the duplicate of nothing.
        let whole = fetched.cut.is_none() && whole && body.end() == DecodedEnd::Whole;
        let (mut page, content) = (sink.map(PageSink::finish), whole.then(|| hasher.finish()));
        let shown = (!sitemap).then(|| shown(looked.kind, page.as_mut(), content));
        Inspection { page, content, shown, coding: body.notes(), ..looked }
    }
}

/// What a page shows, or that part of it which came; of what is no text that it is another than others.
fn shown(kind: Option<Kind>, page: Option<&mut Page>, content: Option<ContentDigest>) -> Shown {
    match (kind, page) {
        (Some(Kind::Html | Kind::Xhtml | Kind::Text), Some(page)) => std::mem::take(&mut page.facts.shown),
        (Some(Kind::Other) | None, _) => {
            let body = content.map(|ContentDigest([a, b, c, d, ..])| u32::from_be_bytes([a, b, c, d]));
            Shown { media: body.into_iter().collect(), ..Shown::default() }
        }
        _ => Shown::default(),
    }
}

impl Inspection {
    /// Leaves out links of the page at `at` that lead to more than `max` URLs, and notes it.
    #[must_use]
    pub fn bounded(mut self, canon: &Canonicaliser, at: &PageUrl, max: usize) -> Self {
        if let Some(page) = &mut self.page {
            bound(page, canon, at, max);
        }
        self
    }

    /// What was odd about the answer, each once and in order. Redirects and errors say nothing of themselves: they are no pages.
    pub fn notes(&self, fetched: &Fetched, verdict: &Verdict, head: &HeaderDirectives, onward: &Redirect) -> Vec<Note> {
        let mut notes = fetched.notes.clone();
        notes.extend(&self.coding);
        notes.extend(onward.note());
        if verdict.parses() {
            notes.extend(head.notes(self.page.as_ref()));
        }
        notes.sort_unstable();
        notes.dedup();
        notes
    }

    /// The canonical URL that a page names.
    pub fn canonical(&self, url: &PageUrl, verdict: &Verdict, head: &HeaderDirectives) -> Option<String> {
        verdict.parses().then(|| head.canonical(self.page.as_ref(), &url.to_url())).flatten()
    }
}

/// Reads at least `least` bytes, unless the body ends before.
fn read_some(body: &mut impl Read, buffer: &mut [u8], least: usize) -> std::io::Result<usize> {
    let mut n = 0;
    while n < least {
        match body.read(buffer.get_mut(n..).unwrap_or_default()) {
            Ok(0) => break,
            Ok(more) => n += more,
            Err(e) if e.kind() == std::io::ErrorKind::Interrupted => {}
            Err(e) if n == 0 => return Err(e),
            Err(_) => break,
        }
    }
    Ok(n)
}

/// The type as sent; where none was sent, the one found by looking.
fn mime_of(declared: Declared<'_>, body: Option<&Body<'_>>) -> String {
    let sent = declared.content_type.map(essence).filter(|essence| !essence.is_empty());
    let found = || match body?.kind {
        Kind::Html => Some("text/html"),
        Kind::Xhtml => Some("application/xhtml+xml"),
        Kind::Xml => Some("text/xml"),
        Kind::Text => Some("text/plain"),
        Kind::Other => media_type(body?.head),
    };
    sent.unwrap_or_else(|| found().unwrap_or_default().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_text_shows_whether_it_is_another_and_a_feed_nothing_but_its_links() {
        let of = |kind, body: &[u8]| shown(Some(kind), None, Some(ContentDigest::of(body)));
        assert_eq!(of(Kind::Other, b"picture"), of(Kind::Other, b"picture"));
        assert_ne!(of(Kind::Other, b"picture"), of(Kind::Other, b"another"));
        assert_eq!(of(Kind::Xml, b"<feed/>"), Shown::default());
        assert_eq!(shown(Some(Kind::Other), None, None), Shown::default(), "nobody knows what followed");
    }
}
