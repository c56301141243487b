//! What a watch has to tell: the newest of each key, however slow its reader.

use std::sync::{Arc, Mutex, Weak};
use std::thread;
use std::time::Duration;

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, bounded};

use crate::base::clock::Stopwatch;
use crate::base::sync::lock;

use super::{Answering, Change, Entry};

/// Tells the changes of an engine's entries; ends when it is dropped.
#[derive(Debug)]
pub struct Watch {
    told: Arc<Told>,
    ready: Receiver<()>,
    _end: Option<Answering>,
}

/// The other end of a [`Watch`].
#[derive(Clone, Debug)]
pub(super) struct Teller {
    told: Weak<Told>,
    ready: Sender<()>,
}

#[derive(Debug, Default)]
struct Told(Mutex<Pending>);

/// What was not read yet, at most one of each key.
#[derive(Debug, Default)]
struct Pending {
    /// Everything has to be told first: the changes are all there is.
    anew: bool,
    /// By revision.
    changes: Vec<Change>,
}

/// A watch and its teller.
pub(super) fn watch() -> (Teller, Watch) {
    let told = Arc::new(Told::default());
    let (sender, ready) = bounded(1);
    (Teller { told: Arc::downgrade(&told), ready: sender }, Watch { told, ready, _end: None })
}

impl Watch {
    /// The next change; `None` when there was none for so long.
    pub fn next(&self, patience: Duration) -> Option<Change> {
        let began = Stopwatch::start();
        loop {
            if let Some(change) = lock(&self.told.0).next() {
                return Some(change);
            }
            let left = patience.checked_sub(began.elapsed())?;
            match self.ready.recv_timeout(left) {
                Ok(()) => {}
                Err(RecvTimeoutError::Timeout) => return None,
                // The engine is gone: who asks again and again must not do so without a pause.
                Err(RecvTimeoutError::Disconnected) => {
                    thread::sleep(left);
                    return None;
                }
            }
        }
    }

    /// Does `end` when it is dropped.
    pub(super) fn ended_by(self, end: impl FnOnce() + Send + Sync + 'static) -> Self {
        Self { _end: Some(Answering::until(end)), ..self }
    }

    /// Gives something when there may be a change to be read with [`next`](Self::next), for who waits for other things too.
    pub fn ready(&self) -> &Receiver<()> {
        &self.ready
    }
}

impl Teller {
    /// Tells that all there is are these. False when nobody watches any more.
    pub(super) fn all(&self, entries: Vec<Entry>) -> bool {
        self.tell(|pending| {
            let mut changes: Vec<Change> = entries.into_iter().map(Change::Written).collect();
            changes.sort_by_key(|change| change.revision());
            *pending = Pending { anew: true, changes };
        })
    }

    /// Tells a change. False when nobody watches any more.
    pub(super) fn change(&self, change: Change) -> bool {
        self.tell(|pending| {
            pending.changes.retain(|old| old.key() != change.key());
            if !(pending.anew && matches!(change, Change::Removed { .. })) {
                pending.changes.push(change);
            }
        })
    }

    fn tell(&self, change: impl FnOnce(&mut Pending)) -> bool {
        let Some(told) = self.told.upgrade() else {
            return false;
        };
        change(&mut lock(&told.0));
        // Full: it knows already that there is something.
        let _ = self.ready.try_send(());
        true
    }
}

impl Pending {
    fn next(&mut self) -> Option<Change> {
        if std::mem::take(&mut self.anew) {
            let entry = |change| if let Change::Written(entry) = change { Some(entry) } else { None };
            let mut all: Vec<Entry> = self.changes.drain(..).filter_map(entry).collect();
            all.sort_by(|a, b| a.key.cmp(&b.key));
            return Some(Change::All(all));
        }
        (!self.changes.is_empty()).then(|| self.changes.remove(0))
    }
}

impl Change {
    fn key(&self) -> Option<&str> {
        match self {
            Self::All(_) => None,
            Self::Written(entry) => Some(&entry.key),
            Self::Removed { key, .. } => Some(key),
        }
    }

    fn revision(&self) -> u64 {
        match self {
            Self::All(_) => 0,
            Self::Written(entry) => entry.revision,
            Self::Removed { revision, .. } => *revision,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::time::UnixMillis;

    fn entry(key: &str, revision: u64) -> Entry {
        Entry { key: key.to_owned(), value: vec![], revision, written: UnixMillis(0) }
    }

    fn next(watch: &Watch) -> Option<Change> {
        watch.next(Duration::ZERO)
    }

    #[test]
    fn of_each_key_the_newest_is_told_by_revision() {
        let (teller, watch) = watch();
        for (key, revision) in [("a", 1), ("b", 2), ("a", 3)] {
            assert!(teller.change(Change::Written(entry(key, revision))));
        }
        assert_eq!(next(&watch), Some(Change::Written(entry("b", 2))));
        assert_eq!(next(&watch), Some(Change::Written(entry("a", 3))));
        assert_eq!(next(&watch), None);
    }

    #[test]
    fn everything_again_takes_the_place_of_what_was_not_read() {
        let (teller, watch) = watch();
        teller.change(Change::Written(entry("gone", 1)));
        teller.all(vec![entry("b", 2), entry("a", 3), entry("c", 4)]);
        teller.change(Change::Written(entry("b", 5)));
        teller.change(Change::Removed { key: "c".into(), revision: 6 });
        assert_eq!(next(&watch), Some(Change::All(vec![entry("a", 3), entry("b", 5)])));
        assert_eq!(next(&watch), None);
        teller.change(Change::Removed { key: "a".into(), revision: 7 });
        assert_eq!(next(&watch), Some(Change::Removed { key: "a".into(), revision: 7 }));
    }

    #[test]
    fn who_tells_learns_that_nobody_watches() {
        let (teller, watch) = watch();
        drop(watch);
        assert!(!teller.all(vec![]));
    }
}
