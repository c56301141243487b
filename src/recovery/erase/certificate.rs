//! What is told of an erasure in the end: `erasures/ID.json`, without the host's name.

use std::path::{Path, PathBuf};

use serde::Serialize;

use super::note::Note;
use super::{EraseError, Found, Result};
use crate::base::clock::Clock;
use crate::recovery::checkpoint::files;
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

#[derive(Clone, Debug, Serialize)]
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
            host: Salted { salt: note.salt.clone(), sha256: note.digest.clone() },
            mode: "own",
            before: note.before.clone(),
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
