//! A web that changes by its own clock, visited by one of several rules; what is fresh of it, and how old the rest.
//!
//! Pages change by Poisson, with mean times between two changes that are log-normal (median 50 d, sigma 2.2); their weights are those of
//! Zipf's law (exponent 0.8, mean 1, within 1/16 .. 16), shuffled. Each page is captured at the beginning. What Lycosa does is asked of
//! [`lycosa::domain::refresh`]; no network is touched, and the same seed makes the same figures.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::Duration;

use lycosa::base::time::UnixMillis;
use lycosa::domain::refresh::interval::{Pace, look_again_after, stretched};
use lycosa::domain::refresh::{Habit, Heed, Rate, Told};
use lycosa::domain::visit::Visit;

use super::rules::{Rule, Scaling, Shared};

/// Milliseconds of a day.
pub const DAY: f64 = 86_400_000.0;
/// Bounds of every interval, whoever chooses it, days.
pub const BOUNDS: (f64, f64) = (1.0 / 24.0, 90.0);
/// Median of the mean times between two changes, days, and standard deviation of its logarithm.
const EVERY: (f64, f64) = (50.0, 2.2);
/// Zipf's exponent.
const WEIGHTS: f64 = 0.8;

/// How large the web is, how long it is watched, and how many visits there are.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// Pages.
    pub pages: usize,
    /// Seed of everything.
    pub seed: u64,
    /// Visits a page and day that can be had.
    pub room: f64,
    /// What is measured, days from the beginning.
    pub watched: (f64, f64),
}

/// What came of it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Measured {
    /// Of the time, by weight, that pages are as they were seen last: per cent.
    pub fresh: f64,
    /// Time since the first change that was not seen (0 while there is none), in the mean by weight: days.
    pub age: f64,
    /// Visits a page and day.
    pub visits: f64,
}

/// A page as it is, and what the crawler knows of it.
#[derive(Clone, Debug)]
pub struct Page {
    /// Changes a day.
    pub rate: f64,
    /// Its weight.
    pub weight: f64,
    /// When the first change comes that was not seen yet: days.
    next_change: f64,
    /// When it was visited last: days.
    last_visit: f64,
    /// What was learned of it.
    pub habit: Habit,
    /// What the rule said last, before bounds and any stretch: days.
    pub interval: f64,
    /// How long it rests since its last visit, as planned then: days.
    planned: f64,
}

/// Numbers as if thrown, the same at each run (SplitMix64, Steele and others, 2014).
pub struct Dice(pub u64);

impl Dice {
    /// From 0 to below 1.
    pub fn unit(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// By Gauss, with mean 0 and deviation 1 (Box and Muller, 1958).
    fn normal(&mut self) -> f64 {
        (-2.0 * (1.0 - self.unit()).ln()).sqrt() * (std::f64::consts::TAU * self.unit()).cos()
    }

    fn gap(&mut self, mean: f64) -> f64 {
        -mean * (1.0 - self.unit()).ln()
    }
}

fn pages(plan: &Plan, dice: &mut Dice) -> Vec<Page> {
    let n = plan.pages;
    let mut ranks: Vec<usize> = (1..=n).collect();
    for at in (1..n).rev() {
        ranks.swap(at, (dice.unit() * (at + 1) as f64) as usize);
    }
    let mean = (1..=n).map(|rank| (rank as f64).powf(-WEIGHTS)).sum::<f64>() / n as f64;
    let page = |rank: usize| {
        let rate = 1.0 / (EVERY.0 * (EVERY.1 * dice.normal()).exp());
        Page {
            rate,
            weight: ((rank as f64).powf(-WEIGHTS) / mean).clamp(1.0 / 16.0, 16.0),
            next_change: dice.gap(1.0 / rate),
            last_visit: 0.0,
            habit: Habit::of_new_page(Rate::default(), None, 0),
            interval: 1.0 / plan.room,
            planned: f64::INFINITY,
        }
    };
    ranks.into_iter().map(page).collect()
}

/// Visits the web by a rule.
pub fn measure(plan: &Plan, rule: Rule) -> Measured {
    let mut dice = Dice(plan.seed);
    let mut pages = pages(plan, &mut dice);
    let room = plan.room * plan.pages as f64;
    let shared = Shared::of(rule, &mut pages, room);
    let (sums, visits) = (Sums::default(), 0);
    let mut run = Run { plan: *plan, shared, room, load: 0.0, stretch: 1.0, looked: 0.0, free: 0.0, sums, visits };
    let mut rows: BinaryHeap<Reverse<(u64, usize)>> = BinaryHeap::new();
    for (at, page) in pages.iter_mut().enumerate() {
        run.plan_next(page);
        rows.push(Reverse((millis(page.planned * dice.unit()), at)));
    }
    while let Some(Reverse((when, at))) = rows.pop() {
        let due = when as f64 / DAY;
        let now = run.served(due);
        if now > plan.watched.1 {
            break;
        }
        run.look(due, now);
        if let Some(page) = pages.get_mut(at) {
            run.visit(page, due, now, &mut dice);
            rows.push(Reverse((millis(page.last_visit + page.planned), at)));
        }
    }
    pages.iter().for_each(|page| run.sums.add(page, plan.watched, plan.watched.1));
    run.measured()
}

struct Run {
    plan: Plan,
    shared: Shared,
    /// Visits a day.
    room: f64,
    /// Visits a day that are planned.
    load: f64,
    stretch: f64,
    /// When load and room were compared last.
    looked: f64,
    /// When the next visit can be had.
    free: f64,
    sums: Sums,
    visits: u64,
}

impl Run {
    /// When what is due is served: where no rule keeps to what can be had, visits come one after the other, in the order of their times.
    fn served(&mut self, due: f64) -> f64 {
        if !self.shared.waits() {
            return due;
        }
        let now = due.max(self.free);
        self.free = now + 1.0 / self.room;
        now
    }

    /// What was due comes now: from time to time that says whether intervals are to be longer.
    fn look(&mut self, due: f64, now: f64) {
        match self.shared.scaling() {
            Scaling::None => {}
            Scaling::ToRoom if now - self.looked < 1.0 => {}
            Scaling::ToRoom => {
                (self.stretch, self.looked) = (self.stretch * (self.load / self.room).clamp(0.25, 4.0), now)
            }
            Scaling::Ours => {
                let mean = time(self.plan.pages as f64 / self.load);
                if time(now - self.looked) >= look_again_after(mean) {
                    (self.stretch, self.looked) = (stretched(self.stretch, time(now - due), mean), now);
                }
            }
        }
    }

    /// Plans how long a page rests.
    fn plan_next(&mut self, page: &mut Page) {
        let rest = self.shared.rest(page, self.stretch);
        self.load += 1.0 / rest - 1.0 / page.planned;
        page.planned = rest;
    }

    /// Looks at a page whose time has come, unless by the stretch of now it has not, and plans when it is looked at next.
    fn visit(&mut self, page: &mut Page, due: f64, now: f64, dice: &mut Dice) {
        let rest = self.shared.rest(page, self.stretch);
        let first = page.last_visit == 0.0;
        if self.shared.scaling() == Scaling::Ours && !first && page.last_visit + rest > now + 1.0 / DAY {
            self.plan_next(page);
            // Nothing was fetched: whoever comes next need not wait for it.
            self.free = now.max(due);
            return;
        }
        self.sums.add(page, self.plan.watched, now);
        self.visits += u64::from(now > self.plan.watched.0);
        let changed = page.next_change <= now;
        let told = Told {
            visit: if changed { Visit::Changed } else { Visit::Unchanged },
            since: UnixMillis(millis(now)).since(UnixMillis(millis(page.last_visit))),
            changed_ago: None,
            links: 0,
            announced: false,
        };
        (page.habit, _) = page.habit.after(&told, Heed::Text);
        page.last_visit = now;
        while page.next_change <= now {
            page.next_change += dice.gap(1.0 / page.rate);
        }
        self.shared.learn(page, changed);
        self.plan_next(page);
    }

    fn measured(&self) -> Measured {
        let days = (self.plan.watched.1 - self.plan.watched.0) * self.plan.pages as f64;
        let Sums { fresh, age, all } = self.sums;
        Measured { fresh: 100.0 * fresh / all, age: age / all, visits: self.visits as f64 / days }
    }
}

/// Days, by weight.
#[derive(Default)]
struct Sums {
    fresh: f64,
    age: f64,
    all: f64,
}

impl Sums {
    /// From the last visit of a page until `now`, as far as it is watched.
    fn add(&mut self, page: &Page, watched: (f64, f64), now: f64) {
        let from = page.last_visit.max(watched.0);
        if now <= from {
            return;
        }
        self.fresh += page.weight * (page.next_change.clamp(from, now) - from);
        let stale = |until: f64| (until - page.next_change).max(0.0).powi(2) / 2.0;
        self.age += page.weight * (stale(now) - stale(from));
        self.all += page.weight * (now - from);
    }
}

/// Lycosa's interval of a page, days: its rate as it is, or as it was told from visits.
pub fn ours(page: &Page, known: bool, pace: f64, stretch: f64) -> f64 {
    let rate = if known { Rate::of(page.rate * 1_000.0 / DAY, 1.0) } else { page.habit.rate };
    // A key whose spread is none.
    let pace = Pace { pace: time(pace), min: time(BOUNDS.0), max: time(BOUNDS.1) };
    pace.interval(rate, page.weight, stretch, &[0x7f]).as_secs_f64() * 1_000.0 / DAY
}

fn time(days: f64) -> Duration {
    Duration::from_secs_f64(days * DAY / 1_000.0)
}

fn millis(days: f64) -> u64 {
    (days * DAY) as u64
}
