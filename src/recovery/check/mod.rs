//! Checks a data folder at rest, and repairs it (`lycosa check`).
//!
//! | file | concept |
//! |---|---|
//! | `report` | what can be wrong: names, invariants, repairs; what was found |
//! | `judge` | pure: whether records fit together; recounts |
//! | `pass`, `stream` | what every pass works with: findings, changes in bounded batches, records in key order |
//! | `hosts`, `urls`, `queue` | the pass over all hosts: states, captures, rejections, queues, counts, rows |
//! | `meta` | `meta`, robots.txt, contents, seeds, sitemaps, better ways that wait |
//! | `near` | near-duplicates: leaders, members |
//! | `files`, `archive` | WARC and CDXJ |
//! | `parts` | what is another member's, and links that members have for each other |
//! | `credit` | accounts, purses and notes of link credit, recounted to the unit |
//! | `feed` | entries of the feed, finished pages that have none |
//! | `derived` | what is made of the feed |
//! | `lines` | `crawl.jsonl`: its lines, those not yet safe, captures without one |
//! | `lost` | URLs known by their key only, looked for in every text there is |
//!
//! Memory does not grow with the number of URLs: families are merged in key order, looked up in sorted batches, and counted
//! host by host; keys of lines and of the feed are sorted in temporary files. Held are: the lines of one index, the list of WARC files, the pages listed as not yet safe, and in a repair
//! up to 500,000 keys of URLs that are looked for.
//!
//! A repair goes through the folder again and again, mending what it finds, until a round finds nothing: so it is
//! idempotent, and one that is killed is gone on with by the next.

mod archive;
mod credit;
mod derived;
pub(in crate::recovery) mod feed;
mod files;
mod hosts;
pub(in crate::recovery) mod judge;
mod lines;
mod lost;
mod meta;
mod near;
mod parts;
mod pass;
mod queue;
mod report;
mod stream;
mod urls;
mod visits;

use std::io;
use std::path::{Path, PathBuf};

use crate::domain::fingerprint::CrawlId;
use crate::domain::rank::Ranker;
use crate::domain::url::Canonicaliser;
use crate::storage::tables::{Queue, Waiting};
use crate::storage::values::Counters;
use crate::storage::{Storage, StorageError, read};

pub use derived::Derived;
pub use files::ArchivePlace;
use files::Files;
use judge::Totals;
#[cfg(feature = "rocksdb")]
pub(in crate::recovery) use lines::line_of;
#[cfg(feature = "rocksdb")]
pub(in crate::recovery) use near::of_no_group;
pub use pass::Event;
use pass::Pass;
pub use report::{Fault, FilesRead, Note, Report, Told};
use stream::each;

/// Rounds of a repair at most.
const ROUNDS: u32 = 20;

/// What is to be checked.
#[derive(Clone, Debug)]
pub struct Check {
    /// The rules of the crawl.
    pub rules: CheckRules,
    /// The archive beside the database; `None` checks the database alone.
    pub archive: Option<ArchivePlace>,
    /// What was made of the feed.
    pub derived: Vec<Derived>,
    /// Read every record of the archive.
    pub full: bool,
}

/// The rules a folder is checked by; a repair needs all of them, a check the first only.
#[derive(Clone, Debug)]
pub struct CheckRules {
    /// True when rejected URLs are kept in full (`scope.record_rejected`).
    pub record_rejected: bool,
    /// Places for URLs that are queued again.
    pub ranker: Ranker,
    /// Canonical form of links found in the archive.
    pub canon: Canonicaliser,
}

/// Why a check ended early. What it finds wrong is no error.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "each message says what its fields are")]
#[non_exhaustive]
pub enum CheckError {
    #[error(transparent)]
    Storage(#[from] StorageError),
    /// A file could not be read or written.
    #[error("could not {doing} {path}: {source}; mend the disk or the permissions, then check again")]
    Io { doing: &'static str, path: PathBuf, source: io::Error },
    /// The database has no format record: without its seed no key can be compared with its URL.
    #[error(
        "the database has no readable record of its format and seed; restore the folder from a checkpoint or a copy"
    )]
    NoFormat,
    /// A repair that does not come to its end.
    #[error("the repair still changes things after {rounds} rounds; this is a fault of the program, please report it")]
    Restless { rounds: u32 },
}

impl CheckError {
    fn io(doing: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self + use<> {
        let path = path.to_owned();
        move |source| Self::Io { doing, path, source }
    }
}

type Result<T> = std::result::Result<T, CheckError>;

impl Check {
    /// Checks; changes nothing.
    ///
    /// # Errors
    /// [`CheckError`] when something cannot be read. What is found wrong is in the report.
    pub fn check(&self, storage: &dyn Storage, tell: &mut dyn FnMut(Event<'_>)) -> Result<Report> {
        let mut pass = Pass::new(self, storage, false, tell)?;
        self.round(&mut pass)?;
        Ok(pass.report)
    }

    /// Checks and mends until nothing is found; the report is that of the last round.
    ///
    /// # Errors
    /// As [`Check::check`]; what was mended until then stays so.
    pub fn repair(&self, storage: &dyn Storage, tell: &mut dyn FnMut(Event<'_>)) -> Result<Report> {
        let mut pass = Pass::new(self, storage, true, tell)?;
        let first_free = first_free_number(&mut pass)?;
        pass.numbers_from(first_free);
        for _ in 0..ROUNDS {
            pass.changes = 0;
            self.round(&mut pass)?;
            if pass.changes == 0 {
                storage.sync()?;
                return Ok(pass.report);
            }
        }
        Err(CheckError::Restless { rounds: ROUNDS })
    }

    /// Goes through everything once.
    fn round(&self, pass: &mut Pass<'_>) -> Result<()> {
        pass.report.again();
        meta::meta(pass)?;
        pass.totals = Totals::like(&stored_counters(pass.storage));
        pass.files = self.archive.as_ref().map(|place| Files::look(pass, place)).transpose()?;
        meta::robots(pass)?;
        meta::unsynced(pass)?;
        hosts::rows(pass)?;
        queue::retries(pass)?;
        meta::sitemaps(pass)?;
        meta::nearer(pass)?;
        pass.flush()?;
        hosts::hosts(pass)?;
        pass.flush()?;
        near::rows(pass)?;
        meta::contents(pass)?;
        meta::seeds(pass)?;
        credit::credit(pass)?;
        parts::parts(pass)?;
        feed::feed(pass)?;
        derived::derived(pass, &self.derived)?;
        archive::archive(pass)?;
        lines::lines(pass)?;
        if pass.repairing {
            pass.flush()?;
            lost::search(pass)?;
        }
        meta::counters(pass)
    }
}

/// The counters as stored. Where they are gone nobody knows whether a URL was ever too deep: then better ways are followed at once.
fn stored_counters(storage: &dyn Storage) -> Counters {
    let kept = read::meta(storage, CrawlId::default()).ok().flatten();
    kept.unwrap_or_else(|| Counters { too_deep: true, ..Counters::default() })
}

/// A number above all that queue entries and rows use, whatever the counters say.
fn first_free_number(pass: &mut Pass<'_>) -> Result<u64> {
    let mut totals = Totals::default();
    each::<Queue>(pass, |_, row| {
        totals.order(row.key.order);
        Ok(())
    })?;
    each::<Waiting>(pass, |_, row| {
        totals.order(row.key.order);
        Ok(())
    })?;
    Ok(stored_counters(pass.storage).next_seq.max(totals.counters.next_seq))
}
