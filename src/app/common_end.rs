//! The thread by which a member of several ends with the others: it answers how this one stands, keeps in sight what the others have spent and
//! what of them is waited for, asks all when that is its turn, and ends the node when the engine says that the crawl is over.
//!
//! A member that starts after the end takes that back as soon as it has something to do; one that has nothing ends after a while.

use std::sync::{Arc, Weak};
use std::time::Duration;

use super::follow::{Ending, Follower, Last};
use super::patience::stands_now;
use super::run::RunError;
use super::taking;
use crate::base::clock::{Clock, Stopwatch};
use crate::base::sync::lock;
use crate::base::time::UnixMillis;
use crate::base::units::{counted, roughly};
use crate::cluster::Who;
use crate::cluster::asking::{Answer, Question, Respond, Said, answer, session_number};
use crate::cluster::ending::{Asked, Asker, OutgoingNow, take_back};
use crate::cluster::engine::Answering;
use crate::cluster::enter::EnterError;
use crate::cluster::known::{Known, Watcher};
use crate::crawl::node::{Node, Stop};
use crate::crawl::together::{Company, Spent, Standing};
use crate::domain::cluster::lease::MemberState;
use crate::domain::cluster::rounds::{Made, Reply, Still};
use crate::storage::StorageError;
use crate::warc::date::iso;

/// How often it looks when the engine tells nothing.
const LOOK: Duration = Duration::from_millis(250);
/// All are asked so often at most, and while they wait for something so often at least.
const ASKED: [Duration; 2] = [Duration::from_secs(1), Duration::from_secs(5)];
/// Who starts after the end and has nothing to do stays so long for those that have.
const STAYS: Duration = Duration::from_secs(30);
/// A member whose last beat is so many parts of its lease old is told as one that is not heard of.
const UNHEARD: u64 = 20;
/// Members of which is told what is waited for.
const TOLD: usize = 5;

/// The thread, and who answers.
pub(super) struct CommonEnd {
    follower: Follower,
    _answering: Answering,
}

impl CommonEnd {
    /// Begins for this life of the crawl, before its first look. `session`: this member's own, as its beats say it.
    ///
    /// # Errors
    /// The engine's; a thread that cannot be started.
    pub fn start(
        node: &Arc<Node>,
        who: &Who,
        session: &str,
        watcher: &Arc<Watcher>,
        outgoing: OutgoingNow,
    ) -> Result<Self, RunError> {
        // As long as it is not known who there is, it does not end by itself.
        node.crawl.together.know(Company::Several, Spent::default(), String::new());
        let respond = respond(Arc::downgrade(node), session_number(session), watcher.clone(), outgoing.clone());
        let answering = answer(&*who.engine, &who.name, session, respond).map_err(EnterError::from)?;
        let (who, watcher, node) = (who.clone(), watcher.clone(), node.clone());
        let work = move |ending: &Ending| Work::new(node, who, outgoing).run(&watcher, ending);
        Ok(Self { follower: Follower::start("common-end", work)?, _answering: answering })
    }

    /// Ends it: nobody answers any more.
    pub fn finish(self) {
        self.follower.tell(Last::Now);
        self.follower.join();
    }
}

/// Answers for a node, as long as there is one.
fn respond(node: Weak<Node>, session: u64, watcher: Arc<Watcher>, outgoing: OutgoingNow) -> Respond {
    Arc::new(move |Question::Still { made }| {
        let Some(node) = node.upgrade() else { return Answer::Error("it is coming to its end".to_owned()) };
        node.crawl.together.tell(made);
        let map = watcher.known().map.as_ref().map_or(0, |(map, _)| map.version);
        let sent = outgoing();
        let (still, act, made) = stands(&node, sent.all_answered).unwrap_or_else(|e| {
            log::warn!("it cannot be told whether there is something to do: error={e}");
            (Still::Busy, 0, Made::default())
        });
        Answer::Still(Said { reply: Reply { session, map, act, still, answered_by: sent.answered_by }, made })
    })
}

/// Whether a node has something to do, how many commits it has made, and how far it has come. What is looked at one after the other holds
/// together, because nothing was committed meanwhile.
fn stands(node: &Node, all_answered: bool) -> Result<(Still, u64, Made), StorageError> {
    let act = node.crawl.counters().next_commit;
    let comes_in = match &node.crawl.share {
        Some(share) => taking::next_to(&*node.storage, share, &[])?.is_some(),
        None => false,
    };
    let counters = node.crawl.counters();
    let still = stands_now(node, &counters);
    let ends = node.crawl.live().settings.crawl.until_done && node.stop.borrow().is_none() && !node.fence.is_over();
    let same = lock(&node.crawl.progress.counters).next_commit == act;
    let still = if ends && same && all_answered && !comes_in { still } else { Still::Busy };
    Ok((still, act, Made::from(&counters)))
}

/// What the thread knows.
struct Work {
    node: Arc<Node>,
    who: Who,
    outgoing: OutgoingNow,
    asker: Asker,
    began: Stopwatch,
    /// The revision of the end that was found at the beginning; none before the engine has told anything.
    found: Option<Option<u64>>,
    asked: Option<Stopwatch>,
    /// When all are asked again, after that.
    rest: Duration,
    /// Who did not answer, and why.
    away: Option<(String, String)>,
}

impl Work {
    fn new(node: Arc<Node>, who: Who, outgoing: OutgoingNow) -> Self {
        let (asker, began) = (Asker::new(&who.name), Stopwatch::start());
        Self { node, who, outgoing, asker, began, found: None, asked: None, rest: ASKED[0], away: None }
    }

    fn run(mut self, watcher: &Watcher, ending: &Ending) {
        let mut known = watcher.known();
        while ending.told().is_none() {
            self.look(&known);
            known = watcher.newer(known.told, LOOK);
        }
    }

    fn look(&mut self, known: &Known) {
        let Some((map, _)) = &known.map else { return };
        let is_alone = map.members.len() == 1;
        let is_busy = matches!(self.still(), Some(Still::Busy | Still::For(_)));
        let waits_for = if is_alone || is_busy { String::new() } else { self.waits_for(known) };
        let company = if is_alone { Company::Alone } else { Company::Several };
        self.node.crawl.together.know(company, spent(known, &self.who.name), waits_for);
        let until_done = self.node.crawl.live().settings.crawl.until_done;
        if let Some(revision) = ended(known) {
            self.heed(revision, is_busy || !until_done, is_alone || !until_done, known);
        } else {
            self.found.get_or_insert(None);
            if until_done && !is_alone {
                self.ask(known);
            }
        }
    }

    /// How it stands; none before its first look.
    fn still(&self) -> Option<Still> {
        if self.node.crawl.together.standing()? == Standing::Busy {
            return Some(Still::Busy);
        }
        stands(&self.node, (self.outgoing)().all_answered).ok().map(|(still, ..)| still)
    }

    /// The engine says that the crawl has come to its end: while this one was there, or before.
    fn heed(&mut self, revision: u64, goes_on: bool, stays: bool, known: &Known) {
        let before = *self.found.get_or_insert(Some(revision)) == Some(revision);
        if before && goes_on {
            match take_back(&*self.who.engine, revision) {
                Ok(true) => log::info!("the crawl had come to its end, and goes on: member={}", self.who.name),
                Ok(false) => {}
                Err(e) => log::debug!("the end of the crawl cannot be taken back yet: error={e}"),
            }
        } else if !stays && (!before || (self.still() == Some(Still::Done) && self.began.elapsed() >= STAYS)) {
            let by = known.state.as_ref().and_then(|(state, _)| Some(state.ended.as_ref()?.by.as_str()));
            let urls = self.node.crawl.counters().queued;
            log::info!("the crawl is over for all its members: found_by={} urls_left={urls}", by.unwrap_or_default());
            self.node.stop_with(Stop::Done);
        }
    }

    /// Asks all, when it is this member's turn and it has nothing to do.
    fn ask(&mut self, known: &Known) {
        let is_due = self.asked.as_ref().is_none_or(|asked| asked.elapsed() >= self.rest);
        if !is_due || !matches!(self.still(), Some(Still::Done | Still::For(_))) {
            return;
        }
        self.rest = ASKED[0];
        let asked = self.asker.ask(&*self.who.engine, known);
        self.asked = Some(Stopwatch::start());
        self.away = None;
        match asked {
            Ok(Asked::Away(name, why)) => self.away = Some((name, why)),
            Ok(Asked::Waits(wait)) => self.rest = wait.clamp(ASKED[0], ASKED[1]),
            Ok(Asked::NotNow | Asked::No | Asked::Over) => {} // what is over is told by the engine
            Err(e) => log::debug!("it cannot be found whether the crawl is over: error={e}"),
        }
    }

    /// In words, what of the others is waited for.
    fn waits_for(&self, known: &Known) -> String {
        let ahead = self.who.engine.state().clock.map_or(0, |gap| gap.ahead);
        let now = UnixMillis(Clock::real().date().0.saturating_add_signed(ahead));
        let mut told = waits(known, &self.who.name, now);
        if let Some((name, why)) = self.away.as_ref().filter(|(name, _)| !told.iter().any(|(of, _)| of == name)) {
            told.push((name.clone(), format!("{name} does not answer ({why})")));
        }
        if told.is_empty() {
            return "the other members are asked whether they have anything left".to_owned();
        }
        let more = told.len().saturating_sub(TOLD);
        let mut words: Vec<String> = told.into_iter().take(TOLD).map(|(_, words)| words).collect();
        words.extend((more > 0).then(|| format!("{more} more members are waited for")));
        words.join(", ")
    }
}

/// The revision of the end that the engine tells of.
fn ended(known: &Known) -> Option<u64> {
    known.state.as_ref().filter(|(state, _)| state.ended.is_some()).map(|(_, revision)| *revision)
}

/// What the other members have spent, as their newest beats say.
fn spent(known: &Known, me: &str) -> Spent {
    let mut sum = Spent::default();
    for beat in others(known, me).filter_map(|name| known.beats.get(name)) {
        sum += Spent { pages: beat.facts.pages, bytes: beat.facts.bytes, failures: beat.facts.failures };
    }
    sum
}

fn others<'k>(known: &'k Known, me: &'k str) -> impl Iterator<Item = &'k str> {
    let members = known.map.iter().flat_map(|(map, _)| &map.members);
    members.map(|member| member.name.as_str()).filter(move |name| *name != me)
}

/// What is waited for of each of the others, by name, where their beats say it.
fn waits(known: &Known, me: &str, now: UnixMillis) -> Vec<(String, String)> {
    let told = |name: &str| {
        let Some(beat) = known.beats.get(name) else { return Some(format!("{name} was not heard of")) };
        let heard = known.heard.get(name).copied().unwrap_or_default();
        let age = now.since(heard);
        if beat.state != MemberState::Running {
            return Some(format!("{name} is {} since {}", beat.state.as_str(), iso(heard)));
        }
        if age.as_millis() > u128::from(beat.lease_ms / UNHEARD) {
            return Some(format!("{name} was not heard of for {}", roughly(age)));
        }
        let unanswered = beat.facts.outbox.iter().find(|(_, waits)| waits.unanswered).map(|(to, _)| to);
        match (beat.facts.waiting, unanswered) {
            (0, None) => None,
            (0, Some(to)) => Some(format!("{name} has links for {to}")),
            (n, _) => Some(format!("{name} has {} waiting", counted(n, "URL"))),
        }
    };
    others(known, me).filter_map(|name| Some((name.to_owned(), told(name)?))).collect()
}

#[cfg(test)]
mod tests;
