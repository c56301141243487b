//! Orders that stand for hosts: known to every actor, changed by the Store alone, after the commit that keeps them.
//!
//! It holds at most [`MOST`] hosts: more are refused before they are committed.

use std::collections::HashSet;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard};

use crate::base::units::format_duration;
use crate::domain::fingerprint::{CrawlId, Fingerprinter, HostKey, KeyMap};
use crate::domain::orders::HostOrders;
use crate::storage::keys::HostAt;
use crate::storage::values::OrderedHosts;
use crate::storage::{Storage, StorageError, read};
use crate::telemetry::HostsOrdered;
use crate::warc::date::iso;

/// Hosts of which orders stand, at most.
pub const MOST: usize = 10_000;

/// The registry.
#[derive(Default)]
pub struct Orders(RwLock<Standing>);

#[derive(Default)]
struct Standing {
    hosts: KeyMap<HostKey, (Arc<str>, HostOrders)>,
    blocked: HashSet<Arc<str>>,
}

/// Tells blocked hosts from others while a page's links are judged.
pub struct Blocks<'o>(RwLockReadGuard<'o, Standing>);

impl Blocks<'_> {
    /// True for a host of which nothing may be queued.
    pub fn on(&self, host: &str) -> bool {
        !self.0.blocked.is_empty() && self.0.blocked.contains(host)
    }
}

impl Orders {
    /// What stands on disk.
    ///
    /// # Errors
    /// The storage's own.
    pub fn load(storage: &dyn Storage, crawl: CrawlId, prints: &Fingerprinter) -> Result<Self, StorageError> {
        let listed: OrderedHosts = read::meta(storage, crawl)?.unwrap_or_default();
        let orders = Self::default();
        for name in &listed.0 {
            let at = HostAt::of(prints, name);
            let state = read::host_state(storage, at)?.unwrap_or_default();
            orders.set(at.host, name, state.orders);
        }
        Ok(orders)
    }

    fn look(&self) -> RwLockReadGuard<'_, Standing> {
        self.0.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// What stands for a host now.
    pub fn set(&self, host: HostKey, name: &str, orders: HostOrders) {
        let mut standing = self.0.write().unwrap_or_else(PoisonError::into_inner);
        standing.blocked.remove(name);
        standing.hosts.remove(&host);
        if !orders.is_empty() {
            let name: Arc<str> = name.into();
            if orders.blocked.is_some() {
                standing.blocked.insert(name.clone());
            }
            standing.hosts.insert(host, (name, orders));
        }
    }

    /// What stands for a host.
    pub fn of(&self, host: &HostKey) -> HostOrders {
        self.look().hosts.get(host).map(|(_, orders)| *orders).unwrap_or_default()
    }

    /// What stands for a host, in sentences for people.
    pub fn told(&self, host: &HostKey) -> Vec<String> {
        let orders = self.of(host);
        let sentence = |(what, since)| format!("{what} since {}", iso(since));
        let gap = |gap| format!("at least {} between two requests, as the operator ordered", format_duration(gap));
        orders.told().into_iter().map(sentence).chain(orders.min_delay.map(gap)).collect()
    }

    /// True when nothing of a host may be requested.
    pub fn holds(&self, host: &HostKey) -> bool {
        self.look().hosts.get(host).is_some_and(|(_, orders)| orders.holds())
    }

    /// The blocked hosts.
    pub fn blocks(&self) -> Blocks<'_> {
        Blocks(self.look())
    }

    /// How many hosts each order stands for.
    pub fn counts(&self) -> HostsOrdered {
        let standing = self.look();
        let mut counts = HostsOrdered::default();
        for (_, orders) in standing.hosts.values() {
            counts.paused += u64::from(orders.paused.is_some());
            counts.blocked += u64::from(orders.blocked.is_some());
            counts.dropping += u64::from(orders.dropping.is_some());
            counts.recrawling += u64::from(orders.recrawling.is_some());
            counts.slowed += u64::from(orders.min_delay.is_some());
        }
        counts
    }

    /// Every host of which an order stands.
    pub fn all(&self) -> Vec<(Arc<str>, HostOrders)> {
        self.look().hosts.values().cloned().collect()
    }

    /// True when another host finds room.
    pub fn has_room(&self) -> bool {
        self.look().hosts.len() < MOST
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::time::UnixMillis;
    use crate::domain::orders::HostOrder;

    #[test]
    fn blocked_hosts_are_told_by_name_and_forgotten_when_that_is_taken_back() {
        let orders = Orders::default();
        let key = HostKey([1; 8]);
        let mut said = HostOrders::default();
        said.take(HostOrder::Block, UnixMillis(0));
        orders.set(key, "h.test", said);
        assert!(orders.blocks().on("h.test") && !orders.blocks().on("other.test"));
        assert_eq!(orders.told(&key), ["blocked by the operator since 1970-01-01T00:00:00.000Z"]);
        assert!(orders.holds(&key));
        assert_eq!(orders.counts(), HostsOrdered { blocked: 1, ..HostsOrdered::default() });
        said.take(HostOrder::MinDelay(Some(std::time::Duration::from_secs(90))), UnixMillis(1));
        orders.set(key, "h.test", said);
        assert_eq!(orders.told(&key)[1], "at least 90s between two requests, as the operator ordered");
        assert_eq!(orders.counts(), HostsOrdered { blocked: 1, slowed: 1, ..HostsOrdered::default() });
        said.take(HostOrder::MinDelay(None), UnixMillis(1));
        said.take(HostOrder::Unblock, UnixMillis(1));
        orders.set(key, "h.test", said);
        assert!(!orders.blocks().on("h.test") && orders.all().is_empty());
    }
}
