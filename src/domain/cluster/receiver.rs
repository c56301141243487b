//! What a member takes of the links that another hands over. Where it stands with each sender changes in the same commit as what it
//! took, so that a row is taken once, or again by a folder that was put back.

use super::sender::{Answer, Ask};

/// Most requests in work at a time.
pub const AT_WORK: usize = 4;

/// What a request comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Judged {
    /// Nothing is to be done but to say this.
    Say(Answer),
    /// The rows from the first number to the second are to be taken.
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

#[cfg(test)]
mod tests {
    use super::*;

    const NOTHING: u64 = u64::MAX;

    fn ask(after: u64, rows: (u64, u64), oldest: bool) -> Ask {
        Ask { id: 1, after, rows, oldest, map: 3 }
    }

    fn said(answer: Answer) -> Judged {
        Judged::Say(answer)
    }

    #[test]
    fn rows_are_taken_that_follow() {
        let cases = [
            (None, ask(NOTHING, (1, 0), false), said(Answer::Unknown)),
            (Some(8), ask(NOTHING, (1, 0), false), said(Answer::Stands(8))),
            (Some(8), ask(8, (19, 42), false), Judged::Take(19, 42)),
            (Some(8), ask(5, (19, 42), false), Judged::Take(19, 42)), // of a sender that was put back
            (Some(30), ask(8, (19, 42), false), Judged::Take(31, 42)), // asked again
            (Some(42), ask(8, (19, 42), false), said(Answer::Stands(42))), // twice
            (Some(6), ask(8, (19, 42), true), said(Answer::Stands(6))), // put back: the sender has to hear of it
            (Some(6), ask(6, (19, 42), true), Judged::Take(19, 42)),
            (None, ask(5, (19, 42), false), said(Answer::Unknown)),
            (None, ask(5, (19, 42), true), Judged::Take(19, 42)),
            (Some(u64::MAX), ask(8, (19, 42), false), said(Answer::Stands(u64::MAX))),
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
}
