//! A store in another process, killed while it writes.

use std::io::{BufRead, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use crate::storage::contract::small;
use crate::storage::{Batch, Family, RocksStorage, Storage, StorageError};

/// Names the folder in which the writer below, run in a process of its own, writes until it is killed.
const WRITER_DIR: &str = "LYCOSA_TEST_WRITER_DIR";
const WRITER: &str = "storage::rocks::kill_tests::writer";

/// Not a test by itself: without the variable it does nothing. Each batch goes to two families and is then said to be written.
#[test]
#[ignore = "the kill test runs it in a process of its own"]
fn writer() {
    let Some(dir) = std::env::var_os(WRITER_DIR) else { return };
    let storage = RocksStorage::open(Path::new(&dir), small()).unwrap();
    for n in 0_u32.. {
        let mut batch = Batch::new();
        batch.put_raw(Family::Queue, n.to_be_bytes().to_vec(), vec![7; 100]);
        batch.put_raw(Family::Seen, n.to_be_bytes().to_vec(), vec![7; 100]);
        storage.write(&batch).unwrap();
        writeln!(std::io::stdout(), "\nwrote {n}").unwrap();
    }
}

fn start_writer(dir: &Path) -> Child {
    let mut writer = Command::new(std::env::current_exe().unwrap());
    writer.args([WRITER, "--exact", "--include-ignored", "--nocapture", "--test-threads=1"]).env(WRITER_DIR, dir);
    writer.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap()
}

#[test]
fn a_killed_writer_leaves_every_batch_it_was_told_of_and_none_by_half() {
    let dir = tempfile::tempdir().unwrap();
    let mut kept = 0;
    for round in [1, 150, 700] {
        let mut writer = start_writer(dir.path());
        let lines = BufReader::new(writer.stdout.take().unwrap()).lines();
        let mut told = lines.filter_map(|line| line.unwrap().strip_prefix("wrote ")?.parse::<u32>().ok());
        let first = told.find(|n| *n >= round);
        assert!(first.is_some(), "the writer ended by itself");
        let error = RocksStorage::open(dir.path(), small()).unwrap_err();
        assert!(matches!(error, StorageError::Locked { .. }), "{error}");
        writer.kill().unwrap();
        writer.wait().unwrap();
        let last = told.last().or(first).unwrap();

        let storage = RocksStorage::open(dir.path(), small()).unwrap();
        let keys = |family| {
            let found = storage.scan(family, b"", b"", usize::MAX).unwrap();
            found.into_iter().map(|(key, _)| key).collect::<Vec<_>>()
        };
        let queued = keys(Family::Queue);
        assert_eq!(queued, keys(Family::Seen), "a batch was kept by half");
        assert_eq!(queued, (0..queued.len() as u32).map(|n| n.to_be_bytes().to_vec()).collect::<Vec<_>>());
        assert!(queued.len() as u32 > last, "wrote {last}, kept {}", queued.len());
        assert!(queued.len() >= kept);
        kept = queued.len();
    }
}
