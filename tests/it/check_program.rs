//! `lycosa check` as a user meets it: exit codes, words, and not a byte changed without `--repair`.

#![cfg(feature = "rocksdb")]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Output;

use lycosa::storage::keys::KeyRange;
use lycosa::storage::{Batch, RocksOptions, RocksStorage, Storage, read, tables};
use lycosa::testweb::TestWebConfig;
use nix::sys::signal::Signal;

use crate::sandbox::{Sandbox, is_rules, program, until};

const SETTINGS: &str = "crawl.max_depth = \"none\"\nfetch.concurrency = 16\npoliteness.min_delay = \"5ms\"\n\
    politeness.delay_factor = 0\nstore.warc_max_size = \"1MB\"\nstore.memory = \"32MiB\"\n";

fn web() -> TestWebConfig {
    TestWebConfig { hosts: 6, pages: 60, duplicates: 0.1, redirects: 0.1, latency_ms: 3, ..TestWebConfig::default() }
}

fn check(data: &Path, arguments: &[&str]) -> Output {
    program().arg("check").arg("--data").arg(data).arg("--no-progress").args(arguments).output().unwrap()
}

fn text(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

fn code(output: &Output) -> Option<i32> {
    output.status.code()
}

/// Every file of a folder with its bytes and times.
fn files(dir: &Path) -> BTreeMap<PathBuf, (Vec<u8>, std::time::SystemTime)> {
    let mut all = BTreeMap::new();
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        let modified = fs::metadata(&path).unwrap().modified().unwrap();
        if path.is_dir() {
            all.extend(files(&path));
            all.insert(path, (Vec::new(), modified));
        } else {
            all.insert(path.clone(), (fs::read(&path).unwrap(), modified));
        }
    }
    all
}

/// A crawl killed in its middle. While it ran, nobody was let in.
fn killed() -> Sandbox {
    let mut sandbox = Sandbox::new(web(), SETTINGS);
    let daemon = sandbox.start(&["--until-done"], None);
    until("requests", || (sandbox.web.audit_len() >= 60).then_some(()), || daemon.log());
    for arguments in [&[][..], &["--repair"]] {
        let refused = check(&sandbox.data(), arguments);
        assert_eq!(code(&refused), Some(2), "{}", text(&refused));
        assert!(text(&refused).contains("in use by another running crawler"), "{}", text(&refused));
    }
    until("requests", || (sandbox.web.audit_len() >= 120).then_some(()), || daemon.log());
    daemon.signal(Signal::SIGKILL);
    drop(daemon);
    sandbox
}

fn is_the_truth(mut sandbox: Sandbox) {
    sandbox.finish();
    let urls = sandbox.web.audit().iter().map(|entry| entry.url()).filter(|url| !is_rules(url)).collect();
    assert_eq!(sandbox.truth(), urls);
    let done = check(&sandbox.data(), &["--full"]);
    assert_eq!(code(&done), Some(0), "{}", text(&done));
}

#[test]
fn a_folder_left_by_a_kill_is_clean_is_not_touched_and_its_tail_is_told() {
    let sandbox = killed();
    let before = files(&sandbox.data());
    let found = check(&sandbox.data(), &["--full", "--json"]);
    assert_eq!(code(&found), Some(0), "{}", text(&found));
    assert!(files(&sandbox.data()) == before, "a check without --repair changed a file");
    let json: serde_json::Value = serde_json::from_slice(&found.stdout).unwrap();
    assert_eq!((&json["clean"], &json["findings"]), (&true.into(), &serde_json::json!([])), "{json}");
    assert!(json["urls"].as_u64().unwrap() > 100 && json["records"]["seen"] == json["urls"], "{json}");
    assert!(json["notes"].as_array().unwrap().iter().any(|note| note["name"] == "unclean_end"), "{json}");
    is_the_truth(sandbox);
}

#[test]
fn a_damaged_folder_is_told_untouched_mended_on_wish_and_crawled_to_its_end() {
    let sandbox = killed();
    let storage = RocksStorage::open(&sandbox.data(), RocksOptions::default()).unwrap();
    let queue = read::scan::<tables::Queue>(&storage, &KeyRange::all(), 2).unwrap();
    let pages = read::scan::<tables::Pages>(&storage, &KeyRange::all(), 1).unwrap();
    let mut damage = Batch::new();
    queue.iter().for_each(|(key, _)| damage.delete::<tables::Queue>(key));
    damage.delete::<tables::Seen>(&pages[0].0.seen());
    storage.write(&damage).unwrap();
    drop(storage);

    let before = files(&sandbox.data());
    let found = check(&sandbox.data(), &[]);
    assert_eq!(code(&found), Some(1), "{}", text(&found));
    assert!(files(&sandbox.data()) == before, "a check without --repair changed a file");
    for words in ["I2 waiting_unqueued (2)", "I2 page_unmarked (1)", &pages[0].1.url, "--repair queues it"] {
        assert!(text(&found).contains(words), "no {words} in {}", text(&found));
    }
    let last = String::from_utf8_lossy(&found.stdout).lines().last().unwrap().to_owned();
    assert!(last.contains("findings") && last.ends_with("--repair mends them"), "{last}");

    let mended = check(&sandbox.data(), &["--repair"]);
    assert_eq!(code(&mended), Some(0), "{}", text(&mended));
    assert!(text(&mended).contains("mended waiting_unqueued: http://"), "{}", text(&mended));
    let again = check(&sandbox.data(), &["--repair", "--json"]);
    assert_eq!(code(&again), Some(0), "{}", text(&again));
    let json: serde_json::Value = serde_json::from_slice(&again.stdout).unwrap();
    assert_eq!(json["repaired"], serde_json::json!([]));
    is_the_truth(sandbox);
}

#[test]
fn what_is_no_folder_of_this_program_is_refused_with_2_in_words_and_in_json() {
    let base = tempfile::tempdir().unwrap();
    let folder = |name: &str| {
        let path = base.path().join(name);
        fs::create_dir(&path).unwrap();
        path
    };
    let (other, foreign, begun) = (folder("other"), folder("foreign"), folder("begun"));
    let ours = format!("lycosa data folder\nformat {}\n", lycosa::storage::FORMAT_VERSION);
    fs::write(begun.join("FORMAT"), ours).unwrap();
    assert_eq!(code(&check(&begun, &["--json"])), Some(0), "a first start that was killed is no fault");
    // Killed while the database was being made: it has the first of its families.
    fs::create_dir(begun.join("db")).unwrap();
    drop(rocksdb::DB::open_default(begun.join("db")).unwrap());
    let told = check(&begun, &[]);
    assert!(code(&told) == Some(0) && text(&told).contains("no crawl has begun here"), "{}", text(&told));
    for command in [
        &["index", "verify"][..],
        &["search", "x"],
        &["diff", "a.test"],
        &["replay", "--what", "links"],
        &["export", "cdxj", "--to", "x"],
    ] {
        let refused = program().args(command).arg("--data").arg(&begun).output().unwrap();
        let words = "holds no crawl: its first start ended before the database was made; `lycosa run` begins it";
        assert!(code(&refused) == Some(2) && text(&refused).contains(words), "{command:?}: {}", text(&refused));
    }
    fs::remove_dir_all(begun.join("db")).unwrap();
    fs::write(other.join("FORMAT"), "lycosa data folder\nformat 999\n").unwrap();
    fs::write(foreign.join("thesis.txt"), "x").unwrap();
    for (path, words) in [
        (other, "has format 999"),
        (foreign, "no data folder of Lycosa's"),
        (folder("empty"), "holds no crawl"),
        (base.path().join("none"), "is not there"),
    ] {
        let refused = check(&path, &[]);
        assert_eq!(code(&refused), Some(2), "{}", text(&refused));
        assert!(text(&refused).contains(words) && refused.stdout.is_empty(), "{}", text(&refused));
        let in_json = check(&path, &["--json", "--repair"]);
        let problem: serde_json::Value = serde_json::from_slice(&in_json.stdout).unwrap();
        assert_eq!((code(&in_json), &problem["exit"]), (Some(2), &2.into()));
        assert!(problem["detail"].as_str().unwrap().contains(words), "{problem}");
    }
    let before = files(base.path()).into_keys().collect::<Vec<_>>();
    assert_eq!(before.len(), 7, "nothing was made: {before:?}");
}
