//! Better ways to known URLs ([`Reach`](crate::domain::reach::Reach)): a waiting URL takes the way, and with it another place; one that is done is fetched
//! once more when more of its links may be followed by that way.

use super::{Found, Leased, Ledger, NewUrl, PageChange, Result};
use crate::domain::rank::Ranker;
use crate::domain::reason::Rejection;
use crate::domain::revisit::RequeueReason;
use crate::storage::keys::SeenKey;
use crate::storage::tables::{Due, Queue, Seen};
use crate::storage::txn::Txn;
use crate::storage::values::{QueueEntry, UrlState};

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
            Some(UrlState::Done { captured, reach, .. }) if new.reach().leads_further(reach, most) => {
                return self.once_more(txn, &seen.page(captured), RequeueReason::Depth, Some(new));
            }
            _ => {}
        }
        Ok(None)
    }

    /// A page whose links were judged by a way that was not the best when it was committed is fetched once more.
    pub(super) fn found_nearer_meanwhile(
        &mut self,
        txn: &mut Txn<'_>,
        page: &PageChange,
        entry: QueueEntry,
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
        self.bring_nearer(txn, &new, &|_| false)
    }

    /// A waiting URL takes a way. In somebody's hands it keeps its place: the commit looks at the way once more.
    fn take_way(&mut self, txn: &mut Txn<'_>, seen: SeenKey, new: &NewUrl, leased: Leased<'_>) -> Result<()> {
        let Some(UrlState::Waiting { rank, order, reach, due }) = txn.get::<Seen>(&seen)? else { return Ok(()) };
        let better = new.reach().beats(reach, self.rules.max_depth);
        // It was to come last, and is found where that does not hold.
        let up = Ranker::is_last(order) && new.rank != Some(NewUrl::LAST);
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
                let rank = (Ranker::is_last(order) && !up).then_some(NewUrl::LAST);
                return self.put_at(txn, seen, &entry, rank);
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
