//! A host is erased: everything that is keyed by it goes, out of all counts too. The order that blocks it stays. And captures of others whose
//! records were written once more, because they relied on one of the host's.

use super::{Ledger, Result, counters_of};
use crate::base::time::UnixMillis;
use crate::domain::orders::HostOrder;
use crate::domain::refresh::Rate;
use crate::domain::visit::Visit;
use crate::storage::keys::{HostAt, PageKey, SeenKey};
use crate::storage::tables::{Nearer, Pages, Rejected, Seeds, Seen};
use crate::storage::txn::Txn;
use crate::storage::values::{DoneKind, FeedEntry, PageRecord, UrlState};

impl Ledger {
    /// The host is blocked, so that nothing of it is asked for again; its pace is forgotten, and how often its pages change.
    ///
    /// # Errors
    /// The storage's own.
    pub fn erase_host(&mut self, txn: &mut Txn<'_>, host: &str, now: UnixMillis) -> Result<()> {
        let at = HostAt::of(&self.rules.prints, host);
        if self.is_foreign(at.partition) {
            return Ok(()); // its owner blocks it
        }
        if self.hosts.orders(txn, at)?.blocked.is_none() {
            self.order(txn, host, HostOrder::Block, now)?;
        }
        self.hosts.note_visit(txn, at, |_| Rate::default())?;
        self.hosts.note_state(txn, at, None, Some(&[]), &mut self.counters)
    }

    /// Captures go.
    ///
    /// # Errors
    /// The storage's own.
    pub fn erase_captures(&mut self, txn: &mut Txn<'_>, captures: &[(PageKey, PageRecord)]) -> Result<()> {
        for (key, page) in captures {
            counters_of(&mut self.counters, page, false);
            let at = key.seen().host_crawl().host_at();
            self.hosts.with(txn, at, |row| row.counts.bytes = row.counts.bytes.saturating_sub(page.bytes))?;
            self.no_visit(txn, key.seen(), page.next)?;
            self.regroup(txn, key.seen(), Some(page), None)?;
            txn.delete::<Pages>(key);
        }
        Ok(())
    }

    /// URLs go, as if they had never been found. Who reads the feed is told of each that was finished once.
    ///
    /// # Errors
    /// The storage's own.
    pub fn erase_urls(&mut self, txn: &mut Txn<'_>, urls: &[(SeenKey, UrlState)], now: UnixMillis) -> Result<()> {
        for (seen, state) in urls {
            let at = seen.host_crawl().host_at();
            let told = match *state {
                UrlState::Waiting { .. } => {
                    let entry = self.take_out(txn, *seen)?;
                    self.counters.queued = self.counters.queued.saturating_sub(1);
                    self.visited(txn, at, entry.as_ref().and_then(|(entry, _)| entry.again))?;
                    entry.is_some_and(|(entry, _)| entry.again.is_some())
                }
                UrlState::Done { captured, how, .. } => {
                    self.no_sitemap(txn, *seen, captured)?;
                    let next = txn.get::<Pages>(&seen.page(captured))?.and_then(|page| page.next);
                    self.no_visit(txn, *seen, next)?;
                    self.counters.done = self.counters.done.saturating_sub(1);
                    let redirects = u64::from(how == DoneKind::Redirect);
                    self.counters.redirects = self.counters.redirects.saturating_sub(redirects);
                    self.hosts.unfinished(txn, at, how)?;
                    true
                }
                UrlState::Error { reason } => {
                    self.no_error(txn, *seen, reason)?;
                    true
                }
                UrlState::Rejected { reason, .. } => {
                    self.counters.sub_rejected(reason);
                    false
                }
            };
            self.counters.discovered = self.counters.discovered.saturating_sub(1);
            if txn.get::<Nearer>(seen)?.is_some() {
                self.counters.nearer = self.counters.nearer.saturating_sub(1);
                txn.delete::<Nearer>(seen);
            }
            self.end_account(txn, *seen)?;
            txn.delete::<Seen>(seen);
            txn.delete::<Rejected>(seen);
            txn.delete::<Seeds>(seen);
            if told {
                let gone = FeedEntry { kind: Visit::Erased, at: now, page: *seen, captured: None, why: None };
                self.put_entry(txn, &gone);
            }
        }
        Ok(())
    }

    /// The records of a capture stand elsewhere now, as something else.
    ///
    /// # Errors
    /// The storage's own.
    pub fn recast(&mut self, txn: &mut Txn<'_>, key: &PageKey, was: &PageRecord, is: &PageRecord) -> Result<()> {
        counters_of(&mut self.counters, was, false);
        counters_of(&mut self.counters, is, true);
        txn.put::<Pages>(key, is);
        let seen = key.seen();
        if let Some(UrlState::Done { captured, how, reach }) = txn.get::<Seen>(&seen)?
            && captured == key.captured.0
            && how == was.how
        {
            txn.put::<Seen>(&seen, &UrlState::Done { captured, how: is.how, reach });
            let at = seen.host_crawl().host_at();
            self.hosts.unfinished(txn, at, how)?;
            self.hosts.finished(txn, at, is.how)?;
        }
        Ok(())
    }
}
