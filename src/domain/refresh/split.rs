//! Of a host's pages so many are visits: an exact balance, by which neither new pages nor visits starve.
//!
//! Visits come in turns. After one the host owes new pages, by the share that is to be visits; new pages that go beyond what it owes are made up for
//! by the next turn. So of any k pages of a host that has enough of both s k are visits, give or take a turn.

use super::Refresh;

/// Visits of a host that are queued or in hands at a time.
pub const TURN: u32 = 16;

impl Refresh {
    /// Visits in a turn of a host that has room for so many, where no new pages wait. With a bound of all hosts together (`max_rate`) a
    /// turn is one visit, for the Frontier counts turns.
    pub fn room(&self, room: u32) -> u32 {
        if self.max_rate.is_some() { room.min(1) } else { room }
    }

    /// Visits in a turn of a host that has room for so many, where new pages wait and it owes these: as many more as went before them
    /// already.
    pub fn turn(&self, room: u32, owed: Owed) -> u32 {
        let ahead = -owed.pages().min(0.0) / self.new_for_one().max(1e-6);
        let wanted = (f64::from(TURN) * self.share.clamp(0.0, 1.0)).ceil() + ahead;
        self.room(room).min(wanted as u32)
    }

    /// What a host owes after a turn of so many visits. Where no visits are to be made while new pages wait it owes a turn of new ones.
    pub fn owes(&self, owed: Owed, visits: u32) -> Owed {
        match self.share > 0.0 {
            true => owed.plus(f64::from(visits) * self.new_for_one()),
            false => Owed::default().plus(TURN.into()),
        }
    }

    /// What a host owes after a new page: so much below nothing as a half turn of visits makes up for, or new pages that went alone for long
    /// would be followed by visits for as long.
    pub fn paid(&self, owed: Owed) -> Owed {
        let least = Owed::default().plus(-f64::from(TURN / 2) * self.new_for_one().min(1e4));
        owed.plus(-1.0).max(if self.share > 0.0 { least } else { Owed::default() })
    }

    /// New pages that go for one visit.
    fn new_for_one(&self) -> f64 {
        let share = self.share.clamp(1e-6, 1.0);
        (1.0 - share) / share
    }
}

/// New pages that go before the next visits of a host, in 1/256; below zero those that went before them already.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Owed(pub i32);

impl Owed {
    /// The next turn of visits is prepared while a host still owes so many new pages, which it goes on owing: that takes a commit or two.
    const EARLY: f64 = 4.0;
    const ONE: f64 = 256.0;

    /// How many pages.
    pub fn pages(self) -> f64 {
        f64::from(self.0) / Self::ONE
    }

    /// Whether it is so much that the next turn of visits is not to be prepared yet.
    pub fn is_much(self) -> bool {
        self.pages() > Self::EARLY
    }

    fn plus(self, pages: f64) -> Self {
        Self((f64::from(self.0) + (pages * Self::ONE).round()) as i32)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_turn_is_a_share_of_what_a_host_may_have_in_hand_and_owes_the_rest_in_new_pages() {
        let of = |share: f64| {
            let refresh = Refresh { share, ..Refresh::default() };
            let visits = refresh.turn(16, Owed::default());
            (visits, refresh.owes(Owed::default(), visits).pages())
        };
        assert_eq!([0.0, 0.25, 0.5, 0.8, 1.0].map(of), [(0, 16.0), (4, 12.0), (8, 8.0), (13, 3.25), (16, 0.0)]);
        assert_eq!(Refresh::default().room(16), 16);
    }

    /// A host with both, more than enough of each: what it fetches one after the other. Visits go before new pages, and a turn begins so
    /// many pages after its time.
    fn fetched(refresh: &Refresh, late: &[u8], pages: usize) -> Vec<bool> {
        let (mut queued, mut owed, mut waited, mut late) = (0, Owed::default(), 0, late.iter().cycle());
        let mut lag = 0;
        std::iter::repeat_with(|| {
            if queued <= TURN / 2 && !owed.is_much() {
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
            let soon: Vec<u8> = late.iter().map(|late| late % 8).collect();
            let (fewer, _) = of(&soon);
            prop_assert!(fewer <= f64::from(TURN), "{} too few", fewer);
        }
    }
}
