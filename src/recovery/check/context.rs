//! What every pass of a check works with: the folder's keys, the archive's files, URLs to look for; and the two larger
//! repairs, queueing a URL again and undoing a capture.

use super::error::Result;
use super::files::Files;
use super::findings::Findings;
use super::lost::Lost;
use super::stream::look_one;
use crate::domain::fingerprint::{CrawlId, Fingerprinter};
use crate::domain::found_as::FoundAs;
use crate::domain::partition::Partition;
use crate::domain::rank::{self, Ranker};
use crate::domain::url::{Canonicaliser, PageUrl};
use crate::storage::Batch;
use crate::storage::keys::{ContentKey, HostAt, HostCrawl, PageKey, SeenKey};
use crate::storage::tables::{Content, HostCounts, HostState, Pages, Queue, Seen, Waiting};
use crate::storage::values::{self, PageRecord, Place, QueueEntry, UrlState};

/// The rules a folder is checked by; a repair needs all of them, a check the first only.
#[derive(Clone, Debug)]
pub struct CheckRules {
    /// True when rejected URLs are kept in full (`scope.record_rejected`).
    pub record_rejected: bool,
    /// Places for URLs that are queued again.
    pub ranker: Ranker,
    /// Canonical form of links found in the archive.
    pub canon: Canonicaliser,
}

/// Shared by the passes.
pub struct Context<'a> {
    pub rules: &'a CheckRules,
    pub prints: Fingerprinter,
    pub crawl: CrawlId,
    pub files: Option<Files>,
    pub lost: Lost,
    /// Every record of the archive is read.
    pub full: bool,
}

impl Context<'_> {
    pub fn host_at(&self, host: &str) -> HostAt {
        HostAt { partition: Partition::of_host(host), host: self.prints.host(host) }
    }

    pub fn key_of(&self, url: &PageUrl) -> SeenKey {
        self.host_at(url.host()).crawl(self.crawl).url(self.prints.url(url))
    }

    /// The URLs that a text of the archive may name: the text itself, and the one that is asked for under this spelling.
    pub fn named_by(&self, text: &str) -> impl Iterator<Item = PageUrl> {
        let itself = PageUrl::from_canonical(text).ok();
        let meant = self.rules.canon.parse(text).ok().filter(|meant| itself.as_ref() != Some(meant));
        itself.into_iter().chain(meant)
    }

    /// The URL of a text, when it is that of this key.
    pub fn url_at(&self, text: &str, key: SeenKey) -> Option<PageUrl> {
        let url = PageUrl::from_canonical(text).ok()?;
        (self.key_of(&url) == key).then_some(url)
    }

    /// Queues a URL so that a crawl would serve it at once: entry, mark, the host's name when it has none, its head, and its
    /// place in a row. What else is to be counted is counted in the next round.
    pub fn queue_again(&self, findings: &mut Findings<'_>, key: SeenKey, url: &PageUrl, entry: Entry) -> Result<Batch> {
        findings.flush()?; // the host's counts are read as they will be
        let place = findings.place(&self.rules.ranker, entry.depth)?;
        let mut batch = Batch::new();
        let at = key.host_crawl().host_at();
        self.count_in(findings, &mut batch, key.host_crawl(), place)?;
        let known = look_one::<HostState>(findings.storage, &at)?.unwrap_or_default();
        if known.name.is_empty() {
            batch.put::<HostState>(&at, &values::HostState { name: url.host().to_owned(), ..known });
        }
        let (rank, order, entry) = (place.rank, place.order, entry.of(url));
        batch.put::<Queue>(&key.host_crawl().queue(rank, order), &entry);
        batch.put::<Seen>(&key, &UrlState::Waiting { rank, order, reach: entry.reach(), due: None });
        Ok(batch)
    }

    /// Counts one more entry of a host at this place.
    fn count_in(
        &self,
        findings: &mut Findings<'_>,
        batch: &mut Batch,
        host: HostCrawl,
        place: rank::Place,
    ) -> Result<()> {
        let mut counts = look_one::<HostCounts>(findings.storage, &host)?.unwrap_or_default();
        let i = usize::from(place.rank);
        if let (Some(n), Some(head)) = (counts.queued.get_mut(i), counts.heads.get_mut(i)) {
            *head = (*head).min(place.order); // too low does no harm
            *n += 1;
        }
        if counts.place == Place::None {
            let (rank, order) = (counts.best_rank().unwrap_or(place.rank), findings.host_order(&self.rules.ranker)?);
            counts.place = Place::Waiting { rank, order };
            batch.put::<Waiting>(&host.host_at().waiting(rank, order), &());
        }
        batch.put::<HostCounts>(&host, &counts);
        Ok(())
    }

    /// Undoes a capture whose archive record is gone, and queues its URL again, when it was done by that capture.
    pub fn undo(&self, findings: &mut Findings<'_>, key: PageKey, page: &PageRecord) -> Result<Batch> {
        let seen = key.seen();
        let own = match look_one::<Seen>(findings.storage, &seen)? {
            Some(UrlState::Done { captured, reach, .. }) => (captured == key.captured.0).then_some(reach.limit),
            Some(UrlState::Error { .. }) | None => Some(None),
            Some(UrlState::Waiting { .. } | UrlState::Rejected { .. }) => None,
        };
        let mut batch = match self.url_at(&page.url, seen).zip(own) {
            Some((url, limit)) => self.queue_again(findings, seen, &url, Entry { limit, ..Entry::of_page(page) })?,
            None => Batch::new(),
        };
        batch.delete::<Pages>(&key);
        if let Some(digest) = page.content {
            let first = look_one::<Content>(findings.storage, &ContentKey::from(digest))?;
            if first.is_some_and(|first| first.first == key) {
                batch.delete::<Content>(&ContentKey::from(digest));
            }
        }
        Ok(batch)
    }
}

/// What a queue entry says beside its URL.
#[derive(Clone, Debug, Default)]
pub struct Entry {
    pub depth: u16,
    pub limit: Option<u16>,
    pub hops: u8,
    pub discovered: crate::base::time::UnixMillis,
    pub via: Option<String>,
    pub origin: Option<String>,
    pub found: FoundAs,
    pub spelling: Option<String>,
}

impl Entry {
    fn of_page(page: &PageRecord) -> Self {
        let (found, via) = page.sitemap.clone().map_or((FoundAs::Link, None), |sitemap| (sitemap.found, sitemap.via));
        let origin = page.origin.clone();
        let spelling = page.spelling.clone();
        let (depth, hops, discovered) = (page.depth, page.hops, page.fetched);
        Self { depth, limit: None, hops, discovered, via, origin, found, spelling }
    }

    fn of(self, url: &PageUrl) -> QueueEntry {
        QueueEntry {
            limit: self.limit,
            hops: self.hops,
            found: self.found,
            origin: self.origin,
            via: self.via,
            spelling: self.spelling,
            ..QueueEntry::new(url, self.depth, self.discovered)
        }
    }
}
