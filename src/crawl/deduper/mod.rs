//! Deduper.
//!
//! Owns: the Bloom filter, the cache of popular URLs, the marks of links that are new but whose page is not committed yet
//! (*pending*), the same for contents. Receives: [`Parsed`], [`Announced`], [`Inject`], [`Readmit`], [`Settled`], [`SaveFilter`]. Sends: commits to the
//! Store, in order, with its epoch. Never: calls a URL new that is on disk or pending; writes. After a restart: the epoch
//! is raised, so that nothing hangs on marks it has forgotten; the filter is not believed until it has caught up (I4).

mod filter;
mod hop;
mod messages;
mod near;
mod outbox;
mod popular;
mod requests;
mod seen;
mod taking;

use std::sync::Arc;
use std::time::Duration;

use actix::ActorContext;

use super::Result;
use super::admit::admit;
use super::lease::{Lease, Stage};
use super::node::{Node, Stop};
use super::store::Commit;
use super::supervise::Kind;
use super::worker::{Behavior, Ctx, Handles};
use crate::base::fault::Fault;
use crate::base::invariant::{Invariant, uphold};
use crate::base::sync::lock;
use crate::base::time::UnixMillis;
use crate::domain::fingerprint::{ContentDigest, KeyMap, UrlKey};
use crate::domain::reason::Failure;
use crate::domain::revisit::RequeueReason;
use crate::domain::textprint::Shown;
use crate::domain::traps::Finder;
use crate::storage::keys::{ContentKey, SeenKey};
use crate::storage::ledger::{Change, Ending, KnownUrl, LinkChange, NewUrl, PageChange};
use crate::storage::values::{ContentValue, DoneKind, PageRecord};
use crate::storage::{StorageError, read};
use crate::telemetry::metrics::Registry;
use crate::warc::exchange::Tools;
use crate::warc::page::PageRecords;

use filter::SeenFilter;
pub use messages::{Announced, Inject, PageParts, Parsed, SaveFilter, Settled};
use outbox::Outbox;
use popular::Popular;
pub use requests::Readmit;
pub use taking::TakeIn;

/// Links of a page in one change at most: half of what the Store puts into one batch.
const CHUNK: usize = 4_096;

/// The actor.
pub struct Deduper {
    node: Arc<Node>,
    filter: SeenFilter,
    popular: Popular,
    /// URLs of other members' hosts that were handed over, or are about to be: as the marks, they go with the epoch.
    abroad: Popular,
    /// New URLs of pages not committed yet.
    pending: KeyMap<UrlKey, seen::Pending>,
    pending_contents: KeyMap<ContentDigest, ContentValue>,
    /// Pages not committed yet that lead a group of near-duplicates.
    pending_near: KeyMap<UrlKey, near::Leader>,
    epoch: u64,
    /// Of the rules that the popular URLs were found under.
    generation: u32,
    /// Links that are followed from any seed, as of the last look.
    max_depth: Option<u16>,
    tools: Tools,
    /// What waits for room before the Store.
    outbox: Outbox,
}

/// What the commit of a page archives.
#[derive(Default)]
struct Captured {
    record: Option<PageRecord>,
    records: Option<PageRecords>,
    first_with: Option<(ContentDigest, ContentValue)>,
    shown: Option<Shown>,
    /// It is near to another page, and by the rules not stored; its links not followed.
    unstored: bool,
    unfollowed: bool,
}

impl Deduper {
    /// A fresh one: raises the epoch, for it has forgotten what was pending.
    pub fn new(node: Arc<Node>) -> Self {
        let epoch = node.crawl.epoch.raise();
        node.faults.pass("deduper.new");
        Self {
            filter: SeenFilter::open(&node),
            popular: Popular::default(),
            abroad: Popular::default(),
            pending: KeyMap::default(),
            pending_contents: KeyMap::default(),
            pending_near: KeyMap::default(),
            tools: node.crawl.rules.archive_tools(),
            outbox: Outbox::default(),
            epoch,
            generation: node.crawl.live.generation(),
            max_depth: node.crawl.live().settings.max_depth(),
            node,
        }
    }

    /// What was waiting may be turned away by other rules, and found again.
    fn look_at_rules(&mut self) {
        let now = self.node.crawl.live.generation();
        if now != self.generation {
            self.generation = now;
            self.popular = Popular::default();
            self.abroad = Popular::default();
        }
    }

    /// Links that were judged by rules that hold no more are judged again. So whatever the Store commits after what was in its
    /// mailbox when a change was committed is judged by the new rules (`crawl::readmit` counts on it).
    fn judged_anew(&self, links: LinkChange) -> LinkChange {
        if links.generation == 0 || links.generation == self.generation {
            return links;
        }
        let LinkChange { new, turned, foreign, .. } = links;
        let (kept, again): (Vec<_>, Vec<_>) = turned.into_iter().partition(|t| t.reason.is_of_sitemaps());
        let mut links = admit(&self.node, new.into_iter().chain(again.into_iter().map(|t| t.new)));
        links.turned.extend(kept);
        links.foreign.extend(foreign);
        links
    }

    fn publish(&self) {
        let metrics = &self.node.telemetry.metrics;
        metrics.entries(Registry::PendingUrls, self.pending.len());
        metrics.entries(Registry::PendingContents, self.pending_contents.len());
        metrics.entries(Registry::PopularUrls, self.popular.len());
    }

    /// Marks of a lost commit go.
    fn look_at_epoch(&mut self) {
        let now = self.node.crawl.epoch.now();
        if now != self.epoch {
            self.pending.clear();
            self.pending_contents.clear();
            self.pending_near.clear();
            self.abroad = Popular::default();
            self.popular = Popular::default(); // the database may have been opened again, and lack what was read then
            self.epoch = now;
        }
    }

    /// The commit of a page, after those of links that go before it.
    fn page(&mut self, parsed: Parsed) -> Result<Vec<Commit>> {
        let Parsed { lease, permit, mut ending, parts, links, reach, status, took, begun } = parsed;
        let captured = match parts {
            Some(parts) => self.captured(*parts, &lease, &mut ending)?,
            None => Some(Captured::default()),
        };
        let Some(Captured { record: mut capture, records, first_with, shown, unfollowed, .. }) = captured else {
            return self.page(Parsed { begun, took, ..Parsed::bare(lease, permit, ending) });
        };
        let archived = capture.is_some() || !matches!(ending, Ending::Done(_));
        uphold(Invariant::I3, archived, || format!("done and not archived: {}", lease.url));
        let hop = self.hop_of(&links, &lease);
        let mut finder = self.finder_of(&lease, shown, hop.is_some());
        let (mut links, itself) = led_back(links, &lease);
        if unfollowed {
            links = near::not_followed(links, &lease);
        }
        let by_http = self.by_http(&lease, &mut ending)?;
        let seeds = by_http.map(|(found, said)| {
            links = found;
            said
        });
        // The last step: what it marks as pending hangs on the commits made here.
        let (mut commits, mut links) = self.unseen_of_page(links, &mut finder)?;
        links.seeds.extend(seeds);
        let own = lease.core().url_key;
        links.linked.iter_mut().for_each(|host| host.pages.retain(|page| *page != own));
        if let (Some(new), Some(record)) = (itself, &capture) {
            let same = new.url.spelling() == lease.url.spelling();
            let why = if same { RequeueReason::Cookies } else { RequeueReason::Spelling };
            links.again.push(KnownUrl { new, captured: record.fetched, why });
        }
        if let (Some(record), Some(hop)) = (&mut capture, hop) {
            self.note_hop(record, &lease, hop, &links)?;
        }
        if let Some(sitemap) = capture.as_mut().and_then(|record| record.sitemap.as_mut()) {
            sitemap.put_off |= links.put_off;
        }
        lock(&self.node.crawl.shapes).count(&finder);
        self.node.crawl.tell_held_back();
        let pace = self.node.slots.pace_of(&lease.core().queue_key.host).map(|p| p.encode());
        let status = capture.as_ref().map(|record| record.status).or(status);
        let taken = lease.entry.reach();
        let change =
            PageChange { url: lease.url.clone(), ending, taken, reach, status, capture, first_with, links, pace };
        let (lease, records) = (Some(lease), records.into_iter().collect());
        commits.push(Commit { lease, permit, records, took, ..self.commit(Change::Page(Box::new(change))) });
        Ok(commits)
    }

    /// What is archived of a page: all, or a revisit of the first capture with its content. Where that cannot be built, nothing,
    /// and the page's ending says when it is tried again.
    fn captured(&mut self, parts: PageParts, lease: &Lease, ending: &mut Ending) -> Result<Option<Captured>> {
        let PageParts { mut record, mut records, content, shown } = parts;
        self.node.faults.pass_url("deduper.content", &lease.url);
        let unchanged = record.how == DoneKind::NotModified;
        let known = match unchanged {
            true => Some(self.unchanged_since(&record, lease)?),
            false => self.known_content(content.filter(|_| record.bytes > 0))?,
        };
        let is_new = known.is_none();
        // The same text in another coding (gzip and plain) is stored whole: a revisit means an identical payload.
        let first = known.filter(|first| unchanged || first.payload == record.payload_digest);
        let how = if unchanged { DoneKind::NotModified } else { DoneKind::Duplicate };
        if let (Some(first), Some(built)) = (&first, &mut records) {
            let checked = self.node.faults.check("deduper.revisit").map_err(|e| e.to_string());
            let make = |()| self.tools.make_revisit(built, first, how).map_err(|e| e.to_string());
            if let Err(e) = checked.and_then(make) {
                self.node.spill_failed(&e);
                log::error!("page not archived as a revisit, it is tried again later: url={} error={e}", lease.url);
                let at = self.node.after_spill(&lease.core().url_key);
                *ending = Ending::Retry { at, reason: Failure::Spill };
                return Ok(None);
            }
            record.how = how;
            if *ending == Ending::Done(DoneKind::Stored) {
                *ending = Ending::Done(DoneKind::Duplicate);
            }
        }
        let mut captured = Captured { record: Some(record), records, shown, ..Captured::default() };
        // What is another page's byte by byte is that page's duplicate, and no near one.
        let own = first.is_none_or(|first| first.first.seen() == seen_key(lease));
        if own && matches!(ending, Ending::Done(how) if *how != DoneKind::Redirect) {
            self.compare(&mut captured, lease)?;
        }
        self.note_content(&mut captured, content.filter(|_| is_new), lease, ending);
        Ok(Some(captured))
    }

    /// The first page with a content is noted, unless it is left out of the archive as near to another.
    fn note_content(
        &mut self,
        captured: &mut Captured,
        content: Option<ContentDigest>,
        lease: &Lease,
        ending: &mut Ending,
    ) {
        let Some(record) = &mut captured.record else { return };
        if captured.unstored {
            (record.how, record.content, captured.records) = (DoneKind::Unstored, None, None);
            *ending = Ending::Done(DoneKind::Unstored);
        } else if let Some(digest) = content.filter(|_| record.bytes > 0) {
            let value = content_of(record, lease, record.fetched);
            self.pending_contents.insert(digest, value.clone());
            captured.first_with = Some((digest, value));
        }
    }

    /// Looks into the page for what its shape brought.
    fn finder_of(&self, lease: &Lease, shown: Option<Shown>, redirects: bool) -> Finder {
        let mut finder = Finder::new(lease.core().queue_key.host, &lease.url, lease.entry.via.as_deref());
        let first_visit = lease.entry.again.is_none(); // a page that is as it was at its last visit wastes nothing
        match shown.filter(|_| first_visit) {
            Some(shown) => lock(&self.node.crawl.shapes).read(&mut finder, &shown),
            None if first_visit && redirects => finder.is_redirect(),
            None => {}
        }
        finder
    }

    /// What a page's commit must do about its links. Of very many it does the last; those before are committed before it, a chunk at a
    /// time: after a kill between them the page is fetched again, and finds them known. Its credit is given by its own commit, to all of them.
    fn unseen_of_page(&mut self, links: LinkChange, finder: &mut Finder) -> Result<(Vec<Commit>, LinkChange)> {
        let mut chunks = links.in_chunks(CHUNK).into_iter().peekable();
        let (mut before, mut put_off, mut linked) = (Vec::new(), false, Vec::new());
        while let Some(chunk) = chunks.next() {
            self.node.faults.pass("deduper.chunk");
            let mut links = self.unseen(chunk, Some(finder))?;
            put_off |= links.put_off;
            linked.push(std::mem::take(&mut links.linked));
            if chunks.peek().is_none() {
                return Ok((before, LinkChange { put_off, linked: seen::each_once(linked), ..links }));
            }
            before.push(self.commit(Change::Links(Box::new(links))));
        }
        Ok((before, LinkChange::default()))
    }

    /// The first capture with a content, on disk or not committed yet.
    fn known_content(&self, content: Option<ContentDigest>) -> Result<Option<ContentValue>> {
        let Some(digest) = content else { return Ok(None) };
        let on_disk = read::content(&*self.node.storage, ContentKey::from(digest))?;
        Ok(on_disk.or_else(|| self.pending_contents.get(&digest).cloned()))
    }

    /// What a page that has not changed refers to: the first capture with its content, or its own last one.
    fn unchanged_since(&self, record: &PageRecord, lease: &Lease) -> Result<ContentValue> {
        let first = match record.content {
            Some(digest) => read::content(&*self.node.storage, ContentKey::from(digest))?,
            None => None,
        };
        let first = first.filter(|first| first.payload == record.payload_digest);
        let date = lease.entry.again.as_ref().map_or(record.fetched, |last| last.captured);
        Ok(first.unwrap_or_else(|| content_of(record, lease, date)))
    }

    /// A commit that hangs on what is pending.
    fn commit(&self, change: Change) -> Commit {
        Commit { epoch: Some(self.epoch), ..Commit::bare(change) }
    }

    fn failed(&mut self, error: &StorageError) {
        self.node.crawl.epoch.raise();
        self.look_at_epoch();
        if error.is_latched() {
            return; // the Store is opening the database again; nothing is handed out meanwhile
        }
        log::error!("seen test failed, URL requeued: error={error}");
        self.node.stop_with(Stop::Disk(error.to_string()));
    }
}

/// The content of a page, first captured then.
fn content_of(record: &PageRecord, lease: &Lease, date: UnixMillis) -> ContentValue {
    let first = seen_key(lease).page(date);
    ContentValue { first, url: record.asked().into_owned(), date, payload: record.payload_digest }
}

fn seen_key(lease: &Lease) -> SeenKey {
    lease.core().queue_key.host_crawl().url(lease.core().url_key)
}

/// Takes out the page itself, where its redirect leads back to it.
fn led_back(mut links: LinkChange, lease: &Lease) -> (LinkChange, Option<NewUrl>) {
    let own = |new: &NewUrl| new.hops > lease.entry.hops && new.url == lease.url;
    let at = links.new.iter().position(own);
    let itself = at.map(|at| links.new.swap_remove(at));
    (links, itself)
}

impl Behavior for Deduper {
    const KIND: Kind = Kind::Deduper;
    const STARTED: Option<&str> = Some("deduper.started");

    fn fresh(&self) -> Self {
        Self::new(self.node.clone())
    }

    /// A rebuild of the filter goes on by the clock.
    fn every(&self, idle: bool) -> Option<Duration> {
        let seldom = idle && !self.filter.is_behind();
        Some(Duration::from_millis(if seldom { 250 } else { 20 }))
    }

    fn tick(&mut self) {
        self.node.faults.pass("deduper.tick");
        self.publish();
        if let Err(e) = self.filter.catch_up(&self.node, self.pending.keys())
            && !e.is_latched()
        {
            log::error!("the seen filter could not be rebuilt and stays unused: {e}");
        }
    }
}

impl Handles<Parsed> for Deduper {
    fn handle(&mut self, parsed: Parsed, ctx: &mut Ctx<Self>) {
        let page = parsed.lease.core().clone();
        page.take(Stage::Deduper);
        self.look_at_epoch();
        if self.node.faults.pass("deduper.parsed") == Some(Fault::Stop) {
            return ctx.stop();
        }
        self.look_at_rules();
        let judged = parsed.links.generation;
        if matches!(parsed.ending, Ending::Rejected(_)) && judged != 0 && judged != self.generation {
            // Rules that hold no more turned it away before its request: it is judged again when its turn comes.
            return page.let_go(Stage::Deduper);
        }
        match self.page(Parsed { links: self.judged_anew(parsed.links), ..parsed }) {
            Ok(commits) => {
                self.node.faults.pass("deduper.commit");
                page.let_go(Stage::Deduper);
                commits.into_iter().for_each(|commit| self.send(commit, ctx));
            }
            Err(e) => self.failed(&e),
        }
    }
}

impl Handles<Settled> for Deduper {
    const POINT: Option<&str> = Some("deduper.settled");

    fn handle(&mut self, settled: Settled, _: &mut Ctx<Self>) {
        if settled.epoch != self.epoch {
            return;
        }
        for key in &settled.urls {
            self.pending.remove(key);
        }
        for digest in &settled.contents {
            self.pending_contents.remove(digest);
        }
        for url in &settled.leaders {
            self.pending_near.remove(url);
        }
    }
}

impl Handles<SaveFilter> for Deduper {
    fn handle(&mut self, message: SaveFilter, _: &mut Ctx<Self>) {
        if let Err(e) = self.filter.save(&self.node) {
            log::warn!("the seen filter was not saved and will be rebuilt at the next start: {e}");
        }
        let _ = message.0.send(());
    }
}

#[cfg(test)]
mod tests;
