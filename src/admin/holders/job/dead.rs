//! Dead URLs that are looked for. In memory: a key and a count each.

use crate::admin::commit::reading;
use crate::crawl::jobs::Job;
use crate::crawl::jobs::JobError;
use crate::domain::reason::Failure;
use crate::storage::keys::{Key, KeyRange, SeenKey, after};
use crate::storage::tables::Failed;
use crate::storage::{Storage, read};

/// URLs looked for at most: 14 MB.
pub(super) const MOST: usize = 500_000;
/// Records read at a time.
const CHUNK: usize = 1_000;

/// The URLs in the order of their keys.
#[derive(Default)]
pub(super) struct Dead {
    keys: Vec<SeenKey>,
    held: Vec<u32>,
    /// There are more than are looked for.
    pub cut: bool,
}

impl Dead {
    /// Those given up within a range of keys.
    pub fn load(storage: &dyn Storage, job: &Job, mut range: KeyRange, most: usize) -> Result<Self, JobError> {
        let mut dead = Self::default();
        loop {
            let rows = reading(job, || read::scan::<Failed>(storage, &range, CHUNK))?;
            let Some((last, _)) = rows.last() else { break };
            range.from = after(&last.encode());
            // What this machine did itself says nothing of a link.
            let keys = rows.iter().filter(|(_, failed)| failed.reason != Failure::Spill).map(|(key, _)| *key);
            dead.keys.extend(keys);
            dead.cut = dead.keys.len() > most;
            if dead.cut {
                dead.keys.truncate(most);
                break;
            }
            job.step(0, 0)?;
        }
        dead.held = vec![0; dead.keys.len()];
        Ok(dead)
    }

    pub fn len(&self) -> usize {
        self.keys.len()
    }

    /// The number of a URL that is looked for.
    pub fn find(&self, key: &SeenKey) -> Option<usize> {
        self.keys.binary_search(key).ok()
    }

    /// One more page holds it; gives how many do.
    pub fn hold(&mut self, number: usize) -> u32 {
        let Some(held) = self.held.get_mut(number) else { return 0 };
        *held = held.saturating_add(1);
        *held
    }

    /// Keys, a part at a time, with the number of the first of each part.
    pub fn parts(&self, size: usize) -> impl Iterator<Item = (usize, &[SeenKey])> {
        (0..).step_by(size).zip(self.keys.chunks(size))
    }

    /// How many pages hold it.
    pub fn pages(&self, number: usize) -> u64 {
        self.held.get(number).copied().unwrap_or_default().into()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::admin::jobs::JobState;
    use crate::base::clock::Clock;
    use crate::base::time::UnixMillis;
    use crate::crawl::jobs::Jobs;
    use crate::domain::fingerprint::{CrawlId, HostKey, UrlKey};
    use crate::domain::partition::Partition;
    use crate::storage::keys::HostAt;
    use crate::storage::values::FailedValue;
    use crate::storage::{Batch, MemoryStorage};

    fn key(n: u8) -> SeenKey {
        HostAt { partition: Partition(1), host: HostKey([2; 8]) }.crawl(CrawlId(1)).url(UrlKey([n; 12]))
    }

    fn failed(reason: Failure) -> FailedValue {
        FailedValue {
            url: "http://h.test/".into(),
            reason,
            status: None,
            when: UnixMillis(1),
            captured: None,
            attempts: 1,
            limit: None,
            depth: 0,
            hops: 0,
            seed: false,
            found: crate::domain::found_as::FoundAs::Link,
            discovered: UnixMillis(1),
            origin: None,
            via: None,
            spelling: None,
        }
    }

    fn storage() -> MemoryStorage {
        let (storage, mut batch) = (MemoryStorage::new(), Batch::new());
        for n in 1..=5 {
            batch.put::<Failed>(&key(n), &failed(if n == 2 { Failure::Spill } else { Failure::Reset }));
        }
        storage.write(&batch).unwrap();
        storage
    }

    fn in_job(work: impl FnOnce(&Job) -> Result<Value, JobError> + Send + 'static) -> Value {
        let jobs = Jobs::default();
        let id = jobs.start(&Clock::real(), "test", String::new(), work).unwrap().id;
        while jobs.get(id).unwrap().state == JobState::Running {
            std::thread::yield_now();
        }
        jobs.get(id).unwrap().result
    }

    #[test]
    fn what_this_machine_did_is_no_dead_link_and_more_than_can_be_looked_for_is_cut() {
        let found = in_job(|job| {
            let of = |most| Dead::load(&storage(), job, KeyRange::all(), most);
            let (all, cut) = (of(4)?, of(3)?);
            Ok(json!([all.len(), all.cut, cut.len(), cut.cut]))
        });
        assert_eq!(found, json!([4, false, 3, true]));
    }

    #[test]
    fn pages_are_counted_for_the_url_they_hold() {
        let found = in_job(|job| {
            let mut dead = Dead::load(&storage(), job, KeyRange::all(), MOST)?;
            let numbers = [1, 2, 5].map(|n| dead.find(&key(n)));
            let counts = [dead.hold(3), dead.hold(3), dead.hold(9)];
            let held: Vec<u64> = (0..dead.len()).map(|n| dead.pages(n)).collect();
            Ok(json!([numbers, counts, held]))
        });
        assert_eq!(found, json!([[0, null, 3], [1, 2, 0], [0, 0, 0, 2]]));
    }
}
