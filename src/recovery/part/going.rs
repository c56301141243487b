//! What goes with partitions, whoever takes them: copied and counted, and taken off the folder that gives them.

use std::collections::BTreeSet;

use super::rows::{self, Copied, Out, Way, counters_of};
use super::{CRAWL, Result, Side, Tell, credit};
use crate::domain::fingerprint::Fingerprinter;
use crate::domain::partition::{Partition, PartitionSet};
use crate::storage::keys::KeyRange;
use crate::storage::values::{Counters, CreditState, JoinedHost, OrderedHosts};
use crate::storage::{Batch, Family, Storage, read};

/// Copies records, contents, sayings of seeds and shares of link credit into a new database, or counts them only, where they go nowhere. What
/// goes stays as it is. `fed`: the last entry of the feed there; none: it is told nothing.
pub(super) fn copy(
    from: &Side<'_>,
    to: Option<&dyn Storage>,
    set: &PartitionSet,
    fed: Option<u64>,
    tell: Tell<'_>,
) -> Result<Copied> {
    let (stored, credit) = (counters_of(from)?, read::meta::<CreditState>(from.storage, CRAWL)?);
    let way = Way { credit: credit.as_ref(), root_index: None, like: &stored, fed };
    let mut copied = rows::copy(from, to, set, way, tell)?;
    if let Some(to) = to {
        rows::copy_contents(from, to, set)?;
        copy_seeds(from, to)?;
    }
    if let Some(state) = &credit {
        credit::give_notes(from.storage, to, state, set, &mut copied.credit)?;
    }
    Ok(copied)
}

/// The single records of a database that has these partitions and nothing else.
pub(super) fn alone(from: &Side<'_>, set: &PartitionSet, copied: &Copied, batch: &mut Batch) -> Result<()> {
    let stored = counters_of(from)?;
    let counters = Counters {
        next_seq: stored.next_seq,
        next_commit: stored.next_commit,
        too_deep: stored.too_deep,
        seed_cycles: stored.seed_cycles,
        ..copied.counters.clone()
    };
    batch.put_meta(CRAWL, &counters);
    if let Some(state) = read::meta::<CreditState>(from.storage, CRAWL)? {
        batch.put_meta(CRAWL, &copied.credit.alone(&state));
    }
    hosts_of(from, batch, set, false)
}

/// Takes off what was counted of them: the batch that makes them another's.
pub(super) fn less(from: &Side<'_>, set: &PartitionSet, copied: &Copied, batch: &mut Batch) -> Result<()> {
    batch.put_meta(CRAWL, &rows::less(&counters_of(from)?, &copied.counters));
    if let Some(state) = read::meta::<CreditState>(from.storage, CRAWL)? {
        credit::keep_notes(from.storage, &state, set, batch)?;
        batch.put_meta(CRAWL, &copied.credit.left(&state));
    }
    hosts_of(from, batch, set, true)
}

/// What was said of all seeds, wherever they are: URLs of both folders go back to them.
fn copy_seeds(from: &Side<'_>, to: &dyn Storage) -> Result<()> {
    let mut out = Out::new(Some(to));
    rows::each(from.storage, Family::Seeds, &KeyRange::all(), &mut |key, value| {
        out.batch.put_raw(Family::Seeds, key.to_vec(), value);
        out.flush(4 << 20)
    })?;
    out.flush(0)
}

/// Hosts that joined the scope, and those of which orders stand: the ones of these partitions, or what is `left` without them.
fn hosts_of(from: &Side<'_>, batch: &mut Batch, set: &PartitionSet, left: bool) -> Result<()> {
    let prints = Fingerprinter::new(from.seed()?);
    let is_meant = |host: &String| set.has(Partition::of_host(host));
    for host in read::joined_hosts(from.storage, CRAWL)?.into_iter().filter(is_meant) {
        let of = (CRAWL, prints.host(&host));
        if left { batch.delete_meta::<JoinedHost>(of) } else { batch.put_meta(of, &JoinedHost(host)) }
    }
    let OrderedHosts(ordered) = read::meta(from.storage, CRAWL)?.unwrap_or_default();
    let known: BTreeSet<String> = ordered.into_iter().filter(|host| is_meant(host) != left).collect();
    batch.put_meta(CRAWL, &OrderedHosts(known.into_iter().collect()));
    Ok(())
}
