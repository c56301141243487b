//! Pages whose WARC record a power failure took: their commit is undone and their URLs are queued again (I3, I8).

use super::near::capture_before;
use super::{Ledger, Result, counters_of};
use crate::storage::keys::{ContentKey, FeedKey};
use crate::storage::tables::{Content, Failed, Feed, Pages, Queue, Seen};
use crate::storage::txn::Txn;
use crate::storage::values::{DoneKind, PageRecord, UnsyncedPage, UrlState};

impl Ledger {
    /// Undoes the commit of a page, its links apart: they were found, whatever became of its record. False when its URL is
    /// not as that commit left it: then the capture alone goes.
    ///
    /// # Errors
    /// The storage's own.
    pub fn requeue(&mut self, txn: &mut Txn<'_>, lost: &UnsyncedPage) -> Result<bool> {
        let seen = lost.page.seen();
        let at = seen.host_crawl().host_at();
        let (Some(page), Some(state)) = (txn.get::<Pages>(&lost.page)?, txn.get::<Seen>(&seen)?) else {
            return Ok(false);
        };
        self.uncapture(txn, lost, &page)?;
        if !matches!(state, UrlState::Done { captured, .. } if captured != page.fetched) {
            let before = capture_before(txn, seen, lost.entry.again)?;
            self.regroup(txn, seen, Some(&page), before.as_ref())?; // else what was captured later has said where it belongs
        }
        match state {
            UrlState::Done { captured, how, .. } if captured == page.fetched => {
                self.no_sitemap(txn, seen, captured)?;
                self.no_visit(txn, seen, page.next)?;
                self.counters.done = self.counters.done.saturating_sub(1);
                if how == DoneKind::Redirect {
                    self.counters.redirects = self.counters.redirects.saturating_sub(1);
                }
                self.hosts.unfinished(txn, at, how)?;
            }
            UrlState::Error { reason } => {
                let kept = txn.get::<Failed>(&seen)?;
                if kept.is_some_and(|kept| kept.captured != Some(page.fetched)) {
                    return Ok(false); // it was given up later, for another reason
                }
                self.no_error(txn, seen, reason)?;
            }
            _ => return Ok(false),
        }
        self.counters.queued += 1;
        let entry = self.by_way_that_waits(txn, seen, lost.entry.clone())?;
        let (rank, order, reach) = (lost.rank, lost.order, entry.reach());
        txn.put::<Queue>(&seen.host_crawl().queue(rank, order), &entry);
        txn.put::<Seen>(&seen, &UrlState::Waiting { rank, order, reach, due: None });
        self.waits(txn, seen, &entry)?;
        self.hosts.enqueued(txn, at, rank, order)?;
        Ok(true)
    }

    /// Takes a capture out of all counts.
    fn uncapture(&mut self, txn: &mut Txn<'_>, lost: &UnsyncedPage, page: &PageRecord) -> Result<()> {
        let at = lost.page.seen().host_crawl().host_at();
        counters_of(&mut self.counters, page, false);
        self.hosts.with(txn, at, |row| row.counts.bytes = row.counts.bytes.saturating_sub(page.bytes))?;
        txn.delete::<Pages>(&lost.page);
        // Nobody has seen its entry: none is shown before a sync. Its number stays without one.
        txn.delete::<Feed>(&FeedKey { number: lost.feed });
        if let Some(digest) = page.content {
            let key = ContentKey::from(digest);
            if txn.get::<Content>(&key)?.is_some_and(|first| first.first == lost.page) {
                txn.delete::<Content>(&key);
            }
        }
        Ok(())
    }
}
