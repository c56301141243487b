//! Files that have a fixed name in a folder of ours: a symbolic link in the place of one is never written through, for it may
//! lead to anything else of whoever runs the crawl.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// Options that do not follow a link; for a file whose content matters.
pub fn options() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.custom_flags(nix::libc::O_NOFOLLOW);
    options
}

/// Opens a file with [`options`], made what it is to be by `how`.
///
/// # Errors
/// The system's own; a link is named as what it is.
pub fn open(path: &Path, how: impl FnOnce(&mut OpenOptions) -> &mut OpenOptions) -> io::Result<File> {
    how(&mut options()).open(path).map_err(|e| if is_link(&e) { io::Error::new(e.kind(), LINK) } else { e })
}

const LINK: &str = "it is a symbolic link, and those are not written through; put the file itself in its place";

/// A new, empty file in the place of whatever had its name.
pub fn create(path: &Path) -> io::Result<File> {
    match fs::remove_file(path) {
        Err(e) if e.kind() != io::ErrorKind::NotFound => return Err(e),
        _ => {}
    }
    File::create_new(path)
}

/// A file to be written in place, whose former content means nothing where it is a link.
pub fn in_place(path: &Path) -> io::Result<File> {
    match options().create(true).truncate(false).write(true).open(path) {
        Err(e) if is_link(&e) => create(path),
        opened => opened,
    }
}

fn is_link(error: &io::Error) -> bool {
    error.raw_os_error() == Some(nix::libc::ELOOP)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_is_never_written_through() {
        let dir = tempfile::tempdir().unwrap();
        let (victim, name) = (dir.path().join("victim"), dir.path().join("name"));
        fs::write(&victim, "precious").unwrap();
        let link = || std::os::unix::fs::symlink(&victim, &name).unwrap();
        link();
        let error = open(&name, |options| options.create(true).append(true)).unwrap_err();
        assert!(error.to_string().contains("symbolic link"), "{error}");
        for write in [create, in_place] {
            io::Write::write_all(&mut write(&name).unwrap(), b"ours").unwrap();
            assert_eq!((fs::read(&name).unwrap(), fs::read(&victim).unwrap()), (b"ours".into(), b"precious".into()));
            fs::remove_file(&name).unwrap();
            link();
        }
    }

    #[test]
    fn a_file_in_place_keeps_its_content_and_a_new_one_does_not() {
        let dir = tempfile::tempdir().unwrap();
        let name = dir.path().join("name");
        fs::write(&name, "before").unwrap();
        drop(in_place(&name).unwrap());
        assert_eq!(fs::read(&name).unwrap(), b"before");
        drop(create(&name).unwrap());
        assert!(fs::read(&name).unwrap().is_empty());
    }
}
