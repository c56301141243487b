//! The thread by which a member of several ends with the others: it answers how this one stands, keeps in sight what the others have spent and
//! what of them is waited for, asks all when that is its turn, and ends the node when the engine says that the crawl is over.
//!
//! A member that starts after the end takes that back as soon as it has something to do; one that has nothing ends after a while.

use std::collections::BTreeSet;
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
/// A member whose last beat is so many parts of its lease old is missing.
const SILENT: u64 = 9;
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
    /// Other members that are away, or not heard of.
    missing: BTreeSet<String>,
    /// Who did not answer, and why.
    away: Option<(String, String)>,
}

impl Work {
    fn new(node: Arc<Node>, who: Who, outgoing: OutgoingNow) -> Self {
        let (asker, began) = (Asker::new(&who.name), Stopwatch::start());
        Self {
            node,
            who,
            outgoing,
            asker,
            began,
            found: None,
            asked: None,
            rest: ASKED[0],
            missing: BTreeSet::new(),
            away: None,
        }
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
        self.tell_missing(known);
        let is_busy = matches!(self.still(), Some(Still::Busy | Still::For(_)));
        // Links that one who is away does not take are no work of this member's.
        let has_work = !matches!(self.still_with(true), Some(Still::Done));
        let waits_for = if is_alone || has_work { String::new() } else { self.waits_for(known) };
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

    /// Tells once who is not there any more, and who is again.
    fn tell_missing(&mut self, known: &Known) {
        let missing = missing(known, &self.who.name, self.now());
        if missing == self.missing {
            return;
        }
        for name in missing.difference(&self.missing) {
            log::warn!(
                "member is away or not heard of, its hosts wait and links for it are kept: member={name}; see `lycosa ctl nodes`"
            );
        }
        self.missing.difference(&missing).for_each(|name| log::info!("member is heard of again: member={name}"));
        self.node.telemetry.metrics.members_missing(missing.len());
        self.missing = missing;
    }

    /// The date by the engine's clock, as beats have it.
    fn now(&self) -> UnixMillis {
        let ahead = self.who.engine.state().clock.map_or(0, |gap| gap.ahead);
        UnixMillis(Clock::real().date().0.saturating_add_signed(ahead))
    }

    /// How it stands; none before its first look.
    fn still(&self) -> Option<Still> {
        self.still_with((self.outgoing)().all_answered)
    }

    fn still_with(&self, all_answered: bool) -> Option<Still> {
        if self.node.crawl.together.standing()? == Standing::Busy {
            return Some(Still::Busy);
        }
        stands(&self.node, all_answered).ok().map(|(still, ..)| still)
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
        let mut told = waits(known, &self.who.name, self.now());
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

/// Other members that are away, or have not been heard of for long; who was stopped, or is done, is not missed.
fn missing(known: &Known, me: &str, now: UnixMillis) -> BTreeSet<String> {
    let is_missing = |name: &&str| {
        known.beats.get(*name).is_some_and(|beat| match beat.state {
            MemberState::Away => true,
            MemberState::Running | MemberState::Restoring => {
                let age = now.since(known.heard.get(*name).copied().unwrap_or_default());
                age.as_millis() > u128::from(beat.lease_ms / SILENT)
            }
            _ => false,
        })
    };
    others(known, me).filter(is_missing).map(str::to_owned).collect()
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
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::cluster::ending::{CrawlState, Outgoing};
    use crate::cluster::engine::{Engine, Line, Memory};
    use crate::crawl::bench::Bench;
    use crate::domain::cluster::lease::{Beat, Facts, Waits};
    use crate::domain::cluster::map::Map;
    use crate::storage::values::Counters;

    const SESSION: &str = "s";

    /// A member whose node no actor drives: what it says is set.
    struct Member {
        bench: Bench,
        who: Who,
        watcher: Arc<Watcher>,
    }

    impl Member {
        fn new(memory: &Memory, name: &str) -> Self {
            let bench = Bench::new(&["crawl.until_done=true"]);
            let counters = Counters { discovered: 1, done: 1, ..Counters::default() };
            *lock(&bench.node.crawl.progress.counters) = counters;
            let engine: Arc<dyn Engine> = Arc::new(memory.connect());
            let watcher = Arc::new(Watcher::start(&engine).unwrap());
            let (cluster, name, machine) = ("prod".to_owned(), name.to_owned(), String::new());
            let lease = Duration::from_secs(900);
            Self {
                bench,
                who: Who { engine, cluster, name, data: std::path::PathBuf::new(), lease, weight: 1, machine },
                watcher,
            }
        }

        fn start(&self) -> CommonEnd {
            let outgoing: OutgoingNow = Arc::new(Outgoing::none);
            CommonEnd::start(&self.bench.node, &self.who, SESSION, &self.watcher, outgoing).unwrap()
        }

        /// Its patience says so, whatever it is told, until the node ends.
        fn stands_until_its_end(&self, standing: &Standing) -> Stop {
            let (node, began) = (&self.bench.node, Stopwatch::start());
            loop {
                assert!(began.elapsed() < Duration::from_secs(60), "no end: {:?}", node.crawl.together.waits_for());
                node.crawl.together.stands(standing.clone(), node.crawl.together.told());
                if let Some(stop) = node.stop.borrow().clone() {
                    return stop;
                }
                std::thread::sleep(Duration::from_millis(5));
            }
        }
    }

    fn beat(state: MemberState, facts: Facts) -> Beat {
        let (machine, version) = (String::new(), String::new());
        Beat { session: SESSION.into(), beat: 1, state, lease_ms: 900_000, machine, version, facts }
    }

    /// The engine of a crawl of these members, whose beats say that they run.
    fn engine(names: &[&str]) -> (Memory, Line) {
        let memory = Memory::new(Clock::real());
        let line = memory.connect();
        let first = Map::first(names[0], 7).unwrap();
        let map = names[1..].iter().fold(first, |map, name| map.joined(name, 1).unwrap().0);
        line.write_if("map", &map.text(), None).unwrap();
        for name in names {
            let beat = serde_json::to_vec(&beat(MemberState::Running, Facts::default())).unwrap();
            line.write_if(&format!("node.{name}"), &beat, None).unwrap();
        }
        (memory, line)
    }

    #[test]
    fn two_members_end_together_and_neither_while_the_other_has_something() {
        let (memory, line) = engine(&["n1", "n2"]);
        let (n1, n2) = (Member::new(&memory, "n1"), Member::new(&memory, "n2"));
        let ends = [n1.start(), n2.start()];
        let (asked, told) = std::thread::scope(|scope| {
            let one = scope.spawn(|| n1.stands_until_its_end(&Standing::Nothing));
            n2.bench.node.crawl.together.stands(Standing::Busy, Made::default());
            std::thread::sleep(2 * ASKED[0]); // it is asked meanwhile
            assert!(n1.bench.node.stop.borrow().is_none() && line.read("state").unwrap().is_none());
            (n2.stands_until_its_end(&Standing::GivenUp), one.join().unwrap())
        });
        assert_eq!((asked, told), (Stop::Done, Stop::Done));
        ends.into_iter().for_each(CommonEnd::finish);
    }

    #[test]
    fn a_member_that_starts_after_the_end_and_has_something_takes_it_back() {
        let (memory, line) = engine(&["n1", "n2"]);
        line.write_if("state", br#"{"ended":{"by":"n1","at":"2026-11-30T22:00:00.000Z"}}"#, None).unwrap();
        let n1 = Member::new(&memory, "n1");
        let end = n1.start();
        n1.bench.node.crawl.together.stands(Standing::Busy, Made::default());
        let began = Stopwatch::start();
        while line.read("state").unwrap().is_some() {
            assert!(began.elapsed() < Duration::from_secs(60), "it stays");
            std::thread::sleep(Duration::from_millis(5));
        }
        assert!(n1.bench.node.stop.borrow().is_none());
        end.finish();
    }

    #[test]
    fn a_member_that_is_alone_is_told_so_and_asks_nobody() {
        let (memory, line) = engine(&["n1"]);
        let n1 = Member::new(&memory, "n1");
        let together = &n1.bench.node.crawl.together;
        let end = n1.start();
        let began = Stopwatch::start();
        while together.company() == Company::Several {
            assert!(began.elapsed() < Duration::from_secs(60), "it is not told");
            std::thread::sleep(Duration::from_millis(5));
        }
        end.finish();
        assert!(line.read("state").unwrap().is_none() && n1.bench.node.stop.borrow().is_none());
    }

    #[test]
    fn what_counts_against_the_limits_is_what_all_have_spent() {
        let (memory, line) = engine(&["n1", "n2", "n3"]);
        for (name, facts) in [
            ("n1", Facts { pages: 1_000, ..Facts::default() }), // its own beat is older than what it knows itself
            ("n2", Facts { pages: 5, bytes: 70, failures: 2, ..Facts::default() }),
            ("n3", Facts { pages: 6, bytes: 80, ..Facts::default() }),
            ("n9", Facts { pages: 9_000, ..Facts::default() }), // it is no member any more
        ] {
            let key = format!("node.{name}");
            let before = line.read(&key).unwrap().map(|entry| entry.revision);
            let beat = serde_json::to_vec(&beat(MemberState::Away, facts)).unwrap();
            line.write_if(&key, &beat, before).unwrap();
        }
        let n1 = Member::new(&memory, "n1");
        *lock(&n1.bench.node.crawl.progress.counters) = Counters { pages_stored: 4, ..Counters::default() };
        let known = n1.watcher.newer(0, Duration::from_secs(60));
        n1.bench.node.crawl.together.know(Company::Several, spent(&known, "n1"), String::new());
        assert_eq!(n1.bench.node.crawl.spent(), Spent { pages: 15, bytes: 150, failures: 2 });
    }

    #[test]
    fn what_was_nothing_a_moment_ago_is_something_when_it_is_asked() {
        let bench = Bench::new(&["crawl.until_done=true"]);
        let node = &bench.node;
        let still = || stands(node, true).unwrap().0;
        assert_eq!(still(), Still::Busy, "nobody has looked");
        node.crawl.together.stands(Standing::Nothing, Made::default());
        assert_eq!(still(), Still::Done);
        assert_eq!(stands(node, false).unwrap().0, Still::Busy, "a row is not answered");
        lock(&node.crawl.progress.counters).queued = 1;
        assert_eq!(still(), Still::Busy, "a URL is queued");
        node.crawl.together.stands(Standing::Until(node.clock.now().plus(Duration::from_secs(9))), Made::default());
        assert_eq!(still(), Still::For(Duration::from_secs(9)));
        drop(node.clock.clone().off_by(10_000));
        assert_eq!(still(), Still::Busy, "its moment has come");
        node.crawl.together.stands(Standing::GivenUp, Made::default());
        assert_eq!(still(), Still::Done);
        node.crawl.together.tell(Made { finished: 1, ..Made::default() });
        assert_eq!(still(), Still::Busy, "its patience has not reckoned with what the others came to");
    }

    #[test]
    fn a_crawl_that_is_not_to_end_by_itself_has_always_something_to_do() {
        let bench = Bench::new(&["crawl.until_done=false"]);
        bench.node.crawl.together.stands(Standing::Nothing, Made::default());
        assert_eq!(stands(&bench.node, true).unwrap().0, Still::Busy);
    }

    #[test]
    fn it_is_said_in_words_for_whom_is_waited() {
        let map = ["n2", "n3", "n4", "n5", "n6"]
            .iter()
            .fold(Map::first("n1", 7).unwrap(), |map, name| map.joined(name, 1).unwrap().0);
        let now = UnixMillis(1_796_076_000_000);
        let running = |facts| beat(MemberState::Running, facts);
        let rows = Waits { rows: 1, unanswered: true, ..Waits::default() };
        let beats = [
            ("n2", running(Facts { waiting: 12, ..Facts::default() })),
            ("n3", beat(MemberState::Away, Facts::default())),
            ("n4", running(Facts::default())),
            ("n5", running(Facts { outbox: BTreeMap::from([("n1".to_owned(), rows)]), ..Facts::default() })),
        ];
        let beats: BTreeMap<String, Beat> = beats.into_iter().map(|(name, beat)| (name.to_owned(), beat)).collect();
        let heard = beats.keys().map(|name| (name.clone(), UnixMillis(now.0 - 1_000))).collect();
        let state = Some((CrawlState::default(), 1));
        let mut known = Known { map: Some((map, 1)), beats, heard, state, told: 1, ..Known::default() };
        let told = |known: &Known| waits(known, "n1", now).into_iter().map(|(_, words)| words).collect::<Vec<_>>();
        let [n2, n5, n6] = ["n2 has 12 URLs waiting", "n5 has links for n1", "n6 was not heard of"];
        assert_eq!(told(&known), [n2, "n3 is away since 2026-11-30T21:59:59.000Z", n5, n6]);
        known.heard.insert("n4".into(), UnixMillis(now.0 - 120_000));
        assert_eq!(told(&known)[2], "n4 was not heard of for 2 min");
    }
}
