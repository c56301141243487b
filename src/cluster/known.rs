//! What is known of the crawl: the newest map, and what each member said last, as the engine tells it.

use std::collections::BTreeMap;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use crossbeam_channel::{Sender, bounded, select};

use super::ending::CrawlState;
use super::engine::{Change, EngineError, Entry, Shared as Engine};
use super::register::Register;
use super::{MAP, SETTINGS, STATE};
use crate::base::sync::lock;
use crate::base::time::UnixMillis;
use crate::domain::cluster::lease::Beat;
use crate::domain::cluster::map::{Map, Member, MemberId};

/// The crawl as it was told last.
#[derive(Clone, Debug, Default)]
pub struct Known {
    /// The map, and its revision in the engine; none when the engine has none, or one that cannot be read.
    pub map: Option<(Map, u64)>,
    /// The beats of members by name.
    pub beats: BTreeMap<String, Beat>,
    /// When each was written, by the engine's clock.
    pub heard: BTreeMap<String, UnixMillis>,
    /// Whether the crawl has come to its end, and the revision of that; none while nothing is said of it.
    pub state: Option<(CrawlState, u64)>,
    /// The settings that hold for all; none when the engine has none.
    pub settings: Option<Register>,
    /// Counts what was told.
    pub told: u64,
}

impl Known {
    /// A member's newest beat.
    pub fn beat(&self, member: &Member) -> Option<&Beat> {
        self.beats.get(&member.name)
    }

    /// The same by its number.
    pub fn beat_of(&self, id: MemberId) -> Option<&Beat> {
        self.beat(self.map.as_ref()?.0.numbered(id)?)
    }

    fn hear(&mut self, change: Change) {
        self.told += 1;
        match change {
            Change::All(entries) => {
                *self = Self { told: self.told, ..Self::default() };
                entries.into_iter().for_each(|entry| self.take(entry));
            }
            Change::Written(entry) => self.take(entry),
            Change::Removed { key, .. } if key == MAP => self.map = None,
            Change::Removed { key, .. } if key == STATE => self.state = None,
            Change::Removed { key, .. } if key == SETTINGS => self.settings = None,
            Change::Removed { key, .. } => {
                if let Some(name) = key.strip_prefix("node.") {
                    self.beats.remove(name);
                    self.heard.remove(name);
                }
            }
        }
    }

    fn take(&mut self, entry: Entry) {
        let unreadable =
            |error: String| log::error!("entry of the engine cannot be read: key={} error={error}", entry.key);
        if entry.key == MAP {
            match Map::read(&entry.value) {
                Ok(map) => self.map = Some((map, entry.revision)),
                Err(e) => unreadable(e.to_string()),
            }
        } else if entry.key == STATE {
            match serde_json::from_slice(&entry.value) {
                Ok(state) => self.state = Some((state, entry.revision)),
                Err(e) => unreadable(e.to_string()),
            }
        } else if entry.key == SETTINGS {
            match serde_json::from_slice(&entry.value) {
                Ok(settings) => self.settings = Some(settings),
                Err(e) => unreadable(e.to_string()),
            }
        } else if let Some(name) = entry.key.strip_prefix("node.") {
            self.heard.insert(name.to_owned(), entry.written);
            match serde_json::from_slice(&entry.value) {
                Ok(beat) => _ = self.beats.insert(name.to_owned(), beat),
                Err(e) => unreadable(e.to_string()),
            }
        }
    }
}

/// The thread that listens to the engine; it ends when this is dropped.
pub struct Watcher {
    told: Arc<Told>,
    end: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct Told {
    known: Mutex<Arc<Known>>,
    changed: Condvar,
}

impl Watcher {
    /// Begins to listen.
    ///
    /// # Errors
    /// The engine's; a thread that cannot be started.
    pub fn start(engine: &Engine) -> Result<Self, EngineError> {
        let (watch, told) = (engine.watch()?, Arc::<Told>::default());
        let (end, ended) = bounded::<()>(0);
        let heard = told.clone();
        let listen = move || {
            loop {
                while let Some(change) = watch.next(Duration::ZERO) {
                    Arc::make_mut(&mut lock(&heard.known)).hear(change);
                    heard.changed.notify_all();
                }
                select! {
                    recv(watch.ready()) -> ready => if ready.is_err() { return },
                    recv(ended) -> _ => return,
                }
            }
        };
        let thread = std::thread::Builder::new().name("members".into()).spawn(listen);
        let thread =
            thread.map_err(|e| EngineError::Refused { server: String::new(), why: format!("no thread: {e}") })?;
        Ok(Self { told, end: Some(end), thread: Some(thread) })
    }

    /// What is known now.
    pub fn known(&self) -> Arc<Known> {
        lock(&self.told.known).clone()
    }

    /// Waits until something newer is told than `told`, for so long at most; gives what is known then.
    pub fn newer(&self, told: u64, patience: Duration) -> Arc<Known> {
        let known = lock(&self.told.known);
        let waited = self.told.changed.wait_timeout_while(known, patience, |known| known.told == told);
        waited.unwrap_or_else(PoisonError::into_inner).0.clone()
    }
}

impl Drop for Watcher {
    fn drop(&mut self) {
        self.end = None;
        if self.thread.take().is_some_and(|thread| thread.join().is_err()) {
            log::error!("the thread that listens to the engine panicked");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::engine::Memory;
    use super::*;

    #[test]
    fn the_newest_map_is_known_whoever_wrote_it() {
        let engine: Engine = Arc::new(Memory::new(crate::base::clock::Clock::real()).connect());
        let watcher = Watcher::start(&engine).unwrap();
        let map = Map::first("a", 7).unwrap();
        let revision = engine.write_if(MAP, &map.text(), None).unwrap();
        let mut known = watcher.known();
        while known.map.is_none() {
            known = watcher.newer(known.told, Duration::from_secs(10));
        }
        assert_eq!(known.map, Some((map, revision)));
        engine.write_if(MAP, b"none", Some(revision)).unwrap();
        assert!(known.beats.is_empty());
    }
}
