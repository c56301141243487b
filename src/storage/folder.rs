//! The data folder's marker: a file that says "this is a crawl of that format" before any database is opened.
//!
//! The database keeps the version too ([`super::values::Format`]), but it cannot be asked before it is opened, and opening it
//! with families it does not know already changes it.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use nix::unistd::AccessFlags;

use super::{FORMAT_VERSION, StorageError};
use crate::base::disk::own;

/// The marker's name.
pub const MARKER: &str = "FORMAT";
/// Where the marker is written before it gets its name.
const MARKER_NEW: &str = "FORMAT.new";
/// The database's folder within the data folder.
const DATABASE: &str = "db";
const HEADLINE: &str = "lycosa data folder";
/// A marker is two short lines; what is longer is none.
const MARKER_CAP: u64 = 1024;

/// Makes a new or empty folder a data folder, or checks that it is one of this format. Gives the database's folder.
///
/// # Errors
/// [`StorageError::NotADataFolder`] for a folder with other things in it, [`StorageError::Version`] for another format,
/// [`StorageError::Folder`] when the system refuses. Nothing in a folder that is refused is touched.
pub fn prepare(dir: &Path) -> Result<PathBuf, StorageError> {
    make(dir).map_err(|source| failed(dir, source))?;
    match read_marker(dir)? {
        Some(text) => check(dir, &text)?,
        None if is_empty(dir)? => write_marker(dir)?,
        None => return Err(StorageError::NotADataFolder { path: dir.into() }),
    }
    refuse_lost(dir)?;
    Ok(dir.join(DATABASE))
}

/// Refuses a folder that had a crawl and has no database any more: a new one would hide the loss.
fn refuse_lost(dir: &Path) -> Result<(), StorageError> {
    let lost = !dir.join(DATABASE).join("CURRENT").exists() && has_lines(dir);
    if lost { Err(StorageError::Gone { path: dir.into() }) } else { Ok(()) }
}

/// True when a crawl has finished URLs here.
pub(in crate::storage) fn has_lines(dir: &Path) -> bool {
    fs::metadata(dir.join("crawl.jsonl")).is_ok_and(|found| found.len() > 0)
}

/// Whether [`prepare`] would take this folder, as far as can be told without making or writing anything.
///
/// # Errors
/// As [`prepare`].
pub fn look(dir: &Path) -> Result<(), StorageError> {
    match fs::metadata(dir) {
        Ok(found) if !found.is_dir() => return Err(failed(dir, io::ErrorKind::NotADirectory.into())),
        Ok(_) => match read_marker(dir)? {
            Some(text) => check(dir, &text)?,
            None if is_empty(dir)? => {}
            None => return Err(StorageError::NotADataFolder { path: dir.into() }),
        },
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(failed(dir, error)),
    }
    // The folder, or the nearest one above it that is there and in which it would be made.
    let mut named = dir.ancestors().map(|d| if d.as_os_str().is_empty() { Path::new(".") } else { d });
    let Some(there) = named.find(|d| d.exists()) else { return Ok(()) };
    if !there.is_dir() {
        return Err(failed(there, io::ErrorKind::NotADirectory.into()));
    }
    let wanted = AccessFlags::W_OK | AccessFlags::X_OK;
    nix::unistd::access(there, wanted).map_err(|errno| failed(there, errno.into()))
}

/// Makes a folder and those above it, so that they are there after a loss of power too.
fn make(dir: &Path) -> io::Result<()> {
    let missing: Vec<&Path> = dir.ancestors().take_while(|d| !d.as_os_str().is_empty() && !d.exists()).collect();
    fs::create_dir_all(dir)?;
    missing.iter().filter_map(|made| made.parent()).try_for_each(sync_names)
}

/// Brings the names in a folder to the disk.
pub(super) fn sync_names(dir: &Path) -> io::Result<()> {
    let dir = if dir.as_os_str().is_empty() { Path::new(".") } else { dir };
    File::open(dir)?.sync_all()
}

/// The database's folder of a data folder of this format; `None` for an empty folder, in which no crawl has begun. Makes
/// and writes nothing.
///
/// # Errors
/// As [`prepare`]; [`StorageError::Folder`] also when there is no such folder.
pub fn find(dir: &Path) -> Result<Option<PathBuf>, StorageError> {
    match read_marker(dir)? {
        Some(text) => check(dir, &text)?,
        None if is_empty(dir)? => return Ok(None),
        None => return Err(StorageError::NotADataFolder { path: dir.into() }),
    }
    refuse_lost(dir)?;
    let database = dir.join(DATABASE);
    Ok(database.join("CURRENT").exists().then_some(database)) // a first start may have been killed before there was one
}

/// Takes away what the first opening of an empty folder made of it: the database, in which there must be nothing, and the marker.
///
/// # Errors
/// The system's.
pub fn clear(dir: &Path) -> io::Result<()> {
    let gone = |removed: io::Result<()>| match removed {
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(()),
        removed => removed,
    };
    gone(fs::remove_dir_all(dir.join(DATABASE)))?;
    gone(fs::remove_file(dir.join(MARKER)))
}

fn failed(path: &Path, source: io::Error) -> StorageError {
    StorageError::Folder { path: path.into(), source }
}

/// The marker's text, if there is a marker.
fn read_marker(dir: &Path) -> Result<Option<String>, StorageError> {
    let path = dir.join(MARKER);
    match fs::metadata(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(failed(&path, error)),
        Ok(found) if !found.is_file() || found.len() > MARKER_CAP => {
            Err(StorageError::NotADataFolder { path: dir.into() })
        }
        Ok(_) => {
            let bytes = fs::read(&path).map_err(|source| failed(&path, source))?;
            Ok(Some(String::from_utf8_lossy(&bytes).into_owned()))
        }
    }
}

/// Refuses a marker that is not ours or of another format.
fn check(dir: &Path, text: &str) -> Result<(), StorageError> {
    let mut lines = text.lines();
    if lines.next() != Some(HEADLINE) {
        return Err(StorageError::NotADataFolder { path: dir.into() });
    }
    let found = lines.next().and_then(|line| line.strip_prefix("format ")).unwrap_or("unknown");
    if found == FORMAT_VERSION.to_string() {
        return Ok(());
    }
    let found = found.chars().filter(|c| !c.is_control()).take(40).collect();
    Err(StorageError::Version { path: dir.into(), found })
}

/// True when there is nothing in the folder but what a file system or a killed first start leaves there.
fn is_empty(dir: &Path) -> Result<bool, StorageError> {
    for entry in fs::read_dir(dir).map_err(|source| failed(dir, source))? {
        let name = entry.map_err(|source| failed(dir, source))?.file_name();
        if name != "lost+found" && name != MARKER_NEW {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Writes the marker so that it is there whole or not at all, also after a loss of power.
fn write_marker(dir: &Path) -> Result<(), StorageError> {
    let (new, path) = (dir.join(MARKER_NEW), dir.join(MARKER));
    let write = || -> io::Result<()> {
        let mut file = own::create(&new)?;
        writeln!(file, "{HEADLINE}\nformat {FORMAT_VERSION}")?;
        file.sync_all()?;
        fs::rename(&new, &path)?;
        sync_names(dir)
    };
    write().map_err(|source| failed(&path, source))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_folder_becomes_a_data_folder_and_is_known_again() {
        let base = tempfile::tempdir().unwrap();
        let dir = base.path().join("a/b");
        assert_eq!(prepare(&dir).unwrap(), dir.join("db"));
        fs::write(dir.join("other"), "x").unwrap();
        assert_eq!(prepare(&dir).unwrap(), dir.join("db"));
    }

    #[test]
    fn a_first_start_that_was_killed_does_not_spoil_the_folder() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join(MARKER_NEW), "lyc").unwrap();
        prepare(dir.path()).unwrap();
        assert!(prepare(dir.path()).is_ok());
    }

    #[test]
    fn a_folder_with_other_things_in_it_is_refused_and_left_alone() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("thesis.txt"), "x").unwrap();
        let error = prepare(dir.path()).unwrap_err();
        assert!(matches!(error, StorageError::NotADataFolder { .. }), "{error}");
        assert!(error.to_string().contains("--data"), "{error}");
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    }

    #[test]
    fn looking_refuses_what_would_be_refused_and_makes_nothing() {
        let base = tempfile::tempdir().unwrap();
        let path = |name: &str| base.path().join(name);
        look(&path("a/b")).unwrap();
        look(base.path()).unwrap();
        fs::write(path("file"), "x").unwrap();
        assert!(matches!(look(&path("file")), Err(StorageError::Folder { .. })));
        assert!(matches!(look(&path("file/a")), Err(StorageError::Folder { .. })));
        assert!(matches!(look(base.path()), Err(StorageError::NotADataFolder { .. })));
        assert_eq!(fs::read_dir(base.path()).unwrap().count(), 1);
        prepare(&path("data")).unwrap();
        look(&path("data")).unwrap();
        fs::write(path("data").join(MARKER), format!("{HEADLINE}\nformat 999\n")).unwrap();
        assert!(matches!(look(&path("data")), Err(StorageError::Version { .. })));
    }

    #[test]
    fn another_format_is_refused_by_its_number() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join(MARKER), format!("{HEADLINE}\nformat 999\n")).unwrap();
        let error = prepare(dir.path()).unwrap_err().to_string();
        assert!(error.contains("has format 999") && error.contains(&format!("format {FORMAT_VERSION};")), "{error}");
    }

    #[test]
    fn a_marker_of_something_else_is_no_marker() {
        for text in ["", "\n", "some other program's FORMAT\nformat 1\n", "\u{0}\u{0}"] {
            let dir = tempfile::tempdir().unwrap();
            fs::write(dir.path().join(MARKER), text).unwrap();
            assert!(matches!(prepare(dir.path()), Err(StorageError::NotADataFolder { .. })), "{text:?}");
        }
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join(MARKER)).unwrap();
        assert!(matches!(prepare(dir.path()), Err(StorageError::NotADataFolder { .. })));
    }

    #[test]
    fn a_file_in_the_folders_place_is_an_error_that_names_it() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("data");
        fs::write(&file, "x").unwrap();
        let error = prepare(&file).unwrap_err();
        assert!(matches!(error, StorageError::Folder { .. }), "{error}");
        assert!(error.to_string().contains("data"), "{error}");
    }
}
