//! What a node keeps of what happens: counts for the metrics, troubles for people.

use std::sync::atomic::Ordering;
use std::time::Duration;

use super::Node;
use crate::base::disk::DiskFault;
use crate::base::time::UnixMillis;
use crate::crawl::store::{Commit, room_taken};
use crate::domain::fingerprint::UrlKey;
use crate::domain::outcome::FetchOutcome;
use crate::domain::reason::{Failure, Rejection};
use crate::domain::robots::RobotsAccess;
use crate::net::protocol::Timings;
use crate::storage::ledger::{Change, Ending, PageChange};
use crate::storage::read;
use crate::storage::values::{Consumers, DoneKind};
use crate::telemetry::metrics::{Phase, Registry};
use crate::telemetry::trouble::ROBOTS_UNREACHABLE;
use crate::telemetry::{Attempt, StateChange, StatusSnapshot};

impl Node {
    /// Counts a committed change for the outside.
    pub fn note_committed(&self, commit: &Commit) {
        let page = match &commit.change {
            Change::Page(page) => page,
            Change::Robots { key, host, value, .. } if value.copy.failures > 0 => {
                let what = match value.copy.status {
                    0 => "no answer".to_owned(),
                    200..=299 => format!("status {}, but its text did not come whole", value.copy.status),
                    status => format!("status {status}"),
                };
                let port = Some(key.port).filter(|port| *port != key.scheme.default_port());
                let port = port.map(|port| format!(":{port}")).unwrap_or_default();
                let standing = self.crawl.rules.robots.standing(&value.copy, self.clock.now());
                let at = format!("{}://{host}{port}/robots.txt", key.scheme.as_str());
                self.trouble(ROBOTS_UNREACHABLE, &at, Some(what));
                self.robots_failed(host, &at, value.copy.failures, standing == RobotsAccess::Stale);
                return;
            }
            _ => return,
        };
        self.note_trouble(page);
        self.tell_page(page);
        match &page.ending {
            Ending::Error(failure) => self.telemetry.metrics.error(*failure),
            Ending::Retry { reason, .. } => self.telemetry.metrics.retry(*reason),
            Ending::Wait { .. } | Ending::Rejected(_) | Ending::Done(_) | Ending::Kept(_) => {}
        }
        if let Some(capture) = &page.capture {
            let (stored, revisits) = (capture.how != DoneKind::Unstored, capture.how.is_revisit());
            self.telemetry.metrics.stored(stored.into(), revisits.into());
            self.telemetry.metrics.received(capture.bytes);
            capture.remarks.notes.iter().for_each(|note| self.telemetry.metrics.note(*note));
            let answered = capture.fetched.plus(Duration::from_millis(capture.took_ms.into()));
            self.telemetry.metrics.commit_lag(self.clock.date().since(answered));
        }
    }

    /// Counts what became of a request.
    pub fn note_fetched(&self, outcome: &FetchOutcome, timings: Option<&Timings>) {
        if let FetchOutcome::Answer(answer) = outcome {
            self.telemetry.metrics.response(answer.status);
        }
        if let Some(t) = timings {
            let phases = [
                (Phase::Connect, t.connect),
                (Phase::Tls, t.tls),
                (Phase::FirstByte, t.first_byte),
                (Phase::Body, t.body),
                (Phase::Total, t.total),
            ];
            for (phase, took) in phases.into_iter().filter(|(_, took)| !took.is_zero()) {
                self.telemetry.metrics.phase(phase, took);
            }
        }
    }

    /// How often in a row there was no room on our disk for a page, as far as it is remembered.
    pub fn spilled(&self, page: &UrlKey) -> u32 {
        let spilled = |attempt: &&Attempt| attempt.reason == Failure::Spill.as_str();
        self.telemetry.attempts.of(page).iter().take_while(spilled).count().try_into().unwrap_or(u32::MAX)
    }

    /// When a page for which there was no room on our disk is tried again: after a wait that grows with each time in a row.
    pub fn after_spill(&self, page: &UrlKey) -> UnixMillis {
        self.clock.now().plus(self.crawl.live().retry.own_fault(self.spilled(page)))
    }

    /// A temporary file could not be written. When that is the disk's fault the crawl pauses.
    pub fn spill_failed(&self, error: &str) {
        let Some(fault) = DiskFault::of_text(error) else { return };
        if self.disk.spill_failed(fault, error, self.clock.now()) {
            let fault = fault.as_str();
            let text = format!("temporary files cannot be written, the crawl pauses: fault={fault} error={error}");
            self.changed(StateChange::DiskBroken, text);
        }
    }

    /// Brings the gauges up to date.
    pub fn publish_metrics(&self, status: &StatusSnapshot) {
        let operator = self.crawl.switches.paused.load(Ordering::Acquire);
        let lease = self.fence.left();
        let is_over = lease.is_some_and(|left| left.is_zero());
        self.telemetry.metrics.paused([operator, self.disk.is_low(), self.disk.is_broken(), is_over]);
        self.telemetry.metrics.lease(lease.unwrap_or_default());
        self.telemetry.metrics.publish(status);
        let (here, withheld) = (self.permits.pages.available_permits(), self.permits.withheld.load(Ordering::Acquire));
        let taken = self.permits.pages_total.saturating_sub(here).saturating_sub(withheld);
        self.telemetry.metrics.permits(self.permits.free() as u64, taken as u64, withheld as u64);
        let registries = [
            (Registry::Leases, self.crawl.leases.len()),
            (Registry::Slots, self.slots.hosts()),
            (Registry::SlotGroups, self.slots.groups()),
            (Registry::DnsNames, self.net.resolver.names_kept()),
        ];
        registries.into_iter().for_each(|(registry, n)| self.telemetry.metrics.entries(registry, n));
        let stats = self.storage.stats();
        self.telemetry.metrics.storage(&stats);
        self.telemetry.metrics.store(self.crawl.progress.sync_age(&self.clock), room_taken(&self.permits.store_room));
        let shown = self.crawl.progress.fed.borrow().unwrap_or(0);
        let consumers: Consumers = read::meta(&*self.storage, ()).ok().flatten().unwrap_or_default();
        let unread = consumers.held_after().map_or(0, |after| shown.saturating_sub(after));
        self.telemetry.metrics.feed(shown, unread);
        for outbox in status.member.iter().flat_map(|member| &member.outbox) {
            self.telemetry.metrics.outbox(&outbox.to, outbox.bytes);
        }
        #[cfg(feature = "search")]
        if let Some(reader) = self.index.reader() {
            let told = self.index.told();
            self.telemetry.metrics.index(reader.documents(), shown.saturating_sub(told.committed), told.bytes);
        }
        for sink in &self.sinks {
            let told = sink.told();
            let of = (shown.saturating_sub(told.after), told.away_since.is_some());
            self.telemetry.metrics.sink(&sink.name, of, [told.sent, told.rejected + told.skipped, told.failures]);
        }
        self.telemetry.metrics.clock_ahead(self.clock.ahead());
        let filter = self.crawl.filter.bytes.load(Ordering::Relaxed);
        self.telemetry.metrics.memory(self.permits.memory.max, stats.memory, filter);
        self.telemetry.metrics.in_hand(status.in_flight, self.permits.parsing.load(Ordering::Relaxed));
        self.telemetry.metrics.dns(self.net.resolver.stats());
        self.telemetry.metrics.listening(self.telemetry.events.listeners(), self.telemetry.events.missed());
    }

    /// Keeps a failure for people; the first of its kind is worth a line.
    fn trouble(&self, reason: &'static str, url: &str, said: Option<String>) {
        let example = said.as_ref().map_or_else(|| url.to_owned(), |said| format!("{url} ({said})"));
        if self.telemetry.troubles.note(self.clock.now(), reason, example) {
            let said = said.map(|said| format!(" said={said:?}")).unwrap_or_default();
            log::warn!("first trouble of its kind: reason={reason} url={url}{said}");
        }
    }

    /// Keeps what went wrong with a page for people.
    fn note_trouble(&self, page: &PageChange) {
        for turned in page.links.turned.iter().filter(|t| t.reason == Rejection::Scope || t.reason.is_held_back()) {
            self.telemetry.troubles.tally(turned.reason.as_str(), turned.new.url.to_string());
        }
        match &page.ending {
            Ending::Error(failure) | Ending::Retry { reason: failure, .. } => {
                let status = page.status;
                let (url, at) = (self.prints.url(&page.url), self.clock.date());
                self.telemetry.attempts.note(Attempt { url, at, reason: failure.as_str(), status });
                if *failure == Failure::RobotsUnreachable {
                    return; // it was told with what robots.txt answered
                }
                self.trouble(failure.as_str(), page.url.as_str(), status.map(|status| format!("status {status}")));
            }
            Ending::Rejected(rejection) => self.telemetry.troubles.tally(rejection.as_str(), page.url.to_string()),
            Ending::Wait { .. } | Ending::Done(_) | Ending::Kept(_) => {}
        }
    }
}
