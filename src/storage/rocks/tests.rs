use std::fs;

use proptest::prelude::*;

use super::*;
use crate::storage::contract::small;
use crate::storage::values::Format;
use crate::storage::{FORMAT_VERSION, MemoryStorage, read};

/// A store in a folder of its own, which goes with the first.
fn opened() -> (tempfile::TempDir, RocksStorage) {
    let dir = tempfile::tempdir().unwrap();
    let storage = RocksStorage::open(dir.path(), small()).unwrap();
    (dir, storage)
}

fn put(storage: &dyn Storage, key: &[u8]) -> u64 {
    let mut batch = Batch::new();
    batch.put_raw(Family::Queue, key.to_vec(), b"v".to_vec());
    storage.write(&batch).unwrap()
}

#[test]
fn what_was_written_is_there_after_closing_and_opening_again() {
    let (dir, storage) = opened();
    let sequence = put(&storage, b"a");
    drop(storage);
    let storage = RocksStorage::open(dir.path(), small()).unwrap();
    assert_eq!(storage.get(Family::Queue, b"a").unwrap(), Some(b"v".to_vec()));
    assert!(storage.sequence() >= sequence);
}

#[test]
fn a_folder_keeps_its_seed() {
    let dir = tempfile::tempdir().unwrap();
    drop(RocksStorage::open(dir.path(), RocksOptions { seed: Some(77), ..small() }).unwrap());
    let storage = RocksStorage::open(dir.path(), RocksOptions { seed: Some(78), ..small() }).unwrap();
    let format = read::meta::<Format>(&storage, ()).unwrap();
    assert_eq!(format, Some(Format { version: FORMAT_VERSION, seed: 77 }));
}

#[test]
fn new_folders_get_different_seeds() {
    let seed = || {
        let dir = tempfile::tempdir().unwrap();
        let storage = RocksStorage::open(dir.path(), RocksOptions { seed: None, ..small() }).unwrap();
        read::meta::<Format>(&storage, ()).unwrap().unwrap().seed
    };
    assert_ne!(seed(), seed());
}

#[test]
fn a_folder_in_use_is_refused_by_name() {
    let (dir, first) = opened();
    let error = RocksStorage::open(dir.path(), small()).unwrap_err();
    assert!(matches!(error, StorageError::Locked { .. }), "{error}");
    put(&first, b"still open");
}

#[test]
fn a_closed_store_lets_go_of_its_folder_and_refuses_all() {
    let (dir, first) = opened();
    first.close();
    assert!(matches!(first.get(Family::Meta, b"k"), Err(StorageError::Latched { .. })));
    assert!(matches!(first.write(&Batch::new()), Err(StorageError::Latched { .. })));
    assert!(first.reopen().is_err(), "closed is closed");
    RocksStorage::open(dir.path(), small()).unwrap();
}

#[test]
fn a_database_of_another_version_is_refused_even_when_the_marker_lies() {
    let (dir, storage) = opened();
    let mut batch = Batch::new();
    batch.put_meta((), &Format { version: FORMAT_VERSION + 1, seed: 1 });
    storage.write(&batch).unwrap();
    drop(storage);
    let error = RocksStorage::open(dir.path(), small()).unwrap_err();
    assert!(
        matches!(&error, StorageError::Version { found, .. } if *found == (FORMAT_VERSION + 1).to_string()),
        "{error}"
    );
}

#[test]
fn a_marker_of_another_version_keeps_the_database_shut() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("FORMAT"), format!("lycosa data folder\nformat {}\n", FORMAT_VERSION + 1)).unwrap();
    assert!(matches!(RocksStorage::open(dir.path(), small()), Err(StorageError::Version { .. })));
    assert!(!dir.path().join("db").exists());
}

#[test]
fn a_store_opened_again_takes_writes_and_keeps_what_it_had() {
    let (_dir, storage) = opened();
    put(&storage, b"a");
    storage.open_again().unwrap();
    put(&storage, b"b");
    assert!(!storage.reopen().unwrap(), "a sound store is left as it is");
    assert_eq!(storage.scan(Family::Queue, b"", b"", 9).unwrap().len(), 2);
}

#[test]
fn readers_wait_while_the_store_is_opened_again_and_are_not_refused() {
    let (_dir, storage) = opened();
    put(&storage, b"a");
    let over = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        let reader = scope.spawn(|| {
            let mut reads = 0;
            while !over.load(std::sync::atomic::Ordering::Acquire) {
                assert!(storage.get(Family::Queue, b"a").unwrap().is_some());
                reads += 1;
            }
            reads
        });
        (0..5).for_each(|_| storage.open_again().unwrap());
        over.store(true, std::sync::atomic::Ordering::Release);
        assert!(reader.join().unwrap() > 0);
    });
}

#[test]
fn after_a_failure_writes_are_refused_until_the_store_is_opened_again() {
    let (_dir, storage) = opened();
    put(&storage, b"a");
    let failed = storage.change("testing", |_| {
        Err::<(), _>(refused("testing", "IO error: No space left on device: While appending".into()))
    });
    assert!(failed.unwrap_err().is_full());
    let mut batch = Batch::new();
    batch.put_raw(Family::Queue, b"b".into(), vec![]);
    assert!(matches!(storage.write(&batch), Err(StorageError::Latched { .. })));
    assert!(matches!(storage.sync(), Err(StorageError::Latched { .. })));
    assert!(storage.get(Family::Queue, b"a").unwrap().is_some(), "reads go on");
    assert!(storage.reopen().unwrap());
    storage.write(&batch).unwrap();
}

#[test]
fn a_damaged_database_is_an_error_and_no_panic() {
    let (dir, storage) = opened();
    drop(storage);
    fs::write(dir.path().join("db/CURRENT"), "MANIFEST-999999\n").unwrap();
    let error = RocksStorage::open(dir.path(), small()).unwrap_err();
    assert!(matches!(error, StorageError::Engine { .. }), "{error}");
}

#[test]
fn it_says_what_it_holds() {
    let (_dir, storage) = opened();
    for n in 0_u32..1000 {
        put(&storage, &n.to_be_bytes());
    }
    let stats = storage.stats();
    assert!(stats.memtables > 0 && stats.memory >= stats.memtables && stats.memory < 64 << 20, "{stats:?}");
    assert_eq!((stats.background_errors, stats.stalled), (0, false));
    storage.open_again().unwrap();
    assert!(storage.stats().disk > 0);
}

#[test]
fn readers_see_a_batch_whole_or_not_at_all() {
    let (_dir, storage) = opened();
    let step = |n: u32| {
        let mut batch = Batch::new();
        for key in 0_u8..20 {
            batch.put_raw(Family::Seen, vec![key], n.to_be_bytes().to_vec());
        }
        storage.write(&batch).unwrap();
    };
    step(0);
    std::thread::scope(|scope| {
        let reader = scope.spawn(|| {
            loop {
                let found = storage.scan(Family::Seen, b"", b"", 20).unwrap();
                assert!(found.iter().all(|(_, value)| *value == found[0].1), "{found:?}");
                if found[0].1 == 500_u32.to_be_bytes() {
                    break;
                }
            }
        });
        (1..=500).for_each(step);
        reader.join().unwrap();
    });
}

/// The place of a family, a key and its value, none to remove it.
type Change = (usize, Vec<u8>, Option<Vec<u8>>);

/// Keys that lie close together, prefixes of each other among them.
fn key() -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(prop_oneof![Just(0_u8), Just(1), Just(255)], 0..4)
}

/// Any history of batches, as steps on a few keys that lie close together.
fn batches() -> impl Strategy<Value = Vec<Vec<Change>>> {
    let value = prop::option::weighted(0.7, prop::collection::vec(any::<u8>(), 0..300));
    let change = (0..3_usize, key(), value);
    prop::collection::vec(prop::collection::vec(change, 0..12), 1..12)
}

/// Makes a batch of one step of [`batches`].
fn batch_of(changes: &[Change]) -> Batch {
    let mut batch = Batch::new();
    for (family, key, value) in changes {
        match value {
            Some(value) => batch.put_raw(Family::ALL[*family], key.clone(), value.clone()),
            None => batch.delete_raw(Family::ALL[*family], key.clone()),
        }
    }
    batch
}

/// What a kill at this moment would leave: the files as they are, without the lock.
fn copy_of(dir: &Path) -> tempfile::TempDir {
    let copy = tempfile::tempdir().unwrap();
    fs::create_dir(copy.path().join("db")).unwrap();
    fs::copy(dir.join("FORMAT"), copy.path().join("FORMAT")).unwrap();
    for entry in fs::read_dir(dir.join("db")).unwrap() {
        let entry = entry.unwrap();
        if entry.file_name() != "LOCK" {
            fs::copy(entry.path(), copy.path().join("db").join(entry.file_name())).unwrap();
        }
    }
    copy
}

/// The newest log of a database.
fn log_of(dir: &Path) -> PathBuf {
    let files = fs::read_dir(dir.join("db")).unwrap().map(|entry| entry.unwrap().path());
    files.filter(|path| path.extension().is_some_and(|ext| ext == "log")).max().unwrap()
}

#[test]
fn a_write_that_has_returned_survives_a_kill() {
    let (dir, storage) = opened();
    for n in 0_u8..50 {
        put(&storage, &[n]);
    }
    let copy = copy_of(dir.path());
    let after_kill = RocksStorage::open(copy.path(), small()).unwrap();
    assert_eq!(after_kill.scan(Family::Queue, b"", b"", 99).unwrap().len(), 50);
    assert!(after_kill.sequence() >= storage.sequence());
}

#[test]
fn a_torn_log_loses_whole_batches_from_its_end_only() {
    let (dir, storage) = opened();
    for n in 0_u8..20 {
        let mut batch = Batch::new();
        batch.put_raw(Family::Queue, vec![n], vec![n; 50]);
        batch.put_raw(Family::Seen, vec![n], vec![n; 50]);
        storage.write(&batch).unwrap();
    }
    let mut kept_before = 19; // one torn byte costs the last batch
    for torn in [1, 70, 400, 1500] {
        let copy = copy_of(dir.path());
        let log = fs::OpenOptions::new().write(true).open(log_of(copy.path())).unwrap();
        let length = log.metadata().unwrap().len();
        log.set_len(length - torn).unwrap();
        drop(log);
        let after_loss = RocksStorage::open(copy.path(), small()).unwrap();
        let keys = |family| {
            let found = after_loss.scan(family, b"", b"", 99).unwrap();
            found.into_iter().map(|(key, _)| key).collect::<Vec<_>>()
        };
        let kept = keys(Family::Queue);
        assert_eq!(kept, keys(Family::Seen), "half a batch is left after losing {torn} bytes");
        assert_eq!(kept, (0..kept.len()).map(|n| vec![n as u8]).collect::<Vec<_>>());
        assert!(kept.len() <= kept_before, "{torn}: {}", kept.len());
        kept_before = kept.len();
    }
    assert!((1..10).contains(&kept_before), "{kept_before} left");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn any_history_reads_the_same_on_rocksdb_and_on_the_twin(
        history in batches(),
        reopen in prop::collection::vec(prop::bool::weighted(0.2), 12),
        bounds in prop::collection::vec((key(), key(), 0_usize..9), 8),
    ) {
        let dir = tempfile::tempdir().unwrap();
        let rocks = RocksStorage::open(dir.path(), small()).unwrap();
        let twin = MemoryStorage::formatted(1).unwrap();
        for (changes, again) in history.iter().zip(reopen) {
            let batch = batch_of(changes);
            rocks.write(&batch).unwrap();
            twin.write(&batch).unwrap();
            if again {
                rocks.reopen().unwrap();
            }
        }
        for family in Family::ALL {
            let all = rocks.scan(*family, b"", b"", usize::MAX).unwrap();
            prop_assert_eq!(&all, &twin.scan(*family, b"", b"", usize::MAX).unwrap());
            for (from, until, limit) in &bounds {
                prop_assert_eq!(rocks.scan(*family, from, until, *limit).unwrap(), twin.scan(*family, from, until, *limit).unwrap());
            }
            let mut keys: Vec<Vec<u8>> = history.iter().flatten().map(|(_, key, _)| key.clone()).collect();
            keys.sort();
            prop_assert_eq!(rocks.multi_get(*family, &keys).unwrap(), twin.multi_get(*family, &keys).unwrap());
            for key in &keys {
                prop_assert_eq!(rocks.get(*family, key).unwrap(), twin.get(*family, key).unwrap());
            }
        }
    }
}
