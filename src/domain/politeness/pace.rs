//! The state machine of one host's pace.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{PaceRules, RetryAfter};
use crate::base::time::{UnixMillis, millis};
use crate::domain::coded::codes;

/// Steps of back-off that are counted; 2^20 s is far above any `backoff_max`.
pub(super) const MAX_BACKOFF_STEP: u8 = 20;

/// What a finished request says about how its host feels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PaceSignal {
    /// An answer that asks for nothing special (also 404 and the like).
    Ok,
    /// Slow down: 429, 503, or 403, another 5xx or a challenge with Retry-After.
    Throttled {
        /// What Retry-After asked for, if it could be read.
        retry_after: Option<Duration>,
    },
    /// Another 5xx.
    ServerError,
    /// The network, TLS or the name failed.
    Fault,
    /// 403, or a page that asks for proof of a human.
    Challenge,
    /// Nothing about the host: what failed was on our side, or a stranger has provoked its refusal. The gap is kept all the same.
    Neutral,
}

codes! {
    /// What set a host's earliest time.
    #[derive(Default, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    PaceWhy {
        /// The ordinary gap: minimum or response time.
        #[default]
        Gap = 0, "gap";
        /// Crawl-delay of robots.txt.
        CrawlDelay = 1, "crawl_delay";
        /// The server named a time.
        RetryAfter = 2, "retry_after";
        /// Throttling, errors or faults.
        Backoff = 3, "backoff";
        /// Too many refusals in a row.
        Brake = 4, "brake";
        /// Its pages took the processor longer than their bytes are worth.
        Work = 5, "work";
    }
}

/// When one host may be asked again, and what is remembered to decide it. Times are wall time, so that they hold across
/// a restart; durations are whole milliseconds, so that the record on disk gives back the same value.
///
/// Invariant: `earliest` is never before the end of the last response plus the gap, and no finished request moves it
/// backwards.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Pace {
    pub(super) earliest: UnixMillis,
    pub(super) why: PaceWhy,
    pub(super) last_end: Option<UnixMillis>,
    pub(super) last_took: Duration,
    pub(super) crawl_delay: Option<Duration>,
    pub(super) backoff: u8,
    pub(super) hostile_run: u32,
}

impl Pace {
    /// A host never asked before: ready at once.
    pub fn new() -> Self {
        Self::default()
    }

    /// The first moment a request may start.
    pub fn earliest(&self) -> UnixMillis {
        self.earliest
    }

    /// Why no request may start before.
    pub fn why(&self) -> PaceWhy {
        self.why
    }

    /// The Crawl-delay in force.
    pub fn crawl_delay(&self) -> Option<Duration> {
        self.crawl_delay
    }

    /// Steps of back-off; zero when all is well.
    pub fn backoff(&self) -> u8 {
        self.backoff
    }

    /// Refusals (403, 429, challenges) in a row so far.
    pub fn hostile_run(&self) -> u32 {
        self.hostile_run
    }

    /// The gap in force: the largest of `min_delay`, the Crawl-delay and `delay_factor` times the last response, of
    /// which only the last is bounded by `max_delay`.
    pub fn gap(&self, rules: &PaceRules) -> Duration {
        self.reasoned_gap(rules).0
    }

    /// What asks for the gap in force: [`PaceWhy::CrawlDelay`] or [`PaceWhy::Gap`].
    pub fn gap_why(&self, rules: &PaceRules) -> PaceWhy {
        self.reasoned_gap(rules).1
    }

    /// The end of the last answer.
    pub fn last_end(&self) -> Option<UnixMillis> {
        self.last_end
    }

    /// How long the last answer took.
    pub fn last_took(&self) -> Duration {
        self.last_took
    }

    /// A request ended at `now` (end of its body, or the moment it failed), `took` after it began.
    pub fn finished(&mut self, now: UnixMillis, took: Duration, signal: PaceSignal, rules: &PaceRules) {
        let end = self.ended(now);
        self.last_took = whole_millis(took);
        self.count(signal);
        let (gap, why) = self.reasoned_gap(rules);
        self.hold_until(end.plus(gap), why);
        let (wait, why) = self.extra_wait(gap, signal, rules);
        self.hold_until(end.plus(wait), why);
        if rules.waf_brake > 0 && self.hostile_run >= rules.waf_brake {
            // A pause starts a new count: after it the host has its full allowance of refusals again.
            self.hostile_run = 0;
            self.hold_until(end.plus(rules.waf_pause), PaceWhy::Brake);
        }
    }

    /// robots.txt was read: its Crawl-delay holds from the end of the last response on. A shorter delay than before
    /// holds only from the next response on, so the earliest time does not go back.
    pub fn set_crawl_delay(&mut self, delay: Option<Duration>, rules: &PaceRules) {
        self.crawl_delay = delay.map(whole_millis);
        self.take_up(rules);
    }

    /// Other rules hold: a longer gap counts from the end of the last response on, a shorter one from that of the next.
    pub fn take_up(&mut self, rules: &PaceRules) {
        if let Some(end) = self.last_end {
            let (gap, why) = self.reasoned_gap(rules);
            self.hold_until(end.plus(gap), why);
        }
    }

    /// Waits one full gap from `now`: when it is not known whether a request was under way, as after an unclean stop or
    /// when a slot was dropped without a report.
    pub fn wait_one_full_gap(&mut self, now: UnixMillis, rules: &PaceRules) {
        let end = self.ended(now);
        let (gap, why) = self.reasoned_gap(rules);
        self.hold_until(end.plus(gap), why);
    }

    /// The same as if it was written at `now`, where it says that its last request ended later: it was written by a clock that
    /// was ahead. What is left of a wait is then all of it, and never more.
    #[must_use]
    pub fn not_from_the_future(mut self, now: UnixMillis) -> Self {
        if let Some(end) = self.last_end.filter(|end| *end > now) {
            self.earliest = now.plus(self.earliest.since(end));
            self.last_end = Some(now);
        }
        self
    }

    fn reasoned_gap(&self, rules: &PaceRules) -> (Duration, PaceWhy) {
        let own = rules.min_delay.max(rules.adaptive(self.last_took));
        match self.crawl_delay {
            Some(delay) if delay > own => (delay, PaceWhy::CrawlDelay),
            _ => (own, PaceWhy::Gap),
        }
    }

    /// Moves the counters of trouble. Faults and server errors neither lengthen nor break a row of refusals: a firewall
    /// that resets connections between its 403s stays one row.
    fn count(&mut self, signal: PaceSignal) {
        match signal {
            PaceSignal::Ok => {
                self.backoff /= 2;
                self.hostile_run = 0;
            }
            PaceSignal::Throttled { .. } => {
                self.backoff = self.backoff.saturating_add(1).min(MAX_BACKOFF_STEP);
                self.hostile_run = self.hostile_run.saturating_add(1);
            }
            PaceSignal::ServerError | PaceSignal::Fault => {
                self.backoff = self.backoff.saturating_add(1).min(MAX_BACKOFF_STEP);
            }
            PaceSignal::Challenge => self.hostile_run = self.hostile_run.saturating_add(1),
            PaceSignal::Neutral => {}
        }
    }

    /// The wait that trouble asks for, over the gap. An error of one page costs a doubled gap; only a row of them, or
    /// a server that says "too many", costs minutes. While the step decays, the stretched gap is bounded by
    /// `max_delay`, so that a host that has come back is not left alone for an hour.
    fn extra_wait(&self, gap: Duration, signal: PaceSignal, rules: &PaceRules) -> (Duration, PaceWhy) {
        let stretched = doubled(gap, self.backoff);
        match signal {
            PaceSignal::Throttled { retry_after: Some(asked) } => {
                (asked.min(RetryAfter::MAX).max(stretched.min(rules.backoff_max)), PaceWhy::RetryAfter)
            }
            PaceSignal::Throttled { retry_after: None } => {
                let backoff = doubled(rules.backoff_base, self.backoff.saturating_sub(1));
                (backoff.max(stretched).min(rules.backoff_max), PaceWhy::Backoff)
            }
            PaceSignal::ServerError | PaceSignal::Fault => (stretched.min(rules.backoff_max), PaceWhy::Backoff),
            PaceSignal::Ok | PaceSignal::Challenge | PaceSignal::Neutral => {
                (stretched.min(rules.max_delay), PaceWhy::Backoff)
            }
        }
    }

    /// Takes note that a request ended at `now`. Where the clock went back meanwhile, the later end counts.
    fn ended(&mut self, now: UnixMillis) -> UnixMillis {
        let end = self.last_end.map_or(now, |before| before.max(now));
        self.last_end = Some(end);
        end
    }

    /// No request before `until`: another party (the registry of an address shared by hosts, an operator) may ask for it too. The only
    /// place where `earliest` changes, but for [`not_from_the_future`](Self::not_from_the_future): it goes forward or stays.
    pub fn hold_until(&mut self, until: UnixMillis, why: PaceWhy) {
        if until > self.earliest {
            self.earliest = until;
            self.why = why;
        }
    }
}

fn doubled(d: Duration, times: u8) -> Duration {
    d.saturating_mul(1_u32.checked_shl(u32::from(times)).unwrap_or(u32::MAX))
}

fn whole_millis(d: Duration) -> Duration {
    Duration::from_millis(millis(d))
}
