//! The restart rules: how long a dead actor rests, and when it has died too often.

use std::collections::VecDeque;
use std::time::Duration;

use xxhash_rust::xxh3::xxh3_64;

use crate::base::time::UnixMillis;

/// How often an actor may die before the node gives up, and how long it rests in between.
#[derive(Clone, Debug)]
pub struct RestartRules {
    /// Rest after the first death; doubled by each further one inside the window.
    pub backoff: Duration,
    /// Longest rest.
    pub backoff_max: Duration,
    /// Deaths inside `window` that are forgiven; one more stops the node.
    pub budget: usize,
    /// The window.
    pub window: Duration,
}

/// The deaths of one actor inside the window.
#[derive(Debug, Default)]
pub struct Deaths(VecDeque<UnixMillis>);

impl Deaths {
    /// Notes a death at `now`; gives the rest before the next life, or `None` when the budget is spent.
    ///
    /// `jitter` (0 to 1) says which part of the rest's second half is taken, so that actors that died of one cause do not all
    /// come back in the same moment.
    pub fn note(&mut self, now: UnixMillis, jitter: f64, rules: &RestartRules) -> Option<Duration> {
        while self.0.front().is_some_and(|t| now.since(*t) > rules.window) {
            self.0.pop_front();
        }
        self.0.push_back(now);
        if self.0.len() > rules.budget {
            return None;
        }
        let doublings = u32::try_from(self.0.len() - 1).unwrap_or(u32::MAX).min(16);
        let half = rules.backoff.saturating_mul(1 << doublings).min(rules.backoff_max) / 2;
        Some(half + half.mul_f64(jitter.clamp(0.0, 1.0)))
    }
}

/// Numbers without a pattern; the same for the same actor in each run.
#[derive(Debug)]
pub struct Jitter(u64);

impl Jitter {
    /// Those of one actor.
    pub fn of(kind: &str, instance: &str) -> Self {
        Self(xxh3_64(format!("{kind} {instance}").as_bytes()) | 1)
    }

    /// The next number, from 0 to 1 (xorshift).
    pub fn roll(&mut self) -> f64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as f64 / (1_u64 << 53) as f64
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// The defaults of the settings.
    pub fn rules() -> RestartRules {
        let s = crate::config::SupervisionSection::default();
        RestartRules { backoff: s.backoff, backoff_max: s.backoff_max, budget: s.budget, window: s.window }
    }

    const ALL: f64 = 1.0;

    #[test]
    fn the_rest_doubles_the_budget_ends_it_and_deaths_before_the_window_are_forgiven() {
        for (budget, story) in [
            (3, &[(0, Some(50)), (1, Some(100)), (2, Some(200)), (3, None)][..]),
            (1, &[(0, Some(50)), (60_001, Some(50))]),
        ] {
            let (rules, mut deaths) = (RestartRules { budget, ..rules() }, Deaths::default());
            for (at, rest) in story {
                assert_eq!(deaths.note(UnixMillis(*at), ALL, &rules), rest.map(Duration::from_millis), "{budget} {at}");
            }
        }
    }

    #[test]
    fn the_dice_shorten_a_rest_to_its_half_at_most() {
        let rest = |jitter| Deaths::default().note(UnixMillis(0), jitter, &rules());
        assert_eq!(rest(0.0), Some(Duration::from_millis(25)));
        assert_eq!(rest(0.5), Some(Duration::from_micros(37_500)));
        assert_eq!(rest(f64::NAN.max(7.0)), Some(Duration::from_millis(50)));
    }

    #[test]
    fn two_actors_roll_different_numbers_and_each_the_same_in_every_run() {
        let rolls = |instance| {
            let mut jitter = Jitter::of("politeness", instance);
            [jitter.roll(), jitter.roll(), jitter.roll()]
        };
        let (one, other) = (rolls("a.test"), rolls("b.test"));
        assert_eq!(one, rolls("a.test"));
        assert!(one.iter().chain(&other).all(|n| (0.0..1.0).contains(n)));
        assert!(one.iter().zip(&other).all(|(a, b)| (a - b).abs() > 1e-3), "{one:?} {other:?}");
    }

    #[test]
    fn an_actor_that_dies_at_once_each_time_spends_its_budget() {
        let (rules, mut deaths, mut now) = (rules(), Deaths::default(), UnixMillis(0));
        let spent = (0..100).find(|_| match deaths.note(now, ALL, &rules) {
            Some(rest) => {
                now = now.plus(rest);
                false
            }
            None => true,
        });
        assert_eq!(spent, Some(rules.budget));
    }
}
