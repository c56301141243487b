//! The state of the run, and of its clocks.

use super::ValueError;
use super::wire::{Reader, Wire, fields};
use crate::base::time::{SinceBoot, UnixMillis};

fields! {
    /// What the clocks said at the last commit: where the next run goes on.
    ClockState {
        /// The crawl's time.
        crawl: UnixMillis,
        /// The date.
        date: UnixMillis,
        /// What the machine had counted since it booted.
        boot: Option<SinceBoot>,
    }
}

impl Wire for SinceBoot {
    fn put(&self, out: &mut Vec<u8>) {
        self.boot.to_be_bytes().put(out);
        self.ms.put(out);
    }

    fn read(from: &mut Reader<'_>) -> Result<Self, ValueError> {
        Ok(Self { boot: u64::from_be_bytes(Wire::read(from)?), ms: u64::read(from)? })
    }
}

fields! {
    /// Whether the folder was left in order, and by whom.
    RunState {
        /// True when the last run drained and stopped; false while one runs.
        clean: bool,
        /// When that run began.
        started: UnixMillis,
        /// The name of its node.
        node: String,
        /// Runs so far, that one included.
        runs: u32,
        /// Generation of the scope and filter rules in force; a change of the rules makes a new one.
        rules: u32,
        /// Digest of those rules, to notice a change.
        rules_digest: [u8; 16],
        /// By when the run before this one had surely ended: its clean stop, or the start that noticed an unclean one.
        /// What its last requests said to a host's pace may not be stored, so that gaps are counted from here (I1).
        last_stop: Option<UnixMillis>,
    }
}
