//! What a node knows of its disks: a registry, so that no actor's death forgets it. While something is wrong, nothing new is
//! begun.

use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::DiskFault;
use super::policy::{Lack, Next, Row};
use crate::base::sync::lock;
use crate::base::time::UnixMillis;
use crate::base::units::human_size;

/// A folder whose file system has too little left.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shortage {
    /// The folder.
    pub path: PathBuf,
    /// Of what.
    pub lack: Lack,
}

impl std::fmt::Display for Shortage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let path = self.path.display();
        match self.lack {
            Lack::Bytes { free, needed } => {
                let (free_size, needed_size) = (human_size(free), human_size(needed));
                write!(
                    f,
                    "the disk of {path} is low on space: {free_size} free ({free} bytes), {needed_size} needed ({needed} bytes)"
                )
            }
            Lack::Files { free, needed } => {
                write!(f, "the disk of {path} is low on inodes: {free} free, {needed} needed")
            }
        }
    }
}

impl Shortage {
    /// For a log line.
    pub fn fields(&self) -> String {
        let (unit, free, needed) = match self.lack {
            Lack::Bytes { free, needed } => ("bytes", free, needed),
            Lack::Files { free, needed } => ("inodes", free, needed),
        };
        format!("folder={} free_{unit}={free} needed_{unit}={needed}", self.path.display())
    }
}

/// See the module's text.
#[derive(Debug, Default)]
pub struct DiskState {
    inner: Mutex<Inner>,
    holds: AtomicBool,
}

#[derive(Debug, Default)]
struct Inner {
    /// By the last look.
    low: Option<Shortage>,
    /// A write found no space, and there was no room since.
    full: Option<String>,
    /// The Store's files are closed; why.
    store: Option<String>,
    row: Row,
    /// Spill files cannot be written, since when and why.
    spill: Option<(UnixMillis, String)>,
}

impl DiskState {
    /// True while nothing new may be begun.
    pub fn holds(&self) -> bool {
        self.holds.load(Ordering::Acquire)
    }

    fn change<T>(&self, change: impl FnOnce(&mut Inner) -> T) -> T {
        let mut inner = lock(&self.inner);
        let out = change(&mut inner);
        self.holds.store(inner.low() || inner.broken(), Ordering::Release);
        out
    }

    /// A write of the Store failed, or a try to go on; says what is done.
    pub fn store_failed(&self, fault: DiskFault, error: &str, now: UnixMillis, patience: Duration) -> Next {
        self.change(|inner| {
            inner.store = Some(error.to_owned());
            if fault == DiskFault::Full {
                inner.full = Some(error.to_owned());
            }
            inner.row.fails(fault, now, patience)
        })
    }

    /// The Store's files are open again; gives how many tries that took, if they were not.
    pub fn store_mended(&self) -> Option<u32> {
        self.change(|inner| inner.store.take().map(|_| inner.row.tries))
    }

    /// Something was written and synced: the next failure is a first one.
    pub fn store_sound(&self) {
        self.change(|inner| inner.row = Row::default());
    }

    /// A spill file could not be written; true when that is news.
    pub fn spill_failed(&self, fault: DiskFault, error: &str, now: UnixMillis) -> bool {
        self.change(|inner| {
            let news = inner.full.is_none() && inner.spill.is_none();
            match fault {
                DiskFault::Full => inner.full = Some(error.to_owned()),
                _ => {
                    inner.spill.get_or_insert_with(|| (now, error.to_owned()));
                }
            }
            news
        })
    }

    /// Since when spill files cannot be written.
    pub fn spill_since(&self) -> Option<UnixMillis> {
        lock(&self.inner).spill.as_ref().map(|(since, _)| *since)
    }

    /// Spill files can be written again.
    pub fn spill_works(&self) {
        self.change(|inner| inner.spill = None);
    }

    /// What the last look at the file systems found.
    pub fn set_low(&self, low: Shortage) {
        self.change(|inner| inner.low = Some(low));
    }

    /// There is room again.
    pub fn has_room(&self) {
        self.change(|inner| (inner.low, inner.full) = (None, None));
    }

    /// True when space is lacking, by a look or by a write that found none.
    pub fn is_low(&self) -> bool {
        lock(&self.inner).low()
    }

    /// True when a write found no space since there was room.
    pub fn was_full(&self) -> bool {
        lock(&self.inner).full.is_some()
    }

    /// True while files cannot be written for another reason than space, or are not yet open again.
    pub fn is_broken(&self) -> bool {
        lock(&self.inner).broken()
    }

    /// Why nothing new is begun, for people.
    pub fn why(&self) -> Option<String> {
        let inner = lock(&self.inner);
        if let Some(low) = &inner.low {
            return Some(format!("{low}; it goes on by itself when there is more"));
        }
        if let Some(error) = &inner.full {
            return Some(format!("a write found no space ({error}); it goes on by itself when there is more"));
        }
        let error = inner.store.as_ref().or(inner.spill.as_ref().map(|(_, error)| error))?;
        let tries = inner.row.tries;
        Some(format!(
            "the disk refuses writes ({error}); it is tried again and goes on by itself, tries so far: {tries}"
        ))
    }
}

impl Inner {
    fn low(&self) -> bool {
        self.low.is_some() || self.full.is_some()
    }

    fn broken(&self) -> bool {
        self.store.is_some() || self.spill.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATIENCE: Duration = Duration::from_secs(60);

    #[test]
    fn a_full_disk_holds_until_there_is_room_and_the_files_are_open() {
        for room_first in [true, false] {
            let disk = DiskState::default();
            assert!(!disk.holds() && disk.why().is_none());
            disk.store_failed(DiskFault::Full, "no space", UnixMillis(1), PATIENCE);
            assert!(disk.holds() && disk.is_low() && disk.is_broken());
            let steps: [&dyn Fn(); 2] = [&|| disk.has_room(), &|| assert!(disk.store_mended().is_some())];
            steps[usize::from(!room_first)]();
            assert!(disk.holds(), "one of two is not enough");
            steps[usize::from(room_first)]();
            assert!(!disk.holds() && disk.why().is_none());
        }
    }

    #[test]
    fn mending_alone_does_not_begin_a_new_row_of_tries() {
        let disk = DiskState::default();
        let fail = |s: u64| disk.store_failed(DiskFault::Io, "EIO", UnixMillis(s * 1_000), PATIENCE);
        fail(0);
        assert_eq!(disk.store_mended(), Some(1));
        assert_eq!(disk.store_mended(), None);
        assert_eq!(fail(60), Next::GiveUp);
        disk.store_sound();
        assert!(matches!(fail(120), Next::Again(_)));
    }

    #[test]
    fn the_reason_names_path_free_and_needed() {
        let disk = DiskState::default();
        disk.set_low(Shortage { path: "/data".into(), lack: Lack::Bytes { free: 5 << 20, needed: 6 << 20 } });
        let why = disk.why().unwrap();
        assert!(why.contains("/data") && why.contains("5242880 bytes") && why.contains("6.0 MiB needed"), "{why}");
        disk.set_low(Shortage { path: "/warc".into(), lack: Lack::Files { free: 3, needed: 1_500 } });
        assert!(disk.why().unwrap().contains("/warc is low on inodes: 3 free, 1500 needed"));
    }

    #[test]
    fn spill_files_that_cannot_be_written_are_news_once() {
        let disk = DiskState::default();
        assert!(disk.spill_failed(DiskFault::Io, "EIO", UnixMillis(1)));
        assert!(!disk.spill_failed(DiskFault::Io, "EIO", UnixMillis(9)));
        assert_eq!(disk.spill_since(), Some(UnixMillis(1)));
        assert!(disk.holds());
        disk.spill_works();
        assert!(!disk.holds());
        assert!(disk.spill_failed(DiskFault::Full, "ENOSPC", UnixMillis(10)) && disk.was_full());
    }
}
