//! A data folder is opened: a restore that was killed is settled, then the database.

use std::sync::Arc;

use super::StartError;
use crate::base::fault::Faults;
use crate::config::Settings;
use crate::storage::{Storage, StorageError};

/// A restore that was killed half way is completed or taken back, before the database is opened.
pub(super) fn settle_restore(settings: &Settings, faults: &Faults) -> Result<(), StartError> {
    if let Some(name) = crate::recovery::checkpoint::swap::settle(&settings.store.data_dir, faults)? {
        log::warn!("a restore that was killed half way is completed: checkpoint={name}");
    }
    Ok(())
}

/// The fault points that the environment sets.
#[cfg(feature = "faults")]
pub(super) fn faults() -> Result<Faults, String> {
    Faults::from_env()
}

#[cfg(not(feature = "faults"))]
pub(super) fn faults() -> Result<Faults, String> {
    Ok(Faults::default())
}

/// The database, and the seed of its keys.
#[cfg(feature = "rocksdb")]
pub(super) fn open_storage(settings: &Settings, faults: &Faults) -> Result<(Arc<dyn Storage>, u64), StorageError> {
    use crate::base::disk::Reserve;
    use crate::storage::values::Format;
    use crate::storage::{RocksOptions, RocksStorage};
    let memory = usize::try_from(settings.store.memory).unwrap_or(usize::MAX);
    let data = &settings.store.data_dir;
    let options = || RocksOptions { memory, faults: faults.clone(), ..RocksOptions::default() };
    let open = || RocksStorage::open(data, options());
    let storage = match open() {
        // The former run may have filled the disk: with the reserve's room this one can begin, and pause.
        Err(e) if e.is_full() && Reserve::of(data, 0).free() => {
            log::warn!("reserve file deleted, there was no space to open the database: error={e}");
            open()?
        }
        opened => opened?,
    };
    let seed = crate::storage::read::meta::<Format>(&storage, ())?.map_or(0, |f| f.seed);
    tell_of_loss(data, storage.sequence());
    Ok((Arc::new(storage), seed))
}

/// A database that is behind its mark has lost what was safe: its log is damaged, or an older copy was put in its place.
#[cfg(feature = "rocksdb")]
fn tell_of_loss(data: &std::path::Path, sequence: u64) {
    let Some(lost) = crate::storage::mark::synced(data).and_then(|mark| mark.checked_sub(sequence)).filter(|n| *n > 0)
    else {
        return;
    };
    log::error!(
        "the database is behind what was synced, so its log (db/*.log) is damaged or db/ is an older copy; the crawl goes on from \
         the last whole commit, and what came after is fetched again; to have it back, stop now, look at the disk, and put a \
         copy of db/ in place or restore a newer checkpoint (`lycosa checkpoint list`): changes_lost={lost} \
         sequence={sequence}"
    );
}

/// Storage in memory.
#[cfg(not(feature = "rocksdb"))]
pub(super) fn open_storage(_: &Settings, _: &Faults) -> Result<(Arc<dyn Storage>, u64), StorageError> {
    log::warn!("built without RocksDB: the crawl lives in memory and is gone at its end");
    Ok((Arc::new(crate::storage::MemoryStorage::new()), 1))
}
