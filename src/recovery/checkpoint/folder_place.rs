//! A folder as a place for copies.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use super::place::Place;
use super::{CheckpointError, files};

/// The folder; made when something is put there.
#[derive(Debug)]
pub(super) struct FolderPlace(pub PathBuf);

impl Place for FolderPlace {
    fn put(&self, key: &str, from: &Path, most: u64) -> Result<(u64, String), CheckpointError> {
        let to = self.0.join(key);
        files::make_dir(to.parent().unwrap_or(&self.0))?;
        let new = self.0.join(format!("{key}.new"));
        let done = files::copy(from, &new, most)?;
        files::rename(&new, &to)?;
        Ok(done)
    }

    fn get(
        &self,
        key: &str,
        each: &mut dyn FnMut(&[u8]) -> io::Result<()>,
    ) -> Result<Option<(u64, String)>, CheckpointError> {
        let path = self.0.join(key);
        match File::open(&path).and_then(|file| files::digest_of(file, u64::MAX, each)) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(None),
            other => other.map(Some).map_err(CheckpointError::io("read", &path)),
        }
    }

    fn folders(&self) -> Result<Vec<String>, CheckpointError> {
        let mut names = files::names(&self.0)?;
        names.retain(|name| fs::metadata(self.0.join(name)).is_ok_and(|m| m.is_dir()));
        Ok(names)
    }

    fn is_itself(&self, key: &str, file: &Path) -> bool {
        crate::base::disk::is_same_folder(&self.0.join(key), file)
    }

    fn url(&self, key: &str) -> String {
        self.0.join(key).display().to_string()
    }
}
