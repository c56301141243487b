//! When there is something to do again, when there is nothing to do now.

use std::sync::atomic::Ordering;

use crate::actors::node::Node;
use crate::domain::partition::Partition;
use crate::domain::time::UnixMillis;
use crate::storage::keys::KeyRange;
use crate::storage::tables::{Due, Parked, Table};
use crate::storage::{Storage, StorageError, read};

/// The moment of the next retry or of the end of a host's parking; `None` when something may be done before, or when
/// nothing is left. Read from storage: what is committed is seen, whoever has heard of it.
///
/// # Errors
/// The storage's own.
pub(super) fn next_try(node: &Node) -> Result<Option<UnixMillis>, StorageError> {
    let counters = node.counters();
    if counters.hosts_waiting > 0 || !node.leases.is_empty() || !node.is_quiet() {
        return Ok(None);
    }
    let due = earliest::<Due>(&*node.storage, |k| (k.partition, k.time))?;
    let parked = earliest::<Parked>(&*node.storage, |k| (k.partition, k.time))?;
    Ok([due, parked].into_iter().flatten().min())
}

/// Keeps [`next_try`] for the status.
pub(super) fn publish(node: &Node, at: Option<UnixMillis>) {
    node.next_try.store(at.map_or(0, |t| t.0), Ordering::Release);
}

/// The first time in a table whose keys begin with partition and time: one look for each partition that has any.
fn earliest<T: Table>(
    storage: &dyn Storage,
    of: impl Fn(&T::Key) -> (Partition, UnixMillis),
) -> Result<Option<UnixMillis>, StorageError> {
    let mut first: Option<UnixMillis> = None;
    let mut from = Vec::new();
    while let Some(key) = read::first_key_from::<T>(storage, &from)? {
        let (partition, time) = of(&key);
        first = Some(first.map_or(time, |t| t.min(time)));
        from = KeyRange::partition(partition).until;
        if from.is_empty() {
            break;
        }
    }
    Ok(first)
}
