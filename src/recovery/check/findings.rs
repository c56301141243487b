//! The book of a check: what was found, and, in a repair, the changes, written in bounded batches.

use super::error::Result;
use super::fault::{Fault, Note};
use super::report::Report;
use crate::domain::fingerprint::CrawlId;
use crate::domain::rank::{Place, Ranker};
use crate::storage::values::Counters;
use crate::storage::{Batch, Family, Storage, read};

/// A batch is written when it has so many changes or bytes.
const BATCH_OPS: usize = 512;
const BATCH_BYTES: usize = 1 << 20;
/// Numbers taken from the counters at a time.
const RESERVE: u64 = 4096;

/// What a check says while it goes on.
#[derive(Debug)]
pub enum Event<'a> {
    /// Records of a family, or lines, were read: so many so far in this round.
    Read {
        /// What.
        what: &'static str,
        /// How many.
        count: u64,
    },
    /// A repair mended something.
    Mended {
        /// What was wrong.
        fault: Fault,
        /// Where, in clear where that is known.
        subject: &'a str,
        /// What exactly.
        detail: &'a str,
    },
    /// A URL whose text was nowhere to be found was forgotten.
    Dropped {
        /// Its key.
        key: &'a str,
    },
}

/// Found, changed, told.
pub struct Findings<'a> {
    pub storage: &'a dyn Storage,
    pub report: Report,
    repairing: bool,
    tell: &'a mut dyn FnMut(Event<'_>),
    pending: Batch,
    /// Changes made in this round.
    pub changes: u64,
    numbers: Numbers,
}

/// Numbers for new places in queues: never one that was given out before.
#[derive(Default)]
struct Numbers {
    next: u64,
    reserved: u64,
}

impl<'a> Findings<'a> {
    pub fn new(storage: &'a dyn Storage, repairing: bool, tell: &'a mut dyn FnMut(Event<'_>)) -> Self {
        Self {
            storage,
            report: Report::default(),
            repairing,
            tell,
            pending: Batch::new(),
            changes: 0,
            numbers: Numbers::default(),
        }
    }

    pub fn repairing(&self) -> bool {
        self.repairing
    }

    /// Notes a finding; a repair makes the changes that `mend` puts into the batch.
    pub fn find(&mut self, fault: Fault, subject: &str, detail: &str, mend: impl FnOnce(&mut Batch)) -> Result<()> {
        self.report.find(fault, || format!("{subject}: {detail}"));
        if self.repairing { self.mend(fault, subject, detail, mend) } else { Ok(()) }
    }

    /// Makes the changes that `mend` puts into the batch, and tells of them when there are any.
    pub fn mend(&mut self, fault: Fault, subject: &str, detail: &str, mend: impl FnOnce(&mut Batch)) -> Result<()> {
        let before = self.pending.len();
        mend(&mut self.pending);
        if self.pending.len() == before {
            return Ok(()); // its repair comes later, or hangs on another's
        }
        self.mended(fault, subject, detail);
        if self.pending.len() >= BATCH_OPS || self.pending.bytes() >= BATCH_BYTES { self.flush() } else { Ok(()) }
    }

    /// Something was mended in another way than by [`Findings::find`].
    pub fn mended(&mut self, fault: Fault, subject: &str, detail: &str) {
        self.changes += 1;
        self.report.mended(fault, || format!("{subject}: {detail}"));
        (self.tell)(Event::Mended { fault, subject, detail });
    }

    /// A mark was dropped.
    pub fn dropped(&mut self, key: &str) {
        self.report.dropped += 1;
        (self.tell)(Event::Dropped { key });
    }

    pub fn note(&mut self, note: Note, example: impl FnOnce() -> String) {
        self.report.note(note, example);
    }

    /// Records were read.
    pub fn read(&mut self, family: Family, n: u64) {
        let count = self.report.records.entry(family.name()).or_default();
        *count += n;
        let count = *count;
        self.progress(family.name(), count);
    }

    pub fn progress(&mut self, what: &'static str, count: u64) {
        (self.tell)(Event::Read { what, count });
    }

    /// Writes what is pending.
    pub fn flush(&mut self) -> Result<()> {
        if !self.pending.is_empty() {
            self.storage.write(&self.pending)?;
            self.pending.clear();
        }
        Ok(())
    }

    /// Numbers are given out from here on: above every one in use.
    pub fn numbers_from(&mut self, next: u64) {
        self.numbers = Numbers { next, reserved: next };
    }

    /// A new place in a queue. Its number is reserved on disk before anything can be written that uses it.
    pub fn place(&mut self, ranker: &Ranker, depth: u16) -> Result<Place> {
        let number = self.number()?;
        Ok(ranker.place(depth, None, number))
    }

    /// A new place in `waiting`.
    pub fn host_order(&mut self, ranker: &Ranker) -> Result<u64> {
        let number = self.number()?;
        Ok(ranker.host_order(number))
    }

    fn number(&mut self) -> Result<u64> {
        let number = self.numbers.next;
        self.numbers.next += 1;
        if self.repairing && self.numbers.next > self.numbers.reserved {
            self.numbers.reserved = self.numbers.next + RESERVE;
            let counters = read::meta::<Counters>(self.storage, CrawlId::default()).ok().flatten().unwrap_or_default();
            let mut batch = Batch::new();
            batch.put_meta(CrawlId::default(), &Counters { next_seq: self.numbers.reserved, ..counters });
            self.storage.write(&batch)?;
        }
        Ok(number)
    }
}
