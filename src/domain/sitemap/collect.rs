//! The entries of `<urlset>` and `<sitemapindex>`.

use super::date::w3c_date;
use super::{Entry, MAX_TEXT};
use crate::domain::xml::{Collect, Path, Text};

/// Collects the entries. `<loc>` counts directly below `<url>`, `<sitemap>` or the root only: images and videos have theirs
/// further down. Other languages of a page (`<xhtml:link rel="alternate">`) are entries of their own.
#[derive(Debug)]
pub struct Collector {
    path: Path,
    entries: Vec<Entry>,
    max_urls: usize,
    full: bool,
    /// The root is an index.
    index: bool,
    open: Option<Open>,
    field: Option<Field>,
    text: Text,
}

/// An entry that is not at its end.
#[derive(Debug, Default)]
struct Open {
    file: bool,
    loc: Option<String>,
    lastmod: Option<String>,
    priority: Option<String>,
    others: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Field {
    Loc,
    LastMod,
    Priority,
}

/// Other languages of one page that are taken.
const MAX_OTHERS: usize = 200;

impl Collector {
    /// Takes at most `max_urls` entries.
    #[must_use]
    pub fn new(max_urls: usize) -> Self {
        Self {
            path: Path::default(),
            entries: Vec::new(),
            max_urls,
            full: false,
            index: false,
            open: None,
            field: None,
            text: Text::default(),
        }
    }

    /// True for the name of a root element that it reads.
    #[must_use]
    pub fn reads(root: &str) -> bool {
        matches!(root, "urlset" | "sitemapindex")
    }

    /// The entries, and whether the document was closed and all of them were taken.
    #[must_use]
    pub fn finish(self) -> (Vec<Entry>, bool) {
        let whole = self.path.depth() == 0 && !self.full;
        (self.entries, whole)
    }

    /// An entry that is open and has its address is at its end: there is a next one, or its end tag, or that of the root.
    fn settle(&mut self) {
        let Some(open) = self.open.take() else { return };
        let others = open.others;
        if let Some(loc) = open.loc {
            let lastmod = open.lastmod.as_deref().and_then(w3c_date);
            let priority = open.priority.as_deref().and_then(hundredths);
            self.put(Entry { loc, file: open.file, lastmod, priority });
        }
        others.into_iter().for_each(|loc| self.put(Entry::page(loc)));
    }

    fn put(&mut self, entry: Entry) {
        if self.entries.len() < self.max_urls { self.entries.push(entry) } else { self.full = true }
    }

    fn end_field(&mut self) {
        let Some(field) = self.field.take() else { return };
        let text = self.text.take();
        let bare = self.open.is_none();
        let index = self.index;
        let open = self.open.get_or_insert_with(|| Open { file: index, ..Open::default() });
        match field {
            Field::Loc => open.loc = open.loc.take().or(text),
            Field::LastMod => open.lastmod = text,
            Field::Priority => open.priority = text,
        }
        if bare {
            self.settle(); // directly below the root
        }
    }

    fn field_of(&self, name: &str) -> Option<Field> {
        let inside = self.path.depth() == 1 || matches!(self.path.parent(), Some("url" | "sitemap"));
        match name {
            _ if !inside => None,
            "loc" => Some(Field::Loc),
            "lastmod" => Some(Field::LastMod),
            "priority" => Some(Field::Priority),
            _ => None,
        }
    }
}

impl Collect for Collector {
    fn open(&mut self, name: &str, attribute: &dyn Fn(&str) -> Option<String>) {
        match name {
            _ if self.path.depth() == 0 => self.index = name == "sitemapindex",
            "url" | "sitemap" if self.path.depth() == 1 || matches!(self.path.parent(), Some("url" | "sitemap")) => {
                self.settle();
                self.open = Some(Open { file: name == "sitemap", ..Open::default() });
            }
            "link" if self.path.parent() == Some("url") => {
                let alternate = attribute("rel").is_some_and(|rel| rel.eq_ignore_ascii_case("alternate"));
                let href = attribute("href").filter(|href| alternate && href.len() <= MAX_TEXT);
                if let (Some(open), Some(href)) = (&mut self.open, href)
                    && open.others.len() < MAX_OTHERS
                {
                    open.others.push(href.trim().to_owned());
                }
            }
            _ => {
                self.field = self.field_of(name);
                self.text = Text::default();
            }
        }
        self.path.open(name);
    }

    fn text(&mut self, text: &str) {
        if self.field.is_some() {
            self.text.push(text, MAX_TEXT);
        }
    }

    fn unknown(&mut self, reference: &str) {
        match self.field {
            Some(Field::Loc) => self.text.push_unknown(reference, MAX_TEXT),
            _ => self.text(reference),
        }
    }

    fn close(&mut self, name: &str) {
        if !self.path.close(name) {
            return;
        }
        self.end_field();
        if matches!(name, "url" | "sitemap") || self.path.depth() == 0 {
            self.settle();
        }
    }

    fn is_full(&self) -> bool {
        self.full
    }
}

/// `0.8` as 80; what lies outside 0 to 1 counts as the nearer end.
fn hundredths(text: &str) -> Option<u8> {
    let number = text.parse::<f32>().ok().filter(|n| n.is_finite())?;
    Some((number.clamp(0.0, 1.0) * 100.0).round() as u8)
}
