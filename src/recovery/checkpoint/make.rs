//! Making a checkpoint: the database is linked in one moment, everything else is done afterwards, off the Store's thread.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::manifest::{Counts, FORMAT, MANIFEST, Manifest, Stored, moment, name};
use super::shelf::PARTIAL;
use super::{CheckpointError, Result, Shelf, files, lines, uploads};
use crate::base::fault::Faults;
use crate::base::time::UnixMillis;
use crate::domain::cluster::lease::Whole;
use crate::domain::fingerprint::CrawlId;
use crate::domain::partition::Partition;
use crate::storage::share::Share;
use crate::storage::values::{Counters, FileLengths, Format, Received, RunState};
use crate::storage::{Storage, folder, read};
use crate::warc::date::iso;
use crate::warc::name::is_warc;

/// What the database and the archive's folder say at the moment of the checkpoint.
#[derive(Clone, Debug)]
pub struct Position {
    seed: u64,
    run: u32,
    sequence: u64,
    counts: Counts,
    jsonl: u64,
    archive: Vec<Stored>,
    member: Option<Whole>,
}

/// What the other members of a crawl wait for, as far as it is in the database; none of a folder that is no member. Rows of links may come at
/// any time: it is looked at before the database is linked.
///
/// # Errors
/// The storage's own.
pub fn of_member(storage: &dyn Storage) -> Result<Option<Whole>> {
    let Some(share) = Share::load(storage).map_err(|e| CheckpointError::Node(e.to_string()))? else { return Ok(None) };
    let received: Received = read::meta(storage, ())?.unwrap_or_default();
    let covers = received.got.iter().filter(|((_, to), _)| share.is_me(*to)).map(|((from, _), last)| (from.0, *last));
    let named =
        |objects: &BTreeMap<Partition, String>| objects.iter().map(|(p, object)| (p.0, object.clone())).collect();
    Ok(Some(Whole { covers: covers.collect(), gone: named(&share.held.gone), came: named(&share.held.came) }))
}

impl Position {
    /// Looks; the caller sees to it that nothing changes meanwhile and that no archive file is open. `member`: what was found by [`of_member`]
    /// before the database was linked.
    ///
    /// # Errors
    /// Storage or the archive's folder.
    pub fn look(storage: &dyn Storage, warc_dir: &Path, member: Option<Whole>) -> Result<Self> {
        let file_lengths: FileLengths = read::meta(storage, ())?.unwrap_or_default();
        let counters: Counters = read::meta(storage, CrawlId::default())?.unwrap_or_default();
        Ok(Self {
            seed: read::meta::<Format>(storage, ())?.map_or(0, |f| f.seed),
            run: read::meta::<RunState>(storage, ())?.map_or(0, |r| r.runs),
            sequence: storage.sequence(),
            counts: Counts::from(&counters),
            jsonl: file_lengths.jsonl,
            archive: closed_files(warc_dir)?,
            member,
        })
    }
}

/// The archive's files that are closed, with their lengths.
pub fn closed_files(warc_dir: &Path) -> Result<Vec<Stored>> {
    let mut closed = Vec::new();
    for file in files::names(warc_dir)? {
        if !file.starts_with('.') && (is_warc(&file) || file.ends_with(".cdxj")) {
            let path = warc_dir.join(&file);
            let bytes = fs::metadata(&path).map_err(CheckpointError::io("read the length of", &path))?.len();
            closed.push(Stored { file, bytes, sha256: None });
        }
    }
    Ok(closed)
}

/// Whose checkpoint it is.
#[derive(Clone, Debug)]
#[expect(missing_docs, reason = "each name says it")]
pub struct About {
    pub data: PathBuf,
    pub crawl: String,
    /// How many periodic ones are kept.
    pub keep: usize,
    pub by_hand: bool,
}

/// A checkpoint that is not whole yet. Dropped unfinished, it is removed.
#[derive(Debug)]
pub struct Draft {
    shelf: Shelf,
    name: String,
    at: UnixMillis,
    dir: PathBuf,
    whole: bool,
}

/// The moment in a name: names sort in the order in which they were made, also when the clock was set back meanwhile.
fn named_after(shelf: &Shelf, at: UnixMillis) -> Result<UnixMillis> {
    let last = shelf.names()?.last().and_then(|name| moment(name));
    Ok(last.filter(|last| at < *last).map_or(at, |last| last.plus(Duration::from_millis(1))))
}

impl Draft {
    /// Begins one; what a kill left of others is swept away. One at a time: the caller sees to that.
    pub fn begin(shelf: &Shelf, at: UnixMillis, run: u32) -> Result<Self> {
        files::make_dir(shelf.dir())?;
        let swept = shelf.sweep()?;
        if !swept.is_empty() {
            log::info!("incomplete checkpoints removed: names={swept:?}");
        }
        let name = name(named_after(shelf, at)?, run);
        let dir = shelf.path(&format!("{name}{PARTIAL}"));
        fs::create_dir(&dir).map_err(CheckpointError::io("make the folder", &dir))?;
        Ok(Self { shelf: shelf.clone(), name, at, dir, whole: false })
    }

    /// Where the database is to be linked.
    pub fn db(&self) -> PathBuf {
        self.dir.join("db")
    }

    /// Digests, manifest, name; then the oldest go. This reads what no older checkpoint has, so it may take long.
    ///
    /// # Errors
    /// [`CheckpointError`]; then there is no such checkpoint.
    pub fn finish(mut self, about: &About, position: Position, faults: &Faults) -> Result<Manifest> {
        self.copy_small(&about.data)?;
        faults.check("checkpoint.digests")?;
        let own = self.own_files()?;
        files::sync_dir(&self.db())?;
        let manifest = Manifest {
            format: FORMAT,
            program: concat!("Lycosa/", env!("CARGO_PKG_VERSION")).into(),
            name: self.name.clone(),
            crawl: about.crawl.clone(),
            ts: iso(self.at),
            ts_ms: self.at.0,
            seed: format!("{:016x}", position.seed),
            run: position.run,
            by_hand: about.by_hand,
            sequence: position.sequence,
            counts: position.counts,
            jsonl: Stored { file: uploads::JSONL.into(), bytes: position.jsonl, sha256: None },
            member: position.member,
            lines_mark: lines::mark(&about.data.join(uploads::JSONL), position.jsonl)?.unwrap_or_default(),
            archive: position.archive,
            files: own,
        };
        faults.check("checkpoint.manifest")?;
        files::write_whole(&self.dir.join(MANIFEST), &manifest.text())?;
        faults.check("checkpoint.named")?;
        files::rename(&self.dir, &self.shelf.path(&self.name))?;
        self.whole = true;
        faults.check("checkpoint.prune")?;
        match self.shelf.prune(about.keep) {
            Ok(old) if old.is_empty() => {}
            Ok(old) => log::info!("old checkpoints removed: names={old:?}"),
            Err(e) => log::warn!("an old checkpoint was not removed: {e}"),
        }
        Ok(manifest)
    }

    /// The files beside the database.
    fn copy_small(&self, data: &Path) -> Result<()> {
        for name in [folder::MARKER, uploads::LIST] {
            if data.join(name).exists() {
                files::copy(&data.join(name), &self.dir.join(name), u64::MAX)?;
            }
        }
        Ok(())
    }

    /// Every file with its digest. That of a file which an older checkpoint has too is taken over.
    fn own_files(&self) -> Result<Vec<Stored>> {
        let known = self.shelf.digests();
        let small = files::names(&self.dir)?.into_iter().filter(|name| name != "db");
        let db = files::names(&self.db())?.into_iter().map(|name| format!("db/{name}"));
        small.chain(db).map(|file| stored(&self.dir, file, &known)).collect()
    }
}

impl Drop for Draft {
    fn drop(&mut self) {
        if !self.whole {
            let _ = fs::remove_dir_all(&self.dir); // else the next one sweeps it away
        }
    }
}

/// A file with its digest, forced to the disk when it is new.
fn stored(dir: &Path, file: String, known: &std::collections::HashMap<(u64, u64), (u64, String)>) -> Result<Stored> {
    let path = dir.join(&file);
    let found = fs::metadata(&path).map_err(CheckpointError::io("read the length of", &path))?;
    if let Some((bytes, sha)) = known.get(&(found.dev(), found.ino()))
        && *bytes == found.len()
    {
        return Ok(Stored { file, bytes: *bytes, sha256: Some(sha.clone()) });
    }
    File::open(&path).and_then(|f| f.sync_all()).map_err(CheckpointError::io("sync", &path))?;
    let (bytes, sha) = files::digest(&path, u64::MAX)?;
    Ok(Stored { file, bytes, sha256: Some(sha) })
}

/// Makes a checkpoint of a data folder that no crawl has open.
///
/// # Errors
/// [`CheckpointError::Unclean`] after a kill: the archive must be repaired first; [`StorageError::Locked`] while a crawl
/// runs; else as [`Draft::finish`].
///
/// [`StorageError::Locked`]: crate::storage::StorageError::Locked
#[cfg(feature = "rocksdb")]
pub fn at_rest(about: &About, shelf: &Shelf, warc_dir: &Path, at: UnixMillis, faults: &Faults) -> Result<Manifest> {
    use crate::storage::{RocksOptions, RocksStorage};
    let storage = RocksStorage::open(&about.data, RocksOptions::default())?;
    let file_lengths: FileLengths = read::meta(&storage, ())?.unwrap_or_default();
    if file_lengths.warc.is_some() {
        return Err(CheckpointError::Unclean(about.data.clone()));
    }
    let position = Position::look(&storage, warc_dir, of_member(&storage)?)?;
    let draft = Draft::begin(shelf, at, position.run)?;
    faults.check("checkpoint.apart")?;
    storage.checkpoint(&draft.db())?;
    faults.check("checkpoint.apart.linked")?;
    draft.finish(about, position, faults)
}

#[cfg(test)]
#[cfg(feature = "rocksdb")]
mod tests {
    use super::*;
    use crate::storage::{Batch, Family, RocksOptions, RocksStorage, StorageError};

    fn about(dir: &Path) -> (About, Shelf) {
        let data = dir.join("data");
        let shelf = Shelf::new(data.join("checkpoints"));
        (About { data, crawl: "c".into(), keep: 2, by_hand: false }, shelf)
    }

    fn write(about: &About, key: &[u8]) {
        let options = RocksOptions { memory: 16 << 20, ..RocksOptions::default() };
        let storage = RocksStorage::open(&about.data, options).unwrap();
        let mut batch = Batch::new();
        batch.put_raw(Family::Content, key.to_vec(), vec![7; 1000]);
        storage.write(&batch).unwrap();
    }

    fn make(about: &About, shelf: &Shelf, at: u64) -> Result<Manifest> {
        at_rest(about, shelf, &about.data.join("warc"), UnixMillis(at), &Faults::default())
    }

    #[test]
    fn table_files_of_an_older_checkpoint_are_linked_and_not_read_again() {
        let dir = tempfile::tempdir().unwrap();
        let (about, shelf) = about(dir.path());
        write(&about, b"a");
        let first = make(&about, &shelf, 1_000).unwrap();
        let table = first.files.iter().find(|f| f.file.ends_with(".sst")).unwrap();
        // A digest that is taken over shows that the file was not read: the older manifest says it is something else.
        let told = Stored { sha256: Some("taken over".into()), ..table.clone() };
        let files = first.files.iter().map(|f| if f == table { told.clone() } else { f.clone() }).collect();
        let changed = Manifest { files, ..first.clone() };
        fs::write(shelf.path(&first.name).join(MANIFEST), changed.text()).unwrap();
        write(&about, b"b");
        let second = make(&about, &shelf, 2_000).unwrap();
        assert!(second.files.contains(&told), "{:?}", second.files);
        assert!(second.sequence > first.sequence);
        assert_eq!(shelf.names().unwrap().len(), 2);
        make(&about, &shelf, 3_000).unwrap();
        assert_eq!(shelf.names().unwrap()[0], second.name, "the oldest is gone");
    }

    #[test]
    fn one_made_after_the_clock_was_set_back_is_the_newest_all_the_same() {
        let dir = tempfile::tempdir().unwrap();
        let (about, shelf) = about(dir.path());
        for (at, content) in [(5_000_000, b"a"), (1_000, b"b"), (2_000, b"c")] {
            write(&about, content);
            let made = make(&about, &shelf, at).unwrap();
            assert_eq!(shelf.find(None).unwrap().name, made.name);
            assert_eq!(shelf.find(None).unwrap().ts_ms, at, "its date is the true one");
        }
    }

    #[test]
    fn one_that_was_asked_for_is_not_pushed_out_by_the_periodic_ones() {
        let dir = tempfile::tempdir().unwrap();
        let (about, shelf) = about(dir.path());
        write(&about, b"a");
        let asked_for = make(&About { by_hand: true, ..about.clone() }, &shelf, 1_000).unwrap();
        for at in 2..=4 {
            write(&about, b"b");
            make(&about, &shelf, at * 1_000).unwrap();
        }
        let names = shelf.names().unwrap();
        assert_eq!((names.len(), &names[0]), (1 + about.keep, &asked_for.name));
    }

    #[test]
    fn a_draft_that_fails_leaves_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let (about, shelf) = about(dir.path());
        write(&about, b"a");
        make(&about, &shelf, 1_000).unwrap();
        let error = make(&about, &shelf, 1_000).unwrap_err(); // the name is taken: not a checkpoint lost, but none made
        assert!(matches!(error, CheckpointError::Io { .. }), "{error}");
        assert_eq!(files::names(shelf.dir()).unwrap().len(), 1);
    }

    #[test]
    fn a_folder_in_use_has_no_checkpoint_made_of_it_from_outside() {
        let dir = tempfile::tempdir().unwrap();
        let (about, shelf) = about(dir.path());
        let _running = RocksStorage::open(&about.data, RocksOptions::default()).unwrap();
        let error = make(&about, &shelf, 1_000).unwrap_err();
        assert!(matches!(error, CheckpointError::Storage(StorageError::Locked { .. })), "{error}");
        assert!(!shelf.dir().exists());
    }
}
