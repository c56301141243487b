//! Near-duplicates: what a page's text is near to, on disk and among what is not committed yet (ADR 36).

use super::{Captured, Deduper, Result};
use crate::config::{DedupSection, NearMode};
use crate::crawl::lease::Lease;
use crate::domain::fingerprint::HostKey;
use crate::domain::host::registrable_domain;
use crate::domain::near::{LOOKED_AT, Near, Sketch, find, same_title};
use crate::domain::note::Note;
use crate::domain::reason::Rejection;
use crate::domain::url::PageUrl;
use crate::storage::keys::{KeyRange, NearKey, SeenKey};
use crate::storage::ledger::{LinkChange, RejectedUrl};
use crate::storage::tables;
use crate::storage::values::{DoneKind, PageRecord};
use crate::storage::{StorageError, read};

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
        let own = SeenKey::of(&self.node.prints, self.node.crawl.id, &lease.url);
        let domain = self.domain_of(lease.url.host());
        let mut near = self.near_on_disk(lease.url.host(), own, &sketch)?;
        let others = self.pending_near.iter().filter(|(url, leader)| **url != own.url && leader.domain == domain);
        near.extend(others.filter_map(|(_, leader)| Some((sketch.distance(&leader.sketch)?, leader.clone()))));
        let nearest = near.into_iter().min_by(|(a, one), (b, other)| a.cmp(b).then_with(|| one.url.cmp(&other.url)));
        let Some((distance, leader)) = nearest else {
            record.remarks.near = Some(Near::Leader);
            self.pending_near.insert(own.url, Leader::of(domain, sketch, record));
            return Ok(None);
        };
        self.node.telemetry.metrics.near_duplicate();
        record.remarks.near = Some(Near::Like { url: leader.url.clone(), distance });
        Ok(Some(leader))
    }

    /// Leaders on disk that a text is near to; not the page itself.
    fn near_on_disk(&self, host: &str, own: SeenKey, sketch: &Sketch) -> Result<Vec<(u8, Leader)>> {
        let rows = NearKey::rows(&self.node.prints, host, own, sketch);
        let found = find(sketch, |table, _| {
            let Some(row) = rows.get(usize::from(table)) else { return Ok(Vec::new()) };
            let same = read::scan::<tables::Near>(&*self.node.storage, &KeyRange::near_band(*row), LOOKED_AT + 1)?;
            Ok::<_, StorageError>(same.into_iter().map(|(row, ())| row.page(own.crawl)).collect())
        })?;
        self.node.telemetry.metrics.near_cut(found.cut.into());
        let mut near = Vec::new();
        for page in found.pages.into_iter().filter(|page| *page != own) {
            let leader = self.leader(page, self.domain_of(host))?;
            near.extend(leader.and_then(|leader| Some((sketch.distance(&leader.sketch)?, leader))));
        }
        Ok(near)
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
        self.leader(SeenKey::of(&self.node.prints, self.node.crawl.id, &url), self.domain_of(url.host()))
    }

    fn domain_of(&self, host: &str) -> HostKey {
        self.node.prints.host(registrable_domain(host))
    }
}

/// Links of a page that are not followed, since it says what another page says. Where it leads at once, and sitemaps, are.
pub(super) fn not_followed(mut links: LinkChange, lease: &Lease) -> LinkChange {
    let stays = |new: &crate::storage::ledger::NewUrl| new.hops > lease.entry.hops || new.found.is_sitemap();
    let (new, turned): (Vec<_>, Vec<_>) = links.new.into_iter().partition(stays);
    links.new = new;
    let reason = Rejection::NearDuplicate;
    links.turned.extend(turned.into_iter().map(|new| RejectedUrl { new, reason }));
    links.foreign.iter_mut().filter(|f| f.refused.is_none() && !stays(&f.new)).for_each(|f| f.refused = Some(reason));
    links
}
