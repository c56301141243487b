//! The reserve: a file of real blocks in the data folder, given up when a write finds no space, so that the database can
//! be opened again and the last commit and note be made.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use super::probe::allocate;

const NAME: &str = "reserve";

/// The reserve of a data folder.
#[derive(Clone, Debug)]
pub struct Reserve {
    path: PathBuf,
    size: u64,
}

impl Reserve {
    /// That of `data`, of `size` bytes; none when `size` is 0.
    pub fn of(data: &Path, size: u64) -> Self {
        Self { path: data.join(NAME), size }
    }

    /// Bytes that are lacking: 0 when it is there.
    pub fn missing(&self) -> u64 {
        match fs::metadata(&self.path) {
            Ok(found) => self.size.saturating_sub(found.len()),
            Err(_) => self.size,
        }
    }

    /// Makes it, or brings it to its size. One that is only half made is none.
    ///
    /// # Errors
    /// The system's own; then there is none.
    pub fn make(&self) -> io::Result<()> {
        let found = fs::metadata(&self.path).map_or(0, |m| m.len());
        if found == self.size {
            return Ok(());
        }
        self.free();
        if self.size == 0 {
            return Ok(());
        }
        let make = || {
            let file = File::create_new(&self.path)?;
            allocate(&file, self.size)?;
            file.sync_all()
        };
        make().inspect_err(|_| {
            self.free();
        })
    }

    /// Gives it up; true when there was one.
    pub fn free(&self) -> bool {
        fs::remove_file(&self.path).is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::MetadataExt;

    #[test]
    fn a_reserve_takes_real_blocks_and_gives_them_back() {
        let dir = tempfile::tempdir().unwrap();
        let reserve = Reserve::of(dir.path(), 1 << 20);
        assert_eq!(reserve.missing(), 1 << 20);
        reserve.make().unwrap();
        let found = fs::metadata(dir.path().join(NAME)).unwrap();
        assert_eq!((found.len(), reserve.missing()), (1 << 20, 0));
        assert!(found.blocks() * 512 >= 1 << 20, "{} blocks", found.blocks());
        assert!(reserve.free() && !reserve.free());
        assert_eq!(reserve.missing(), 1 << 20);
    }

    #[test]
    fn another_size_is_made_anew_and_none_is_made_of_none() {
        let dir = tempfile::tempdir().unwrap();
        Reserve::of(dir.path(), 8192).make().unwrap();
        Reserve::of(dir.path(), 4096).make().unwrap();
        assert_eq!(fs::metadata(dir.path().join(NAME)).unwrap().len(), 4096);
        Reserve::of(dir.path(), 0).make().unwrap();
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_reserve_that_finds_no_room_leaves_nothing_behind() {
        let dir = tempfile::tempdir().unwrap();
        assert!(Reserve::of(dir.path(), 1 << 60).make().is_err());
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
    }
}
