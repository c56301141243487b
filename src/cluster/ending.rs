//! The end of a crawl of several members: the one with the smallest name asks all, twice, and writes what it found into the engine, where
//! all see it.
//!
//! A member's patience (`crawl.until_done_patience`) goes by what all have come to. So how far they have come is asked along with it, and told
//! with the next question: as long as that changes, patience is reckoned anew and it is not over.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::asking::{Answer, Question, Said, ask};
use super::engine::{Engine, EngineError};
use super::known::Known;
use super::{MAP, STATE};
use crate::base::clock::Clock;
use crate::domain::cluster::lease::MemberState;
use crate::domain::cluster::map::{Map, MemberId};
use crate::domain::cluster::rounds::{Found, Made, Rounds};
use crate::warc::date::iso;

/// What the engine keeps under the key `state`. Nothing: the crawl goes on.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CrawlState {
    /// It has come to its end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended: Option<Ended>,
}

/// An end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ended {
    /// Who found it.
    pub by: String,
    /// When, as a date.
    pub at: String,
}

/// What a member has sent to the others.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outgoing {
    /// Every row that is to be handed over is answered.
    pub all_answered: bool,
    /// By which session of each, where it keeps rows for it.
    pub answered_by: BTreeMap<MemberId, u64>,
}

impl Outgoing {
    /// There is nothing to hand over.
    pub fn none() -> Self {
        Self { all_answered: true, answered_by: BTreeMap::new() }
    }
}

/// Gives what was sent, at the moment.
pub type OutgoingNow = Arc<dyn Fn() -> Outgoing + Send + Sync>;

/// What came of asking.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Asked {
    /// Another member is to ask, or partitions move.
    NotNow,
    /// That member did not answer: why.
    Away(String, String),
    /// It is not over.
    No,
    /// All wait for so long at least.
    Waits(Duration),
    /// It is over, and the engine knows it.
    Over,
}

/// Asks for a member.
pub struct Asker {
    name: String,
    told: Made,
}

impl Asker {
    /// For the member of that name.
    pub fn new(name: &str) -> Self {
        Self { name: name.to_owned(), told: Made::default() }
    }

    /// Asks all, and all again when nobody has anything to do; writes the end when that is found.
    ///
    /// # Errors
    /// The engine's, about the entries it keeps.
    pub fn ask(&mut self, engine: &dyn Engine, known: &Known) -> Result<Asked, EngineError> {
        let Some((map, revision)) = &known.map else { return Ok(Asked::NotNow) };
        let rounds = map.member(&self.name).and_then(|me| Rounds::begin(map, me.id));
        let Some(mut rounds) = rounds else { return Ok(Asked::NotNow) };
        let before = engine.read(STATE)?;
        if before.as_ref().is_some_and(|entry| is_ended(&entry.value)) {
            return Ok(Asked::Over); // by an earlier answer, which was lost
        }
        let before = before.map(|entry| entry.revision);
        loop {
            let (found, made) = match self.round(engine, known, map, &mut rounds) {
                Ok(round) => round,
                Err(asked) => return Ok(asked),
            };
            if std::mem::replace(&mut self.told, made) != made || made.discovered == 0 {
                return Ok(Asked::No); // their patience is reckoned with it from now on
            }
            match found {
                Found::Again => {}
                Found::Waits | Found::No => return Ok(Asked::No),
                Found::Over(Some(wait)) => return Ok(Asked::Waits(wait)),
                Found::Over(None) if engine.read(MAP)?.is_none_or(|entry| entry.revision != *revision) => {
                    return Ok(Asked::No);
                }
                Found::Over(None) => return self.end(engine, before),
            }
        }
    }

    /// One round; what is found is told only when all have answered, or one has something to do.
    fn round(
        &self,
        engine: &dyn Engine,
        known: &Known,
        map: &Map,
        rounds: &mut Rounds,
    ) -> Result<(Found, Made), Asked> {
        let (mut found, mut made) = (Found::Waits, Made::default());
        for id in rounds.members().to_vec() {
            let name = map.numbered(id).map(|member| member.name.clone()).unwrap_or_default();
            let said = self.still(engine, known, &name).map_err(|why| Asked::Away(name, why))?;
            found = rounds.reply(id, said.reply);
            made += said.made;
            if found == Found::No {
                return Err(Asked::No);
            }
        }
        Ok((found, made))
    }

    /// Asks one of them; else why it is away.
    fn still(&self, engine: &dyn Engine, known: &Known, name: &str) -> Result<Said, String> {
        let beat = known.beats.get(name).ok_or("it was not heard of")?;
        if beat.state != MemberState::Running {
            return Err(format!("it is {}", beat.state.as_str()));
        }
        match ask(engine, name, &beat.session, &Question::Still { made: self.told }) {
            Ok(Answer::Still(said)) => Ok(said),
            Ok(Answer::Error(why)) => Err(why),
            Err(e) => Err(e.to_string()),
        }
    }

    fn end(&self, engine: &dyn Engine, before: Option<u64>) -> Result<Asked, EngineError> {
        let ended = Ended { by: self.name.clone(), at: iso(Clock::real().date()) };
        let text = serde_json::to_vec(&CrawlState { ended: Some(ended) }).unwrap_or_default(); // texts: it cannot fail
        match engine.write_if(STATE, &text, before) {
            Ok(_) => Ok(Asked::Over),
            Err(EngineError::Conflict { .. }) => Ok(Asked::No),
            Err(e) => Err(e),
        }
    }
}

/// Whether the engine says that the crawl has come to its end. One that is away says nothing.
pub fn has_ended(engine: &dyn Engine) -> bool {
    engine.read(STATE).ok().flatten().is_some_and(|entry| is_ended(&entry.value))
}

fn is_ended(state: &[u8]) -> bool {
    serde_json::from_slice::<CrawlState>(state).is_ok_and(|state| state.ended.is_some())
}

/// The end of that revision is none any more: somebody has something to do. False when another has changed it.
///
/// # Errors
/// The engine's.
pub fn take_back(engine: &dyn Engine, revision: u64) -> Result<bool, EngineError> {
    match engine.remove_if(STATE, revision) {
        Ok(_) => Ok(true),
        Err(EngineError::Conflict { .. }) => Ok(false),
        Err(e) => Err(e),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::super::asking::{Respond, answer, session_number};
    use super::super::engine::{Answering, Line, Memory};
    use super::super::known::Watcher;
    use super::super::node_key;
    use super::*;
    use crate::base::sync::lock;
    use crate::domain::cluster::lease::{Beat, Facts};
    use crate::domain::cluster::rounds::{Reply, Still};
    use crate::domain::partition::Partition;

    /// What each member says, and how often it was asked with which progress.
    type Says = Arc<Mutex<BTreeMap<String, Said>>>;

    /// Three members, of which n1 asks.
    struct Crawl {
        memory: Memory,
        line: Arc<Line>,
        map: Map,
        says: Says,
        told: Arc<Mutex<Vec<Made>>>,
        answering: BTreeMap<String, Answering>,
    }

    impl Crawl {
        fn new() -> Self {
            let memory = Memory::new(Clock::real());
            let line = Arc::new(memory.connect());
            let map = Map::first("n1", 7).unwrap().joined("n2", 1).unwrap().0.joined("n3", 1).unwrap().0;
            line.write_if(MAP, &map.text(), None).unwrap();
            let (says, told) = (Says::default(), Arc::default());
            let mut crawl = Self { memory, line, map, says, told, answering: BTreeMap::new() };
            for name in ["n1", "n2", "n3"] {
                crawl.beats(name, MemberState::Running);
                crawl.answers(name);
                crawl.says(name, Still::Done, 5);
            }
            crawl
        }

        fn beats(&self, name: &str, state: MemberState) {
            let session = format!("session-of-{name}");
            let (machine, version) = (String::new(), String::new());
            let beat = Beat { session, beat: 1, state, lease_ms: 900_000, machine, version, facts: Facts::default() };
            let before = self.line.read(&node_key(name)).unwrap().map(|entry| entry.revision);
            self.line.write_if(&node_key(name), &serde_json::to_vec(&beat).unwrap(), before).unwrap();
        }

        fn answers(&mut self, name: &str) {
            let (says, told, of) = (self.says.clone(), self.told.clone(), name.to_owned());
            let respond: Respond = Arc::new(move |Question::Still { made }| {
                lock(&told).push(made);
                Answer::Still(lock(&says).get(&of).unwrap().clone())
            });
            let session = format!("session-of-{name}");
            self.answering.insert(name.to_owned(), answer(&*self.line, name, &session, respond).unwrap());
        }

        fn says(&self, name: &str, still: Still, finished: u64) {
            let session = session_number(&format!("session-of-{name}"));
            let reply = Reply { session, map: self.map.version, act: finished, still, answered_by: BTreeMap::new() };
            let made = Made { discovered: finished, finished, done: finished, fetched: finished };
            lock(&self.says).insert(name.to_owned(), Said { reply, made });
        }

        /// All that the engine has by now, as its watcher is told at first.
        fn known(&self) -> Arc<Known> {
            let watcher = Watcher::start(&(self.line.clone() as Arc<dyn Engine>)).unwrap();
            watcher.newer(0, Duration::from_secs(60))
        }

        fn ask(&self, asker: &mut Asker) -> Asked {
            asker.ask(&*self.line, &self.known()).unwrap()
        }

        fn has_ended(&self) -> bool {
            has_ended(&*self.line)
        }
    }

    #[test]
    fn it_is_over_when_all_have_nothing_twice_and_have_reckoned_with_what_all_came_to_and_is_told_once() {
        let crawl = Crawl::new();
        let mut asker = Asker::new("n1");
        assert_eq!(crawl.ask(&mut asker), Asked::No, "they had not reckoned with it");
        assert!(!crawl.has_ended());
        assert_eq!(crawl.ask(&mut asker), Asked::Over);
        let all = Made { discovered: 15, finished: 15, done: 15, fetched: 15 };
        assert_eq!(*lock(&crawl.told), [[Made::default(); 3].as_slice(), &[all; 6]].concat());
        let (state, revision) = crawl.known().state.clone().unwrap();
        assert_eq!(state.ended.unwrap().by, "n1");
        assert_eq!(crawl.ask(&mut asker), Asked::Over);
        assert_eq!(crawl.known().state.as_ref().unwrap().1, revision, "it was told twice");
    }

    #[test]
    fn it_is_not_over_while_one_has_something_or_waits_or_has_found_nothing_at_all() {
        let crawl = Crawl::new();
        let mut asker = Asker::new("n1");
        crawl.says("n2", Still::Busy, 5);
        assert_eq!([(); 3].map(|()| crawl.ask(&mut asker)), [Asked::No, Asked::No, Asked::No]);
        let wait = Duration::from_secs(9);
        crawl.says("n2", Still::For(wait), 5);
        assert_eq!([(); 2].map(|()| crawl.ask(&mut asker)), [Asked::No, Asked::Waits(wait)]);
        ["n1", "n2", "n3"].into_iter().for_each(|name| crawl.says(name, Still::Done, 0));
        assert_eq!([(); 3].map(|()| crawl.ask(&mut asker)), [Asked::No, Asked::No, Asked::No]);
        assert!(!crawl.has_ended());
        crawl.says("n3", Still::Done, 1);
        assert_eq!([(); 2].map(|()| crawl.ask(&mut asker)), [Asked::No, Asked::Over]);
    }

    #[test]
    fn what_one_has_come_to_since_is_told_to_all_before_it_may_be_over() {
        let crawl = Crawl::new();
        let mut asker = Asker::new("n1");
        assert_eq!(crawl.ask(&mut asker), Asked::No);
        crawl.says("n3", Still::Done, 6);
        assert_eq!(crawl.ask(&mut asker), Asked::No);
        assert_eq!(crawl.ask(&mut asker), Asked::Over);
        assert_eq!(lock(&crawl.told).last().unwrap().finished, 16);
    }

    #[test]
    fn it_is_not_over_while_one_is_away_and_it_is_said_who() {
        let mut crawl = Crawl::new();
        let mut asker = Asker::new("n1");
        assert_eq!(crawl.ask(&mut asker), Asked::No);
        crawl.answering.remove("n3");
        let asked = crawl.ask(&mut asker);
        assert!(matches!(&asked, Asked::Away(name, _) if name == "n3"), "{asked:?}");
        crawl.answers("n3");
        crawl.beats("n3", MemberState::Stopped);
        assert_eq!(crawl.ask(&mut asker), Asked::Away("n3".into(), "it is stopped".into()));
        assert!(!crawl.has_ended());
        crawl.beats("n3", MemberState::Running);
        assert_eq!(crawl.ask(&mut asker), Asked::Over);
    }

    #[test]
    fn a_session_that_is_another_between_the_rounds_has_to_be_asked_anew() {
        let mut crawl = Crawl::new();
        let mut asker = Asker::new("n1");
        assert_eq!(crawl.ask(&mut asker), Asked::No);
        let (says, asked) = (crawl.says.clone(), Mutex::new(0));
        let respond: Respond = Arc::new(move |_| {
            let mut said = lock(&says).get("n2").unwrap().clone();
            let nth = {
                let mut asked = lock(&asked);
                *asked += 1;
                *asked
            };
            said.reply.session = if nth < 4 { 1 } else { nth }; // so the fourth question comes to another
            Answer::Still(said)
        });
        crawl.answering.remove("n2");
        crawl.answering.insert("n2".into(), answer(&*crawl.line, "n2", "session-of-n2", respond).unwrap());
        assert_eq!(crawl.ask(&mut asker), Asked::Over, "twice the same");
        take_back(&*crawl.line, crawl.known().state.as_ref().unwrap().1).unwrap();
        assert_eq!(crawl.ask(&mut asker), Asked::No);
        assert!(!crawl.has_ended());
    }

    #[test]
    fn only_the_smallest_name_asks_and_only_while_nothing_moves() {
        let crawl = Crawl::new();
        assert_eq!(crawl.ask(&mut Asker::new("n2")), Asked::NotNow);
        let mut asker = Asker::new("n1");
        assert_eq!(crawl.ask(&mut asker), Asked::No);
        let known = crawl.known(); // and then one of them begins to take something
        let moving = crawl.map.begun(&[Partition(1)].into_iter().collect(), MemberId(1)).unwrap();
        let revision = known.map.as_ref().map(|(_, revision)| *revision);
        crawl.line.write_if(MAP, &moving.text(), revision).unwrap();
        assert_eq!(asker.ask(&*crawl.line, &known).unwrap(), Asked::No);
        assert_eq!(crawl.ask(&mut asker), Asked::NotNow);
        assert!(!crawl.has_ended());
    }

    #[test]
    fn an_end_whose_answer_was_lost_is_found_at_the_next_question() {
        let crawl = Crawl::new();
        let mut asker = Asker::new("n1");
        assert_eq!(crawl.ask(&mut asker), Asked::No);
        crawl.memory.lose_answers(1);
        assert!(matches!(asker.ask(&*crawl.line, &crawl.known()), Err(EngineError::Away { .. })));
        assert_eq!(crawl.ask(&mut asker), Asked::Over);
    }

    #[test]
    fn an_end_is_taken_back_once() {
        let crawl = Crawl::new();
        let mut asker = Asker::new("n1");
        assert_eq!([(); 2].map(|()| crawl.ask(&mut asker)), [Asked::No, Asked::Over]);
        let revision = crawl.known().state.as_ref().unwrap().1;
        assert!(take_back(&*crawl.line, revision).unwrap());
        assert!(!take_back(&*crawl.line, revision).unwrap());
        assert!(!crawl.has_ended() && crawl.known().state.is_none());
    }
}
