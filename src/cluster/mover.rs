//! The thread that has partitions go where they should be: it follows the map, asks for a rest of the crawl where its folder has something to do
//! by it, and makes the next version of it where its own turn has come (the steps: [`moves`](crate::domain::cluster::moves)).
//!
//! It writes the map only within the lease, over the version it has read, and never one that was made of what its folder does not know yet.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, bounded};

use super::MAP;
use super::engine::EngineError;
use super::keeper::Membership;
use super::known::{Known, Watcher};
use crate::base::clock::since_boot;
use crate::base::sync::lock;
use crate::domain::cluster::held::Held;
use crate::domain::cluster::lease::{MemberState, Whole};
use crate::domain::cluster::map::{Map, MapError, MemberId};
use crate::domain::partition::{Partition, PartitionSet};

/// How often it looks when nothing is told.
const LOOK: Duration = Duration::from_secs(1);
/// What is nowhere is looked for again after that, and after twice as long each time, up to so long.
const MISSING: [Duration; 2] = [Duration::from_secs(30), Duration::from_secs(3_600)];
/// Rest between two checkpoints that it asks for.
const AGAIN: Duration = Duration::from_secs(20);

/// A life of the crawl, as far as partitions have to do with it.
pub struct Life {
    /// What its folder has; none of one that has everything, and knows of no other member.
    pub held: Option<Held>,
    /// What it has looked for in vain: it does not rest for that again at once.
    pub missing: PartitionSet,
    /// Ends it, so that what the map asks for is done at rest.
    pub rest: Box<dyn Fn() + Send>,
    /// Asks for a checkpoint.
    pub copy: Box<dyn Fn() + Send>,
    /// Tells it a newer map.
    pub follow: Box<dyn Fn(&Map) + Send>,
    /// Whether no row of links is kept for others, or waits to be taken in.
    pub is_handed: Box<dyn Fn() -> bool + Send>,
}

/// What a member has outside of its folder.
pub trait Stock: Send {
    /// Removes an object that nobody needs any more.
    fn remove(&self, object: &str);
    /// Keeps the map, so that a crawl is known whose engine has lost everything.
    fn keep_map(&self, map: &Map);
}

/// The thread; it ends when this is dropped.
pub struct Mover {
    life: Arc<Mutex<Option<Life>>>,
    end: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Mover {
    /// Begins to follow the map.
    ///
    /// # Errors
    /// A thread that cannot be started.
    pub fn start(member: Arc<Membership>, watcher: Arc<Watcher>, stock: Box<dyn Stock>) -> std::io::Result<Self> {
        let life = Arc::<Mutex<Option<Life>>>::default();
        let (end, ended) = bounded(0);
        let work = Work {
            member,
            watcher,
            stock,
            life: life.clone(),
            written: 0,
            copied: None,
            still: BTreeMap::new(),
            missing: None,
            removing: BTreeSet::new(),
        };
        let thread = std::thread::Builder::new().name("mover".into()).spawn(move || work.run(&ended))?;
        Ok(Self { life, end: Some(end), thread: Some(thread) })
    }

    /// A life of the crawl has begun, or has ended.
    pub fn lives(&self, life: Option<Life>) {
        *lock(&self.life) = life;
    }
}

impl Drop for Mover {
    fn drop(&mut self) {
        self.end = None;
        if self.thread.take().is_some_and(|thread| thread.join().is_err()) {
            log::error!("the thread that moves partitions panicked");
        }
    }
}

struct Work {
    member: Arc<Membership>,
    watcher: Arc<Watcher>,
    stock: Box<dyn Stock>,
    life: Arc<Mutex<Option<Life>>>,
    /// The revision of the last map that it has written: until that is told nothing is written on an older one.
    written: u64,
    /// When it asked for a checkpoint last.
    copied: Option<Duration>,
    /// While the engine has no map: the beats of those that the folder's does not know, and since when they stand still.
    still: BTreeMap<String, (u64, Duration)>,
    /// Since when something is missing, and how long it is not looked for.
    missing: Option<(Duration, Duration)>,
    /// Objects that go once the map does not name them.
    removing: BTreeSet<String>,
}

impl Work {
    fn run(mut self, ended: &Receiver<()>) {
        let mut told = u64::MAX;
        while let Err(RecvTimeoutError::Timeout) = ended.recv_timeout(Duration::ZERO) {
            let known = self.watcher.newer(told, LOOK);
            told = known.told;
            if let Err(e) = self.look(&known) {
                log::warn!("partitions cannot be moved now, it is tried again: error={e}");
            }
        }
    }

    fn look(&mut self, known: &Known) -> Result<(), EngineError> {
        let Some(own) = self.member.map() else { return Ok(()) };
        let (map, revision) = match &known.map {
            Some((map, revision)) if map.seed == own.seed && map.version >= own.version => (map, *revision),
            Some((map, _)) if map.seed != own.seed => return Ok(()), // the keeper of the lease tells it
            older => return self.put_back(known, &own, older.as_ref().map(|(_, revision)| *revision)),
        };
        self.still.clear();
        if map.version > own.version {
            if let Err(e) = self.member.keep_map(map) {
                log::error!(
                    "newer map cannot be written into the folder, it is not obeyed: version={} error={e}",
                    map.version
                );
                return Ok(());
            }
            self.stock.keep_map(map);
            self.member.beat_now();
        }
        let name = &self.member.who().name;
        let Some(me) = map.member(name).map(|member| member.id) else {
            self.member.left();
            return Ok(());
        };
        let named = |object: &String| map.is_named(object);
        let removing = std::mem::take(&mut self.removing);
        let (kept, gone): (BTreeSet<_>, BTreeSet<_>) = removing.into_iter().partition(named);
        gone.iter().for_each(|object| self.stock.remove(object));
        self.removing = kept;
        let life = self.life.clone();
        let life = lock(&life);
        let Some(life) = life.as_ref() else { return Ok(()) };
        (life.follow)(map);
        let is_missed = life.held.as_ref().is_some_and(|held| asks_for_rest(held, &PartitionSet::none(), map, me));
        let looks_again = self.looks_again(is_missed && !life.missing.is_empty());
        match &life.held {
            None if map.members.len() > 1 => (life.rest)(),
            None => {}
            Some(held) if looks_again || asks_for_rest(held, &life.missing, map, me) => (life.rest)(),
            Some(held) if revision >= self.written && !self.member.fence().is_over() => {
                self.change(known, (map, revision), me, (life, held))?;
            }
            Some(_) => {}
        }
        Ok(())
    }

    /// Whether what is missing is to be looked for again: the store may have been away, and come back.
    fn looks_again(&mut self, is_missing: bool) -> bool {
        if !is_missing {
            self.missing = None;
            return false;
        }
        let now = since_boot();
        let (since, patience) = *self.missing.get_or_insert((now, MISSING[0]));
        let looks = now.saturating_sub(since) >= patience;
        if looks {
            self.missing = Some((now, (patience * 2).min(MISSING[1])));
        }
        looks
    }

    /// Makes the next version of the map, if its turn has come.
    fn change(
        &mut self,
        known: &Known,
        (map, revision): (&Map, u64),
        me: MemberId,
        (life, held): (&Life, &Held),
    ) -> Result<(), EngineError> {
        let whole = known.beats.get(&self.member.who().name).map(|beat| beat.facts.whole.clone()).unwrap_or_default();
        let Whole { gone, came, .. } = whole;
        let (mut hands, mut settles) = (held.hands_over(map, me), held.settles(map, me));
        let waits = !hands.is_empty() || !settles.is_empty();
        // An object is handed over as a whole: what is taken in again of one would be needed after it settled.
        let is_named = |(partition, object): (&Partition, &String)| gone.get(&partition.0) == Some(object);
        let partly: BTreeSet<String> = hands.iter().filter(|hand| !is_named(*hand)).map(|(_, o)| o.clone()).collect();
        hands.retain(|_, object| !partly.contains(object));
        settles.retain(|partition, object| came.get(&partition.0) == Some(object));
        if !hands.is_empty() {
            return self.write("handed over", hands.len(), map.handed_over(me, &hands), revision);
        }
        if let Some((next, objects)) = map.settled(me, &settles) {
            let count = objects.len();
            self.removing.extend(objects.into_values());
            return self.write("settled", count, Ok(next), revision);
        }
        if waits {
            self.ask_for_copy(life);
        }
        if map.numbered(me).is_some_and(|member| member.leaving) {
            return self.leave((map, revision), me, (life, held));
        }
        let lives = |id: MemberId| known.beat_of(id).is_some_and(|beat| beat.state == MemberState::Running);
        let wanted = map.to_take(me, &held.owned, lives);
        if wanted.is_empty() {
            return Ok(());
        }
        // Without a copy of its own nobody could take its place, and have what came.
        if known.beats.get(&self.member.who().name).is_none_or(|beat| beat.facts.checkpoint.is_none()) {
            self.ask_for_copy(life);
            return Ok(());
        }
        self.write("begun", wanted.len(), map.begun(&wanted, me), revision)
    }

    /// The last steps of who leaves: when nothing is its own any more, and everything it found is covered.
    fn leave(
        &mut self,
        (map, revision): (&Map, u64),
        me: MemberId,
        (life, held): (&Life, &Held),
    ) -> Result<(), EngineError> {
        if !held.owned.is_empty() || !map.owned_by(me).is_empty() || !(life.is_handed)() {
            return Ok(());
        }
        match map.left(me) {
            Ok(next) => self.write("left", 0, Ok(next), revision),
            Err(_) => Ok(()), // something is on its way to it still
        }
    }

    fn ask_for_copy(&mut self, life: &Life) {
        let now = since_boot();
        if self.copied.is_none_or(|asked| now >= asked + AGAIN.min(self.member.who().lease / 10)) {
            self.copied = Some(now);
            (life.copy)();
        }
    }

    fn write(
        &mut self,
        step: &str,
        partitions: usize,
        next: Result<Map, MapError>,
        revision: u64,
    ) -> Result<(), EngineError> {
        let Ok(next) = next else { return Ok(()) }; // it has changed meanwhile: that is being told
        if self.write_map(&next, Some(revision))? {
            log::info!("partitions {step}: partitions={partitions} map={}", next.version);
        }
        Ok(())
    }

    /// False when another was quicker, or the engine is away: what holds then is told.
    fn write_map(&mut self, map: &Map, over: Option<u64>) -> Result<bool, EngineError> {
        match self.member.who().engine.write_if(MAP, &map.text(), over) {
            Ok(written) => {
                self.written = written;
                Ok(true)
            }
            Err(EngineError::Conflict { .. } | EngineError::Away { .. }) => Ok(false),
            Err(e) => Err(e),
        }
    }

    /// The engine has lost the map, or has an older one: the newest copy is put back when every member has said which it has.
    fn put_back(&mut self, known: &Known, own: &Map, older: Option<u64>) -> Result<(), EngineError> {
        if own.members.len() < 2 || self.member.fence().is_over() {
            return Ok(()); // a crawl of one: the keeper of its lease
        }
        let (now, lease) = (since_boot(), self.member.who().lease);
        let (mut said, mut stranger) = (BTreeMap::new(), u16::MAX);
        for (name, beat) in &known.beats {
            let still = self.still.entry(name.clone()).or_insert((beat.beat, now));
            if still.0 != beat.beat {
                *still = (beat.beat, now);
            }
            match own.member(name) {
                Some(member) => _ = said.insert(member.id, beat.facts.map),
                None if now < still.1 + lease => {
                    said.insert(MemberId(stranger), beat.facts.map);
                    stranger -= 1;
                }
                None => {}
            }
        }
        if !own.is_newest(&said) {
            return Ok(());
        }
        let back = own.put_back();
        if self.write_map(&back, older)? {
            log::warn!("engine had lost the map, the newest copy is put back: version={}", back.version);
        }
        Ok(())
    }
}

/// Whether the folder has something to do by the map.
fn asks_for_rest(held: &Held, missing: &PartitionSet, map: &Map, me: MemberId) -> bool {
    let to_do = held.to_do(map, me);
    let comes = to_do.fetch.iter().any(|(partition, _)| !missing.has(*partition));
    comes || !to_do.give_up.is_empty() || !to_do.export.is_empty()
}
