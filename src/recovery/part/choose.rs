//! Which partitions go to the other folder.

use super::{CRAWL, PartError, Result};
use crate::domain::partition::{PARTITIONS, Partition, PartitionSet};
use crate::storage::keys::{Key, KeyRange, after};
use crate::storage::tables::{HostCounts, HostState};
use crate::storage::{Storage, read};

/// Records read at a time.
const CHUNK: usize = 10_000;

/// How they are chosen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Choice {
    /// So many parts of so many, by the URLs in them.
    Share(u32, u32),
    /// Those of hosts that match: a name, or `*.` and a domain with all below it. What else is in these partitions goes along.
    Hosts(Vec<String>),
    /// From one number to another, both included.
    Range(u16, u16),
}

impl Choice {
    /// Those of `mine` that are meant.
    ///
    /// # Errors
    /// [`PartError::Nothing`].
    pub fn of(&self, storage: &dyn Storage, mine: &PartitionSet) -> Result<PartitionSet> {
        if matches!(self, Self::Range(from, to) if from > to || *to >= PARTITIONS) {
            return Err(PartError::Nothing(format!("--partitions takes A-B, from 0 to {}", PARTITIONS - 1)));
        }
        let chosen: PartitionSet = match self {
            Self::Share(part, of) => by_share(storage, mine, (*part, *of))?,
            Self::Hosts(patterns) => by_hosts(storage, patterns)?,
            Self::Range(from, to) => (*from..=*to).map(Partition).collect(),
        };
        let chosen: PartitionSet = chosen.iter().filter(|partition| mine.has(*partition)).collect();
        if chosen.is_empty() {
            let why = match self {
                Self::Share(..) => "that share is less than one partition",
                Self::Hosts(_) => "no host of this folder matches",
                Self::Range(..) => "none of these partitions is this folder's own",
            };
            return Err(PartError::Nothing(why.to_owned()));
        }
        Ok(chosen)
    }
}

/// Neighbours from the end on, so that what is left and what goes are each one range of keys, until they have the share of the URLs.
fn by_share(storage: &dyn Storage, mine: &PartitionSet, (part, of): (u32, u32)) -> Result<PartitionSet> {
    let mut urls = vec![0_u64; usize::from(PARTITIONS)];
    each::<HostCounts>(storage, |key, counts| {
        let all = counts.queued_total() + counts.due + counts.done + counts.errors + 1;
        if let Some(sum) = urls.get_mut(usize::from(key.partition.0)).filter(|_| key.crawl == CRAWL) {
            *sum += all;
        }
    })?;
    let of_mine = |partition: Partition| urls.get(usize::from(partition.0)).map_or(0, |n| n + 1);
    let all: u64 = mine.iter().map(of_mine).sum();
    let wanted = u128::from(all) * u128::from(part) / u128::from(of.max(1));
    let (mut chosen, mut sum) = (PartitionSet::none(), 0_u128);
    let mut backwards: Vec<Partition> = mine.iter().collect();
    backwards.reverse();
    for partition in backwards {
        let with = sum + u128::from(of_mine(partition));
        if with > wanted && sum > 0 && with - wanted > wanted - sum {
            break;
        }
        chosen.add(partition);
        sum = with;
        if sum >= wanted {
            break;
        }
    }
    Ok(chosen)
}

fn by_hosts(storage: &dyn Storage, patterns: &[String]) -> Result<PartitionSet> {
    let mut chosen = PartitionSet::none();
    each::<HostState>(storage, |key, state| {
        if patterns.iter().any(|pattern| is_meant(pattern, &state.name)) {
            chosen.add(key.partition);
        }
    })?;
    Ok(chosen)
}

fn is_meant(pattern: &str, host: &str) -> bool {
    match pattern.strip_prefix("*.") {
        Some(domain) => host == domain || host.strip_suffix(domain).is_some_and(|rest| rest.ends_with('.')),
        None => host == pattern,
    }
}

fn each<T: crate::storage::tables::Table>(storage: &dyn Storage, mut act: impl FnMut(T::Key, T::Value)) -> Result<()> {
    let mut range = KeyRange::all();
    loop {
        let rows = read::scan::<T>(storage, &range, CHUNK)?;
        let last = rows.last().map(|(key, _)| key.encode());
        let full = rows.len() == CHUNK;
        rows.into_iter().for_each(|(key, value)| act(key, value));
        match last.filter(|_| full) {
            Some(last) => range.from = after(&last),
            None => return Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::fingerprint::HostKey;
    use crate::storage::keys::HostAt;
    use crate::storage::values;
    use crate::storage::{Batch, MemoryStorage};

    #[test]
    fn a_share_is_that_of_the_urls_and_two_ranges_of_keys() {
        let storage = MemoryStorage::new();
        let mut batch = Batch::new();
        for nth in 0..PARTITIONS {
            let at = HostAt { partition: Partition(nth), host: HostKey([1; 8]) };
            let done = if nth < 100 { 1_000 } else { 10 };
            batch.put::<HostCounts>(&at.crawl(CRAWL), &values::HostCounts { done, ..Default::default() });
        }
        storage.write(&batch).unwrap();
        let all = PartitionSet::all();
        let half = Choice::Share(1, 2).of(&storage, &all).unwrap();
        assert_eq!(KeyRange::partitions(&half).len(), 1);
        assert!((966..971).contains(&half.len()), "{}", half.len());
        let rest: PartitionSet = all.iter().filter(|partition| !half.has(*partition)).collect();
        let quarter = Choice::Share(1, 2).of(&storage, &rest).unwrap();
        assert!(quarter.iter().all(|partition| rest.has(partition)));
        assert!(matches!(Choice::Range(1_000, 2_000).of(&storage, &rest), Err(PartError::Nothing(_))));
        assert_eq!(Choice::Range(3, 5).of(&storage, &rest).unwrap().len(), 3);
    }

    #[test]
    fn hosts_are_meant_by_name_or_by_the_domain_above_them() {
        for (pattern, host, meant) in [
            ("a.test", "a.test", true),
            ("a.test", "b.a.test", false),
            ("*.a.test", "b.a.test", true),
            ("*.a.test", "a.test", true),
            ("*.a.test", "ba.test", false),
        ] {
            assert_eq!(is_meant(pattern, host), meant, "{pattern} {host}");
        }
    }
}
