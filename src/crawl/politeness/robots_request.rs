//! Requests for robots.txt: to the lane's own host, and to others that a redirect names. URLs whose robots.txt is out
//! of reach wait for it, those of other schemes and ports of their host do not.

use std::sync::Arc;
use std::time::Duration;

use super::Next;
use super::lane::{Lane, SendPermits};
use super::pacers::Place;
use super::robots::RobotsUnreachable;
use crate::base::clock::Stopwatch;
use crate::base::time::UnixMillis;
use crate::crawl::admit::is_foreign;
use crate::crawl::fetcher::{FetchPurpose, Report, ending_of};
use crate::crawl::lease::Lease;
use crate::crawl::slot::Pacer;
use crate::domain::outcome::FetchOutcome;
use crate::domain::reason::Failure;
use crate::domain::robots::{RobotsStatus, classify};
use crate::domain::url::{PageUrl, Scheme};
use crate::storage::ledger::Ending;
use crate::storage::{StorageError, read};

/// How often a request that died on our side is made again.
const OWN_FAULTS: u32 = 5;
/// The wait after the first answer for which there was no room on our disk; each further one doubles it.
const NO_ROOM: Duration = Duration::from_secs(1);
/// How long a redirect to another host waits for that host's slot.
const PATIENCE: Duration = Duration::from_secs(20);
/// Queue entries read at a time.
const PIECE: usize = 256;
/// So long nobody is led to a host where another's robots.txt was out of reach.
const REST: Duration = Duration::from_secs(300);

/// Whether nothing was to be had, and would not be for the next one either.
fn is_out_of_reach(report: &Report) -> bool {
    match (&report.outcome, &report.robots) {
        (FetchOutcome::Fault(failure), _) => !matches!(failure, Failure::AddressRefused | Failure::Spill),
        (FetchOutcome::Answer(answer), Some(robots)) => {
            answer.challenge || classify(robots.status) == RobotsStatus::Unreachable
        }
        (FetchOutcome::Answer(_), None) => false,
    }
}

impl Lane {
    /// A request to another host to which it was redirected. Whoever asks there first asks for all that are led to the
    /// same place; one of them at a time stands behind that host's own lanes.
    pub(super) async fn ask_robots_elsewhere(&self, url: &PageUrl, pacer: &Arc<Pacer>) -> Option<Report> {
        let (node, began) = (&self.node, Stopwatch::start());
        let known = || node.net.targets.known(url, node.clock.now(), node.crawl.rules.robots.max_age);
        if node.crawl.orders.blocks().on(url.host()) {
            return Some(Report::fault(Failure::AddressRefused));
        }
        if is_foreign(node, url) {
            return Some(Report::fault(Failure::RobotsUnreachable)); // requests to that host are its owner's (I12)
        }
        if let Some(report) = known() {
            return Some(report);
        }
        let away = || {
            let now = node.clock.now();
            pacer.refuses_cross_host(now) || pacer.earliest() > now.plus(PATIENCE)
        };
        let out_of_reach = || Some(Report::fault(Failure::RobotsUnreachable));
        if away() {
            return out_of_reach(); // who waits for a host that rests keeps others from their turn
        }
        let Ok(turn) = tokio::time::timeout(PATIENCE, pacer.cross_host()).await else { return out_of_reach() };
        let _turn = turn?;
        if let Some(report) = known() {
            return Some(report); // another host was led there too
        }
        if away() {
            return out_of_reach();
        }
        let report = self.ask_robots(url, pacer, PATIENCE.saturating_sub(began.elapsed())).await;
        if report.as_ref().is_none_or(is_out_of_reach) {
            pacer.refuse_cross_host(node.clock.now().plus(REST));
        }
        let Some(report) = report else { return out_of_reach() };
        node.net.targets.keep(url, &report, node.clock.now());
        Some(report)
    }

    /// One request for robots.txt.
    pub(super) async fn ask_robots(&self, url: &PageUrl, pacer: &Arc<Pacer>, patience: Duration) -> Option<Report> {
        let host = self.node.prints.host(url.host());
        let cross_host = host != self.at.host;
        let route = match self.route(url).await {
            Ok(route) => route,
            Err(failure) => return Some(Report::fault(failure)),
        };
        let place = Place { host: url.host(), address: route.ip(), pacer };
        for fault in 0..OWN_FAULTS {
            let permits = tokio::time::timeout(patience, self.send_permits(&host, &place, None)).await.ok()?.ok()?;
            let SendPermits { slot, page: _page, on_wire } = permits;
            let purpose = FetchPurpose::Robots { cross_host };
            let report = self.request(&host, url.clone(), route.clone(), slot, on_wire, purpose).await;
            if cross_host {
                pacer.served_cross_host();
            }
            // The fetch died, or our disk refused the answer: that is no fault of the host, and its robots.txt must not count
            // as unreachable.
            match report {
                Some(report) if report.outcome == FetchOutcome::Fault(Failure::Spill) => {
                    tokio::time::sleep(NO_ROOM * 2_u32.pow(fault)).await;
                }
                Some(report) => return Some(report),
                None => {}
            }
        }
        Some(Report::fault(Failure::Reset))
    }

    /// A crawl that is to come to an end charges each of these URLs an attempt a round, so that they end. A daemon goes on asking:
    /// there they wait without a charge, but for hosts that do not answer at all, and seeds without a scheme, which have http left. A host that has no other URLs rests as a
    /// whole, which spares its queue from being written anew each time.
    pub(super) async fn out_of_reach(&self, lease: Lease, away: RobotsUnreachable) -> Next {
        let RobotsUnreachable { until, fault, charged } = away;
        let failure = fault.unwrap_or(Failure::RobotsUnreachable);
        if self.node.crawl.live().settings.crawl.until_done || self.guess {
            self.charge(lease, failure, until).await;
            return Next::GoOn;
        }
        if !self.robots.mixed.get() {
            // A queue that cannot be read is taken to be: URLs are put off one by one, none waits that need not.
            self.robots.mixed.set(self.is_mixed((lease.url.scheme(), lease.url.port())).await.unwrap_or(true));
        }
        let mixed = self.robots.mixed.get();
        if charged {
            self.charge(lease, failure, until).await;
        } else if mixed {
            self.end(lease, Ending::Wait { at: until, reason: Failure::RobotsUnreachable }, 0).await;
        }
        if mixed { Next::GoOn } else { Next::GiveUp(Some(until)) }
    }

    /// Ends a URL, or has it wait until robots.txt is asked for again.
    async fn charge(&self, lease: Lease, failure: Failure, until: UnixMillis) {
        let last = self.last_capture(&lease);
        let ending = match ending_of(&self.node, &FetchOutcome::Fault(failure), &lease, last.as_deref()) {
            Ending::Retry { at, reason } => Ending::Retry { at: at.max(until), reason },
            ending => ending,
        };
        self.end(lease, ending, 0).await;
    }

    /// Whether the host's queue holds a URL of another scheme or port.
    async fn is_mixed(&self, place: (Scheme, u16)) -> Result<bool, StorageError> {
        let node = &self.node;
        let counts = read::host_counts(&*node.storage, self.at.crawl(node.crawl.id))?.unwrap_or_default();
        for (rank, head) in (0_u8..).zip(counts.heads) {
            let mut from = head;
            loop {
                let found = read::queue_from(&*node.storage, self.at, node.crawl.id, rank, from, PIECE)?;
                if found.iter().any(|(_, entry)| (entry.scheme, entry.port) != place) {
                    return Ok(true);
                }
                match found.last() {
                    Some((last, _)) if found.len() == PIECE => from = last.order.saturating_add(1),
                    _ => break,
                }
                tokio::task::yield_now().await; // a long queue must not keep the other hosts of this thread waiting
            }
        }
        Ok(false)
    }
}
