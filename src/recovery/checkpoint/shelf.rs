//! The folder of checkpoints: which there are, and how many are kept.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::manifest::{Copied, Manifest, Summary, is_name};
use super::{CheckpointError, Result, files};

/// A checkpoint that is being made.
pub(super) const PARTIAL: &str = ".partial";
/// A checkpoint that is being removed.
const GONE: &str = ".gone";

/// The note of a copy, beside the manifest.
const COPIED: &str = "copied.json";

/// The checkpoints there are.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct Listing {
    /// Those with a good manifest, the oldest first.
    pub checkpoints: Vec<Summary>,
    /// Those whose manifest cannot be read, and why.
    pub damaged: Vec<String>,
    /// Bytes on the disk that only checkpoints hold.
    pub held_bytes: u64,
}

/// The folder.
#[derive(Clone, Debug)]
pub struct Shelf(PathBuf);

impl Shelf {
    /// The checkpoints in `dir`, which need not be there.
    pub fn new(dir: PathBuf) -> Self {
        Self(dir)
    }

    /// The folder.
    pub fn dir(&self) -> &Path {
        &self.0
    }

    /// Where a checkpoint is.
    pub fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// Names of the checkpoints, the oldest first. What is half made or half removed has another name.
    pub fn names(&self) -> Result<Vec<String>> {
        Ok(files::names(&self.0)?.into_iter().filter(|name| is_name(name)).collect())
    }

    /// The checkpoint of that name, or the newest whose manifest can be read.
    ///
    /// # Errors
    /// [`CheckpointError::Unknown`], [`CheckpointError::None`], or a manifest that cannot be read.
    pub fn find(&self, name: Option<&str>) -> Result<Manifest> {
        let names = self.names()?;
        match name {
            Some(name) if names.iter().any(|n| n == name) => Manifest::read(&self.path(name)),
            Some(name) => Err(CheckpointError::Unknown { name: name.to_owned(), dir: self.0.clone() }),
            None => {
                let newest = names.iter().rev().find_map(|name| Manifest::read(&self.path(name)).ok());
                newest.ok_or_else(|| CheckpointError::None(self.0.clone()))
            }
        }
    }

    /// Every checkpoint with a good manifest, the oldest first.
    pub fn all(&self) -> Result<Vec<Manifest>> {
        Ok(self.names()?.iter().filter_map(|name| Manifest::read(&self.path(name)).ok()).collect())
    }

    /// What there is, and what it costs; `db` is the database's folder.
    pub fn listing(&self, db: &Path) -> Result<Listing> {
        let mut listing = Listing { held_bytes: self.held(db)?, ..Listing::default() };
        for name in self.names()? {
            match Manifest::read(&self.path(&name)) {
                Ok(manifest) => {
                    let copied = self.copied(&name);
                    listing.checkpoints.push(Summary { copied, ..Summary::from(&manifest) });
                }
                Err(e) => listing.damaged.push(e.to_string()),
            }
        }
        Ok(listing)
    }

    /// Notes that a checkpoint has a whole copy elsewhere.
    pub fn note_copied(&self, name: &str, copied: &Copied) -> Result<()> {
        let text = serde_json::to_vec(copied).unwrap_or_default(); // texts and numbers
        files::write_whole(&self.path(name).join(COPIED), &text)
    }

    /// What is noted of its copy.
    pub fn copied(&self, name: &str) -> Option<Copied> {
        serde_json::from_slice(&fs::read(self.path(name).join(COPIED)).ok()?).ok()
    }

    /// Removes what a kill left half made or half removed; gives the names.
    pub fn sweep(&self) -> Result<Vec<String>> {
        let mut left = files::names(&self.0)?;
        left.retain(|name| {
            let stem = name.strip_suffix(PARTIAL).or_else(|| name.strip_suffix(GONE));
            stem.is_some_and(is_name)
        });
        left.iter().try_for_each(|name| files::remove_dir(&self.path(name)))?;
        Ok(left)
    }

    /// Removes the oldest periodic ones until `keep` of them are left; gives the names of the removed. Those made by hand stay.
    /// Each loses its name first, so that a half removed one is none.
    pub fn prune(&self, keep: usize) -> Result<Vec<String>> {
        // By their own time, and whole ones only: the one just made is never among the old, whatever the others are called.
        let mut whole = self.all()?;
        whole.retain(|manifest| !manifest.by_hand);
        whole.sort_by_key(|manifest| manifest.sequence);
        let mut old: Vec<String> = whole.into_iter().map(|manifest| manifest.name).collect();
        old.truncate(old.len().saturating_sub(keep));
        for name in &old {
            let gone = self.path(&format!("{name}{GONE}"));
            files::rename(&self.path(name), &gone)?;
            files::remove_dir(&gone)?;
        }
        Ok(old)
    }

    /// Digests of the files of whole checkpoints, by their inode: a file with two names is read once only.
    pub(super) fn digests(&self) -> HashMap<(u64, u64), (u64, String)> {
        let mut known = HashMap::new();
        for manifest in self.all().unwrap_or_default() {
            for file in manifest.files {
                let found = fs::metadata(self.path(&manifest.name).join(&file.file)).ok();
                if let (Some(found), Some(sha)) = (found.filter(|f| f.len() == file.bytes), file.sha256) {
                    known.insert((found.dev(), found.ino()), (file.bytes, sha));
                }
            }
        }
        known
    }

    /// Bytes on the disk that only checkpoints hold: those of files that are not (any more) in the database's folder `db`.
    pub fn held(&self, db: &Path) -> Result<u64> {
        let inode = |path: &Path| fs::metadata(path).ok().map(|m| ((m.dev(), m.ino()), m.len()));
        let live: HashSet<_> = files::names(db)?.iter().filter_map(|n| inode(&db.join(n))).map(|(id, _)| id).collect();
        let mut held = HashMap::new();
        for name in self.names()? {
            for folder in [self.path(&name), self.path(&name).join("db")] {
                let files = files::names(&folder)?;
                let files = files.iter().map(|n| folder.join(n)).filter(|path| path.is_file());
                held.extend(files.filter_map(|path| inode(&path)).filter(|(id, _)| !live.contains(id)));
            }
        }
        Ok(held.values().sum())
    }
}

#[cfg(test)]
mod tests {
    use super::super::manifest::{MANIFEST, tests::sample};
    use super::*;

    fn shelf(names: &[&str]) -> (tempfile::TempDir, Shelf) {
        let dir = tempfile::tempdir().unwrap();
        for name in names {
            fs::create_dir(dir.path().join(name)).unwrap();
            let stem: String = name.chars().take(24).collect();
            fs::write(dir.path().join(name).join(MANIFEST), Manifest { name: stem, ..sample() }.text()).unwrap();
        }
        let shelf = Shelf::new(dir.path().to_owned());
        (dir, shelf)
    }

    const A: &str = "20240506070809012-r00001";
    const B: &str = "20240506070809013-r00001";
    const C: &str = "20240506070809014-r00002";

    #[test]
    fn half_made_ones_are_never_offered_and_are_swept_away() {
        let partial = format!("{B}.partial");
        let gone = format!("{C}.gone");
        let (_dir, shelf) = shelf(&[A, &partial, &gone]);
        fs::create_dir(shelf.path("mine")).unwrap();
        assert_eq!(shelf.names().unwrap(), [A]);
        assert_eq!(shelf.find(None).unwrap().name, A);
        assert!(matches!(shelf.find(Some(&partial)), Err(CheckpointError::Unknown { .. })));
        assert_eq!(shelf.sweep().unwrap(), [partial, gone]);
        assert_eq!(files::names(shelf.dir()).unwrap(), [A, "mine"]);
    }

    #[test]
    fn the_newest_are_kept() {
        let (_dir, shelf) = shelf(&[B, C, A]);
        assert_eq!(shelf.prune(2).unwrap(), [A]);
        assert_eq!(shelf.names().unwrap(), [B, C]);
        assert_eq!(shelf.prune(2).unwrap(), [""; 0]);
    }

    #[test]
    fn one_without_a_manifest_is_passed_over_for_an_older_whole_one() {
        let (_dir, shelf) = shelf(&[A, B]);
        fs::remove_file(shelf.path(B).join(MANIFEST)).unwrap();
        assert_eq!(shelf.find(None).unwrap().name, A);
        assert!(shelf.find(Some(B)).is_err());
        fs::write(shelf.path(A).join(MANIFEST), "{").unwrap();
        assert!(matches!(shelf.find(None), Err(CheckpointError::None(_))));
    }

    #[test]
    fn only_what_the_database_has_dropped_counts_as_held() {
        let (dir, shelf) = shelf(&[A, B]);
        let db = dir.path().join("live");
        fs::create_dir(&db).unwrap();
        fs::write(db.join("1.sst"), [0; 1000]).unwrap();
        for name in [A, B] {
            fs::create_dir(shelf.path(name).join("db")).unwrap();
            fs::hard_link(db.join("1.sst"), shelf.path(name).join("db/1.sst")).unwrap();
        }
        let before = shelf.held(&db).unwrap();
        fs::remove_file(db.join("1.sst")).unwrap();
        assert_eq!(shelf.held(&db).unwrap(), before + 1000, "two names, one file");
    }
}
