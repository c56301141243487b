//! A host is erased from the data folder of the settings, which is the caller's alone: by the command at rest, and by a run between two lives
//! of its crawl.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use crate::base::clock::Clock;
use crate::base::fault::Faults;
use crate::config::Settings;
use crate::crawl::store::archive_settings_of;
use crate::domain::fingerprint::Fingerprinter;
use crate::recovery::checkpoint::Shelf;
use crate::recovery::erase::{Certificate, Erase, EraseError, Host, Look, Tell};
use crate::storage::share::{Share, may_go_on};
use crate::storage::values::Format;
use crate::storage::{RocksOptions, RocksStorage, Storage, read};

/// How a host is erased.
pub struct Way {
    /// Leave the checkpoints, which still hold what is erased.
    pub keep_checkpoints: bool,
    /// Set when it is to end between two steps.
    pub stop: Arc<AtomicBool>,
    /// Fault points.
    pub faults: Faults,
}

/// Erases a host, or goes on with it.
///
/// # Errors
/// [`EraseError`]; the same call goes on from there.
pub fn erase(settings: &Settings, host: &str, way: Way, tell: Tell<'_>) -> Result<Certificate, EraseError> {
    let memory = usize::try_from(settings.store.memory).unwrap_or(usize::MAX);
    let Way { keep_checkpoints, stop, faults } = way;
    let options = || RocksOptions { memory, faults: faults.clone(), ..RocksOptions::default() };
    let open = || RocksStorage::open(&settings.store.data_dir, options());
    let storage = open()?;
    may_go_on(&storage)?;
    let host = host_of(&storage, host)?;
    let node_name = nix::unistd::gethostname().ok().and_then(|name| name.into_string().ok()).filter(|n| !n.is_empty());
    let writer = Share::load(&storage)?.map(|share| share.name()).or(node_name);
    let writer = writer.unwrap_or_else(|| "localhost".to_owned());
    let erase = Erase {
        look: look_of(settings),
        archive: archive_settings_of(settings, &writer, &faults)?,
        shelf: Shelf::new(settings.checkpoint_dir()),
        keep_checkpoints,
        ranker: settings.ranker(),
        keep_rejected: settings.scope.record_rejected,
        now: Clock::real().now(),
        stop,
        faults: faults.clone(),
    };
    let done = erase.run(&storage, &host, tell);
    storage.close();
    done?;
    let storage = open()?;
    let certificate = erase.certify(&storage, &host, tell);
    storage.close();
    certificate
}

/// Where to look for what is of a host.
pub fn look_of(settings: &Settings) -> Look {
    let (data, checkpoints) = (settings.store.data_dir.clone(), settings.checkpoint_dir());
    Look { data, warc: settings.warc_dir(), checkpoints, in_index }
}

/// The host of this name.
///
/// # Errors
/// [`EraseError::Host`], the storage's own.
pub fn host_of(storage: &dyn Storage, name: &str) -> Result<Host, EraseError> {
    let seed = read::meta::<Format>(storage, ())?.map_or(0, |format| format.seed);
    Host::named(name, &Fingerprinter::new(seed))
}

/// One that cannot be read may have pages of any host.
#[cfg(feature = "search")]
fn in_index(data: &Path, host: &str) -> bool {
    crate::index::Folder::of(data).has_host(host)
}

#[cfg(not(feature = "search"))]
fn in_index(_: &Path, _: &str) -> bool {
    true
}
