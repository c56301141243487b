//! Requests for robots.txt: to the lane's own host, and to others that a redirect names.

use std::sync::Arc;
use std::time::Duration;

use super::lane::{Lane, SendPermits};
use super::pacers::Place;
use crate::base::clock::Stopwatch;
use crate::crawl::fetcher::{FetchPurpose, Report};
use crate::crawl::slot::Pacer;
use crate::domain::outcome::FetchOutcome;
use crate::domain::reason::Failure;
use crate::domain::robots::{RobotsStatus, classify};
use crate::domain::url::PageUrl;

/// How often a request that died on our side is made again.
const OWN_FAULTS: u32 = 5;
/// The wait after the first answer for which there was no room on our disk; each further one doubles it.
const NO_ROOM: Duration = Duration::from_secs(1);
/// How long a redirect to another host waits for that host's slot.
const PATIENCE: Duration = Duration::from_secs(20);
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
    /// One request of this lane's host for robots.txt.
    pub(super) async fn request_robots(&self, url: &PageUrl, pacer: &Arc<Pacer>) -> Option<Report> {
        self.ask(url, pacer, Duration::MAX, false).await
    }

    /// The same of another host to which it was redirected. Whoever asks there first asks for all that are led to the same place;
    /// one of them at a time stands behind that host's own lanes.
    pub(super) async fn request_cross_host_robots(&self, url: &PageUrl, pacer: &Arc<Pacer>) -> Option<Report> {
        let (node, began) = (&self.node, Stopwatch::start());
        let known = || node.net.targets.known(url, node.clock.now(), node.crawl.rules.robots.max_age);
        if node.crawl.orders.blocks().on(url.host()) {
            return Some(Report::fault(Failure::AddressRefused));
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
        let report = self.ask(url, pacer, PATIENCE.saturating_sub(began.elapsed()), true).await;
        if report.as_ref().is_none_or(is_out_of_reach) {
            pacer.refuse_cross_host(node.clock.now().plus(REST));
        }
        let Some(report) = report else { return out_of_reach() };
        node.net.targets.keep(url, &report, node.clock.now());
        Some(report)
    }

    /// `cross_host`: the host is not this lane's own.
    async fn ask(&self, url: &PageUrl, pacer: &Arc<Pacer>, patience: Duration, cross_host: bool) -> Option<Report> {
        let host = self.node.prints.host(url.host());
        let route = match self.route(url).await {
            Ok(route) => route,
            Err(failure) => return Some(Report::fault(failure)),
        };
        let place = Place { host: url.host(), address: route.ip(), pacer };
        for fault in 0..OWN_FAULTS {
            let permits = tokio::time::timeout(patience, self.send_permits(&host, &place, None)).await.ok()?.ok()?;
            let SendPermits { slot, page: _page, on_wire } = permits;
            let report = self
                .request(&host, url.clone(), route.clone(), slot, on_wire, FetchPurpose::Robots { cross_host })
                .await;
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
}
