//! Checkpoints of the real daemon: made, checked, restored, carried elsewhere.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use lycosa::storage::values::Format;
use lycosa::storage::{RocksOptions, RocksStorage, read};
use lycosa::testweb::TestWebConfig;
use nix::sys::signal::Signal;

use crate::sandbox::{Daemon, Sandbox, lines_of, program, until, with_s3_keys};
use crate::support::fsck;

pub const SETTINGS: &str = "crawl.max_depth = \"none\"\nfetch.concurrency = 16\npoliteness.min_delay = \"60ms\"\n\
    politeness.delay_factor = 0\nstore.warc_max_size = \"1MB\"\nstore.memory = \"32MiB\"\ncheckpoint.every = \"0s\"\n";

fn web() -> TestWebConfig {
    let (min_size, max_size) = (4_000, 16_000);
    TestWebConfig {
        hosts: 8,
        pages: 25,
        links: 8,
        min_size,
        max_size,
        latency_ms: 3,
        duplicates: 0.1,
        ..Default::default()
    }
}

pub fn sandbox(more: &str) -> Sandbox {
    larger(1, more)
}

/// The same with so many times the pages.
pub fn larger(times: u32, more: &str) -> Sandbox {
    let web = web();
    Sandbox::new(TestWebConfig { pages: web.pages * times, ..web }, &format!("{SETTINGS}{more}"))
}

/// How a command of the program ended and what it said.
#[derive(Debug)]
pub struct Said {
    pub code: Option<i32>,
    pub text: String,
}

impl Said {
    pub fn done(self) -> String {
        assert_eq!(self.code, Some(0), "{}", self.text);
        self.text
    }

    pub fn refused(self, why: &str) {
        assert!(self.code == Some(1) && self.text.contains(why), "{why}: {self:?}");
    }
}

pub fn run(arguments: &[&dyn AsRef<OsStr>], faults: Option<&str>) -> Said {
    let mut command = program();
    command.args(arguments.iter().map(|a| a.as_ref()));
    with_s3_keys(&mut command);
    faults.map(|faults| command.env("LYCOSA_FAULTS", faults));
    let output = command.output().unwrap();
    let text = [output.stdout, output.stderr].map(|t| String::from_utf8_lossy(&t).into_owned()).concat();
    Said { code: output.status.code(), text }
}

/// `lycosa checkpoint COMMAND… --data DATA`.
pub fn on(data: &Path, arguments: &[&dyn AsRef<OsStr>]) -> Said {
    run(&[&[&"checkpoint" as &dyn AsRef<OsStr>], arguments, &[&"--data", &data]].concat(), None)
}

/// The address of its admin endpoint, once it listens.
pub fn admin(daemon: &Daemon) -> String {
    let address = || Some(daemon.log().split_once("address=http://")?.1.lines().next()?.to_owned());
    until("its endpoint", address, || daemon.log())
}

pub fn until_requests(sandbox: &Sandbox, daemon: &Daemon, requests: usize) {
    until("requests", || (sandbox.web.audit_len() >= requests).then_some(()), || daemon.log());
}

/// Asks the daemon for a checkpoint; gives its name.
pub fn ask(daemon: &Daemon) -> String {
    let said = run(&[&"ctl", &"checkpoint", &"--json", &"--admin", &admin(daemon)], None).done();
    serde_json::from_str::<serde_json::Value>(&said).unwrap()["name"].as_str().unwrap().to_owned()
}

/// Asks it to end, and lets it.
fn stop(mut daemon: Daemon) {
    daemon.signal(Signal::SIGTERM);
    assert_eq!(daemon.wait().code(), Some(0), "{}", daemon.log());
}

/// Names of the checkpoints offered.
pub fn names(data: &Path) -> Vec<String> {
    let said = on(data, &[&"list", &"--json"]).done();
    let listing: serde_json::Value = serde_json::from_str(&said).unwrap();
    listing["checkpoints"].as_array().unwrap().iter().map(|c| c["name"].as_str().unwrap().to_owned()).collect()
}

/// Everything fits together on the disk, and what was stored is the truth.
pub fn assert_is_the_truth(sandbox: &Sandbox) {
    let data = sandbox.data();
    let storage = RocksStorage::open(&data, RocksOptions { memory: 32 << 20, ..RocksOptions::default() }).unwrap();
    let seed = read::meta::<Format>(&storage, ()).unwrap().unwrap().seed;
    let found = fsck(&storage, seed, Some(&data));
    let (stored, truth) = (found.captured(), sandbox.truth());
    let missing: Vec<_> = truth.difference(&stored).collect();
    assert!(missing.is_empty(), "{} pages are missing: {:?}", missing.len(), &missing[..missing.len().min(5)]);
    assert_eq!(stored, truth);
}

/// A daemon that was asked for a checkpoint in the middle and then killed; gives the checkpoint's name.
pub fn crawl_into_the_middle(sandbox: &mut Sandbox) -> String {
    let mut daemon = sandbox.start(&[], None);
    until_requests(sandbox, &daemon, 60);
    let name = ask(&daemon);
    until_requests(sandbox, &daemon, sandbox.web.audit_len() + 30);
    daemon.signal(Signal::SIGKILL);
    daemon.wait();
    name
}

#[test]
fn a_crawl_checkpointed_in_the_middle_and_one_restored_from_there_both_end_with_the_truth() {
    let mut sandbox = sandbox("");
    let name = crawl_into_the_middle(&mut sandbox);
    let (home, copy) = (sandbox.data(), sandbox.folder().join("copy"));
    on(&home, &[&"verify", &name]).done();
    on(&copy, &[&"restore", &name, &"--from", &home]).done();
    sandbox.finish();
    assert_is_the_truth(&sandbox);
    let asked = sandbox.web.audit_len();
    sandbox.move_to("copy");
    sandbox.finish();
    assert_is_the_truth(&sandbox);
    let again = sandbox.web.audit().len() - asked;
    assert!(again < sandbox.truth().len(), "it went on and did not begin anew: {again} requests");
    on(&home, &[&"verify", &name]).done();
}

/// Each file of the archive with its length, by its closed name.
pub fn archived(data: &Path) -> BTreeSet<(String, u64)> {
    let files = fs::read_dir(data.join("warc")).unwrap().map(|e| e.unwrap());
    let files = files.filter(|e| e.file_name().to_str().unwrap().contains(".warc."));
    files.map(|e| (e.file_name().to_str().unwrap().replace(".open", ""), e.metadata().unwrap().len())).collect()
}

#[test]
fn a_restore_in_place_is_refused_without_force_and_while_it_runs_and_destroys_nothing() {
    let mut sandbox = sandbox("");
    let name = crawl_into_the_middle(&mut sandbox);
    let data = sandbox.data();
    on(&data, &[&"restore", &name]).refused("--force");
    let daemon = sandbox.start(&[], None);
    admin(&daemon);
    on(&data, &[&"restore", &name, &"--force"]).refused("in use by a running crawl");
    stop(daemon);
    sandbox.finish();

    let (before, lines) = (archived(&data), fs::read(data.join("crawl.jsonl")).unwrap());
    let said = on(&data, &[&"restore", &name, &"--force", &"--json"]).done();
    let done: serde_json::Value = serde_json::from_str(&said).unwrap();
    assert!(done["younger"].as_u64().unwrap() > 0, "{done}");
    let aside = PathBuf::from(done["aside"].as_str().unwrap());
    assert_eq!(fs::read(aside.join("crawl.jsonl")).unwrap(), lines);
    assert!(aside.join("db/CURRENT").exists() && aside.join("seen.bloom").exists());
    assert!(archived(&data).is_superset(&before));
    assert!(lines.starts_with(&fs::read(data.join("crawl.jsonl")).unwrap()));

    let asked = sandbox.web.audit_len();
    sandbox.finish();
    assert!(sandbox.web.audit_len() > asked, "pages of the time after the checkpoint are fetched again");
    assert!(archived(&data).is_superset(&before));
    assert_is_the_truth(&sandbox);
}

#[test]
fn an_open_archive_file_younger_than_the_checkpoint_is_closed_with_what_it_holds() {
    ["1", "\"zstd\""].into_iter().for_each(younger_file_is_closed);
}

fn younger_file_is_closed(compression: &str) {
    let mut sandbox = sandbox(&format!("store.compression = {compression}\n"));
    let name = crawl_into_the_middle(&mut sandbox);
    let data = sandbox.data();
    let open = sandbox.open_files().into_iter().find(|f| f.contains(".warc.")).expect("killed while it wrote");
    let length = fs::metadata(data.join("warc").join(&open)).unwrap().len();
    on(&data, &[&"restore", &name, &"--force"]).done();
    let closed = data.join("warc").join(open.strip_suffix(".open").unwrap());
    assert!(fs::metadata(&closed).unwrap().len() + 100_000 > length, "a torn record at most is cut off");
    assert_eq!(sandbox.open_files(), [""; 0]);
    sandbox.finish();
    assert!(closed.exists());
    assert_is_the_truth(&sandbox);
}

#[test]
fn a_checkpoint_of_a_crawl_that_has_fetched_nothing_yet_resumes_and_does_not_end_empty() {
    let slow = TestWebConfig { latency_ms: 1_500, hosts: 1, pages: 3, ..web() };
    let mut sandbox = Sandbox::new(slow, SETTINGS);
    let mut daemon = sandbox.start(&["--until-done"], None);
    until("its begin", || daemon.log().contains("crawl begins").then_some(()), || daemon.log());
    let name = ask(&daemon);
    daemon.signal(Signal::SIGKILL);
    daemon.wait();
    let (home, copy) = (sandbox.data(), sandbox.folder().join("copy"));
    let said = on(&copy, &[&"restore", &name, &"--from", &home, &"--json"]).done();
    let done: serde_json::Value = serde_json::from_str(&said).unwrap();
    assert_eq!((&done["pages"], &done["waiting"]), (&0.into(), &1.into()), "{done}");
    sandbox.move_to("copy");
    let mut daemon = sandbox.start(&["--until-done", "--set", "crawl.seeds=[]"], None);
    assert_eq!(daemon.wait().code(), Some(0), "{}", daemon.log());
    assert_is_the_truth(&sandbox);
}

/// Every step in the daemon, in order.
const STEPS: [&str; 8] = [
    "checkpoint.begin",
    "checkpoint.closed",
    "checkpoint.synced",
    "checkpoint.linked",
    "checkpoint.digests",
    "checkpoint.manifest",
    "checkpoint.named",
    "checkpoint.prune",
];

#[test]
fn killed_at_each_step_of_a_checkpoint_no_half_one_is_offered_and_the_next_one_works() {
    let mut sandbox = sandbox("checkpoint.keep = 100\n");
    let mut made = Vec::new();
    for (step, requests) in STEPS.into_iter().zip((10..).step_by(10)) {
        let mut daemon = sandbox.start(&[], Some(&format!("{step}=kill@1")));
        until_requests(&sandbox, &daemon, requests);
        let said = run(&[&"ctl", &"checkpoint", &"--admin", &admin(&daemon)], None);
        assert_eq!((said.code, daemon.wait().code()), (Some(1), None), "{step}: {} {}", said.text, daemon.log());
        let offered = names(&sandbox.data());
        let whole = usize::from(step == "checkpoint.prune");
        assert_eq!(offered.len(), made.len() + whole, "{step}: {offered:?}");
        made = offered;
        made.iter().for_each(|name| drop(on(&sandbox.data(), &[&"verify", name]).done()));
    }
    let daemon = sandbox.start(&[], None);
    let name = ask(&daemon);
    stop(daemon);
    sandbox.finish();
    assert_is_the_truth(&sandbox);
    let left = fs::read_dir(sandbox.data().join("checkpoints")).unwrap().count();
    assert_eq!(left, made.len() + 1, "what was half made is swept away");
    on(&sandbox.data(), &[&"verify", &name]).done();
}

#[test]
fn a_step_that_fails_costs_the_checkpoint_and_not_the_crawl() {
    for step in ["checkpoint.begin=error@1", "checkpoint.linked=panic@1", "checkpoint.manifest=panic@1"] {
        let mut sandbox = sandbox("");
        let daemon = sandbox.start(&[], Some(step));
        until_requests(&sandbox, &daemon, 20);
        run(&[&"ctl", &"checkpoint", &"--admin", &admin(&daemon)], None).refused("checkpoint");
        assert_eq!(names(&sandbox.data()), [""; 0]);
        let name = ask(&daemon);
        stop(daemon);
        sandbox.finish();
        on(&sandbox.data(), &[&"verify", &name]).done();
        assert_is_the_truth(&sandbox);
    }
}

#[test]
fn a_restore_killed_half_way_is_completed_or_taken_back_by_the_next_start() {
    let mut sandbox = sandbox("");
    let name = crawl_into_the_middle(&mut sandbox);
    let home = sandbox.data();
    sandbox.finish();
    for (step, restored) in
        [("restore.staged=kill@1", false), ("restore.noted=kill@1", true), ("restore.placing=kill@2", true)]
    {
        let arguments: [&dyn AsRef<OsStr>; 6] = [&"checkpoint", &"restore", &name, &"--force", &"--data", &home];
        assert_eq!(run(&arguments, Some(step)).code, None, "{step}");
        let asked = sandbox.web.audit_len();
        let log = sandbox.finish();
        assert_eq!(sandbox.web.audit_len() > asked, restored, "{step}: {log}");
        assert_eq!(log.contains("killed half way is completed"), restored, "{step}: {log}");
        assert_is_the_truth(&sandbox);
    }
}

#[test]
fn verify_finds_a_flipped_byte_a_missing_file_and_a_short_archive() {
    let mut sandbox = sandbox("");
    let name = crawl_into_the_middle(&mut sandbox);
    let data = sandbox.data();
    let verify = || on(&data, &[&"verify"]);
    verify().done();
    let dir = data.join("checkpoints").join(&name);
    let find = |dir: &Path, end: &str| {
        let files = fs::read_dir(dir).unwrap().map(|e| e.unwrap().path());
        files.filter(|p| p.to_str().unwrap().ends_with(end)).max_by_key(|p| p.metadata().unwrap().len()).unwrap()
    };

    let warc = find(&data.join("warc"), ".warc.gz");
    let bytes = fs::read(&warc).unwrap();
    fs::write(&warc, &bytes[..bytes.len() - 1]).unwrap();
    verify().refused(warc.to_str().unwrap());
    let copy = sandbox.folder().join("copy");
    on(&copy, &[&"restore", &name, &"--from", &data]).refused("--incomplete");
    fs::write(&warc, &bytes).unwrap();
    verify().done();

    let current = dir.join("db/CURRENT");
    let bytes = fs::read(&current).unwrap();
    fs::remove_file(&current).unwrap();
    verify().refused("CURRENT");
    fs::write(&current, &bytes).unwrap();
    verify().done();

    // Written to a new file: the old one is the database's too.
    let table = find(&dir.join("db"), ".sst");
    let mut bytes = fs::read(&table).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::remove_file(&table).unwrap();
    fs::write(&table, &bytes).unwrap();
    verify().refused("has another content");
    on(&copy, &[&"restore", &name, &"--from", &data, &"--incomplete"]).refused("damaged");
    assert!(!copy.exists() || fs::read_dir(&copy).unwrap().count() == 0);
}

#[test]
fn checkpoints_are_made_every_so_often_and_the_newest_are_kept() {
    let mut sandbox = sandbox("");
    let mut daemon = sandbox.start(&["--set", "checkpoint.every=150ms", "--set", "checkpoint.keep=2"], None);
    let made = |daemon: &Daemon| daemon.log().matches("checkpoint made").count();
    until("checkpoints", || (made(&daemon) >= 4).then_some(()), || daemon.log());
    assert!(names(&sandbox.data()).len() <= 3, "one may just have been made");
    let truth = sandbox.truth().len();
    until("the end", || (lines_of(&sandbox.data()).len() >= truth).then_some(()), || daemon.log());
    daemon.signal(Signal::SIGTERM);
    daemon.wait();
    assert_eq!(names(&sandbox.data()).len(), 2);
    names(&sandbox.data()).iter().for_each(|name| drop(on(&sandbox.data(), &[&"verify", name]).done()));
}

#[test]
fn a_crawl_at_rest_has_a_checkpoint_made_by_the_command_itself() {
    let mut sandbox = sandbox("");
    let mut daemon = sandbox.start(&["--until-done"], None);
    until_requests(&sandbox, &daemon, 40);
    daemon.signal(Signal::SIGKILL);
    daemon.wait();
    on(&sandbox.data(), &[&"create"]).refused("did not end cleanly");
    sandbox.finish();
    on(&sandbox.data(), &[&"create"]).done();
    let name = names(&sandbox.data()).pop().unwrap();
    on(&sandbox.data(), &[&"verify", &name]).done();
    let said = on(&sandbox.folder().join("nothing"), &[&"create"]);
    assert!(said.code == Some(2) && said.text.contains("holds no crawl"), "{said:?}");
}
