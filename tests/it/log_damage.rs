//! A database whose log is damaged in its middle: RocksDB drops what follows, and the start says so (I3).

use std::fs;
use std::path::PathBuf;

use nix::sys::signal::Signal;

use crate::checkpoint::{assert_is_the_truth, sandbox, until_requests};
use crate::sandbox::{Sandbox, until};

const ALARM: &str = "the database is behind what was synced";

/// Lives for so many requests, until something of them is synced, and is killed.
fn live(sandbox: &mut Sandbox, requests: usize) -> String {
    let mut daemon = sandbox.start(&["--until-done"], None);
    until_requests(sandbox, &daemon, sandbox.web.audit_len() + requests);
    let mark = || lycosa::storage::mark::synced(&sandbox.data());
    let before = mark();
    until("a later mark", || (mark() > before).then_some(()), || daemon.log());
    daemon.signal(Signal::SIGKILL);
    daemon.wait();
    daemon.log()
}

/// The database's largest log file.
fn log_file(sandbox: &Sandbox) -> PathBuf {
    let all = fs::read_dir(sandbox.data().join("db")).unwrap().map(|e| e.unwrap().path());
    let logs = all.filter(|path| path.extension().is_some_and(|e| e == "log"));
    logs.max_by_key(|path| fs::metadata(path).unwrap().len()).unwrap()
}

#[test]
fn what_was_synced_and_is_lost_is_told_with_what_to_do_and_fetched_again() {
    let mut sandbox = sandbox("durability.sync = \"20ms\"\n");
    live(&mut sandbox, 40);
    let log = live(&mut sandbox, 40);
    assert!(!log.contains(ALARM), "a kill alone loses nothing that was synced: {log}");
    let path = log_file(&sandbox);
    let mut bytes = fs::read(&path).unwrap();
    let middle = bytes.len() / 3;
    bytes[middle] ^= 0x10;
    fs::write(&path, bytes).unwrap();
    let log = sandbox.finish();
    let told = log.lines().find(|line| line.contains(ALARM)).unwrap_or_else(|| panic!("{log}"));
    assert!(
        told.contains("error") && told.contains("lycosa checkpoint list") && told.contains("changes_lost="),
        "{told}"
    );
    assert_is_the_truth(&sandbox);
    assert!(!sandbox.finish().contains(ALARM), "told once");
}
