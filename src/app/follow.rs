//! What the threads that follow the feed have in common: how they end, rest, die and say how far they are. They hold no permit and no lease:
//! whatever befalls them, the crawl goes on.

use std::cell::Cell;
use std::collections::HashMap;
use std::hash::Hash;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::Ordering;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread::JoinHandle;
use std::time::Duration;

use crate::crawl::node::Node;
use crate::crawl::store::Commit;
use crate::crawl::supervise::panic_text;
use crate::storage::ledger::Change;
use crate::storage::values::Consumer;

/// How often who waits for a commit looks whether the run is over.
const LOOK: Duration = Duration::from_millis(100);
/// Rest after a failure, doubled each time up to the longest.
const FIRST_REST: Duration = Duration::from_secs(1);
const LONGEST_REST: Duration = Duration::from_secs(300);
/// Deaths of one thing that are borne.
pub(super) const BORNE: u32 = 3;
/// Longest rest after a batch while all parsers are busy.
const LONGEST_PAUSE: Duration = Duration::from_secs(1);
/// Of the time, while they are: this part of it at work.
const SHARE: u32 = 4;

/// How one is to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Last {
    /// What it has brought to an end is enough.
    Now,
    /// All that is shown comes first.
    CaughtUp,
}

/// A thread that follows. Dropped, it is left to itself: another run goes on where it was.
pub(super) struct Follower {
    name: String,
    end: mpsc::Sender<Last>,
    thread: JoinHandle<()>,
}

impl Follower {
    /// Starts it.
    ///
    /// # Errors
    /// A thread that cannot be started.
    pub fn start(name: &str, work: impl FnOnce(&Ending) + Send + 'static) -> io::Result<Self> {
        let (end, told) = mpsc::channel();
        let ending = move || Ending { told, last: Cell::new(None) };
        let thread = std::thread::Builder::new().name(name.into()).spawn(move || work(&ending()))?;
        Ok(Self { name: name.to_owned(), end, thread })
    }

    /// Tells it to end.
    pub fn tell(&self, last: Last) {
        let _ = self.end.send(last);
    }

    /// Waits for its end.
    pub fn join(self) {
        if self.thread.join().is_err() {
            log::error!("a thread that follows the feed panicked; another run does what is left: thread={}", self.name);
        }
    }
}

/// Whether one is to end.
pub(super) struct Ending {
    told: Receiver<Last>,
    last: Cell<Option<Last>>,
}

impl Ending {
    /// Waits so long, or until it is told to end; how, once it was told.
    pub fn wait(&self, so_long: Duration) -> Option<Last> {
        if self.last.get().is_none() {
            match self.told.recv_timeout(so_long) {
                Ok(last) => self.last.set(Some(last)),
                Err(RecvTimeoutError::Disconnected) => self.last.set(Some(Last::Now)),
                Err(RecvTimeoutError::Timeout) => {}
            }
        }
        self.last.get()
    }

    /// How it is to end, once it was told.
    pub fn told(&self) -> Option<Last> {
        self.wait(Duration::ZERO)
    }
}

/// Rests after failures in a row.
pub(super) struct Rest(Duration);

impl Default for Rest {
    fn default() -> Self {
        Self(FIRST_REST)
    }
}

impl Rest {
    /// How long the next one is.
    pub fn next(&self) -> Duration {
        self.0
    }

    /// That long; the one after it is longer.
    pub fn take(&mut self) -> Duration {
        let longer = (self.0 * 2).min(LONGEST_REST);
        std::mem::replace(&mut self.0, longer)
    }
}

/// How often each thing that was in hand ended a life.
pub(super) struct Deaths<K>(HashMap<K, u32>);

impl<K> Default for Deaths<K> {
    fn default() -> Self {
        Self(HashMap::new())
    }
}

impl<K: Eq + Hash> Deaths<K> {
    /// One more; whether it is the last that is borne.
    pub fn note(&mut self, of: K) -> bool {
        let deaths = self.0.entry(of).or_default();
        *deaths += 1;
        *deaths == BORNE
    }

    /// No more of it is borne.
    pub fn is_over(&self, of: &K) -> bool {
        self.0.get(of).is_some_and(|deaths| *deaths >= BORNE)
    }
}

/// One life; what it panicked with, if it did.
pub(super) fn lived<T>(life: impl FnOnce() -> T) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(life)).map_err(|panic| format!("panic: {}", panic_text(&*panic)))
}

/// Says how far it is, so that what it has not read is kept for it. Nobody waits for the answer: what is lost is said again.
pub(super) fn acknowledge_as(node: &Node, name: &str, after: u64) {
    let consumer = Consumer { name: name.into(), after, hold: true, at: node.clock.date() };
    node.mailboxes().store.tell(Commit::bare(Change::Consumer { name: name.into(), at: Some(consumer) }));
}

/// Waits until what was handed in is committed; false when it was lost, or the run is over.
pub(super) fn committed(told: &Receiver<()>, ending: &Ending) -> bool {
    loop {
        match told.recv_timeout(LOOK) {
            Ok(()) => return true,
            Err(RecvTimeoutError::Disconnected) => return false,
            Err(RecvTimeoutError::Timeout) if ending.told().is_some() => return false,
            Err(RecvTimeoutError::Timeout) => {}
        }
    }
}

/// Nothing is kept for it any more.
#[cfg(feature = "search")]
pub(super) fn forget_as(node: &Node, name: &str) {
    node.mailboxes().store.tell(Commit::bare(Change::Consumer { name: name.into(), at: None }));
}

/// Rests after some work, when the parsers need the processor.
pub(super) fn give_way(node: &Node, ending: &Ending, worked: Duration) {
    let busy = node.permits.parsing.load(Ordering::Relaxed) >= node.crawl.rules.settings.parse_threads() as u64;
    if busy {
        ending.wait(worked.saturating_mul(SHARE - 1).min(LONGEST_PAUSE));
    }
}
