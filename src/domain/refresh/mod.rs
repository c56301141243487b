//! When a page that is done is visited again: its habit, told of its visits, and the cycle that the settings give it.
//!
//! [`Habit`] is what is kept of a page, beside the time of its newest capture; [`Refresh`] is what the settings say. Only what was seen is
//! kept: the time of the next visit follows from both, so that other settings need no other past.

pub mod announced;
pub mod cycle;
pub mod interval;
pub mod rate;
pub mod schedule;
pub mod split;

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::base::kinds::names;
use crate::base::time::UnixMillis;
use crate::domain::coded::codes;
use crate::domain::visit::Visit;

pub use announced::Announced;
pub use cycle::{Cycle, CycleError};
pub use interval::Pace;
pub use rate::{Found, Rate};
pub use schedule::{About, By, Chosen, Plan, Rule};
pub use split::{FEW, TURN, Unpaid};

/// So many visits in a row that brought only a little or numbers make a page restless: it has a clock, a counter, a box that turns.
const RESTLESS: u8 = 4;
/// A page that is gone is looked for so often more, each time after so many times as long, at first after its interval or `pace`.
const GONE_TRIES: u8 = 3;
const LATER: u32 = 4;
/// Visits of a page that was given up for another reason: its server may be back, so they go on at the greatest interval for a while.
const FAILED_TRIES: u8 = 8;
/// `Last-Modified` says that a page rested only when it lies so long before the answer: many servers say "now".
const RESTED: Duration = Duration::from_secs(60);

names! {
    /// What counts as a change of a page.
    #[derive(Default, Serialize, Deserialize)]
    #[serde(rename_all = "lowercase")]
    Heed {
        /// Another text; numbers and little things too, until the page is restless.
        #[default]
        Text = "text";
        /// Whatever is not byte by byte the same.
        All = "all";
        /// Another text only.
        Large = "large";
    }
}

/// What is known of how a page changes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Habit {
    /// How often.
    pub rate: Rate,
    /// New links a visit, the mean of the last ones, in eighths.
    pub links: u8,
    /// Visits in a row, at most four, that brought only a little or numbers; such as brought nothing do not end the row.
    pub small: u8,
    /// A sitemap told of a change of it that was found.
    pub named: bool,
}

/// What a visit tells of a page's habit.
#[derive(Clone, Copy, Debug)]
pub struct Told {
    /// What it brought.
    pub visit: Visit,
    /// Time since the visit before.
    pub since: Duration,
    /// When the page was changed last, by its server's word, before this visit.
    pub changed_ago: Option<Duration>,
    /// URLs found on it that nobody knew.
    pub links: usize,
    /// A sitemap had told that it was changed.
    pub announced: bool,
}

impl Habit {
    /// Of a page that was captured for the first time, on a host with this rate.
    pub fn of_new_page(host: Rate, changed_ago: Option<Duration>, links: usize) -> Self {
        let rested = changed_ago.filter(|ago| *ago >= RESTED);
        Self { rate: Rate::of_new_page(host, rested), links: interval::links_after(0, links), ..Self::default() }
    }

    /// After a visit; beside it what that found, for the host's rate.
    #[must_use]
    pub fn after(self, told: &Told, heed: Heed) -> (Self, Found) {
        let found = match heed.counts(told.visit, self.small >= RESTLESS) {
            false => Found::Same,
            true if told.announced => Found::Announced,
            true => match told.changed_ago.filter(|ago| *ago < told.since && told.visit != Visit::Gone) {
                Some(ago) => Found::ChangedAgo(ago),
                None => Found::Change,
            },
        };
        let small = match told.visit {
            Visit::Little | Visit::Numbers => self.small.saturating_add(1).min(RESTLESS),
            Visit::Unchanged | Visit::Markup => self.small,
            _ => 0,
        };
        let links = interval::links_after(self.links, told.links);
        let named = self.named || found == Found::Announced;
        (Self { rate: self.rate.after(told.since, found), links, small, named }, found)
    }
}

impl Heed {
    fn counts(self, visit: Visit, restless: bool) -> bool {
        match visit {
            Visit::Changed | Visit::Gone | Visit::Back | Visit::Redirect => true,
            Visit::Little | Visit::Numbers => self == Self::All || self == Self::Text && !restless,
            Visit::Markup => self == Self::All,
            Visit::First | Visit::Unchanged | Visit::Failed | Visit::Rejected | Visit::Erased => false,
        }
    }
}

/// What the settings say of visits.
#[derive(Clone, Debug, Default)]
pub struct Refresh {
    /// The cycle of a page of which no rule says another.
    pub cycle: Cycle,
    /// Price and bounds of intervals that adapt.
    pub pace: Pace,
    /// What counts as a change.
    pub heed: Heed,
    /// Visits of a host in its turn, of its pages, while new ones wait: 0 to 1.
    pub share: f64,
    /// Visits a second, all hosts together.
    pub max_rate: Option<f64>,
    /// Rules for some pages; the first that fits holds.
    pub rules: Vec<Rule>,
    /// Cycles that seeds have of their own.
    pub of_seeds: OfSeeds,
}

codes! {
    /// Cycles of their own that seeds have, the most that any has.
    #[derive(Default, Serialize)]
    #[serde(rename_all = "lowercase")]
    OfSeeds {
        /// None but `off`.
        #[default]
        None = 0, "none";
        /// Some are at fixed times.
        Fixed = 1, "fixed";
        /// Some adapt.
        Adapt = 2, "adapt";
    }
}

impl OfSeeds {
    /// With this one.
    #[must_use]
    pub fn and(self, cycle: Option<&Cycle>) -> Self {
        self.max(match cycle {
            None | Some(Cycle::Off) => Self::None,
            Some(Cycle::Adapt) => Self::Adapt,
            Some(_) => Self::Fixed,
        })
    }
}

/// How a page ended at its last visit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// It is there, or redirects.
    Done,
    /// It is not there, and was looked for so often since.
    Gone(u8),
    /// It was given up for another reason, and was visited so often since.
    Failed(u8),
}

impl Refresh {
    /// True when no page is ever visited again.
    pub fn is_off(&self) -> bool {
        self.of_seeds == OfSeeds::None
            && self.cycle == Cycle::Off
            && self.rules.iter().all(|rule| matches!(rule.cycle, None | Some(Cycle::Off)))
    }

    /// The greatest interval of pages whose intervals can be stretched; none where none can.
    pub fn stretches(&self) -> Option<Duration> {
        let adapts = |cycle: &Cycle| *cycle == Cycle::Adapt;
        let by_rule = self.rules.iter().filter(|rule| rule.cycle.as_ref().is_some_and(adapts));
        let of_rules = by_rule.map(|rule| rule.max.unwrap_or(self.pace.max)).max();
        of_rules
            .into_iter()
            .chain((adapts(&self.cycle) || self.of_seeds == OfSeeds::Adapt).then_some(self.pace.max))
            .max()
    }

    /// What holds for a page at this date.
    pub fn plan<'r>(&'r self, about: &About<'r>, date: UnixMillis) -> Plan<'r> {
        let Self { pace, heed, rules, .. } = self;
        let (cycle, by) = about.of_seed.map_or((&self.cycle, By::Refresh), |cycle| (cycle, By::Seed));
        let all = Plan { cycle, pace: *pace, heed: *heed, weight: 1.0, by, opens: None };
        all.with(rules, about, date)
    }
}

impl Plan<'_> {
    /// When a page comes next that was visited at `last` and ended so; none when it never does. `weight`: see [`interval::weight`]; `key`
    /// of its URL.
    pub fn next(
        &self,
        (last, ended): (UnixMillis, Ended),
        habit: &Habit,
        (weight, stretch): (f64, f64),
        key: &[u8],
    ) -> Option<UnixMillis> {
        let every = self.cycle.next(last, (habit.rate, weight), &self.pace, stretch, key).map(|next| next.since(last));
        let every = match ended {
            Ended::Done => every,
            Ended::Gone(tries) if tries < GONE_TRIES => {
                every.map(|every| every.max(self.pace.pace) * LATER.pow(tries.into()))
            }
            Ended::Failed(tries) if tries < FAILED_TRIES => {
                let most = |every: Duration| self.pace.max.max(every * 2);
                every.map(|every| (every * 2).saturating_mul(LATER.pow(tries.into())).min(most(every)))
            }
            Ended::Gone(_) | Ended::Failed(_) => return None,
        };
        let next = every.map(|every| last.plus(every));
        let opens = self.opens.filter(|opens| next.is_none_or(|next| *opens < next));
        opens.or(next)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY: Duration = Duration::from_secs(86_400);

    fn told(visit: Visit) -> Told {
        Told { visit, since: DAY, changed_ago: None, links: 0, announced: false }
    }

    fn refresh(cycle: &str) -> Refresh {
        let pace = Pace { pace: DAY, min: DAY / 24, max: DAY * 90 };
        Refresh { cycle: cycle.parse().unwrap(), pace, share: 0.5, ..Refresh::default() }
    }

    #[test]
    fn numbers_and_little_things_count_until_the_page_is_restless_and_a_text_ends_that() {
        let mut habit = Habit::default();
        let mut found = Vec::new();
        let visits = [
            Visit::Numbers,
            Visit::Little,
            Visit::Unchanged,
            Visit::Numbers,
            Visit::Numbers,
            Visit::Numbers,
            Visit::Little,
            Visit::Changed,
            Visit::Numbers,
        ];
        for visit in visits {
            let (next, brought) = habit.after(&told(visit), Heed::Text);
            (habit, _) = (next, found.push(brought == Found::Change));
        }
        assert_eq!(found, [true, true, false, true, true, false, false, true, true]);
    }

    #[test]
    fn what_counts_is_by_heed() {
        for (heed, counted) in [
            (
                Heed::Text,
                &[Visit::Changed, Visit::Little, Visit::Numbers, Visit::Gone, Visit::Back, Visit::Redirect][..],
            ),
            (
                Heed::All,
                &[
                    Visit::Changed,
                    Visit::Little,
                    Visit::Numbers,
                    Visit::Markup,
                    Visit::Gone,
                    Visit::Back,
                    Visit::Redirect,
                ],
            ),
            (Heed::Large, &[Visit::Changed, Visit::Gone, Visit::Back, Visit::Redirect]),
        ] {
            for visit in Visit::ALL {
                let (_, found) = Habit::default().after(&told(*visit), heed);
                assert_eq!(found == Found::Change, counted.contains(visit), "{heed} {visit}");
            }
        }
    }

    #[test]
    fn a_servers_word_of_the_moment_is_taken_when_it_lies_after_the_visit_before() {
        let of = |ago| Habit::default().after(&Told { changed_ago: Some(ago), ..told(Visit::Changed) }, Heed::Text).1;
        assert_eq!(of(DAY / 2), Found::ChangedAgo(DAY / 2));
        assert_eq!(of(DAY * 2), Found::Change, "it was told before, and the page has changed all the same");
    }

    #[test]
    fn what_is_gone_is_looked_for_three_times_ever_later_and_what_fails_eight_times_up_to_the_greatest_interval() {
        let every = |cycle: &str, ended| {
            let rules = refresh(cycle);
            let plan = rules.plan(&About::default(), UnixMillis(0));
            let next = plan.next((UnixMillis(0), ended), &Habit::default(), (1.0, 1.0), &[0x7f]);
            next.map(|at| at.0.div_ceil(86_400_000))
        };
        assert_eq!([0, 1, 2, 3].map(|n| every("1d", Ended::Gone(n))), [Some(1), Some(4), Some(16), None]);
        assert_eq!(every("1h", Ended::Gone(0)), Some(1), "not sooner than refresh.pace");
        assert_eq!(
            [0, 1, 2, 3, 7, 8].map(|n| every("1d", Ended::Failed(n))),
            [2, 8, 32, 90, 90].map(Some).into_iter().chain([None]).collect::<Vec<_>>()[..]
        );
        assert_eq!(every("1d", Ended::Done), Some(1));
        assert_eq!(every("off", Ended::Done), None);
    }
}
