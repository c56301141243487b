//! What is told of an erasure in the end: `erasures/ID.json`, without the host's name.

use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::note::{Note, digest};
use super::{EraseError, Found, Result};
use crate::base::clock::Clock;
use crate::recovery::checkpoint::files;
use crate::recovery::{if_there, names_in};
use crate::warc::date::iso;

/// The folder of certificates, in the data folder.
pub const FOLDER: &str = "erasures";

/// A file of the archive that was changed.
#[derive(Clone, Debug, Serialize)]
pub struct Changed {
    /// Its name.
    pub file: String,
    /// Its length now; that of a WARC is as it was.
    pub bytes: u64,
    /// SHA-256 before and after.
    pub before: String,
    /// See there.
    pub after: String,
}

/// The certificate.
#[derive(Clone, Debug, Serialize)]
pub struct Certificate {
    format: u32,
    program: &'static str,
    /// Its name.
    pub id: String,
    /// When the erasure began and when it was done.
    began: String,
    ended: String,
    /// Which host, for who knows its name: SHA-256 of the salt and the name.
    host: Salted,
    /// What was erased: all that was received from the host, and all that is keyed by it.
    mode: &'static str,
    /// What was there before.
    pub before: Found,
    /// What is there now.
    pub after: Found,
    /// Changed files of the archive.
    pub files: Vec<Changed>,
    /// Checkpoints that were removed.
    pub checkpoints_removed: Vec<String>,
    /// Copies elsewhere that hold what is erased: of files that have changed, which are put again, and of files that are not in the folder any
    /// more, which this program cannot change.
    pub copies_to_replace: Vec<String>,
    /// True when nothing is left.
    pub erased: bool,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Salted {
    salt: String,
    sha256: String,
}

impl Certificate {
    pub(super) fn of(note: &Note, after: Found, files: Vec<Changed>) -> Self {
        Self {
            format: 1,
            program: concat!("Lycosa/", env!("CARGO_PKG_VERSION")),
            id: note.id.clone(),
            began: iso(note.began()),
            ended: iso(Clock::real().now()),
            host: Salted { salt: note.salt.clone(), sha256: digest(&note.salt, &note.host) },
            mode: "own",
            before: note.before.clone().unwrap_or_default(),
            erased: after.is_nothing(),
            after,
            files,
            checkpoints_removed: note.checkpoints.clone(),
            copies_to_replace: note.copies.clone(),
        }
    }

    /// Where it is kept.
    pub fn path(&self, data: &Path) -> PathBuf {
        data.join(FOLDER).join(format!("{}.json", self.id))
    }

    pub(super) fn write(&self, data: &Path) -> Result<()> {
        let path = self.path(data);
        let mut bytes = serde_json::to_vec_pretty(self).map_err(|e| EraseError::io("write", &path)(e.into()))?;
        bytes.push(b'\n');
        files::make_dir(&data.join(FOLDER))?;
        Ok(files::write_whole(&path, &bytes)?)
    }
}

/// What a list says of a certificate.
#[derive(Clone, Debug, Deserialize)]
pub struct Brief {
    /// Its name.
    pub id: String,
    /// When the erasure began, and when it was done.
    pub began: String,
    /// See there.
    pub ended: String,
    /// Whether nothing was left.
    pub erased: bool,
    host: Salted,
}

impl Brief {
    /// True when it is of the host of this name.
    pub fn is_of(&self, name: &str) -> bool {
        self.host.sha256 == digest(&self.host.salt, name)
    }
}

/// The certificates of a data folder, the newest first, at most so many; what cannot be read as one is left out.
///
/// # Errors
/// [`EraseError::Io`].
pub fn certificates(data: &Path, most: usize) -> Result<Vec<Brief>> {
    let dir = data.join(FOLDER);
    let names = names_in(&dir).map_err(EraseError::io("list", &dir))?;
    let read = |name: &String| serde_json::from_slice(&fs::read(dir.join(name)).ok()?).ok();
    Ok(names.iter().rev().filter(|name| name.ends_with(".json")).filter_map(read).take(most).collect())
}

/// A certificate as it is kept; none when there is none of this name.
///
/// # Errors
/// [`EraseError::Io`].
pub fn certificate(data: &Path, id: &str) -> Result<Option<Value>> {
    let path = data.join(FOLDER).join(format!("{id}.json"));
    let is_name = id.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
    let kept = if is_name { if_there(fs::read(&path)).map_err(EraseError::io("read", &path))? } else { None };
    kept.map(|bytes| serde_json::from_slice(&bytes).map_err(|e| EraseError::io("read", &path)(e.into()))).transpose()
}
