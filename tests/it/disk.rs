//! Disks that are full, broken or read-only under the real daemon: it says so, loses nothing, goes on by itself (I3).
//!
//! Full disks are real ones (a tmpfs; root is needed to mount it). Faults at each single write come from
//! `tests/tools/badfs.c`, preloaded into the daemon.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::time::Duration;

use lycosa::cli::testweb::audit_check::{early_requests, max_in_flight_per_host};
use lycosa::cli::testweb::{AuditEntry, TestWebConfig};
use lycosa::storage::values::Format;
use lycosa::storage::{RocksOptions, RocksStorage, folder, read};
use lycosa::telemetry::{State, StatusSnapshot};
use nix::errno::Errno;
use nix::sys::signal::Signal;

use crate::sandbox::{Daemon, Sandbox, is_rules, judge_archive, python, until};
use crate::support::fsck;

const GAP: Duration = Duration::from_millis(20);
/// Bodies above 64 KiB go to temporary files, a WARC is full after a few dozens of pages.
const SETTINGS: &str = "crawl.max_depth = 10000\nfetch.concurrency = 8\npoliteness.min_delay = \"20ms\"\n\
    politeness.delay_factor = 0\ndurability.sync = \"50ms\"\nstore.warc_max_size = \"1MB\"\nstore.memory = \"16MiB\"\n\
    fetch.retry_delays = [\"50ms\"]\nlog.summary = \"0s\"\n";

fn web(pages: u32) -> TestWebConfig {
    TestWebConfig { hosts: 8, pages, min_size: 4_000, max_size: 90_000, duplicates: 0.05, ..TestWebConfig::default() }
}

/// The same without bodies that go to temporary files: then it is the Store that finds no space.
fn small(pages: u32) -> TestWebConfig {
    TestWebConfig { min_size: 8_000, max_size: 40_000, ..web(pages) }
}

/// A daemon and its endpoint.
struct Running {
    daemon: Daemon,
    at: SocketAddr,
}

impl Running {
    fn start(sandbox: &mut Sandbox, arguments: &[&str], variables: &[(&str, OsString)]) -> Self {
        let daemon = sandbox.start_with(arguments, variables);
        let address = || daemon.log().split_once("address=http://")?.1.lines().next()?.trim().parse().ok();
        let at = until("the endpoint", address, || daemon.log());
        Self { daemon, at }
    }

    fn get(&self, path: &str) -> String {
        let mut stream = TcpStream::connect(self.at).unwrap();
        write!(stream, "GET {path} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n\r\n", self.at).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        assert!(head.starts_with("HTTP/1.1 200"), "{answer}");
        body.to_owned()
    }

    fn status(&self) -> StatusSnapshot {
        let text = self.get("/api/v1/status");
        let status: StatusSnapshot = serde_json::from_str(&text).unwrap_or_else(|e| panic!("{e}: {text}"));
        assert!(status.adds_up(), "I2: {text}");
        status
    }

    fn metric(&self, name: &str) -> f64 {
        let text = self.get("/metrics");
        let line = text.lines().find(|l| l.starts_with(name)).unwrap_or_else(|| panic!("{name} in\n{text}"));
        line.rsplit_once(' ').unwrap().1.parse().unwrap()
    }

    /// Waits until it pauses and says why.
    fn until_paused(&self) -> StatusSnapshot {
        let paused = || Some(self.status()).filter(|s| s.state == State::Paused && !s.idle_reason.is_empty());
        until("the pause", paused, || self.daemon.log())
    }

    /// Waits until it runs and has stored more than `pages`.
    fn until_beyond(&self, pages: u64) {
        let beyond = || Some(self.status()).filter(|s| s.state == State::Running && s.pages_stored > pages);
        until("more pages", beyond, || format!("{:?}\n{}", self.status(), self.daemon.log()));
    }

    /// Waits for its end as done.
    fn finish(mut self) -> String {
        let status = self.daemon.wait();
        assert_eq!(status.code(), Some(0), "{}", self.daemon.log());
        self.daemon.log()
    }
}

/// All that must hold when the crawl is over: nothing lost, nothing recorded twice, no host asked early, database and
/// files agree, other people's tools read every record.
fn assert_whole(sandbox: &Sandbox) {
    let (truth, audit) = (sandbox.truth(), sandbox.web.audit());
    let done: Vec<String> = sandbox.lines().iter().map(|l| l["url"].as_str().unwrap().to_owned()).collect();
    let set: BTreeSet<String> = done.iter().cloned().collect();
    assert_eq!(set.len(), done.len(), "a second line for a URL");
    assert_eq!(set, truth, "in crawl.jsonl");
    assert_eq!(sandbox.open_files(), [""; 0]);
    let index = sandbox.index();
    let twice: Vec<_> = index.iter().filter(|(url, n)| **n > 1 && !is_rules(url)).collect();
    assert!(twice.is_empty(), "recorded twice: {twice:?}");
    assert_eq!(index.into_keys().filter(|u| !is_rules(u)).collect::<BTreeSet<_>>(), truth, "in the index");
    sandbox.revisits_have_responses();
    let early = early_requests(&audit, |_| GAP);
    assert!(early.is_empty(), "{} requests came early: {:?}", early.len(), early.first());
    assert!(max_in_flight_per_host(&audit).values().all(|n| *n == 1));
    let storage = RocksStorage::open(&sandbox.data(), RocksOptions::default()).unwrap();
    let seed = read::meta::<Format>(&storage, ()).unwrap().unwrap().seed;
    fsck(&storage, seed, Some(&sandbox.data()));
    if let Some(python) = python() {
        judge_archive(&python, &sandbox.data().join("warc"), None);
    }
}

/// Pages asked for more than once.
fn asked_again(sandbox: &Sandbox) -> usize {
    let urls: Vec<String> = sandbox.web.audit().iter().map(AuditEntry::url).filter(|u| !is_rules(u)).collect();
    urls.len() - urls.iter().collect::<BTreeSet<_>>().len()
}

/// A file system of its own; unmounted when dropped, which must be after the daemon on it.
struct Mount(PathBuf);

impl Mount {
    /// `None` where nothing may be mounted.
    fn tmpfs(at: PathBuf, size: &str) -> Option<Self> {
        fs::create_dir_all(&at).unwrap();
        let options = format!("size={size}");
        run("mount", &["-t", "tmpfs", "-o", &options, "tmpfs", at.to_str().unwrap()]).then_some(Self(at))
    }

    /// An ext4 in the file `image`, which is made when it is missing.
    fn ext4(at: PathBuf, image: &Path) -> Option<Self> {
        fs::create_dir_all(&at).unwrap();
        let (image_text, at_text) = (image.to_str().unwrap(), at.to_str().unwrap());
        if !image.exists() {
            fs::File::create(image).unwrap().set_len(96 << 20).unwrap();
            if !run("mkfs.ext4", &["-q", image_text]) {
                return None;
            }
        }
        run("mount", &["-o", "loop", image_text, at_text]).then_some(Self(at))
    }

    fn remount(&self, option: &str) -> bool {
        run("mount", &["-o", &format!("remount,{option}"), self.0.to_str().unwrap()])
    }

    fn free(&self) -> u64 {
        lycosa::disk::probe::room(&self.0).unwrap().free
    }

    /// A file that leaves `left` bytes free.
    fn fill(&self, left: u64) -> Ballast {
        let path = self.0.join("ballast");
        let mut file = fs::File::create(&path).unwrap();
        let piece = [0; 64 << 10];
        while self.free() > left {
            let n = (self.free() - left).min(piece.len() as u64) as usize;
            if file.write_all(&piece[..n]).is_err() {
                break;
            }
        }
        Ballast(path)
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        run("umount", &["-l", self.0.to_str().unwrap()]);
    }
}

struct Ballast(PathBuf);

impl Ballast {
    fn take_away(self) {
        fs::remove_file(self.0).unwrap();
    }
}

fn run(program: &str, arguments: &[&str]) -> bool {
    match Command::new(program).args(arguments).output() {
        Ok(done) if done.status.success() => true,
        done => {
            eprintln!("skipped, or failed later: {program} {arguments:?}: {done:?}");
            false
        }
    }
}

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
    let mut sandbox = Sandbox::with(web(30), &settings);
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

/// The library of `tests/tools/badfs.c`; `None` where there is no C compiler.
fn bad_disk() -> Option<&'static Path> {
    static BUILT: OnceLock<Option<(tempfile::TempDir, PathBuf)>> = OnceLock::new();
    let build = || {
        let dir = tempfile::tempdir().unwrap();
        let library = dir.path().join("badfs.so");
        let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/tools/badfs.c");
        let built = run("cc", &["-shared", "-fPIC", "-O1", "-o", library.to_str().unwrap(), source, "-ldl"]);
        built.then_some((dir, library))
    };
    BUILT.get_or_init(build).as_ref().map(|(_, library)| &**library)
}

/// The rule of a bad disk: which calls fail.
struct Rule(PathBuf);

impl Rule {
    fn of(sandbox: &Sandbox) -> Self {
        Self(sandbox.data().with_file_name("rule"))
    }

    fn variables(&self, library: &Path) -> [(&'static str, OsString); 2] {
        [("LD_PRELOAD", library.into()), ("BADFS_RULE", self.0.clone().into())]
    }

    fn set(&self, (op, how, pattern): Place, errno: Errno) {
        let new = self.0.with_extension("new");
        fs::write(&new, format!("{op} {} {how} {pattern}\n", errno as i32)).unwrap();
        fs::rename(new, &self.0).unwrap();
    }

    fn lift(&self) {
        fs::remove_file(&self.0).unwrap();
        let _ = fs::remove_file(self.hits());
    }

    fn hits(&self) -> PathBuf {
        self.0.with_extension("hits")
    }

    fn until_hit(&self, place: Place, daemon: &Running) {
        until(&format!("a failure of {place:?}"), || self.hits().exists().then_some(()), || daemon.daemon.log());
    }
}

/// Which call, how it fails, on which files.
type Place = (&'static str, &'static str, &'static str);

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
