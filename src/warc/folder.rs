//! The folder of the archive belongs to one data folder and is open in one process at a time.
//!
//! A start cuts off and removes what its database does not know (I3). That must never happen to the files of another
//! crawl: so the folder holds a note of whose it is, locked while a crawl runs.

use std::fs::{self, File};
use std::io::{Read, Seek, Write};
use std::path::{Path, PathBuf};

use nix::fcntl::{Flock, FlockArg};

use super::append::sync_dir;
use super::error::WarcError;
use crate::base::disk::own;

/// Name of the note.
pub(super) const NOTE: &str = ".lycosa-owner";

/// Whether the folder was ever claimed: an archive that is not where the settings say has no note.
pub fn is_claimed(dir: &Path) -> bool {
    dir.join(NOTE).exists()
}

/// Refuses an archive folder that is another than before: mistyped, or a disk that is not mounted. `captures`: how many are in it.
///
/// # Errors
/// [`WarcError::Unclaimed`].
pub fn claimed_before(dir: &Path, captures: u64) -> Result<(), WarcError> {
    match captures > 0 && !is_claimed(dir) {
        true => Err(WarcError::Unclaimed { dir: dir.to_owned(), captures }),
        false => Ok(()),
    }
}

/// The note of whose a folder is, when it is somebody's.
pub fn owner(dir: &Path) -> Option<PathBuf> {
    let note = dir.join(NOTE);
    let text = fs::read_to_string(&note).unwrap_or_default();
    is_whole(&text).then_some(note)
}

/// What a power failure left of a note that was being written says nothing.
fn is_whole(text: &str) -> bool {
    text.trim().len() == 16 && u64::from_str_radix(text.trim(), 16).is_ok()
}

/// The claim on a folder; given up by Drop, and by the system when the process ends.
#[derive(Debug)]
pub struct Claim {
    _note: Flock<File>,
}

/// Claims `dir` (made when it is missing) for the data folder with this seed.
///
/// # Errors
/// [`WarcError::InUse`] when another process has it, [`WarcError::Foreign`] when it belongs to another data folder,
/// [`WarcError::Io`].
pub fn claim(dir: &Path, seed: u64) -> Result<Claim, WarcError> {
    fs::create_dir_all(dir).map_err(WarcError::io("create the folder", dir))?;
    let path = dir.join(NOTE);
    let opened = own::open(&path, |how| how.read(true).write(true).create(true).truncate(false));
    let file = opened.map_err(WarcError::io("open", &path))?;
    let mut note = Flock::lock(file, FlockArg::LockExclusiveNonblock).map_err(|_| WarcError::InUse(dir.to_owned()))?;
    let mut bytes = Vec::new();
    (&mut *note).take(64).read_to_end(&mut bytes).map_err(WarcError::io("read", &path))?;
    let text = String::from_utf8_lossy(&bytes);
    let own = format!("{seed:016x}");
    if !is_whole(&text) {
        let write = |note: &mut File| -> std::io::Result<()> {
            note.set_len(0)?;
            note.rewind()?;
            writeln!(note, "{own}")?;
            note.sync_all()
        };
        write(&mut note).map_err(WarcError::io("write", &path))?;
        sync_dir(dir)?;
        dir.parent().filter(|p| !p.as_os_str().is_empty()).map_or(Ok(()), sync_dir)?;
    } else if text.trim() != own {
        return Err(WarcError::Foreign { dir: dir.to_owned(), note: path });
    }
    Ok(Claim { _note: note })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_power_failure_left_of_a_note_is_no_note() {
        for left in [&b"\0\0\0\0"[..], b"00ff", b"\xff\xfe garbage", b"0123456789abcdef\0"] {
            let dir = tempfile::tempdir().unwrap();
            fs::write(dir.path().join(NOTE), left).unwrap();
            drop(claim(dir.path(), 7).unwrap());
            assert!(matches!(claim(dir.path(), 8), Err(WarcError::Foreign { .. })), "{left:?}");
        }
    }

    #[test]
    fn a_folder_is_claimed_once_and_by_its_owner_only() {
        let dir = tempfile::tempdir().unwrap();
        let first = claim(dir.path(), 7).unwrap();
        assert!(matches!(claim(dir.path(), 7), Err(WarcError::InUse(_))));
        drop(first);
        drop(claim(dir.path(), 7).unwrap());
        assert!(matches!(claim(dir.path(), 8), Err(WarcError::Foreign { .. })));
    }
}
