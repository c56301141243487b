//! URLs given up: kept in full, and queued again when the operator says so.

use super::{Done, Ledger, PageChange, Result};
use crate::base::time::UnixMillis;
use crate::domain::reach::Reach;
use crate::domain::reason::Failure;
use crate::domain::revisit::RequeueReason;
use crate::domain::url::PageUrl;
use crate::storage::keys::SeenKey;
use crate::storage::tables::{Failed, Seen};
use crate::storage::txn::Txn;
use crate::storage::values::{FailedValue, LastTime, QueueEntry, UrlState};

impl Ledger {
    /// Keeps a URL that was given up.
    #[expect(clippy::too_many_arguments, reason = "what there is to say of a failure")]
    pub(super) fn keep_failed(
        &mut self,
        txn: &mut Txn<'_>,
        seen: SeenKey,
        page: &PageChange,
        reason: Failure,
        reach: Reach,
        entry: Option<QueueEntry>,
        now: UnixMillis,
    ) {
        let capture = page.capture.as_ref();
        let entry = entry.unwrap_or_else(|| QueueEntry::new(&page.url, reach.depth, now));
        let kept = FailedValue {
            url: page.url.as_str().to_owned(),
            reason,
            status: capture.map(|c| c.status),
            when: now,
            captured: capture.map(|c| c.fetched).or(entry.again.map(|last| last.captured)),
            attempts: entry.attempts.saturating_add(1),
            depth: reach.depth,
            limit: reach.limit,
            hops: entry.hops,
            seed: entry.seed,
            found: entry.found,
            discovered: entry.discovered,
            origin: entry.origin,
            via: entry.via,
            spelling: page.url.spelling().map(str::to_owned),
            next: None,
            visits: entry.again.map_or(0, |last| last.visits),
        };
        self.counters.failed += 1;
        txn.put::<Failed>(&seen, &kept);
    }

    /// A URL is no error any more.
    pub(super) fn no_error(&mut self, txn: &mut Txn<'_>, seen: SeenKey, reason: Failure) -> Result<()> {
        self.counters.sub_error(reason);
        let at = seen.host_crawl().host_at();
        self.hosts.with(txn, at, |row| row.counts.errors = row.counts.errors.saturating_sub(1))?;
        if let Some(kept) = txn.get::<Failed>(&seen)? {
            self.no_sitemap(txn, seen, kept.when)?;
            self.no_visit(txn, seen, kept.next)?;
            self.counters.failed = self.counters.failed.saturating_sub(1);
            txn.delete::<Failed>(&seen);
        }
        Ok(())
    }

    /// Queues URLs that were given up as if they were new, with all their attempts before them; captures stay.
    pub(super) fn try_again(&mut self, txn: &mut Txn<'_>, urls: &[SeenKey]) -> Result<Done> {
        let mut done = Done::default();
        for seen in urls {
            if self.try_once_more(txn, *seen, RequeueReason::GivenUp)? {
                done.again.push(RequeueReason::GivenUp);
            }
        }
        Ok(done)
    }

    /// Queues a URL that was given up, unless its host refuses; true when it did.
    pub(super) fn try_once_more(&mut self, txn: &mut Txn<'_>, seen: SeenKey, why: RequeueReason) -> Result<bool> {
        let Some(UrlState::Error { reason }) = txn.get::<Seen>(&seen)? else { return Ok(false) };
        let Some(entry) = txn.get::<Failed>(&seen)?.and_then(|failed| entry_of(failed, why)) else { return Ok(false) };
        if self.hosts.orders(txn, seen.host_crawl().host_at())?.refusal().is_some() {
            return Ok(false);
        }
        self.no_error(txn, seen, reason)?;
        self.counters.queued += 1;
        self.put_in_queue(txn, seen, &entry)?;
        Ok(true)
    }
}

fn entry_of(failed: FailedValue, why: RequeueReason) -> Option<QueueEntry> {
    let url = PageUrl::from_canonical(&failed.url).ok()?;
    let visits = if why == RequeueReason::Cycle { failed.visits.saturating_add(1) } else { 0 };
    Some(QueueEntry {
        limit: failed.limit,
        hops: failed.hops,
        seed: failed.seed,
        found: failed.found,
        origin: failed.origin,
        via: failed.via,
        spelling: failed.spelling,
        again: failed.captured.map(|captured| LastTime { visits, ..LastTime::new(captured, why) }),
        ..QueueEntry::new(&url, failed.depth, failed.discovered)
    })
}
