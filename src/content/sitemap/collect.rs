//! The entries of `<urlset>` and `<sitemapindex>`.

use super::{Entry, MAX_TEXT, begins_as_url};
use crate::content::xml::{self, Collect, Fields};
use crate::domain::w3c_date::w3c_date;

/// Collects the entries. `<loc>` counts directly below `<url>`, `<sitemap>` or the root only: images and videos have theirs
/// further down. Other languages of a page (`<xhtml:link rel="alternate">`) are entries of their own.
///
/// What is meant is plain in files that keep less of the protocol: an address directly in `<url>` or `<sitemap>`, without `<loc>`;
/// several `<loc>` in one entry; elements that are not closed before the next; a file that ends behind a `<loc>`.
#[derive(Debug)]
pub struct Collector {
    fields: Fields<Field>,
    entries: Vec<Entry>,
    max_urls: usize,
    full: bool,
    /// The root is an index.
    index: bool,
    open: Option<Open>,
}

/// An entry that is not at its end.
#[derive(Debug, Default)]
struct Open {
    file: bool,
    loc: Option<String>,
    lastmod: Option<String>,
    priority: Option<String>,
    /// Further addresses.
    others: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Field {
    Loc,
    LastMod,
    Priority,
    /// The entry's own text.
    Bare,
}

/// Other languages of one page, or further addresses of one entry, that are taken.
const MAX_OTHERS: usize = 200;

fn is_entry(name: &str) -> bool {
    matches!(name, "url" | "sitemap")
}

/// What stands in an entry and has text only.
fn is_part(name: &str) -> bool {
    matches!(name, "loc" | "lastmod" | "priority" | "changefreq")
}

impl Open {
    fn add(&mut self, address: String) {
        match self.loc {
            None => self.loc = Some(address),
            Some(_) if self.others.len() < MAX_OTHERS => self.others.push(address),
            Some(_) => {}
        }
    }
}

impl Collector {
    /// Takes at most `max_urls` entries.
    pub fn new(max_urls: usize) -> Self {
        Self { fields: Fields::new(MAX_TEXT), entries: Vec::new(), max_urls, full: false, index: false, open: None }
    }

    /// True for the name of a root element that it reads.
    pub fn reads(root: &str) -> bool {
        matches!(root, "urlset" | "sitemapindex")
    }

    /// The entries, and whether the document was closed and all of them were taken.
    pub fn finish(mut self) -> (Vec<Entry>, bool) {
        let closed = self.fields.path.depth() == 0;
        self.settle(); // the file may end behind the address
        (self.entries, closed && !self.full)
    }

    /// An entry that is open and has its address is at its end: there is a next one, or its end tag, or that of the root.
    fn settle(&mut self) {
        let Some(open) = self.open.take() else { return };
        if let Some(loc) = open.loc {
            let lastmod = open.lastmod.as_deref().and_then(w3c_date);
            let priority = open.priority.as_deref().and_then(hundredths);
            self.put(Entry { loc, file: open.file, lastmod, priority });
        }
        open.others.into_iter().for_each(|loc| self.put(Entry { file: open.file, ..Entry::page(loc) }));
    }

    fn put(&mut self, entry: Entry) {
        if self.entries.len() < self.max_urls { self.entries.push(entry) } else { self.full = true }
    }

    fn end_field(&mut self, field: Option<xml::Field<Field>>) {
        let Some((field, text)) = field else { return };
        let outside = self.open.is_none();
        let index = self.index;
        let open = self.open.get_or_insert_with(|| Open { file: index, ..Open::default() });
        match field {
            Field::Loc => text.into_iter().for_each(|text| open.add(text)),
            Field::Bare => text.into_iter().filter(|text| begins_as_url(text)).for_each(|text| open.add(text)),
            Field::LastMod => open.lastmod = text,
            Field::Priority => open.priority = text,
        }
        if outside {
            self.settle(); // directly below the root
        }
    }

    /// Ends what was not closed before this element: no entry stands in another, and nothing in a `<loc>`.
    fn end_before(&mut self, name: &str) {
        while let Some(parent) = self.fields.path.parent() {
            let ends = is_part(parent) && (is_part(name) || is_entry(name)) || is_entry(parent) && is_entry(name);
            if !ends {
                return;
            }
            let parent = parent.to_owned();
            self.close(&parent);
        }
    }

    fn field_of(&self, name: &str) -> Option<Field> {
        let path = &self.fields.path;
        match name {
            _ if path.depth() != 1 && !path.parent().is_some_and(is_entry) => None,
            "loc" => Some(Field::Loc),
            "lastmod" => Some(Field::LastMod),
            "priority" => Some(Field::Priority),
            _ => None,
        }
    }

    /// Another language of a page.
    fn alternate(&mut self, attribute: &dyn Fn(&str) -> Option<String>) {
        let alternate = attribute("rel").is_some_and(|rel| rel.eq_ignore_ascii_case("alternate"));
        let href = attribute("href").filter(|href| alternate && href.len() <= MAX_TEXT);
        if let (Some(open), Some(href)) = (&mut self.open, href)
            && open.others.len() < MAX_OTHERS
        {
            open.others.push(href.trim().to_owned());
        }
    }
}

impl Collect for Collector {
    fn open(&mut self, name: &str, attribute: &dyn Fn(&str) -> Option<String>) {
        self.end_before(name);
        if self.fields.field == Some(Field::Bare) {
            let bare = self.fields.take();
            self.end_field(bare);
        }
        let depth = self.fields.path.depth();
        let mut field = None;
        match name {
            _ if depth == 0 => self.index = name == "sitemapindex",
            _ if is_entry(name) && depth == 1 => {
                self.settle();
                self.open = Some(Open { file: name == "sitemap", ..Open::default() });
                field = Some(Field::Bare);
            }
            "link" if self.fields.path.parent() == Some("url") => self.alternate(attribute),
            _ => field = self.field_of(name),
        }
        self.fields.open(name, field);
    }

    fn text(&mut self, text: &str) {
        self.fields.text(text);
    }

    fn unknown(&mut self, reference: &str) {
        let address = matches!(self.fields.field, Some(Field::Loc | Field::Bare));
        self.fields.unknown(reference, address);
    }

    fn close(&mut self, name: &str) {
        let Some(field) = self.fields.close(name) else { return };
        self.end_field(field);
        if is_entry(name) || self.fields.path.depth() == 0 {
            self.settle();
        } else if self.fields.path.parent().is_some_and(is_entry) {
            self.fields.read(Some(Field::Bare));
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
