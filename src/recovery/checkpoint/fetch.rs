//! A new data folder from a copy elsewhere.

use std::collections::HashMap;
use std::io::Write;
use std::path::{Path, PathBuf};

use super::carry::same;
use super::layout::{self, ARCHIVE, Copy, WARC, table_key, warc_key};
use super::manifest::{Manifest, Stored, is_name, is_plain};
use super::pieces::{self, unpack};
use super::place::{Place, Target, fetch, put_bytes, read_small};
use super::restore::{Destination, Restored, aside_name, own};
use super::swap::{Plan, Swap, is_live, settle};
use super::uploads::{Line, parse_list};
use super::verify::{database, whole};
use super::{CheckpointError, Result, files, uploads};
use crate::base::disk::own as own_file;
use crate::base::fault::Faults;
use crate::storage::folder::MARKER;

/// A place, and which of the copies there; the newest whole one when none is named.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "each name says it")]
pub struct Wanted {
    pub target: Target,
    pub name: Option<String>,
}

impl Wanted {
    /// Reads `PLACE` or `PLACE@NAME`.
    ///
    /// # Errors
    /// [`CheckpointError::Target`].
    pub fn parse(text: &str) -> Result<Self> {
        match text.rsplit_once('@').filter(|(_, name)| is_name(name)) {
            Some((place, name)) => Ok(Self { target: Target::parse(place)?, name: Some(name.to_owned()) }),
            None => Ok(Self { target: Target::parse(text)?, name: None }),
        }
    }
}

/// What becomes of the archive's files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Archive {
    /// They are fetched, those that are there.
    Here,
    /// They stay where they are, and are listed as uploaded.
    There,
}

/// A copy that may be restored.
struct Found {
    copy: Copy,
    archive: Vec<Stored>,
    uploaded: std::collections::BTreeMap<String, Line>,
    /// The archive's files that are there, with their lengths.
    warc: HashMap<String, u64>,
    /// What is missing of the archive.
    missing: Vec<String>,
    /// Younger ones that are not whole, and why.
    passed_over: Vec<String>,
}

/// Finds the newest copy whose objects and archive files are all there, or looks at the one that is named.
///
/// # Errors
/// [`CheckpointError::NoCopy`], [`CheckpointError::Incomplete`] when archive files alone are missing, those of the place.
fn find(place: &dyn Place, wanted: &Wanted, incomplete: bool) -> Result<Found> {
    let mut names = layout::names(place)?;
    if let Some(name) = &wanted.name {
        names.retain(|found| found == name);
    }
    let (stock, warc) = (layout::stock(place)?, place.list(WARC)?);
    let (mut passed_over, mut incomplete_one) = (Vec::new(), None);
    for name in names.iter().rev() {
        match look(place, name, &stock, &warc) {
            Ok(found) if found.missing.is_empty() || incomplete => return Ok(Found { passed_over, ..found }),
            Ok(found) => {
                passed_over.push(format!("{name}: {}", some(&found.missing)));
                let problems = found.missing;
                incomplete_one.get_or_insert(CheckpointError::Incomplete { name: name.clone(), problems });
            }
            Err(e @ (CheckpointError::Damaged { .. } | CheckpointError::Manifest { .. })) => {
                passed_over.push(format!("{name}: {e}"));
            }
            Err(e) => return Err(e),
        }
    }
    Err(incomplete_one.unwrap_or_else(|| CheckpointError::NoCopy { at: wanted.target.to_string(), passed_over }))
}

/// The first few of many.
fn some(all: &[String]) -> String {
    let more = all.len().saturating_sub(3);
    let first = all.iter().take(3).map(String::as_str).collect::<Vec<_>>().join("; ");
    if more > 0 { format!("{first}; and {more} more") } else { first }
}

fn look(place: &dyn Place, name: &str, stock: &HashMap<String, u64>, warc: &HashMap<String, u64>) -> Result<Found> {
    let damaged = |problem: String| CheckpointError::Damaged { name: name.to_owned(), problems: vec![problem] };
    let copy = Copy::read(place, name)?.ok_or_else(|| damaged("its manifest is gone".to_owned()))?;
    let lacking = copy.lacking(stock);
    if !lacking.is_empty() {
        return Err(damaged(format!("not there: {}", some(&lacking))));
    }
    let list = |file: &str| -> Result<Vec<u8>> {
        let mut text = Vec::new();
        unpack(place, name, copy.pieces.get(file).map_or(&[][..], Vec::as_slice), &mut text)?;
        Ok(text)
    };
    let lines = list(ARCHIVE)?;
    let lines = lines.split(|b| *b == b'\n').filter(|line| !line.is_empty());
    let archive: Vec<Stored> = lines
        .map(serde_json::from_slice)
        .collect::<std::result::Result<_, _>>()
        .map_err(|e| damaged(format!("its list of archive files: {e}")))?;
    if let Some(other) = archive.iter().find(|file| !is_plain(&file.file)) {
        return Err(damaged(format!("{:?} is no name of an archive file", other.file)));
    }
    let uploaded = parse_list(&list(uploads::LIST)?);
    let is_there = |file: &&Stored| {
        let listed = uploaded.get(&file.file).filter(|line| line.bytes >= file.bytes);
        let here = warc.get(&warc_key(&file.file)).is_some_and(|bytes| *bytes >= file.bytes);
        let elsewhere = listed.is_some_and(|line| !is_with(&copy, place, line));
        here && (file.sha256.is_some() || listed.is_some()) || elsewhere || file.bytes == 0
    };
    let missing = archive.iter().filter(|file| !is_there(file)).map(|file| format!("{} is not there", file.file));
    let missing = missing.collect();
    Ok(Found { missing, copy, archive, uploaded, warc: warc.clone(), passed_over: Vec::new() })
}

/// Whether a file of the archive was uploaded to where the copy is, wherever that was then.
fn is_with(copy: &Copy, place: &dyn Place, line: &Line) -> bool {
    line.to == place.url(&warc_key(&line.file)) || line.to == format!("{}/{}", copy.warc_at, line.file)
}

/// Is asked when everything is in the folder that it is given, and before that becomes the data folder.
pub type Permit<'p> = &'p mut dyn FnMut(&Path) -> Result<()>;

/// The file by which a folder knows whose it is in a crawl on several machines: it goes along when the permit has put it there.
pub const MEMBER: &str = "MEMBER";

/// The newest whole copy of a checkpoint at a place; none when there is no such one.
///
/// # Errors
/// Those of the place.
pub fn newest(target: &Target, endpoint: Option<&str>) -> Result<Option<String>> {
    let place = target.open(endpoint)?;
    match find(&*place, &Wanted { target: target.clone(), name: None }, false) {
        Ok(found) => Ok(Some(found.copy.checkpoint.name)),
        Err(CheckpointError::NoCopy { .. } | CheckpointError::Incomplete { .. }) => Ok(None),
        Err(e) => Err(e),
    }
}

/// The map of a crawl on several machines, beside the folders of its members: who begins one learns that there is one already.
pub(super) const MAP: &str = "map.json";

/// The map that a store keeps.
///
/// # Errors
/// Those of the place.
pub fn read_map(store: &Target, endpoint: Option<&str>) -> Result<Option<Vec<u8>>> {
    read_small(&*store.open(endpoint)?, MAP)
}

/// Has a store keep this map.
///
/// # Errors
/// Those of the place.
pub fn keep_map(store: &Target, endpoint: Option<&str>, text: &[u8]) -> Result<()> {
    let place = store.open(endpoint)?;
    if read_small(&*place, MAP)?.as_deref() == Some(text) { Ok(()) } else { put_bytes(&*place, MAP, text) }
}

/// Makes a new data folder of a copy. Everything is fetched and compared with its digest before the folder is one.
///
/// # Errors
/// [`CheckpointError::Taken`], [`CheckpointError::NotEmpty`], [`CheckpointError::NoCopy`], [`CheckpointError::Damaged`],
/// [`CheckpointError::Incomplete`]; those of the place.
pub fn import(
    wanted: &Wanted,
    endpoint: Option<&str>,
    to: &Destination,
    archive: Archive,
    permit: Permit<'_>,
    faults: &Faults,
) -> Result<Restored> {
    if let Some(name) = settle(&to.data, faults)? {
        return Err(CheckpointError::Completed { name, data: to.data.clone() });
    }
    if is_live(&to.data)? {
        return Err(CheckpointError::Taken(to.data.clone()));
    }
    let place = wanted.target.open(endpoint)?;
    let found = find(&*place, wanted, to.incomplete)?;
    let manifest = &found.copy.checkpoint;
    let swap = Swap::begin(&to.data, faults)?;
    let staging = swap.staging();
    fetch_state(&*place, &found.copy, &staging, faults)?;
    whole(&manifest.name, database(&staging, manifest)?.into_iter().collect())?;
    let inside = archive == Archive::Here || to.warc_dir.is_relative();
    let warc_dir = if to.warc_dir.is_relative() { to.warc_dir.clone() } else { WARC.into() };
    let archive_apart = (to.warc_dir.is_absolute() && inside).then(|| to.data.join(&warc_dir));
    let folder = if inside { staging.join(&warc_dir) } else { to.warc_dir.clone() };
    files::make_dir(&folder)?;
    let (fetched, missing) = match archive {
        Archive::Here => fetch_archive(&*place, &folder, &found)?,
        Archive::There => (0, note_archive(&*place, &staging, &found)?),
    };
    own(&folder, manifest)?;
    for folder in [staging.join("db"), folder, staging.clone()] {
        files::sync_dir(&folder)?;
    }
    permit(&staging)?;
    swap.commit(&plan(&staging, manifest, inside.then_some(warc_dir), to), faults)?;
    let passed_over = found.passed_over;
    Ok(Restored { archive: fetched, missing, archive_apart, passed_over, ..Restored::of(manifest, &to.data) })
}

/// Tables, and what lies in pieces.
fn fetch_state(place: &dyn Place, copy: &Copy, staging: &Path, faults: &Faults) -> Result<()> {
    let name = &copy.checkpoint.name;
    for file in &copy.checkpoint.files {
        let key = table_key(file.sha256.as_deref().unwrap_or_default());
        let shown = Stored { file: format!("{key} ({})", file.file), ..file.clone() };
        same(name, &shown, &fetch(place, &key, &staging.join(&file.file))?)?;
        faults.check("import.file")?;
    }
    files::make_dir(&staging.join("db"))?;
    for (file, pieces) in copy.pieces.iter().filter(|(file, _)| *file != ARCHIVE) {
        let path = staging.join(file);
        let mut out = own_file::create(&path).map_err(CheckpointError::io("make", &path))?;
        unpack(place, name, pieces, &mut out)?;
        out.sync_all().map_err(CheckpointError::io("sync", &path))?;
        faults.check("import.piece")?;
    }
    let lines = copy.pieces.get(uploads::JSONL).map_or(0, |pieces| pieces::total(pieces));
    if !copy.pieces.contains_key(uploads::JSONL) {
        files::write_whole(&staging.join(uploads::JSONL), b"")?;
    } else if lines != copy.checkpoint.jsonl.bytes {
        let problem = format!("{} has {lines} bytes, not {}", uploads::JSONL, copy.checkpoint.jsonl.bytes);
        return Err(CheckpointError::Damaged { name: name.clone(), problems: vec![problem] });
    }
    Ok(())
}

/// The archive's files that are there: how many, and the names of the others.
fn fetch_archive(place: &dyn Place, dir: &Path, found: &Found) -> Result<(usize, Vec<String>)> {
    let (mut fetched, mut missing) = (0, Vec::new());
    for file in &found.archive {
        let listed = found.uploaded.get(&file.file);
        let sha256 = file.sha256.clone().or_else(|| listed.map(|line| line.sha256.clone()));
        let key = warc_key(&file.file);
        let (Some(bytes), Some(sha256)) = (found.warc.get(&key), sha256) else {
            missing.push(file.file.clone());
            continue;
        };
        let wanted = Stored { file: file.file.clone(), bytes: *bytes, sha256: Some(sha256) };
        same(&found.copy.checkpoint.name, &wanted, &fetch(place, &key, &dir.join(&file.file))?)?;
        fetched += 1;
    }
    Ok((fetched, missing))
}

/// Lists the archive's files that went along with the copy as uploaded, to where they are now; gives the names of those that are nowhere.
fn note_archive(place: &dyn Place, staging: &Path, found: &Found) -> Result<Vec<String>> {
    let path = staging.join(uploads::LIST);
    let mut missing = Vec::new();
    let mut text = String::new();
    for file in &found.archive {
        let (key, listed) = (warc_key(&file.file), found.uploaded.get(&file.file));
        let sha256 = file.sha256.as_ref().or(listed.map(|line| &line.sha256));
        match (sha256, found.warc.get(&key)) {
            _ if listed.is_some_and(|line| line.to == place.url(&key) || !is_with(&found.copy, place, line)) => {}
            (Some(sha256), Some(bytes)) => {
                let (to, ts) = (place.url(&key), found.copy.checkpoint.ts.clone());
                let line = Line { file: file.file.clone(), bytes: *bytes, sha256: sha256.clone(), to, ts };
                text += &(serde_json::to_string(&line).unwrap_or_default() + "\n");
            }
            _ if file.bytes == 0 => {}
            _ => missing.push(file.file.clone()),
        }
    }
    if !text.is_empty() {
        let open = own_file::open(&path, |how| how.create(true).append(true));
        let written =
            open.and_then(|mut list| list.write_all(format!("\n{text}").as_bytes()).and_then(|()| list.sync_all()));
        written.map_err(CheckpointError::io("append to", &path))?;
    }
    Ok(missing)
}

/// What goes where; the marker last, for with it this is a data folder.
fn plan(staging: &Path, manifest: &Manifest, warc_dir: Option<PathBuf>, to: &Destination) -> Plan {
    let mut place = vec!["db".into(), uploads::JSONL.into()];
    place.extend(warc_dir);
    place.extend(
        [uploads::LIST, MEMBER, MARKER].into_iter().filter(|name| staging.join(name).exists()).map(PathBuf::from),
    );
    Plan { checkpoint: manifest.name.clone(), aside: aside_name(to.now), place, ..Plan::default() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_is_named_behind_its_place() {
        let folder =
            |dir: &str, name: Option<&str>| Wanted { target: Target::Folder(dir.into()), name: name.map(Into::into) };
        let name = "20240506070809012-r00001";
        for (text, wanted) in [
            ("/mnt/copies".to_owned(), folder("/mnt/copies", None)),
            (format!("/mnt/copies@{name}"), folder("/mnt/copies", Some(name))),
            ("/mnt/me@home".to_owned(), folder("/mnt/me@home", None)),
            (format!("/mnt/me@home@{name}"), folder("/mnt/me@home", Some(name))),
        ] {
            assert_eq!(Wanted::parse(&text).unwrap(), wanted, "{text}");
        }
        assert!(Wanted::parse("").is_err());
    }
}
