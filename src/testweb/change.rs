//! How pages change with time, a pure function of the settings and the moment.
//!
//! The changes of a page are a Poisson process with a mean gap of its own, drawn log-normally around [`TestWebConfig::changes`]. Time is cut into
//! windows of eight mean gaps; how many changes fall into a window (by Poisson's law) and where (evenly) is hashed from its number. That is
//! the same process as one gap after the other, and any moment of any page is known at once, however long the web has stood.
//!
//! [`TestWebConfig::changes`]: super::TestWebConfig::changes

use std::f64::consts::TAU;
use std::time::Duration;

use super::dice::{Salt, pick, unit};
use super::shape::{Class, Shape};

/// Mean gaps a window.
const WINDOW: u64 = 8;
/// Changes in a window at most; more have a probability below 10^-30.
const MOST: u64 = 63;
/// Mean gaps lie within these, microseconds: ten milliseconds to ten years.
const GAPS: std::ops::RangeInclusive<f64> = 1e4..=3.2e14;
/// Pages that come with a hub at most.
pub const MOST_GROWN: u32 = 500;
/// Statuses of what is gone.
const GONE: [u16; 2] = [404, 410];

/// A change of a page's text or links.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Change {
    /// When, microseconds since 1970.
    pub at_us: u64,
    /// Another number for each; 0 is the text before the first.
    pub version: u64,
}

impl Shape {
    /// The moment from which the web changes, microseconds since 1970.
    pub fn first_us(&self) -> u64 {
        self.config.changes_from.unwrap_or(0).saturating_mul(1_000_000)
    }

    /// The mean time between two changes of a content, microseconds; `None` when it never changes.
    pub fn mean_gap_us(&self, host: u32, content: u32) -> Option<u64> {
        let mean = self.config.changes.filter(|_| content < self.config.pages)?.as_secs_f64() * 1e6;
        let [a, b] = [0, 1].map(|index| unit(self.dice.draw(Salt::Gap, host, content, index)));
        // Box and Muller (1958).
        let normal = (-2.0 * (1.0 - a).ln()).sqrt() * (TAU * b).cos();
        let own = mean * (self.config.changes_spread * normal).exp();
        Some(own.clamp(*GAPS.start(), *GAPS.end()) as u64)
    }

    /// The changes of a content in this window, in their order.
    fn window(&self, host: u32, content: u32, (gap, number): (u64, u64)) -> Vec<Change> {
        let draw = |index| unit(self.dice.draw_at(Salt::Change, (host, content), number, index));
        let (length, version) = (gap * WINDOW, number.wrapping_mul(MOST + 1));
        let begins = self.first_us().saturating_add(number.saturating_mul(length));
        let mut moments: Vec<u64> = (1..=poisson(WINDOW as f64, draw(0)))
            .map(|index| begins.saturating_add((draw(index as u32) * length as f64) as u64))
            .collect();
        moments.sort_unstable();
        (1..).zip(moments).map(|(index, at_us)| Change { at_us, version: version.wrapping_add(index) }).collect()
    }

    /// The changes of a content after `since_us` and not after `until_us`, in their order.
    pub fn changes(
        &self,
        host: u32,
        content: u32,
        since_us: u64,
        until_us: u64,
    ) -> impl Iterator<Item = Change> + use<'_> {
        let first = self.first_us();
        let gap = self.mean_gap_us(host, content).filter(|_| until_us > first);
        let number = move |gap: u64, at: u64| at.saturating_sub(first) / (gap * WINDOW);
        let windows = gap
            .into_iter()
            .flat_map(move |gap| (number(gap, since_us)..=number(gap, until_us)).map(move |number| (gap, number)));
        let within = move |change: &Change| change.at_us > since_us && change.at_us <= until_us;
        windows.flat_map(move |window| self.window(host, content, window)).filter(within)
    }

    /// The last change of a content; `None` before the first.
    pub fn last_change(&self, host: u32, content: u32) -> Option<Change> {
        let gap = self.mean_gap_us(host, content).filter(|_| self.at_us > self.first_us())?;
        let now = (self.at_us - self.first_us()) / (gap * WINDOW);
        let past =
            |window| self.window(host, content, (gap, window)).into_iter().rfind(|change| change.at_us <= self.at_us);
        (0..=now).rev().find_map(past)
    }

    /// Which text a content has: 0 before its first change. What comes with a hub changes nothing else of it.
    pub(super) fn text_version(&self, host: u32, content: u32) -> u64 {
        let whole = self.is_hub(host, content) && self.grown(host, content) < MOST_GROWN;
        self.last_change(host, content).filter(|_| !whole).map_or(0, |change| change.version)
    }

    /// Whether a page is a hub: one that gains a link to a page that is new, at each of its changes.
    pub fn is_hub(&self, host: u32, number: u32) -> bool {
        self.hit(self.config.grow, Salt::Grow, host, number)
            && number < self.config.pages
            && self.class(host, number) == Class::Plain
    }

    /// How many pages came with a hub so far.
    pub fn grown(&self, host: u32, number: u32) -> u32 {
        match self.is_hub(host, number) {
            true => self.changes(host, number, 0, self.at_us).take(MOST_GROWN as usize).count() as u32,
            false => 0,
        }
    }

    /// From when to when a page is not there, microseconds since 1970. Only pages are gone on which no other page hangs.
    pub fn absence(&self, host: u32, number: u32) -> Option<(u64, u64)> {
        let changes = self.config.changes.filter(|_| self.hit(self.config.vanish, Salt::Vanish, host, number))?;
        if self.has_children(number) || self.class(host, number) != Class::Plain || self.is_hub(host, number) {
            return None;
        }
        let draw = |index| self.dice.draw(Salt::Vanish, host, number, index);
        let wait = |index| micros(changes.mul_f64(2.0 + 8.0 * unit(draw(index))));
        let gone = self.first_us().saturating_add(wait(1));
        let back = if draw(3).is_multiple_of(2) { gone.saturating_add(wait(2)) } else { u64::MAX };
        Some((gone, back))
    }

    /// The status of a page that is gone at this moment.
    pub(super) fn gone(&self, host: u32, number: u32) -> Option<u16> {
        let (_, back) = self.absence(host, number).filter(|(gone, _)| *gone <= self.at_us)?;
        let status = pick(self.dice.draw(Salt::Vanish, host, number, 4), &GONE, 404);
        (self.at_us < back).then_some(status)
    }
}

fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}

/// A number by Poisson's law with this mean, out of a number in 0..1.
fn poisson(mean: f64, unit: f64) -> u64 {
    let (mut part, mut number) = ((-mean).exp(), 0);
    let mut sum = part;
    while unit > sum && number < MOST {
        number += 1;
        part *= mean / number as f64;
        sum += part;
    }
    number
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testweb::TestWebConfig;

    const FROM: u64 = 1_796_000_000;

    fn shape(change: impl FnOnce(&mut TestWebConfig)) -> Shape {
        let mut config =
            TestWebConfig { pages: 1_000, changes: Some(Duration::from_secs(60)), ..TestWebConfig::default() };
        config.changes_from = Some(FROM);
        change(&mut config);
        Shape::new(config)
    }

    fn seconds(seconds: u64) -> u64 {
        (FROM + seconds) * 1_000_000
    }

    fn gaps(shape: &Shape, page: u32, until: u64) -> Vec<f64> {
        let all: Vec<u64> = shape.changes(3, page, 0, until).map(|change| change.at_us).collect();
        all.windows(2).map(|two| (two[1] - two[0]) as f64 / 1e6).collect()
    }

    fn mean(all: &[f64]) -> f64 {
        all.iter().sum::<f64>() / all.len() as f64
    }

    #[test]
    fn gaps_have_the_mean_and_the_spread_of_poisson() {
        let shape = shape(|_| {});
        let gaps: Vec<f64> = (0..100).flat_map(|page| gaps(&shape, page, seconds(60 * 500))).collect();
        assert!((45_000..55_000).contains(&gaps.len()), "{}", gaps.len());
        let mean = mean(&gaps);
        assert!((58.5..61.5).contains(&mean), "{mean}");
        // Of an exponential law: as many parts below a time as 1 - e^(-time / mean), also across the borders of windows.
        for (time, part) in [(6.0, 0.0952), (42.0, 0.5034), (120.0, 0.8647), (300.0, 0.9933)] {
            let below = gaps.iter().filter(|gap| **gap < time).count() as f64 / gaps.len() as f64;
            assert!((below - part).abs() < 0.01, "{time} s: {below}, not {part}");
        }
    }

    #[test]
    fn each_page_has_a_mean_of_its_own_log_normally_around_the_common_one() {
        let shape = shape(|config| config.changes_spread = 1.5);
        let logs: Vec<f64> = (0..1_000).map(|page| (shape.mean_gap_us(3, page).unwrap() as f64 / 60e6).ln()).collect();
        let middle = mean(&logs);
        let spread = mean(&logs.iter().map(|log| (log - middle).powi(2)).collect::<Vec<_>>()).sqrt();
        assert!(middle.abs() < 0.15 && (1.4..1.6).contains(&spread), "{middle} {spread}");
        let page = (0..1_000).max_by_key(|page| shape.mean_gap_us(3, *page)).unwrap();
        let slowest = shape.mean_gap_us(3, page).unwrap();
        let told = mean(&gaps(&shape, page, seconds(slowest / 1_000_000 * 400)));
        assert!((told / (slowest as f64 / 1e6) - 1.0).abs() < 0.2, "{told}");
    }

    #[test]
    fn the_last_change_is_the_last_of_all_at_any_moment_and_after_a_new_start() {
        let (shape, again) = (shape(|_| {}), shape(|config| config.pages = 999));
        for page in 0..20 {
            let all: Vec<Change> = shape.changes(1, page, 0, seconds(3_000)).collect();
            let versions: std::collections::BTreeSet<u64> = all.iter().map(|change| change.version).collect();
            assert_eq!(versions.len(), all.len());
            for at in (0..3_000).step_by(7).map(seconds) {
                let last = all.iter().copied().rfind(|change| change.at_us <= at);
                assert_eq!(shape.at(at).last_change(1, page), last);
                assert_eq!(again.at(at).last_change(1, page), last);
            }
        }
        // After ten years as fast as after a minute.
        let at = seconds(315_360_000);
        let last = shape.at(at).last_change(1, 7).unwrap();
        assert_eq!(shape.changes(1, 7, last.at_us - 1, at).collect::<Vec<_>>(), [last]);
    }

    #[test]
    fn nothing_changes_without_the_setting_nor_before_its_time() {
        let still = Shape::new(TestWebConfig::default()).at(seconds(1 << 30));
        assert_eq!((still.last_change(0, 1), still.grown(0, 1), still.gone(0, 1)), (None, 0, None));
        let early = shape(|config| (config.grow, config.vanish) = (1.0, 1.0));
        assert!((0..1_000).all(|page| early.last_change(0, page).is_none() && early.text_version(0, page) == 0));
        assert!((0..1_000).all(|page| early.grown(0, page) == 0 && early.gone(0, page).is_none()));
    }

    #[test]
    fn a_hub_grows_by_a_page_a_change_until_it_has_many() {
        let shape = shape(|config| config.grow = 0.1);
        let hubs: Vec<u32> = (0..1_000).filter(|page| shape.is_hub(0, *page)).collect();
        assert!((70..130).contains(&hubs.len()), "{}", hubs.len());
        for hub in hubs.into_iter().take(10) {
            let nth = shape.changes(0, hub, 0, seconds(6_000)).nth(4).unwrap().at_us;
            assert_eq!([nth - 1, nth].map(|at| shape.at(at).grown(0, hub)), [4, 5]);
            assert_eq!(shape.at(nth).text_version(0, hub), 0);
            let late = shape.at(seconds(600_000));
            assert_eq!((late.grown(0, hub), late.text_version(0, hub) == 0), (MOST_GROWN, false));
        }
    }

    #[test]
    fn a_part_of_the_pages_without_children_vanishes_and_half_of_it_comes_back() {
        let shape = shape(|config| config.vanish = 0.5);
        let absences: Vec<(u64, u64)> = (0..1_000).filter_map(|page| shape.absence(0, page)).collect();
        assert!((280..390).contains(&absences.len()), "{}", absences.len());
        let back = absences.iter().filter(|(_, back)| *back != u64::MAX).count();
        assert!((110..220).contains(&back), "{back}");
        for (gone, back) in absences {
            assert!((seconds(120)..=seconds(600)).contains(&gone));
            assert!(back == u64::MAX || (gone + 120_000_000..=gone + 600_000_000).contains(&back));
        }
        assert!((0..333).all(|page| shape.absence(0, page).is_none()), "others hang on them");
        let (page, (gone, back)) = (0..1_000)
            .find_map(|page| shape.absence(0, page).filter(|(_, back)| *back < u64::MAX).map(|when| (page, when)))
            .unwrap();
        let status = [gone - 1, gone, back - 1, back].map(|at| shape.at(at).gone(0, page));
        assert!(status[0].is_none() && status[1].is_some() && status[1] == status[2] && status[3].is_none());
    }
}
