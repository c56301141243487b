//! A parcel on its way: the files of its folder in the store, and a list of them with their digests, written last.
//!
//! | key | |
//! |---|---|
//! | `moves/NAME/FILE`, `moves/NAME/db/FILE` | a file of the folder |
//! | `moves/NAME/PARCEL.json` | each file with its length and SHA-256: what has none is not whole, and told as not there |

use std::fs;
use std::io::{self, Write as _};
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::{PartError, Result};
use crate::base::disk::own;
use crate::recovery::checkpoint::manifest::{Stored, is_plain};
use crate::recovery::checkpoint::place::{Place, put_bytes, put_verified, read_small};
use crate::recovery::checkpoint::{CheckpointError, files};

/// The folder of parcels: in the store, and in a data folder.
pub const MOVES: &str = "moves";
/// The list of a parcel's files.
const LIST: &str = "PARCEL.json";
/// The folder of the database.
const DB: &str = "db";
/// What the engine makes anew.
const LEFT_OUT: [&str; 2] = ["LOCK", "LOG"];
/// Most files of a parcel.
const FILES: usize = 10_000;
/// What such a list is.
const FORMAT: u32 = 1;

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Parcel {
    format: u32,
    files: Vec<Stored>,
}

/// Sends the folder of a parcel, which must be closed; gives its bytes.
///
/// # Errors
/// [`PartError::Store`]; then it is not there, and may be sent again.
pub fn send(place: &dyn Place, name: &str, dir: &Path) -> Result<u64> {
    let mut sent = Parcel { format: FORMAT, files: Vec::new() };
    for file in files_of(dir)? {
        let put = put_verified(place, &key(name, &file), &dir.join(&file), u64::MAX);
        let (bytes, sha256) = put.map_err(failed("take", name))?;
        sent.files.push(Stored { file, bytes, sha256: Some(sha256) });
    }
    let text = serde_json::to_vec(&sent).unwrap_or_default(); // names and numbers: it cannot fail
    put_bytes(place, &key(name, LIST), &text).map_err(failed("take", name))?;
    Ok(sent.files.iter().map(|file| file.bytes).sum())
}

/// Fetches a parcel into a new folder, every file compared with its digest; gives its bytes. None when it is not there.
///
/// # Errors
/// [`PartError::Store`], [`PartError::Parcel`] for one that is damaged, [`PartError::Io`].
pub fn fetch(place: &dyn Place, name: &str, to: &Path) -> Result<Option<u64>> {
    let wrong = |problem: String| PartError::Parcel { name: name.to_owned(), problem };
    if !is_plain(name) {
        return Err(wrong("that is no name of one".to_owned()));
    }
    let Some(text) = read_small(place, &key(name, LIST)).map_err(failed("give", name))? else { return Ok(None) };
    let listed: Parcel = serde_json::from_slice(&text).map_err(|e| wrong(format!("its list of files: {e}")))?;
    if listed.format != FORMAT || listed.files.len() > FILES {
        return Err(wrong(format!("its list is of format {}, with {} files", listed.format, listed.files.len())));
    }
    if let Some(other) = listed.files.iter().find(|file| !is_plain(file.file.strip_prefix("db/").unwrap_or(&file.file)))
    {
        return Err(wrong(format!("{:?} is no name of a file of it", other.file)));
    }
    files::remove_dir(to)?;
    files::make_dir(&to.join(DB))?;
    for file in &listed.files {
        let got = fetch_file((place, name), &file.file, &to.join(&file.file), file.bytes)?
            .ok_or_else(|| wrong(format!("{} is not there", file.file)))?;
        if (got.0, Some(&got.1)) != (file.bytes, file.sha256.as_ref()) {
            return Err(wrong(format!("{} has {} bytes and another digest than its list says", file.file, got.0)));
        }
    }
    files::sync_dir(&to.join(DB))?;
    files::sync_dir(to)?;
    Ok(Some(listed.files.iter().map(|file| file.bytes).sum()))
}

/// Removes a parcel, also one that was not sent whole; one that is not there is as good.
///
/// # Errors
/// [`PartError::Store`].
pub fn remove(place: &dyn Place, name: &str) -> Result<()> {
    let gone = || {
        place.remove(&key(name, LIST))?;
        for folder in [format!("{MOVES}/{name}/{DB}"), format!("{MOVES}/{name}")] {
            place.list(&folder)?.keys().try_for_each(|key| place.remove(key))?;
        }
        Ok(())
    };
    gone().map_err(failed("remove", name))
}

fn key(name: &str, file: &str) -> String {
    format!("{MOVES}/{name}/{file}")
}

fn failed(doing: &'static str, name: &str) -> impl FnOnce(CheckpointError) -> PartError + use<> {
    let name = name.to_owned();
    move |source| PartError::Store { doing, name, source }
}

/// The files of a parcel's folder, as paths below it.
fn files_of(dir: &Path) -> Result<Vec<String>> {
    let mut found = Vec::new();
    for (folder, prefix) in [(dir.to_owned(), ""), (dir.join(DB), "db/")] {
        for name in files::names(&folder)? {
            let is_file = fs::metadata(folder.join(&name)).map_err(PartError::io("look at", &folder))?.is_file();
            let is_left_out = LEFT_OUT.contains(&name.as_str()) || name.starts_with("LOG.");
            if is_file && is_plain(&name) && !(is_left_out && prefix == "db/") {
                found.push(format!("{prefix}{name}"));
            }
        }
    }
    Ok(found)
}

/// Fetches a file of at most `most` bytes; gives their number and digest.
fn fetch_file((place, name): (&dyn Place, &str), file: &str, to: &Path, most: u64) -> Result<Option<(u64, String)>> {
    let mut out = own::create(to).map_err(PartError::io("make", to))?;
    let mut left = most;
    let got = place.get(&key(name, file), &mut |piece| {
        left = left.checked_sub(piece.len() as u64).ok_or_else(|| io::Error::other("longer than its list says"))?;
        out.write_all(piece)
    });
    out.sync_all().map_err(PartError::io("sync", to))?;
    got.map_err(failed("give", name))
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;
    use crate::recovery::checkpoint::Target;

    /// A parcel that was sent, and where its files lie.
    fn sent() -> (tempfile::TempDir, Box<dyn Place>, PathBuf) {
        let dir = tempfile::tempdir().unwrap();
        let from = dir.path().join("from");
        fs::create_dir_all(from.join("db")).unwrap();
        for name in ["FORMAT", "uploaded.jsonl", "db/1.sst", "db/CURRENT", "db/LOCK", "db/LOG", "db/LOG.old.1"] {
            fs::write(from.join(name), name).unwrap();
        }
        let place = Target::Folder(dir.path().join("store")).open(None).unwrap();
        assert_eq!(fetch(&*place, "p", &dir.path().join("to")).unwrap(), None);
        assert_eq!(send(&*place, "p", &from).unwrap(), 6 + 14 + 8 + 10);
        let there = dir.path().join("store/moves/p");
        (dir, place, there)
    }

    #[test]
    fn a_parcel_comes_as_it_was_sent_without_what_the_engine_makes_anew() {
        let (dir, place, there) = sent();
        let to = dir.path().join("to");
        fs::create_dir_all(to.join("db")).unwrap();
        fs::write(to.join("db/left"), "of an earlier try").unwrap();
        assert_eq!(fetch(&*place, "p", &to).unwrap(), Some(38));
        assert_eq!(files_of(&to).unwrap(), ["FORMAT", "uploaded.jsonl", "db/1.sst", "db/CURRENT"]);
        assert_eq!(fs::read_to_string(to.join("db/1.sst")).unwrap(), "db/1.sst");
        remove(&*place, "p").unwrap();
        assert!(files_of(&there).unwrap().is_empty());
        remove(&*place, "p").unwrap();
        assert_eq!(fetch(&*place, "p", &to).unwrap(), None);
    }

    #[test]
    fn a_parcel_that_is_damaged_is_refused_and_one_without_its_list_is_not_there() {
        let (dir, place, there) = sent();
        let refused = |why: &str| {
            let error = fetch(&*place, "p", &dir.path().join("to")).unwrap_err().to_string();
            assert!(error.contains(why), "{error}");
        };
        let list = fs::read_to_string(there.join(LIST)).unwrap();
        for (from, to, why) in [
            ("db/1.sst", "../x", "no name"),
            ("db/1.sst", "db/../../x", "no name"),
            ("\"format\":1", "\"format\":2", "format 2"),
            ("\"format\"", "\"x\"", "its list of files"),
        ] {
            assert!(list.contains(from), "{from}");
            fs::write(there.join(LIST), list.replacen(from, to, 1)).unwrap();
            refused(why);
        }
        fs::write(there.join(LIST), list).unwrap();
        for (bytes, why) in [("db/2.sst", "digest"), ("db/1.ss", "digest"), ("db/1.sst+", "longer")] {
            fs::write(there.join("db/1.sst"), bytes).unwrap();
            refused(why);
        }
        fs::remove_file(there.join("db/1.sst")).unwrap();
        refused("not there");
        fs::remove_file(there.join(LIST)).unwrap();
        assert_eq!(fetch(&*place, "p", &dir.path().join("to")).unwrap(), None);
        assert!(matches!(fetch(&*place, "../p", &dir.path().join("to")), Err(PartError::Parcel { .. })));
    }
}
