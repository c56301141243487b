//! A sitemap or feed from its bytes to its links.

use url::Url;

use super::gunzip::Gunzip;
use super::pump::Pump;
use crate::domain::charset::{CharsetSource, Decoder, HEAD, detect_in_domain};
use crate::domain::feed::{self, Feed, FeedLimits};
use crate::domain::html::{Page, PageFacts};
use crate::domain::sitemap::{self, End, Lines, Sitemap};
use crate::domain::xml::Collect;
use crate::parse::{Body, PageSink, ParseRules};

/// What a body is expected to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::parse) enum Expected {
    /// A sitemap, or a feed that serves as one; it may be plain text.
    Sitemap,
    /// XML: its root says what.
    Xml,
}

/// Takes the bytes in pieces. The first 64 KiB are held back until the encoding is known.
pub(in crate::parse) struct XmlReader {
    expected: Expected,
    url: Url,
    content_type: Option<String>,
    rules: ParseRules,
    gunzip: Option<Gunzip>,
    plain: Plain,
    /// The compression broke off, or was none.
    damaged: bool,
}

/// What comes when compression is taken off.
struct Plain {
    head: Vec<u8>,
    decoder: Option<Decoder>,
    source: CharsetSource,
    form: Form,
    bytes: u64,
    max_bytes: u64,
    cut: bool,
}

/// How the text is read.
enum Form {
    /// Nothing but white space has come.
    Unknown,
    Xml(Pump, Collecting),
    Lines(Lines),
}

impl XmlReader {
    pub(in crate::parse) fn new(body: &Body<'_>, rules: &ParseRules, expected: Expected, gzip: bool) -> Self {
        Self {
            expected,
            url: body.url.clone(),
            content_type: body.content_type.map(str::to_owned),
            rules: rules.clone(),
            gunzip: gzip.then(Gunzip::new),
            plain: Plain {
                head: Vec::new(),
                decoder: None,
                source: CharsetSource::Guess,
                form: Form::Unknown,
                bytes: 0,
                max_bytes: rules.sitemaps.max_bytes,
                cut: false,
            },
            damaged: false,
        }
    }

    fn push_plain(&mut self, bytes: &[u8]) -> bool {
        let bytes = self.plain.take(bytes);
        if self.plain.decoder.is_none() {
            self.plain.head.extend_from_slice(bytes);
            return if self.plain.head.len() >= HEAD { self.begin(false) } else { !self.plain.cut };
        }
        self.decode(bytes, false) && !self.plain.cut
    }

    fn begin(&mut self, last: bool) -> bool {
        let head = std::mem::take(&mut self.plain.head);
        let top_level = self.url.domain().and_then(|d| d.rsplit('.').next());
        let (encoding, source) = detect_in_domain(self.content_type.as_deref(), &head, top_level);
        self.plain.source = source;
        self.plain.decoder = Some(Decoder::new(encoding));
        self.decode(&head, last) && !self.plain.cut
    }

    fn decode(&mut self, bytes: &[u8], last: bool) -> bool {
        let Some(mut decoder) = self.plain.decoder.take() else { return false };
        let mut wanted = true;
        decoder.decode(bytes, last, |text| wanted = wanted && self.read(text));
        self.plain.decoder = Some(decoder);
        wanted
    }

    fn read(&mut self, text: &str) -> bool {
        if matches!(self.plain.form, Form::Unknown) {
            let text = text.trim_start_matches(|c: char| c.is_whitespace() || c == '\u{feff}');
            let Some(first) = text.chars().next() else { return true };
            self.plain.form = self.form(first);
            return self.read(text);
        }
        match &mut self.plain.form {
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
            _ => Form::Xml(Pump::default(), Collecting::new(&self.url, &self.rules)),
        }
    }

    fn page(self) -> Page {
        let Self { plain, expected, damaged, .. } = self;
        let mut facts = PageFacts::default();
        let cut = plain.cut;
        let sitemap = match plain.form {
            Form::Unknown => Some((Vec::new(), End::Malformed)),
            Form::Lines(lines) => {
                let (entries, whole) = lines.finish(!cut);
                Some((entries, if whole { End::Done } else { End::Cut }))
            }
            Form::Xml(mut pump, mut collecting) => {
                let ended = pump.finish(&mut collecting);
                let malformed = pump.is_malformed();
                collecting.into_facts(&mut facts, ended && !cut, malformed)
            }
        };
        if let Some((entries, end)) =
            sitemap.filter(|(entries, _)| expected == Expected::Sitemap || !entries.is_empty())
        {
            let end = if damaged { End::Malformed } else { end };
            facts.links_cut |= end == End::Cut;
            facts.sitemap = Some(Sitemap { entries, end });
        }
        let charset = plain.decoder.as_ref().map_or(encoding_rs::UTF_8, Decoder::encoding);
        Page { facts, charset, charset_source: plain.source, bytes: plain.bytes, cut, ..Page::default() }
    }
}

impl Plain {
    /// As many bytes as may be read.
    fn take<'b>(&mut self, bytes: &'b [u8]) -> &'b [u8] {
        let room = usize::try_from(self.max_bytes.saturating_sub(self.bytes)).unwrap_or(usize::MAX);
        let fits = bytes.get(..room).unwrap_or(bytes);
        self.cut |= fits.len() < bytes.len();
        self.bytes += fits.len() as u64;
        fits
    }
}

impl PageSink for XmlReader {
    fn push(&mut self, bytes: &[u8]) -> bool {
        let Some(mut gunzip) = self.gunzip.take() else { return !self.damaged && self.push_plain(bytes) };
        match gunzip.push(bytes, |plain| self.push_plain(plain)) {
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
            let whole = gunzip.finish(|plain| self.push_plain(plain));
            self.damaged |= !whole && !self.plain.cut && !self.is_full();
        }
        if self.plain.decoder.is_some() {
            self.decode(&[], true);
        } else {
            self.begin(true);
        }
        self.page()
    }
}

impl XmlReader {
    fn is_full(&self) -> bool {
        match &self.plain.form {
            Form::Unknown => false,
            Form::Xml(_, collecting) => collecting.is_full(),
            Form::Lines(lines) => lines.is_full(),
        }
    }
}

/// Who collects: the root decides.
enum Collecting {
    /// The root has not come.
    Nobody(Box<(Url, ParseRules)>),
    Sitemap(sitemap::Collector),
    Feed(Box<feed::Collector>),
    /// It is some other document.
    Other,
}

impl Collecting {
    fn new(url: &Url, rules: &ParseRules) -> Self {
        Self::Nobody(Box::new((url.clone(), rules.clone())))
    }

    fn for_root(&self, root: &str) -> Self {
        match self {
            Self::Nobody(_) if sitemap::Collector::reads(root) => self.of_sitemap(),
            Self::Nobody(known) if feed::Collector::reads(root) => {
                let extract = &known.1.extract;
                let limits = FeedLimits { max_links: extract.max_links, assets: extract.assets };
                Self::Feed(Box::new(feed::Collector::new(known.0.clone(), limits)))
            }
            _ => Self::Other,
        }
    }

    fn of_sitemap(&self) -> Self {
        match self {
            Self::Nobody(known) => Self::Sitemap(sitemap::Collector::new(known.1.sitemaps.max_urls)),
            _ => Self::Other,
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
        match self {
            Self::Sitemap(collector) => collector.open(name, attribute),
            Self::Feed(collector) => collector.open(name, attribute),
            Self::Nobody(_) | Self::Other => {}
        }
    }

    fn text(&mut self, text: &str) {
        match self {
            Self::Sitemap(collector) => collector.text(text),
            Self::Feed(collector) => collector.text(text),
            Self::Nobody(_) | Self::Other => {}
        }
    }

    fn unknown(&mut self, reference: &str) {
        match self {
            Self::Sitemap(collector) => collector.unknown(reference),
            Self::Feed(collector) => collector.unknown(reference),
            Self::Nobody(_) | Self::Other => {}
        }
    }

    fn close(&mut self, name: &str) {
        match self {
            Self::Sitemap(collector) => collector.close(name),
            Self::Feed(collector) => collector.close(name),
            Self::Nobody(_) | Self::Other => {}
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
