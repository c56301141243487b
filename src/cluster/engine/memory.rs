//! An engine in the memory of one process, that can be told to fail as real ones do.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crossbeam_channel::bounded;

use crate::base::clock::Clock;
use crate::base::sync::lock;
use crate::base::time::UnixMillis;

use super::desk::{Desk, Reply};
use super::watch::{Teller, watch};
use super::{
    Answering, Change, ClockGap, Engine, EngineError, EngineState, Entry, Handler, KEYS, MESSAGE_CAP, VALUE_CAP, Watch,
    fits, named,
};

/// Its name in messages.
const SERVER: &str = "memory";
/// A call is given up after so long, as with the other.
const PATIENCE: Duration = Duration::from_secs(5);

/// The engine itself. Clones are the same one; each member has its own line to it, by [`connect`](Self::connect).
#[derive(Clone)]
pub struct Memory(Arc<Inner>);

struct Inner {
    clock: Clock,
    kept: Mutex<Kept>,
    asked: AtomicUsize,
}

#[derive(Default)]
struct Kept {
    /// By key; a removal keeps its revision.
    rows: BTreeMap<String, Row>,
    /// The latest revision; goes on when all is emptied.
    revision: u64,
    life: UnixMillis,
    /// Whether it answers, and since when that is so.
    up: (bool, UnixMillis),
    slow: Duration,
    ahead: i64,
    /// So many answers of writes are lost yet.
    lost: u32,
    lines: u64,
    watches: Vec<Following>,
    desks: Vec<Answered>,
    answerings: u64,
    /// Lines that are cut, and since when.
    cut: BTreeMap<u64, UnixMillis>,
    /// Since when the others are not.
    whole: BTreeMap<u64, UnixMillis>,
}

struct Row {
    value: Option<Vec<u8>>,
    revision: u64,
    written: UnixMillis,
}

struct Following {
    line: u64,
    teller: Teller,
}

struct Answered {
    line: u64,
    number: u64,
    subject: String,
    desk: Desk,
}

/// A member's line to a [`Memory`].
pub struct Line {
    memory: Memory,
    number: u64,
}

impl Memory {
    /// An empty one that reckons by `clock`.
    pub fn new(clock: Clock) -> Self {
        let kept = Kept { life: clock.date(), up: (true, clock.now()), ..Kept::default() };
        Self(Arc::new(Inner { clock, kept: Mutex::new(kept), asked: AtomicUsize::new(0) }))
    }

    /// A line to it.
    pub fn connect(&self) -> Line {
        let mut kept = lock(&self.0.kept);
        kept.lines += 1;
        let number = kept.lines;
        kept.whole.insert(number, self.0.clock.now());
        Line { memory: self.clone(), number }
    }

    /// Answers nobody from now on, or everybody again.
    pub fn set_away(&self, away: bool) {
        let mut kept = lock(&self.0.kept);
        if kept.up.0 == away {
            kept.up = (!away, self.0.clock.now());
            kept.tell_all();
        }
    }

    /// Loses everything, as if its disk had been taken away, and begins anew.
    pub fn empty(&self) {
        let mut kept = lock(&self.0.kept);
        kept.rows.clear();
        kept.life = self.0.clock.date().max(UnixMillis(kept.life.0.saturating_add(1)));
        kept.tell_all();
    }

    /// Takes so long for every call. From five seconds on every call of it is too late, and done.
    pub fn set_slow(&self, by: Duration) {
        lock(&self.0.kept).slow = by;
    }

    /// Does the next `writes` writes and says that it was away.
    pub fn lose_answers(&self, writes: u32) {
        lock(&self.0.kept).lost = writes;
    }

    /// Sets its clock so many milliseconds ahead of the one it was made with.
    pub fn set_ahead(&self, ms: i64) {
        lock(&self.0.kept).ahead = ms;
    }

    fn away(&self, why: &str) -> EngineError {
        EngineError::Away { server: SERVER.to_owned(), why: why.to_owned() }
    }

    /// What every call begins with: waits as long as it is slow, and gives what is kept if `line` reaches it.
    fn on_line<T>(&self, line: u64, call: impl FnOnce(&mut Kept, UnixMillis) -> T) -> Result<T, EngineError> {
        let slow = lock(&self.0.kept).slow;
        std::thread::sleep(slow.min(PATIENCE));
        let mut kept = lock(&self.0.kept);
        if !kept.reached(line) {
            return Err(self.away("it was told to be"));
        }
        let now = UnixMillis(self.0.clock.date().0.saturating_add_signed(kept.ahead));
        let done = call(&mut kept, now);
        if slow < PATIENCE { Ok(done) } else { Err(self.away("it took too long")) }
    }

    fn write(&self, line: u64, key: &str, value: Option<&[u8]>, revision: Option<u64>) -> Result<u64, EngineError> {
        let conflict = EngineError::Conflict { key: named(key)?.to_owned() };
        fits("the value", value.map_or(0, <[u8]>::len), VALUE_CAP)?;
        self.on_line(line, |kept, now| {
            // The revision of a removal is as good as none.
            let found = kept.rows.get(key).map(|row| (row.revision, row.value.is_some()));
            if !found
                .map_or(revision.is_none(), |(there, lives)| revision == Some(there) || revision.is_none() && !lives)
            {
                return Err(conflict);
            }
            if !kept.rows.contains_key(key) && kept.rows.len() >= KEYS {
                let why = format!("it has {KEYS} keys already");
                return Err(EngineError::Refused { server: SERVER.to_owned(), why });
            }
            let revision = kept.write(key, value, now);
            if kept.lost > 0 {
                kept.lost -= 1;
                return Err(self.away("its answer was lost"));
            }
            Ok(revision)
        })?
    }
}

impl Kept {
    fn reached(&self, line: u64) -> bool {
        self.up.0 && !self.cut.contains_key(&line)
    }

    fn write(&mut self, key: &str, value: Option<&[u8]>, now: UnixMillis) -> u64 {
        self.revision += 1;
        let row = Row { value: value.map(<[u8]>::to_vec), revision: self.revision, written: now };
        let change = match entry(key, &row) {
            Some(entry) => Change::Written(entry),
            None => Change::Removed { key: key.to_owned(), revision: self.revision },
        };
        self.rows.insert(key.to_owned(), row);
        let (up, cut) = (self.up.0, &self.cut);
        self.watches.retain(|watch| !up || cut.contains_key(&watch.line) || watch.teller.change(change.clone()));
        self.revision
    }

    fn all(&self) -> Vec<Entry> {
        self.rows.iter().filter_map(|(key, row)| entry(key, row)).collect()
    }

    /// Tells everything to all who watch and are reached.
    fn tell_all(&mut self) {
        let all = self.all();
        let (up, cut) = (self.up.0, &self.cut);
        self.watches.retain(|watch| !up || cut.contains_key(&watch.line) || watch.teller.all(all.clone()));
    }
}

fn entry(key: &str, row: &Row) -> Option<Entry> {
    let value = row.value.clone()?;
    Some(Entry { key: key.to_owned(), value, revision: row.revision, written: row.written })
}

impl Line {
    /// Cuts this line, or mends it: the engine is away for this member alone, and nobody's ask reaches it.
    pub fn set_cut(&self, cut: bool) {
        let mut kept = lock(&self.memory.0.kept);
        let now = self.memory.0.clock.now();
        if cut {
            kept.cut.entry(self.number).or_insert(now);
        } else if kept.cut.remove(&self.number).is_some() {
            kept.whole.insert(self.number, now);
            let all = kept.all();
            let up = kept.up.0;
            kept.watches.retain(|watch| !up || watch.line != self.number || watch.teller.all(all.clone()));
        }
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        let mut kept = lock(&self.memory.0.kept);
        kept.watches.retain(|watch| watch.line != self.number);
        kept.desks.retain(|desk| desk.line != self.number);
        kept.cut.remove(&self.number);
        kept.whole.remove(&self.number);
    }
}

impl Engine for Line {
    fn read(&self, key: &str) -> Result<Option<Entry>, EngineError> {
        named(key)?;
        self.memory.on_line(self.number, |kept, _| kept.rows.get(key).and_then(|row| entry(key, row)))
    }

    fn all(&self) -> Result<Vec<Entry>, EngineError> {
        self.memory.on_line(self.number, |kept, _| kept.all())
    }

    fn write_if(&self, key: &str, value: &[u8], revision: Option<u64>) -> Result<u64, EngineError> {
        self.memory.write(self.number, key, Some(value), revision)
    }

    fn remove_if(&self, key: &str, revision: u64) -> Result<u64, EngineError> {
        self.memory.write(self.number, key, None, Some(revision))
    }

    fn watch(&self) -> Result<Watch, EngineError> {
        let (teller, watch) = watch();
        let mut kept = lock(&self.memory.0.kept);
        if kept.reached(self.number) {
            teller.all(kept.all());
        }
        kept.watches.push(Following { line: self.number, teller });
        Ok(watch)
    }

    fn ask(&self, subject: &str, request: &[u8], patience: Duration) -> Result<Vec<u8>, EngineError> {
        named(subject)?;
        fits("the request", request.len(), MESSAGE_CAP)?;
        let nth = self.memory.0.asked.fetch_add(1, Ordering::Relaxed);
        let slow = lock(&self.memory.0.kept).slow;
        let desk = self.memory.on_line(self.number, |kept, _| {
            let here = |desk: &&Answered| desk.subject == subject && kept.reached(desk.line);
            let desks: Vec<&Answered> = kept.desks.iter().filter(here).collect();
            desks.get(nth.checked_rem(desks.len())?).map(|answered| answered.desk.clone())
        })?;
        let desk = desk.ok_or_else(|| EngineError::NoOne { subject: subject.to_owned() })?;
        let (sender, receiver) = bounded::<Reply>(1);
        desk.ask(request.to_vec(), move |reply| _ = sender.send(reply));
        let late = |_| EngineError::Late { subject: subject.to_owned(), patience };
        receiver.recv_timeout(patience.saturating_sub(slow)).map_err(late)?.told(subject)
    }

    fn answer(&self, subject: &str, handler: Handler) -> Result<Answering, EngineError> {
        let subject = named(subject)?.to_owned();
        let refused = |err: std::io::Error| EngineError::Refused { server: SERVER.to_owned(), why: err.to_string() };
        let desk = Desk::open(&subject, &handler).map_err(refused)?;
        let mut kept = lock(&self.memory.0.kept);
        kept.answerings += 1;
        let number = kept.answerings;
        kept.desks.push(Answered { line: self.number, number, subject, desk });
        let memory = self.memory.clone();
        Ok(Answering::until(move || lock(&memory.0.kept).desks.retain(|desk| desk.number != number)))
    }

    fn state(&self) -> EngineState {
        let kept = lock(&self.memory.0.kept);
        let mended = kept.whole.get(&self.number).copied().unwrap_or_default();
        let (connected, since) = match (kept.up, kept.cut.get(&self.number)) {
            ((true, up), None) => (true, up.max(mended)),
            ((true, _), Some(cut)) => (false, *cut),
            ((false, down), cut) => (false, cut.map_or(down, |cut| down.min(*cut))),
        };
        EngineState {
            connected,
            since,
            server: Some(SERVER.to_owned()),
            why: (!connected).then(|| "it was told to be away".to_owned()),
            clock: Some(ClockGap { ahead: kept.ahead, within: 0 }),
            life: Some(kept.life),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::contract::{self, Place};
    use super::*;

    impl Place for Memory {
        fn connect(&self) -> Arc<dyn Engine> {
            Arc::new(Memory::connect(self))
        }
        fn stop(&self) {
            self.set_away(true);
        }
        fn start(&self) {
            self.set_away(false);
        }
        fn empty(&self) {
            Memory::empty(self);
        }
    }

    #[test]
    fn it_keeps_the_contract() {
        for (name, keeps) in contract::ALL {
            println!("{name}");
            keeps(&Memory::new(Clock::real()));
        }
    }

    #[test]
    fn a_member_may_be_cut_off_alone() {
        let memory = Memory::new(Clock::real());
        let (here, there) = (memory.connect(), memory.connect());
        let _answering = here.answer("s", Arc::new(<[u8]>::to_vec)).unwrap();
        here.set_cut(true);
        assert!(matches!(here.read("a"), Err(EngineError::Away { .. })));
        assert!(matches!(there.ask("s", b"", PATIENCE), Err(EngineError::NoOne { .. })));
        assert_eq!((here.state().connected, there.state().connected), (false, true));
        let revision = there.write_if("a", b"1", None).unwrap();
        here.set_cut(false);
        assert_eq!(here.read("a").unwrap().map(|entry| entry.revision), Some(revision));
        assert_eq!(there.ask("s", b"x", PATIENCE).unwrap(), b"x");
    }

    #[test]
    fn a_write_whose_answer_is_lost_is_done() {
        let memory = Memory::new(Clock::real());
        let line = memory.connect();
        memory.lose_answers(1);
        assert!(matches!(line.write_if("a", b"1", None), Err(EngineError::Away { .. })));
        assert_eq!(line.read("a").unwrap().unwrap().value, b"1");
        assert!(matches!(line.write_if("a", b"1", None), Err(EngineError::Conflict { .. })));
    }

    #[test]
    fn its_clock_may_be_another() {
        let memory = Memory::new(Clock::manual(UnixMillis(1_000)));
        memory.set_ahead(5_000);
        let line = memory.connect();
        line.write_if("a", b"1", None).unwrap();
        assert_eq!(line.read("a").unwrap().unwrap().written, UnixMillis(6_000));
        assert_eq!(line.state().clock, Some(ClockGap { ahead: 5_000, within: 0 }));
    }
}
