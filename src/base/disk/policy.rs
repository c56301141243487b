//! What a fault or a shortage leads to. Pure: time and figures are arguments.

use std::time::Duration;

use super::DiskFault;
use crate::base::time::UnixMillis;

/// Wait before the first new try; doubled for each further one.
const FIRST_WAIT: Duration = Duration::from_millis(25);
/// Longest wait between two tries.
const LONGEST_WAIT: Duration = Duration::from_secs(10);
/// Longest wait on a full disk: space may come at any moment, and a look costs little.
const LONGEST_WAIT_FULL: Duration = Duration::from_secs(1);
/// After a write that found no space the crawl goes on only when so much can be written again.
pub const SLACK: u64 = 16 << 20;
/// Free inodes below which the crawl pauses.
const FILES: u64 = 1_000;

/// What is done about a failed write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// Tried again after this time.
    Again(Duration),
    /// The run ends.
    GiveUp,
}

/// Tries in a row that failed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Row {
    /// How many.
    pub tries: u32,
    /// When the first of them failed; a full disk does not count, for it waits as long as it takes.
    pub since: Option<UnixMillis>,
}

impl Row {
    /// One more failure; says what is done about it.
    pub fn fails(&mut self, fault: DiskFault, now: UnixMillis, patience: Duration) -> Next {
        let wait = FIRST_WAIT.saturating_mul(1 << self.tries.min(16));
        self.tries = self.tries.saturating_add(1);
        match fault {
            DiskFault::Full => {
                self.since = None;
                Next::Again(wait.min(LONGEST_WAIT_FULL))
            }
            DiskFault::Damaged => Next::GiveUp,
            DiskFault::Io | DiskFault::ReadOnly | DiskFault::Other => {
                let since = *self.since.get_or_insert(now);
                if now.since(since) >= patience { Next::GiveUp } else { Next::Again(wait.min(LONGEST_WAIT)) }
            }
        }
    }
}

/// What is left on a file system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Room {
    /// Free bytes.
    pub free: u64,
    /// Bytes in all.
    pub total: u64,
    /// Free inodes.
    pub free_files: u64,
    /// Inodes in all; 0 where the file system makes them as needed.
    pub files: u64,
}

/// What must be left for the crawl to run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Need {
    /// Bytes.
    pub bytes: u64,
    /// Inodes.
    pub files: u64,
}

/// Of what there is too little.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "each name says it")]
pub enum Lack {
    Bytes { free: u64, needed: u64 },
    Files { free: u64, needed: u64 },
}

impl Need {
    /// To begin with: `pause_below` bytes and some inodes; nothing when `pause_below` is 0.
    pub fn to_run(room: &Room, pause_below: u64) -> Self {
        let files = if pause_below == 0 { 0 } else { FILES.min(room.files / 4) };
        Self { bytes: pause_below, files }
    }

    /// To go on after a pause: half as much again; after a write that found no space some slack, and the reserve's place.
    pub fn to_go_on(room: &Room, pause_below: u64, was_full: bool, reserve: u64) -> Self {
        let Self { bytes, files } = Self::to_run(room, pause_below);
        let bytes = bytes.saturating_add(bytes / 2);
        let bytes = if was_full { bytes.max(SLACK.min(room.total / 4)) } else { bytes };
        Self { bytes: bytes.saturating_add(reserve), files: files.saturating_add(files / 2) }
    }
}

impl Room {
    /// Of what there is less than needed.
    pub fn lacks(&self, need: &Need) -> Option<Lack> {
        if self.free < need.bytes {
            Some(Lack::Bytes { free: self.free, needed: need.bytes })
        } else if self.files > 0 && self.free_files < need.files {
            Some(Lack::Files { free: self.free_files, needed: need.files })
        } else {
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATIENCE: Duration = Duration::from_secs(600);

    fn at(s: u64) -> UnixMillis {
        UnixMillis(s * 1_000)
    }

    #[test]
    fn a_full_disk_is_tried_for_ever_a_broken_one_until_patience_ends_a_damaged_one_not_at_all() {
        for (fault, day_after) in [
            (DiskFault::Full, Next::Again(LONGEST_WAIT_FULL)),
            (DiskFault::Io, Next::GiveUp),
            (DiskFault::ReadOnly, Next::GiveUp),
            (DiskFault::Other, Next::GiveUp),
            (DiskFault::Damaged, Next::GiveUp),
        ] {
            let mut row = Row::default();
            let first = row.fails(fault, at(0), PATIENCE);
            let wanted = if fault == DiskFault::Damaged { Next::GiveUp } else { Next::Again(FIRST_WAIT) };
            assert_eq!(first, wanted, "{fault:?}");
            (1..20).for_each(|s| {
                row.fails(fault, at(s), PATIENCE);
            });
            assert_eq!(row.fails(fault, at(86_400), PATIENCE), day_after, "{fault:?}");
        }
    }

    #[test]
    fn waits_grow_and_have_an_end() {
        let mut row = Row::default();
        let waits: Vec<_> = (0..20).map(|_| row.fails(DiskFault::Io, at(1), PATIENCE)).collect();
        assert_eq!(waits[..3], [25, 50, 100].map(|ms| Next::Again(Duration::from_millis(ms))));
        assert_eq!(waits[19], Next::Again(LONGEST_WAIT));
    }

    #[test]
    fn the_patience_with_a_broken_disk_is_counted_from_when_it_was_last_only_full() {
        let mut row = Row::default();
        row.fails(DiskFault::Io, at(0), PATIENCE);
        row.fails(DiskFault::Full, at(500), PATIENCE);
        assert!(matches!(row.fails(DiskFault::Io, at(1_000), PATIENCE), Next::Again(_)));
        assert!(matches!(row.fails(DiskFault::Io, at(1_599), PATIENCE), Next::Again(_)));
        assert_eq!(row.fails(DiskFault::Io, at(1_600), PATIENCE), Next::GiveUp);
    }

    #[test]
    fn room_is_judged_by_bytes_and_by_inodes() {
        let room = Room { free: 100, total: 1_000, free_files: 50, files: 400 };
        let lack = |bytes, files| room.lacks(&Need { bytes, files });
        assert_eq!(lack(100, 50), None);
        assert_eq!(lack(101, 51), Some(Lack::Bytes { free: 100, needed: 101 }));
        assert_eq!(lack(100, 51), Some(Lack::Files { free: 50, needed: 51 }));
        let without_a_number = Room { free_files: 0, files: 0, ..room };
        assert_eq!(without_a_number.lacks(&Need { bytes: 1, files: 1_000 }), None);
    }

    #[test]
    fn going_on_takes_more_than_running_does_and_the_reserves_place_after_a_full_disk() {
        let room = Room { free: 0, total: 1 << 40, free_files: 0, files: 1 << 20 };
        assert_eq!(Need::to_run(&room, 1 << 30), Need { bytes: 1 << 30, files: 1_000 });
        assert_eq!(Need::to_go_on(&room, 1 << 30, false, 0), Need { bytes: 3 << 29, files: 1_500 });
        assert_eq!(Need::to_go_on(&room, 1 << 30, true, 64), Need { bytes: (3 << 29) + 64, files: 1_500 });
        assert_eq!(Need::to_run(&room, 0), Need { bytes: 0, files: 0 }, "switched off");
        assert_eq!(Need::to_go_on(&room, 0, true, 64).bytes, SLACK + 64);
        let small = Room { total: 8 << 20, files: 100, ..room };
        assert_eq!(Need::to_go_on(&small, 0, true, 0).bytes, 2 << 20, "a small disk is not asked for more than it has");
        assert_eq!(Need::to_run(&small, 1).files, 25);
    }
}
