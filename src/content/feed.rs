//! Links of feeds: RSS 0.9x and 2.0 (rssboard.org), RSS 1.0 in RDF, Atom (RFC 4287).
//!
//! What stands inside a summary or content is not looked into: the entry's own page has it.

use url::Url;

use crate::content::html::{Link, LinkKind};
use crate::content::mime;
use crate::content::sitemap::begins_as_url;
use crate::content::xml::{self, Collect, Fields};

/// The longest text of an element that is looked at.
pub(super) const MAX_TEXT: usize = 8 * 1024;
/// Characters of a title that are kept with its links.
const MAX_TITLE: usize = 200;

/// Relations of an Atom link that lead to a page or to another feed; no relation is `alternate` (RFC 4287, 4.2.7.2; RFC 5005).
const FOLLOWED: &str =
    "alternate current first last next next-archive prev prev-archive previous related replies self via";

/// Collects the links.
#[derive(Debug)]
pub struct Collector {
    fields: Fields<Field>,
    limits: FeedLimits,
    page: Url,
    /// Values of `xml:base` in force, resolved, with the depth of their elements.
    bases: Vec<(usize, Url)>,
    found: Feed,
    /// Links of the item that is open begin here.
    item: Option<usize>,
    item_title: Option<String>,
}

/// What is taken from a feed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FeedLimits {
    /// Links at most.
    pub max_links: usize,
    /// Whether enclosures are links.
    pub assets: bool,
}

/// What a feed says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Feed {
    /// Its own title.
    pub title: Option<String>,
    /// Its links in order; those under an `xml:base` are absolute.
    pub links: Vec<Link>,
    /// There were more.
    pub cut: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Field {
    Link,
    Guid,
    Title,
}

impl Collector {
    /// For the feed at `page`.
    pub fn new(page: Url, limits: FeedLimits) -> Self {
        let (fields, found) = (Fields::new(MAX_TEXT), Feed::default());
        Self { fields, limits, page, bases: Vec::new(), found, item: None, item_title: None }
    }

    /// True for the name of a root element that it reads: `<rss>`, Atom's `<feed>`, `<rdf:RDF>`.
    pub fn reads(root: &str) -> bool {
        matches!(root, "rss" | "feed" | "rdf")
    }

    /// What was collected.
    pub fn finish(mut self) -> Feed {
        self.end_item();
        self.found
    }

    /// An entry on its own may be a root too.
    fn is_in_feed(&self) -> bool {
        matches!(self.fields.path.parent(), Some("channel" | "feed" | "item" | "entry"))
    }

    fn put(&mut self, href: &str, kind: LinkKind) {
        let href = href.trim();
        if href.is_empty() || href.len() > MAX_TEXT {
            return;
        }
        if self.found.links.len() >= self.limits.max_links {
            self.found.cut = true;
            return;
        }
        let href = match self.bases.last() {
            Some((_, base)) => base.join(href).map_or_else(|_| href.to_owned(), String::from),
            None => href.to_owned(),
        };
        self.found.links.push(Link { href, kind, nofollow: false, text: String::new() });
    }

    fn atom_link(&mut self, href: &str, attribute: &dyn Fn(&str) -> Option<String>) {
        let rel = attribute("rel").unwrap_or_else(|| "alternate".into());
        // IANA's relations may be written as URLs (RFC 4287, 4.2.7.2).
        let rel = rel.trim().trim_start_matches("http://www.iana.org/assignments/relation/").to_ascii_lowercase();
        if FOLLOWED.split(' ').any(|followed| followed == rel) {
            self.put(href, LinkKind::Feed);
        } else if rel == "enclosure" && self.limits.assets {
            self.put(href, LinkKind::Asset);
        }
    }

    fn end_field(&mut self, field: Option<xml::Field<Field>>) {
        let Some((field, Some(text))) = field else { return };
        match field {
            Field::Link => self.put(&text, LinkKind::Feed),
            Field::Guid => self.guid(&text),
            Field::Title if self.item.is_some() => _ = self.item_title.get_or_insert(text),
            Field::Title => _ = self.found.title.get_or_insert(text),
        }
    }

    /// Most often the same as the item's link.
    fn guid(&mut self, text: &str) {
        let known = self.found.links.iter().skip(self.item.unwrap_or(0)).any(|link| link.href == text);
        if begins_as_url(text) && !known {
            self.put(text, LinkKind::Feed);
        }
    }

    /// Its links have its title as their text.
    fn end_item(&mut self) {
        let Some(from) = self.item.take() else { return };
        let Some(title) = self.item_title.take() else { return };
        let title = link_text(&title);
        for link in self.found.links.iter_mut().skip(from).filter(|link| link.kind == LinkKind::Feed) {
            link.text.clone_from(&title);
        }
    }

    fn enter_base(&mut self, base: &str) {
        let outer = self.bases.last().map_or(&self.page, |(_, base)| base);
        // More than this many lie inside each other in no feed.
        if let (Ok(base), true) = (outer.join(base.trim()), self.bases.len() < 32) {
            self.bases.push((self.fields.path.depth(), base));
        }
    }
}

/// The title of an item as the text of its links.
pub(super) fn link_text(title: &str) -> String {
    title.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(MAX_TITLE).collect()
}

impl Collect for Collector {
    fn open(&mut self, name: &str, attribute: &dyn Fn(&str) -> Option<String>) {
        if let Some(base) = attribute("xml:base").filter(|base| base.len() <= MAX_TEXT) {
            self.enter_base(&base);
        }
        let mut field = None;
        match name {
            "item" | "entry" => {
                self.end_item();
                self.item = Some(self.found.links.len());
            }
            "link" if self.is_in_feed() => match attribute("href") {
                Some(href) => self.atom_link(&href, attribute),
                None => field = Some(Field::Link),
            },
            "guid" if self.fields.path.parent() == Some("item") => {
                let permanent = attribute("isPermaLink").is_none_or(|v| !v.trim().eq_ignore_ascii_case("false"));
                field = permanent.then_some(Field::Guid);
            }
            // What an Atom entry consists of may stand elsewhere (RFC 4287, 4.1.3.2).
            "content" if self.fields.path.parent() == Some("entry") => {
                let page = attribute("type")
                    .is_none_or(|of| matches!(&*mime::essence(&of), "text/html" | "application/xhtml+xml"));
                if let (Some(src), true) = (attribute("src"), page || self.limits.assets) {
                    self.put(&src, if page { LinkKind::Feed } else { LinkKind::Asset });
                }
            }
            "enclosure" if self.limits.assets && self.fields.path.parent() == Some("item") => {
                if let Some(url) = attribute("url") {
                    self.put(&url, LinkKind::Asset);
                }
            }
            "title" if self.is_in_feed() => field = Some(Field::Title),
            _ => {}
        }
        self.fields.open(name, field);
    }

    fn text(&mut self, text: &str) {
        self.fields.text(text);
    }

    fn unknown(&mut self, reference: &str) {
        let address = matches!(self.fields.field, Some(Field::Link | Field::Guid));
        self.fields.unknown(reference, address);
    }

    fn close(&mut self, name: &str) {
        let Some(field) = self.fields.close(name) else { return };
        self.end_field(field);
        let depth = self.fields.path.depth();
        self.bases.retain(|(at, _)| *at < depth);
        if matches!(name, "item" | "entry") {
            self.end_item();
        }
    }

    fn is_full(&self) -> bool {
        self.found.cut
    }
}
