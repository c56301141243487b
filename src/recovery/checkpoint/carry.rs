//! A checkpoint sent elsewhere: what is not there yet, then its manifest.

use std::collections::HashMap;
use std::fs;
use std::io::Write;
use std::path::Path;

use serde::Serialize;

use super::layout::{self, ARCHIVE, Copy, WARC, copy_key, is_table, table_key, warc_key};
use super::manifest::{Copied, Manifest, Stored};
use super::pieces::{self, Piece};
use super::place::{Place, Target, put_verified};
use super::restore::Source;
use super::{CheckpointError, Result, lines, tidy, uploads};
use crate::base::disk::is_same_folder;
use crate::base::fault::Faults;
use crate::base::time::UnixMillis;

/// What becomes of the archive's files, and of older copies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum How {
    /// The archive's files go along; what is there stays.
    Whole,
    /// They stay behind; it can be restored without those pages.
    WithoutArchive,
    /// They have been uploaded, all of them; so many periodic copies are kept, and what no copy names goes a day later.
    Kept(usize, UnixMillis),
}

/// What was carried.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[expect(missing_docs, reason = "each name says it")]
pub struct Carried {
    pub name: String,
    pub to: String,
    /// Objects that were sent, the manifest included.
    pub files: usize,
    pub bytes: u64,
    /// Bytes that were there already.
    pub reused: u64,
    /// Archive files that were left behind.
    pub left: Vec<String>,
}

impl From<&Carried> for Copied {
    fn from(done: &Carried) -> Self {
        Self { to: done.to.clone(), objects: done.files, sent_bytes: done.bytes, reused_bytes: done.reused }
    }
}

/// Copies a checkpoint to `target`. Each object that is sent is read back and compared; the manifest is written last.
///
/// # Errors
/// [`CheckpointError::Damaged`] when a file is not what the manifest says; [`CheckpointError::Differs`];
/// [`CheckpointError::NotThere`]; those of the place. Then there is no such copy, and the next one goes on with what was sent.
pub fn export(from: &Source, target: &Target, endpoint: Option<&str>, how: How, faults: &Faults) -> Result<Carried> {
    let place = target.open(endpoint)?;
    let manifest = Manifest::read(&from.dir)?;
    if let (Target::Folder(to), Some(shelf)) = (target, from.dir.parent())
        && is_same_folder(to, shelf)
    {
        return Err(CheckpointError::NotEmpty(to.clone()));
    }
    if let How::Kept(..) = how {
        are_uploaded(from, &manifest)?;
    }
    let to = place.url(&copy_key(&manifest.name));
    let carried = Carried { name: manifest.name.clone(), to, ..Carried::default() };
    // One that cannot be read is no reason not to make another.
    let copies = layout::names(&*place)?.into_iter().filter_map(|name| Copy::read(&*place, &name).ok()?).collect();
    let mut sender = Sender { from, place: &*place, there: layout::stock(&*place)?, copies, carried, faults };
    let copy = sender.send(manifest, how)?;
    faults.check("export.manifest")?;
    sender.carried.files += 1;
    sender.carried.bytes += copy.write(&*place)?;
    faults.check("export.written")?;
    let Sender { there, mut carried, .. } = sender;
    if let How::Kept(keep, now) = how {
        // It is whole, whatever comes of the others.
        match tidy::tidy(&*place, there, &copy.checkpoint, keep, now, faults) {
            Ok(bytes) => carried.bytes += bytes,
            Err(e) => log::warn!("what old copies leave behind was not removed: {e}"),
        }
    }
    Ok(carried)
}

/// Every file of the archive that the manifest names is on the list of what was uploaded.
fn are_uploaded(from: &Source, manifest: &Manifest) -> Result<()> {
    let files = waiting(&from.data, manifest)?;
    if files.is_empty() { Ok(()) } else { Err(CheckpointError::NotThere { name: manifest.name.clone(), files }) }
}

/// Files of the archive that a checkpoint names and that have not been uploaded yet.
pub fn waiting(data: &Path, manifest: &Manifest) -> Result<Vec<String>> {
    let listed = uploads::read_list(data)?;
    let due = manifest.archive.iter().filter(|file| file.bytes > 0);
    let due = due.filter(|file| listed.get(&file.file).is_none_or(|line| line.bytes < file.bytes));
    Ok(due.map(|file| file.file.clone()).collect())
}

/// A copy under way.
struct Sender<'c> {
    from: &'c Source,
    place: &'c dyn Place,
    there: HashMap<String, u64>,
    /// Those there, the oldest first.
    copies: Vec<Copy>,
    carried: Carried,
    faults: &'c Faults,
}

impl Sender<'_> {
    /// Everything but the manifest.
    fn send(&mut self, mut manifest: Manifest, how: How) -> Result<Copy> {
        let mut sent = std::collections::BTreeMap::new();
        for file in std::mem::take(&mut manifest.files) {
            if is_table(&file.file) {
                self.table(&manifest.name, &file)?;
                manifest.files.push(file);
            } else if file.file != uploads::LIST {
                sent.insert(file.file.clone(), self.small(&file, &manifest)?);
            }
        }
        if let Some(lines) = lines::find(&self.from.data, &manifest)? {
            let pieces = self.grown(uploads::JSONL, &lines, manifest.jsonl.bytes, &manifest)?;
            sent.insert(uploads::JSONL.to_owned(), pieces);
        }
        self.archive(&mut manifest, how)?;
        let list = self.from.data.join(uploads::LIST); // as it is by now: it names what was uploaded since
        if let Ok(found) = fs::metadata(&list) {
            sent.insert(uploads::LIST.to_owned(), self.grown(uploads::LIST, &list, found.len(), &manifest)?);
        }
        let archive = std::mem::take(&mut manifest.archive);
        let text = archive.iter().filter_map(|file| serde_json::to_string(file).ok()).map(|line| line + "\n");
        let here = temporary(text.collect::<String>().as_bytes())?;
        let len = fs::metadata(here.path()).map_err(CheckpointError::io("read the length of", here.path()))?.len();
        sent.insert(ARCHIVE.to_owned(), self.grown(ARCHIVE, here.path(), len, &manifest)?);
        Ok(Copy { warc_at: self.place.url(WARC), checkpoint: manifest, pieces: sent })
    }

    /// A table file, under its digest.
    fn table(&mut self, name: &str, file: &Stored) -> Result<()> {
        let key = table_key(file.sha256.as_deref().unwrap_or_default());
        let done = self.object(key, file.bytes, &self.from.dir.join(&file.file))?;
        done.map_or(Ok(()), |done| same(name, file, &done))
    }

    /// Another file of the checkpoint; it is read whole and must be what the checkpoint says.
    fn small(&mut self, file: &Stored, manifest: &Manifest) -> Result<Vec<Piece>> {
        let path = self.from.dir.join(&file.file);
        same(&manifest.name, file, &super::files::digest(&path, u64::MAX)?)?;
        self.grown(&file.file, &path, file.bytes, manifest)
    }

    /// A file in pieces, of which those stay that an older copy has of its beginning.
    fn grown(&mut self, name: &str, path: &Path, len: u64, manifest: &Manifest) -> Result<Vec<Piece>> {
        let mut pieces = self.beginning(name, path, len, &manifest.seed)?;
        let gap = pieces.iter().position(|piece| self.there.get(&piece.key()) != Some(&piece.sent));
        pieces.truncate(gap.unwrap_or(pieces.len()));
        let (kept, parts) = pieces::plan(&pieces, len);
        pieces.truncate(kept);
        self.carried.reused += pieces.iter().map(|piece| piece.sent).sum::<u64>();
        for part in parts {
            let packed = temporary(b"")?;
            let mut file = packed.reopen().map_err(CheckpointError::io("open", packed.path()))?;
            let sha256 = pieces::pack(path, &part, &mut file)?;
            let sent = file.metadata().map_err(CheckpointError::io("read the length of", packed.path()))?.len();
            self.object(pieces::key(&sha256), sent, packed.path())?;
            pieces.push(Piece { sha256, bytes: part.end - part.start, sent });
        }
        Ok(pieces)
    }

    /// The pieces of the newest copy whose file is the beginning of this one. Lines are known by their last bytes, others read.
    fn beginning(&self, name: &str, path: &Path, len: u64, seed: &str) -> Result<Vec<Piece>> {
        for copy in self.copies.iter().rev() {
            let Some(pieces) = copy.pieces.get(name).filter(|_| copy.checkpoint.seed == seed) else { continue };
            if name != uploads::JSONL {
                let shared = pieces::shared(path, pieces, len)?;
                return Ok(pieces.get(..shared).unwrap_or_default().to_vec());
            }
            let bytes = copy.checkpoint.jsonl.bytes;
            if bytes <= len && lines::mark(path, bytes)?.as_ref() == Some(&copy.checkpoint.lines_mark) {
                return Ok(pieces.clone());
            }
        }
        Ok(Vec::new())
    }

    /// The archive's files: those that go along get their digest in the manifest.
    fn archive(&mut self, manifest: &mut Manifest, how: How) -> Result<()> {
        if let How::Kept(..) = how {
            return Ok(());
        }
        let there = self.place.list(layout::WARC)?;
        for file in &mut manifest.archive {
            let (path, key) = (self.from.warc_dir.join(&file.file), warc_key(&file.file));
            if how == How::WithoutArchive || !path.exists() {
                self.carried.left.push(file.file.clone());
                continue;
            }
            self.faults.check("export.archive")?;
            let (bytes, sha256) = super::files::digest(&path, file.bytes)?;
            match there.get(&key) == Some(&bytes) && is_same(self.place, &key, &sha256)? {
                true => self.carried.reused += bytes,
                false => self.sent(put_verified(self.place, &key, &path, file.bytes)?.0),
            }
            (file.bytes, file.sha256) = (bytes, Some(sha256));
        }
        Ok(())
    }

    /// Sends an object, unless one of this name and length is there; gives what was sent.
    fn object(&mut self, key: String, bytes: u64, from: &Path) -> Result<Option<(u64, String)>> {
        if self.there.get(&key) == Some(&bytes) {
            self.carried.reused += bytes;
            return Ok(None);
        }
        self.faults.check("export.object")?;
        let done = put_verified(self.place, &key, from, u64::MAX)?;
        self.sent(done.0);
        self.there.insert(key, done.0);
        Ok(Some(done))
    }

    fn sent(&mut self, bytes: u64) {
        self.carried.files += 1;
        self.carried.bytes += bytes;
    }
}

/// Whether an object has this digest: an erasure changes an archive file and not its length.
fn is_same(place: &dyn Place, key: &str, sha256: &str) -> Result<bool> {
    Ok(place.get(key, &mut |_| Ok(()))?.is_some_and(|(_, found)| found == sha256))
}

/// A file that goes when it is dropped.
fn temporary(bytes: &[u8]) -> Result<tempfile::NamedTempFile> {
    let made = tempfile::NamedTempFile::new();
    let mut here = made.map_err(CheckpointError::io("make a file in", &std::env::temp_dir()))?;
    here.write_all(bytes).map_err(CheckpointError::io("write", &std::env::temp_dir()))?;
    Ok(here)
}

/// A file is what the manifest says.
pub(super) fn same(name: &str, file: &Stored, found: &(u64, String)) -> Result<()> {
    if found.0 == file.bytes && file.sha256.as_ref() == Some(&found.1) {
        return Ok(());
    }
    let wanted = file.sha256.as_deref().unwrap_or("unknown");
    let problem =
        format!("{} has {} bytes and SHA-256 {}, not {} and {wanted}", file.file, found.0, found.1, file.bytes);
    Err(CheckpointError::Damaged { name: name.to_owned(), problems: vec![problem] })
}
