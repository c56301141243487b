//! What a data folder knows of its membership: the file `MEMBER`. It says who the folder is and by which sessions it has held its lease, and
//! does not go along with checkpoints: a copy of a folder is not that member.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::base::disk::own;
use crate::domain::cluster::map::Map;
use crate::recovery::checkpoint::fetch::MEMBER;

/// Sessions that are remembered: the one in force, and those whose claim nobody knows the end of.
const SESSIONS: usize = 8;

/// What a data folder knows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Identity {
    /// The crawl.
    pub cluster: String,
    /// The member that this folder is.
    pub name: String,
    /// Sessions by which it held its lease, or asked for it, the newest last.
    pub sessions: Vec<String>,
    /// The newest map it has acted by.
    pub map: Map,
    /// The number of the folder in its file system: a copy has another.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub folder: Option<u64>,
    /// By whom it was replaced; such a folder does not start any more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replaced: Option<Replaced>,
}

/// How a folder was replaced.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Replaced {
    /// The machine that took its place, or the word of the operator.
    pub by: String,
    /// When it was noticed, as a date.
    pub at: String,
}

/// Why the file cannot be read or written.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "each message says what its fields are")]
pub enum FolderError {
    #[error("cannot {doing} {}: {source}", path.display())]
    Io { doing: &'static str, path: PathBuf, source: io::Error },
    #[error(
        "{} is damaged ({problem}): remove it, and the next start waits a whole lease before it goes on as the member of its folder",
        path.display()
    )]
    Damaged { path: PathBuf, problem: String },
}

impl Identity {
    /// What the folder `data` knows; none when it is no member yet.
    ///
    /// # Errors
    /// [`FolderError`].
    pub fn read(data: &Path) -> Result<Option<Self>, FolderError> {
        let path = data.join(MEMBER);
        let text = match fs::read(&path) {
            Ok(text) => text,
            Err(e) if matches!(e.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => return Ok(None),
            Err(source) => return Err(FolderError::Io { doing: "read", path, source }),
        };
        let damaged = |problem: String| FolderError::Damaged { path: path.clone(), problem };
        let read: Self = serde_json::from_slice(&text).map_err(|e| damaged(e.to_string()))?;
        let map = Map::read(&read.map.text()).map_err(|e| damaged(e.to_string()))?;
        Ok(Some(Self { map, ..read }))
    }

    /// Writes it, so that it is there whole or as before, also after a loss of power.
    ///
    /// # Errors
    /// [`FolderError::Io`].
    pub fn write(&self, data: &Path) -> Result<(), FolderError> {
        let (path, new) = (data.join(MEMBER), data.join("MEMBER.new"));
        let text = serde_json::to_vec(self).unwrap_or_default(); // texts and numbers: it cannot fail
        let write = || -> io::Result<()> {
            let mut file = own::create(&new)?;
            file.write_all(&text)?;
            file.sync_all()?;
            fs::rename(&new, &path)?;
            fs::File::open(data)?.sync_all()
        };
        write().map_err(|source| FolderError::Io { doing: "write", path: path.clone(), source })
    }

    /// Remembers one more session.
    pub fn remember(&mut self, session: &str) {
        self.sessions.push(session.to_owned());
        let many = self.sessions.len().saturating_sub(SESSIONS);
        self.sessions.drain(..many);
    }
}

/// The number of a folder in its file system.
///
/// # Errors
/// [`FolderError::Io`].
pub fn folder_of(data: &Path) -> Result<u64, FolderError> {
    let found =
        fs::metadata(data).map_err(|source| FolderError::Io { doing: "look at", path: data.to_owned(), source })?;
    Ok(std::os::unix::fs::MetadataExt::ino(&found))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn identity() -> Identity {
        let map = Map::first("n1", 7).unwrap();
        Identity { cluster: "prod".into(), name: "n1".into(), sessions: Vec::new(), map, folder: None, replaced: None }
    }

    #[test]
    fn a_folder_knows_again_who_it_is() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(Identity::read(dir.path()).unwrap(), None);
        let mut known = identity();
        (0..20).for_each(|nth| known.remember(&nth.to_string()));
        known.write(dir.path()).unwrap();
        assert_eq!(Identity::read(dir.path()).unwrap(), Some(known.clone()));
        assert_eq!((known.sessions.len(), known.sessions.last().unwrap().as_str()), (SESSIONS, "19"));
    }

    #[test]
    fn a_damaged_file_is_told_with_what_to_do() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join(MEMBER), "{\"cluster\": \"prod\"").unwrap();
        let error = Identity::read(dir.path()).unwrap_err().to_string();
        assert!(error.contains("remove it"), "{error}");
    }
}
