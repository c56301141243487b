//! Of a host's pages so many are visits: an exact balance, by which neither new pages nor visits starve.
//!
//! Visits come in turns, and new pages pay for them, by the share that is to be visits; new pages that go when all is paid are made up for by the
//! next turn. So of any k pages of a host that has enough of both s k are visits, give or take a turn.

use super::Refresh;

/// Visits of a host that are queued or in hands at a time.
pub const TURN: u32 = 16;
/// The next turn may begin while so many of the one before are under way: half of these are in the hands of their host.
pub const FEW: u32 = 12;

impl Refresh {
    /// Visits in a turn of a host that has room for so many, where no new pages wait. With a bound of all hosts together (`max_rate`) a
    /// turn is one visit, for the Frontier counts turns.
    pub fn room(&self, room: u32) -> u32 {
        if self.max_rate.is_some() { room.min(1) } else { room }
    }

    /// Visits in a turn of a host that has room for so many, where new pages wait and so many visits are unpaid: as many more as were paid
    /// ahead.
    pub fn turn(&self, room: u32, unpaid: Unpaid) -> u32 {
        let share = self.share.clamp(0.0, 1.0);
        let ahead = if share > 0.0 { -unpaid.max(self.least()).visits().min(0.0) } else { 0.0 };
        let wanted = (f64::from(TURN) * share).ceil() + ahead;
        self.room(room).min(wanted as u32)
    }

    /// What is unpaid after a turn of so many visits. Where none are to be made while new pages wait a turn is, until they wait no more.
    pub fn owes(&self, unpaid: Unpaid, visits: u32) -> Unpaid {
        match self.share {
            share if share <= 0.0 => Unpaid::default().plus(TURN.into()),
            share if share >= 1.0 => Unpaid::default(),
            _ => unpaid.max(self.least()).plus(visits.into()).min(Unpaid::default().plus(f64::from(2 * TURN))),
        }
    }

    /// What is unpaid after a new page.
    pub fn paid(&self, unpaid: Unpaid) -> Unpaid {
        unpaid.plus(-self.visits_for_one()).max(self.least())
    }

    /// As many visits are paid ahead as a new page pays for and half a turn more, or new pages that went alone for long would be followed by
    /// visits for as long.
    fn least(&self) -> Unpaid {
        Unpaid::default().plus(-self.visits_for_one() - f64::from(TURN / 2))
    }

    /// Visits that a new page pays for.
    fn visits_for_one(&self) -> f64 {
        let share = self.share.clamp(0.0, 0.999);
        share / (1.0 - share)
    }

    /// New pages that go before the next turn of a host.
    pub fn new_first(&self, unpaid: Unpaid) -> f64 {
        let share = self.share.clamp(1e-6, 1.0);
        (unpaid.visits().max(0.0) * (1.0 - share) / share).ceil()
    }
}

/// Visits of a host that no new pages have paid for yet, in 1/65,536; below zero those that are paid ahead. So it is bounded by turns whatever
/// the share is, and another share holds at once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Unpaid(pub i32);

impl Unpaid {
    /// The next turn is prepared while so many visits are unpaid, which they stay: that takes a commit or two.
    const EARLY: f64 = 4.0;
    const ONE: f64 = 65_536.0;

    /// How many visits.
    pub fn visits(self) -> f64 {
        f64::from(self.0) / Self::ONE
    }

    /// Whether it is so much that the next turn of visits is not to be prepared yet.
    pub fn is_much(self) -> bool {
        self.visits() > Self::EARLY
    }

    fn plus(self, visits: f64) -> Self {
        Self((f64::from(self.0) + (visits * Self::ONE).round()) as i32)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_turn_is_a_share_of_what_a_host_may_have_in_hand_and_the_rest_is_paid_in_new_pages() {
        let of = |share: f64| {
            let refresh = Refresh { share, ..Refresh::default() };
            let visits = refresh.turn(16, Unpaid::default());
            (visits, refresh.new_first(refresh.owes(Unpaid::default(), visits)))
        };
        assert_eq!([0.0, 0.25, 0.5, 0.8, 1.0].map(of), [(0, 15_999_984.0), (4, 12.0), (8, 8.0), (13, 4.0), (16, 0.0)]);
        assert_eq!(Refresh::default().room(16), 16);
    }

    /// A host with both, more than enough of each: what it fetches one after the other. Visits go before new pages, and a turn begins so
    /// many pages after its time.
    fn fetched(refresh: &Refresh, late: &[u8], pages: usize) -> Vec<bool> {
        let (mut queued, mut owed, mut waited, mut late) = (0, Unpaid::default(), 0, late.iter().cycle());
        let mut lag = 0;
        std::iter::repeat_with(|| {
            if queued <= FEW && !owed.is_much() {
                if waited >= lag {
                    let turn = refresh.turn(TURN - queued, owed);
                    (queued, owed, waited, lag) = (queued + turn, refresh.owes(owed, turn), 0, *late.next().unwrap());
                }
                waited += 1;
            }
            let visit = queued > 0;
            if visit {
                queued -= 1
            } else {
                owed = refresh.paid(owed)
            }
            visit
        })
        .take(pages)
        .collect()
    }

    #[test]
    fn what_is_unpaid_is_little_whatever_the_share_was_so_that_another_one_holds_soon() {
        for (before, share) in [(1e-6, 0.5), (0.001, 0.2), (0.0, 0.9), (0.999, 0.1), (1.0, 0.5)] {
            let (was, is) = (Refresh { share: before, ..Refresh::default() }, Refresh { share, ..Refresh::default() });
            let unpaid = (0..1_000).fold(Unpaid::default(), |unpaid, _| was.owes(unpaid, 16));
            let pages = is.new_first(unpaid);
            assert!(pages <= 32.0 * (1.0 - share) / share + 1.0, "from {before} to {share}: {pages}");
            // Nor are many paid ahead.
            let mut unpaid = (0..1_000).fold(Unpaid::default(), |unpaid, _| was.paid(unpaid));
            let visits: u32 = std::iter::from_fn(|| {
                let turn = is.turn(16, unpaid);
                (!unpaid.is_much()).then(|| unpaid = is.owes(unpaid, turn)).map(|()| turn)
            })
            .sum();
            assert!(f64::from(visits) <= 40.0 + share / (1.0 - share), "from {before} to {share}: {visits} visits");
        }
    }

    proptest! {
        #[test]
        fn of_any_pages_of_a_host_no_more_than_its_share_and_a_turn_are_visits_and_no_fewer_while_turns_are_not_very_late(
            share in 0.1..=1.0_f64, late in prop::collection::vec(0_u8..=20, 1..40), window in 16_usize..600,
        ) {
            let refresh = Refresh { share, ..Refresh::default() };
            let of = |late: &[u8]| {
                let visits = fetched(&refresh, late, 3_000);
                let counts = visits.windows(window).map(|part| part.iter().filter(|visit| **visit).count());
                let wanted = share * window as f64;
                let (fewest, most) = counts.fold((usize::MAX, 0), |(fewest, most), n| (n.min(fewest), n.max(most)));
                (wanted - fewest as f64, most as f64 - wanted)
            };
            let (_, more) = of(&late);
            prop_assert!(more <= f64::from(TURN), "{} too many", more);
            // As many new pages as can be paid ahead.
            let ahead = 1 + (f64::from(TURN / 2) * (1.0 - share) / share).min(7.0) as u8;
            let soon: Vec<u8> = late.iter().map(|late| late % ahead).collect();
            let (fewer, _) = of(&soon);
            prop_assert!(fewer <= f64::from(TURN), "{} too few", fewer);
        }
    }
}
