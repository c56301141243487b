//! Where the new folder of a taking apart lies, and whether what is in it is of the same one: what somebody else put there is not touched.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::{PartError, Result, Side};
use crate::base::disk::own;
use crate::recovery::{if_there, names_in};

/// Names of what is made in the new folder.
const MADE: [&str; 8] = ["db", "FORMAT", "FORMAT.new", "crawl.jsonl", "uploaded.jsonl", "warc", "synced", "fed"];
/// What is made and removed to see whether it can be.
const TRIED: &str = "FORMAT.new";

/// Makes the new folder, which must lie beside the old one and be empty. It can be written to then.
pub(super) fn make(from: &Path, to: &Path) -> Result<()> {
    let failed = |source| PartError::NotMade { path: to.to_owned(), source };
    let (old, new) = (real(from).map_err(failed)?, real(to).map_err(failed)?);
    if old.starts_with(&new) || new.starts_with(&old) {
        return Err(PartError::Within(to.to_owned(), from.to_owned()));
    }
    if !names(to).map_err(failed)?.is_empty() {
        return Err(PartError::Taken(to.to_owned()));
    }
    let tried = to.join(TRIED);
    fs::create_dir_all(to).and_then(|()| own::create(&tried)).and_then(|_| fs::remove_file(&tried)).map_err(failed)
}

/// Removes what an earlier try made of the new folder.
///
/// # Errors
/// [`PartError::NotOurs`].
pub(super) fn clear(from: &Side<'_>, to: &Path) -> Result<()> {
    let names = names(to).map_err(PartError::io("list", to))?;
    if !names.is_empty() && !is_of(from, to, &names)? {
        return Err(PartError::NotOurs { from: from.data.clone(), to: to.to_owned() });
    }
    for name in MADE {
        let path = to.join(name);
        let removed = if path.is_dir() { fs::remove_dir_all(&path) } else { fs::remove_file(&path) };
        if_there(removed).map_err(PartError::io("remove", &path))?;
    }
    Ok(())
}

/// Whether a folder says that it is being made of the other's partitions; or it has a database with nothing in it but that one's seed, or
/// none yet, for then the note was still to come.
#[cfg(feature = "rocksdb")]
fn is_of(from: &Side<'_>, to: &Path, names: &[String]) -> Result<bool> {
    use super::{CRAWL, Kind};
    use crate::storage::values::{Counters, Format, RunState};
    use crate::storage::{RocksOptions, RocksStorage, Storage as _, StorageError, read};
    const FIRST: [&str; 3] = ["db", "FORMAT", "FORMAT.new"]; // what is there before the database is
    let storage = match RocksStorage::find(to, RocksOptions::default()) {
        Ok(Some(storage)) => storage,
        Ok(None) => return Ok(names.iter().all(|name| FIRST.contains(&name.as_str()))),
        Err(error @ StorageError::Locked { .. }) => return Err(error.into()),
        Err(_) => return Ok(false),
    };
    let side = Side { storage: &storage, data: to.to_owned(), warc: to.to_owned() };
    let says = || -> Result<bool> {
        if read::meta::<Format>(&storage, ())?.map(|format| format.seed) != Some(from.seed()?) {
            return Ok(false);
        }
        Ok(match (side.member()?, side.work()?) {
            (None, _) => {
                read::meta::<Counters>(&storage, CRAWL)?.is_none() && read::meta::<RunState>(&storage, ())?.is_none()
            }
            (_, Some(work)) => {
                work.kind == Kind::Receiving && crate::base::disk::is_same_folder(&work.other, &from.data)
            }
            (Some(_), None) => false,
        })
    };
    let said = says();
    storage.close();
    said
}

/// Without an engine nothing is made in a folder.
#[cfg(not(feature = "rocksdb"))]
fn is_of(_: &Side<'_>, _: &Path, _: &[String]) -> Result<bool> {
    Ok(false)
}

/// What is in a folder; nothing when it is not there.
fn names(dir: &Path) -> io::Result<Vec<String>> {
    Ok(names_in(dir)?.into_iter().filter(|name| name != "lost+found").collect())
}

/// A path without links, as far as it is there.
fn real(path: &Path) -> io::Result<PathBuf> {
    let path = std::path::absolute(path)?;
    for there in path.ancestors() {
        if let (Ok(real), Ok(rest)) = (there.canonicalize(), path.strip_prefix(there)) {
            return Ok(real.join(rest));
        }
    }
    Ok(path)
}
