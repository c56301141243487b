//! Better ways to known URLs ([`Reach`]): a waiting URL takes the way, and with it another place. One that is done is to be fetched once
//! more when more of its links may be followed by that way: at once if a URL of the crawl was ever too deep, else not before one is.
//! Until then every link was followed, so no way leads to a page that another does not, and the fetch would be for nothing.
//!
//! Such pages stand in a family of their own, `nearer`, with what it takes to queue them. A flag in their marks would be no row more,
//! but then the first URL that is too deep would cost a walk over all that is known, not over what is to be done; and a way needs more
//! room than a mark has: the seed it comes from, the page it goes over. The Frontier makes the walk: it hands the keys over, a page of
//! them at a time ([`Change::FollowNearer`](super::Change::FollowNearer)), and one handed over twice does nothing. That there is a walk
//! to make stands in the counters ([`Counters::nearer_to_queue`](crate::storage::values::Counters::nearer_to_queue)), so a start goes on
//! with it. By then nothing is put into the family any more, for `too_deep` stays: one pass is enough.

use super::again::entry_of;
use super::{Done, Found, Leased, Ledger, NewUrl, PageChange, Result};
use crate::base::time::UnixMillis;
use crate::domain::rank::Ranker;
use crate::domain::reach::Reach;
use crate::domain::reason::Rejection;
use crate::domain::revisit::RequeueReason;
use crate::storage::keys::{PageKey, SeenKey};
use crate::storage::tables::{Due, Nearer, Pages, Queue, Seen};
use crate::storage::txn::Txn;
use crate::storage::values::{DoneKind, NearerValue, QueueEntry, UrlState};

impl Ledger {
    /// A known URL was found by another way; why it is queued once more, if it is. That it is a sitemap is news too.
    pub(super) fn bring_nearer(
        &mut self,
        txn: &mut Txn<'_>,
        new: &NewUrl,
        leased: Leased<'_>,
    ) -> Result<Option<RequeueReason>> {
        let (seen, most) = (self.seen_key(&new.url), self.rules.max_depth);
        match txn.get::<Seen>(&seen)? {
            Some(UrlState::Waiting { .. }) => self.take_way(txn, seen, new, leased)?,
            Some(UrlState::Rejected { reason: reason @ Rejection::TooDeep, reach, .. })
                if new.reach().beats(reach, most) =>
            {
                self.turned(txn, seen, &new.url, reason, new.reach(), Found::of(new)); // for a later, wider limit
            }
            Some(UrlState::Done { captured, how, reach }) if new.reach().leads_further(reach, most) => {
                let page = seen.page(captured);
                if self.counters.too_deep {
                    return self.once_more(txn, &page, RequeueReason::Depth, Some(new));
                }
                self.put_aside(txn, &page, (how, reach), new)?;
            }
            _ => {}
        }
        Ok(None)
    }

    /// A better way to a page that is done waits until a URL is too deep.
    fn put_aside(
        &mut self,
        txn: &mut Txn<'_>,
        page: &PageKey,
        (how, reach): (DoneKind, Reach),
        new: &NewUrl,
    ) -> Result<()> {
        let (seen, captured) = (page.seen(), page.captured.0);
        if self.hosts.orders(txn, seen.host_crawl().host_at())?.refusal().is_some() {
            return Ok(());
        }
        let record = txn.get::<Pages>(page)?;
        let Some(entry) = record.and_then(|record| entry_of(record, reach, RequeueReason::Depth, Some(new))) else {
            return Ok(());
        };
        let known = txn.get::<Nearer>(&seen)?;
        self.counters.nearer += u64::from(known.is_none());
        let judged = known.map_or(reach, |known| known.judged);
        txn.put::<Seen>(&seen, &UrlState::Done { captured, how, reach: entry.reach() });
        txn.put::<Nearer>(&seen, &NearerValue { judged, entry });
        Ok(())
    }

    /// Queues pages by the better ways that wait for them. What cannot be queued, or needs it no more by the limits in force, is done
    /// by the way by which its links were judged.
    pub(super) fn follow_nearer(&mut self, txn: &mut Txn<'_>, pages: &[SeenKey]) -> Result<Done> {
        let mut done = Done::default();
        for seen in pages {
            let (Some(NearerValue { judged, entry }), true) = (txn.get::<Nearer>(seen)?, self.counters.too_deep) else {
                continue;
            };
            let Some(UrlState::Done { captured, how, .. }) = txn.get::<Seen>(seen)? else {
                self.no_nearer(txn, *seen);
                continue;
            };
            let further = entry.reach().leads_further(judged, self.rules.max_depth);
            let key = seen.page(captured);
            let next = txn.get::<Pages>(&key)?.and_then(|page| page.next);
            if further && self.leave_done(txn, &key, (how, next), entry)? {
                done.again.push(RequeueReason::Depth);
            } else {
                txn.put::<Seen>(seen, &UrlState::Done { captured, how, reach: judged });
                self.no_nearer(txn, *seen);
            }
        }
        Ok(done)
    }

    /// An entry by which a page that is done is queued, with the better way to it that waits: it waits no more.
    pub(super) fn by_way_that_waits(
        &mut self,
        txn: &mut Txn<'_>,
        seen: SeenKey,
        mut entry: QueueEntry,
    ) -> Result<QueueEntry> {
        let Some(NearerValue { entry: better, .. }) = txn.get::<Nearer>(&seen)? else { return Ok(entry) };
        self.no_nearer(txn, seen);
        if better.reach().beats(entry.reach(), self.rules.max_depth) {
            (entry.depth, entry.limit, entry.seed) = (better.depth, better.limit, better.seed);
            (entry.origin, entry.via) = (better.origin, entry.via.or(better.via));
        }
        Ok(entry)
    }

    fn no_nearer(&mut self, txn: &mut Txn<'_>, seen: SeenKey) {
        txn.delete::<Nearer>(&seen);
        self.counters.nearer = self.counters.nearer.saturating_sub(1);
    }

    /// A page whose links were judged by a way that was not the best when it was committed: as if that were found now. A URL that was
    /// too deep by the worse way is queued, and judged by the better one when its turn comes.
    pub(super) fn found_nearer_meanwhile(
        &mut self,
        txn: &mut Txn<'_>,
        page: &PageChange,
        entry: QueueEntry,
        now: UnixMillis,
    ) -> Result<Option<RequeueReason>> {
        let new = NewUrl {
            limit: entry.limit,
            hops: entry.hops,
            seed: entry.seed,
            via: entry.via.as_deref().map(Into::into),
            origin: entry.origin.as_deref().map(Into::into),
            found: entry.found,
            ..NewUrl::link(page.url.clone(), entry.depth)
        };
        let seen = self.seen_key(&page.url);
        if let Some(UrlState::Rejected { reason: Rejection::TooDeep, .. }) = txn.get::<Seen>(&seen)? {
            return self.readmit(txn, seen, &new, now).map(|_| None);
        }
        self.bring_nearer(txn, &new, &|_| false)
    }

    /// A waiting URL takes a way. In somebody's hands it keeps its place: the commit looks at the way once more.
    fn take_way(&mut self, txn: &mut Txn<'_>, seen: SeenKey, new: &NewUrl, leased: Leased<'_>) -> Result<()> {
        let Some(UrlState::Waiting { rank, order, reach, due }) = txn.get::<Seen>(&seen)? else { return Ok(()) };
        let better = new.reach().beats(reach, self.rules.max_depth);
        // It was to come last, and is found where that does not hold.
        let up = Ranker::is_last(order) && !new.is_last();
        let is_news = |entry: &QueueEntry| better || up || (new.found.is_sitemap() && !entry.found.is_sitemap());
        let queued = seen.host_crawl().queue(rank, order);
        let entry = match due {
            Some(when) => txn.get::<Due>(&seen.due(when))?,
            None => txn.get::<Queue>(&queued)?,
        };
        let Some(mut entry) = entry.filter(is_news) else { return Ok(()) };
        put_way(&mut entry, new, better);
        let reach = entry.reach();
        match due {
            Some(when) => txn.put::<Due>(&seen.due(when), &entry),
            None if leased(&seen.url) => txn.put::<Queue>(&queued, &entry),
            None => {
                txn.delete::<Queue>(&queued);
                self.hosts.unqueue(txn, seen.host_crawl().host_at(), rank)?;
                return self.put_at(txn, seen, &entry, Ranker::is_last(order) && !up);
            }
        }
        txn.put::<Seen>(&seen, &UrlState::Waiting { rank, order, reach, due });
        Ok(())
    }
}

/// The way to a URL is the best one known, with its seed: by that the depth budget of seeds is reckoned.
/// A sitemap stays what it is, and stays announced by whoever did.
fn put_way(entry: &mut QueueEntry, new: &NewUrl, better: bool) {
    let news = new.found.is_sitemap() && !entry.found.is_sitemap();
    if news {
        entry.found = new.found;
    }
    if news || !entry.found.is_sitemap() {
        entry.via = new.via.as_deref().map(str::to_owned);
    }
    if better || news {
        entry.origin = new.origin.as_deref().map(str::to_owned);
    }
    if better {
        (entry.depth, entry.limit) = (new.depth, new.limit);
    }
}
