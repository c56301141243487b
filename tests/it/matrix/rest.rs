//! Looks into a data folder between two lives.

use std::collections::BTreeMap;
use std::fs::{self, OpenOptions};
use std::path::Path;

use lycosa::domain::politeness::Pace;
use lycosa::storage::keys::KeyRange;
use lycosa::storage::values::{FileLengths, Format};
use lycosa::storage::{RocksOptions, RocksStorage, read, tables};
use nix::sys::signal::Signal;

use super::judge::{Life, now_us};
use crate::sandbox::{Sandbox, judge_archive, python, until};
use crate::support::fsck::fsck;

/// A copy of the data folder, and its database; `None` when the daemon was killed before there was one.
fn copy(sandbox: &Sandbox, archive: bool) -> Option<(tempfile::TempDir, RocksStorage)> {
    let (data, folder) = (sandbox.data(), tempfile::tempdir().unwrap());
    if !data.join("db/CURRENT").exists() {
        return None;
    }
    let folders = if archive { &["", "db", "warc"][..] } else { &["", "db"] };
    folders.iter().for_each(|name| copy_files(&data.join(name), &folder.path().join(name)));
    let storage = RocksStorage::open(folder.path(), RocksOptions::default()).unwrap();
    Some((folder, storage))
}

fn copy_files(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).into_iter().flatten().map(Result::unwrap) {
        if entry.path().is_file() {
            fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
        }
    }
}

/// What is committed fits together; says what was done. Lines that no commit knows are cut off, as the next start does.
pub fn check_a_copy(sandbox: &Sandbox) -> &'static str {
    const NOTHING: &str = ", nothing to look into";
    let Some((folder, storage)) = copy(sandbox, true) else { return NOTHING };
    let Some(file_lengths) = read::meta::<FileLengths>(&storage, ()).unwrap() else { return NOTHING };
    let jsonl = OpenOptions::new().write(true).open(folder.path().join("crawl.jsonl")).unwrap();
    assert!(jsonl.metadata().unwrap().len() >= file_lengths.jsonl, "crawl.jsonl lacks lines");
    jsonl.set_len(file_lengths.jsonl).unwrap();
    let seed = read::meta::<Format>(&storage, ()).unwrap().unwrap().seed;
    fsck(&storage, seed, Some(folder.path()));
    ", looked into"
}

/// Earliest times of all hosts, milliseconds since 1970.
pub fn paces(sandbox: &Sandbox) -> BTreeMap<String, u64> {
    let Some((_folder, storage)) = copy(sandbox, false) else { return BTreeMap::new() };
    let hosts = read::scan::<tables::HostState>(&storage, &KeyRange::all(), usize::MAX).unwrap();
    let earliest = |pace: &[u8]| Pace::decode(pace).map_or(0, |pace| pace.earliest().0);
    hosts.into_iter().map(|(_, host)| (host.name, earliest(&host.pace))).collect()
}

/// After a start that has only repaired, other people's tools read all files.
pub fn warcs_are_readable(sandbox: &mut Sandbox) -> Life {
    let mut daemon = sandbox.start(&["--until-done"], None);
    let mut begun = || (daemon.log().contains("crawl begins") || daemon.ended().is_some()).then_some(());
    until("the crawl", &mut begun, String::new);
    daemon.signal_if_there(Signal::SIGKILL);
    daemon.wait();
    let life = Life::killed("when it had begun".into(), now_us());
    let warc = sandbox.data().join("warc");
    let any = fs::read_dir(&warc).unwrap().any(|e| e.unwrap().file_name().to_string_lossy().contains(".warc.gz"));
    if let Some(python) = python().filter(|_| any) {
        println!("       {}", judge_archive(&python, &warc, None).trim());
    }
    life
}
