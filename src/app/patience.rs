//! How long a crawl that is to end by itself waits for what is left (`crawl.until_done`).

use std::sync::atomic::Ordering;
use std::time::Duration;

use super::next;
use crate::actors::node::{Node, Stop};
use crate::config::CrawlSection;
use crate::config::units::roughly;
use crate::domain::time::UnixMillis;
use crate::storage::values::Counters;

/// After so long without anything finished it is asked when there will be something to do.
const SETTLED: Duration = Duration::from_secs(1);
/// Requests in flight make the wait longer by this at least, however short the patience is.
const IN_FLIGHT: Duration = Duration::from_secs(60);

/// `until_done`: over when nothing is left; when nothing was finished for `until_done_patience`; or at once when nothing
/// can be done before that time is over. As long as no page was fetched, `until_done_first_patience` takes its place.
///
/// Only what is finished is progress. While requests are in flight the time does not begin, but for a bounded while only: else hosts
/// that never answer, or drip, would keep a crawl for ever, one after the other.
pub(super) struct Patience {
    finished: u64,
    /// The last progress.
    since: UnixMillis,
    /// Until when requests were in flight since then.
    busy: UnixMillis,
    looked: UnixMillis,
    /// The wait has been told.
    told: bool,
}

impl Patience {
    pub(super) fn new(now: UnixMillis) -> Self {
        Self { finished: 0, since: now, busy: now, looked: now, told: false }
    }

    pub(super) fn over(&mut self, node: &Node) -> Option<Stop> {
        let now = node.clock.now();
        let counters = node.counters();
        let finished = counters.done.saturating_add(counters.error()).saturating_add(counters.rejected_total());
        let paused = node.paused.load(Ordering::Acquire) || node.draining.load(Ordering::Acquire);
        let busy = !node.is_quiet();
        if finished != self.finished || paused {
            (self.finished, self.since, self.busy, self.told) = (finished, now, now, false);
            next::publish(node, None);
        }
        let live = node.live();
        let crawl = &live.settings.crawl;
        let nothing_left = counters.queued == 0 && !node.live.is_readmitting();
        if crawl.until_done && nothing_left && counters.discovered > 0 && node.is_quiet() {
            return Some(Stop::Done);
        }
        if busy {
            (self.busy, self.looked) = (now, now);
            next::publish(node, None);
            let over = now >= self.begin(crawl).plus(crawl.until_done_patience);
            return (crawl.until_done && over).then(|| self.gives_up(node, &counters, now, None)).flatten();
        }
        if now.since(self.since) < SETTLED || now.since(self.looked) < SETTLED {
            return None;
        }
        self.looked = now;
        let next = if node.disk.holds() { None } else { next_try(node) };
        next::publish(node, next);
        crawl.until_done.then(|| self.gives_up(node, &counters, now, next)).flatten()
    }

    /// When the patience begins: with the last progress, or with the end of the requests then in flight, where that comes no
    /// later than once the patience, and at least a minute.
    fn begin(&self, crawl: &CrawlSection) -> UnixMillis {
        self.busy.min(self.since.plus(crawl.until_done_patience.max(IN_FLIGHT)))
    }

    /// `next`: when there will be something to do; `None` when something may be done now.
    fn gives_up(
        &mut self,
        node: &Node,
        counters: &Counters,
        now: UnixMillis,
        next: Option<UnixMillis>,
    ) -> Option<Stop> {
        let live = node.live();
        let crawl = &live.settings.crawl;
        let fetched_any = counters.statuses.range(200..300).next().is_some();
        let first = crawl.until_done_first_patience.min(crawl.until_done_patience);
        let until = self.begin(crawl).plus(if fetched_any { crawl.until_done_patience } else { first });
        if let Some(why) = node.disk.why() {
            let ends = |why| Stop::Disk(format!("not waiting any longer (crawl.until_done_patience): {why}"));
            return (now >= until).then(|| ends(why));
        }
        let next_in = || next.map_or_else(|| "unknown".into(), |at| format!("in {}", roughly(at.since(now))));
        if next.is_some_and(|at| at > until) || now.since(self.begin(crawl)) >= crawl.until_done_patience {
            log::warn!(
                "not waiting any longer, what is left stays in the data folder for another run: urls={} next_try={:?}",
                counters.queued,
                next_in(),
            );
            return Some(Stop::Done);
        }
        if next.is_some() && !std::mem::replace(&mut self.told, true) {
            log::info!(
                "only retries are left, waiting for them (crawl.until_done_patience says how long): urls={} next_try={:?} \
                 until_at_most={:?}",
                counters.queued,
                next_in(),
                format!("in {}", roughly(until.since(now))),
            );
        }
        None
    }
}

/// A look that fails is repeated; the rooms that read the same records stop the node when it goes on.
fn next_try(node: &Node) -> Option<UnixMillis> {
    next::next_try(node).unwrap_or_else(|e| {
        log::warn!("it cannot be told when the next retry is due: {e}");
        None
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_in_flight_put_off_the_patience_once_and_for_a_bounded_while() {
        let minutes = |n: u64| Duration::from_secs(60 * n);
        let since = UnixMillis(1_000_000);
        for (patience, busy, put_off) in [
            (minutes(10), minutes(0), minutes(0)),
            (minutes(10), minutes(7), minutes(7)),
            (minutes(10), minutes(90), minutes(10)), // as long again, and no longer
            (Duration::from_secs(1), minutes(90), minutes(1)),
        ] {
            let crawl = CrawlSection { until_done_patience: patience, ..CrawlSection::default() };
            let waits = Patience { since, busy: since.plus(busy), ..Patience::new(since) };
            assert_eq!(waits.begin(&crawl), since.plus(put_off), "{patience:?} {busy:?}");
        }
    }
}
