//! What a run opens: as many files as it needs (a lack of them would look like faults of the sites), and its data
//! folder, where a restore that was killed is settled, then the database.

use std::sync::Arc;

use nix::sys::resource::{Resource, getrlimit, setrlimit};

use super::StartError;
use crate::base::fault::Faults;
use crate::config::Settings;
use crate::storage::{Storage, StorageError};

/// Idle connections that one Fetcher keeps at least, and at most.
const IDLE: [usize; 2] = [256, 4_096];
/// Files of the database (`RocksOptions::open_files`).
const DATABASE: u64 = 512;
/// All else: logs, sockets of the admin endpoint, threads' own.
const REST: u64 = 100;

/// A restore that was killed half way is completed or taken back, before the database is opened.
pub(super) fn settle_restore(settings: &Settings, faults: &Faults) -> Result<(), StartError> {
    if let Some(name) = crate::recovery::checkpoint::swap::settle(&settings.store.data_dir, faults)? {
        log::warn!("a restore that was killed half way is completed: checkpoint={name}");
    }
    Ok(())
}

/// The fault points that the environment sets.
///
/// # Errors
/// What is none, as it was written.
#[cfg(feature = "faults")]
pub fn faults() -> Result<Faults, String> {
    Faults::from_env()
}

/// None: this program was built without them.
///
/// # Errors
/// None.
#[cfg(not(feature = "faults"))]
pub fn faults() -> Result<Faults, String> {
    Ok(Faults::default())
}

/// The database, and the seed of its keys; a new one's is `seed`, or drawn.
#[cfg(feature = "rocksdb")]
pub(super) fn open_storage(
    settings: &Settings,
    faults: &Faults,
    seed: Option<u64>,
) -> Result<(Arc<dyn Storage>, u64), StorageError> {
    use crate::base::disk::Reserve;
    use crate::storage::values::Format;
    use crate::storage::{RocksOptions, RocksStorage};
    let memory = usize::try_from(settings.store.memory).unwrap_or(usize::MAX);
    let data = &settings.store.data_dir;
    let options = || RocksOptions { memory, seed, faults: faults.clone(), ..RocksOptions::default() };
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
pub(super) fn open_storage(
    _: &Settings,
    _: &Faults,
    seed: Option<u64>,
) -> Result<(Arc<dyn Storage>, u64), StorageError> {
    log::warn!("built without RocksDB: the crawl lives in memory and is gone at its end");
    Ok((Arc::new(crate::storage::MemoryStorage::new()), seed.unwrap_or(1)))
}

/// Raises the limit of open files as far as the system allows.
///
/// # Errors
/// A sentence that says what is needed, when that is not enough.
pub(super) fn allow_files(settings: &Settings) -> std::io::Result<()> {
    let needed = needed(settings);
    let (soft, hard) = getrlimit(Resource::RLIMIT_NOFILE)?;
    if soft < needed {
        setrlimit(Resource::RLIMIT_NOFILE, hard.min(needed.saturating_mul(2)).max(soft), hard)?;
    }
    let (soft, _) = getrlimit(Resource::RLIMIT_NOFILE)?;
    if soft >= needed {
        return Ok(());
    }
    Err(std::io::Error::other(format!(
        "the system allows {soft} open files, this crawl needs {needed}: raise the limit (ulimit -n {needed}, LimitNOFILE= of a \
         service) or lower fetch.concurrency"
    )))
}

fn needed(settings: &Settings) -> u64 {
    let bodies = 2 * settings.fetch.concurrency as u64; // a connection, and perhaps a spill file
    bodies + (settings.fetch.threads * idle_connections(settings)) as u64 + DATABASE + REST
}

/// Idle connections that one Fetcher keeps: one for each of its active hosts, so that a host that is polite to wait for is not
/// connected to anew for each page.
pub(super) fn idle_connections(settings: &Settings) -> usize {
    let [least, most] = IDLE;
    settings.max_active_hosts().div_ceil(settings.fetch.threads.max(1)).clamp(least, most)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Layers;

    #[test]
    fn the_need_grows_with_the_concurrency() {
        let settings = |n: &str| Layers::new().set(&format!("fetch.concurrency={n}")).unwrap().load().unwrap();
        assert_eq!(needed(&settings("300")) - needed(&settings("200")), 2 * 100 + 3 * 100, "and with the active hosts");
        assert_eq!(needed(&settings("20")) - needed(&settings("10")), 20);
        assert!(allow_files(&settings("1")).is_ok());
    }
}
