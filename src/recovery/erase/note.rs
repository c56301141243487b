//! The file `ERASING`: an erasure is ordered, or under way. It says of which host, what was there before, and which bytes are being overwritten.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use data_encoding::HEXLOWER;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use uuid::Uuid;

use super::{EraseError, Found, Host, Result};
use crate::base::time::UnixMillis;
use crate::recovery::checkpoint::files;
use crate::recovery::if_there;
use crate::warc::date::digits17;

const NAME: &str = "ERASING";
/// The form of the note.
const FORMAT: u32 = 2;

/// An erasure that is ordered, or did not come to its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pending {
    /// Name of its certificate.
    pub id: String,
    /// The host's name.
    pub host: String,
}

/// The erasure of a data folder that is to be gone on with, if there is one.
///
/// # Errors
/// [`EraseError::Io`], [`EraseError::Note`].
pub fn pending(data: &Path) -> Result<Option<Pending>> {
    Ok(Note::read(data)?.map(|note| Pending { id: note.id, host: note.host }))
}

/// Orders an erasure: it is noted for good, and done when the crawl is at rest. One of the same host that is ordered already stays.
///
/// # Errors
/// [`EraseError::Another`], [`EraseError::Io`], [`EraseError::Note`].
pub fn order(data: &Path, host: &Host, now: UnixMillis) -> Result<Pending> {
    let note = match Note::read(data)? {
        Some(note) if note.is_of(host) => note,
        Some(_) => return Err(EraseError::Another(data.to_owned())),
        None => {
            let note = Note::begin(host, now);
            note.write(data)?;
            note
        }
    };
    Ok(Pending { id: note.id, host: note.host })
}

/// Bytes of one file that are overwritten next.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Fill {
    /// A file of the archive by its name; none for `crawl.jsonl`.
    pub file: Option<String>,
    /// Where they begin, and how many they are.
    pub ranges: Vec<(u64, u64)>,
}

/// The note.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Note {
    format: u32,
    /// Name of the certificate.
    pub id: String,
    /// The host's name, which the certificate does not tell.
    pub host: String,
    /// Sixteen random bytes.
    pub salt: String,
    pub began_ms: u64,
    /// Checkpoints stay.
    pub keep_checkpoints: bool,
    /// What was there before anything was changed; none while it is ordered only.
    pub before: Option<Found>,
    /// Digests of the archive's files before the first byte was changed.
    pub files: BTreeMap<String, String>,
    /// Checkpoints that were removed.
    pub checkpoints: Vec<String>,
    /// Where copies of the changed files are that are to be made again, and of files with captures of the host that are not here any more.
    pub copies: Vec<String>,
    pub fill: Fill,
}

/// Shows by whom a name is known that it is the one.
pub fn digest(salt: &str, name: &str) -> String {
    HEXLOWER.encode(&Sha256::digest(format!("{salt}{name}")))
}

impl Note {
    /// Of an erasure that is ordered, and no more.
    pub fn begin(host: &Host, now: UnixMillis) -> Self {
        let (salt, host) = (Uuid::new_v4().simple().to_string(), host.name.clone());
        let id = format!("{}-{}", digits17(now), digest(&salt, &host).get(..8).unwrap_or_default());
        let (keep_checkpoints, before, files, checkpoints, copies, fill) = Default::default();
        Self {
            format: FORMAT,
            id,
            host,
            salt,
            began_ms: now.0,
            keep_checkpoints,
            before,
            files,
            checkpoints,
            copies,
            fill,
        }
    }

    pub fn began(&self) -> UnixMillis {
        UnixMillis(self.began_ms)
    }

    /// True when it is of this host.
    pub fn is_of(&self, host: &Host) -> bool {
        self.host == host.name
    }

    /// The note of a data folder, if there is one.
    pub fn read(data: &Path) -> Result<Option<Self>> {
        let path = data.join(NAME);
        let Some(bytes) = if_there(fs::read(&path)).map_err(EraseError::io("read", &path))? else { return Ok(None) };
        let wrong = |problem: String| EraseError::Note { path: path.clone(), problem };
        let note: Self = serde_json::from_slice(&bytes).map_err(|e| wrong(e.to_string()))?;
        if note.format == FORMAT { Ok(Some(note)) } else { Err(wrong(format!("it has the form {}", note.format))) }
    }

    /// Brings it to the disk, whole or not at all.
    pub fn write(&self, data: &Path) -> Result<()> {
        let path = data.join(NAME);
        let bytes = serde_json::to_vec(self).map_err(|e| EraseError::io("write", &path)(e.into()))?;
        Ok(files::write_whole(&path, &bytes)?)
    }

    pub fn remove(data: &Path) -> Result<()> {
        let path = data.join(NAME);
        if_there(fs::remove_file(&path)).map_err(EraseError::io("remove", &path))?;
        Ok(files::sync_dir(data)?)
    }
}
