//! Near-duplicates: what a page's text is near to, on disk and among what is not committed yet (ADR 36).

use super::{Captured, Deduper, Result};
use crate::config::{DedupSection, NearMode};
use crate::crawl::lease::Lease;
use crate::domain::fingerprint::{CrawlId, HostKey, UrlKey};
use crate::domain::near::{LOOKED_AT, Near, Sketch, find, same_title};
use crate::domain::note::Note;
use crate::domain::reason::Rejection;
use crate::domain::url::PageUrl;
use crate::storage::keys::{HostAt, KeyRange, NearKey, SeenKey};
use crate::storage::ledger::{LinkChange, RejectedUrl};
use crate::storage::read;
use crate::storage::tables;
use crate::storage::values::{DoneKind, PageRecord};

/// A page that leads a group, or will when it is committed.
#[derive(Clone, Debug)]
pub(super) struct Leader {
    /// Its domain.
    domain: HostKey,
    sketch: Sketch,
    url: String,
    title: Option<String>,
    /// Its answer is in the archive.
    stored: bool,
}

impl Leader {
    fn of(domain: HostKey, sketch: Sketch, record: &PageRecord) -> Self {
        let stored = matches!(record.how, DoneKind::Stored | DoneKind::Duplicate | DoneKind::NotModified);
        Self { domain, sketch, url: record.url.clone(), title: record.title.clone(), stored }
    }
}

impl Deduper {
    /// Says in the record of a page what it is among near-duplicates; with the rules of `[dedup]`, that it is not stored or its links are
    /// not followed. A leader is marked.
    pub(super) fn compare(&mut self, captured: &mut Captured, lease: &Lease) -> Result<()> {
        let DedupSection { near, near_store, near_follow, .. } = self.node.crawl.rules.settings.dedup;
        let Some(record) = captured.record.as_mut().filter(|_| near == NearMode::Mark) else { return Ok(()) };
        let leader = match record.remarks.near.take() {
            Some(Near::Like { url, distance }) => {
                // It is as it was: so is what it is near to.
                let leader = if near_store && near_follow { None } else { self.leader_at(&url)? };
                record.remarks.near = Some(Near::Like { url, distance });
                leader
            }
            Some(Near::Leader) => {
                record.remarks.near = Some(Near::Leader);
                None
            }
            None => self.nearest(record, lease)?,
        };
        if !matches!(record.remarks.near, Some(Near::Like { .. })) {
            return Ok(());
        }
        record.remarks.notes.push(Note::NearDuplicate);
        record.remarks.notes.sort_unstable();
        record.remarks.notes.dedup();
        let alike = leader.filter(|leader| same_title(record.title.as_deref(), leader.title.as_deref()));
        captured.unfollowed = !near_follow && alike.is_some();
        captured.unstored = !near_store && alike.is_some_and(|leader| leader.stored) && record.how == DoneKind::Stored;
        Ok(())
    }

    /// Looks for the leader that a page is nearest to, and says in its record what it is. Gives that leader.
    fn nearest(&mut self, record: &mut PageRecord, lease: &Lease) -> Result<Option<Leader>> {
        let Some(sketch) = record.print.as_ref().and_then(Sketch::of) else { return Ok(None) };
        let key = NearKey::of(&self.node.prints, lease.url.host(), 0, sketch.sim);
        let own = lease.core().url_key;
        let on_disk = self.near_on_disk(key, sketch, own)?;
        let others = self.pending_near.iter().filter(|(url, leader)| **url != own && leader.domain == key.domain);
        let pending = others.filter_map(|(_, leader)| Some((sketch.distance(leader.sketch)?, leader.clone())));
        let nearest =
            on_disk.into_iter().chain(pending).min_by_key(|(distance, leader)| (*distance, leader.sketch.sim));
        let Some((distance, leader)) = nearest else {
            record.remarks.near = Some(Near::Leader);
            self.pending_near.insert(own, Leader::of(key.domain, sketch, record));
            return Ok(None);
        };
        self.node.telemetry.metrics.near_duplicate();
        record.remarks.near = Some(Near::Like { url: leader.url.clone(), distance });
        Ok(Some(leader))
    }

    /// The leader on disk that a text is nearest to; not the page itself.
    fn near_on_disk(&self, key: NearKey, sketch: Sketch, own: UrlKey) -> Result<Option<(u8, Leader)>> {
        let storage = &*self.node.storage;
        let found = find(sketch.sim, |table, _| {
            let range = KeyRange::near_block(key.in_table(table));
            let rows = read::scan::<tables::Near>(storage, &range, LOOKED_AT + 1)?;
            Ok(rows.into_iter().map(|(key, _)| key.rotated).collect())
        })?;
        self.node.telemetry.metrics.near_cut(found.cut.into());
        for sim in found.close {
            let place = NearKey { rotated: sim, ..key };
            let Some(row) = read::get::<tables::Near>(storage, &place)?.and_then(|row| row.0) else { continue };
            let other = Sketch { sim, features: row.features, letters: row.letters };
            let Some(distance) = sketch.distance(other).filter(|_| row.url != own) else { continue };
            let at = HostAt { partition: key.partition, host: row.host };
            if let Some(leader) = self.leader(at.crawl(self.node.crawl.id).url(row.url), key.domain)? {
                return Ok(Some((distance, leader)));
            }
        }
        Ok(None)
    }

    /// A leader as its newest capture has it.
    fn leader(&self, url: SeenKey, domain: HostKey) -> Result<Option<Leader>> {
        let page = read::latest_page(&*self.node.storage, url)?.map(|(_, page)| page);
        let page = page.filter(|page| page.remarks.near == Some(Near::Leader));
        let sketch = page.as_ref().and_then(|page| Sketch::of(page.print.as_ref()?));
        Ok(page.zip(sketch).map(|(page, sketch)| Leader::of(domain, sketch, &page)))
    }

    fn leader_at(&self, url: &str) -> Result<Option<Leader>> {
        let Ok(url) = PageUrl::from_canonical(url) else { return Ok(None) };
        let domain = NearKey::of(&self.node.prints, url.host(), 0, 0).domain;
        let crawl: CrawlId = self.node.crawl.id;
        self.leader(SeenKey::of(&self.node.prints, crawl, &url), domain)
    }
}

/// Links of a page that are not followed, since it says what another page says. Where it leads at once, and sitemaps, are.
pub(super) fn not_followed(mut links: LinkChange, lease: &Lease) -> LinkChange {
    let stays = |new: &crate::storage::ledger::NewUrl| new.hops > lease.entry.hops || new.found.is_sitemap();
    let (new, turned): (Vec<_>, Vec<_>) = links.new.into_iter().partition(stays);
    links.new = new;
    let reason = Rejection::NearDuplicate;
    links.turned.extend(turned.into_iter().map(|new| RejectedUrl { new, reason }));
    links
}
