//! Losses of power: the daemon's folder is put back to what may have reached the disk, and the daemon goes on (I3, I8).
//!
//! A life is traced (`tests/tools/powerloss.c`), killed, and one moment of its trace chosen at which the power is said to
//! have failed. What it fetched after that moment never was. `LYCOSA_BLACKOUTS=N` fails so often in each test,
//! `LYCOSA_KILL_SEED=N` repeats.

mod checkpoint;
mod disk;
mod names;
mod promise;
mod trace;

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fs;
use std::path::Path;
use std::time::Duration;

use crate::support::audit_check::early_requests;
use lycosa::storage::{RocksOptions, RocksStorage};
use lycosa::testweb::{AuditEntry, TestWebConfig};
use nix::sys::signal::Signal;

use crate::dice::Dice;
use crate::sandbox::{Daemon, Sandbox, is_rules, judge_archive, python, until};
use crate::support::fsck::fsck;
use disk::{Disk, Names};
use promise::{Promise, Sync};

const GAP: Duration = Duration::from_millis(40);
const HOSTS: u32 = 12;
/// Failures on one web.
const ROW: u64 = 20;
const SETTINGS: &str = "crawl.max_depth = \"none\"\nfetch.concurrency = 8\nfetch.threads = 1\npoliteness.min_delay = \"40ms\"\n\
    politeness.delay_factor = 0\nstore.warc_max_size = \"1MB\"\nstore.memory = \"16MiB\"\n";

fn web(rounds: u64) -> TestWebConfig {
    let pages = 12 + u32::try_from(rounds).unwrap() * 5;
    let (min_size, max_size) = (8_000, 32_000);
    TestWebConfig { hosts: HOSTS, pages, min_size, max_size, jitter_ms: 10, ..TestWebConfig::rough() }
}

/// One life and the loss of power that ended it.
struct Round {
    /// Calls before the failure, and all of the life.
    at: u64,
    of: u64,
    /// When the power failed, and until when the process lived on; microseconds since 1970.
    failed: u64,
    ended: u64,
    /// Since when nothing had become safe any more.
    safe_at: u64,
    /// Pages that were safe.
    safe: BTreeSet<String>,
}

/// A daemon that writes its trace.
fn traced(sandbox: &mut Sandbox, trace: &Path) -> Daemon {
    let _ = fs::remove_file(trace);
    let variables = [
        ("LD_PRELOAD", trace::library().into_os_string()),
        ("POWERLOSS_ROOT", sandbox.disk().into_os_string()),
        ("POWERLOSS_TRACE", OsString::from(trace)),
    ];
    sandbox.start_with(&["--until-done"], &variables)
}

/// Lives for a while and is ended: mostly killed, sometimes asked, so that a close is in the trace.
fn live(sandbox: &mut Sandbox, trace: &Path, dice: &mut Dice) -> String {
    let before = sandbox.web.audit_len();
    let mut daemon = traced(sandbox, trace);
    let requests = dice.below(120) as usize;
    let mut enough = || (sandbox.web.audit_len() >= before + requests || daemon.ended().is_some()).then_some(());
    until("requests", &mut enough, String::new);
    std::thread::sleep(Duration::from_millis(dice.below(300)));
    let asked = dice.below(3) == 0;
    assert!(daemon.ended().is_none(), "it ended by itself: {}", daemon.log());
    daemon.signal(if asked { Signal::SIGTERM } else { Signal::SIGKILL });
    let status = daemon.wait();
    let log = daemon.log();
    assert!(status.code().is_none_or(|code| code == 11 || code == 0), "{status}: {log}");
    assert!(!log.contains("the database is behind what was synced"), "a mark that promises too much: {log}");
    format!("{} {requests} requests", if asked { "TERM after" } else { "after" })
}

/// Lets the power fail at some moment of the last life.
fn fail(sandbox: &Sandbox, mut disk: Disk, trace: &Path, sync: Sync, dice: &mut Dice) -> Round {
    let events = trace::read(trace);
    let all = events.len() as u64;
    let kept = [all, dice.below(all + 1), all - dice.below(all / 4 + 1)][dice.below(3) as usize];
    let ended = events.last().map_or(0, |e| e.at);
    let mut promise = Promise::new(sync);
    let mut failed = events.first().map_or(0, |e| e.at);
    for event in events.into_iter().take(kept as usize) {
        failed = event.at;
        promise.note(&disk, &event);
        disk.apply(event.call);
    }
    disk.fail(&sandbox.disk(), dice);
    let (safe_at, safe) = (promise.at, promise.pages(&disk, &sandbox.beside("safe.warc.gz")));
    Round { at: kept, of: all, failed, ended, safe_at, safe }
}

/// Begins and ends at once, then everything must fit together.
fn check_now(sandbox: &mut Sandbox) {
    let mut daemon = sandbox.start(&["--until-done"], None);
    let mut begun = || (daemon.log().contains("crawl begins") || daemon.ended().is_some()).then_some(());
    until("the crawl", &mut begun, String::new);
    daemon.signal(Signal::SIGTERM);
    let status = daemon.wait();
    assert!(matches!(status.code(), Some(0 | 11)), "{status}: {}", daemon.log());
    check(sandbox);
}

/// Everything at rest fits together.
fn check(sandbox: &Sandbox) {
    let storage = RocksStorage::open(&sandbox.data(), RocksOptions::default()).unwrap();
    let seed = lycosa::storage::read::meta::<lycosa::storage::values::Format>(&storage, ()).unwrap().unwrap().seed;
    fsck(&storage, seed, Some(&sandbox.data()));
    sandbox.revisits_have_responses();
    let twice: Vec<_> = sandbox.index().into_iter().filter(|(url, n)| *n > 1 && !is_rules(url)).collect();
    assert!(twice.is_empty(), "recorded twice: {twice:?}");
}

/// The whole: losses of power and at last an end.
fn lose_power_again_and_again(sync: Sync, names: Names) {
    let mut left: u64 = std::env::var("LYCOSA_BLACKOUTS").map_or(4, |n| n.parse().unwrap());
    let seed = Dice::seed();
    let mut n = 0;
    while left > 0 {
        println!("LYCOSA_KILL_SEED={} {sync:?} {names:?}", seed + n);
        row(left.min(ROW), sync, names, &mut Dice::of(seed + n));
        (left, n) = (left.saturating_sub(ROW), n + 1);
    }
}

/// So many failures on one web, each after another life.
fn row(rounds: u64, sync: Sync, names: Names, dice: &mut Dice) {
    let settings = format!("{SETTINGS}durability.sync = \"{}\"\n", sync.setting());
    let mut sandbox = Sandbox::new(web(rounds), &settings);
    let trace = sandbox.beside("trace");
    let mut done = Vec::new();
    println!("round  after calls   safe pages  unsafe ms  life");
    for n in 1..=rounds {
        let disk = Disk::of(&sandbox.disk(), names);
        let life = live(&mut sandbox, &trace, dice);
        let round = fail(&sandbox, disk, &trace, sync, dice);
        let unsafe_ms =
            if round.safe_at > 0 { (round.failed - round.safe_at).div_ceil(1_000).to_string() } else { "-".into() };
        println!("{n:5}  {:4} of {:4}  {:10}  {unsafe_ms:>9}  {life}", round.at, round.of, round.safe.len());
        done.push(round);
        if dice.below(3) == 0 {
            check_now(&mut sandbox);
        }
    }
    sandbox.finish();
    judge(&sandbox, &done);
}

fn judge(sandbox: &Sandbox, rounds: &[Round]) {
    let (truth, audit) = (sandbox.truth(), sandbox.web.audit());
    // What the daemon did between the failure and its end was never done.
    let real =
        |entry: &&AuditEntry| !rounds.iter().any(|r| entry.t_request_us > r.failed && entry.t_request_us <= r.ended);
    let done: Vec<AuditEntry> = audit.iter().filter(real).cloned().collect();
    let early = early_requests(&done, |_| GAP);
    assert!(early.is_empty(), "{} requests came early: {:?}", early.len(), &early[..early.len().min(5)]);
    let mut asked: BTreeMap<String, Vec<u64>> = BTreeMap::new();
    for entry in audit.iter().filter(real).filter(|e| !is_rules(&e.path)) {
        asked.entry(entry.url()).or_default().push(entry.t_request_us);
    }
    for (n, round) in rounds.iter().enumerate() {
        let later = |url: &&String| asked.get(*url).is_some_and(|at| at.iter().any(|t| *t > round.ended));
        let again: Vec<_> = round.safe.iter().filter(later).collect();
        assert!(again.is_empty(), "round {}: was safe and was fetched again: {again:?}", n + 1);
    }
    let again: usize = asked.values().map(|at| at.len() - 1).sum();
    println!("{} URLs, {} failures, {} requests, {again} fetched again", truth.len(), rounds.len(), audit.len());
    let fetched: BTreeSet<String> = asked.into_keys().collect();
    assert_eq!(fetched.symmetric_difference(&truth).collect::<Vec<_>>(), [""; 0], "asked for");
    let index: BTreeSet<String> = sandbox.index().into_keys().filter(|u| !is_rules(u)).collect();
    assert_eq!(index.symmetric_difference(&truth).collect::<Vec<_>>(), [""; 0], "in the index");
    check(sandbox);
    if let Some(python) = python() {
        println!("{}", judge_archive(&python, &sandbox.data().join("warc"), None));
    }
}

#[test]
fn after_losses_of_power_at_most_the_interval_is_fetched_again() {
    lose_power_again_and_again(Sync::Every("200ms"), Names::Journal);
}

#[test]
fn so_it_is_where_only_a_sync_of_the_folder_keeps_names() {
    lose_power_again_and_again(Sync::Every("1s"), Names::EachFolder);
}

#[test]
fn with_commit_nothing_that_was_committed_is_fetched_again() {
    lose_power_again_and_again(Sync::Commit, Names::Journal);
}

#[test]
fn the_trace_misses_nothing() {
    let mut sandbox = Sandbox::new(web(4), SETTINGS);
    let trace = sandbox.beside("trace");
    let mut disk = Disk::of(&sandbox.disk(), Names::Journal);
    for _ in 0..2 {
        let before = sandbox.web.audit_len();
        let mut daemon = traced(&mut sandbox, &trace);
        let mut enough = || (sandbox.web.audit_len() >= before + 100 || daemon.ended().is_some()).then_some(());
        until("requests", &mut enough, String::new);
        assert!(daemon.ended().is_none(), "{}", daemon.log());
        daemon.signal(Signal::SIGTERM);
        daemon.wait();
        trace::read(&trace).into_iter().for_each(|event| disk.apply(event.call));
        let real = Disk::of(&sandbox.disk(), Names::Journal);
        assert_eq!(disk.differences(&real), [""; 0], "{}", daemon.log());
    }
}
