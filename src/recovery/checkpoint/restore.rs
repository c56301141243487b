//! A data folder from a checkpoint on this machine: into a new folder, or in place of a crawl's present state.

use std::path::{Path, PathBuf};

use serde::Serialize;

use super::manifest::Manifest;
use super::swap::{Plan, Swap, is_live, settle};
use super::verify::{absent, verify, whole};
use super::{CheckpointError, Result, files, lines, make, uploads};
use crate::base::disk::is_same_folder;
use crate::base::fault::Faults;
use crate::base::time::UnixMillis;
use crate::storage::folder::MARKER;
use crate::storage::mark::SYNCED;
use crate::warc::date::digits17;
use crate::warc::folder::{self, Claim};
use crate::warc::name::{closed_name, is_warc};

/// The Bloom filter of a clean stop: a restored database must not find it.
const FILTER: &str = "seen.bloom";

/// Where a checkpoint is and what belongs to it.
#[derive(Clone, Debug)]
pub struct Source {
    /// Its folder.
    pub dir: PathBuf,
    /// The data folder it was made of.
    pub data: PathBuf,
    /// The archive's folder.
    pub warc_dir: PathBuf,
}

/// Where it goes.
#[derive(Clone, Debug)]
pub struct Destination {
    /// The data folder.
    pub data: PathBuf,
    /// `store.warc_dir`: relative to the data folder, or elsewhere.
    pub warc_dir: PathBuf,
    /// In place of a crawl's present state.
    pub force: bool,
    /// Although archive files are missing.
    pub incomplete: bool,
    /// This moment, for the name of the folder of what is set aside.
    pub now: UnixMillis,
}

/// What was done.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[expect(missing_docs, reason = "each name says it")]
pub struct Restored {
    pub name: String,
    pub data: PathBuf,
    pub pages: u64,
    pub waiting: u64,
    /// Where the former state is.
    pub aside: Option<PathBuf>,
    /// Archive files put into the new folder.
    pub archive: usize,
    /// Archive files younger than the checkpoint: they stay, their pages are fetched again.
    pub younger: usize,
    /// Archive files that are not there.
    pub missing: Vec<String>,
    /// Where the archive is, when that is not where the settings have it.
    pub archive_apart: Option<PathBuf>,
    /// Younger copies that were not whole, and why.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub passed_over: Vec<String>,
}

/// Restores.
///
/// # Errors
/// [`CheckpointError::Damaged`], [`CheckpointError::Incomplete`], [`CheckpointError::Live`], [`CheckpointError::InUse`],
/// [`CheckpointError::NotEmpty`]: nothing was changed. Others: the former state stands, or the next start goes on.
pub fn restore(from: &Source, to: &Destination, faults: &Faults) -> Result<Restored> {
    if let Some(name) = settle(&to.data, faults)?.filter(|_| !to.force) {
        return Err(CheckpointError::Completed { name, data: to.data.clone() });
    }
    let is_live = is_live(&to.data)?;
    if is_live && !to.force {
        return Err(CheckpointError::Live(to.data.clone()));
    }
    let (manifest, mut missing) = checked(from, to)?;
    let archive_dir = to.data.join(&to.warc_dir);
    let in_place = is_same_folder(&archive_dir, &from.warc_dir);
    if !in_place && to.warc_dir.is_absolute() {
        missing.extend(not_apart(from, to, &manifest)?);
    }
    let swap = Swap::begin(&to.data, faults)?;
    let _nobody_writes = if in_place { Some(claimed(&archive_dir, &manifest)?) } else { None };
    let staging = swap.staging();
    let mut plan = Plan { checkpoint: manifest.name.clone(), aside: aside_name(to.now), ..Plan::default() };
    stage_state(from, &staging, &manifest, &mut plan)?;
    let (mut archive, mut later) = (0, 0);
    if in_place {
        plan.close = open_files(&archive_dir)?;
        later = younger(&archive_dir, &manifest)?;
    } else if to.warc_dir.is_absolute() {
        own(&archive_dir, &manifest)?;
        plan.place.extend(stage_small(&from.data, &staging, uploads::LIST)?);
    } else {
        archive = stage_archive(&from.warc_dir, &staging.join(&to.warc_dir), &manifest)?;
        own(&staging.join(&to.warc_dir), &manifest)?;
        plan.place.push(to.warc_dir.clone());
        plan.place.extend(stage_small(&from.data, &staging, uploads::LIST)?);
    }
    if !is_live {
        plan.place.extend(stage_small(&from.dir, &staging, MARKER)?); // last: before it this is no data folder
    }
    files::sync_dir(&staging)?;
    swap.commit(&plan, faults)?;
    let aside = Some(to.data.join(&plan.aside)).filter(|aside| aside.exists());
    Ok(Restored { aside, archive, younger: later, missing, ..Restored::of(&manifest, &to.data) })
}

impl Restored {
    /// The counts of a checkpoint, in its new place.
    pub(super) fn of(manifest: &Manifest, data: &Path) -> Self {
        Self {
            name: manifest.name.clone(),
            data: data.to_owned(),
            pages: manifest.counts.pages_stored,
            waiting: manifest.counts.waiting,
            ..Self::default()
        }
    }
}

/// The manifest of a checkpoint that may be restored, and what is missing of its archive.
fn checked(from: &Source, to: &Destination) -> Result<(Manifest, Vec<String>)> {
    let manifest = Manifest::read(&from.dir)?;
    let report = verify(&from.dir, &manifest, &from.data, &from.warc_dir)?;
    whole(&manifest.name, report.damage)?;
    if !report.missing.is_empty() && !to.incomplete {
        return Err(CheckpointError::Incomplete { name: manifest.name, problems: report.missing });
    }
    Ok((manifest, report.missing))
}

/// An archive that is neither moved nor made: its files must be where the settings have them. Gives those that are not.
fn not_apart(from: &Source, to: &Destination, manifest: &Manifest) -> Result<Vec<String>> {
    let missing = absent(&to.warc_dir, &from.data, manifest)?;
    if missing.is_empty() || to.incomplete {
        return Ok(missing);
    }
    Err(CheckpointError::Apart {
        name: manifest.name.clone(),
        from: from.warc_dir.clone(),
        to: to.warc_dir.clone(),
        missing: missing.len(),
    })
}

/// Database and lines; the filter of another state makes room.
fn stage_state(from: &Source, staging: &Path, manifest: &Manifest, plan: &mut Plan) -> Result<()> {
    stage_database(&from.dir, staging, manifest)?;
    lines::stage(&from.data, staging, manifest)?;
    plan.away.extend([FILTER.into(), SYNCED.into()]);
    plan.place.extend(["db".into(), uploads::JSONL.into()]);
    Ok(())
}

/// Notes whose folder of an archive this is: a start refuses one without that note.
pub(super) fn own(warc_dir: &Path, manifest: &Manifest) -> Result<()> {
    claimed(warc_dir, manifest).map(drop)
}

/// The archive's folder, which no crawl may write to meanwhile, whichever data folder it has.
fn claimed(warc_dir: &Path, manifest: &Manifest) -> Result<Claim> {
    let wrong = |_| CheckpointError::Manifest { at: manifest.name.clone(), problem: "its seed is no number".into() };
    let seed = u64::from_str_radix(&manifest.seed, 16).map_err(wrong)?;
    Ok(folder::claim(warc_dir, seed)?)
}

/// The folder of what is set aside.
pub(super) fn aside_name(now: UnixMillis) -> String {
    format!("replaced-{}", digits17(now))
}

/// Table files never change and get a second name; the others are written to.
fn stage_database(dir: &Path, staging: &Path, manifest: &Manifest) -> Result<()> {
    files::make_dir(&staging.join("db"))?;
    for file in manifest.files.iter().map(|f| &f.file).filter(|file| file.starts_with("db/")) {
        let (from, to) = (dir.join(file), staging.join(file));
        if file.ends_with(".sst") { files::link(&from, &to)? } else { files::copy(&from, &to, u64::MAX).map(drop)? }
    }
    files::sync_dir(&staging.join("db"))
}

/// The lines that the database knows; what is longer belongs to a later state.
fn stage_archive(from: &Path, to: &Path, manifest: &Manifest) -> Result<usize> {
    files::make_dir(to)?;
    let there = manifest.archive.iter().filter(|file| from.join(&file.file).exists());
    let mut linked = 0;
    for file in there {
        files::link(&from.join(&file.file), &to.join(&file.file))?;
        linked += 1;
    }
    files::sync_dir(to)?;
    Ok(linked)
}

fn stage_small(from: &Path, staging: &Path, name: &str) -> Result<Option<PathBuf>> {
    if !from.join(name).exists() {
        return Ok(None);
    }
    files::copy(&from.join(name), &staging.join(name), u64::MAX)?;
    Ok(Some(name.into()))
}

/// WARC files that are being written, as the present state knows them; the checkpoint knows none.
fn open_files(warc_dir: &Path) -> Result<Vec<PathBuf>> {
    let mut open = files::names(warc_dir)?;
    open.retain(|name| closed_name(name).is_some_and(is_warc));
    open.iter().map(|name| absolute(&warc_dir.join(name))).collect()
}

fn absolute(path: &Path) -> Result<PathBuf> {
    std::path::absolute(path).map_err(CheckpointError::io("find", path))
}

fn younger(warc_dir: &Path, manifest: &Manifest) -> Result<usize> {
    let known: std::collections::HashSet<&str> = manifest.archive.iter().map(|f| f.file.as_str()).collect();
    let open = open_files(warc_dir)?.len();
    let closed = make::closed_files(warc_dir)?;
    let is_younger = |file: &&str| is_warc(file) && !known.contains(file);
    Ok(open + closed.iter().map(|f| f.file.as_str()).filter(is_younger).count())
}
