//! Real file systems and limits: full, low, given up under the daemon.

use std::fs;

use lycosa::storage::folder;
use nix::sys::signal::Signal;

use super::mount::Mount;
use super::{Running, SETTINGS, asked_again, assert_whole, run, small, web};
use crate::sandbox::{Sandbox, until};

#[test]
fn a_full_disk_pauses_the_crawl_which_goes_on_when_there_is_space() {
    let settings = format!("{SETTINGS}disk.pause_below = 0\ndisk.reserve = \"4MiB\"\n");
    let mut sandbox = Sandbox::with(small(90), &settings);
    let Some(mount) = Mount::tmpfs(sandbox.data(), "96m") else { return };
    let daemon = Running::start(&mut sandbox, &["--until-done"], &[]);
    for round in 1..=2_u64 {
        daemon.until_beyond(round * 40);
        let reserve = sandbox.data().join("reserve");
        assert_eq!(fs::metadata(&reserve).unwrap().len(), 4 << 20);
        let ballast = mount.fill(0);
        let paused = daemon.until_paused();
        let why = paused.idle_reason;
        until(
            "a pause for want of space",
            || daemon.status().idle_reason.contains("low on space").then_some(()),
            || why.clone(),
        );
        let why = daemon.status().idle_reason;
        let named = why.contains(sandbox.data().to_str().unwrap()) && why.contains(" free (") && why.contains("needed");
        assert!(named, "{why}");
        assert!(!reserve.exists(), "given up");
        until("the metric", || (daemon.metric("lycosa_paused{reason=\"disk_low\"}") == 1.0).then_some(()), String::new);
        assert!(daemon.metric("lycosa_commit_failures_total{kind=\"full\"}") >= 1.0);
        ballast.take_away();
        daemon.until_beyond(paused.pages_stored);
        assert_eq!(daemon.metric("lycosa_paused{reason=\"disk_low\"}"), 0.0);
        assert!(reserve.exists(), "made again");
    }
    let log = daemon.finish();
    assert!(log.contains("reserve_freed=true") && log.contains("disk has space again"), "{log}");
    assert_whole(&sandbox);
    let again = asked_again(&sandbox);
    assert!(again <= 2 * 2 * 16, "{again} pages asked for again, more than were between fetch and commit");
    drop(mount);
}

#[test]
fn below_the_set_space_the_crawl_pauses_before_a_write_fails_and_says_so_once() {
    let settings = format!("{SETTINGS}disk.pause_below = \"20MiB\"\ndisk.reserve = \"1MiB\"\n");
    for archive_apart in [false, true] {
        let mut sandbox = Sandbox::with(web(60), &settings);
        let Some(data) = Mount::tmpfs(sandbox.data(), "96m") else { return };
        folder::prepare(&sandbox.data()).unwrap();
        let apart = archive_apart.then(|| Mount::tmpfs(sandbox.data().join("warc"), "80m").unwrap());
        let low = apart.as_ref().unwrap_or(&data);
        let daemon = Running::start(&mut sandbox, &["--until-done"], &[]);
        daemon.until_beyond(30);
        let ballast = low.fill(15 << 20);
        let paused = daemon.until_paused();
        let why = &paused.idle_reason;
        assert!(why.contains(&format!("{} is low on space", low.0.display())) && why.contains("bytes"), "{why}");
        assert_eq!(daemon.metric("lycosa_paused{reason=\"disk_low\"}"), 1.0);
        let folder = if archive_apart { "warc" } else { "data" };
        let free = daemon.metric(&format!("lycosa_disk_free_bytes{{folder=\"{folder}\"}}"));
        assert!(free < f64::from(20 << 20), "{free}");
        ballast.take_away();
        daemon.until_beyond(paused.pages_stored);
        assert_eq!(daemon.metric("lycosa_commit_failures_total{kind=\"full\"}"), 0.0);
        let log = daemon.finish();
        assert_eq!(log.matches("disk low").count(), 1, "{log}");
        assert!(log.contains("needed_bytes=31457280"), "what it waits for, half as much again: {log}");
        assert_whole(&sandbox);
        assert_eq!(asked_again(&sandbox), 0);
        drop((apart, data));
    }
}

#[test]
fn a_full_disk_ends_a_run_until_done_with_its_patience_and_the_next_run_goes_on() {
    let settings =
        format!("{SETTINGS}disk.pause_below = 0\ndisk.reserve = \"4MiB\"\ncrawl.until_done_patience = \"1500ms\"\n");
    let mut sandbox = Sandbox::with(web(60), &settings);
    let Some(mount) = Mount::tmpfs(sandbox.data(), "96m") else { return };
    let mut daemon = Running::start(&mut sandbox, &["--until-done"], &[]);
    daemon.until_beyond(20);
    let ballast = mount.fill(0);
    let status = daemon.daemon.wait();
    let log = daemon.daemon.log();
    assert_eq!(status.code(), Some(3), "{log}");
    assert!(log.contains("disk full or broken: not waiting any longer") && log.contains("needed"), "{log}");
    // With the reserve's room it was closed as it should be.
    assert_eq!(sandbox.open_files(), [""; 0], "{log}");
    // Not even started it does harm on a full disk, and once more on a read-only one.
    let full = mount.fill(0);
    let refused = |sandbox: &mut Sandbox| {
        let mut daemon = sandbox.start(&["--until-done"], None);
        (daemon.wait().code(), daemon.log())
    };
    let (code, log) = refused(&mut sandbox);
    assert_eq!(code, Some(3), "{log}");
    full.take_away();
    drop(ballast);
    assert!(mount.remount("ro"));
    let (code, log) = refused(&mut sandbox);
    let said = log.lines().find(|l| l.starts_with("lycosa: ")).unwrap_or_else(|| panic!("{log}"));
    assert_eq!(code, Some(3), "{log}");
    assert!(said.contains("Read-only") && said.contains("make it writable"), "{said}");
    assert!(mount.remount("rw"));
    sandbox.finish();
    assert_whole(&sandbox);
    drop(mount);
}

#[test]
fn a_file_system_that_gives_up_under_it_ends_the_run_and_what_was_committed_is_there_at_the_next() {
    let settings = format!("{SETTINGS}disk.pause_below = 0\ndisk.reserve = 0\ndisk.retry_for = \"2s\"\n");
    let mut sandbox = Sandbox::with(web(30), &settings);
    let image = sandbox.data().with_file_name("image");
    let Some(mount) = Mount::ext4(sandbox.data(), &image) else { return };
    let mut daemon = Running::start(&mut sandbox, &["--until-done"], &[]);
    daemon.until_beyond(20);
    assert!(mount.remount("abort"), "as the kernel does when the journal cannot be written");
    let paused = daemon.until_paused();
    let said = |error: &str| paused.idle_reason.contains(error); // a write is refused as the one, a sync as the other
    assert!(said("Read-only file system") || said("Input/output error"), "{}", paused.idle_reason);
    let status = daemon.daemon.wait();
    let log = daemon.daemon.log();
    assert_eq!(status.code(), Some(3), "{log}");
    assert!(log.contains("(disk.retry_for): look at the disk"), "{log}");
    drop(mount);
    let Some(mount) = Mount::ext4(sandbox.data(), &image) else { return };
    sandbox.finish();
    assert_whole(&sandbox);
    drop(mount);
}

/// Sets the largest length of a file that the daemon may write.
fn limit_files(daemon: &Running, bytes: &str) -> bool {
    run("prlimit", &["--pid", &daemon.daemon.id().to_string(), &format!("--fsize={bytes}:unlimited")])
}

#[test]
fn a_limit_of_file_sizes_is_a_full_disk_and_not_the_end_of_the_process() {
    let mut sandbox = Sandbox::with(small(60), &format!("{SETTINGS}disk.pause_below = 0\ndisk.reserve = 0\n"));
    let daemon = Running::start(&mut sandbox, &["--until-done"], &[]);
    daemon.until_beyond(20);
    if !limit_files(&daemon, "500000") {
        return;
    }
    let paused = daemon.until_paused();
    assert!(paused.idle_reason.contains("File too large"), "{}", paused.idle_reason);
    assert!(limit_files(&daemon, "unlimited"));
    daemon.until_beyond(paused.pages_stored);
    daemon.finish();
    assert_whole(&sandbox);
}

#[test]
fn an_operators_stop_during_a_pause_ends_cleanly_with_the_reserves_room() {
    let settings = format!("{SETTINGS}disk.pause_below = 0\ndisk.reserve = \"4MiB\"\n");
    let mut sandbox = Sandbox::with(web(30), &settings);
    let Some(mount) = Mount::tmpfs(sandbox.data(), "96m") else { return };
    let mut daemon = Running::start(&mut sandbox, &[], &[]);
    daemon.until_beyond(20);
    let ballast = mount.fill(0);
    daemon.until_paused();
    daemon.daemon.signal(Signal::SIGTERM);
    let status = daemon.daemon.wait();
    assert_eq!(status.code(), Some(0), "{}", daemon.daemon.log());
    assert_eq!(sandbox.open_files(), [""; 0]);
    ballast.take_away();
    sandbox.finish();
    assert_whole(&sandbox);
    drop(mount);
}
