//! How often a page changes, told from what its visits found.
//!
//! Two numbers a page: the logarithm of its rate `D` (changes a second, as a Poisson process) and a weight `J`, the information gathered so
//! far, of which a twentieth is forgotten at each visit. After a visit the estimate goes one step along the natural gradient of the
//! likelihood of what was seen; with `y = D t`, `t` since the visit before:
//!
//! | seen | score | information |
//! |---|---|---|
//! | nothing that counts | `-y` | `y² / (e^y - 1)` |
//! | a change, nobody knows when | `y / (e^y - 1)` | the same |
//! | a change at a known moment, `u` ago | `1 - D u` | `1 - e^-y` |
//! | a change that was announced, for which the visit was made | `1 - y` | `y`, at most 1 |
//!
//! What is gained must not depend on what is seen more than on the interval: with 1 in the last row, which is what the likelihood says of
//! that case alone, changes would weigh more than rests, and the estimate would settle at half the rate. Any intervals do. Counting changes by visits would find at most one a visit (Cho and Garcia-Molina, "Estimating frequency of change",
//! 2003, say by how much that errs; their estimator wants equal intervals).

use std::time::Duration;

const DAY: f64 = 86_400.0;
/// The least rate: one change in ten years.
const SLOWEST: f64 = 1.0 / (3_652.5 * DAY);
/// The greatest: one a minute.
const FASTEST: f64 = 1.0 / 60.0;
/// What is assumed of a page of which nothing is known: one change in thirty days.
const UNKNOWN: f64 = 1.0 / (30.0 * DAY);
/// What is left of the weight at each visit.
const KEPT: f64 = 0.95;
/// Weight of a page's first capture.
const FIRST: f64 = 0.5;
/// Most that a host's estimate weighs: it has many pages, and they differ.
const OF_HOST: f64 = 8.0;
/// A visit moves the logarithm by at most so much; it weighs at least so much then.
const STEP: f64 = 1.0;
const LEAST: f64 = 0.05;
/// Numbers are kept in steps of so many to one.
const FINE: f64 = 256.0;
/// Of a page that was not changed for longer, only so much is taken as seen.
const LONGEST: Duration = Duration::from_secs(365 * 86_400);

/// What is known of how often a page, or the pages of a host, change. Six bytes are enough for it: both numbers are kept in 1/256.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Rate {
    /// 256 times the natural logarithm of changes a second.
    pub ln: i16,
    /// 256 times the weight.
    pub weight: u16,
}

/// What a visit found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    /// Nothing that counts as a change.
    Same,
    /// A change, or several, at a moment that nobody knows.
    Change,
    /// A change so long ago, by the word of its server.
    ChangedAgo(Duration),
    /// A change that was announced: the visit was made because of it, so that it says no more than how long the page had rested.
    Announced,
}

impl Default for Rate {
    /// Of which nothing is known.
    fn default() -> Self {
        Self::of(UNKNOWN, 0.0)
    }
}

impl Rate {
    /// Changes a second, with this weight; both within bounds.
    pub fn of(per_second: f64, weight: f64) -> Self {
        let ln = (per_second.clamp(SLOWEST, FASTEST).ln() * FINE).round();
        // Within the bounds both fit: the logarithm lies between -20 and -4, the weight below 20.
        Self { ln: ln as i16, weight: (weight.clamp(0.0, 255.0) * FINE).round() as u16 }
    }

    /// Changes a second.
    pub fn per_second(self) -> f64 {
        (f64::from(self.ln) / FINE).exp()
    }

    /// Mean time between two changes.
    pub fn every(self) -> Duration {
        Duration::from_secs_f64(1.0 / self.per_second())
    }

    /// Of a page captured for the first time, on a host with this rate. `rested`: it was not changed for so long before, by its server's word.
    #[must_use]
    pub fn of_new_page(host: Self, rested: Option<Duration>) -> Self {
        let new = Self { weight: (FIRST * FINE) as u16, ..host };
        rested.map_or(new, |rested| new.after(rested.min(LONGEST), Found::Same))
    }

    /// After a visit that came `since` the one before.
    #[must_use]
    pub fn after(self, since: Duration, found: Found) -> Self {
        self.bounded_after(since, found, f64::INFINITY)
    }

    /// That of a host after a visit of one of its pages.
    #[must_use]
    pub fn of_host_after(self, since: Duration, found: Found) -> Self {
        self.bounded_after(since, found, OF_HOST)
    }

    fn bounded_after(self, since: Duration, found: Found, most: f64) -> Self {
        let rate = self.per_second();
        let y = (rate * since.as_secs_f64()).max(1e-9);
        let odds = y / y.exp_m1(); // 1 for small y, 0 for large
        let (score, gained) = match found {
            Found::Same => (-y, y * odds),
            Found::Change => (odds, y * odds),
            Found::ChangedAgo(ago) => (1.0 - rate * ago.min(since).as_secs_f64(), -(-y).exp_m1()),
            Found::Announced => (1.0 - y, y.min(1.0)),
        };
        let weight = (KEPT * f64::from(self.weight) / FINE + gained).min(most);
        let step = (score / weight.max(LEAST)).clamp(-STEP, STEP);
        Self::of((rate.ln() + step).exp(), weight)
    }

    /// How likely it is that a page has changed `since` its last visit: 0 to 1.
    pub fn changed_by_now(self, since: Duration) -> f64 {
        -(-self.per_second() * since.as_secs_f64()).exp_m1()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const HOUR: f64 = 3_600.0;

    /// Numbers as if thrown, the same at each run (Steele and others' SplitMix64).
    pub(crate) struct Dice(pub u64);

    impl Dice {
        pub fn unit(&mut self) -> f64 {
            self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            ((z ^ (z >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
        }

        fn gap(&mut self, mean: f64) -> f64 {
            -mean * (1.0 - self.unit()).ln()
        }
    }

    /// The estimate of a page that changes every hour in the mean, after a hundred visits.
    fn estimated(dice: &mut Dice, interval: impl Fn(&mut Dice) -> f64, dated: bool) -> f64 {
        let (mut now, mut next) = (0.0, dice.gap(HOUR));
        let mut rate = Rate::of_new_page(Rate::default(), None);
        for _ in 0..100 {
            let since = interval(dice) * HOUR;
            now += since;
            let mut found = Found::Same;
            while next <= now {
                let ago = Duration::from_secs_f64(now - next);
                next += dice.gap(HOUR);
                found = if dated { Found::ChangedAgo(ago) } else { Found::Change };
            }
            rate = rate.after(Duration::from_secs_f64(since), found);
        }
        rate.per_second() * HOUR
    }

    fn median(dice: &mut Dice, interval: impl Fn(&mut Dice) -> f64 + Copy, dated: bool) -> f64 {
        let mut all: Vec<f64> = (0..201).map(|_| estimated(dice, interval, dated)).collect();
        all.sort_by(f64::total_cmp);
        all[100]
    }

    #[test]
    fn a_hundred_visits_at_any_intervals_tell_the_rate_within_a_tenth() {
        let dice = &mut Dice(1);
        for interval in [0.2, 0.5, 1.0, 2.0, 3.0] {
            let told = median(dice, |_| interval, false);
            assert!((0.9..1.1).contains(&told), "every {interval} of the mean: {told}");
        }
        let irregular = |dice: &mut Dice| 0.05 * 100_f64.powf(dice.unit());
        for dated in [false, true] {
            let told = median(dice, irregular, dated);
            assert!((0.9..1.1).contains(&told), "from a twentieth to five times the mean, dated {dated}: {told}");
        }
    }

    #[test]
    fn visits_that_are_made_because_a_change_was_announced_do_not_make_a_page_seem_to_change_more() {
        for (interval, delay) in [(0.5, 0.02), (2.0, 0.02), (8.0, 0.1)] {
            let (dice, mut all) = (&mut Dice(2), Vec::new());
            for _ in 0..201 {
                let mut rate = Rate::of_new_page(Rate::default(), None);
                for _ in 0..100 {
                    let changed = dice.gap(HOUR) + delay * HOUR;
                    let announced = changed < interval * HOUR;
                    let found = if announced { Found::Announced } else { Found::Same };
                    rate = rate.after(Duration::from_secs_f64(changed.min(interval * HOUR)), found);
                }
                all.push(rate.per_second() * HOUR);
            }
            all.sort_by(f64::total_cmp);
            assert!((0.85..1.15).contains(&all[100]), "every {interval} at most: {}", all[100]);
        }
    }

    proptest! {
        #[test]
        fn whatever_is_seen_the_estimate_stays_within_its_bounds_and_goes_the_right_way(
            visits in prop::collection::vec((0_u64..4_000_000_000_000, 0_u8..4, 0_u64..4_000_000_000_000), 0..60),
            host: bool,
        ) {
            let mut rate = Rate::default();
            for (since, kind, ago) in visits {
                let since = Duration::from_millis(since);
                let found = [Found::Same, Found::Change, Found::ChangedAgo(Duration::from_millis(ago)), Found::Announced][usize::from(kind)];
                let after = if host { rate.of_host_after(since, found) } else { rate.after(since, found) };
                prop_assert!((SLOWEST * 0.99..=FASTEST * 1.01).contains(&after.per_second()), "{after:?}");
                prop_assert!(after.weight <= 21 * 256, "{after:?}");
                prop_assert!((0.0..=1.0).contains(&after.changed_by_now(since)));
                match found {
                    Found::Same => prop_assert!(after.ln <= rate.ln),
                    Found::Change => prop_assert!(after.ln >= rate.ln),
                    Found::ChangedAgo(_) | Found::Announced => {}
                }
                rate = after;
            }
        }
    }

    #[test]
    fn a_new_page_is_taken_for_one_of_its_host_and_for_slower_the_longer_it_rested() {
        let host = Rate::of(1.0 / DAY, 3.0);
        assert_eq!(Rate::of_new_page(host, None).ln, host.ln);
        let day = Duration::from_secs(86_400);
        let rested = [1, 30, 300, 4_000].map(|days| Rate::of_new_page(host, Some(day * days)).ln);
        assert!(rested.is_sorted_by(|a, b| a >= b) && rested[0] < host.ln, "{rested:?}");
        assert_eq!(rested[3], Rate::of_new_page(host, Some(LONGEST)).ln, "a year at most");
    }
}
