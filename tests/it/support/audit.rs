//! I1 by the web's own log: one request in flight a host, and never too early.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::support::audit_check::{early_requests, max_in_flight_per_host};
use lycosa::testweb::AuditEntry;

/// The node's clock counts whole milliseconds, rounded down: so much earlier a request may be by the web's finer clock.
const ROUNDING: Duration = Duration::from_millis(1);

/// What a crawl owes its hosts.
pub struct Manners {
    /// Requests in flight a host.
    pub connections: usize,
    /// From the end of an answer to the next request of the host.
    pub gap: Duration,
    /// Larger gaps of single hosts, robots.txt's Crawl-delay.
    pub gaps: BTreeMap<String, Duration>,
}

impl Manners {
    /// One request at a time, with this gap.
    pub fn gap(gap: Duration) -> Self {
        Self { connections: 1, gap, gaps: BTreeMap::new() }
    }
}

/// Fails on the first host that was treated worse.
pub fn check_manners(entries: &[AuditEntry], manners: &Manners) {
    for (host, most) in max_in_flight_per_host(entries) {
        assert!(most <= manners.connections, "I1: {host} had {most} requests in flight");
    }
    if manners.connections > 1 {
        return;
    }
    let gap = |host: &str| manners.gaps.get(host).copied().unwrap_or(manners.gap).saturating_sub(ROUNDING);
    let early = early_requests(entries, gap);
    assert!(early.is_empty(), "I1: {} early requests, the first: {:?}", early.len(), early.first());
}
