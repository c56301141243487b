//! The feed: each page that a commit finishes has one entry, in the order of the commits (I10).
//!
//! Numbers are given out here, in the batch that finishes the page, so there is no entry without its page and no finished page without
//! an entry. What may be shown of it says the Store, after each sync.

use super::{Done, Ledger, PageChange, Result};
use crate::base::invariant::{Invariant, uphold};
use crate::base::time::UnixMillis;
use crate::domain::reason::Rejection;
use crate::domain::revisit::RequeueReason;
use crate::domain::statuses::is_gone;
use crate::domain::visit::Visit;
use crate::storage::StorageError;
use crate::storage::keys::{FeedKey, Key, KeyRange, SeenKey, after};
use crate::storage::tables::{Feed, Pages};
use crate::storage::txn::Txn;
use crate::storage::values::{
    Consumer, Consumers, DoneKind, FeedEntry, FeedLog, LastTime, PageRecord, Shown, UrlState,
};

impl Ledger {
    /// Writes what became of a page; gives the number of its entry and what it says, none for one that is to be tried again.
    pub(super) fn feed_page(
        &mut self,
        txn: &mut Txn<'_>,
        (seen, before): (SeenKey, Option<LastTime>),
        page: &PageChange,
        state: &UrlState,
        now: UnixMillis,
    ) -> Result<Option<(u64, Visit)>> {
        let record = page.record();
        let (kind, why) = match state {
            UrlState::Waiting { .. } => return Ok(None),
            UrlState::Done { how: DoneKind::Redirect, .. } => (Visit::Redirect, None),
            UrlState::Done { .. } => (visit_of(txn, seen, (record, before), !page.links.new.is_empty())?, None),
            UrlState::Error { reason } => {
                let gone = record.is_some_and(|record| is_gone(record.status));
                (if gone { Visit::Gone } else { Visit::Failed }, Some(reason.code()))
            }
            UrlState::Rejected { reason, .. } => (Visit::Rejected, Some(reason.code())),
        };
        let captured = record.map(|record| record.fetched);
        Ok(Some((self.put_entry(txn, &FeedEntry { kind, at: now, page: seen, captured, why }), kind)))
    }

    /// A page is turned away while it waits.
    pub(super) fn feed_dropped(&mut self, txn: &mut Txn<'_>, page: SeenKey, reason: Rejection, now: UnixMillis) {
        let why = Some(reason.code());
        self.put_entry(txn, &FeedEntry { kind: Visit::Rejected, at: now, page, captured: None, why });
    }

    pub(super) fn put_entry(&mut self, txn: &mut Txn<'_>, entry: &FeedEntry) -> u64 {
        self.counters.fed += 1;
        let key = FeedKey { number: self.counters.fed };
        debug_assert!(!matches!(txn.get::<Feed>(&key), Ok(Some(_))), "I10: the number {} is taken", key.number);
        txn.put::<Feed>(&key, entry);
        key.number
    }

    /// Who reads the feed says how far it is.
    pub(super) fn consumer(&mut self, txn: &mut Txn<'_>, name: &str, at: Option<&Consumer>) -> Result<Done> {
        let mut all: Consumers = txn.get_meta(())?.unwrap_or_default();
        match at {
            Some(consumer) => _ = all.set(consumer.clone()),
            None => all.0.retain(|known| known.name != name),
        }
        txn.put_meta((), &all);
        Ok(Done::default())
    }

    /// Takes up the feed. A database that was put back to a former state (`shown` names another feed, or entries that it does not have) goes
    /// on as another feed, with numbers that nobody has seen. `id`: of a new one.
    ///
    /// # Errors
    /// The storage's own.
    pub fn take_up_feed(
        &mut self,
        txn: &mut Txn<'_>,
        shown: Option<&Shown>,
        id: [u8; 8],
    ) -> std::result::Result<FeedLog, StorageError> {
        let log: Option<FeedLog> = txn.get_meta(())?;
        let (own, high) = (self.counters.fed, shown.map_or(0, |shown| shown.high));
        let began = own.max(high);
        let log = match log {
            Some(log) if shown.is_some_and(|shown| shown.log.id == log.id) && high <= own => return Ok(log),
            Some(log) => log.continued(id, own, began, shown),
            None => FeedLog { id, ..FeedLog::default() },
        };
        self.counters.fed = began;
        txn.put_meta((), &log);
        txn.put_meta(self.rules.crawl, &self.counters);
        Ok(log)
    }

    /// Lets go of entries that were committed before `before`, from the oldest on, at most so many and none that somebody holds. Gives how
    /// many went.
    ///
    /// # Errors
    /// The storage's own.
    pub fn trim_feed(&mut self, txn: &mut Txn<'_>, before: UnixMillis, shown: u64, most: usize) -> Result<usize> {
        let Some(log) = txn.get_meta::<FeedLog>(())? else { return Ok(0) };
        let held = txn.get_meta::<Consumers>(())?.and_then(|all| all.held_after());
        let until = held.map_or(shown, |held| held.min(shown));
        let old = txn.stored::<Feed>(&KeyRange::feed(log.trimmed, until), most)?;
        let old: Vec<_> = old.into_iter().take_while(|(_, entry)| entry.at < before).map(|(key, _)| key).collect();
        let Some(last) = old.last() else { return Ok(0) };
        uphold(Invariant::I10, last.number <= shown, || format!("entry {} goes before it was shown", last.number));
        old.iter().for_each(|key| txn.delete::<Feed>(key));
        txn.put_meta((), &FeedLog { trimmed: last.number, ..log });
        Ok(old.len())
    }
}

/// What the visit of a page that has content brought, beside the capture before. `leads_on`: it leads to a URL that nobody knew.
fn visit_of(
    txn: &Txn<'_>,
    seen: SeenKey,
    (record, before): (Option<&PageRecord>, Option<LastTime>),
    leads_on: bool,
) -> Result<Visit> {
    let Some(LastTime { captured, why }) = before else { return Ok(Visit::First) };
    let key = seen.page(captured);
    let last = match why {
        RequeueReason::GivenUp => return Ok(Visit::Back),
        // The half of an earlier try was nobody's news; what was captured before it was.
        RequeueReason::Cut => {
            let older = KeyRange { from: after(&key.encode()), ..KeyRange::captures(seen) };
            match txn.first_stored::<Pages>(&older)? {
                Some(key) => txn.get::<Pages>(&key)?,
                None => return Ok(Visit::First),
            }
        }
        _ if record.is_none_or(|record| record.unchanged > 0) => return Ok(Visit::Unchanged),
        _ => txn.get::<Pages>(&key)?,
    };
    let (Some(now), Some(last)) = (record, last.filter(|last| record.is_some_and(|now| now.status == last.status)))
    else {
        return Ok(Visit::Changed);
    };
    let same = now.content.is_some() && now.content == last.content;
    Ok(if same { Visit::Unchanged } else { Visit::of_texts(last.print.as_ref(), now.print.as_ref(), leads_on) })
}
