//! What the map asks of a member is done while its folder is at rest: opened here, and closed again.

use std::path::Path;
use std::sync::Arc;

use super::part::Open;
use crate::base::clock::Clock;
use crate::base::fault::Faults;
use crate::config::Settings;
use crate::domain::cluster::map::Map;
use crate::domain::partition::PartitionSet;
use crate::recovery::checkpoint::Target;
use crate::recovery::part::{Rest, Rested, Result, Tell};
use crate::storage::share::Shared;
use crate::storage::{RocksOptions, RocksStorage, Storage};

/// Memory for the database of a parcel, bytes.
const MEMORY: usize = 32 << 20;

/// What a member knows when it comes to rest.
pub struct AtRest<'a> {
    /// Where its folders are.
    pub settings: &'a Settings,
    /// Its name.
    pub name: &'a str,
    /// The newest map.
    pub map: &'a Map,
    /// What a folder has that says nothing of it yet: all, where it has the crawl; none, where it is just made to join.
    pub begins_with: &'a PartitionSet,
    /// The store that all members see.
    pub store: &'a Target,
    /// Number of this process among those of the member.
    pub session: u64,
    /// Fault points.
    pub faults: &'a Faults,
}

/// Opens the folder, which is made where there is none, does what the map asks for, and closes it. Gives its share, none where one member has
/// all and nothing was written.
///
/// # Errors
/// [`PartError`](crate::recovery::part::PartError); the same call goes on. `Store`: the store is away, it is to be tried again. `Unclean`: a
/// life that puts the files right comes first.
pub fn at_rest(at: &AtRest<'_>, tell: Tell<'_>) -> Result<(Shared, Rested)> {
    let seed = at.map.seed;
    let folder = Open::folder(at.settings, Some(seed), at.faults)?;
    let open = |dir: &Path| -> Result<Box<dyn Storage>> {
        let options = RocksOptions { memory: MEMORY, seed: Some(seed), ..RocksOptions::default() };
        Ok(Box::new(RocksStorage::open(dir, options)?))
    };
    let store = at.store.open(at.settings.checkpoint.s3_endpoint.as_deref())?;
    let archive_at = at.settings.archive_upload();
    let rest = Rest {
        side: folder.side(),
        name: at.name,
        map: at.map,
        begins_with: at.begins_with,
        store: &*store,
        archive_at: &archive_at.unwrap_or_else(|| at.settings.warc_dir().display().to_string()),
        session: at.session,
        now: Clock::real().now(),
        open: &open,
        faults: at.faults,
    };
    let (share, rested) = rest.run(tell)?;
    Ok((share.map(Arc::new), rested))
}
