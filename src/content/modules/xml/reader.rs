//! A sitemap or feed from its bytes to its links.

use url::Url;

use super::gunzip::Gunzip;
use super::pump::Pump;
use crate::content::charset::TextStream;
use crate::content::feed::{self, Feed, FeedLimits};
use crate::content::html::{Page, PageFacts};
use crate::content::modules::{Body, PageSink, ParseRules};
use crate::content::sitemap::{self, End, Lines, Sitemap};
use crate::content::xml::Collect;

/// What a body is expected to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Expected {
    /// A sitemap, or a feed that serves as one; it may be plain text.
    Sitemap,
    /// XML: its root says what.
    Xml,
}

/// Takes the bytes in pieces. The first 64 KiB are held back until the encoding is known.
pub(super) struct XmlReader {
    gunzip: Option<Gunzip>,
    /// The compression broke off, or was none.
    damaged: bool,
    /// What comes when it is taken off.
    stream: TextStream,
    reading: Reading,
}

/// The text, and who reads it.
struct Reading {
    expected: Expected,
    url: Url,
    rules: ParseRules,
    form: Form,
}

/// How the text is read.
enum Form {
    /// Nothing but white space has come.
    Unknown,
    Xml(Pump, Collecting),
    Lines(Lines),
}

impl XmlReader {
    pub(super) fn new(body: &Body<'_>, rules: &ParseRules, expected: Expected, gzip: bool) -> Self {
        let reading = Reading { expected, url: body.url.clone(), rules: rules.clone(), form: Form::Unknown };
        let stream = TextStream::new(body.content_type, body.url, rules.sitemaps.max_bytes);
        Self { gunzip: gzip.then(Gunzip::new), damaged: false, stream, reading }
    }

    /// Bytes without compression; false once no more are wanted.
    fn plain(&mut self, bytes: &[u8]) -> bool {
        let mut wanted = true;
        let more = self.stream.push(bytes, |text| wanted = wanted && self.reading.read(text));
        more && wanted
    }
}

impl Reading {
    fn read(&mut self, text: &str) -> bool {
        if matches!(self.form, Form::Unknown) {
            let text = text.trim_start_matches(|c: char| c.is_whitespace() || c == '\u{feff}');
            let Some(first) = text.chars().next() else { return true };
            self.form = self.form(first);
            return self.read(text);
        }
        match &mut self.form {
            Form::Unknown => false,
            Form::Xml(pump, collecting) => pump.push(text, collecting),
            Form::Lines(lines) => {
                lines.push(text);
                !lines.is_full()
            }
        }
    }

    fn form(&self, first: char) -> Form {
        let limits = self.rules.sitemaps;
        match (self.expected, first) {
            (Expected::Sitemap, first) if first != '<' => Form::Lines(Lines::new(limits.max_urls)),
            _ => Form::Xml(Pump::default(), Collecting::Nobody(Box::new((self.url.clone(), self.rules.clone())))),
        }
    }

    fn is_full(&self) -> bool {
        match &self.form {
            Form::Unknown => false,
            Form::Xml(_, collecting) => collecting.is_full(),
            Form::Lines(lines) => lines.is_full(),
        }
    }

    /// What was found; `cut`: not all was read.
    fn facts(self, cut: bool, damaged: bool) -> PageFacts {
        let mut facts = PageFacts::default();
        let sitemap = match self.form {
            Form::Unknown => Some((Vec::new(), End::Malformed)),
            Form::Lines(lines) => {
                let (entries, whole) = lines.finish(!cut);
                Some((entries, if whole { End::Done } else { End::Cut }))
            }
            Form::Xml(mut pump, mut collecting) => {
                let ended = pump.finish(&mut collecting);
                collecting.into_facts(&mut facts, ended && !cut, pump.malformed)
            }
        };
        let sitemap = sitemap.filter(|(entries, _)| self.expected == Expected::Sitemap || !entries.is_empty());
        if let Some((entries, end)) = sitemap {
            let end = if damaged { End::Malformed } else { end };
            facts.links_cut |= end == End::Cut;
            facts.sitemap = Some(Sitemap { entries, end });
        }
        facts
    }
}

impl PageSink for XmlReader {
    fn push(&mut self, bytes: &[u8]) -> bool {
        let Some(mut gunzip) = self.gunzip.take() else { return !self.damaged && self.plain(bytes) };
        match gunzip.push(bytes, |plain| self.plain(plain)) {
            Ok(wanted) => {
                self.gunzip = Some(gunzip);
                wanted
            }
            Err(_) => {
                self.damaged = true;
                false
            }
        }
    }

    fn finish(mut self: Box<Self>) -> Page {
        if let Some(gunzip) = self.gunzip.take() {
            let whole = gunzip.finish(|plain| self.plain(plain));
            self.damaged |= !whole && !self.stream.cut && !self.reading.is_full();
        }
        let mut wanted = true;
        let decoded = self.stream.finish(|text| wanted = wanted && self.reading.read(text));
        Page::of(self.reading.facts(decoded.cut, self.damaged), decoded)
    }
}

/// Who collects: the root decides.
enum Collecting {
    /// The root has not come.
    Nobody(Box<(Url, ParseRules)>),
    Sitemap(Box<sitemap::Collector>),
    Feed(Box<feed::Collector>),
    /// It is some other document.
    Other,
}

impl Collecting {
    fn for_root(&self, root: &str) -> Self {
        let Self::Nobody(known) = self else { return Self::Other };
        let (url, rules) = &**known;
        if sitemap::Collector::reads(root) {
            Self::Sitemap(Box::new(sitemap::Collector::new(rules.sitemaps.max_urls)))
        } else if feed::Collector::reads(root) {
            let limits = FeedLimits { max_links: rules.extract.max_links, assets: rules.extract.assets };
            Self::Feed(Box::new(feed::Collector::new(url.clone(), limits)))
        } else {
            Self::Other
        }
    }

    /// Who takes what comes, if anybody does.
    fn taker(&mut self) -> Option<&mut dyn Collect> {
        match self {
            Self::Sitemap(collector) => Some(&mut **collector),
            Self::Feed(collector) => Some(&mut **collector),
            Self::Nobody(_) | Self::Other => None,
        }
    }

    /// Puts what a feed says among the facts, and gives what a sitemap says.
    fn into_facts(self, facts: &mut PageFacts, ended: bool, malformed: bool) -> Option<(Vec<sitemap::Entry>, End)> {
        match self {
            Self::Sitemap(collector) => {
                let (entries, whole) = collector.finish();
                let end = match (malformed, whole && ended) {
                    (true, _) => End::Malformed,
                    (false, true) => End::Done,
                    (false, false) => End::Cut,
                };
                Some((entries, end))
            }
            Self::Feed(collector) => {
                let Feed { title, links, cut } = collector.finish();
                (facts.title, facts.links, facts.links_cut) = (title, links, cut);
                None
            }
            Self::Nobody(_) | Self::Other => Some((Vec::new(), End::Malformed)),
        }
    }
}

impl Collect for Collecting {
    fn open(&mut self, name: &str, attribute: &dyn Fn(&str) -> Option<String>) {
        if matches!(self, Self::Nobody(_)) {
            *self = self.for_root(name);
        }
        if let Some(taker) = self.taker() {
            taker.open(name, attribute);
        }
    }

    fn text(&mut self, text: &str) {
        if let Some(taker) = self.taker() {
            taker.text(text);
        }
    }

    fn unknown(&mut self, reference: &str) {
        if let Some(taker) = self.taker() {
            taker.unknown(reference);
        }
    }

    fn close(&mut self, name: &str) {
        if let Some(taker) = self.taker() {
            taker.close(name);
        }
    }

    fn is_full(&self) -> bool {
        match self {
            Self::Sitemap(collector) => collector.is_full(),
            Self::Feed(collector) => collector.is_full(),
            Self::Nobody(_) => false,
            Self::Other => true,
        }
    }
}
