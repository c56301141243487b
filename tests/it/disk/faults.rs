//! Faults at each kind of write: the daemon pauses, says so, and goes on, or ends with its exit code.

use nix::errno::Errno;

use super::bad::{Place, Rule, bad_disk};
use super::{Running, SETTINGS, asked_again, assert_whole, web};
use crate::sandbox::Sandbox;

const WAL: &str = "*/data/db/*.log";
const WARC: &str = "*/data/warc/*.warc.gz.open";

/// Every kind of write of a running crawl. (A batch whose write to the log is made and said to have failed does not get in:
/// RocksDB cuts its log back when it closes it. Of storages that keep it: `deaths.rs`.)
const PLACES: [Place; 17] = [
    ("write", "before", WAL),
    ("write", "half", WAL),
    ("write", "after", WAL),
    ("sync", "before", WAL),
    ("sync", "after", WAL),
    ("write", "half", WARC),
    ("write", "after", WARC),
    ("sync", "before", WARC),
    ("write", "half", "*/data/warc/*.cdxj.open"),
    ("sync", "before", "*/data/warc/*.cdxj.open"),
    ("write", "half", "*/data/crawl.jsonl"),
    ("sync", "before", "*/data/crawl.jsonl"),
    ("open", "before", WARC),
    ("open", "before", "*/data/warc/*.tmp"),
    ("rename", "before", WARC),
    ("rename", "after", WARC),
    ("write", "half", "*/data/spill/*"),
];

/// Writes that come only when the database is opened again, after a fault of its log.
const WHEN_OPENED_AGAIN: [Place; 4] = [
    ("write", "half", "*/data/db/*.sst"),
    ("sync", "before", "*/data/db/*.sst"),
    ("write", "half", "*/data/db/MANIFEST-*"),
    ("open", "before", "*/data/db/*.log"),
];

fn all_places() -> Vec<Place> {
    PLACES.into_iter().chain(WHEN_OPENED_AGAIN).collect()
}

/// The system's words.
fn words(errno: Errno) -> String {
    let text = std::io::Error::from(errno).to_string();
    text.split(" (os").next().unwrap().to_owned()
}

/// The daemon meets `errno` at each place in turn, pauses, says so, and goes on.
fn meets(errno: Errno, kind: &str, sync: &str, pages: u32, places: &[Place]) {
    let Some(library) = bad_disk() else { return };
    let mut sandbox = Sandbox::new(web(pages), &SETTINGS.replace("sync = \"50ms\"", &format!("sync = {sync:?}")));
    let rule = Rule::of(&sandbox);
    let daemon = Running::start(&mut sandbox, &["--until-done"], &rule.variables(library));
    daemon.until_beyond(0);
    let failures = format!("lycosa_commit_failures_total{{kind=\"{kind}\"}}");
    for place in places.iter().copied() {
        let again = WHEN_OPENED_AGAIN.contains(&place);
        let first = if again { ("write", "before", WAL) } else { place };
        rule.set(first, errno);
        rule.until_hit(first, &daemon);
        if again {
            daemon.until_paused();
            rule.lift();
            rule.set(place, errno);
            rule.until_hit(place, &daemon);
        }
        let paused = daemon.until_paused();
        assert!(paused.idle_reason.contains(&words(errno)), "{place:?}: {}", paused.idle_reason);
        rule.lift();
        daemon.until_beyond(paused.pages_stored);
    }
    assert!(daemon.metric(&failures) >= places.len() as f64 - 1.0, "that of a temporary file is none");
    assert!(daemon.metric("lycosa_storage_reopens_total") >= 1.0);
    assert!(["disk_low", "disk_fault"].map(|r| daemon.metric(&format!("lycosa_paused{{reason=\"{r}\"}}"))) == [0.0; 2]);
    let log = daemon.finish();
    assert!(!log.contains("panicked"), "{log}");
    assert_whole(&sandbox);
    let again = asked_again(&sandbox);
    println!("{kind}: {} URLs, {again} pages asked for again", sandbox.truth().len());
}

#[test]
fn a_device_that_fails_at_any_write_loses_nothing() {
    meets(Errno::EIO, "io", "50ms", 200, &all_places());
}

#[test]
fn a_file_system_that_turns_read_only_at_any_write_loses_nothing() {
    meets(Errno::EROFS, "read_only", "commit", 200, &all_places());
}

#[test]
fn a_disk_that_is_full_at_any_write_loses_nothing() {
    meets(Errno::ENOSPC, "full", "50ms", 200, &all_places());
}

#[test]
fn a_quota_that_is_spent_is_a_full_disk() {
    meets(Errno::EDQUOT, "full", "50ms", 60, &[PLACES[0], PLACES[5], PLACES[16]]);
}

#[test]
fn a_disk_that_stays_broken_ends_the_run_with_its_exit_code_and_the_next_run_goes_on() {
    let Some(library) = bad_disk() else { return };
    let mut sandbox = Sandbox::new(web(20), &format!("{SETTINGS}disk.retry_for = \"400ms\"\n"));
    let rule = Rule::of(&sandbox);
    for (n, place) in
        [("write", "half", WAL), ("write", "half", WARC), ("write", "half", "*/data/spill/*")].into_iter().enumerate()
    {
        let mut daemon = Running::start(&mut sandbox, &["--until-done"], &rule.variables(library));
        daemon.until_beyond(n as u64 * 20);
        rule.set(place, Errno::EIO);
        let status = daemon.daemon.wait();
        let log = daemon.daemon.log();
        assert_eq!(status.code(), Some(3), "{place:?}\n{log}");
        assert!(log.contains("(disk.retry_for): look at the disk"), "{place:?}\n{log}");
        rule.lift();
    }
    sandbox.finish();
    assert_whole(&sandbox);
}

#[test]
fn what_fails_at_a_start_or_an_end_is_said_and_nothing_is_damaged() {
    let Some(library) = bad_disk() else { return };
    let mut sandbox = Sandbox::new(web(5), SETTINGS);
    let rule = Rule::of(&sandbox);
    let starts: [Place; 12] = [
        ("make", "before", "*/data"),
        ("open", "before", "*/data/FORMAT.new"),
        ("write", "half", "*/data/FORMAT.new"),
        ("sync", "before", "*/data/FORMAT.new"),
        ("rename", "before", "*/data/FORMAT.new"),
        ("make", "before", "*/data/db"),
        ("write", "half", "*/data/db/MANIFEST-*"),
        ("open", "before", "*/data/db/*.log"),
        ("write", "half", WAL),
        ("make", "before", "*/data/warc"),
        ("open", "before", "*/data/warc/.lycosa-owner"),
        ("make", "before", "*/data/spill"),
    ];
    for place in starts {
        for errno in [Errno::ENOSPC, Errno::EIO, Errno::EROFS] {
            rule.set(place, errno);
            let mut daemon = sandbox.start_with(&["--until-done"], &rule.variables(library));
            let (status, log) = (daemon.wait(), daemon.log());
            assert!(rule.hits().exists(), "{place:?} was not reached\n{log}");
            assert_eq!(status.code(), Some(3), "{place:?} {errno}\n{log}");
            let said = log.lines().find(|l| l.starts_with("lycosa: ")).unwrap_or_else(|| panic!("{place:?}\n{log}"));
            assert!(said.contains(&words(errno)) && said.contains("then start again"), "{said}");
            rule.lift();
        }
    }
    // At the end only the filter's file may fail without consequence.
    rule.set(("write", "half", "*/data/seen.part"), Errno::ENOSPC);
    let daemon = Running::start(&mut sandbox, &["--until-done"], &rule.variables(library));
    let log = daemon.finish();
    assert!(log.contains("the seen filter was not saved"), "{log}");
    assert!(!sandbox.data().join("seen.bloom").exists());
    rule.lift();
    assert_whole(&sandbox);
    sandbox.finish();
    assert_whole(&sandbox);
}

#[test]
fn a_disk_that_takes_no_seeds_is_waited_for_with_patience_and_ends_with_its_exit_code() {
    let Some(library) = bad_disk() else { return };
    let mut sandbox = Sandbox::new(web(5), &format!("{SETTINGS}disk.retry_for = \"600ms\"\n"));
    let rule = Rule::of(&sandbox);
    for errno in [Errno::ENOSPC, Errno::EIO] {
        rule.set(("open", "before", "*/data/crawl.jsonl"), errno);
        let mut daemon = sandbox.start_with(&[], &rule.variables(library));
        let (status, log) = (daemon.wait(), daemon.log());
        assert_eq!(status.code(), Some(3), "{errno}\n{log}");
        assert!(log.contains("the seeds cannot be committed yet") && log.contains("disk.retry_for"), "{errno}\n{log}");
        rule.lift();
    }
    sandbox.finish();
    assert_whole(&sandbox);
}
