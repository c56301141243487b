//! Where an export is written: under `PATH.lycosa-part`, a file or a folder, which becomes `PATH` when it is whole. Dropped before, it is removed.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use data_encoding::HEXLOWER;
use nix::fcntl::{Flock, FlockArg};
use sha2::{Digest as _, Sha256};

use super::manifest::{FileSaid, Manifest};
use super::{ExportError, Owner, Shape};
use crate::base::disk::own;

/// Bytes gathered for a write.
const GATHER: usize = 256 << 10;
/// Bytes after which the owner is asked again whether it goes on.
const ASK: usize = 1 << 20;
/// Name of the manifest.
pub const MANIFEST: &str = "MANIFEST.json";

/// What the name of one that is being written ends with: nobody else's files are called so.
pub const PART: &str = ".lycosa-part";

/// An export being written.
pub struct Output<'a> {
    shape: Shape,
    to: PathBuf,
    part: PathBuf,
    owner: &'a dyn Owner,
    files: Vec<FileSaid>,
    whole: bool,
    _lock: Flock<File>,
}

/// `PATH.suffix`.
fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

/// The folder a path is in.
fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Whether what is there may go: a file for a file; for a folder one that is empty, or an export.
fn is_replaceable(path: &Path, shape: Shape) -> bool {
    let is_export = || {
        let manifest = fs::read_to_string(path.join(MANIFEST)).unwrap_or_default();
        manifest.contains("\"software\": \"Lycosa/")
            || fs::read_dir(path).is_ok_and(|mut entries| entries.next().is_none())
    };
    path.symlink_metadata().is_ok_and(|found| match shape {
        Shape::File => found.is_file(),
        Shape::Folder => found.is_dir() && is_export(),
    })
}

impl<'a> Output<'a> {
    /// Begins to write what becomes `to`. What a killed export left there is removed; `replace`: so is, at the end, what has that name.
    ///
    /// # Errors
    /// [`ExportError::There`], [`ExportError::Busy`], [`ExportError::Write`].
    pub fn begin(shape: Shape, to: &Path, replace: bool, owner: &'a dyn Owner) -> Result<Self, ExportError> {
        let unwritten = || ExportError::write(to);
        if to == Path::new("-") {
            let why = "an export is a file or folder with a manifest, not standard output: name one, ./- if it is to be called so";
            return Err(ExportError::Asked(why.into()));
        }
        if to.file_name().is_none() {
            return Err(ExportError::Asked(format!("{} names no file or folder to be made", to.display())));
        }
        let to = &to.components().collect::<PathBuf>(); // without a slash at its end
        let manifest = beside(to, &format!(".{MANIFEST}"));
        for path in [Some(to), Some(&manifest).filter(|_| shape == Shape::File)].into_iter().flatten() {
            match path.symlink_metadata() {
                Ok(_) if !replace => return Err(ExportError::There(path.clone())),
                Ok(_) if !is_replaceable(path, shape) => {
                    let why = "it is there, and neither a file nor a folder that an export made; name another place";
                    return Err(ExportError::Asked(format!("{}: {why}", path.display())));
                }
                _ => {}
            }
        }
        fs::create_dir_all(folder_of(to)).map_err(unwritten())?;
        let part = beside(to, PART);
        if let Ok(left) = own::open(&part, |how| how.read(true)) {
            let _not_at_work = locked(left, to)?;
            remove(&part).map_err(unwritten())?;
        }
        let made = match shape {
            Shape::File => own::create(&part),
            Shape::Folder => fs::create_dir(&part).and_then(|()| own::open(&part, |how| how.read(true))),
        };
        let lock = locked(made.map_err(unwritten())?, to)?;
        let to = to.to_owned();
        Ok(Self { shape, to, part, owner, files: Vec::new(), whole: false, _lock: lock })
    }

    /// Begins a file. Of a folder `name` is relative to it, with `/`; a single file has its own name whatever is said.
    ///
    /// # Errors
    /// The system's own.
    pub fn file(&self, name: &str) -> Result<Sink<'a>, ExportError> {
        let (path, name) = match self.shape {
            Shape::File => (self.part.clone(), self.to.file_name().unwrap_or_default().to_string_lossy().into_owned()),
            Shape::Folder => (self.part.join(name), name.to_owned()),
        };
        let opened = match self.shape {
            Shape::File => own::open(&path, |how| how.write(true).truncate(true)),
            Shape::Folder => fs::create_dir_all(folder_of(&path)).and_then(|()| File::create_new(&path)),
        };
        let file = BufWriter::with_capacity(GATHER, opened.map_err(ExportError::write(&path))?);
        Ok(Sink { file, sha: Sha256::new(), length: 0, name, owner: self.owner, unasked: 0 })
    }

    /// Ends a file: it is brought to the disk and named in the manifest.
    ///
    /// # Errors
    /// The system's own.
    pub fn keep(&mut self, sink: Sink<'a>) -> Result<(), ExportError> {
        let Sink { file, sha, length, name, .. } = sink;
        file.into_inner().map_err(io::IntoInnerError::into_error)?.sync_all()?;
        self.files.push(FileSaid { name, bytes: length, sha256: HEXLOWER.encode(&sha.finalize()) });
        Ok(())
    }

    /// Asks the owner whether it goes on.
    ///
    /// # Errors
    /// [`ExportError::Stopped`].
    pub fn goes_on(&self) -> Result<(), ExportError> {
        if self.owner.goes_on() { Ok(()) } else { Err(ExportError::Stopped) }
    }

    /// A folder for nameless temporary files.
    pub fn scratch(&self) -> &Path {
        folder_of(&self.to)
    }

    /// What it becomes.
    pub fn to(&self) -> &Path {
        &self.to
    }

    /// All files are kept: writes the manifest and gives the export its name.
    ///
    /// # Errors
    /// The system's own.
    pub fn end(mut self, mut manifest: Manifest) -> Result<Manifest, ExportError> {
        self.files.sort_by(|a, b| a.name.cmp(&b.name));
        manifest.files = std::mem::take(&mut self.files);
        let mut text = serde_json::to_vec_pretty(&manifest).map_err(io::Error::from)?;
        text.push(b'\n');
        match self.shape {
            Shape::Folder => {
                written(&self.part.join(MANIFEST), &text)?;
                self.swap_folder()?;
            }
            Shape::File => {
                let (named, part) = (beside(&self.to, &format!(".{MANIFEST}")), beside(&self.part, ".json"));
                written(&part, &text)?;
                fs::rename(&self.part, &self.to)?;
                fs::rename(part, named)?;
            }
        }
        self.whole = true;
        File::open(folder_of(&self.to))?.sync_all()?;
        Ok(manifest)
    }

    /// Puts the folder in the place of one that may be there.
    fn swap_folder(&self) -> io::Result<()> {
        let replaced = beside(&self.to, ".lycosa-replaced");
        remove(&replaced)?;
        match fs::rename(&self.to, &replaced) {
            Err(e) if e.kind() != io::ErrorKind::NotFound => return Err(e),
            _ => {}
        }
        fs::rename(&self.part, &self.to)?;
        remove(&replaced)
    }
}

impl Drop for Output<'_> {
    fn drop(&mut self) {
        if !self.whole
            && let Err(e) = remove(&self.part).and_then(|()| remove(&beside(&self.part, ".json")))
        {
            log::warn!("what was written of an export is not removed: path={} error={e}", self.part.display());
        }
    }
}

/// The lock of whoever writes it, given up by Drop.
fn locked(file: File, to: &Path) -> Result<Flock<File>, ExportError> {
    Flock::lock(file, FlockArg::LockExclusiveNonblock).map_err(|_| ExportError::Busy(to.to_owned()))
}

/// Removes a file or a folder, if it is there.
fn remove(path: &Path) -> io::Result<()> {
    let found = match path.symlink_metadata() {
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(()),
        found => found?,
    };
    if found.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) }
}

fn written(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = own::create(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}

/// A file of an export; all that is written is digested.
pub struct Sink<'a> {
    file: BufWriter<File>,
    sha: Sha256,
    length: u64,
    name: String,
    owner: &'a dyn Owner,
    unasked: usize,
}

impl Sink<'_> {
    /// Bytes written so far: the place of the next.
    pub fn position(&self) -> u64 {
        self.length
    }

    /// Its name, relative to the export's folder.
    pub fn name(&self) -> &str {
        &self.name
    }
}

impl Write for Sink<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.unasked += bytes.len();
        if self.unasked >= ASK {
            self.unasked = 0;
            if !self.owner.goes_on() {
                return Err(io::Error::other("stopped"));
            }
        }
        self.file.write_all(bytes)?;
        self.sha.update(bytes);
        self.length += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

#[cfg(test)]
mod tests {
    use nix::sys::stat::Mode;
    use nix::unistd::mkfifo;

    use super::*;

    struct Nobody;

    impl Owner for Nobody {
        fn goes_on(&self) -> bool {
            true
        }
    }

    #[test]
    fn what_no_export_made_stays_whatever_is_asked_for() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        let mine = |name: &str| fs::write(at(name), "mine").unwrap();
        ["file", "foreign.part", "beside.MANIFEST.json", "out.replaced"].into_iter().for_each(mine);
        for folder in ["thesis", "empty", "export", "new.part"] {
            fs::create_dir(at(folder)).unwrap();
        }
        mine("thesis/MANIFEST.json");
        fs::write(at("export/MANIFEST.json"), "{\n  \"software\": \"Lycosa/0.1.0\"").unwrap();
        mkfifo(&at("pipe"), Mode::from_bits_truncate(0o600)).unwrap();
        std::os::unix::fs::symlink(at("thesis"), at("link")).unwrap();
        use Shape::{File, Folder};
        // What is asked for; whether it may be without --force, and with it.
        for (shape, name, plain, forced) in [
            (File, "new", true, true),
            (File, "foreign", true, true),
            (File, "file", false, true),
            (File, "beside", false, true),
            (File, "pipe", false, false),
            (File, "empty", false, false),
            (File, "link", false, false),
            (Folder, "new/", true, true),
            (Folder, "out", true, true),
            (Folder, "empty", false, true),
            (Folder, "export/", false, true),
            (Folder, "thesis", false, false),
            (Folder, "file", false, false),
            (Folder, "link", false, false),
        ] {
            for (replace, may) in [(false, plain), (true, forced)] {
                let begun = Output::begin(shape, &at(name), replace, &Nobody);
                assert_eq!(begun.is_ok(), may, "{shape:?} {name} {replace}");
            }
        }
        for file in ["file", "foreign.part", "beside.MANIFEST.json", "out.replaced", "thesis/MANIFEST.json"] {
            assert_eq!(fs::read_to_string(at(file)).unwrap(), "mine", "{file}");
        }
        assert!(at("new.part").is_dir() && at("empty").is_dir());
    }
}
