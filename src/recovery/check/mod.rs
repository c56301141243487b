//! Checks a data folder at rest, and repairs it (`lycosa check`).
//!
//! | file | concept |
//! |---|---|
//! | [`fault`] | what can be wrong: names, invariants, repairs |
//! | [`report`] | what was found |
//! | `judge`, `tally` | pure: whether records fit together; recounts |
//! | `stream`, `findings` | records in key order, a chunk at a time; findings, and changes in bounded batches |
//! | `hosts`, `urls`, `queue`, `places` | the pass over all hosts: states, captures, rejections, queues, counts, rows |
//! | `singles` | `meta`, robots.txt, contents |
//! | [`files`], `index`, `archive` | WARC and CDXJ |
//! | `lines`, `pending`, `unlined` | `crawl.jsonl`: its lines, those not yet safe, captures without one |
//! | `lost`, `texts` | URLs known by their key only, looked for in every text there is |
//!
//! Memory does not grow with the number of URLs: families are merged in key order, looked up in sorted batches, and counted
//! host by host; keys of lines are sorted in temporary files. Held are: the lines of one index, the list of WARC files, the pages listed as not yet safe, and in a repair
//! up to 500,000 keys of URLs that are looked for.
//!
//! A repair goes through the folder again and again, mending what it finds, until a round finds nothing: so it is
//! idempotent, and one that is killed is gone on with by the next.

mod archive;
mod context;
mod error;
pub mod fault;
pub mod files;
mod findings;
mod hosts;
mod index;
mod judge;
mod lines;
mod lost;
mod pending;
mod places;
mod queue;
pub mod report;
mod singles;
mod sitemaps;
mod stream;
mod tally;
mod texts;
mod unlined;
mod urls;

use crate::domain::fingerprint::{CrawlId, Fingerprinter};
use crate::storage::keys::{QueueKey, WaitingKey};
use crate::storage::tables::{Queue, Waiting};
use crate::storage::values::{Counters, Format};
use crate::storage::{Storage, read};

pub use context::CheckRules;
use context::Context;
pub use error::CheckError;
use error::Result;
pub use fault::{Fault, Note};
pub use files::ArchivePlace;
use files::Files;
pub use findings::Event;
use findings::Findings;
use lost::Lost;
pub use report::Report;
use stream::Stream;
use tally::Totals;

/// Rounds of a repair at most.
const ROUNDS: u32 = 20;

/// What is to be checked.
#[derive(Clone, Debug)]
pub struct Check {
    /// The rules of the crawl.
    pub rules: CheckRules,
    /// The archive beside the database; `None` checks the database alone.
    pub archive: Option<ArchivePlace>,
    /// Read every record of the archive.
    pub full: bool,
}

impl Check {
    /// Checks; changes nothing.
    ///
    /// # Errors
    /// [`CheckError`] when something cannot be read. What is found wrong is in the report.
    pub fn check(&self, storage: &dyn Storage, tell: &mut dyn FnMut(Event<'_>)) -> Result<Report> {
        let mut findings = Findings::new(storage, false, tell);
        let mut lost = Lost::default();
        self.round(&mut findings, &mut lost)?;
        Ok(findings.report)
    }

    /// Checks and mends until nothing is found; the report is that of the last round.
    ///
    /// # Errors
    /// As [`Check::check`]; what was mended until then stays so.
    pub fn repair(&self, storage: &dyn Storage, tell: &mut dyn FnMut(Event<'_>)) -> Result<Report> {
        let mut findings = Findings::new(storage, true, tell);
        findings.numbers_from(first_free_number(storage)?);
        let mut lost = Lost::default();
        for _ in 0..ROUNDS {
            findings.changes = 0;
            self.round(&mut findings, &mut lost)?;
            if findings.changes == 0 {
                storage.sync()?;
                return Ok(findings.report);
            }
        }
        Err(CheckError::Restless { rounds: ROUNDS })
    }

    /// Goes through everything once.
    fn round(&self, findings: &mut Findings<'_>, lost: &mut Lost) -> Result<()> {
        findings.report.again();
        let format = read::meta::<Format>(findings.storage, ()).ok().flatten().ok_or(CheckError::NoFormat)?;
        singles::meta(findings)?;
        let files = self.archive.as_ref().map(|place| Files::look(findings, place)).transpose()?;
        let prints = Fingerprinter::new(format.seed);
        let mut context = Context {
            rules: &self.rules,
            prints,
            crawl: CrawlId::default(),
            files,
            lost: std::mem::take(lost),
            full: self.full,
        };
        let stored: Counters = read::meta(findings.storage, context.crawl).ok().flatten().unwrap_or_default();
        let mut totals = Totals::like(&stored);
        singles::robots(findings)?;
        singles::unsynced(&mut context, findings, &mut totals)?;
        places::rows(&context, findings)?;
        queue::retries(&mut context, findings)?;
        sitemaps::rows(findings)?;
        findings.flush()?;
        hosts::hosts(&mut context, findings, &mut totals)?;
        findings.flush()?;
        singles::contents(findings)?;
        singles::seeds(&context, findings)?;
        archive::archive(&context, findings)?;
        lines::lines(&context, findings)?;
        if findings.repairing() {
            findings.flush()?;
            lost::search(&mut context, findings)?;
        }
        singles::counters(&context, findings, &totals)?;
        *lost = context.lost;
        Ok(())
    }
}

/// A number above all that queue entries and rows use, whatever the counters say.
fn first_free_number(storage: &dyn Storage) -> Result<u64> {
    let mut quiet = |_: Event<'_>| {};
    let mut findings = Findings::new(storage, false, &mut quiet);
    let mut totals = Totals::default();
    let mut queue = Stream::<Queue>::quiet();
    while let Some(row) = queue.next_in(&mut findings, &[])? {
        let QueueKey { order, .. } = row.key;
        totals.order(order);
    }
    let mut waiting = Stream::<Waiting>::quiet();
    while let Some(row) = waiting.next_in(&mut findings, &[])? {
        let WaitingKey { order, .. } = row.key;
        totals.order(order);
    }
    let stored: Counters = read::meta(storage, CrawlId::default()).ok().flatten().unwrap_or_default();
    Ok(stored.next_seq.max(totals.counters.next_seq))
}
