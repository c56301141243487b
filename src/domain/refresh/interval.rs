//! When a page is visited next: the interval that its rate and weight deserve.
//!
//! `I = k/(2w) · (1 + √(1 + 4w/(kD)))`: the optimum of the harmonic staleness penalty for one price `k` (Kolobov, Peres, Lubetzky and Horvitz,
//! "Staying up to date with online content changes using reinforcement learning for scheduling", NeurIPS 2019), in closed form, page by
//! page. A page that always changes comes every `k/w`, one that hardly does after `√(k/(wD))`; none is ever given up, as the optimum for
//! plain freshness gives up the fastest (Azar and others, "Tractable near-optimal policies for crawling", 2018).

use std::time::Duration;

use super::rate::Rate;

/// Weights below and above are taken for these.
pub const WEIGHTS: std::ops::RangeInclusive<f64> = 0.0625..=16.0;
/// New links a visit that raise a page's weight at most.
pub const MOST_LINKS: f64 = 7.0;
/// An interval is up to so much longer or shorter, by the URL's key: pages found together do not come due together for ever.
const SPREAD: f64 = 0.05;
/// The stretch of a host grows by at most this part at a look, as late as its visits are, and shrinks by this part while none is late.
const STRETCHED: f64 = 0.5;
const LET_GO: f64 = 0.1;
/// Visits are late when they come later than this part of the mean interval.
const LATE: f64 = 0.02;
/// Most that a host is stretched.
pub const MOST_STRETCH: f64 = 64.0;

/// Within what an interval lies, and its price.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Pace {
    /// The price `k`: a page of weight 1 that always changes is visited once in this time.
    pub pace: Duration,
    /// At least.
    pub min: Duration,
    /// At most.
    pub max: Duration,
}

impl Pace {
    /// The interval of a page. `stretch`: by how much more is wanted of its host, or of all, than can be had; at least 1.
    pub fn interval(&self, rate: Rate, weight: f64, stretch: f64, key: &[u8]) -> Duration {
        let k = self.pace.as_secs_f64() * stretch.max(1.0);
        let w = weight.clamp(*WEIGHTS.start(), *WEIGHTS.end());
        let best = k / (2.0 * w) * (1.0 + (1.0 + 4.0 * w / (k * rate.per_second())).sqrt());
        self.bounded(best, key)
    }

    /// A fixed interval, spread by the URL's key.
    pub fn fixed(every: Duration, key: &[u8]) -> Duration {
        spread(every.as_secs_f64(), key)
    }

    fn bounded(&self, seconds: f64, key: &[u8]) -> Duration {
        spread(seconds.clamp(self.min.as_secs_f64(), self.max.as_secs_f64().max(self.min.as_secs_f64())), key)
    }
}

fn spread(seconds: f64, key: &[u8]) -> Duration {
    let byte = key.iter().fold(0_u8, |all, byte| all ^ byte);
    let part = (f64::from(byte) / 255.0 - 0.5) * 2.0; // -1 to 1
    Duration::try_from_secs_f64(seconds * (1.0 + SPREAD * part)).unwrap_or(Duration::MAX)
}

/// The weight of a page, from what is said of it: by its depth, seed, host and rule, and by the new links that a visit finds, in the mean.
pub fn weight(depth: f64, seed: f64, host: f64, rule: f64, links: f64) -> f64 {
    let all = depth / 5.0 * seed * host * rule * (1.0 + links.clamp(0.0, MOST_LINKS));
    all.clamp(*WEIGHTS.start(), *WEIGHTS.end())
}

/// The mean number of new links a visit, in eighths, after one that found so many.
pub fn links_after(eighths: u8, found: usize) -> u8 {
    let found = u16::try_from(found.min(255)).unwrap_or(255) * 8;
    let mean = (u16::from(eighths) * 3 + found.min(255)) / 4;
    u8::try_from(mean).unwrap_or(u8::MAX)
}

/// The stretch of a host after a look at how late its visits come, beside the mean of their intervals. Intervals are made longer where more
/// is wanted than can be had: served late instead, what changes often would wait as long as what hardly changes.
pub fn stretched(stretch: f64, late: Duration, mean: Duration) -> f64 {
    let part = late.as_secs_f64() / mean.as_secs_f64().max(1.0);
    let factor = if part > LATE { 1.0 + part.min(STRETCHED) } else { 1.0 - LET_GO };
    (stretch * factor).clamp(1.0, MOST_STRETCH)
}

/// Time between two looks: what was decided shows only when rows are planned anew.
pub fn look_again_after(mean: Duration) -> Duration {
    mean / 4
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const DAY: u64 = 86_400;
    const PACE: Pace =
        Pace { pace: Duration::from_secs(DAY), min: Duration::from_secs(3_600), max: Duration::from_secs(90 * DAY) };

    fn days(every: f64, weight: f64) -> f64 {
        PACE.interval(Rate::of(1.0 / (every * DAY as f64), 1.0), weight, 1.0, &[0x7f]).as_secs_f64() / DAY as f64
    }

    #[test]
    fn the_examples_of_the_documentation_hold() {
        for (every, depth_weight, links, wanted) in
            [(30.0, 5.0, 0.0, 6.0), (30.0, 0.25, 0.0, 31.6), (0.25, 10.0, 0.0, 0.67)]
        {
            let found = days(every, weight(depth_weight, 1.0, 1.0, 1.0, links));
            assert!((found / wanted - 1.0).abs() < 0.05, "{every} d, {depth_weight}: {found} d, not {wanted}");
        }
        let hub = days(0.25, weight(10.0, 1.0, 1.0, 1.0, 7.0)) * 24.0;
        assert!((1.5..6.0).contains(&hub), "{hub} h");
    }

    proptest! {
        #[test]
        fn a_page_comes_sooner_the_faster_it_changes_and_the_more_it_weighs_and_never_out_of_bounds(
            (ln_a, ln_b) in (-5_010_i16..-1_040, -5_010_i16..-1_040), (a, b) in (0.01_f64..100.0, 0.01_f64..100.0),
            stretch in 0.1_f64..1_000.0, key: [u8; 12],
        ) {
            let of = |ln, weight, stretch| PACE.interval(Rate { ln, weight: 256 }, weight, stretch, &key);
            prop_assert!((ln_a <= ln_b) == (of(ln_a, a, 1.0) >= of(ln_b, a, 1.0)) || of(ln_a, a, 1.0) == of(ln_b, a, 1.0));
            prop_assert!((a <= b) == (of(ln_a, a, 1.0) >= of(ln_a, b, 1.0)) || of(ln_a, a, 1.0) == of(ln_a, b, 1.0));
            let stretched = of(ln_a, a, stretch);
            prop_assert!(stretched >= of(ln_a, a, 1.0));
            prop_assert!(stretched >= PACE.min.mul_f64(0.95) && stretched <= PACE.max.mul_f64(1.05), "{stretched:?}");
        }
    }

    #[test]
    fn the_mean_of_new_links_follows_what_is_found_and_dies_away() {
        let many = (0..20).fold(0, |mean, _| links_after(mean, 1_000));
        assert!(many >= 250, "{many}");
        let none = (0..40).fold(many, |mean, _| links_after(mean, 0));
        assert_eq!(none, 0);
        assert!((0..40).fold(0, |mean, _| links_after(mean, 3)).abs_diff(24) <= 3);
    }

    #[test]
    fn a_host_is_stretched_until_what_is_wanted_fits_and_let_go_when_there_is_room() {
        // A thousand pages, each wanted every 1,000 s: room for a third of that, then for all.
        const PAGES: usize = 1_000;
        let mean = Duration::from_secs(PAGES as u64);
        let (mut stretch, mut looked) = (1.0, 0.0);
        let mut rows: std::collections::BinaryHeap<_> =
            (0..PAGES as u64).map(|n| std::cmp::Reverse(n * 1_000)).collect();
        let (mut now, mut served_every) = (0.0, 3.0);
        let mut found = Vec::new();
        for visit in 0..60_000 {
            if visit == 20_000 {
                found.push(stretch);
                served_every = 0.5;
            }
            let Some(std::cmp::Reverse(due)) = rows.pop() else { break };
            now = f64::max(now + served_every, due as f64 / 1_000.0);
            let interval = mean.mul_f64(stretch);
            if now - looked > look_again_after(interval).as_secs_f64() {
                stretch = stretched(stretch, Duration::from_secs_f64(now - due as f64 / 1_000.0), interval);
                looked = now;
            }
            rows.push(std::cmp::Reverse(((now + 1_000.0 * stretch) * 1_000.0) as u64));
        }
        found.push(stretch);
        assert!((2.0..6.0).contains(&found[0]) && found[1] < 1.2, "{found:?}");
    }
}
