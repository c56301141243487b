//! A lane: one connection's worth of work at a host, one URL after the other.

use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::oneshot;

use super::robots::{self, Standing};
use super::{Inbox, Next};
use crate::actors::deduper::Parsed;
use crate::actors::fetcher::{Errand, Fetch, Report, ending_of};
use crate::actors::frontier::{GaveUp, Want};
use crate::actors::lease::Lease;
use crate::actors::node::Node;
use crate::actors::slot::{Seat, Slot};
use crate::domain::outcome::FetchOutcome;
use crate::domain::reason::{Failure, Rejection};
use crate::domain::time::UnixMillis;
use crate::domain::url::PageUrl;
use crate::net::dns::DnsFault;
use crate::storage::keys::HostAt;
use crate::storage::ledger::Ending;

/// URLs asked for at a time.
const BATCH: usize = 16;
/// A host that must wait longer than this gives its place to another.
const WORTH_WAITING: Duration = Duration::from_secs(30);
/// How often a paused lane looks whether it may go on.
const PAUSE_LOOK: Duration = Duration::from_millis(50);

/// See the module's text.
pub(super) struct Lane {
    pub node: Arc<Node>,
    pub at: HostAt,
    pub seat: Arc<Seat>,
    pub inbox: Rc<Inbox>,
    pub robots: Rc<robots::Cache>,
    pub since: UnixMillis,
    pub pages: u64,
}

impl Lane {
    /// Works until the Host retires (which drops this future) or gives up its place.
    pub async fn run(mut self) {
        loop {
            let lease = self.next_lease().await;
            let next = match self.visit(lease).await {
                Next::GoOn if self.quantum_is_over() => Next::GiveUp(None),
                next => next,
            };
            if let Next::GiveUp(until) = next {
                self.inbox.leases.borrow_mut().clear();
                self.node.doors().frontier.tell(GaveUp { host: self.at.host, until });
                return std::future::pending().await; // retired by the Frontier's answer
            }
        }
    }

    async fn next_lease(&self) -> Lease {
        loop {
            let news = self.inbox.news.notified();
            tokio::pin!(news);
            news.as_mut().enable();
            if let Some(lease) = self.inbox.leases.borrow_mut().pop_front() {
                return lease;
            }
            if !self.inbox.asked.replace(true) {
                self.node.doors().frontier.tell(Want { host: self.at.host, n: BATCH });
            }
            news.await;
        }
    }

    fn quantum_is_over(&self) -> bool {
        let quantum = &self.node.rules.settings.frontier.host_quantum;
        let now = self.node.clock.now();
        self.pages >= quantum.pages || now.since(self.since) >= quantum.time
    }

    /// Everything between a lease and the report of its fetch.
    async fn visit(&mut self, lease: Lease) -> Next {
        self.node.faults.pass("host.visit");
        let address = match self.address(&lease.url).await {
            Ok(address) => address,
            Err(failure) => return self.without_fetch(lease, FetchOutcome::Fault(failure)).await,
        };
        match self.robots_allow(&lease).await {
            Standing::Allowed => {}
            Standing::Disallowed => {
                self.node.doors().deduper.tell(Parsed::bare(lease, None, Ending::Rejected(Rejection::Robots)));
                return Next::GoOn;
            }
            Standing::Unreachable(until, fault) => {
                // A host that does not answer at all costs the URL an attempt, so that a dead host comes to an end.
                if let Some(failure) = fault {
                    self.without_fetch(lease, FetchOutcome::Fault(failure)).await;
                }
                return Next::GiveUp(Some(until));
            }
        }
        let mut slot = match self.slot().await {
            Ok(slot) => slot,
            Err(until) => return Next::GiveUp(Some(until)),
        };
        let Some(permits) = self.permits().await else { return Next::GoOn };
        // A pause may have come while this lane waited for permits.
        if self.node.holds() {
            drop((slot, permits));
            self.wait_while_held().await;
            return self.again(lease);
        }
        self.pages += 1;
        slot.begin();
        let (reply, report) = oneshot::channel();
        let url = lease.url.clone();
        let errand = Errand::Page { lease: Box::new(lease), permit: permits.0 };
        self.node.fetcher_of(&self.at.host).tell(Fetch { url, address, slot, on_wire: permits.1, errand, reply });
        let _ = report.await; // an Err says that the fetch died; its lease and slot came back by Drop
        Next::GoOn
    }

    fn again(&self, lease: Lease) -> Next {
        self.inbox.leases.borrow_mut().push_front(lease);
        Next::GoOn
    }

    /// A URL that ends, or waits for another try, without a request.
    async fn without_fetch(&self, lease: Lease, outcome: FetchOutcome) -> Next {
        let ending = ending_of(&self.node, &outcome, lease.entry.attempts);
        if let Ok(permit) = self.node.pages.clone().acquire_owned().await {
            self.node.doors().deduper.tell(Parsed::bare(lease, Some(permit), ending));
        }
        Next::GoOn
    }

    /// The address to connect to: resolved once, checked, pinned (I7).
    async fn address(&self, url: &PageUrl) -> Result<SocketAddr, Failure> {
        let addresses = self.node.resolver.resolve(url.host(), url.port()).await.map_err(|fault| match fault {
            DnsFault::NotFound => Failure::DnsNotFound,
            DnsFault::Failed(_) => Failure::DnsFailed,
        })?;
        let allowed = addresses.iter().find(|a| self.node.guard.check(url.host(), **a).is_ok());
        allowed.copied().ok_or(Failure::AddressRefused)
    }

    /// The host's slot, at or after its earliest time; `Err` when that lies too far off to wait here.
    async fn slot(&self) -> Result<Slot, UnixMillis> {
        loop {
            let Some(slot) = self.seat.take(&self.node.clock).await else { return std::future::pending().await };
            let (now, earliest) = (self.node.clock.now(), self.seat.earliest());
            let wait = earliest.since(now);
            if wait.is_zero() && !self.node.holds() {
                self.node.metrics.lateness(now.since(earliest));
                return Ok(slot);
            }
            drop(slot);
            if wait > WORTH_WAITING {
                return Err(earliest);
            }
            if wait.is_zero() {
                self.wait_while_held().await;
            } else {
                tokio::time::sleep(wait).await;
            }
        }
    }

    async fn wait_while_held(&self) {
        while self.node.holds() {
            tokio::time::sleep(PAUSE_LOOK).await;
        }
    }

    /// A page permit, then a place on the wire, always in this order.
    async fn permits(&self) -> Option<(crate::actors::node::PagePermit, crate::actors::node::PagePermit)> {
        let page = self.node.pages.clone().acquire_owned().await.ok()?;
        let wire = self.node.fetches.clone().acquire_owned().await.ok()?;
        Some((page, wire))
    }

    /// What robots.txt of the URL's scheme, host and port says; fetched here when there is no fresh copy.
    async fn robots_allow(&self, lease: &Lease) -> Standing {
        if !self.node.rules.settings.politeness.respect_robots {
            return Standing::Allowed;
        }
        let url = &lease.url;
        if let Some(standing) = self.robots.standing(&self.node, self.at, url, &self.seat) {
            return standing;
        }
        let learned = robots::fetch(self, url).await;
        self.robots.learn(&self.node, self.at, url, &self.seat, learned);
        self.robots.standing(&self.node, self.at, url, &self.seat).unwrap_or(Standing::Allowed)
    }

    /// One request of this lane's host for robots.txt, or of another host to which it was redirected.
    pub async fn errand(&self, url: &PageUrl, seat: &Arc<Seat>, patience: Duration) -> Option<Report> {
        let address = match self.address(url).await {
            Ok(address) => address,
            Err(failure) => return Some(Report::fault(failure)),
        };
        let (mut slot, (_page, on_wire)) = loop {
            let slot = tokio::time::timeout(patience, self.slot_of(seat)).await.ok()??;
            let permits = self.permits().await?;
            // A pause or the node's end may have come while this lane waited for permits.
            if !self.node.holds() {
                break (slot, permits);
            }
            drop((slot, permits));
            self.wait_while_held().await;
        };
        slot.begin();
        let (reply, report) = oneshot::channel();
        let fetcher = self.node.fetcher_of(&self.node.prints.host(url.host()));
        fetcher.tell(Fetch { url: url.clone(), address, slot, on_wire, errand: Errand::Robots, reply });
        Some(report.await.unwrap_or(Report { outcome: FetchOutcome::Fault(Failure::Reset), robots: None }))
    }

    async fn slot_of(&self, seat: &Arc<Seat>) -> Option<Slot> {
        loop {
            let slot = seat.take(&self.node.clock).await?;
            let wait = seat.earliest().since(self.node.clock.now());
            if wait.is_zero() && !self.node.holds() {
                return Some(slot);
            }
            drop(slot);
            tokio::time::sleep(wait.max(Duration::from_millis(1))).await;
        }
    }
}
