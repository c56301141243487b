//! Erases what was received from one host, in a data folder at rest, and proves it (`lycosa erase`, docs/erasure.md).
//!
//! | file | concept |
//! |---|---|
//! | `host` | which host: what is of it, and what only names it |
//! | `look` | counts all of it, everywhere in the folder: before, after, and for `check --erased` |
//! | `note` | the file `ERASING`: what is under way, so that a second run goes on |
//! | `walk` | the records of a WARC, one after the other, past damage |
//! | `others` | captures of others that rely on one of the host's get records of their own |
//! | `archive`, `lines` | records and lines are overwritten at equal length, index lines go |
//! | `database` | keys go, out of all counts too; all tables are written anew |
//! | `beside` | index, filter, checkpoints, list of copies |
//! | `certificate` | what is told of it in the end |
//!
//! Each step finds by itself what is still to be done, so it may be done again after a kill. Where bytes are overwritten in place the
//! note says which, before the first of them changes: half an overwritten record could not be read.

mod archive;
mod beside;
mod certificate;
mod database;
mod error;
mod host;
mod lines;
mod look;
mod note;
mod others;
mod walk;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::base::fault::Faults;
use crate::base::time::UnixMillis;
use crate::domain::credit::CreditRules;
use crate::domain::fingerprint::{CrawlId, Fingerprinter};
use crate::domain::rank::Ranker;
use crate::domain::refresh::Refresh;
use crate::recovery::checkpoint::{Shelf, files, swap, uploads};
use crate::storage::ledger::LedgerRules;
use crate::storage::share::Share;
use crate::storage::values::{Counters, CreditState, FileLengths, Format, RunState};
use crate::storage::{RocksStorage, Storage, read};
use crate::warc::archive::ArchiveSettings;
use crate::warc::folder::{self, Claim, claim};
use crate::warc::name::cdxj_name;

use certificate::Changed;
pub use certificate::{Brief, Certificate, FOLDER, certificate, certificates};
pub use error::{EraseError, Result};
pub use host::Host;
pub use look::{Count, Found, Look};
use note::Note;
pub use note::{Pending, order, pending};

/// What is to be erased, and where.
pub struct Erase {
    /// The data folder, its archive and its checkpoints.
    pub look: Look,
    /// How records that must be written once more are written.
    pub archive: ArchiveSettings,
    /// The checkpoints.
    pub shelf: Shelf,
    /// Leave the checkpoints, which still hold what is erased.
    pub keep_checkpoints: bool,
    /// Places in queues.
    pub ranker: Ranker,
    /// Rejected URLs are kept in full.
    pub keep_rejected: bool,
    /// The moment it was asked for.
    pub now: UnixMillis,
    /// Set when it is to end between two steps.
    pub stop: Arc<AtomicBool>,
    /// Fault points.
    pub faults: Faults,
}

/// How far an erasure is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Far {
    /// The step, from 1 to [`STEPS`].
    pub step: usize,
    /// What is being done.
    pub what: &'static str,
    /// How much of it is.
    pub done: u64,
}

/// Steps of an erasure.
pub const STEPS: usize = 8;
const SEARCH: usize = 1;
const OTHERS: usize = 2;
const ARCHIVE: usize = 3;
const LINES: usize = 4;
const DATABASE: usize = 5;
const TABLES: usize = 6;
const BESIDE: usize = 7;
const ONCE_MORE: usize = 8;

/// Told at the beginning of each step, and now and then.
pub type Tell<'t> = &'t mut dyn FnMut(Far);

/// An erasure under way.
struct Work<'w> {
    erase: &'w Erase,
    storage: &'w RocksStorage,
    host: &'w Host,
    rules: LedgerRules,
    note: Note,
    tell: Tell<'w>,
}

impl Erase {
    /// The data folder.
    fn data(&self) -> &Path {
        &self.look.data
    }

    /// Erases, or goes on with it; [`certify`](Self::certify) comes after. The folder is the caller's alone: `storage` holds its lock.
    ///
    /// # Errors
    /// [`EraseError`]; the same call goes on from there.
    pub fn run(&self, storage: &RocksStorage, host: &Host, tell: Tell<'_>) -> Result<()> {
        swap::settle(self.data(), &self.faults)?;
        let _claim = self.claimed(storage)?;
        let note = self.noted(storage, host, tell)?;
        let rules = self.ledger_rules(storage)?;
        let mut work = Work { erase: self, storage, host, rules, note, tell };
        work.finish_fill()?;
        work.block()?;
        work.others()?;
        work.archive()?;
        work.lines()?;
        work.database()?;
        work.beside()
    }

    /// Looks at everything once more, and writes down what was done. `storage`: opened once more after [`run`](Self::run), by which the
    /// engine has let go of every file that is its no longer.
    ///
    /// # Errors
    /// [`EraseError`]; then [`run`](Self::run) comes first again.
    pub fn certify(&self, storage: &RocksStorage, host: &Host, tell: Tell<'_>) -> Result<Certificate> {
        let note = Note::read(self.data())?.filter(|note| note.is_of(host));
        let note = note.ok_or_else(|| EraseError::Another(self.data().to_owned()))?;
        let after =
            self.look.all(storage, host, &self.stop, &mut |what, done| tell(Far { step: ONCE_MORE, what, done }))?;
        let mut changed = Vec::new();
        for (file, before) in &note.files {
            self.may_go_on()?;
            let (bytes, sha256) = files::digest(&self.look.warc.join(file), u64::MAX)?;
            changed.push(Changed { file: file.clone(), bytes, before: before.clone(), after: sha256 });
        }
        let certificate = Certificate::of(&note, after, changed);
        certificate.write(self.data())?;
        self.faults.check("erase.certified")?;
        Note::remove(self.data())?;
        Ok(certificate)
    }

    /// Ends here when that is wished: between two steps nothing is half done.
    fn may_go_on(&self) -> Result<()> {
        if self.stop.load(Ordering::Acquire) { Err(EraseError::Interrupted) } else { Ok(()) }
    }

    /// The archive, which must be the one that the captures are in: where its disk is not mounted nothing would be found in it.
    fn claimed(&self, storage: &dyn Storage) -> Result<Option<Claim>> {
        let known: Counters = read::meta(storage, CrawlId::default())?.unwrap_or_default();
        folder::claimed_before(&self.look.warc, known.pages_stored)?;
        let format = read::meta::<Format>(storage, ())?;
        Ok(format.map(|format| claim(&self.look.warc, format.seed)).transpose()?)
    }

    /// The note of an erasure of this host that did not come to its end, or a new one.
    fn noted(&self, storage: &RocksStorage, host: &Host, tell: Tell<'_>) -> Result<Note> {
        let former = Note::read(self.data())?;
        if former.as_ref().is_some_and(|former| !former.is_of(host)) {
            return Err(EraseError::Another(self.data().to_owned()));
        }
        if let Some(mut under_way) = former.clone().filter(|former| former.before.is_some()) {
            if self.keep_checkpoints && !under_way.keep_checkpoints {
                under_way.keep_checkpoints = true;
                under_way.write(self.data())?;
            }
            return Ok(under_way);
        }
        let lengths = read::meta::<FileLengths>(storage, ())?;
        let unsynced = read::unsynced(storage, 1)?.len() + read::unsynced_lines(storage, 1)?.len();
        if unsynced > 0 || lengths.is_some_and(|lengths| lengths.warc.is_some()) {
            return Err(EraseError::Unclean(self.data().to_owned()));
        }
        let before =
            self.look.all(storage, host, &self.stop, &mut |what, done| tell(Far { step: SEARCH, what, done }))?;
        if former.is_none() && before.is_nothing() && before.elsewhere.is_empty() && !before.blocked {
            return Err(EraseError::Nothing { host: host.name.clone(), data: self.data().to_owned() });
        }
        let copies = self.copies_of(&before)?;
        let mut note = former.unwrap_or_else(|| Note::begin(host, self.now));
        (note.copies, note.before) = (copies, Some(before));
        note.keep_checkpoints |= self.keep_checkpoints;
        note.write(self.data())?;
        self.faults.check("erase.noted")?;
        Ok(note)
    }

    /// Where the files are that hold captures of the host and are not in the folder any more.
    fn copies_of(&self, found: &Found) -> Result<Vec<String>> {
        let listed = uploads::read_list(self.data())?;
        let names = found.elsewhere.keys().flat_map(|name| [name.clone(), cdxj_name(name)]);
        Ok(names.filter_map(|name| listed.get(&name)).map(|line| line.to.clone()).collect())
    }

    fn ledger_rules(&self, storage: &dyn Storage) -> Result<LedgerRules> {
        let seed = read::meta::<Format>(storage, ())?.map_or(0, |format| format.seed);
        let run = read::meta::<RunState>(storage, ())?;
        let credit = read::meta::<CreditState>(storage, CrawlId::default())?;
        Ok(LedgerRules {
            crawl: CrawlId::default(),
            prints: Fingerprinter::new(seed),
            ranker: self.ranker.clone(),
            keep_rejected: self.keep_rejected,
            generation: run.map_or(0, |run| run.rules),
            max_depth: None,
            refresh: Refresh::default(),
            priorities: Arc::default(),
            credit: credit.map(|state| CreditRules { dividend: state.dividend, ..CreditRules::default() }),
            share: Share::load(storage)?.map(Arc::new),
        })
    }
}

impl Work<'_> {
    fn may_go_on(&self) -> Result<()> {
        self.erase.may_go_on()
    }

    fn tell(&mut self, step: usize, what: &'static str, done: u64) {
        (self.tell)(Far { step, what, done });
    }

    /// A file of the archive.
    fn in_archive(&self, name: &str) -> PathBuf {
        self.erase.look.warc.join(name)
    }
}
