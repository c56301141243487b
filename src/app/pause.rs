//! The operator's pause, kept over restarts as the file `paused` of the data folder: who paused a crawl for a complaint must not
//! find it crawling after the machine was started again.

use crate::base::disk::own;
use std::fs::{self, File};
use std::io::{ErrorKind, Result};
use std::path::Path;

const NAME: &str = "paused";

pub(super) fn stands(data: &Path) -> bool {
    data.join(NAME).exists()
}

/// Keeps a pause, or takes it back.
///
/// # Errors
/// Those of the file system; then the next start does not know.
pub(super) fn keep(data: &Path, paused: bool) -> Result<()> {
    let path = data.join(NAME);
    if paused {
        own::create(&path)?.sync_all()?;
    } else if let Err(e) = fs::remove_file(path)
        && e.kind() != ErrorKind::NotFound
    {
        return Err(e);
    }
    File::open(data)?.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pause_stands_until_it_is_taken_back() {
        let dir = tempfile::tempdir().unwrap();
        assert!(!stands(dir.path()));
        keep(dir.path(), true).unwrap();
        keep(dir.path(), true).unwrap();
        assert!(stands(dir.path()));
        keep(dir.path(), false).unwrap();
        keep(dir.path(), false).unwrap();
        assert!(!stands(dir.path()));
        assert!(keep(&dir.path().join("none"), true).is_err());
    }
}
