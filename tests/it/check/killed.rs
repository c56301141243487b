//! Everything damaged at once: a repair that is killed, and the crawl after one.

use std::sync::atomic::{AtomicU64, Ordering};

use lycosa::storage::tables;
use lycosa::storage::{Batch, Family, MemoryStorage, Pair, Storage, StorageError, StorageStats};

use super::{MIDDLE, SEED, all, harmless, is_mended, middle, repair};
use crate::support::{Fork, checker, fsck, truth_any};

/// All damages at once, but those that leave the others nothing to damage.
fn damage_everything(fork: &Fork) {
    let whole =
        ["counters are gone", "the open archive file is gone", "a closed archive file is gone", "an index is gone"];
    for (_, damage, _) in harmless().filter(|(what, _, _)| !whole.contains(what)) {
        damage(fork.storage(), fork.data());
    }
}

/// A store whose process is killed at one of its writes.
struct Killed<'s> {
    storage: &'s MemoryStorage,
    writes_left: AtomicU64,
}

impl Storage for Killed<'_> {
    fn get(&self, family: Family, key: &[u8]) -> Result<Option<Vec<u8>>, StorageError> {
        self.storage.get(family, key)
    }

    fn multi_get(&self, family: Family, keys: &[Vec<u8>]) -> Result<Vec<Option<Vec<u8>>>, StorageError> {
        self.storage.multi_get(family, keys)
    }

    fn scan(&self, family: Family, from: &[u8], until: &[u8], limit: usize) -> Result<Vec<Pair>, StorageError> {
        self.storage.scan(family, from, until, limit)
    }

    fn write(&self, batch: &Batch) -> Result<u64, StorageError> {
        let left = self.writes_left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |n| n.checked_sub(1));
        if left.is_ok() { self.storage.write(batch) } else { Err(StorageError::Injected { doing: "being killed" }) }
    }

    fn sync(&self) -> Result<(), StorageError> {
        self.storage.sync()
    }

    fn sequence(&self) -> u64 {
        self.storage.sequence()
    }

    fn stats(&self) -> StorageStats {
        self.storage.stats()
    }
}

#[test]
fn a_repair_killed_at_any_of_its_writes_has_lost_nothing_and_is_gone_on_with() {
    for writes in 0.. {
        let fork = MIDDLE.fork();
        damage_everything(&fork);
        let known = all::<tables::Seen>(fork.storage()).len();
        let killed = Killed { storage: fork.storage(), writes_left: AtomicU64::new(writes) };
        let whole = checker(Some(fork.data())).repair(&killed, &mut |_| {}).is_ok();
        assert!(all::<tables::Seen>(fork.storage()).len() >= known, "marks were lost after {writes} writes");
        let mended = repair(&fork);
        assert_eq!(mended.dropped, 0, "after {writes} writes: {:#?}", mended.repaired);
        is_mended(&fork, "a repair that was killed");
        if whole {
            assert!(writes > 5, "{writes} writes are too few to have been killed between");
            return;
        }
    }
}

#[test]
fn a_crawl_repaired_of_everything_at_once_ends_with_the_truth() {
    let sandbox = middle();
    let fork = sandbox.fork();
    damage_everything(&fork);
    let mended = repair(&fork);
    assert_eq!(mended.dropped, 0, "{:#?}", mended.repaired);
    is_mended(&fork, "everything");
    let sandbox = sandbox.resume(fork);
    let live = sandbox.start();
    live.until_stop();
    live.until_all_is_back();
    let found = fsck(&*live.storage, SEED, None);
    let missing: Vec<_> = sandbox.web.truth(truth_any()).difference(&found.captured()).cloned().collect();
    let states = missing.iter().map(|url| {
        let url = lycosa::domain::url::PageUrl::from_canonical(url).unwrap();
        found.seen.get(&found.key(&url)).copied()
    });
    assert!(missing.is_empty(), "{missing:?} {:?} {:#?}", states.collect::<Vec<_>>(), mended.repaired);
}
