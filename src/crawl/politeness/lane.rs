//! A lane: one connection's worth of work at a host, one URL after the other.

use std::net::{IpAddr, SocketAddr};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, oneshot};

use super::pacers::{Place, pacers};
use super::robots::{self, RobotsUnreachable};
use super::{Inbox, Next};
use crate::base::clock::Stopwatch;
use crate::base::time::UnixMillis;
use crate::crawl::admit::judge_queued;
use crate::crawl::deduper::Parsed;
use crate::crawl::fetcher::{Fetch, FetchPurpose, Report, ending_of};
use crate::crawl::frontier::{GaveUp, Want};
use crate::crawl::lease::{Lease, Stage};
use crate::crawl::node::{Node, PagePermit};
use crate::crawl::slot::{Pacer, Pacers, Slot};
use crate::crawl::supervise::bounded;
use crate::domain::fingerprint::HostKey;
use crate::domain::outcome::FetchOutcome;
use crate::domain::reason::{Failure, Rejection};
use crate::domain::url::PageUrl;
use crate::net::proxy::Proxy;
use crate::storage::keys::HostAt;
use crate::storage::ledger::Ending;
use crate::storage::read;
use crate::storage::tables::Pages;
use crate::storage::values::PageRecord;
use crate::telemetry::Phase;

/// URLs asked for at a time.
const BATCH: usize = 16;
/// A host that must wait longer than this gives its place to another.
const WORTH_WAITING: Duration = Duration::from_secs(30);
/// Addresses of a name that are tried for one request.
const MOST_ADDRESSES: usize = 4;
/// The rules that a data folder begins with: every URL in it was judged by them.
const FIRST: u32 = 1;
/// How often a lane looks that is paused, or stands behind the lanes of another host, whether it may go on.
const LOOK: Duration = Duration::from_millis(50);

/// See the module's text.
#[derive(Clone)]
pub(super) struct Lane {
    pub node: Arc<Node>,
    pub at: HostAt,
    pub pacer: Arc<Pacer>,
    pub inbox: Rc<Inbox>,
    pub robots: Rc<robots::Cache>,
    pub since: UnixMillis,
    pub pages: u64,
    /// The URL at hand is a seed without a scheme, which is asked for by https first.
    pub guess: bool,
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
                self.node.mailboxes().frontier.tell(GaveUp { host: self.at.host, until });
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
                self.node.mailboxes().frontier.tell(Want { host: self.at.host, n: BATCH });
            }
            news.await;
        }
    }

    fn quantum_is_over(&self) -> bool {
        let quantum = &self.node.crawl.rules.settings.frontier.host_quantum;
        let now = self.node.clock.now();
        self.pages >= quantum.pages || now.since(self.since) >= quantum.time
    }

    /// Everything between a lease and the report of its fetch.
    async fn visit(&mut self, lease: Lease) -> Next {
        let judged = match judge_queued(&self.node, &lease, FIRST) {
            Ok(judged) => judged,
            Err(turned) => return self.turn_away(lease, turned).await,
        };
        // A body for which there was no room on our disk is not begun again before there is some.
        if self.node.permits.spill.is_short() && self.node.spilled(&lease.core().url_key) > 0 {
            let at = self.node.after_spill(&lease.core().url_key);
            self.end(lease, Ending::Wait { at, reason: Failure::Spill }, 0).await;
            return Next::GoOn;
        }
        self.guess = matches!(self.node.guess_of(&lease), Ok(Some(_)));
        let core = lease.core().clone();
        let (route, permits) = match core.held(Stage::Host, self.prepare(&lease)).await {
            Ok(ready) => ready,
            Err(NotReady::Unreachable(failure)) => return self.without_fetch(lease, failure).await,
            Err(NotReady::Disallowed) => return self.turn_away(lease, (Rejection::Robots, 0)).await,
            Err(NotReady::RobotsUnreachable(away)) => return self.out_of_reach(lease, away).await,
            Err(NotReady::Later(until)) => return Next::GiveUp(Some(until)),
        };
        // It may have waited for long.
        if let Err(turned) = judge_queued(&self.node, &lease, judged) {
            drop(permits);
            return self.turn_away(lease, turned).await;
        }
        self.pages += 1;
        let SendPermits { slot, page, on_wire } = permits;
        let url = lease.url.clone();
        let usage = self.robots.usage(&url);
        let last = self.last_capture(&lease);
        let purpose = FetchPurpose::Page { lease: Box::new(lease), usage, last, permit: page };
        // Without a report the fetch died; its lease and slot came back by Drop.
        let _ = self.request(&self.at.host, url, route, slot, on_wire, purpose).await;
        Next::GoOn
    }

    /// The capture that a URL had before it was queued once more.
    pub(super) fn last_capture(&self, lease: &Lease) -> Option<Box<PageRecord>> {
        let (again, core) = (lease.entry.again.as_ref()?, lease.core());
        let key = core.queue_key.host_crawl().url(core.url_key).page(again.captured);
        read::get::<Pages>(&*self.node.storage, &key).ok().flatten().map(Box::new) // without it all is asked for
    }

    /// Everything that a request for a page needs.
    async fn prepare(&self, lease: &Lease) -> Result<(Route, SendPermits), NotReady> {
        let url = &lease.url;
        self.node.faults.pass_url("host.visit", url);
        let route = self.route(url).await.map_err(NotReady::Unreachable)?;
        self.robots_allow(lease).await?;
        let place = Place { host: url.host(), address: route.ip(), pacer: &self.pacer };
        let permits = self.send_permits(&self.at.host, &place, Some(WORTH_WAITING)).await.map_err(NotReady::Later)?;
        Ok((route, permits))
    }

    /// Sends a request and waits for its report; `None` when it died.
    pub(super) async fn request(
        &self,
        host: &HostKey,
        url: PageUrl,
        route: Route,
        mut slot: Slot,
        on_wire: OwnedSemaphorePermit,
        purpose: FetchPurpose,
    ) -> Option<Report> {
        slot.begin();
        self.node.faults.pass("host.send");
        let (reply, report) = oneshot::channel();
        let Route { addresses, via } = route;
        let guess = self.guess && *host == self.at.host;
        self.node.fetcher_of(host).tell(Fetch { url, addresses, via, slot, on_wire, guess, purpose, reply });
        let answer = async {
            self.node.faults.wait("host.report").await;
            report.await.ok()
        };
        let limit = self.node.crawl.rules.settings.hung_after();
        let report = bounded(limit + limit / 4, "the report of a request", answer).await; // a request hangs before that
        self.node.faults.pass("host.reported");
        report
    }

    /// A URL that ends, or waits for another try, without a request. A resolver in trouble has nothing for the host's other
    /// URLs either: they are spared the attempt.
    async fn without_fetch(&self, lease: Lease, failure: Failure) -> Next {
        let ending = ending_of(&self.node, &FetchOutcome::Fault(failure), &lease, self.last_capture(&lease).as_deref());
        self.end(lease, ending, 0).await;
        if failure != Failure::DnsFailed {
            return Next::GoOn;
        }
        Next::GiveUp(Some(self.node.clock.now().plus(self.node.crawl.rules.settings.dns.servfail)))
    }

    /// Ends a URL without a request. It takes a permit all the same: what ends without waiting for a host would else fill
    /// the mailboxes behind. `judged`: the generation of rules that turned it away, 0 when it was not they.
    pub(super) async fn end(&self, lease: Lease, ending: Ending, judged: u32) {
        if let Some(permit) = self.node.permits.page().await {
            self.node.mailboxes().deduper.tell(Parsed::bare(lease, Some(permit), ending).judged_by(judged));
        }
    }

    /// Ends a queued URL that robots.txt forbids, or that the rules do not want any more.
    async fn turn_away(&self, lease: Lease, (reason, generation): (Rejection, u32)) -> Next {
        self.end(lease, Ending::Rejected(reason), generation).await;
        Next::GoOn
    }

    /// How a URL is reached: through a proxy that looks names up, or else by addresses of ours.
    pub(super) async fn route(&self, url: &PageUrl) -> Result<Route, Failure> {
        let via = self.node.crawl.live().routes.of(url);
        let unknown = via.as_ref().is_some_and(|proxy| proxy.resolves);
        let addresses = if unknown { Vec::new() } else { self.addresses(url).await? };
        Ok(Route { addresses, via })
    }

    /// The addresses to connect to, in this order: resolved once, checked, pinned (I7). Never empty.
    async fn addresses(&self, url: &PageUrl) -> Result<Vec<SocketAddr>, Failure> {
        let faults = &self.node.faults;
        let resolved = async {
            faults.wait("host.resolve").await;
            let stopwatch = Stopwatch::start();
            let found = self.node.net.resolver.resolve(url.host(), url.port()).await;
            self.node.telemetry.metrics.phase(Phase::Dns, stopwatch.elapsed());
            faults.wait("host.resolved").await;
            found
        };
        // A slow name server is no hung Host, however short the times of a fetch are.
        let limit = self.node.crawl.rules.settings.hung_after().max(self.node.net.resolver.patience());
        let found = bounded(limit, "the resolver", resolved).await;
        let addresses = found.map_err(|fault| fault.failure())?;
        let is_allowed = |address: &SocketAddr| self.node.net.guard.check(url.host(), *address).is_ok();
        let allowed: Vec<_> = addresses.into_iter().filter(is_allowed).take(MOST_ADDRESSES).collect();
        if allowed.is_empty() { Err(Failure::AddressRefused) } else { Ok(allowed) }
    }

    /// Everything a request needs, at or after its host's earliest time; `Err` when that lies too far off to wait here, or
    /// when others of a crowded group were faster for a whole quantum: then hosts of other groups get the place.
    ///
    /// Order: slot, page permit, place on the wire. Who holds a permit never waits for a slot, so no ring can close.
    pub(super) async fn send_permits(
        &self,
        host: &HostKey,
        place: &Place<'_>,
        worth_waiting: Option<Duration>,
    ) -> Result<SendPermits, UnixMillis> {
        let began = self.node.clock.now();
        let own = *host == self.at.host;
        let _in_line = own.then(|| place.pacer.queue());
        loop {
            let live = self.node.crawl.live();
            let pacers = pacers(&self.node, &live, place);
            self.earliest(host, &pacers, worth_waiting).await?;
            if !own && !place.pacer.lets_cross_host() {
                tokio::time::sleep(LOOK).await;
                continue;
            }
            let Some(slot) = pacers.take(&self.node.clock).await else { return std::future::pending().await };
            self.node.faults.pass("host.slot");
            if !self.may_go(host, &slot, live.generation) {
                let (now, quantum) = (self.node.clock.now(), &self.node.crawl.rules.settings.frontier.host_quantum);
                if worth_waiting.is_some() && now.since(began) > quantum.time {
                    return Err(now);
                }
                continue;
            }
            let Some((page, on_wire)) = self.node.permits.request().await else { return std::future::pending().await };
            self.node.faults.pass("host.permit");
            // While this lane waited for permits, a pause may have come, or another lane's answer moved the time.
            if self.may_go(host, &slot, live.generation) {
                if slot.earliest() > UnixMillis(0) {
                    self.node.telemetry.metrics.lateness(self.node.clock.now().since(slot.earliest())); // else it was never asked before
                }
                return Ok(SendPermits { slot, page, on_wire });
            }
        }
    }

    /// Not when other rules hold than those its pacers have taken up: they may ask for a longer gap.
    fn may_go(&self, host: &HostKey, slot: &Slot, generation: u32) -> bool {
        slot.earliest() <= self.node.clock.now()
            && !self.is_held(host)
            && self.node.crawl.live.generation() == generation
    }

    /// Nothing may be begun, or nothing of this host. A lane whose own host is held waits here until it is retired.
    fn is_held(&self, host: &HostKey) -> bool {
        self.node.holds() || self.node.crawl.orders.holds(host)
    }

    /// Waits, without any token, until the time has come and nothing is on hold.
    async fn earliest(&self, host: &HostKey, pacers: &Pacers, patience: Option<Duration>) -> Result<(), UnixMillis> {
        loop {
            let earliest = pacers.earliest();
            let wait = earliest.since(self.node.clock.now());
            if patience.is_some_and(|most| wait > most) {
                return Err(earliest);
            }
            if !wait.is_zero() {
                tokio::time::sleep(wait).await;
            } else if self.is_held(host) {
                tokio::time::sleep(LOOK).await;
            } else {
                return Ok(());
            }
        }
    }

    /// What robots.txt of the URL's scheme, host and port says; fetched here when there is no fresh copy.
    async fn robots_allow(&self, lease: &Lease) -> Result<(), NotReady> {
        let url = &lease.url;
        if !self.node.crawl.rules.settings.politeness.respect_robots {
            return Ok(());
        }
        if let Some(standing) = self.robots.standing(&self.node, self.at, url, &self.pacer) {
            return standing;
        }
        // Else it would keep the host's place for as long as that.
        let earliest = self.pacer.earliest();
        if earliest.since(self.node.clock.now()) > WORTH_WAITING {
            return Err(NotReady::Later(earliest));
        }
        let _one_at_a_time = self.robots.fetching.lock().await; // may last: who holds it waits for the host's slot
        if let Some(standing) = self.robots.standing(&self.node, self.at, url, &self.pacer) {
            return standing; // another lane was faster
        }
        bounded(self.node.crawl.rules.settings.hung_after(), "robots.txt", self.node.faults.wait("host.robots")).await;
        let key = self.at.robots(url.scheme(), url.port());
        let asked = self.node.net.asking.begin(key, self.node.clock.now());
        let learned = robots::fetch(self, url).await;
        self.node.faults.pass("host.robots.learned");
        self.robots.learn(&self.node, self.at, lease, &self.pacer, learned);
        drop(asked);
        self.robots.says(&self.node, url) // also when robots.max_age is so short that the next one is due by now
    }
}

/// How a URL is reached.
#[derive(Clone)]
pub(super) struct Route {
    /// Empty where a proxy looks the name up.
    addresses: Vec<SocketAddr>,
    via: Option<Arc<Proxy>>,
}

impl Route {
    /// The address whose pacer is taken: the first, which is most often the one that answers.
    pub(super) fn ip(&self) -> Option<IpAddr> {
        self.addresses.first().map(SocketAddr::ip)
    }
}

/// Why a URL is not requested now.
pub(super) enum NotReady {
    /// No address to connect to.
    Unreachable(Failure),
    /// robots.txt forbids it.
    Disallowed,
    /// robots.txt cannot be had: nothing of its scheme, host and port for now.
    RobotsUnreachable(RobotsUnreachable),
    /// Its host's time lies too far off.
    Later(UnixMillis),
}

/// What a request needs to go out.
pub(super) struct SendPermits {
    pub slot: Slot,
    pub page: PagePermit,
    pub on_wire: OwnedSemaphorePermit,
}
