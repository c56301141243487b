//! Turns of hosts whose visits are due, so many a second (`refresh.max_rate`): a bucket that fills with time.

use crate::base::time::UnixMillis;

/// Turns that gather while none is due, in seconds.
const BURST: f64 = 1.0;

/// The bucket. With a bound each turn is of one visit.
#[derive(Default)]
pub struct Turns {
    left: f64,
    at: Option<UnixMillis>,
}

impl Turns {
    /// How many turns may begin now; all without a bound.
    pub fn most(&mut self, rate: Option<f64>, now: UnixMillis) -> usize {
        let since = self.at.replace(now).map_or(0.0, |at| now.since(at).as_secs_f64());
        let Some(rate) = rate else {
            self.left = 0.0;
            return usize::MAX;
        };
        self.left = (self.left + since * rate).min((BURST * rate).max(1.0));
        self.left.max(0.0) as usize
    }

    /// So many began.
    pub fn taken(&mut self, turns: usize) {
        self.left = (self.left - turns as f64).max(0.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn over_any_time_as_many_turns_begin_as_the_rate_says_and_a_second_of_them_more() {
        for rate in [0.2, 3.0, 250.0] {
            let (mut turns, mut begun) = (Turns::default(), 0);
            for tick in 0..4_000 {
                let most = turns.most(Some(rate), UnixMillis(tick * 25));
                turns.taken(most);
                begun += most;
            }
            let wanted = rate * 100.0;
            assert!((begun as f64 - wanted).abs() <= rate.max(1.0) + 1.0, "{rate}: {begun}");
        }
        assert_eq!(Turns::default().most(None, UnixMillis(0)), usize::MAX);
    }

    #[test]
    fn what_gathers_while_nothing_is_due_is_one_second_of_it() {
        let mut turns = Turns::default();
        turns.most(Some(4.0), UnixMillis(0));
        assert_eq!(turns.most(Some(4.0), UnixMillis(1_000_000)), 4);
    }
}
