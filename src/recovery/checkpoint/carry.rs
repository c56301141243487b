//! Export and import: a checkpoint with all that is needed to go on on another machine.
//!
//! `NAME/` holds the checkpoint's files, `crawl.jsonl` up to its length, `warc/` with the archive's files, and last the
//! manifest. In it every file that was carried has a digest; archive files without one were left behind.

use std::path::{Path, PathBuf};

use serde::Serialize;

use super::manifest::{MANIFEST, Manifest, Stored, is_name};
use super::place::{Place, Target, fetch, put_verified, read_small};
use super::restore::{Destination, Restored, Source, aside_name, own};
use super::swap::{Plan, Swap, is_live, settle};
use super::verify::{damage, whole};
use super::{CheckpointError, Result, files, lines, uploads};
use crate::base::fault::Faults;
use crate::storage::folder::MARKER;

/// What was carried.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[expect(missing_docs, reason = "each name says it")]
pub struct Carried {
    pub name: String,
    pub to: String,
    /// Files, the manifest included.
    pub files: usize,
    pub bytes: u64,
    /// Archive files that were left behind.
    pub left: Vec<String>,
}

/// Copies a checkpoint to `target`, below its name. Each object is read back and compared; the manifest is written last.
///
/// # Errors
/// [`CheckpointError::Damaged`] when a file is not what the manifest says; [`CheckpointError::Differs`]; those of the place.
pub fn export(
    from: &Source,
    target: &Target,
    endpoint: Option<&str>,
    with_archive: bool,
    faults: &Faults,
) -> Result<Carried> {
    let mut manifest = Manifest::read(&from.dir)?;
    let target = target.below(&manifest.name);
    if target == Target::Folder(from.dir.clone()) {
        return Err(CheckpointError::NotEmpty(from.dir.clone()));
    }
    let place = target.open(endpoint)?;
    let mut carried = Carried { name: manifest.name.clone(), to: target.to_string(), ..Carried::default() };
    for file in &manifest.files {
        let done = put_verified(&*place, &file.file, &from.dir.join(&file.file), u64::MAX)?;
        same(&manifest.name, file, &done)?;
        carried.add(done.0);
        faults.check("export.file")?;
    }
    if let Some(lines) = lines::find(&from.data, &manifest)? {
        carry(&*place, uploads::JSONL, &lines, &mut manifest.jsonl, &mut carried)?;
    }
    for file in &mut manifest.archive {
        let path = from.warc_dir.join(&file.file);
        if with_archive && path.exists() {
            carry(&*place, &format!("warc/{}", file.file), &path, file, &mut carried)?;
            faults.check("export.archive")?;
        } else {
            carried.left.push(file.file.clone());
        }
    }
    faults.check("export.manifest")?;
    put_manifest(&*place, &manifest, &mut carried)?;
    Ok(carried)
}

impl Carried {
    fn add(&mut self, bytes: u64) {
        self.files += 1;
        self.bytes += bytes;
    }
}

/// Copies as much of a file as the checkpoint knows, and notes its digest.
fn carry(place: &dyn Place, key: &str, from: &Path, file: &mut Stored, carried: &mut Carried) -> Result<()> {
    let (bytes, sha) = put_verified(place, key, from, file.bytes)?;
    file.bytes = bytes;
    file.sha256 = Some(sha);
    carried.add(bytes);
    Ok(())
}

fn same(name: &str, file: &Stored, found: &(u64, String)) -> Result<()> {
    if found.0 == file.bytes && file.sha256.as_ref() == Some(&found.1) {
        return Ok(());
    }
    let problem = format!("{} has {} bytes and SHA-256 {}", file.file, found.0, found.1);
    Err(CheckpointError::Damaged { name: name.to_owned(), problems: vec![problem] })
}

fn put_manifest(place: &dyn Place, manifest: &Manifest, carried: &mut Carried) -> Result<()> {
    let here = tempfile::NamedTempFile::new().map_err(CheckpointError::io("make a file in", &std::env::temp_dir()))?;
    let text = manifest.text();
    std::fs::write(here.path(), &text).map_err(CheckpointError::io("write", here.path()))?;
    put_verified(place, MANIFEST, here.path(), u64::MAX)?;
    carried.add(text.len() as u64);
    Ok(())
}

/// The checkpoint at `source`: its own place, or the newest of those below it.
///
/// # Errors
/// [`CheckpointError::Place`] when there is none.
pub fn find(source: &Target, endpoint: Option<&str>) -> Result<(Target, Manifest)> {
    let read = |target: &Target| -> Result<Option<Manifest>> {
        let place = target.open(endpoint)?;
        let bytes = read_small(&*place, MANIFEST)?;
        bytes.map(|bytes| Manifest::parse(&bytes, &place.url(MANIFEST))).transpose()
    };
    if let Some(manifest) = read(source)? {
        return Ok((source.clone(), manifest));
    }
    let mut names = source.open(endpoint)?.folders()?;
    names.retain(|name| is_name(name));
    names.sort_unstable();
    for name in names.iter().rev() {
        let below = source.below(name);
        if let Some(manifest) = read(&below)? {
            return Ok((below, manifest));
        }
    }
    let problem = "no checkpoint there: no manifest.json, nor a folder with one".to_owned();
    Err(CheckpointError::Place { doing: "importing", url: source.to_string(), problem })
}

/// Makes a new data folder of an exported checkpoint. Everything is fetched and compared with the manifest before the
/// folder is one.
///
/// # Errors
/// [`CheckpointError::Taken`], [`CheckpointError::NotEmpty`], [`CheckpointError::Damaged`], [`CheckpointError::Incomplete`];
/// those of the place.
pub fn import(source: &Target, endpoint: Option<&str>, to: &Destination, faults: &Faults) -> Result<Restored> {
    settle(&to.data, faults)?;
    if is_live(&to.data)? {
        return Err(CheckpointError::Taken(to.data.clone()));
    }
    let (target, manifest) = find(source, endpoint)?;
    let place = target.open(endpoint)?;
    if !to.incomplete {
        archive_is_whole(&*place, &manifest)?;
    }
    let swap = Swap::begin(&to.data, faults)?;
    let staging = swap.staging();
    for file in &manifest.files {
        let got = fetch(&*place, &file.file, &staging.join(&file.file))?;
        same(&manifest.name, file, &got)?;
        faults.check("import.file")?;
    }
    fetch_carried(&*place, uploads::JSONL, &staging.join(uploads::JSONL), &manifest.name, &manifest.jsonl)?;
    let warc_dir = if to.warc_dir.is_relative() { to.warc_dir.clone() } else { "warc".into() };
    let archive_apart = to.warc_dir.is_absolute().then(|| to.data.join(&warc_dir));
    let (archive, missing) = fetch_archive(&*place, &staging.join(&warc_dir), &manifest)?;
    whole(&manifest.name, damage(&staging, &manifest)?)?;
    own(&staging.join(&warc_dir), &manifest)?;
    for folder in [staging.join("db"), staging.join(&warc_dir), staging] {
        files::sync_dir(&folder)?;
    }
    swap.commit(&plan(&manifest, warc_dir, to), faults)?;
    Ok(Restored { archive, missing, archive_apart, ..Restored::of(&manifest, &to.data) })
}

/// What goes where; the files beside the database last, for with `FORMAT` it is a data folder.
fn plan(manifest: &Manifest, warc_dir: PathBuf, to: &Destination) -> Plan {
    let mut place = vec!["db".into(), uploads::JSONL.into(), warc_dir];
    let beside = manifest.files.iter().map(|f| &f.file).filter(|file| !file.starts_with("db/"));
    let (marker, others): (Vec<&String>, Vec<&String>) = beside.partition(|file| *file == MARKER);
    place.extend(others.into_iter().chain(marker).map(PathBuf::from));
    Plan { checkpoint: manifest.name.clone(), aside: aside_name(to.now), place, ..Plan::default() }
}

/// The archive's files that were carried: how many, and the names of the others.
fn fetch_archive(place: &dyn Place, dir: &Path, manifest: &Manifest) -> Result<(usize, Vec<String>)> {
    let (mut archive, mut missing) = (0, Vec::new());
    files::make_dir(dir)?;
    for file in &manifest.archive {
        let key = format!("warc/{}", file.file);
        match fetch_carried(place, &key, &dir.join(&file.file), &manifest.name, file)? {
            true => archive += 1,
            false => missing.push(file.file.clone()),
        }
    }
    Ok((archive, missing))
}

/// Fetches what was carried; false when it was left behind.
fn fetch_carried(place: &dyn Place, key: &str, to: &Path, name: &str, file: &Stored) -> Result<bool> {
    if file.sha256.is_none() {
        return Ok(false);
    }
    let got = fetch(place, key, to)?;
    same(name, file, &got).map(|()| true)
}

/// Every archive file was carried, or uploaded elsewhere.
fn archive_is_whole(place: &dyn Place, manifest: &Manifest) -> Result<()> {
    let has_list = manifest.files.iter().any(|file| file.file == uploads::LIST);
    let list = if has_list { read_small(place, uploads::LIST)?.unwrap_or_default() } else { Vec::new() };
    let uploaded = uploads::parse_list(&list);
    let left = manifest.archive.iter().filter(|file| file.sha256.is_none() && file.bytes > 0);
    let left = left.filter(|file| uploaded.get(&file.file).is_none_or(|line| line.bytes < file.bytes));
    let problems: Vec<String> = left.map(|file| format!("{} was not exported", file.file)).collect();
    if problems.is_empty() {
        return Ok(());
    }
    Err(CheckpointError::Incomplete { name: manifest.name.clone(), problems })
}
