//! Time series of this process in memory: a fine one of the last hour, a coarse one of the last week. Bounded.

use std::collections::VecDeque;
use std::sync::Mutex;
use std::time::Duration;

use serde::{Serialize, Serializer};
use utoipa::ToSchema;

use super::metrics::ActorKind;
use crate::base::sync::lock;
use crate::base::time::UnixMillis;
use crate::domain::visit::Visit;

/// Kinds of actor.
pub const KINDS: usize = ActorKind::ALL.len();
/// What a visit can bring.
pub const VISITS: usize = Visit::ALL.len();

/// Distance and number of the samples of the fine series: an hour.
const FINE: (Duration, usize) = (Duration::from_secs(5), 720);
/// Of the coarse one: a week.
const COARSE: (Duration, usize) = (Duration::from_secs(300), 2_016);

/// One moment. Counts are since the beginning of the crawl, rates since the point before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, ToSchema)]
#[schema(as = Point)]
pub struct Sample {
    /// When, milliseconds since 1970.
    #[serde(rename = "at_ms")]
    #[schema(value_type = u64)]
    pub at: UnixMillis,
    /// Captures, as `pages_stored` of the status.
    pub pages: u64,
    /// Bytes received.
    pub bytes: u64,
    /// URLs given up.
    pub errors: u64,
    /// URLs finished.
    pub done: u64,
    /// URLs turned away.
    pub rejected: u64,
    /// Pages a second.
    pub pages_per_second: f64,
    /// Bytes a second.
    pub bytes_per_second: f64,
    /// URLs given up a second.
    pub errors_per_second: f64,
    /// URLs in a queue.
    pub waiting: u64,
    /// Requests in flight.
    pub in_flight: u64,
    /// Hosts being crawled.
    pub hosts_active: u64,
    /// Hosts that could be taken up.
    pub hosts_waiting: u64,
    /// Hosts that wait for a time.
    pub hosts_parked: u64,
    /// Memory of the process.
    pub resident_bytes: u64,
    /// Messages waiting, by kind of actor.
    #[serde(serialize_with = "by_kind")]
    #[schema(value_type = std::collections::BTreeMap<String, u64>)]
    pub queues: [u64; KINDS],
    /// Visits since the process began, by what they brought.
    #[serde(serialize_with = "by_visit")]
    #[schema(value_type = std::collections::BTreeMap<String, u64>)]
    pub visits: [u64; VISITS],
}

fn by_visit<S: Serializer>(visits: &[u64; VISITS], to: S) -> Result<S::Ok, S::Error> {
    to.collect_map(Visit::ALL.iter().map(|visit| visit.as_str()).zip(visits))
}

fn by_kind<S: Serializer>(queues: &[u64; KINDS], to: S) -> Result<S::Ok, S::Error> {
    to.collect_map(ActorKind::ALL.iter().zip(queues))
}

impl Sample {
    /// The same with its rates, from the one before.
    #[must_use]
    pub fn rated(self, before: &Self) -> Self {
        let seconds = self.at.since(before.at).as_secs_f64();
        let rate = |now: u64, then: u64| if seconds > 0.0 { now.saturating_sub(then) as f64 / seconds } else { 0.0 };
        Self {
            pages_per_second: rate(self.pages, before.pages),
            bytes_per_second: rate(self.bytes, before.bytes),
            errors_per_second: rate(self.errors, before.errors),
            ..self
        }
    }
}

#[derive(Debug)]
struct Ring {
    step: Duration,
    most: usize,
    samples: VecDeque<Sample>,
}

impl Ring {
    fn new((step, most): (Duration, usize)) -> Self {
        Self { step, most, samples: VecDeque::new() }
    }

    fn is_due(&self, now: UnixMillis) -> bool {
        // A clock that goes back begins anew: the series is told in ascending order.
        self.samples.back().is_none_or(|last| now < last.at || now.since(last.at) >= self.step)
    }

    fn put(&mut self, sample: &Sample) {
        if !self.is_due(sample.at) {
            return;
        }
        while self.samples.len() >= self.most || self.samples.back().is_some_and(|last| last.at > sample.at) {
            self.samples.pop_front();
        }
        self.samples.push_back(*sample);
    }
}

/// Both series. Written by whoever watches the node, which is no actor; so no actor ever waits for a reader.
#[derive(Debug)]
pub struct Series(Mutex<[Ring; 2]>);

impl Default for Series {
    fn default() -> Self {
        Self(Mutex::new([Ring::new(FINE), Ring::new(COARSE)]))
    }
}

impl Series {
    /// Takes a sample when one is due.
    pub fn note(&self, now: UnixMillis, sample: impl FnOnce() -> Sample) {
        let mut rings = lock(&self.0);
        if rings.iter().any(|ring| ring.is_due(now)) {
            let sample = Sample { at: now, ..sample() };
            rings.iter_mut().for_each(|ring| ring.put(&sample));
        }
    }

    /// At most `most` samples of the last `since`, oldest first, at equal distances; the newest is among them.
    pub fn last(&self, now: UnixMillis, since: Duration, most: usize) -> (Duration, Vec<Sample>) {
        let rings = lock(&self.0);
        let [fine, coarse] = &*rings;
        let ring = if since <= fine.step * u32::try_from(fine.most).unwrap_or(u32::MAX) { fine } else { coarse };
        let of: Vec<&Sample> = ring.samples.iter().filter(|sample| now.since(sample.at) <= since).collect();
        let every = of.len().div_ceil(most.max(1)).max(1);
        let mut chosen: Vec<Sample> = of.iter().rev().step_by(every).map(|sample| **sample).collect();
        chosen.reverse();
        (ring.step * u32::try_from(every).unwrap_or(u32::MAX), chosen)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: Duration = Duration::from_secs(3_600);

    /// A sample a second, for so long.
    fn filled(seconds: u64) -> (Series, UnixMillis) {
        let series = Series::default();
        for second in 0..seconds {
            series.note(UnixMillis(second * 1_000), || Sample { pages: second, ..Sample::default() });
        }
        (series, UnixMillis(seconds.saturating_sub(1) * 1_000))
    }

    #[test]
    fn a_sample_is_taken_every_five_seconds_and_an_hour_is_kept() {
        let (series, now) = filled(2 * 3_600);
        let (step, samples) = series.last(now, HOUR, 10_000);
        assert_eq!((step, samples.len()), (Duration::from_secs(5), 720));
        assert!(samples.windows(2).all(|two| two[1].at.since(two[0].at) == step));
        assert!(now.since(samples[719].at) < step && samples[719].pages == samples[719].at.0 / 1_000);
    }

    #[test]
    fn a_longer_time_comes_from_the_coarse_series_and_a_week_is_kept() {
        let (series, now) = filled(8 * 24 * 3_600);
        let (step, samples) = series.last(now, HOUR * 24 * 30, 10_000);
        assert_eq!((step, samples.len()), (Duration::from_secs(300), 2_016));
    }

    #[test]
    fn fewer_points_are_chosen_at_equal_distances_and_the_newest_is_among_them() {
        let (series, now) = filled(3_600);
        let (step, samples) = series.last(now, HOUR, 100);
        assert_eq!((step, samples.len()), (Duration::from_secs(40), 90));
        assert!(now.since(samples[89].at) < Duration::from_secs(5));
        assert_eq!(series.last(now, Duration::from_secs(12), 100).1.len(), 2);
    }

    #[test]
    fn a_clock_that_goes_back_begins_a_new_series() {
        let (series, now) = filled(100);
        series.note(UnixMillis(10_000), Sample::default);
        let (_, samples) = series.last(now, HOUR, 100);
        assert_eq!(samples.len(), 1);
    }
}
