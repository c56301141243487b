//! What a check found: counts, a few examples of each, what was changed.

use std::collections::BTreeMap;

use serde::Serialize;

use super::fault::{Fault, Note};

/// Examples kept of each kind.
pub const EXAMPLES: usize = 5;

/// Things of one kind.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Told {
    /// How many.
    pub count: u64,
    /// The first few, each with its URL in clear where it is known.
    pub examples: Vec<String>,
}

impl Told {
    fn add(&mut self, count: u64, example: impl FnOnce() -> String) {
        self.count = self.count.saturating_add(count);
        if self.examples.len() < EXAMPLES {
            self.examples.push(example());
        }
    }
}

/// Archive files and lines looked at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct FilesRead {
    /// WARC files here.
    pub warcs: u64,
    /// WARC files kept elsewhere.
    pub elsewhere: u64,
    /// Records read from them (`--full`).
    pub records: u64,
    /// Index lines.
    pub index_lines: u64,
    /// Lines of `crawl.jsonl`.
    pub lines: u64,
}

/// The outcome of a check.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Records read, by family.
    pub records: BTreeMap<&'static str, u64>,
    /// The archive; `None` when only a database was checked.
    pub files: Option<FilesRead>,
    /// What is wrong, after a repair what is left.
    pub findings: BTreeMap<Fault, Told>,
    /// What is worth telling.
    pub notes: BTreeMap<Note, Told>,
    /// What a repair mended.
    pub repaired: BTreeMap<Fault, Told>,
    /// URLs whose mark a repair dropped, because their text was nowhere to be found.
    pub dropped: u64,
    /// Times the folder was gone through: 1 without repair.
    pub rounds: u32,
}

impl Report {
    /// True when nothing is wrong (any more).
    #[must_use]
    pub fn is_clean(&self) -> bool {
        self.findings.is_empty()
    }

    /// How often a fault was found.
    #[must_use]
    pub fn count(&self, fault: Fault) -> u64 {
        self.findings.get(&fault).map_or(0, |t| t.count)
    }

    /// All findings together.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.findings.values().map(|t| t.count).fold(0, u64::saturating_add)
    }

    /// URLs known.
    #[must_use]
    pub fn urls(&self) -> u64 {
        self.records.get("seen").copied().unwrap_or(0)
    }

    pub(super) fn find(&mut self, fault: Fault, example: impl FnOnce() -> String) {
        self.findings.entry(fault).or_default().add(1, example);
    }

    pub(super) fn mended(&mut self, fault: Fault, example: impl FnOnce() -> String) {
        self.repaired.entry(fault).or_default().add(1, example);
    }

    pub(super) fn note(&mut self, note: Note, example: impl FnOnce() -> String) {
        self.notes.entry(note).or_default().add(1, example);
    }

    /// Begins a round anew; what was repaired is remembered.
    pub(super) fn again(&mut self) {
        let Self { repaired, dropped, rounds, files, .. } = std::mem::take(self);
        *self = Self {
            repaired,
            dropped,
            rounds: rounds + 1,
            files: files.map(|_| FilesRead::default()),
            ..Self::default()
        };
    }
}
