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

/// A request that has no answer yet.
#[derive(Clone, Copy, Debug)]
struct UnderWay {
    id: u64,
    since: UnixMillis,
    /// What was covered when it was asked: a checkpoint that is told meanwhile may have more than its answer.
    covered: u64,
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
    under_way: Option<UnderWay>,
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
        let waits = self.under_way.is_some_and(|asked| now.since(asked.since) < ANSWER);
        if waits || now < self.not_before || self.is_answered() {
            return None;
        }
        let rows = match self.stands {
            None => (1, 0),
            Some(stands) => rows(stands)?,
        };
        self.asks += 1;
        self.under_way = Some(UnderWay { id: self.asks, since: now, covered: self.covered });
        let oldest = self.stands.is_some_and(|stands| stands < self.first); // no row lies between
        Some(Ask { id: self.asks, after: self.stands.unwrap_or(u64::MAX), rows, oldest, map })
    }

    /// The answer of a receiver's session. Gives back the rows that it lacks although its checkpoint had them, if there are such:
    /// nobody has them any more, a loss to be told.
    pub fn answered(&mut self, id: u64, receiver: u64, answer: Answer, now: UnixMillis) -> Option<(u64, u64)> {
        let asked = self.under_way.filter(|asked| asked.id == id)?; // else of an earlier request: where it stood then
        self.under_way = None;
        self.receiver(receiver);
        match answer {
            Answer::Later => self.not_before = now.plus(PAUSE),
            Answer::Unknown => self.stands = Some(self.first.saturating_sub(1)),
            Answer::Stands(number) => self.stands = Some(number.min(self.last)),
        }
        let has = match answer {
            Answer::Later => return None,
            Answer::Unknown => 0,
            Answer::Stands(number) => number,
        };
        (has < asked.covered).then(|| (has + 1, asked.covered))
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

    const R: u64 = 70;

    fn at(s: u64) -> UnixMillis {
        UnixMillis(s * 1_000)
    }

    /// What a request may have of these rows, each of so many bytes.
    fn of(rows: &[u64], bytes: usize) -> impl Fn(u64) -> Option<(u64, u64)> {
        move |after| {
            let mut rows = rows.iter().filter(|number| **number > after).take((REQUEST / bytes).max(1));
            let first = rows.next()?;
            Some((*first, *rows.last().unwrap_or(first)))
        }
    }

    /// A sender of rows from 10 to 40 that knows where its receiver stands.
    fn standing(stands: u64) -> Sender {
        let mut sender = Sender::new(Some((10, 40)));
        let probe = sender.ask(at(0), 1, of(&ROWS, 1)).unwrap();
        assert_eq!((probe.after, probe.rows, probe.oldest), (u64::MAX, (1, 0), false));
        assert_eq!(sender.answered(probe.id, R, Answer::Stands(stands), at(0)), None);
        sender
    }

    const ROWS: [u64; 4] = [10, 23, 30, 40];

    #[test]
    fn one_request_is_under_way_and_a_lost_one_is_asked_again() {
        let mut sender = standing(10);
        let ask = sender.ask(at(1), 5, of(&ROWS, 1)).unwrap();
        assert_eq!((ask.after, ask.rows, ask.oldest, ask.map), (10, (23, 40), false, 5));
        assert_eq!(sender.ask(at(10), 5, of(&ROWS, 1)), None);
        let again = sender.ask(at(11), 5, of(&ROWS, 1)).unwrap();
        assert_eq!((again.rows, again.id), ((23, 40), ask.id + 1));
        sender.answered(ask.id, R, Answer::Stands(40), at(11)); // late: of the lost one
        assert!(!sender.is_answered());
        sender.answered(again.id, R, Answer::Stands(40), at(11));
        assert!(sender.is_answered() && !sender.is_empty() && sender.ask(at(12), 5, of(&ROWS, 1)).is_none());
    }

    #[test]
    fn a_request_has_what_may_go_at_a_time() {
        let mut sender = standing(0);
        let ask = sender.ask(at(1), 1, of(&ROWS, REQUEST / 3)).unwrap();
        assert_eq!((ask.after, ask.rows, ask.oldest), (0, (10, 30), true));
        sender.answered(ask.id, R, Answer::Stands(30), at(1));
        let ask = sender.ask(at(1), 1, of(&ROWS, REQUEST / 3)).unwrap();
        assert_eq!((ask.after, ask.rows, ask.oldest), (30, (40, 40), false));
        assert_eq!(standing(0).ask(at(1), 1, |_| None), None, "its rows are not there yet");
    }

    #[test]
    fn rows_go_when_a_checkpoint_covers_them_and_not_at_the_answer() {
        let mut sender = standing(40);
        assert!(sender.is_answered() && !sender.is_empty());
        assert_eq!((sender.covered(9), sender.covered(30), sender.covered(23)), (None, Some(30), None));
        assert_eq!((sender.answered_by(), sender.covered(99), sender.answered_by()), (Some(R), Some(40), None));
        assert!(sender.is_empty() && sender.is_answered());
        sender.added(77);
        let ask = sender.ask(at(1), 1, of(&[77], 1)).unwrap();
        assert_eq!((ask.rows, ask.oldest), ((77, 77), true));
    }

    #[test]
    fn another_session_of_the_receiver_is_asked_where_it_stands() {
        let mut sender = standing(40);
        sender.receiver(R + 1);
        assert!(!sender.is_answered());
        let probe = sender.ask(at(1), 1, of(&ROWS, 1)).unwrap();
        sender.answered(probe.id, R + 1, Answer::Stands(23), at(1));
        assert_eq!(sender.ask(at(1), 1, of(&ROWS, 1)).unwrap().rows, (30, 40));
    }

    #[test]
    fn a_sender_that_was_put_back_passes_over_what_it_sent_before_and_sends_what_is_new() {
        let mut sender = standing(70); // it had sent more before it was put back
        assert!(sender.is_answered());
        sender.added(95);
        let ask = sender.ask(at(1), 1, of(&[10, 23, 30, 40, 95], 1)).unwrap();
        assert_eq!((ask.after, ask.rows), (40, (95, 95)));
        assert!(Sender::new(None).is_answered());
    }

    #[test]
    fn who_has_nothing_gets_the_oldest_row_though_older_ones_are_gone() {
        let mut sender = standing(40);
        sender.removed(23);
        sender.receiver(R + 1);
        let probe = sender.ask(at(1), 1, of(&ROWS[2..], 1)).unwrap();
        assert_eq!(sender.answered(probe.id, R + 1, Answer::Unknown, at(1)), None, "they went another way");
        let ask = sender.ask(at(1), 1, of(&ROWS[2..], 1)).unwrap();
        assert_eq!((ask.rows, ask.oldest), ((30, 40), true));
    }

    #[test]
    fn what_nobody_has_any_more_is_told() {
        for (answer, lost) in [(Answer::Stands(11), (12, 30)), (Answer::Unknown, (1, 30)), (Answer::Stands(30), (0, 0))]
        {
            let mut sender = standing(40);
            sender.covered(30);
            sender.receiver(R + 1);
            let probe = sender.ask(at(1), 1, of(&ROWS[3..], 1)).unwrap();
            let told = sender.answered(probe.id, R + 1, answer, at(1));
            assert_eq!(told, Some(lost).filter(|(from, _)| *from > 0), "{answer:?}");
            let ask = sender.ask(at(1), 1, of(&ROWS[3..], 1)).unwrap();
            assert_eq!((ask.rows, ask.oldest), ((40, 40), true), "{answer:?}");
        }
    }

    #[test]
    fn a_checkpoint_told_while_an_answer_is_under_way_is_no_loss() {
        let mut sender = standing(10);
        let ask = sender.ask(at(1), 1, of(&ROWS, 1)).unwrap();
        sender.covered(30); // of the same rows, which came twice
        assert_eq!(sender.answered(ask.id, R, Answer::Stands(23), at(2)), None);
    }

    #[test]
    fn who_cannot_take_them_is_left_alone_for_a_while() {
        let mut sender = standing(0);
        let ask = sender.ask(at(1), 1, of(&ROWS, 1)).unwrap();
        sender.answered(ask.id, R, Answer::Later, at(1));
        assert_eq!(sender.ask(UnixMillis(1_999), 1, of(&ROWS, 1)), None);
        assert!(sender.ask(at(2), 1, of(&ROWS, 1)).is_some());
    }

    #[test]
    fn a_full_outbox_names_who_has_the_most_of_it() {
        let bytes = [(MemberId(1), 10), (MemberId(2), 30)].into();
        assert_eq!((waited_for(&bytes, 40), waited_for(&bytes, 39)), (None, Some(MemberId(2))));
    }
}
