//! All members, the engine and the store in one thread: what happens when, and what goes wrong.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::rc::Rc;

use super::engine::{Engine, Record, Store};
use super::folder::{Db, State};
use super::life::{Life, Whole};
use super::oracle::Oracle;
use super::planted::Planted;
use super::web::{Rng, Url, Web};
use crate::domain::cluster::map::{Map, MemberId};
use crate::domain::cluster::rounds::Reply;
use crate::domain::cluster::sender::{Answer, Ask};
use crate::domain::partition::PartitionSet;

/// How long a lease is: ms.
pub const LEASE: u64 = 60_000;
/// By so much it ends earlier for who has it.
pub const MARGIN: u64 = 2_000;
/// So long things go wrong, ...
const TROUBLE: u64 = 260_000;
/// ... and so long after it the crawl has to be over.
const CALM: u64 = 1_200_000;

pub enum Event {
    Tick(usize),
    Spare,
    Trouble,
    Start(usize),
    Cut(usize),
    Mended(usize),
    EngineBack,
    Emptied,
    Fetched {
        life: usize,
        session: u64,
        fetch: u64,
    },
    Links {
        to: MemberId,
        session: u64,
        life: usize,
        asker: u64,
        ask: Ask,
        rows: Vec<(u64, Rc<Vec<Url>>)>,
    },
    Answer {
        life: usize,
        asked: u64,
        to: MemberId,
        id: u64,
        session: u64,
        answer: Answer,
    },
    Beat {
        life: usize,
        session: u64,
        expected: Option<u64>,
        record: Record,
        sent: u64,
        emptied: u64,
        whole: Option<Whole>,
    },
    WriteMap {
        life: usize,
        expected: Option<u64>,
        map: Map,
        emptied: u64,
    },
    Copied {
        life: usize,
        id: (u64, u64),
        db: Rc<Db>,
    },
    Asked {
        to: MemberId,
        session: u64,
        life: usize,
        id: u64,
    },
    Replied {
        life: usize,
        from: MemberId,
        id: u64,
        reply: Reply,
    },
}

/// Machines that wait.
pub struct Spare {
    pub taken: u64,
    pub rate: u64,
    pub watched: BTreeMap<MemberId, ((u64, Option<u64>), u64)>,
}

/// What rendezvous hashing gives, by the members.
pub struct Shares;

type Members = Vec<(MemberId, u16, bool)>;

thread_local! {
    static SHARES: RefCell<HashMap<Members, Rc<Vec<MemberId>>>> = RefCell::new(HashMap::new());
}

impl Shares {
    pub fn of(&self, map: &Map) -> Rc<Vec<MemberId>> {
        let members: Members = map.members.iter().map(|m| (m.id, m.weight, m.leaving)).collect();
        if members.iter().all(|(_, _, leaving)| *leaving) {
            return Rc::new(map.shares());
        }
        SHARES.with(|all| Rc::clone(all.borrow_mut().entry(members).or_insert_with(|| Rc::new(map.shares()))))
    }
}

pub struct World {
    pub planted: Option<Planted>,
    pub rng: Rng,
    pub now: u64,
    events: BTreeMap<(u64, u64), Event>,
    count: u64,
    pub web: Rc<Web>,
    pub engine: Engine,
    pub store: Store,
    pub lives: Vec<Life>,
    /// The life that holds a member's record.
    pub holder: BTreeMap<MemberId, usize>,
    /// The newest map that the engine ever had.
    pub map: Rc<Map>,
    pub spare: Spare,
    pub shares: Shares,
    pub oracle: Oracle,
    pub over: bool,
    pub failed: Option<String>,
    pub loud: bool,
    pub lines: usize,
    log: VecDeque<String>,
    /// What went wrong how often.
    pub seen: BTreeMap<&'static str, u64>,
    pub joins: u64,
    /// Members take partitions that they should not have.
    pub whims: bool,
    /// In a hundred times that a checkpoint might be begun.
    copies_begun: u64,
    /// Until when things go wrong.
    pub until: u64,
}

impl World {
    pub fn new(seed: u64, planted: Option<Planted>) -> Self {
        let mut rng = Rng(seed);
        let web = Rc::new(Web::new(&mut rng));
        let map = Map::first("n0", seed).unwrap();
        let mut db = Db::new(&mut rng, PartitionSet::all());
        db.next_seq = rng.below(40);
        db.map = Some(Rc::new(map.clone()));
        let mut filter = BTreeSet::new();
        for url in &web.seeds {
            db.discover(&mut filter, *url, web.partition(*url));
        }
        let mut world = Self {
            planted,
            rng,
            now: 0,
            events: BTreeMap::new(),
            count: 0,
            web,
            engine: Engine::new(map.clone()),
            store: Store::default(),
            lives: Vec::new(),
            holder: BTreeMap::new(),
            map: Rc::new(map),
            spare: Spare { taken: 0, rate: 0, watched: BTreeMap::new() },
            shares: Shares,
            oracle: Oracle::default(),
            over: false,
            failed: None,
            loud: false,
            lines: 4000,
            log: VecDeque::new(),
            seen: BTreeMap::new(),
            joins: 0,
            whims: false,
            copies_begun: 0,
            until: 0,
        };
        world.whims = world.rng.percent(60);
        world.copies_begun = world.rng.pick(&[2, 20, 100]).unwrap();
        world.until = world.rng.between(60_000, TROUBLE);
        world.spare.rate = world.rng.below(15_000);
        let clock = world.clock();
        let mut first = Life::new("n0", db, clock);
        first.id = Some(MemberId(0));
        first.start();
        first.mem.until = Some(LEASE - MARGIN);
        world.lives.push(first);
        world.holds(MemberId(0), 0);
        let first = Rc::clone(&world.lives[0].disk.as_ref().unwrap().db);
        world.store.checkpoints.entry(MemberId(0)).or_default().insert((0, 0), first);
        world.at(1, Event::Tick(0));
        for nth in 1..world.rng.between(2, 4) {
            world.join(nth * 500);
        }
        world.at(1_000, Event::Spare);
        world.at(5_000, Event::Trouble);
        world
    }

    /// By how much a machine's clock is fast, and how far off it is.
    pub fn clock(&mut self) -> (i64, i64, u64) {
        let rate = i64::try_from(self.rng.below(30_000)).unwrap() - 15_000;
        let wall = if self.rng.percent(70) { 0 } else { i64::try_from(self.rng.below(400_000)).unwrap() - 200_000 };
        (rate, wall, self.rng.below(20_000))
    }

    pub fn at(&mut self, delay: u64, event: Event) {
        let nth = self.number();
        self.events.insert((self.now + delay, nth), event);
    }

    pub fn number(&mut self) -> u64 {
        self.count += 1;
        self.count
    }

    /// How long a message is under way.
    pub fn delay(&mut self) -> u64 {
        match self.rng.below(20) {
            0 => self.rng.between(1_000, 40_000),
            1..4 => self.rng.between(200, 3_000),
            _ => self.rng.between(5, 200),
        }
    }

    /// How often a message arrives.
    pub fn copies(&mut self) -> u64 {
        match self.rng.below(20) {
            0 => 0,
            1 => 2,
            _ => 1,
        }
    }

    pub fn reaches_engine(&self, life: usize) -> bool {
        let l = &self.lives[life];
        l.runs && !l.cut && !self.engine.away
    }

    /// A life has written a record: the member is what its folder says.
    pub fn holds(&mut self, id: MemberId, life: usize) {
        if self.holder.insert(id, life) != Some(life) {
            self.oracle_rolled_back();
        }
    }

    /// A line of what happened, kept when the run is repeated because it failed.
    pub fn say(&mut self, what: impl FnOnce() -> String) {
        if !self.loud {
            return;
        }
        if self.log.len() >= self.lines {
            self.log.pop_front();
        }
        let line = format!("{:>9.3} {}", self.now as f64 / 1_000.0, what());
        self.log.push_back(line);
    }

    pub fn fail(&mut self, why: String) {
        if self.failed.is_none() {
            self.say(|| format!("FAILED: {why}"));
            self.failed = Some(why);
        }
    }

    /// Runs until the end is told or something is wrong: the last events then.
    pub fn run(&mut self) -> Result<(), String> {
        while !self.over && self.failed.is_none() {
            let Some(((at, _), event)) = self.events.pop_first() else { break };
            self.now = at;
            if self.now > TROUBLE + CALM {
                self.fail("the end is not told".into());
                self.say_state();
                break;
            }
            self.happens(event);
            if self.rng.below(150) == 0 {
                self.oracle_look();
            }
        }
        match &self.failed {
            None => Ok(()),
            Some(_) => Err(self.log.iter().cloned().collect::<Vec<_>>().join("\n")),
        }
    }

    fn say_state(&mut self) {
        for nth in 0..self.lives.len() {
            let l = &self.lives[nth];
            let state = format!("life {nth} {:?} runs {} cut {} former {}", l.id, l.runs, l.cut, l.former);
            let rows = l.disk.as_ref().map(|disk| {
                let map = disk.db.map.as_ref().map(|map| map.version);
                let queued = disk.db.known.values().filter(|state| **state == State::Queued).count();
                format!("written {:?} rests {} taking {:?} revision {:?} out {:?} dirty {:?} map {map:?} queued {queued} rows {} lease {}", l.mem.written, l.mem.rests, l.mem.taking, l.mem.map_revision, l.mem.map_out, disk.db.held.dirty.iter().collect::<Vec<_>>(), disk.db.outbox.len(), l.has_lease(self.now))
            });
            self.say(|| format!("{state} {}", rows.unwrap_or_default()));
        }
        let moves: Vec<_> =
            self.web.hosts.iter().map(|p| (*p, self.map.owner(*p), self.map.moving(*p).cloned())).collect();
        let members = self.engine.map.as_ref().map(|(_, map)| map.members.clone());
        self.say(|| format!("{members:?} {moves:?}"));
    }

    fn happens(&mut self, event: Event) {
        match event {
            Event::Tick(life) => self.tick(life),
            Event::Spare => {
                self.spare_looks();
                self.at(1_500, Event::Spare);
            }
            Event::Trouble => self.trouble(),
            Event::Start(life) => self.start(life),
            Event::Cut(life) => self.cut(life),
            Event::Mended(life) => self.lives[life].cut = false,
            Event::EngineBack => self.engine.away = false,
            Event::Emptied => self.emptied(),
            Event::Fetched { life, session, fetch } => self.fetched(life, session, fetch),
            Event::Links { to, session, life, asker, ask, rows } => {
                self.links_arrive(to, session, (life, asker), ask, &rows);
            }
            Event::Answer { life, asked, to, id, session, answer } => {
                self.answer_arrives(life, asked, to, id, session, answer);
            }
            Event::Beat { life, session, expected, record, sent, emptied, whole } => {
                self.beat_arrives(life, session, expected, record, sent, emptied, whole);
            }
            Event::WriteMap { life, expected, map, emptied } => self.map_arrives(life, expected, map, emptied),
            Event::Copied { life, id, db } => self.copied(life, id, db),
            Event::Asked { to, session, life, id } => self.asked(to, session, life, id),
            Event::Replied { life, from, id, reply } => self.replied(life, from, id, reply),
        }
    }

    fn tick(&mut self, life: usize) {
        if !self.lives[life].runs {
            return;
        }
        self.beat(life);
        for _ in 0..2 {
            if !self.lives[life].runs {
                return;
            }
            if self.lives[life].id.is_none() {
                self.look(life);
                self.ask_to_join(life);
                continue;
            }
            match self.rng.below(20) {
                0..4 => self.look(life),
                4..8 => self.fetch(life),
                8..12 => self.send(life),
                12..16 => self.carry(life),
                16 => self.take_rows_in(life),
                17 if self.wants_copy(life) => self.copy(life),
                18 => self.round(life),
                _ => self.sync(life),
            }
        }
        let next = self.rng.between(300, 1_700);
        self.at(next, Event::Tick(life));
    }

    /// Checkpoints are rare in some runs, but for those that a move waits for.
    fn wants_copy(&mut self, life: usize) -> bool {
        let l = &self.lives[life];
        let waits = |map: &Rc<Map>| {
            let (held, me) = (&l.db().held, l.me());
            !held.hands_over(map, me).is_empty() || !held.settles(map, me).is_empty()
        };
        let waits = || l.db().map.as_ref().is_some_and(waits);
        !self.is_trouble() || waits() || self.rng.percent(self.copies_begun)
    }

    fn sync(&mut self, life: usize) {
        self.lives[life].disk.as_mut().unwrap().sync();
    }

    /// A new machine with an empty folder.
    pub fn join(&mut self, after: u64) {
        self.joins += 1;
        let db = Db::new(&mut self.rng, PartitionSet::none());
        let clock = self.clock();
        let life = Life::new(&format!("n{}", self.joins), db, clock);
        self.lives.push(life);
        self.at(after, Event::Start(self.lives.len() - 1));
    }

    fn ask_to_join(&mut self, life: usize) {
        let l = &self.lives[life];
        let (Some(map), None) = (l.db().map.clone(), l.id) else { return };
        if let Ok((next, _)) = map.joined(&l.name, 1) {
            // The map with it is its first lease: from then on others watch its record, which is not there yet.
            let (now, l) = (self.now, &mut self.lives[life]);
            l.mem.until = l.mem.until.or(Some(l.clock(now) + LEASE - MARGIN));
            self.change(life, next);
        }
    }

    fn start(&mut self, life: usize) {
        let l = &mut self.lives[life];
        if l.runs || l.former || l.disk.is_none() {
            return;
        }
        l.start();
        self.say(|| format!("life {life} starts"));
        self.at(10, Event::Tick(life));
    }

    /// A process ends for good.
    pub fn end_life(&mut self, life: usize, why: &str) {
        let l = &mut self.lives[life];
        (l.runs, l.former) = (false, true);
        self.say(|| format!("life {life} ends: {why}"));
    }
}
