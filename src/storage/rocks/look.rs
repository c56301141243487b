//! Opens a database to look at it: not a byte of its folder is changed.

use std::fs::File;
use std::path::Path;
use std::sync::RwLock;

use nix::errno::Errno;
use nix::fcntl::{FcntlArg, fcntl};
use nix::libc;
use rocksdb::DB;

use super::options::{self, Budget, RocksOptions};
use super::{RocksStorage, State, refused};
use crate::storage::values::Format;
use crate::storage::{Family, StorageError, folder, read};

/// RocksDB's lock file, held against writers.
pub(super) struct Held(#[expect(dead_code, reason = "held for its Drop, which gives up the lock")] File);

impl RocksStorage {
    /// Opens the database of a data folder read-only; none when no crawl has begun there, be it that the first start was killed while it
    /// made the database.
    ///
    /// # Errors
    /// As [`folder::find`] and [`RocksStorage::look`].
    pub fn find(dir: &Path, options: RocksOptions) -> Result<Option<Self>, StorageError> {
        let Some(database) = folder::find(dir)? else { return Ok(None) };
        let found = Self::look(&database, options);
        let is_made = match &found {
            Ok(storage) => read::meta::<Format>(storage, ())?.is_some(),
            Err(StorageError::Engine { .. }) => has_families(&database),
            Err(_) => true,
        };
        match (is_made, folder::has_lines(dir)) {
            (true, _) => found.map(Some),
            (false, true) => Err(found.err().unwrap_or(StorageError::Gone { path: dir.into() })),
            (false, false) => Ok(None),
        }
    }

    /// Opens the database in `database` read-only. Its log is read into memory, as far as it is whole. While this lives, no
    /// crawl can begin on the folder.
    ///
    /// # Errors
    /// [`StorageError::Locked`] while a crawl runs there; the engine's own.
    pub fn look(database: &Path, options: RocksOptions) -> Result<Self, StorageError> {
        let held = hold(database)?;
        let budget = Budget::new(options.memory);
        let mut set = options::database(&options, &budget);
        set.create_if_missing(false);
        set.create_missing_column_families(false);
        let refused_to = |error: rocksdb::Error| refused("opening to read", error.into_string());
        let db = DB::open_cf_descriptors_read_only(&set, database, options::families(&budget), false);
        let db = db.map_err(refused_to)?;
        let state = RwLock::new(State { db: Some(db), failed: None, over: false });
        Ok(Self { dir: database.into(), options, budget, state, _held: held })
    }
}

/// Whether a database has all families, as far as it tells: they are made one after the other.
fn has_families(database: &Path) -> bool {
    let names = DB::list_cf(&rocksdb::Options::default(), database);
    names.map_or(true, |names| Family::ALL.iter().all(|family| names.iter().any(|name| name == family.name())))
}

/// Takes a shared lock on RocksDB's lock file, which a writer holds alone. A copy without that file has no writer.
fn hold(database: &Path) -> Result<Option<Held>, StorageError> {
    let path = database.join("LOCK");
    let file = match File::open(&path) {
        Ok(file) => file,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(source) => return Err(StorageError::Folder { path, source }),
    };
    let whole = libc::flock {
        l_type: libc::F_RDLCK as libc::c_short,
        l_whence: libc::SEEK_SET as libc::c_short,
        l_start: 0,
        l_len: 0,
        l_pid: 0,
    };
    match fcntl(&file, FcntlArg::F_SETLK(&whole)) {
        Ok(_) => Ok(Some(Held(file))),
        Err(Errno::EAGAIN | Errno::EACCES) => {
            Err(StorageError::Locked { path: database.parent().unwrap_or(database).into() })
        }
        Err(errno) => Err(StorageError::Folder { path, source: errno.into() }),
    }
}
