//! What comes with partitions, from whomever: copied into the folder that takes them, and accepted there.

use std::collections::BTreeSet;

use super::rows::{self, Copied, Out, Way, added, counters_of};
use super::{CRAWL, Result, Side, Tell, credit};
use crate::domain::fingerprint::Fingerprinter;
use crate::domain::partition::{Partition, PartitionSet};
use crate::storage::keys::{Key, KeyRange, SeenKey};
use crate::storage::values::{CreditState, JoinedHost, OrderedHosts};
use crate::storage::{Batch, Family, read};

/// What was copied, and the state of link credit with it.
pub(super) struct Came {
    copied: Copied,
    credit: Option<CreditState>,
}

impl Came {
    /// URLs that came.
    pub fn urls(&self) -> u64 {
        self.copied.counters.discovered
    }
}

/// Copies records, contents, sayings of seeds and shares of link credit. None of it counts until it is accepted; done again, it writes the
/// same again.
pub(super) fn copy(from: &Side<'_>, into: &Side<'_>, set: &PartitionSet, tell: Tell<'_>) -> Result<Came> {
    let (stored, own) = (counters_of(into)?, read::meta::<CreditState>(into.storage, CRAWL)?);
    let theirs = read::meta::<CreditState>(from.storage, CRAWL)?;
    let root_index = own.as_ref().map(|state| state.root.index);
    let way = Way { credit: theirs.as_ref(), root_index, like: &stored, fed: Some(stored.fed) };
    let mut copied = rows::copy(from, Some(into.storage), set, way, tell)?;
    rows::copy_contents(from, into.storage, set)?;
    take_seeds(from, into, set)?;
    let credit = match (own, theirs) {
        (Some(own), Some(theirs)) => {
            let notes = credit::take_notes((from.storage, &theirs), (into.storage, &own), set, &mut copied.credit)?;
            Some(copied.credit.joined(&own, &theirs, notes))
        }
        (None, Some(theirs)) => {
            credit::give_notes(from.storage, Some(into.storage), &theirs, set, &mut copied.credit)?;
            Some(copied.credit.first(&theirs))
        }
        (_, None) => None,
    };
    Ok(Came { copied, credit })
}

/// Counts what came, in the batch that makes it the folder's own; numbers that are never given out twice rise to those of the other. `hosts`:
/// the partitions of the joined and the ordered hosts that come along.
pub(super) fn accept(
    from: &Side<'_>,
    into: &Side<'_>,
    hosts: &PartitionSet,
    came: &Came,
    batch: &mut Batch,
) -> Result<()> {
    let (stored, theirs) = (counters_of(into)?, counters_of(from)?);
    let mut counters = added(&stored, &came.copied.counters);
    counters.fed = came.copied.counters.fed;
    counters.next_seq = stored.next_seq.max(theirs.next_seq);
    counters.next_commit = stored.next_commit.max(theirs.next_commit);
    counters.too_deep = stored.too_deep || theirs.too_deep;
    counters.seed_cycles = stored.seed_cycles.max(theirs.seed_cycles);
    batch.put_meta(CRAWL, &counters);
    came.credit.iter().for_each(|state| batch.put_meta(CRAWL, state));
    take_hosts(from, into, hosts, batch)
}

/// What is said of seeds there and not here; of those that come over, what is said there.
fn take_seeds(from: &Side<'_>, into: &Side<'_>, set: &PartitionSet) -> Result<()> {
    let mut out = Out::new(Some(into.storage));
    rows::each(from.storage, Family::Seeds, &KeyRange::all(), &mut |key, value| {
        let damaged = || rows::damaged(&from.data, Family::Seeds, key);
        let comes = set.has(SeenKey::decode(key).map_err(|_| damaged())?.partition);
        if comes || into.storage.get(Family::Seeds, key)?.is_none() {
            out.batch.put_raw(Family::Seeds, key.to_vec(), value);
        }
        out.flush(4 << 20)
    })?;
    out.flush(0)
}

/// Hosts that joined the scope, and those of which orders stand.
fn take_hosts(from: &Side<'_>, into: &Side<'_>, set: &PartitionSet, batch: &mut Batch) -> Result<()> {
    let prints = Fingerprinter::new(from.seed()?);
    let is_meant = |host: &String| set.has(Partition::of_host(host));
    for host in read::joined_hosts(from.storage, CRAWL)?.into_iter().filter(is_meant) {
        batch.put_meta((CRAWL, prints.host(&host)), &JoinedHost(host));
    }
    let OrderedHosts(ordered) = read::meta(into.storage, CRAWL)?.unwrap_or_default();
    let OrderedHosts(more) = read::meta(from.storage, CRAWL)?.unwrap_or_default();
    let all: BTreeSet<String> = ordered.into_iter().chain(more.into_iter().filter(is_meant)).collect();
    batch.put_meta(CRAWL, &OrderedHosts(all.into_iter().collect()));
    Ok(())
}
