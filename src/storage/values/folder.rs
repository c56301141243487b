//! What is kept of the whole folder: its format, its run and clocks, lengths of its files, settings changed while the crawl ran.

use std::collections::BTreeMap;

use super::ValueError;
use super::wire::{Reader, Wire, fields};
use crate::base::time::{SinceBoot, UnixMillis};

fields! {
    /// Written once, when the folder is made.
    Format {
        /// [`crate::storage::FORMAT_VERSION`] of the program that made it.
        version: u32,
        /// Seed of the hashes that make host and URL keys.
        seed: u64,
    }
}

fields! {
    /// Lengths of the output files as of a commit: what lies beyond is cut off at the next start (I3).
    #[derive(Default)]
    FileLengths {
        /// The open WARC file and its length.
        warc: Option<(String, u64)>,
        /// The open CDXJ file and its length.
        cdxj: Option<(String, u64)>,
        /// The length of `crawl.jsonl`.
        jsonl: u64,
    }
}

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
    /// What the last run made cards and words of pages by, for whoever looks at the folder at rest.
    #[derive(Default)]
    CardSettings {
        /// `index.keywords`.
        keywords: String,
        /// The text of `index.dictionary`; empty without one.
        dictionary: String,
    }
}

fields! {
    /// Settings changed over HTTP, which lie over those of file, environment and flags at every start; and the last changes.
    #[derive(Default)]
    LiveSettings {
        /// Dotted key (`host.PATTERN` for one host's section) to its value as JSON text.
        overlay: BTreeMap<String, String>,
        /// The last changes, oldest first.
        history: Vec<SettingsChange>,
        /// The generation whose rejected URLs are still to be judged again; none when that was done.
        readmit: Option<u32>,
        /// The generation whose waiting URLs are still to be ranked anew; none when that was done.
        rerank: Option<u32>,
        /// The number of the last change that holds for all members of a crawl on several machines; 0 without one.
        register: u64,
    }
}

fields! {
    /// One change of the settings.
    SettingsChange {
        /// The number of the rules it made.
        generation: u32,
        /// When.
        at: UnixMillis,
        /// By whom: `admin` (over HTTP), `admin@NAME` (over HTTP, at that member), `reload` (SIGHUP) or `start` (a flag took it back).
        by: String,
        /// The generation that it took back.
        undoes: Option<u32>,
        /// True once it was taken back itself.
        undone: bool,
        /// What it changed.
        changed: Vec<ChangedKey>,
    }
}

fields! {
    /// One key of a change. Values are JSON text; of a change over HTTP `None` is "as file, environment and flags say".
    #[expect(missing_docs, reason = "each name says it")]
    ChangedKey {
        key: String,
        before: Option<String>,
        after: Option<String>,
    }
}
