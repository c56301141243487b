//! Whether the crawl is over: the members are asked twice, and nothing may have happened between.
//!
//! If each was passive both times and has committed nothing in between, there was a moment, between the rounds, at which all were
//! passive at once; and a link under way has a sender who is not (Mattern 1987 calls it the four-counter method). What a member knows of
//! another may be of an earlier session, which had answered and is forgotten with its disk: so each says which session answered it.

use std::collections::BTreeMap;
use std::ops::AddAssign;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::map::{Map, MemberId};

/// Whether a member has something to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Still {
    /// It has: something can be leased, is leased, in hand, being readmitted, taken in or handed over, or a row is not answered.
    Busy,
    /// Nothing before that time is over: the earliest next try of what waits.
    For(Duration),
    /// Nothing at all.
    Done,
}

/// What a member says of itself, within its lease.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reply {
    /// Its session.
    pub session: u64,
    /// The version of its map.
    pub map: u64,
    /// How many commits that session has made.
    pub act: u64,
    /// What it has to do.
    pub still: Still,
    /// Which session of each other has answered its rows, as far as it keeps rows for it.
    pub answered_by: BTreeMap<MemberId, u64>,
}

/// How far a member has come, or all of them together. Patience goes by it: what one comes to is progress for all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Made {
    /// URLs ever accepted or rejected.
    pub discovered: u64,
    /// URLs with which it is finished: done, given up, turned away.
    pub finished: u64,
    /// Those done.
    pub done: u64,
    /// Answers with a status of success.
    pub fetched: u64,
}

impl AddAssign for Made {
    fn add_assign(&mut self, other: Self) {
        self.discovered = self.discovered.saturating_add(other.discovered);
        self.finished = self.finished.saturating_add(other.finished);
        self.done = self.done.saturating_add(other.done);
        self.fetched = self.fetched.saturating_add(other.fetched);
    }
}

/// What the answers so far come to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    /// Not all have answered.
    Waits,
    /// All were passive: they are to be asked once more.
    Again,
    /// It was over, between the rounds: nothing at all is left, or nothing before that time. The state may be changed, if nobody has
    /// changed it since before the first round.
    Over(Option<Duration>),
    /// It is not over.
    No,
}

/// Two rounds of questions.
#[derive(Clone, Debug)]
pub struct Rounds {
    members: Vec<MemberId>,
    map: u64,
    first: Option<BTreeMap<MemberId, Reply>>,
    replies: BTreeMap<MemberId, Reply>,
}

impl Rounds {
    /// Begins the first round: by the member with the smallest name, while no partition moves. All members are to be asked, itself
    /// too. Who does not answer is away: the rounds are to be dropped then, for it may have something to do.
    pub fn begin(map: &Map, me: MemberId) -> Option<Self> {
        let asks = map.members.iter().min_by(|a, b| a.name.cmp(&b.name))?;
        let members = map.members.iter().map(|member| member.id).collect();
        let rounds = Self { members, map: map.version, first: None, replies: BTreeMap::new() };
        Some(rounds).filter(|_| asks.id == me && map.is_still())
    }

    /// Who is to be asked in each round.
    pub fn members(&self) -> &[MemberId] {
        &self.members
    }

    /// Whether it is the second round.
    pub fn is_second(&self) -> bool {
        self.first.is_some()
    }

    /// The answer of a member to a question of this round.
    pub fn reply(&mut self, from: MemberId, reply: Reply) -> Found {
        let same = |first: &BTreeMap<MemberId, Reply>| {
            first.get(&from).is_some_and(|was| (was.session, was.act) == (reply.session, reply.act))
        };
        if reply.map != self.map || reply.still == Still::Busy || self.first.as_ref().is_some_and(|first| !same(first))
        {
            return Found::No;
        }
        self.replies.insert(from, reply);
        if !self.members.iter().all(|member| self.replies.contains_key(member)) {
            return Found::Waits;
        }
        if !self.replies.values().all(|reply| self.knows(reply)) {
            return Found::No;
        }
        if self.first.is_none() {
            self.first = Some(std::mem::take(&mut self.replies));
            return Found::Again;
        }
        let waits = self.replies.values().filter_map(|reply| match reply.still {
            Still::For(wait) => Some(wait),
            Still::Busy | Still::Done => None,
        });
        Found::Over(waits.min())
    }

    /// Whether the sessions that answered a member's rows are those that answer now.
    fn knows(&self, reply: &Reply) -> bool {
        let session = |id: &MemberId| self.replies.get(id).map(|reply| reply.session);
        reply.answered_by.iter().all(|(id, answered)| session(id) == Some(*answered))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: MemberId = MemberId(0);
    const B: MemberId = MemberId(1);

    fn map() -> Map {
        Map::first("b", 7).unwrap().joined("a", 1).unwrap().0
    }

    fn reply(session: u64, act: u64, still: Still) -> Reply {
        Reply { session, map: 2, act, still, answered_by: BTreeMap::new() }
    }

    fn found(replies: [Reply; 4]) -> Found {
        let mut rounds = Rounds::begin(&map(), B).unwrap();
        let [a, b, a2, b2] = replies;
        assert_eq!(rounds.reply(A, a), Found::Waits);
        let first = rounds.reply(B, b);
        if first != Found::Again {
            return first;
        }
        assert!(rounds.is_second());
        match rounds.reply(A, a2) {
            Found::Waits => rounds.reply(B, b2),
            other => other,
        }
    }

    #[test]
    fn the_smallest_name_asks_and_only_while_nothing_moves() {
        assert!(Rounds::begin(&map(), A).is_none());
        assert_eq!(Rounds::begin(&map(), B).unwrap().members(), [A, B]);
        let moves = map().begun(&[crate::domain::partition::Partition(1)].into_iter().collect(), B).unwrap();
        assert!(Rounds::begin(&moves, B).is_none());
    }

    #[test]
    fn it_is_over_when_nobody_had_or_did_anything() {
        let done = |act| reply(1, act, Still::Done);
        assert_eq!(found([done(4), done(9), done(4), done(9)]), Found::Over(None));
        assert_eq!(found([done(4), done(9), done(5), done(9)]), Found::No);
        assert_eq!(found([done(4), done(9), done(4), reply(1, 9, Still::Busy)]), Found::No);
        assert_eq!(found([done(4), done(9), reply(2, 4, Still::Done), done(9)]), Found::No, "another session");
        let older = Reply { map: 1, ..done(9) };
        assert_eq!(found([done(4), older, done(4), done(9)]), Found::No);
    }

    #[test]
    fn the_earliest_next_try_is_told() {
        let wait = |s| Still::For(Duration::from_secs(s));
        let all = [reply(1, 1, wait(9)), reply(1, 1, Still::Done), reply(1, 1, wait(5)), reply(1, 1, wait(3))];
        assert_eq!(found(all), Found::Over(Some(Duration::from_secs(3))));
    }

    #[test]
    fn who_was_answered_by_a_session_that_is_gone_has_to_ask_again() {
        let knows = |session| Reply { answered_by: [(B, session)].into(), ..reply(1, 1, Still::Done) };
        let b = || reply(8, 1, Still::Done);
        assert_eq!(found([knows(8), b(), knows(8), b()]), Found::Over(None));
        assert_eq!(found([knows(7), b(), knows(7), b()]), Found::No);
    }
}
