//! RocksDB behind the [`Storage`] trait. Nothing outside this folder imports `rocksdb`.

#[cfg(test)]
mod kill_tests;
mod look;
mod options;
#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{PoisonError, RwLock};
use std::time::Duration;

use rocksdb::checkpoint::Checkpoint;
use rocksdb::{
    BottommostLevelCompaction, ColumnFamily, CompactOptions, DB, FlushOptions, ReadOptions, WriteBatch, properties,
};

use options::Budget;
pub use options::RocksOptions;

use crate::base::fault::Injected;

use super::keys::KeyRange;
use super::{Batch, Family, Op, Pair, Storage, StorageError, StorageStats, check_ascending, folder, format};
use crate::base::disk::DiskFault;

/// Bytes that RocksDB's batch adds to a change's key and value: kind, family, two lengths.
const OVERHEAD: usize = 8;

/// How often it is looked whether writing all anew is called off.
const LOOK: Duration = Duration::from_millis(20);

/// A scan of so many records passes by the cache.
const PASSING: usize = 1_000;
/// Rows of a range that are removed one by one.
const FEW: usize = 10_000;

/// A store on disk.
///
/// After a write or sync that failed it takes no more of them (reads go on) until [`Storage::reopen`] has succeeded:
/// RocksDB keeps a background error in its memory, and a batch whose fate is not known must be looked up, not built upon.
pub struct RocksStorage {
    dir: PathBuf,
    options: RocksOptions,
    budget: Budget,
    state: RwLock<State>,
    _held: Option<look::Held>,
}

/// The open database, none when it could not be opened again, and what failed, if something did.
struct State {
    db: Option<DB>,
    failed: Option<String>,
    /// Closed for good.
    over: bool,
}

impl RocksStorage {
    /// Opens the data folder, or makes one where there is none or an empty folder.
    ///
    /// # Errors
    /// A folder that is no data folder, of another format, or in use by another process is refused and left as it is.
    pub fn open(dir: &Path, options: RocksOptions) -> Result<Self, StorageError> {
        let budget = Budget::new(options.memory);
        options.faults.check("storage.open").map_err(injected("opening"))?;
        let db = open_database(dir, &options, &budget)?;
        options.faults.check("storage.opened").map_err(injected("opening"))?;
        let state = RwLock::new(State { db: Some(db), failed: None, over: false });
        let storage = Self { dir: dir.into(), options, budget, state, _held: None };
        format::prepare(&storage, storage.options.seed, dir)?;
        Ok(storage)
    }

    /// Closes the database and opens it again: how writes become possible after one has failed.
    fn open_again(&self) -> Result<(), StorageError> {
        let mut state = self.state.write().unwrap_or_else(PoisonError::into_inner);
        if state.over {
            return Err(closed("opening it again"));
        }
        state.db = None; // the lock on the folder must go first
        let injected = self.options.faults.check("storage.reopen").map_err(injected("opening"));
        let opened = injected.and_then(|()| open_database(&self.dir, &self.options, &self.budget));
        let db = opened.inspect_err(|error| state.failed = Some(error.to_string()))?;
        (state.db, state.failed) = (Some(db), None);
        Ok(())
    }

    /// Does something with the open database.
    fn with<T>(&self, doing: &'static str, f: impl FnOnce(&DB) -> Result<T, StorageError>) -> Result<T, StorageError> {
        let state = self.state.read().unwrap_or_else(PoisonError::into_inner);
        match &state.db {
            Some(db) => f(db),
            None => Err(StorageError::Latched { doing, message: state.why_closed() }),
        }
    }

    /// Does something that changes the database; latches what fails.
    fn change<T>(
        &self,
        doing: &'static str,
        f: impl FnOnce(&DB) -> Result<T, StorageError>,
    ) -> Result<T, StorageError> {
        let result = {
            let state = self.state.read().unwrap_or_else(PoisonError::into_inner);
            match (&state.failed, &state.db) {
                (None, Some(db)) => f(db),
                (Some(message), _) => return Err(StorageError::Latched { doing, message: message.clone() }),
                (None, None) => return Err(closed(doing)),
            }
        };
        if let Err(error) = &result {
            let mut state = self.state.write().unwrap_or_else(PoisonError::into_inner);
            state.failed.get_or_insert_with(|| error.to_string());
        }
        result
    }

    /// Writes all that lives anew, down to the last level, so that what was deleted is on the disk no more: neither in a table nor in
    /// the log. Gives how many tables are still the ones from before, because they could not be, or because `stop` was set meanwhile; the
    /// engine itself does not say so.
    ///
    /// # Errors
    /// The engine's own.
    pub fn rewrite(&self, stop: &AtomicBool, mut told: impl FnMut(Family)) -> Result<usize, StorageError> {
        const DOING: &str = "writing the tables anew";
        self.flush()?;
        let before = self.tables()?;
        self.change(DOING, |db| {
            let mut how = CompactOptions::default();
            how.set_bottommost_level_compaction(BottommostLevelCompaction::Force);
            how.set_exclusive_manual_compaction(true);
            let over = AtomicBool::new(false);
            std::thread::scope(|scope| {
                // A family may take long: its compaction is called off when the caller has no time any more.
                scope.spawn(|| {
                    while !over.load(Ordering::Acquire) {
                        if stop.load(Ordering::Acquire) {
                            return db.cancel_all_background_work(true);
                        }
                        std::thread::sleep(LOOK);
                    }
                });
                let done = Family::ALL.iter().try_for_each(|family| {
                    if !stop.load(Ordering::Acquire) {
                        told(*family);
                        self.options.faults.pass("storage.rewrite");
                        db.compact_range_cf_opt(column(db, *family)?, None::<&[u8]>, None::<&[u8]>, &how);
                    }
                    Ok(())
                });
                over.store(true, Ordering::Release);
                done
            })
        })?;
        self.sync()?;
        let now = self.tables()?;
        Ok(before.iter().filter(|table| now.contains(table)).count())
    }

    /// The table files that belong to the database, by name.
    ///
    /// # Errors
    /// The engine's own.
    pub fn tables(&self) -> Result<Vec<String>, StorageError> {
        const DOING: &str = "listing the tables";
        let files = self.with(DOING, |db| db.live_files().map_err(engine(DOING)))?;
        Ok(files.into_iter().map(|file| file.name.trim_start_matches('/').to_owned()).collect())
    }

    /// A property of the whole database or the sum of a family's.
    fn property(&self, family: Option<Family>, name: &properties::PropName) -> u64 {
        let read = |db: &DB| {
            Ok(match family {
                Some(family) => db.property_int_value_cf(column(db, family)?, name),
                None => db.property_int_value(name),
            })
        };
        self.with("reading a property", read).ok().and_then(Result::ok).flatten().unwrap_or(0)
    }

    fn property_sum(&self, name: &properties::PropName) -> u64 {
        Family::ALL.iter().map(|family| self.property(Some(*family), name)).fold(0, u64::saturating_add)
    }
}

impl std::fmt::Debug for RocksStorage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RocksStorage").field("dir", &self.dir).finish_non_exhaustive()
    }
}

impl State {
    fn why_closed(&self) -> String {
        self.failed.clone().unwrap_or_else(|| "it is closed".into())
    }
}

fn closed(doing: &'static str) -> StorageError {
    StorageError::Latched { doing, message: "it is closed".into() }
}

fn open_database(dir: &Path, options: &RocksOptions, budget: &Budget) -> Result<DB, StorageError> {
    let path = folder::prepare(dir)?;
    let opened = DB::open_cf_descriptors(&options::database(options, budget), path, options::families(budget));
    let db = opened.map_err(|error| {
        let message = error.into_string();
        if is_locked(&message) { StorageError::Locked { path: dir.into() } } else { refused("opening", message) }
    })?;
    // RocksDB makes its folder and does not sync the name of it: a power failure would take the whole database.
    folder::sync_names(dir).map_err(|source| StorageError::Folder { path: dir.into(), source })?;
    Ok(db)
}

/// True when RocksDB says that somebody else, or this process, has the folder open; a lock that cannot be made is another matter.
fn is_locked(message: &str) -> bool {
    message.contains("lock hold by current process")
        || (message.contains("While lock file") && message.contains("temporarily unavailable"))
}

/// The handle of a family.
fn column(db: &DB, family: Family) -> Result<&ColumnFamily, StorageError> {
    db.cf_handle(family.name()).ok_or_else(|| StorageError::Engine {
        doing: "looking for a column family",
        message: format!("there is no {family}"),
    })
}

/// Our error for RocksDB's.
fn refused(doing: &'static str, message: String) -> StorageError {
    if DiskFault::of_text(&message) == Some(DiskFault::Full) {
        StorageError::Full { doing, message }
    } else {
        StorageError::Engine { doing, message }
    }
}

fn injected(doing: &'static str) -> impl Fn(Injected) -> StorageError {
    move |fault| refused(doing, fault.to_string())
}

fn engine(doing: &'static str) -> impl Fn(rocksdb::Error) -> StorageError {
    move |error| refused(doing, error.into_string())
}

impl Storage for RocksStorage {
    fn get(&self, family: Family, key: &[u8]) -> Result<Option<Vec<u8>>, StorageError> {
        const DOING: &str = "reading a key";
        self.options.faults.check("storage.get").map_err(injected(DOING))?;
        self.with(DOING, |db| db.get_cf(column(db, family)?, key).map_err(engine(DOING)))
    }

    fn multi_get(&self, family: Family, keys: &[Vec<u8>]) -> Result<Vec<Option<Vec<u8>>>, StorageError> {
        const DOING: &str = "reading keys";
        check_ascending(family, keys)?;
        self.options.faults.check("storage.multi_get").map_err(injected(DOING))?;
        self.with(DOING, |db| {
            let found = db.batched_multi_get_cf(column(db, family)?, keys, true);
            found.into_iter().map(|value| Ok(value.map_err(engine(DOING))?.map(|bytes| bytes.to_vec()))).collect()
        })
    }

    fn scan(&self, family: Family, from: &[u8], until: &[u8], limit: usize) -> Result<Vec<Pair>, StorageError> {
        const DOING: &str = "scanning";
        if limit == 0 || (!until.is_empty() && from >= until) {
            return Ok(Vec::new());
        }
        self.options.faults.check("storage.scan").map_err(injected(DOING))?;
        self.with(DOING, |db| {
            let column = column(db, family)?;
            let mut read = ReadOptions::default();
            // What passes by once, such as a rebuild of the seen filter, must not push out what is asked again and again.
            read.fill_cache(limit < PASSING);
            if !until.is_empty() {
                read.set_iterate_upper_bound(until);
            }
            let mut cursor = db.raw_iterator_cf_opt(column, read);
            let mut found = Vec::new();
            cursor.seek(from);
            while let Some((key, value)) = cursor.item() {
                found.push((key.to_vec(), value.to_vec()));
                if found.len() >= limit {
                    return Ok(found);
                }
                cursor.next();
            }
            cursor.status().map_err(engine(DOING))?;
            Ok(found)
        })
    }

    fn write(&self, batch: &Batch) -> Result<u64, StorageError> {
        const DOING: &str = "writing a batch";
        self.change(DOING, |db| {
            self.options.faults.check("storage.write").map_err(injected(DOING))?;
            if !batch.is_empty() {
                let mut changes = WriteBatch::with_capacity_bytes(batch.bytes() + batch.len() * OVERHEAD);
                for op in batch.ops() {
                    match op {
                        Op::Put { family, key, value } => changes.put_cf(column(db, *family)?, key, value),
                        Op::Delete { family, key } => changes.delete_cf(column(db, *family)?, key),
                    }
                }
                db.write(changes).map_err(engine(DOING))?;
            }
            self.options.faults.check("storage.written").map_err(injected(DOING))?;
            Ok(db.latest_sequence_number())
        })
    }

    fn sync(&self) -> Result<(), StorageError> {
        const DOING: &str = "syncing the log";
        self.change(DOING, |db| {
            self.options.faults.check("storage.sync").map_err(injected(DOING))?;
            db.flush_wal(true).map_err(engine(DOING))?;
            self.options.faults.check("storage.synced").map_err(injected(DOING))
        })
    }

    fn sequence(&self) -> u64 {
        self.with("reading the sequence number", |db| Ok(db.latest_sequence_number())).unwrap_or(0)
    }

    fn stats(&self) -> StorageStats {
        StorageStats {
            // Memtables are charged to the cache, so this is both.
            memory: self.budget.cache.get_usage() as u64,
            memtables: self.budget.memtables.get_usage() as u64,
            disk: self.property_sum(properties::LIVE_SST_FILES_SIZE),
            compaction_debt: self.property_sum(properties::ESTIMATE_PENDING_COMPACTION_BYTES),
            stalled: self.property(None, properties::IS_WRITE_STOPPED) > 0
                || self.property(None, properties::ACTUAL_DELAYED_WRITE_RATE) > 0,
            background_errors: self.property_sum(properties::BACKGROUND_ERRORS),
        }
    }

    /// Memtables are flushed first, so that the copy is whole in its table files and needs no log.
    fn checkpoint(&self, dir: &Path) -> Result<(), StorageError> {
        const DOING: &str = "making a checkpoint";
        self.with(DOING, |db| Checkpoint::new(db).and_then(|made| made.create_checkpoint(dir)).map_err(engine(DOING)))
    }

    fn flush(&self) -> Result<(), StorageError> {
        const DOING: &str = "flushing the memtables";
        self.change(DOING, |db| {
            let families: Vec<_> = Family::ALL.iter().map(|family| column(db, *family)).collect::<Result<_, _>>()?;
            db.flush_cfs_opt(&families, &FlushOptions::default()).map_err(engine(DOING))
        })
    }

    /// A range of few rows is removed row by row, for a compaction is a flush. Of a longer one files that hold nothing else are removed, the
    /// rest gets one tombstone, and compaction makes both true on the disk.
    fn clear(&self, family: Family, range: &KeyRange) -> Result<(), StorageError> {
        const DOING: &str = "removing a range";
        if range.until.is_empty() || range.from >= range.until {
            return Ok(()); // a range of partitions has an end
        }
        let few = self.scan(family, &range.from, &range.until, FEW + 1)?;
        if few.len() <= FEW {
            if few.is_empty() {
                return Ok(()); // most partitions have nothing in most families
            }
            let mut batch = Batch::new();
            few.into_iter().for_each(|(key, _)| batch.delete_raw(family, key));
            return self.write(&batch).map(drop);
        }
        drop(few);
        self.change(DOING, |db| {
            let (column, from, until) = (column(db, family)?, &range.from, &range.until);
            db.delete_file_in_range_cf(column, from, until).map_err(engine(DOING))?;
            let mut changes = WriteBatch::default();
            changes.delete_range_cf(column, from, until);
            db.write(changes).map_err(engine(DOING))?;
            db.compact_range_cf(column, Some(from), Some(until));
            Ok(())
        })
    }

    fn reopen(&self) -> Result<bool, StorageError> {
        let sound = {
            let state = self.state.read().unwrap_or_else(PoisonError::into_inner);
            state.db.is_some() && state.failed.is_none()
        };
        if !sound {
            self.open_again()?;
        }
        Ok(!sound)
    }

    fn close(&self) {
        self.options.faults.pass("storage.close");
        let mut state = self.state.write().unwrap_or_else(PoisonError::into_inner);
        (state.db, state.over) = (None, true);
    }
}
