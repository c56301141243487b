//! How long a crawl that is to end by itself waits for what is left (`crawl.until_done`).
//!
//! One machine ends when its patience does. One of several says in a cell how it stands ([`Standing`]), and ends when all are at their end
//! (`common_end.rs`); what the others come to is progress for it as well, as soon as it is told of it.

use std::sync::atomic::Ordering;
use std::time::Duration;

use super::next::{self, Ahead, Moments, Outlook};
use crate::base::time::UnixMillis;
use crate::base::units::roughly;
use crate::config::CrawlSection;
use crate::crawl::node::{Node, Stop};
use crate::crawl::together::{Company, Standing};
use crate::domain::cluster::rounds::Made;
#[cfg(feature = "cluster")]
use crate::domain::cluster::rounds::Still;
use crate::storage::values::Counters;
use crate::telemetry::trouble::{CHECKPOINT, CLOCK, INDEX, UPLOAD};

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
#[derive(Default)]
pub(super) struct Patience {
    finished: u64,
    /// What all members have come to, as it was told last.
    together: Made,
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
    outlook: Outlook,
    /// What was waited for last: when there was to be something to do.
    awaited: UnixMillis,
    /// When there is something to do, as it was judged last.
    next: Option<UnixMillis>,
    /// The wait has been told.
    told: bool,
}

impl Patience {
    pub(super) fn new(now: UnixMillis) -> Self {
        Self { began: now, since: now, busy: now, failed: now, looked: now, ..Self::default() }
    }

    /// The reason to end, when there is one.
    pub(super) fn over(&mut self, node: &Node) -> Option<Stop> {
        let standing = match self.look(node)? {
            Ok(standing) => standing,
            Err(disk) => return Some(disk),
        };
        if node.crawl.together.company() == Company::Several {
            node.crawl.together.stands(standing, self.together);
            return None;
        }
        if standing == Standing::GivenUp {
            let (urls, next_try) = (node.crawl.counters().queued, self.next_try(node.clock.now()));
            log::warn!(
                "not waiting any longer, what is left stays in the data folder for another run: urls={urls} \
                 next_try={next_try:?}"
            );
        }
        matches!(standing, Standing::Nothing | Standing::GivenUp).then_some(Stop::Done)
    }

    /// How it stands now, or that a disk is not waited for any longer; `None`: as at the last look.
    fn look(&mut self, node: &Node) -> Option<Result<Standing, Stop>> {
        let (now, together) = (node.clock.now(), node.crawl.together.told());
        let counters = node.crawl.counters();
        let finished = Made::from(&counters).finished;
        let paused =
            node.crawl.switches.paused.load(Ordering::Acquire) || node.crawl.switches.draining.load(Ordering::Acquire);
        self.failed = last_failure(node).unwrap_or(self.failed);
        let coming = is_coming(node, &counters);
        let busy = !node.is_quiet() || coming;
        let progress = finished != self.finished || together != self.together || paused;
        if progress {
            let waited = Some(now.since(self.since)).filter(|waited| *waited > LEAST).unwrap_or_default();
            let came = counters.done != self.done || together.done != self.together.done || paused;
            self.in_vain = if came { Duration::ZERO } else { self.in_vain.saturating_add(waited) };
            (self.done, self.together) = (counters.done, together);
            (self.finished, self.since, self.busy, self.told) = (finished, now, now, false);
            next::publish(node, None);
        }
        let live = node.crawl.live();
        let crawl = &live.settings.crawl;
        let nothing_left = counters.queued == 0 && !coming && node.is_quiet();
        let begun = counters.discovered > 0 || node.crawl.together.company() == Company::Several;
        if crawl.until_done && nothing_left && begun {
            return Some(Ok(Standing::Nothing));
        }
        if busy {
            (self.busy, self.looked) = (now, now);
            next::publish(node, None);
            return crawl.until_done.then(|| self.judge(node, &counters, now, Ahead::Now));
        }
        if now.since(self.since) < SETTLED || now.since(self.looked) < SETTLED {
            return progress.then_some(Ok(Standing::Busy));
        }
        self.looked = now;
        let ahead = if node.disk.holds() || node.fence.is_over() { Ahead::Now } else { self.look_ahead(node) };
        self.awaited = ahead.first().unwrap_or(self.awaited);
        next::publish(node, ahead.first());
        crawl.until_done.then(|| self.judge(node, &counters, now, ahead))
    }

    /// A look that fails is repeated; the rooms that read the same records stop the node when it goes on.
    fn look_ahead(&mut self, node: &Node) -> Ahead {
        self.outlook.ahead(node).unwrap_or_else(|e| {
            log::warn!("it cannot be told when the next retry is due: {e}");
            Ahead::Now
        })
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

    /// How it stands by the patience that it has, or that a disk is not waited for any longer.
    fn judge(&mut self, node: &Node, counters: &Counters, now: UnixMillis, ahead: Ahead) -> Result<Standing, Stop> {
        let live = node.crawl.live();
        let crawl = &live.settings.crawl;
        let fetched_any = Made::from(counters).fetched > 0 || self.together.fetched > 0;
        if let Some(why) = node.disk.why() {
            let patience =
                if fetched_any { longest(crawl) } else { crawl.until_done_first_patience.min(longest(crawl)) };
            let is_over = now >= self.begin(crawl).plus(patience);
            let why = format!("not waiting any longer (crawl.until_done_patience): {why}");
            return if is_over { Err(Stop::Disk(why)) } else { Ok(Standing::Busy) };
        }
        let next = ahead.first();
        self.next = next;
        let Some(until) = self.waits_until(crawl, ahead, fetched_any).filter(|until| now < *until) else {
            return Ok(Standing::GivenUp);
        };
        if next.is_some() && !std::mem::replace(&mut self.told, true) {
            let (urls, next_try) = (counters.queued, self.next_try(now));
            let until = format!("in {}", roughly(until.since(now)));
            log::info!(
                "nothing can be done now, waiting for what is left (crawl.until_done_patience says how long): \
                 urls={urls} next_try={next_try:?} until_at_most={until:?}"
            );
        }
        Ok(if ahead == Ahead::Now { Standing::Busy } else { Standing::Until(next.unwrap_or(until)) })
    }

    /// In words, when what is left may be tried again.
    fn next_try(&self, now: UnixMillis) -> String {
        self.next.map_or_else(|| "unknown".into(), |at| format!("in {}", roughly(at.since(now))))
    }
}

/// Whether more is to be queued or judged, though it is not in hand.
fn is_coming(node: &Node, counters: &Counters) -> bool {
    node.crawl.live.is_readmitting() || counters.nearer_to_queue() > 0
}

/// How a member of several stands at this moment, whatever its patience found a little while ago: what it waits for may have come, and what
/// was nothing may be something by now. What it has given up is not looked at again.
#[cfg(feature = "cluster")]
pub(super) fn stands_now(node: &Node, counters: &Counters) -> Still {
    let is_quiet = node.is_quiet() && node.crawl.leases.is_empty() && !is_coming(node, counters);
    let paused = node.crawl.switches.paused.load(Ordering::Acquire);
    match node.crawl.together.standing() {
        Some(Standing::GivenUp) if !paused => Still::Done,
        Some(Standing::Nothing) if is_quiet && counters.queued == 0 => Still::Done,
        Some(Standing::Until(at)) if is_quiet && !paused && at > node.clock.now() => {
            Still::For(at.since(node.clock.now()))
        }
        _ => Still::Busy,
    }
}

/// The longest wait without progress for what is no retry.
fn longest(crawl: &CrawlSection) -> Duration {
    crawl.until_done_patience.unwrap_or(MOST)
}

/// When a request failed last.
fn last_failure(node: &Node) -> Option<UnixMillis> {
    let latest =
        node.telemetry.troubles.latest().filter(|(_, reason, _)| ![CHECKPOINT, CLOCK, INDEX, UPLOAD].contains(reason));
    latest.map(|(when, ..)| when)
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

    const NOW: UnixMillis = UnixMillis(90_000_000);

    /// What comes after so many seconds, as a retry, untried, asked for by a server, and as an ordinary gap.
    fn ahead(after: [Option<u64>; 4]) -> Ahead {
        let [retry, untried, asked, pace] = after.map(|after| after.map(|after| NOW.plus(seconds(after))));
        Ahead::Later(Moments { retry, untried, asked, pace })
    }

    #[test]
    fn each_kind_of_what_lies_ahead_is_waited_for_as_long_as_the_patience_has_for_it() {
        let retry = |after| ahead([Some(after), None, None, None]);
        let untried = |after| ahead([None, Some(after), None, None]);
        let asked = |after| ahead([None, None, Some(after), None]);
        let pace = |after| ahead([None, None, None, Some(after)]);
        let nothing = ahead([None; 4]);
        for (patience, ahead, expected, why) in [
            (Some(0), retry(1), false, "no patience waits for no retry"),
            (Some(0), Ahead::Now, true, "a request may be begun"),
            (Some(0), pace(120), true, "a Crawl-delay is no retry"),
            (Some(0), nothing, false, "the operator holds what is left"),
            (None, nothing, true, "the operator holds what is left"),
            (None, retry(29), true, "a retry within the patience"),
            (None, retry(60), false, "a retry beyond the patience"),
            (None, asked(600), true, "a pause that the server asks for"),
            (Some(30), asked(600), false, "a pause that the server asks for"),
            (None, asked(3_600), true, "an hour is within the longest wait"),
            (None, asked(3_601), false, "more than an hour is not"),
            (None, pace(3_599), true, "an ordinary gap"),
            (None, pace(3_600), true, "an hour is within the longest wait"),
            (None, pace(3_601), false, "more than an hour is not"),
            (None, untried(30), true, "never tried, its host in trouble"),
            (None, untried(3_600), true, "never tried, its host in trouble"),
            (None, untried(3_700), false, "never tried, its host in trouble for too long"),
            (Some(60), untried(60), true, "the key says so"),
            (Some(0), untried(1), false, "the key says otherwise"),
        ] {
            // A crawl of five seconds, right after its last page.
            let waits = Patience { since: NOW, busy: NOW, ..Patience::new(UnixMillis(NOW.0 - 5_000)) };
            let until = waits.waits_until(&crawl(patience.map(seconds)), ahead, true);
            assert_eq!(until.is_some_and(|until| NOW < until), expected, "{why}: {patience:?} {ahead:?}");
        }
        for (in_vain, fetched_any, after, expected, why) in [
            (3_600, true, 3_600, true, "an hour was waited in vain"),
            (7_200, true, 60, false, "it is refused without end"),
            (0, false, 29, true, "no page came at all"),
            (0, false, 60, false, "no page came at all"),
        ] {
            let waits = Patience { in_vain: seconds(in_vain), ..Patience::new(NOW) };
            assert_eq!(waits.waits_until(&crawl(None), untried(after), fetched_any).is_some(), expected, "{why}");
        }
    }
}
