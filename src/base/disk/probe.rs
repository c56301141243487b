//! Looks at a file system: what is left, and whether a write goes through to it.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

use nix::fcntl::{FallocateFlags, fallocate};
use nix::sys::statvfs::statvfs;

use super::policy::Room;

/// What is left where `path` lies.
pub fn room(path: &Path) -> io::Result<Room> {
    let found = statvfs(path)?;
    let bytes = |blocks: u64| blocks.saturating_mul(found.fragment_size());
    Ok(Room {
        free: bytes(found.blocks_available()),
        total: bytes(found.blocks()),
        free_files: found.files_available(),
        files: found.files(),
    })
}

/// Writes a nameless file of `bytes` to `dir` and syncs it.
///
/// # Errors
/// What a write of that size would meet.
pub fn probe(dir: &Path, bytes: u64) -> io::Result<()> {
    let mut file = tempfile::tempfile_in(dir)?;
    file.write_all(&[0; 4096])?;
    allocate(&file, bytes)?;
    file.sync_all()
}

/// Gives a file blocks for `bytes`. Where the file system cannot do that at once, zeros are written.
pub(super) fn allocate(mut file: &File, bytes: u64) -> io::Result<()> {
    use nix::errno::Errno;
    let len = i64::try_from(bytes).map_err(io::Error::other)?;
    match fallocate(file, FallocateFlags::empty(), 0, len) {
        Ok(()) => Ok(()),
        Err(Errno::EOPNOTSUPP | Errno::ENOSYS) => {
            let piece = vec![0; 1 << 20];
            let mut left = bytes;
            while left > 0 {
                let now = usize::try_from(left).unwrap_or(usize::MAX).min(piece.len());
                file.write_all(piece.get(..now).unwrap_or_default())?;
                left -= now as u64;
            }
            Ok(())
        }
        Err(errno) => Err(errno.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_probe_leaves_nothing_and_tells_what_a_write_would_meet() {
        let dir = tempfile::tempdir().unwrap();
        probe(dir.path(), 1 << 20).unwrap();
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
        assert!(probe(dir.path(), 1 << 60).is_err(), "no disk has an exbibyte free");
        assert!(probe(&dir.path().join("none"), 1).is_err());
    }

    #[test]
    fn the_room_of_a_folder_is_that_of_its_file_system() {
        let room = room(&std::env::temp_dir()).unwrap();
        assert!(room.free > 0 && room.free <= room.total, "{room:?}");
    }
}
