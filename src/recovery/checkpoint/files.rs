//! Digests, links, copies and renames that survive a loss of power.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::Path;

use sha2::{Digest, Sha256};

use super::{CheckpointError, Result};
use crate::base::disk::own;
use crate::recovery::{if_there, names_in};

/// Bytes read at a time.
const PIECE: usize = 1 << 20;

/// Hands all bytes of `from` to `each`, at most `most`, and gives their number and SHA-256 in hexadecimal.
pub fn digest_of(
    from: impl Read,
    most: u64,
    mut each: impl FnMut(&[u8]) -> io::Result<()>,
) -> io::Result<(u64, String)> {
    let (mut from, mut sha, mut bytes) = (from.take(most), Sha256::new(), 0);
    let mut piece = vec![0; PIECE];
    loop {
        let n = from.read(&mut piece)?;
        let Some(read) = piece.get(..n).filter(|read| !read.is_empty()) else { break };
        sha.update(read);
        each(read)?;
        bytes += n as u64;
    }
    Ok((bytes, hex(&sha.finalize())))
}

/// Lower-case hexadecimal.
pub fn hex(bytes: &[u8]) -> String {
    data_encoding::HEXLOWER.encode(bytes)
}

/// Length and digest of a file, of its first `most` bytes.
pub fn digest(path: &Path, most: u64) -> Result<(u64, String)> {
    let read = || digest_of(File::open(path)?, most, |_| Ok(()));
    read().map_err(CheckpointError::io("read", path))
}

/// Copies the first `most` bytes of a file to a new file, forced to the disk; gives their number and digest.
pub fn copy(from: &Path, to: &Path, most: u64) -> Result<(u64, String)> {
    let source = File::open(from).map_err(CheckpointError::io("open", from))?;
    let write = || {
        let mut out = own::create(to)?;
        let done = digest_of(source, most, |piece| out.write_all(piece))?;
        out.sync_all()?;
        Ok(done)
    };
    write().map_err(CheckpointError::io("write", to))
}

/// A second name of a file that never changes; a copy where the file system has no links or `to` is on another one.
pub fn link(from: &Path, to: &Path) -> Result<()> {
    match fs::hard_link(from, to) {
        Ok(()) => Ok(()),
        Err(e) if e.kind() == io::ErrorKind::NotFound => Err(CheckpointError::io("link", from)(e)),
        Err(_) => copy(from, to, u64::MAX).map(drop),
    }
}

/// Writes a file that appears whole or not at all.
pub fn write_whole(path: &Path, bytes: &[u8]) -> Result<()> {
    let new = path.with_extension("new");
    let write = || {
        let mut file = own::create(&new)?;
        file.write_all(bytes)?;
        file.sync_all()?;
        fs::rename(&new, path)
    };
    write().map_err(CheckpointError::io("write", path))?;
    sync_parent(path)
}

/// Forces the names in a folder to the disk.
pub fn sync_dir(dir: &Path) -> Result<()> {
    File::open(dir).and_then(|d| d.sync_all()).map_err(CheckpointError::io("sync the folder", dir))
}

/// Forces the name of a file or folder to the disk.
pub fn sync_parent(path: &Path) -> Result<()> {
    path.parent().map_or(Ok(()), |dir| sync_dir(if dir.as_os_str().is_empty() { Path::new(".") } else { dir }))
}

/// Renames, making the folder above `to`; both names are forced to the disk.
pub fn rename(from: &Path, to: &Path) -> Result<()> {
    if let Some(above) = to.parent() {
        make_dir(above)?;
    }
    fs::rename(from, to).map_err(CheckpointError::io("rename to", to))?;
    sync_parent(to)?;
    sync_parent(from)
}

/// Makes a folder and those above it.
pub fn make_dir(dir: &Path) -> Result<()> {
    fs::create_dir_all(dir).map_err(CheckpointError::io("make the folder", dir))
}

/// Removes a folder with all that is in it; none is as good.
pub fn remove_dir(dir: &Path) -> Result<()> {
    if_there(fs::remove_dir_all(dir)).map(drop).map_err(CheckpointError::io("remove the folder", dir))
}

/// The names in a folder, sorted; none when it is not there.
pub fn names(dir: &Path) -> Result<Vec<String>> {
    names_in(dir).map_err(CheckpointError::io("list", dir))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_has_so_many_bytes_and_the_digest_of_them() {
        let dir = tempfile::tempdir().unwrap();
        let (from, to) = (dir.path().join("a"), dir.path().join("b"));
        fs::write(&from, "abcdef").unwrap();
        let copied = copy(&from, &to, 3).unwrap();
        assert_eq!(fs::read(&to).unwrap(), b"abc");
        assert_eq!(copied, digest(&to, u64::MAX).unwrap());
        assert_eq!(copied.1, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"); // FIPS 180-2, B.1
    }

    #[test]
    fn a_folder_that_is_not_there_has_no_names() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(names(&dir.path().join("x")).unwrap(), [""; 0]);
        remove_dir(&dir.path().join("x")).unwrap();
    }
}
