//! A power failure: committed, but the archive's end never reached the disk (I3, I8).

use std::collections::BTreeSet;
use std::fs::{self, OpenOptions};
use std::path::PathBuf;
use std::time::Duration;

use lycosa::crawl::node::Stop;
use lycosa::storage::keys::KeyRange;
use lycosa::storage::{Storage, read, tables};
use lycosa::testweb::TestWebConfig;

use crate::support::{Sandbox, truth_any};

fn web() -> TestWebConfig {
    TestWebConfig {
        hosts: 4,
        pages: 25,
        links: 8,
        min_size: 300,
        max_size: 1_500,
        redirects: 0.1,
        duplicates: 0.2,
        errors: 0.1,
        ..TestWebConfig::default()
    }
}

/// Cuts the open WARC inside the record of its middle page, and `crawl.jsonl` to the lines of what is left; gives the URLs
/// of the pages that are gone.
fn lose_power(sandbox: &Sandbox) -> BTreeSet<String> {
    let all = read::scan::<tables::Pages>(&**sandbox.memory(), &KeyRange::all(), usize::MAX).unwrap();
    let mut places: Vec<_> = all.into_iter().map(|(_, page)| (page.warc.unwrap(), page.url)).collect();
    places.sort_by_key(|(place, _)| place.offset);
    let (middle, _) = places[places.len() / 2].clone();
    let warc: PathBuf = sandbox.data().join("warc").join(format!("{}.open", middle.file));
    OpenOptions::new().write(true).open(warc).unwrap().set_len(middle.offset + middle.length / 2).unwrap();
    let lost: BTreeSet<String> =
        places.into_iter().filter(|(place, _)| place.offset >= middle.offset).map(|(_, url)| url).collect();
    let jsonl = sandbox.data().join("crawl.jsonl");
    let kept = |line: &&str| {
        let line: serde_json::Value = serde_json::from_str(line).unwrap();
        !lost.contains(line["url"].as_str().unwrap())
    };
    let text = fs::read_to_string(&jsonl).unwrap();
    fs::write(&jsonl, text.lines().filter(kept).map(|line| format!("{line}\n")).collect::<String>()).unwrap();
    lost
}

#[test]
fn i3_pages_whose_record_a_power_failure_took_are_queued_again_and_nothing_else() {
    let sandbox = Sandbox::new(web()).gap(Duration::from_millis(5)).set("durability.sync=1h");
    let live = sandbox.start();
    live.until("pages", |s| s.pages_stored >= 40);
    let fork = sandbox.fork();
    live.drop_at_once();
    let sandbox = sandbox.resume(fork).archive_lost();
    let lost = lose_power(&sandbox);
    assert!(lost.len() >= 10, "{lost:?}");
    let before = sandbox.web.audit_len();
    let done: BTreeSet<String> = read::scan::<tables::Pages>(&**sandbox.memory(), &KeyRange::all(), usize::MAX)
        .unwrap()
        .into_iter()
        .map(|(_, page)| page.url)
        .collect();

    let live = sandbox.start();
    assert_eq!(live.until_stop(), Stop::Done);
    let ended = live.end_after_fork(); // every capture is in the archive, every count is right
    ended.assert_is(&sandbox.web.truth(truth_any()));
    ended.assert_polite();
    let again: BTreeSet<String> =
        ended.entries[before..].iter().map(|e| e.url()).filter(|u| done.contains(u)).collect();
    assert_eq!(again, lost);
}

#[test]
fn pages_are_listed_as_doubtful_until_the_barrier_only() {
    let sandbox = Sandbox::new(web()).set("durability.sync=1h");
    let live = sandbox.start();
    live.until("pages", |s| s.pages_stored >= 10);
    let listed: usize =
        read::unsynced(&**sandbox.memory(), usize::MAX).unwrap().iter().map(|(_, list)| list.0.len()).sum();
    assert!(listed >= 10, "{listed}");
    live.close();
    assert!(read::unsynced(&**sandbox.memory(), usize::MAX).unwrap().is_empty());

    let sandbox = Sandbox::new(web()).set("durability.sync=commit");
    let live = sandbox.start();
    live.until("pages", |s| s.pages_stored >= 10);
    assert!(read::unsynced(&**sandbox.memory(), usize::MAX).unwrap().is_empty(), "each commit is a barrier");
    live.close();
}

/// The number that the saved filter carries.
fn saved_sequence(sandbox: &Sandbox) -> u64 {
    let bytes = fs::read(sandbox.data().join("seen.bloom")).unwrap();
    u64::from_be_bytes(bytes[8..16].try_into().unwrap())
}

#[test]
fn i4_the_filter_saved_at_a_clean_stop_is_of_the_state_that_the_next_run_begins_with() {
    let sandbox = Sandbox::new(web());
    sandbox.crawl();
    assert_eq!(saved_sequence(&sandbox), sandbox.memory().sequence());
}

#[cfg(feature = "rocksdb")]
#[test]
fn i4_so_it_is_on_disk() {
    let sandbox = Sandbox::new(web()).on_rocks();
    sandbox.crawl();
    let again = lycosa::storage::RocksStorage::open(sandbox.data(), lycosa::storage::RocksOptions::default()).unwrap();
    assert_eq!(saved_sequence(&sandbox), again.sequence());
}
