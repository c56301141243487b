//! Links on their way to one other member. They lie in numbered rows of this folder; each goes over by request and answer, and stays
//! until a whole checkpoint of the receiver covers it.
//!
//! Numbers rise and never come again, whatever happens to the folder (they are times: ADR 41), but do not follow each other: a member
//! stands at a number when it has every row up to there.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::map::MemberId;
use crate::base::time::UnixMillis;

/// Most bytes of rows in a request.
pub const REQUEST: usize = 256 << 10;
/// After so long without an answer a request counts as lost.
pub const ANSWER: Duration = Duration::from_secs(10);
/// How long a sender waits when the receiver has too much to do, or cannot take the rows yet.
pub const PAUSE: Duration = Duration::from_secs(1);

/// A request: these rows, or none when it only asks where the receiver stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ask {
    /// Comes back with the answer.
    pub id: u64,
    /// There is no row between this number and the first one sent.
    pub after: u64,
    /// The first and the last row sent; none when the second is smaller.
    pub rows: (u64, u64),
    /// The first row sent is the oldest that there is: who has nothing may take it.
    pub oldest: bool,
    /// Version of the sender's map.
    pub map: u64,
}

/// What the receiver says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Answer {
    /// It has everything up to this number.
    Stands(u64),
    /// It has nothing of this sender.
    Unknown,
    /// It has too many requests in work, cannot have a partition's links yet, or has an older map than the sender.
    Later,
}

/// What is known of one destination.
#[derive(Clone, Debug)]
pub struct Sender {
    /// The oldest row there is; one more than the last when there is none.
    first: u64,
    last: u64,
    /// What a checkpoint of the receiver had, as far as it was heard of.
    covered: u64,
    /// What the receiver has, as far as it has said so in its present session.
    stands: Option<u64>,
    receiver: Option<u64>,
    under_way: Option<(u64, UnixMillis)>,
    not_before: UnixMillis,
    asks: u64,
}

impl Sender {
    /// At a start: the first and the last of the rows there are.
    pub fn new(rows: Option<(u64, u64)>) -> Self {
        let (first, last) = rows.unwrap_or((1, 0));
        let (under_way, not_before) = (None, UnixMillis(0));
        Self { first, last, covered: 0, stands: None, receiver: None, under_way, not_before, asks: 0 }
    }

    /// A row of that number was committed.
    pub fn added(&mut self, number: u64) {
        if self.first > self.last {
            self.first = number;
        }
        self.last = self.last.max(number);
    }

    /// What to send now, if anything: one request at a time. `rows` gives the first and the last of those behind a number that a request
    /// may have: at most [`REQUEST`] bytes, or one row.
    pub fn ask(&mut self, now: UnixMillis, map: u64, rows: impl FnOnce(u64) -> Option<(u64, u64)>) -> Option<Ask> {
        let waits = self.under_way.is_some_and(|(_, since)| now.since(since) < ANSWER);
        if waits || now < self.not_before || self.is_answered() {
            return None;
        }
        let rows = match self.stands {
            None => (1, 0),
            Some(stands) => rows(stands)?,
        };
        self.asks += 1;
        self.under_way = Some((self.asks, now));
        let oldest = self.stands.is_some() && rows.0 <= self.first;
        Some(Ask { id: self.asks, after: self.stands.unwrap_or(u64::MAX), rows, oldest, map })
    }

    /// The answer of a receiver's session. Gives back the rows that it lacks although its checkpoint had them, if there are such:
    /// nobody has them any more, a loss to be told.
    pub fn answered(&mut self, id: u64, receiver: u64, answer: Answer, now: UnixMillis) -> Option<(u64, u64)> {
        if self.under_way.is_none_or(|(asked, _)| asked != id) {
            return None; // of an earlier request: where it stood then
        }
        self.under_way = None;
        self.receiver(receiver);
        match answer {
            Answer::Later => self.not_before = now.plus(PAUSE),
            Answer::Unknown => self.stands = Some(self.first - 1),
            Answer::Stands(number) => {
                self.stands = Some(number.min(self.last));
                if number < self.covered {
                    return Some((number + 1, self.covered));
                }
            }
        }
        None
    }

    /// The receiver's session, as its lease says. Another one than before may stand further back: it is asked.
    pub fn receiver(&mut self, session: u64) {
        if self.receiver != Some(session) {
            (self.receiver, self.stands, self.under_way) = (Some(session), None, None);
        }
    }

    /// A whole checkpoint of the receiver has all rows up to there. Gives back up to which number rows are to be removed.
    pub fn covered(&mut self, number: u64) -> Option<u64> {
        let number = number.min(self.last);
        self.covered = self.covered.max(number);
        if number < self.first {
            return None;
        }
        self.removed(number);
        Some(number)
    }

    /// The rows up to that number are gone, or went another way.
    pub fn removed(&mut self, number: u64) {
        self.first = self.first.max(number.min(self.last) + 1);
        self.stands = self.stands.map(|stands| stands.max(self.first - 1));
    }

    /// Whether the receiver's session has said that it has every row.
    pub fn is_answered(&self) -> bool {
        self.first > self.last || self.stands.is_some_and(|stands| stands >= self.last)
    }

    /// Up to where the receiver's session has said it has everything.
    pub fn stands(&self) -> Option<u64> {
        self.stands
    }

    /// Whether no row is left.
    pub fn is_empty(&self) -> bool {
        self.first > self.last
    }

    /// The session of the receiver that has answered, when rows are kept.
    pub fn answered_by(&self) -> Option<u64> {
        self.receiver.filter(|_| !self.is_empty())
    }
}

/// The member that is waited for when the outbox has more than `bound` bytes: nothing new is leased then.
pub fn waited_for(bytes: &BTreeMap<MemberId, u64>, bound: u64) -> Option<MemberId> {
    let full = bytes.values().sum::<u64>() > bound;
    bytes.iter().max_by_key(|(_, bytes)| **bytes).map(|(id, _)| *id).filter(|_| full)
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: u64 = 7;
    const R: u64 = 70;

    fn at(s: u64) -> UnixMillis {
        UnixMillis(s * 1_000)
    }

    /// A sender that knows where its receiver stands.
    fn standing(rows: u64, stands: u64) -> Sender {
        let mut sender = Sender::new(S, None, Some((1, rows)));
        let probe = sender.ask(at(0), 1, |_| 1).unwrap();
        assert_eq!((probe.rows, probe.oldest), ((1, 0), false));
        assert_eq!(sender.answered(probe.id, R, Answer::Stands(stands), at(0)), None);
        sender
    }

    #[test]
    fn one_request_is_under_way_and_a_lost_one_is_asked_again() {
        let mut sender = standing(3, 1);
        let ask = sender.ask(at(1), 5, |_| 1).unwrap();
        assert_eq!((ask.after, ask.rows, ask.oldest, ask.map), (1, (2, 3), false, 5));
        assert_eq!(sender.ask(at(10), 5, |_| 1), None);
        let again = sender.ask(at(11), 5, |_| 1).unwrap();
        assert_eq!((again.rows, again.id), ((2, 3), ask.id + 1));
        sender.answered(ask.id, R, Answer::Stands(3), at(11)); // late: of the lost one
        assert!(!sender.is_answered());
        sender.answered(again.id, R, Answer::Stands(3), at(11));
        assert!(sender.is_answered() && !sender.is_empty() && sender.ask(at(12), 5, |_| 1).is_none());
    }

    #[test]
    fn a_request_has_so_many_bytes_or_one_row() {
        let mut sender = standing(9, 0);
        assert_eq!(sender.clone().ask(at(1), 1, |_| REQUEST / 3).unwrap().rows, (1, 3));
        assert_eq!(sender.ask(at(1), 1, |_| 2 * REQUEST).unwrap().rows, (1, 1));
    }

    #[test]
    fn rows_go_when_a_checkpoint_covers_them_and_not_at_the_answer() {
        let mut sender = standing(4, 4);
        assert_eq!((sender.first, sender.is_answered()), (1, true));
        assert_eq!(sender.covered(Stand { session: 6, number: 9 }), None);
        assert_eq!(sender.covered(Stand { session: S, number: 3 }), Some(3));
        assert_eq!(sender.covered(Stand { session: S, number: 2 }), None);
        assert_eq!(sender.covered(Stand { session: S, number: 4 }), Some(4));
        assert!(sender.is_empty());
        assert_eq!(sender.next(), 5);
    }

    #[test]
    fn another_session_of_the_receiver_is_asked_where_it_stands() {
        let mut sender = standing(4, 4);
        sender.receiver(R + 1);
        assert!(!sender.is_answered());
        let probe = sender.ask(at(1), 1, |_| 1).unwrap();
        sender.answered(probe.id, R + 1, Answer::Stands(2), at(1));
        assert_eq!(sender.ask(at(1), 1, |_| 1).unwrap().rows, (3, 4));
    }

    #[test]
    fn another_session_of_the_sender_goes_on_from_the_rows_it_found() {
        let mut sender = Sender::new(8, Some(S), Some((3, 5)));
        let probe = sender.ask(at(0), 1, |_| 1).unwrap();
        assert_eq!(probe.was, Some(Stand { session: S, number: 5 }));
        // It had sent up to 9 before the power failed.
        assert_eq!(sender.covered(Stand { session: S, number: 4 }), Some(4));
        sender.answered(probe.id, R, Answer::Stands(5), at(0));
        sender.added(6);
        assert_eq!(sender.ask(at(0), 1, |_| 1).unwrap().rows, (6, 6));
        assert_eq!(sender.covered(Stand { session: S, number: 9 }), Some(5), "6 to 9 of that session were other rows");
        assert!(Sender::new(8, Some(S), None).is_answered());
    }

    #[test]
    fn what_nobody_has_any_more_is_told() {
        let mut sender = standing(6, 6);
        sender.covered(Stand { session: S, number: 4 });
        sender.receiver(R + 1);
        let probe = sender.ask(at(1), 1, |_| 1).unwrap();
        assert_eq!(sender.answered(probe.id, R + 1, Answer::Stands(1), at(1)), Some((2, 4)));
        let ask = sender.ask(at(1), 1, |_| 1).unwrap();
        assert_eq!((ask.after, ask.rows, ask.oldest), (1, (5, 6), true));
    }

    #[test]
    fn who_cannot_take_them_is_left_alone_for_a_while() {
        let mut sender = standing(2, 0);
        let ask = sender.ask(at(1), 1, |_| 1).unwrap();
        sender.answered(ask.id, R, Answer::Later, at(1));
        assert_eq!(sender.ask(UnixMillis(1_999), 1, |_| 1), None);
        assert!(sender.ask(at(2), 1, |_| 1).is_some());
    }

    #[test]
    fn a_full_outbox_names_who_has_the_most_of_it() {
        let bytes = [(MemberId(1), 10), (MemberId(2), 30)].into();
        assert_eq!((waited_for(&bytes, 40), waited_for(&bytes, 39)), (None, Some(MemberId(2))));
    }
}
