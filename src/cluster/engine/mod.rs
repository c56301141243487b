//! The engine: what members of a crawl on several machines keep in common and say to each other through (ADR 39).
//!
//! [`Engine`] is five calls: [`read`](Engine::read), [`write_if`](Engine::write_if), [`watch`](Engine::watch),
//! [`ask`](Engine::ask), [`answer`](Engine::answer); the rest of it are their kin and its own state. Two implementations, one list of
//! tests for both ([`contract`]):
//!
//! | | |
//! |---|---|
//! | [`Nats`] | NATS JetStream, one server or three |
//! | [`Memory`] | one process; can be told to be away, emptied, slow, to lose its answers: for simulations and tests of whole nodes |
//!
//! # What may be relied on
//! - A write that was answered is seen by every read that begins afterwards, through whichever connection.
//! - Of two writes on one revision one at most succeeds. Revisions rise, those of different keys too, and none comes again:
//!   not even when the engine has lost everything and began anew. So a write on what an emptied engine had is a
//!   [`Conflict`](EngineError::Conflict).
//! - A watch tells the newest state of every key in the end, not each state between, in the order of revisions. After the
//!   engine was away, or emptied, it tells everything again ([`Change::All`]).
//! - What is answered [`Away`](EngineError::Away) **may have been done**, at once or later: a write until the next one of that
//!   key succeeds. Read before you write again.
//! - An ask may be answered twice or be done though it was too late; whoever answers must bear that.
//!
//! # What may not
//! - That anything is kept. An engine may come back empty: `read` gives `None`, a watch an [`All`](Change::All) of what is there
//!   now, and [`EngineState::life`] is another. It is of use at once; whoever has the newest copies puts them back.
//! - That a watch is as new as a read.
//! - That a read is the newest while servers are cut off from each other: one that led may for some seconds answer with what it
//!   had. A write on that revision is a conflict, or away; so nothing may be concluded from a read alone that a write has not proved.
//!
//! All calls block and may be made from any thread. `ask` ends within its patience, the others within [`PATIENCE`].

#[cfg(any(test, feature = "faults"))]
pub mod contract;
mod desk;
mod error;
mod memory;
mod nats;
mod watch;

use std::sync::Arc;
use std::time::Duration;

pub use desk::{ANSWERERS, Answering, Handler};
pub use error::EngineError;
pub use memory::{Line, Memory};
pub use nats::{Nats, NatsOptions};
pub use watch::Watch;

use crate::base::time::UnixMillis;

/// Longest value: bytes.
pub const VALUE_CAP: usize = 512 << 10;
/// Longest request and longest answer: bytes. NATS servers take messages of 1 MiB by default, heads included.
pub const MESSAGE_CAP: usize = 1_000_000;
/// Every call but [`ask`](Engine::ask) ends within this.
pub const PATIENCE: Duration = Duration::from_secs(10);
/// Most keys, those removed included.
pub const KEYS: usize = 1_024;
/// Longest key and longest subject: bytes.
const NAME_CAP: usize = 128;

/// What a key holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Its key.
    pub key: String,
    /// At most [`VALUE_CAP`] bytes.
    pub value: Vec<u8>,
    /// Raised by every write of whichever key.
    pub revision: u64,
    /// When it was written, by the engine's clock.
    pub written: UnixMillis,
}

/// What a [`Watch`] tells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// All there is now, by key: what was told before and is not in it is gone. The first of a watch, and again after the engine
    /// was away or emptied.
    All(Vec<Entry>),
    /// A key was written.
    Written(Entry),
    /// A key was removed.
    Removed {
        /// Its key.
        key: String,
        /// The revision of its removal.
        revision: u64,
    },
}

/// How it stands with an engine.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EngineState {
    /// Whether the engine is reached and fit for use.
    pub connected: bool,
    /// Since when it is so, in the crawl's time; of an engine never reached since it was first tried.
    pub since: UnixMillis,
    /// Where it is or was reached: `host:port`, and its version.
    pub server: Option<String>,
    /// Why it is away, or was last, with what to do.
    pub why: Option<String>,
    /// What its clock says against ours, as last measured.
    pub clock: Option<ClockGap>,
    /// When the entries began to be kept, by the engine's clock: another after it was emptied.
    pub life: Option<UnixMillis>,
}

/// The engine's clock against the date of this machine. Of several servers it is that of the one that leads, and may be another's
/// later.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClockGap {
    /// Milliseconds that the engine's is ahead; less than zero when it is behind.
    pub ahead: i64,
    /// It may be so much more or less: half of the time that asking it took.
    pub within: u64,
}

/// Entries under CAS, and requests with answers.
pub trait Engine: Send + Sync {
    /// The newest state of `key`, from whoever decides on writes; `None` when there is no such entry.
    ///
    /// # Errors
    /// [`EngineError::Away`], [`Refused`](EngineError::Refused), [`Name`](EngineError::Name).
    fn read(&self, key: &str) -> Result<Option<Entry>, EngineError>;

    /// All entries by key, each as new as a read of it.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    fn all(&self) -> Result<Vec<Entry>, EngineError>;

    /// Writes `key` if its revision is still `revision`; `None`: if there is no such entry. Gives the new revision.
    ///
    /// # Errors
    /// [`EngineError::Conflict`]: another has written, nothing was done. [`Away`](EngineError::Away): **it may have been done.**
    /// [`TooLarge`](EngineError::TooLarge), [`Refused`](EngineError::Refused), [`Name`](EngineError::Name): nothing was done.
    fn write_if(&self, key: &str, value: &[u8], revision: Option<u64>) -> Result<u64, EngineError>;

    /// Removes `key` if its revision is still `revision`. Gives the revision of the removal, which counts as a write.
    ///
    /// # Errors
    /// As [`write_if`](Self::write_if); a key that is not there is a [`Conflict`](EngineError::Conflict).
    fn remove_if(&self, key: &str, revision: u64) -> Result<u64, EngineError>;

    /// All entries now and each change from then on, until the [`Watch`] is dropped. It holds the newest of each key, however
    /// slow its reader. Of an engine that is away it is given all the same, and begins when that is back.
    ///
    /// # Errors
    /// [`EngineError::Refused`] when there are too many.
    fn watch(&self) -> Result<Watch, EngineError>;

    /// Asks whoever answers to `subject`, and waits for `patience` at most. Only one of several is asked.
    ///
    /// # Errors
    /// [`EngineError::NoOne`] answers to that; [`Late`](EngineError::Late), [`Away`](EngineError::Away): it may have been heard;
    /// [`Busy`](EngineError::Busy), [`Failed`](EngineError::Failed) at the other end; [`TooLarge`](EngineError::TooLarge) here or
    /// there; [`Name`](EngineError::Name).
    fn ask(&self, subject: &str, request: &[u8], patience: Duration) -> Result<Vec<u8>, EngineError>;

    /// Answers to `subject` with `handler`, on [`ANSWERERS`] threads of its own, until the [`Answering`] is dropped. Who asks while
    /// all are at work, and as many wait again, is told that they are busy.
    ///
    /// # Errors
    /// [`EngineError::Name`]; [`Refused`](EngineError::Refused) when no thread can be had. Of an engine that is away it begins when
    /// that is back.
    fn answer(&self, subject: &str, handler: Handler) -> Result<Answering, EngineError>;

    /// How it stands with the engine, as last seen: asks nobody.
    fn state(&self) -> EngineState;
}

/// An engine shared by threads.
pub type Shared = Arc<dyn Engine>;

/// Takes what may stand as a key or subject: words of letters, digits, `-` and `_`, joined by dots.
fn named(name: &str) -> Result<&str, EngineError> {
    let word =
        |word: &str| !word.is_empty() && word.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_'));
    if name.len() <= NAME_CAP && name.split('.').all(word) {
        return Ok(name);
    }
    Err(EngineError::Name { name: name.chars().take(NAME_CAP).collect() })
}

/// Refuses what is longer than `cap`.
fn fits(what: &'static str, bytes: usize, cap: usize) -> Result<(), EngineError> {
    if bytes > cap { Err(EngineError::TooLarge { what, bytes, cap }) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_words_joined_by_dots() {
        for name in ["map", "node.n1", "a-b_C.9"] {
            assert_eq!(named(name), Ok(name));
        }
        for name in ["", ".", "a.", ".a", "a..b", "a b", "a.*", ">", "é", "$KV", "a/b", &"a".repeat(129)] {
            assert!(matches!(named(name), Err(EngineError::Name { .. })), "{name:?}");
        }
    }
}
