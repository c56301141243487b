//! One stored page before the eyes of the crawl: as it was asked for, with its answer, read by the parser.

use std::sync::Arc;

use serde_json::{Value, json};

use super::compare;
use crate::cli::args::ReplayWhat;
use crate::crawl::admit::{judge, way};
use crate::crawl::lease::{Lease, LeaseEnd, LeaseTable};
use crate::crawl::node::Node;
use crate::crawl::parser::{Reread, reread};
use crate::crawl::stored::{Capture, stored};
use crate::document::Document;
use crate::domain::found_as::FoundAs;
use crate::domain::outcome::{Verdict, judge as verdict_of};
use crate::domain::reason::Rejection;
use crate::domain::url::PageUrl;
use crate::net::Fetched;
use crate::net::answer::outcome_of;
use crate::net::head::parse_head;
use crate::storage::keys::SeenKey;
use crate::storage::tables::Pages;
use crate::storage::values::QueueEntry;
use crate::storage::{StorageError, read};
use crate::warc::date::iso;
use crate::warc::pages::{MOST, Revisit, StoredPage};

/// Room for a piece of a body.
const PIECE: usize = 32 * 1024;

/// Why a stored answer is not replayed.
#[derive(Debug)]
pub(super) enum Skipped {
    /// The crawl has no such page: a robots.txt, or what it did not commit.
    NoPage,
    /// A revisit whose content is not at hand.
    Elsewhere,
    /// There is nothing to compare it with.
    Alone,
    /// It cannot be read: what, where, why.
    Damaged(String),
}

impl From<StorageError> for Skipped {
    fn from(error: StorageError) -> Self {
        Self::Damaged(format!("the database: {error}"))
    }
}

/// The crawl's eyes.
pub(super) struct Eyes<'n> {
    node: &'n Node,
    /// The pages are those of the node's own crawl.
    own: bool,
    what: ReplayWhat,
    compared: bool,
    buffer: Vec<u8>,
    end: LeaseEnd,
}

impl<'n> Eyes<'n> {
    pub(super) fn new(node: &'n Node, own: bool, what: ReplayWhat, compared: bool) -> Self {
        Self { node, own, what, compared, buffer: vec![0; PIECE], end: Arc::new(|_| {}) }
    }

    /// What is made of a page of the file with this name, as a line; where it is compared none when that is as it was.
    pub(super) fn line(&mut self, mut page: StoredPage, file: &str) -> Result<Option<String>, Skipped> {
        let (url, capture) = self.known(&page)?;
        let fetched = self.fetched(&mut page, capture.as_ref())?;
        let lease = self.lease(url, &page, capture.as_ref())?;
        let (node, what, compared) = (self.node, self.what, self.compared);
        let verdict = match page.revisit {
            Some(Revisit::NotModified) => Verdict::NotModified,
            // Whatever failed is not tried again.
            _ => verdict_of(&outcome_of(Ok(&fetched), false, page.date), u8::MAX, page.date, &node.crawl.live().retry),
        };
        let told = reread(node, &mut self.buffer, (&lease, &fetched), &verdict, |reread| match compared {
            true => compare::differences(node, what, (&page, capture.as_ref()), &lease, reread),
            false => Ok(Some(seen(node, what, &lease, reread))),
        })?;
        Ok(told.map(|told| {
            let mut line = json!({ "url": lease.url.as_str(), "captured": iso(page.date), "status": fetched.status, "file": file, "offset": page.offset });
            if let (Some(line), Value::Object(told)) = (line.as_object_mut(), told) {
                line.extend(told);
            }
            line.to_string()
        }))
    }

    /// The page's URL, and its capture in the database of its crawl.
    fn known(&self, page: &StoredPage) -> Result<(PageUrl, Option<Capture>), Skipped> {
        let parsed = self.node.crawl.rules.canon.parse(&page.url);
        if !self.own {
            let url = parsed.map_err(|_| Skipped::NoPage)?;
            let is_robots = url.tail() == "/robots.txt" && page.metadata.is_none();
            return if is_robots { Err(Skipped::NoPage) } else { Ok((url, None)) };
        }
        // As the crawl had it, whatever would be taken away now.
        for url in PageUrl::from_canonical(&page.url).ok().into_iter().chain(parsed.ok()) {
            let key = SeenKey::of(&self.node.prints, self.node.crawl.id, &url).page(page.date);
            if let Some(record) = read::get::<Pages>(&*self.node.storage, &key)? {
                return Ok((url, Some((key, record))));
            }
        }
        Err(Skipped::NoPage)
    }

    /// The answer, as it came.
    fn fetched(&self, page: &mut StoredPage, capture: Option<&Capture>) -> Result<Fetched, Skipped> {
        let head = parse_head(&page.picked.head);
        let head = head
            .ok_or_else(|| Skipped::Damaged(format!("{} of {}: its head is none of HTTP", page.url, iso(page.date))))?;
        let body = match page.revisit {
            None => std::mem::take(&mut page.picked.body),
            Some(Revisit::NotModified) => Vec::new(),
            Some(Revisit::Identical) => {
                let capture = capture.ok_or(Skipped::Elsewhere)?;
                let dir = self.node.crawl.rules.settings.warc_dir();
                stored(&*self.node.storage, &dir, capture, MOST).map_err(|_| Skipped::Elsewhere)?.body
            }
        };
        Ok(Fetched { cut: page.cut, ..Fetched::saved(head.status, head.headers, Document::from_bytes(body)) })
    }

    /// The page as it was queued: by what the database says of it, else by its metadata record.
    fn lease(&self, url: PageUrl, page: &StoredPage, capture: Option<&Capture>) -> Result<Lease, Skipped> {
        let way = Way::of(page.metadata.as_deref().unwrap_or_default());
        let record = capture.map(|(_, record)| record);
        let as_sitemap = record.and_then(|record| record.sitemap.as_ref());
        let named = if way.by_sitemap { FoundAs::SitemapEntry } else { FoundAs::Link };
        let found = as_sitemap.map_or(named, |sitemap| sitemap.found);
        let depth = record.map_or(way.depth, |record| record.depth);
        let origin = record.and_then(|record| record.origin.clone());
        let entry = QueueEntry {
            hops: record.map_or(way.hops, |record| record.hops),
            // What a seed redirects to is as good as the seed.
            seed: if record.is_some() {
                depth == 0 && (found == FoundAs::Link || origin.is_none())
            } else {
                way.via.is_none()
            },
            via: as_sitemap.and_then(|sitemap| sitemap.via.clone()).or(way.via),
            origin,
            found,
            ..QueueEntry::new(&url, depth, page.date)
        };
        let key = SeenKey::of(&self.node.prints, self.node.crawl.id, &url);
        let lease = LeaseTable::default().lease(key.host_crawl().queue(0, 0), key.url, url, entry, &self.end);
        lease.ok_or(Skipped::NoPage) // an empty table has room
    }
}

/// How a page was found, by its metadata record.
#[derive(Debug, Default, PartialEq, Eq)]
struct Way {
    via: Option<String>,
    depth: u16,
    hops: u8,
    by_sitemap: bool,
}

impl Way {
    fn of(fields: &str) -> Self {
        let field = |name: &str| fields.lines().find_map(|line| Some(line.strip_prefix(name)?.trim().to_owned()));
        let hops = field("hopsFromSeed:").unwrap_or_default();
        let count = |letters: &str| hops.chars().filter(|letter| letters.contains(*letter)).count();
        let by_sitemap = count("M") > 0;
        let depth = u16::try_from(count("LE") + usize::from(by_sitemap)).unwrap_or(u16::MAX);
        Self { via: field("via:"), depth, hops: u8::try_from(count("R")).unwrap_or(u8::MAX), by_sitemap }
    }
}

/// What is made of a page.
fn seen(node: &Node, what: ReplayWhat, lease: &Lease, reread: Reread<'_>) -> Value {
    match what {
        ReplayWhat::Links => {
            let link = |link: &crate::warc::metadata::Outlink<'_>| json!({ "url": link.url, "hop": link.hop, "context": link.context, "text": link.text });
            json!({ "links": reread.outlinks.iter().map(link).collect::<Vec<_>>() })
        }
        ReplayWhat::Scope => {
            let mut verdict = verdict(own_verdict(node, lease));
            let turned = reread.links.turned.iter().map(|turned| (&turned.new.url, Err(turned.reason)));
            let links = reread.links.new.iter().map(|new| (&new.url, Ok(()))).chain(turned).map(|(url, found)| {
                let mut link = self::verdict(found);
                link["url"] = url.as_str().into();
                link
            });
            verdict["links"] = links.collect();
            verdict
        }
        ReplayWhat::Extract => json!({ "extracted": reread.remarks.extracted.as_deref().map(parsed) }),
        ReplayWhat::Card => {
            let page = reread.looked.page.as_ref();
            json!({ "card": page.and_then(|page| page.facts.card(lease.url.as_str(), node.crawl.rules.settings.index.keywords)) })
        }
    }
}

/// What the rules say of the page itself.
pub(super) fn own_verdict(node: &Node, lease: &Lease) -> Result<(), Rejection> {
    let entry = &lease.entry;
    let scope = node.crawl.scope.read().unwrap_or_else(std::sync::PoisonError::into_inner);
    let way = way(entry.found, entry.via.as_deref(), entry.origin.as_deref());
    judge(&node.crawl.live(), &scope, &lease.url, entry.depth, way)
}

fn verdict(found: Result<(), Rejection>) -> Value {
    match found {
        Ok(()) => json!({ "verdict": "in" }),
        Err(reason) => json!({ "verdict": "out", "reason": reason.as_str() }),
    }
}

/// Values as they are kept.
pub(super) fn parsed(json: &str) -> Value {
    serde_json::from_str(json).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_way_to_a_page_is_read_from_its_metadata_record() {
        for (fields, via, depth, hops, by_sitemap) in [
            ("", None, 0, 0, false),
            ("via: http://a.test/\r\nhopsFromSeed: LLR\r\n", Some("http://a.test/"), 2, 1, false),
            ("hopsFromSeed: LE", None, 2, 0, false),
            ("hopsFromSeed: LM", None, 2, 0, true),
            ("via: x\r\nhopsFromSeed: MMRR", Some("x"), 1, 2, true),
            ("outlink: http://a.test/ L a/@href\r\n", None, 0, 0, false),
        ] {
            let expected = Way { via: via.map(str::to_owned), depth, hops, by_sitemap };
            assert_eq!(Way::of(fields), expected, "{fields:?}");
        }
    }
}
