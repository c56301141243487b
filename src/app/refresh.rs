//! A crawl that never fetched a page begins anew: its retries and waits are due at once.
//!
//! Whoever starts it again has repaired the network, the seed or the settings and does not want to wait for the rest of
//! a quarter of an hour. The pace of hosts stays as it is, so that none is asked early (I1).

use crate::crawl::node::Node;
use crate::domain::robots::RobotsCopy;
use crate::storage::keys::KeyRange;
use crate::storage::ledger::{Change, Ledger};
use crate::storage::tables::{Due, Parked, Robots};
use crate::storage::txn::Txn;
use crate::storage::values::RobotsValue;
use crate::storage::{StorageError, read};

/// Records of each kind that are brought forward; a crawl that never fetched a page has few.
const AT_MOST: usize = 1_000;

/// Brings retries, parked hosts and requests for robots.txt forward to now. Called before any actor lives, so it may write.
///
/// # Errors
/// The storage's own.
pub(super) fn refresh(node: &Node) -> Result<(), StorageError> {
    let counters = node.crawl.counters();
    if counters.queued == 0 || counters.statuses.range(200..300).next().is_some() {
        return Ok(());
    }
    let changes = changes(node)?;
    if changes.is_empty() {
        return Ok(());
    }
    let storage = &*node.storage;
    let mut ledger = Ledger::open(storage, node.crawl.rules.ledger(node))?;
    let mut txn = Txn::new(storage);
    for change in &changes {
        ledger.apply(&mut txn, change, node.clock.date(), &|_| false)?;
    }
    ledger.seal(&mut txn)?;
    storage.write(&txn.into_batch())?;
    ledger.commit();
    *crate::base::sync::lock(&node.crawl.progress.counters) = ledger.committed().clone();
    log::info!("no page was fetched so far: what was to be tried again later is tried now");
    Ok(())
}

fn changes(node: &Node) -> Result<Vec<Change>, StorageError> {
    let storage = &*node.storage;
    let now = node.clock.now();
    let mut changes = Vec::new();
    for (key, value) in read::scan::<Robots>(storage, &KeyRange::all(), AT_MOST)? {
        let at = crate::storage::keys::HostAt { partition: key.partition, host: key.host };
        let Some(state) = read::host_state(storage, at)?.filter(|_| value.copy.failures > 0) else { continue };
        let copy = RobotsCopy { retry_at: Some(now), ..value.copy };
        let value = Box::new(RobotsValue { copy, ..value });
        changes.push(Change::Robots { key, host: state.name, value, pace: None, sitemaps: Box::default() });
    }
    let parked = read::scan::<Parked>(storage, &KeyRange::all(), AT_MOST)?;
    changes.extend(parked.into_iter().map(|(key, ())| Change::Unpark(key.host_at())));
    let due: Vec<_> = read::scan::<Due>(storage, &KeyRange::all(), AT_MOST)?.into_iter().map(|(key, _)| key).collect();
    if !due.is_empty() {
        changes.push(Change::Promote(due));
    }
    Ok(changes)
}
