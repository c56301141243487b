//! Data folders at rest that are taken apart and put together: opened, claimed, and closed again.

use std::path::{Path, PathBuf};

use crate::base::clock::Clock;
use crate::base::fault::Faults;
use crate::config::Settings;
use crate::recovery::part::{Choice, Merge, Merged, PartError, Result, Side, Split, SplitUp, Tell, abandon, links};
use crate::storage::share::may_go_on;
use crate::storage::values::Format;
use crate::storage::{RocksOptions, RocksStorage, Storage, read};
use crate::warc::folder::{Claim, claim};

/// What of a folder is to become another one, and what both are called.
pub struct Parting {
    /// Which partitions.
    pub choice: Choice,
    /// Name of the folder that is taken apart, where it has none.
    pub own_name: String,
    /// Name of the new one.
    pub name: Option<String>,
    /// The command, to be given again.
    pub command: String,
    /// Fault points.
    pub faults: Faults,
}

/// A folder that is this process's alone.
pub(super) struct Open {
    storage: RocksStorage,
    data: PathBuf,
    warc: PathBuf,
    _claim: Claim,
}

impl Open {
    pub fn folder(settings: &Settings, seed: Option<u64>, faults: &Faults) -> Result<Self> {
        let memory = usize::try_from(settings.store.memory).unwrap_or(usize::MAX);
        let options = RocksOptions { memory, seed, faults: faults.clone(), ..RocksOptions::default() };
        let (data, warc) = (settings.store.data_dir.clone(), settings.warc_dir());
        let storage = RocksStorage::open(&data, options)?;
        let seed = read::meta::<Format>(&storage, ())?.map_or(0, |format| format.seed);
        let _claim = claim(&warc, seed)?;
        Ok(Self { storage, data, warc, _claim })
    }

    pub fn side(&self) -> Side<'_> {
        Side { storage: &self.storage, data: self.data.clone(), warc: self.warc.clone() }
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        self.storage.close();
    }
}

/// Makes another folder of a part of a crawl, or goes on with it.
///
/// # Errors
/// [`PartError`]; the same call goes on.
pub fn split(from: &Settings, to: &Settings, parting: Parting, tell: Tell<'_>) -> Result<SplitUp> {
    let Parting { choice, own_name, name, command, faults } = parting;
    let giver = Open::folder(from, None, &faults)?;
    let split = Split {
        from: giver.side(),
        to: to.store.data_dir.clone(),
        choice,
        own_name,
        name,
        command,
        now: Clock::real().now(),
        faults: faults.clone(),
    };
    let plan = split.plan()?;
    let seed = read::meta::<Format>(&giver.storage, ())?.map(|format| format.seed);
    let taker = Open::folder(to, seed, &faults)?;
    split.run(plan, &taker.side(), tell)
}

/// Takes back what [`split`] did not come to the step that counts; the folder that was begun, if there was one.
///
/// # Errors
/// [`PartError::TooLate`].
pub fn abandon_split(from: &Settings) -> Result<Option<PathBuf>> {
    abandon(&Open::folder(from, None, &Faults::default())?.side())
}

/// Has a folder take over all that another one has, or goes on with it.
///
/// # Errors
/// [`PartError`]; the same call goes on.
pub fn merge(into: &Settings, from: &Settings, command: String, faults: Faults, tell: Tell<'_>) -> Result<Merged> {
    let (taker, leaver) = (Open::folder(into, None, &faults)?, Open::folder(from, None, &faults)?);
    Merge { into: taker.side(), from: leaver.side(), command, faults }.run(tell)
}

/// Writes what this member has for others into files.
///
/// # Errors
/// [`PartError`].
pub fn export_links(settings: &Settings, dir: &Path) -> Result<Vec<links::Written>> {
    links::export(&Open::folder(settings, None, &Faults::default())?.side(), dir)
}

/// Brings files of other members.
///
/// # Errors
/// [`PartError`]; what was brought until then stays.
pub fn import_links(settings: &Settings, files: &[PathBuf]) -> Result<Vec<links::Brought>> {
    let open = Open::folder(settings, None, &Faults::default())?;
    files.iter().map(|file| links::import(&open.side(), file)).collect()
}

/// Whether a folder at rest may be changed by others than what is under way with it.
///
/// # Errors
/// [`PartError::Share`].
pub fn may_be_changed(storage: &dyn Storage) -> Result<()> {
    may_go_on(storage).map_err(PartError::from)
}
