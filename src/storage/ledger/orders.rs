//! What the operator says: orders of hosts, URLs that are turned away after all.

use super::{Done, Found, Leased, Ledger, Result};
use crate::base::time::UnixMillis;
use crate::domain::orders::HostOrder;
use crate::domain::reach::Reach;
use crate::domain::reason::Rejection;
use crate::storage::keys::{HostAt, SeenKey};
use crate::storage::tables::{Due, Queue, Seen};
use crate::storage::txn::Txn;
use crate::storage::values::{OrderedHosts, QueueEntry, UrlState};

impl Ledger {
    /// Keeps an order, and the host on the list of those that have any.
    pub(super) fn order(&mut self, txn: &mut Txn<'_>, host: &str, order: HostOrder, now: UnixMillis) -> Result<Done> {
        let at = HostAt::of(&self.rules.prints, host);
        if !self.hosts.is_named(txn, at, host, &mut self.counters)? {
            log::error!("host key collision: no order can be given to {host}");
            return Ok(Done::default());
        }
        let orders = self.hosts.take_order(txn, at, order, now)?;
        let mut listed: OrderedHosts = txn.get_meta(self.rules.crawl)?.unwrap_or_default();
        let place = listed.0.iter().position(|name| name == host);
        match (place, orders.is_empty()) {
            (None, false) => listed.0.push(host.to_owned()),
            (Some(i), true) => _ = listed.0.swap_remove(i),
            _ => {}
        }
        txn.put_meta(self.rules.crawl, &listed);
        Ok(Done { ordered: Some((at, orders)), ..Done::default() })
    }

    /// Turns away waiting URLs of hosts that refuse. A leased one is left: its page ends, or it comes back to the queue.
    pub(super) fn drop_urls(
        &mut self,
        txn: &mut Txn<'_>,
        (urls, reason): (&[SeenKey], Rejection),
        now: UnixMillis,
        leased: Leased<'_>,
    ) -> Result<Done> {
        for seen in urls.iter().filter(|seen| !leased(&seen.url)) {
            // A host that refuses is not leased from, so nobody takes it up between this look and the write.
            if self.hosts.orders(txn, seen.host_crawl().host_at())?.refusal().is_none() {
                continue;
            }
            let Some((entry, reach)) = self.take_out(txn, *seen)? else { continue };
            self.visited(txn, seen.host_crawl().host_at(), entry.again)?;
            self.ungroup(txn, *seen, entry.again)?;
            self.end_account(txn, *seen)?;
            let name = self.hosts.name(txn, seen.host_crawl().host_at())?;
            self.counters.queued = self.counters.queued.saturating_sub(1);
            self.count_rejected(reason);
            self.feed_dropped(txn, *seen, reason, now);
            match entry.url(&name) {
                Ok(url) => {
                    let from = Found { via: entry.via, origin: entry.origin, found: entry.found };
                    self.turned(txn, *seen, &url, reason, reach, from);
                }
                Err(e) => {
                    // It was made of a URL, so this does not happen; the mark is true all the same.
                    log::error!("a queue entry of {name} is no URL: {e}");
                    let generation = self.rules.generation;
                    txn.put::<Seen>(seen, &UrlState::Rejected { reason, generation, reach });
                }
            }
        }
        Ok(Done::default())
    }

    /// Takes a waiting URL out of its queue, or out of the retries. Gives the way to it too.
    pub(super) fn take_out(&mut self, txn: &mut Txn<'_>, seen: SeenKey) -> Result<Option<(QueueEntry, Reach)>> {
        let Some(UrlState::Waiting { rank, order, reach, due }) = txn.get::<Seen>(&seen)? else { return Ok(None) };
        let at = seen.host_crawl().host_at();
        let entry = match due {
            None => {
                let key = seen.host_crawl().queue(rank, order);
                let Some(entry) = txn.get::<Queue>(&key)? else { return Ok(None) };
                txn.delete::<Queue>(&key);
                self.hosts.unqueue(txn, at, rank)?;
                entry
            }
            Some(time) => {
                let Some(entry) = txn.get::<Due>(&seen.due(time))? else { return Ok(None) };
                txn.delete::<Due>(&seen.due(time));
                self.hosts.with(txn, at, |row| row.counts.due = row.counts.due.saturating_sub(1))?;
                entry
            }
        };
        Ok(Some((entry, reach)))
    }
}
