//! What a node tells of itself: each thing that happens by one call, which logs it, counts it, and tells those who listen.

use super::Node;
use crate::crawl::supervise::Death;
use crate::storage::ledger::{Ending, PageChange};
use crate::telemetry::events::{EventKind, News, StateChange};
use crate::telemetry::notice::{Notice, NoticeKind};

/// So many fetches of robots.txt that failed in a row are told: by the default waits (5 min, 15 min, 1 h) some 20 min.
const ROBOTS_FAILURES: u8 = 3;

impl Node {
    /// The node changes its state. `text` is the line for the log.
    pub fn changed(&self, change: StateChange, text: impl Into<String>) {
        let text = text.into();
        log::log!(change.level(), "{text}");
        self.tell(|| News::state(change, text.clone()));
        if change.degrades() {
            self.telemetry.notices.give(|| self.notice(NoticeKind::Degraded, change.as_str(), &text, None));
        }
    }

    /// A host is left alone for long: it refuses, or its rules cannot be read.
    pub fn host_blocked(&self, host: &str, reason: &'static str, text: &str) {
        log::info!("{text}: host={host} reason={reason}");
        self.telemetry.metrics.host_blocked(reason);
        self.tell(|| News {
            host: Some(host.into()),
            text: Some(text.into()),
            ..News::new(EventKind::Blocked, reason)
        });
        self.telemetry.notices.give(|| self.notice(NoticeKind::HostBlocked, reason, text, Some(host)));
    }

    /// The robots.txt at that place could not be had, so often in a row; `stale`: a copy kept from before stands in.
    pub(in crate::crawl) fn robots_failed(&self, host: &str, at: &str, failures: u8, stale: bool) {
        match (failures == ROBOTS_FAILURES, stale) {
            (false, _) => {}
            (true, true) => log::info!("{at} stays out of reach: the copy kept from before holds (robots.keep_stale)"),
            (true, false) => {
                let text = format!("{at} stays out of reach: nothing of its scheme, host and port is fetched");
                self.host_blocked(host, "robots_unreachable", &text);
            }
        }
    }

    /// A page was committed.
    pub(in crate::crawl) fn tell_page(&self, page: &PageChange) {
        self.tell(|| {
            let (kind, reason) = match &page.ending {
                Ending::Done(how) => (EventKind::Page, how.as_str()),
                Ending::Kept(half) => (EventKind::Page, half.how.as_str()),
                Ending::Error(failure) => (EventKind::Error, failure.as_str()),
                Ending::Retry { reason, .. } | Ending::Wait { reason, .. } => (EventKind::Retry, reason.as_str()),
                Ending::Rejected(rejection) => (EventKind::Rejected, rejection.as_str()),
            };
            let capture = page.capture.as_ref();
            News {
                url: Some(page.url.to_string()),
                host: Some(page.url.host().to_owned()),
                status: page.status,
                bytes: capture.map(|c| c.bytes),
                ms: capture.map(|c| c.took_ms),
                title: capture.and_then(|c| c.title.clone()),
                ..News::new(kind, reason)
            }
        });
    }

    /// An actor died.
    pub(in crate::crawl) fn tell_death(&self, death: &Death) {
        let kind = death.kind.as_str();
        self.tell(|| {
            let host = Some(&death.instance).filter(|name| !name.is_empty()).cloned();
            News { host, text: Some(death.why.clone()), ..News::new(EventKind::Restart, kind) }
        });
    }

    /// A notice of this moment.
    pub fn notice(&self, event: NoticeKind, reason: &str, text: &str, host: Option<&str>) -> Notice {
        let (reason, text, host) = (reason.to_owned(), text.to_owned(), host.map(str::to_owned));
        Notice { event, ts_ms: self.clock.date().0, reason, text, host }
    }

    fn tell(&self, news: impl FnOnce() -> News) {
        self.telemetry.events.tell(self.clock.date().0, news);
    }
}
