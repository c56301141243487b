//! URLs that were fetched are queued once more (ADR 11): because the operator says so, because a sitemap is to be read again, or
//! because a sitemap says that a page has changed. They leave the state done until they are fetched.

use super::{Done, KnownUrl, Ledger, NewUrl, PageChange, Result};
use crate::base::time::UnixMillis;
use crate::domain::found_as::FoundAs;
use crate::domain::reach::Reach;
use crate::domain::reason::Failure;
use crate::domain::revisit::RequeueReason;
use crate::domain::url::PageUrl;
use crate::storage::keys::{DueKey, PageKey, SeenKey};
use crate::storage::tables::{Failed, Nearer, Pages, Seen, Sitemaps};
use crate::storage::txn::Txn;
use crate::storage::values::{AsSitemap, DoneKind, LastTime, PageRecord, QueueEntry, UrlState};

/// A page that is done, with its newest capture.
pub(super) struct DonePage {
    pub key: PageKey,
    pub how: DoneKind,
    pub reach: Reach,
    pub page: PageRecord,
}

impl Ledger {
    /// Queues URLs once more that are done by these captures.
    pub(super) fn fetch_again(&mut self, txn: &mut Txn<'_>, pages: &[PageKey]) -> Result<Done> {
        let mut done = Done::default();
        for key in pages {
            done.again.extend(self.once_more(txn, key, RequeueReason::Recrawl, None)?);
        }
        Ok(done)
    }

    /// Sitemaps whose time has come. The row of a host that is blocked or dropped stays: when the order was taken back, the next
    /// start finds it.
    pub(super) fn read_again(&mut self, txn: &mut Txn<'_>, rows: &[DueKey]) -> Result<Done> {
        let mut done = Done::default();
        for row in rows {
            let seen = row.seen();
            if self.hosts.orders(txn, seen.host_crawl().host_at())?.refusal().is_some() {
                continue;
            }
            let queued = match txn.get::<Seen>(&seen)? {
                Some(UrlState::Error { .. }) => self.given_up_once_more(txn, seen, row.time)?,
                _ => self.once_more(txn, &seen.page(row.time), RequeueReason::Sitemap, None)?,
            };
            done.again.extend(queued);
            self.no_sitemap(txn, seen, row.time)?;
        }
        Ok(done)
    }

    /// Known URLs that a sitemap names, and that are to be fetched once more.
    pub(super) fn named_again(&mut self, txn: &mut Txn<'_>, known: &KnownUrl) -> Result<Option<RequeueReason>> {
        let page = self.seen_key(&known.new.url).page(known.captured);
        self.once_more(txn, &page, known.why, Some(&known.new))
    }

    /// Queues a URL once more if this is its latest capture. `named`: what names it now.
    pub(super) fn once_more(
        &mut self,
        txn: &mut Txn<'_>,
        key: &PageKey,
        why: RequeueReason,
        named: Option<&NewUrl>,
    ) -> Result<Option<RequeueReason>> {
        let (how, reach) = match txn.get::<Seen>(&key.seen())? {
            Some(UrlState::Done { captured, how, reach }) if captured == key.captured.0 => (how, reach),
            _ => return Ok(None),
        };
        let Some(page) = txn.get::<Pages>(key)? else { return Ok(None) };
        let queued = self.done_once_more(txn, DonePage { key: *key, how, reach, page }, why, named)?;
        Ok(queued.then_some(why))
    }

    /// Queues a page that is done once more; false when its host refuses, or it leads nowhere by the way that is named.
    pub(super) fn done_once_more(
        &mut self,
        txn: &mut Txn<'_>,
        DonePage { key, how, reach, page }: DonePage,
        why: RequeueReason,
        named: Option<&NewUrl>,
    ) -> Result<bool> {
        let reach = txn.get::<Nearer>(&key.seen())?.map_or(reach, |known| known.judged);
        let next = page.next;
        let Some(entry) = entry_of(page, reach, why, named) else { return Ok(false) };
        self.leave_done(txn, &key, (how, next), entry)
    }

    /// Queues a page that is done in this way and has its next visit then, by the better way that waits for it if there is one; false when its
    /// host refuses.
    pub(super) fn leave_done(
        &mut self,
        txn: &mut Txn<'_>,
        key: &PageKey,
        (how, next): (DoneKind, Option<UnixMillis>),
        entry: QueueEntry,
    ) -> Result<bool> {
        let seen = key.seen();
        let at = seen.host_crawl().host_at();
        if self.hosts.orders(txn, at)?.refusal().is_some() {
            return Ok(false);
        }
        self.no_sitemap(txn, seen, key.captured.0)?;
        self.no_visit(txn, seen, next)?;
        let entry = self.by_way_that_waits(txn, seen, entry)?;
        self.counters.done = self.counters.done.saturating_sub(1);
        self.counters.redirects = self.counters.redirects.saturating_sub(u64::from(how == DoneKind::Redirect));
        self.hosts.unfinished(txn, at, how)?;
        self.counters.queued += 1;
        self.put_in_queue(txn, seen, &entry)?;
        Ok(true)
    }

    /// A sitemap that was given up at `when` is tried again: its server may have had a bad day.
    fn given_up_once_more(
        &mut self,
        txn: &mut Txn<'_>,
        seen: SeenKey,
        when: UnixMillis,
    ) -> Result<Option<RequeueReason>> {
        let own = txn.get::<Failed>(&seen)?.is_some_and(|kept| kept.when == when);
        let queued = own && self.try_once_more(txn, seen, RequeueReason::GivenUp)?;
        Ok(queued.then_some(RequeueReason::Sitemap))
    }

    /// Puts a sitemap into the row of those that are to be read again.
    pub(super) fn note_sitemap(
        &mut self,
        txn: &mut Txn<'_>,
        seen: SeenKey,
        page: &PageChange,
        state: &UrlState,
        (found, now): (FoundAs, UnixMillis),
    ) {
        let is_sitemap = page.record().is_some_and(|record| record.sitemap.is_some());
        let expected = matches!(found, FoundAs::SitemapFile { .. });
        let visited = match *state {
            UrlState::Done { captured, .. } if is_sitemap => captured,
            UrlState::Error { reason } if expected && reason != Failure::Poison => now,
            _ => return,
        };
        txn.put::<Sitemaps>(&seen.due(visited), &());
        self.hosts.note_sitemap(seen.host_crawl().host_at(), visited);
    }

    /// A URL is no longer as it was left at `visited`: were it a sitemap, its row goes.
    pub(super) fn no_sitemap(&mut self, txn: &mut Txn<'_>, seen: SeenKey, visited: UnixMillis) -> Result<()> {
        let row = seen.due(visited);
        if txn.get::<Sitemaps>(&row)?.is_some() {
            txn.delete::<Sitemaps>(&row);
        }
        Ok(())
    }
}

/// What it takes to fetch a captured page again. A capture says as what it was found only when it is a sitemap.
pub(super) fn entry_of(
    page: PageRecord,
    reach: Reach,
    why: RequeueReason,
    named: Option<&NewUrl>,
) -> Option<QueueEntry> {
    let url = PageUrl::from_canonical(&page.url).ok()?;
    let by = named.and_then(|new| new.via.as_deref().map(str::to_owned));
    let (found, via) = match (page.sitemap, named) {
        (_, Some(new)) if new.found.is_sitemap() => (new.found, by),
        (Some(AsSitemap { found, via, .. }), _) => (found, via),
        (None, _) => (FoundAs::Link, by),
    };
    let led = named.filter(|_| why.is_led()).map(|new| new.hops);
    if led.is_some_and(|hops| hops <= page.hops) {
        return None; // further on its own way only: others are led here too, as to a page for logging in
    }
    let way = named.filter(|_| why == RequeueReason::Depth);
    if way.is_some() && page.out_links == 0 {
        return None; // it leads nowhere, by whatever way
    }
    let hops = led.or(way.map(|new| new.hops)).unwrap_or(page.hops);
    let reach = way.map_or(Reach { depth: page.depth, limit: reach.limit }, NewUrl::reach);
    let origin = way.map_or(page.origin, |new| new.origin.as_deref().map(str::to_owned));
    let seed = page.depth == 0 && page.hops == 0 && !found.is_sitemap() || way.is_some_and(|new| new.seed);
    let spelling = match named.filter(|_| led.is_some()) {
        Some(new) => new.url.spelling().map(str::to_owned),
        None => page.spelling,
    };
    Some(QueueEntry {
        limit: reach.limit,
        hops,
        seed,
        found,
        origin,
        via,
        priority: named.and_then(|new| new.priority),
        again: Some(LastTime::new(page.fetched, why)),
        spelling,
        ..QueueEntry::new(&url, reach.depth, page.fetched)
    })
}
