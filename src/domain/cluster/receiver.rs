//! What a member takes of the links that another hands over. Where it stands with each sender changes in the same commit as what it
//! took, so that a row is taken once, or again by a folder that was put back.

use super::map::{Map, MemberId};
use super::moves::Place;
use super::sender::{Answer, Ask};
use crate::domain::partition::{Partition, PartitionSet};

/// Most requests in work at a time.
pub const AT_WORK: usize = 4;

/// What a request comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Judged {
    /// Nothing is to be done but to say this.
    Say(Answer),
    /// The rows from the first number to the second are to be taken; see [`ready`].
    Take(u64, u64),
}

/// Judges a request. `stand`: up to where this member has the rows of that sender, by its database. `map`: the version that it has.
pub fn judge(stand: Option<u64>, ask: &Ask, map: u64, at_work: usize) -> Judged {
    let (first, last) = ask.rows;
    let known = stand.map_or(Answer::Unknown, Answer::Stands);
    match stand {
        _ if map < ask.map || (last >= first && at_work >= AT_WORK) => Judged::Say(Answer::Later),
        _ if last < first => Judged::Say(known),
        Some(number) if ask.after > number || last <= number => Judged::Say(known),
        Some(number) => Judged::Take(first.max(number + 1), last),
        None if ask.oldest => Judged::Take(first, last),
        None => Judged::Say(known),
    }
}

/// How many of the rows, from the first, can be taken now: those before one with links of a partition that this member is to have and
/// has not yet. When none can, the answer is [`Answer::Later`].
pub fn ready<'r>(rows: impl Iterator<Item = &'r [Partition]>, map: &Map, me: MemberId, owned: &PartitionSet) -> usize {
    let waits = |partition: &Partition| map.place(me, owned, *partition) == Place::Soon;
    rows.take_while(|row| !row.iter().any(waits)).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOTHING: u64 = u64::MAX;

    fn ask(after: u64, rows: (u64, u64), oldest: bool) -> Ask {
        let was = Some(Stand { session: 6, number: 5 });
        Ask { id: 1, session: 7, was, after, rows, oldest, map: 3 }
    }

    fn said(answer: Answer) -> Judged {
        Judged::Say(answer)
    }

    #[test]
    fn rows_are_taken_that_follow() {
        let at = |session, number| Some(Stand { session, number });
        let cases = [
            (None, ask(NOTHING, (1, 0), false), said(Answer::Unknown)),
            (at(7, 8), ask(NOTHING, (1, 0), false), said(Answer::Stands(8))),
            (at(7, 8), ask(8, (9, 12), false), Judged::Take(9, 12)),
            (at(7, 10), ask(8, (9, 12), false), Judged::Take(11, 12)), // asked again
            (at(7, 12), ask(8, (9, 12), false), said(Answer::Stands(12))), // twice
            (at(7, 6), ask(8, (9, 12), true), said(Answer::Stands(6))), // put back
            (at(7, 6), ask(6, (9, 12), true), Judged::Take(9, 12)),    // 7 and 8 are nowhere
            (at(6, 5), ask(5, (6, 9), false), Judged::Take(6, 9)),     // goes on from the former session
            (at(6, 8), ask(NOTHING, (1, 0), false), said(Answer::Stands(5))), // 6 to 8 were other rows
            (at(5, 8), ask(5, (6, 9), false), said(Answer::Unknown)),
            (at(5, 8), ask(5, (6, 9), true), Judged::Take(6, 9)),
            (None, ask(5, (6, 9), true), Judged::Take(6, 9)),
        ];
        for (stand, ask, judged) in cases {
            assert_eq!(judge(stand, &ask, 3, 0), judged, "{stand:?} {ask:?}");
        }
    }

    #[test]
    fn an_older_map_waits_and_too_much_work_is_refused() {
        let rows = ask(0, (1, 2), true);
        assert_eq!(judge(None, &rows, 2, 0), said(Answer::Later));
        assert_eq!(judge(None, &rows, 3, AT_WORK), said(Answer::Later));
        assert_eq!(judge(None, &rows, 4, AT_WORK - 1), Judged::Take(1, 2));
        assert_eq!(judge(None, &ask(0, (1, 0), false), 3, AT_WORK), said(Answer::Unknown));
    }

    #[test]
    fn links_of_a_partition_that_comes_wait_and_those_of_others_do_not() {
        let (me, p, q) = (MemberId(1), Partition(5), Partition(6));
        let map = Map::first("a", 7).unwrap().joined("b", 1).unwrap().0;
        let map = map.begun(&[p].into_iter().collect(), me).unwrap();
        let map = map.handed_over(MemberId(0), &[(p, "o".to_owned())].into()).unwrap();
        let rows: [&[Partition]; 3] = [&[q], &[q, p], &[q]];
        assert_eq!(ready(rows.into_iter(), &map, me, &PartitionSet::none()), 1);
        assert_eq!(ready(rows.into_iter(), &map, me, &[p].into_iter().collect()), 3);
    }
}
