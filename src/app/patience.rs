//! How long a crawl that is to end by itself waits for what is left (`crawl.until_done`).

use std::sync::atomic::Ordering;
use std::time::Duration;

use super::next::{self, Ahead, Moments};
use crate::base::time::UnixMillis;
use crate::base::units::roughly;
use crate::config::CrawlSection;
use crate::crawl::node::{Node, Stop};
use crate::storage::values::Counters;
use crate::telemetry::trouble::{CHECKPOINT, CLOCK, UPLOAD};

/// After so long without anything finished it is asked when there will be something to do.
const SETTLED: Duration = Duration::from_secs(1);
/// Requests in flight make the wait longer by this at least, however short the patience is.
const IN_FLIGHT: Duration = Duration::from_secs(60);
/// The patience with retries is this part of the time crawled, ...
const PART: u32 = 10;
/// ... at least so long, ...
const LEAST: Duration = Duration::from_secs(30);
/// ... and at most so long. What is no retry is waited for so long: an ordinary gap, a pause that a server or the operator asked for, the
/// back-off of a host that has URLs which were never tried.
const MOST: Duration = Duration::from_secs(3_600);
/// The back-off of hosts is waited for in vain, without a page, for so many times the longest wait altogether: else one that only
/// refuses, or does not answer, would keep a crawl for as many hours as it has URLs.
const IN_VAIN: u32 = 2;
/// What was waited for is given so long to begin.
const BEGINS: Duration = Duration::from_secs(10);

/// `until_done`: over when nothing is left; when nothing was finished for as long as the patience is; or at once when nothing
/// can be done before that time is over. As long as no page was fetched, `until_done_first_patience` takes its place.
///
/// Only what is finished is progress. While requests are in flight the time does not begin, but for a bounded while only: else hosts
/// that never answer, or drip, would keep a crawl for ever, one after the other.
pub(super) struct Patience {
    finished: u64,
    began: UnixMillis,
    /// The last progress.
    since: UnixMillis,
    /// Until when requests were in flight since then.
    busy: UnixMillis,
    /// The last request that failed: a pause begins with its end.
    failed: UnixMillis,
    /// Pages done, and what was waited in vain since the last of them.
    done: u64,
    in_vain: Duration,
    looked: UnixMillis,
    /// What was waited for last: when there was to be something to do.
    awaited: UnixMillis,
    /// The wait has been told.
    told: bool,
}

impl Patience {
    pub(super) fn new(now: UnixMillis) -> Self {
        let (finished, done) = Default::default();
        Self {
            finished,
            began: now,
            since: now,
            busy: now,
            failed: now,
            done,
            in_vain: Duration::ZERO,
            looked: now,
            awaited: UnixMillis(0),
            told: false,
        }
    }

    pub(super) fn over(&mut self, node: &Node) -> Option<Stop> {
        let now = node.clock.now();
        let counters = node.crawl.counters();
        let finished = counters.done.saturating_add(counters.error()).saturating_add(counters.rejected_total());
        let paused =
            node.crawl.switches.paused.load(Ordering::Acquire) || node.crawl.switches.draining.load(Ordering::Acquire);
        self.failed = last_failure(node).unwrap_or(self.failed);
        let coming = node.crawl.live.is_readmitting() || counters.nearer_to_queue() > 0;
        let busy = !node.is_quiet() || coming;
        if finished != self.finished || paused {
            let waited = Some(now.since(self.since)).filter(|waited| *waited > LEAST).unwrap_or_default();
            let came = counters.done != self.done || paused;
            self.in_vain = if came { Duration::ZERO } else { self.in_vain.saturating_add(waited) };
            self.done = counters.done;
            (self.finished, self.since, self.busy, self.told) = (finished, now, now, false);
            next::publish(node, None);
        }
        let live = node.crawl.live();
        let crawl = &live.settings.crawl;
        let nothing_left = counters.queued == 0 && !coming;
        if crawl.until_done && nothing_left && counters.discovered > 0 && node.is_quiet() {
            return Some(Stop::Done);
        }
        if busy {
            (self.busy, self.looked) = (now, now);
            next::publish(node, None);
            return crawl.until_done.then(|| self.gives_up(node, &counters, now, Ahead::Now)).flatten();
        }
        if now.since(self.since) < SETTLED || now.since(self.looked) < SETTLED {
            return None;
        }
        self.looked = now;
        let ahead = if node.disk.holds() { Ahead::Now } else { look_ahead(node) };
        self.awaited = ahead.first().unwrap_or(self.awaited);
        next::publish(node, ahead.first());
        crawl.until_done.then(|| self.gives_up(node, &counters, now, ahead)).flatten()
    }

    /// When the patience begins: with the last progress, or with the end of the requests then in flight, where that comes no
    /// later than once the longest patience, and at least a minute.
    fn begin(&self, crawl: &CrawlSection) -> UnixMillis {
        self.busy.min(self.since.plus(longest(crawl).max(IN_FLIGHT)))
    }

    /// The patience with retries.
    fn with_retries(&self, crawl: &CrawlSection, fetched_any: bool) -> Duration {
        let follows = || (self.since.since(self.began) / PART).clamp(LEAST, MOST);
        let patience = crawl.until_done_patience.unwrap_or_else(follows);
        if fetched_any { patience } else { patience.min(crawl.until_done_first_patience) }
    }

    /// Until when the crawl waits at most for what lies ahead; `None` when that comes too late.
    fn waits_until(&self, crawl: &CrawlSection, ahead: Ahead, fetched_any: bool) -> Option<UnixMillis> {
        let (begin, longest) = (self.begin(crawl), longest(crawl));
        let Ahead::Later(Moments { retry, untried, asked, pace }) = ahead else {
            return Some(begin.plus(longest.max(IN_FLIGHT)).max(self.awaited.plus(BEGINS)));
        };
        let retries = begin.plus(self.with_retries(crawl, fetched_any));
        let pause = begin.max(self.failed.min(self.since.plus(longest.max(IN_FLIGHT))));
        let (asked_until, pace_until) = (pause.plus(longest), pause.plus(longest.max(MOST)));
        let in_vain = longest.saturating_mul(IN_VAIN).saturating_sub(self.in_vain);
        let untried_until = if fetched_any { asked_until.min(self.since.plus(in_vain)) } else { retries };
        if [retry, untried, asked, pace] == [None; 4] {
            return Some(asked_until.max(self.awaited.plus(BEGINS))); // the operator holds what is left, or it begins just now
        }
        let waits = [(retry, retries), (untried, untried_until), (asked, asked_until), (pace, pace_until)];
        let comes = |(at, until): (Option<UnixMillis>, UnixMillis)| {
            at.filter(|at| *at <= until).map(|at| until.max(at.plus(BEGINS)))
        };
        waits.into_iter().filter_map(comes).max()
    }

    fn gives_up(&mut self, node: &Node, counters: &Counters, now: UnixMillis, ahead: Ahead) -> Option<Stop> {
        let live = node.crawl.live();
        let crawl = &live.settings.crawl;
        let fetched_any = counters.statuses.range(200..300).next().is_some();
        if let Some(why) = node.disk.why() {
            let patience =
                if fetched_any { longest(crawl) } else { crawl.until_done_first_patience.min(longest(crawl)) };
            let ends = |why| Stop::Disk(format!("not waiting any longer (crawl.until_done_patience): {why}"));
            return (now >= self.begin(crawl).plus(patience)).then(|| ends(why));
        }
        let next = ahead.first();
        let next_in = || next.map_or_else(|| "unknown".into(), |at| format!("in {}", roughly(at.since(now))));
        let Some(until) = self.waits_until(crawl, ahead, fetched_any).filter(|until| now < *until) else {
            log::warn!(
                "not waiting any longer, what is left stays in the data folder for another run: urls={} next_try={:?}",
                counters.queued,
                next_in(),
            );
            return Some(Stop::Done);
        };
        if next.is_some() && !std::mem::replace(&mut self.told, true) {
            log::info!(
                "nothing can be done now, waiting for what is left (crawl.until_done_patience says how long): urls={} next_try={:?} \
                 until_at_most={:?}",
                counters.queued,
                next_in(),
                format!("in {}", roughly(until.since(now))),
            );
        }
        None
    }
}

/// The longest wait without progress for what is no retry.
fn longest(crawl: &CrawlSection) -> Duration {
    crawl.until_done_patience.unwrap_or(MOST)
}

/// When a request failed last.
fn last_failure(node: &Node) -> Option<UnixMillis> {
    let latest =
        node.telemetry.troubles.latest().filter(|(_, reason, _)| ![CHECKPOINT, CLOCK, UPLOAD].contains(reason));
    latest.map(|(when, ..)| when)
}

/// A look that fails is repeated; the rooms that read the same records stop the node when it goes on.
fn look_ahead(node: &Node) -> Ahead {
    next::ahead(node).unwrap_or_else(|e| {
        log::warn!("it cannot be told when the next retry is due: {e}");
        Ahead::Now
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn crawl(patience: Option<Duration>) -> CrawlSection {
        CrawlSection { until_done_patience: patience, ..CrawlSection::default() }
    }

    fn seconds(n: u64) -> Duration {
        Duration::from_secs(n)
    }

    #[test]
    fn requests_in_flight_put_off_the_patience_once_and_for_a_bounded_while() {
        let minutes = |n: u64| seconds(60 * n);
        let since = UnixMillis(1_000_000);
        for (patience, busy, put_off) in [
            (Some(minutes(10)), minutes(0), minutes(0)),
            (Some(minutes(10)), minutes(7), minutes(7)),
            (Some(minutes(10)), minutes(90), minutes(10)), // as long again, and no longer
            (Some(seconds(1)), minutes(90), minutes(1)),
            (Some(seconds(0)), minutes(90), minutes(1)),
            (None, minutes(50), minutes(50)), // a large body may take long, however short the crawl was
            (None, minutes(90), minutes(60)),
        ] {
            let waits = Patience { since, busy: since.plus(busy), ..Patience::new(since) };
            assert_eq!(waits.begin(&crawl(patience)), since.plus(put_off), "{patience:?} {busy:?}");
        }
    }

    #[test]
    fn the_default_patience_is_a_tenth_of_the_time_crawled_within_bounds() {
        let began = UnixMillis(1_000_000);
        for (crawled, patience) in [(5, 30), (300, 30), (600, 60), (18_000, 1_800), (360_000, 3_600)] {
            let waits = Patience { since: began.plus(seconds(crawled)), ..Patience::new(began) };
            assert_eq!(waits.with_retries(&crawl(None), true), seconds(patience), "{crawled}");
            assert_eq!(waits.with_retries(&crawl(None), false), seconds(30));
            assert_eq!(waits.with_retries(&crawl(Some(seconds(7))), true), seconds(7));
        }
    }

    /// Whether a crawl of five seconds waits, right after its last page, for what comes after so many seconds.
    fn waits(patience: Option<u64>, ahead: Ahead) -> bool {
        let now = UnixMillis(1_000_000);
        let waits = Patience { since: now, busy: now, ..Patience::new(UnixMillis(995_000)) };
        waits.waits_until(&crawl(patience.map(seconds)), ahead, true).is_some_and(|until| now < until)
    }

    fn later(kind: fn(Option<UnixMillis>) -> Moments, after: u64) -> Ahead {
        Ahead::Later(kind(Some(UnixMillis(1_000_000).plus(seconds(after)))))
    }

    #[test]
    fn no_patience_waits_for_no_retry_and_for_all_that_is_none() {
        let retry = |retry| Moments { retry, ..Moments::default() };
        let asked = |asked| Moments { asked, ..Moments::default() };
        let pace = |pace| Moments { pace, ..Moments::default() };
        assert!(!waits(Some(0), later(retry, 1)));
        assert!(waits(Some(0), Ahead::Now), "a request may be begun");
        assert!(waits(Some(0), later(pace, 120)), "a Crawl-delay is no retry");
        assert!(!waits(Some(0), Ahead::Later(Moments::default())), "the operator holds what is left");
        assert!(waits(None, later(retry, 29)) && !waits(None, later(retry, 60)));
        assert!(
            waits(None, later(asked, 600)) && !waits(Some(30), later(asked, 600)),
            "a pause that the server asks for"
        );
        assert!(waits(None, later(pace, 3_599)) && !waits(None, later(pace, 3_601)));
        assert!(waits(None, Ahead::Later(Moments::default())));
    }

    #[test]
    fn what_was_never_tried_is_waited_for_while_its_host_is_in_trouble_and_no_longer_than_pages_come() {
        let untried = |untried| Moments { untried, ..Moments::default() };
        assert!(
            waits(None, later(untried, 30))
                && waits(None, later(untried, 3_600))
                && !waits(None, later(untried, 3_700))
        );
        assert!(waits(Some(60), later(untried, 60)) && !waits(Some(0), later(untried, 1)), "the key says otherwise");
        let now = UnixMillis(90_000_000);
        let waits = |hours: u64, fetched_any, after| {
            let waits = Patience { in_vain: seconds(3_600 * hours), ..Patience::new(now) };
            let ahead = Ahead::Later(untried(Some(now.plus(seconds(after)))));
            waits.waits_until(&crawl(None), ahead, fetched_any).is_some()
        };
        assert!(waits(1, true, 3_600) && !waits(2, true, 60), "it is refused without end");
        assert!(waits(0, false, 29) && !waits(0, false, 60), "no page came at all");
    }

    #[test]
    fn a_pause_of_an_hour_is_within_the_longest_wait() {
        for kind in [(|asked| Moments { asked, ..Moments::default() }) as fn(_) -> _, |pace| Moments {
            pace,
            ..Moments::default()
        }] {
            assert!(waits(None, later(kind, 3_600)) && !waits(None, later(kind, 3_601)));
        }
    }
}
