//! Copies of checkpoints elsewhere: what is sent, what is kept, and crawls that go on from them.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use lycosa::testweb::TestWebConfig;
use nix::sys::signal::Signal;
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::checkpoint::{SETTINGS, ask, assert_is_the_truth, larger, on, run, until_requests};
use crate::dice::Dice;
use crate::sandbox::{Daemon, Sandbox, until};

/// The most that may be sent when nothing changed.
const LITTLE: u64 = 64 << 10;

fn sha(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|b| format!("{b:02x}")).collect()
}

fn unpacked(path: &Path) -> Vec<u8> {
    zstd::decode_all(fs::File::open(path).unwrap()).unwrap()
}

/// The manifests in a folder of copies, by name.
fn manifests(there: &Path) -> BTreeMap<String, Value> {
    let files = fs::read_dir(there.join("checkpoints")).into_iter().flatten().map(|entry| entry.unwrap().path());
    let named =
        files.filter_map(|path| Some((path.file_name()?.to_str()?.strip_suffix(".json.zst")?.to_owned(), path)));
    named.map(|(name, path)| (name, serde_json::from_slice(&unpacked(&path)).unwrap())).collect()
}

/// The content of what lies in pieces, each held against its digest.
fn in_pieces(there: &Path, pieces: &Value) -> Vec<u8> {
    let mut all = Vec::new();
    for piece in pieces.as_array().unwrap() {
        let digest = piece["sha256"].as_str().unwrap();
        let bytes = unpacked(&there.join(format!("pieces/{digest}.zst")));
        assert_eq!((bytes.len() as u64, sha(&bytes).as_str()), (piece["bytes"].as_u64().unwrap(), digest));
        all.extend(bytes);
    }
    all
}

/// Every object that a manifest names is there and is what its digest says, the archive's files too; how many manifests there are.
fn assert_all_is_there(there: &Path) -> usize {
    let manifests = manifests(there);
    for (name, manifest) in &manifests {
        assert_eq!(&manifest["checkpoint"]["name"], name);
        for table in manifest["checkpoint"]["files"].as_array().unwrap() {
            let digest = table["sha256"].as_str().unwrap();
            let bytes = fs::read(there.join("tables").join(digest)).unwrap_or_else(|e| panic!("{name}: {table}: {e}"));
            assert_eq!(sha(&bytes), digest, "{name}");
        }
        for (file, pieces) in manifest["pieces"].as_object().unwrap() {
            let bytes = in_pieces(there, pieces);
            if file == "archive.jsonl" {
                for line in String::from_utf8(bytes).unwrap().lines() {
                    let file: Value = serde_json::from_str(line).unwrap();
                    let there = fs::metadata(there.join("warc").join(file["file"].as_str().unwrap()));
                    assert_eq!(there.unwrap().len(), file["bytes"].as_u64().unwrap(), "{name}: {line}");
                }
            }
        }
    }
    manifests.len()
}

/// What the copies of a data folder's checkpoints took, the oldest first: sent, and there already.
fn took(data: &Path) -> Vec<(u64, u64)> {
    let said = on(data, &[&"list", &"--json"]).done();
    let listing: Value = serde_json::from_str(&said).unwrap();
    let copied = listing["checkpoints"].as_array().unwrap().iter().filter_map(|made| made.get("copied"));
    copied.map(|c| (c["sent_bytes"].as_u64().unwrap(), c["reused_bytes"].as_u64().unwrap())).collect()
}

/// Waits until so many copies were made by this process.
fn until_copied(daemon: &Daemon, copies: usize) {
    let made = || (daemon.log().matches("checkpoint copied").count() >= copies).then_some(());
    until("the copy", made, || daemon.log());
}

/// A sandbox that copies its checkpoints to a folder beside the data folders.
fn copying(times: u32, more: &str) -> (Sandbox, PathBuf) {
    let place = tempfile::Builder::new().prefix("lycosa-copies-").tempdir().unwrap().keep();
    let sandbox = larger(times, &format!("checkpoint.upload = \"{}\"\n{more}", place.display()));
    (sandbox, place)
}

/// A crawl that was copied in the middle; then its machine is gone.
fn gone_in_the_middle(sandbox: &mut Sandbox, copies: usize) {
    let mut daemon = sandbox.start(&[], None);
    for nth in 1..=copies {
        until_requests(sandbox, &daemon, sandbox.web.audit_len() + 30);
        ask(&daemon);
        until_copied(&daemon, nth);
    }
    until_requests(sandbox, &daemon, sandbox.web.audit_len() + 20);
    daemon.signal(Signal::SIGKILL);
    daemon.wait();
    fs::remove_dir_all(sandbox.data()).unwrap();
}

/// Goes on from a copy, in a new folder, to the end; gives what was logged.
fn go_on(sandbox: &mut Sandbox, from: &str, folder: &str) -> String {
    sandbox.move_to(folder);
    let mut daemon = sandbox.start(&["--until-done", "--from", from], None);
    assert_eq!(daemon.wait().code(), Some(0), "{}", daemon.log());
    daemon.log()
}

/// Brings the archive's files back that a restore leaves where they are.
fn bring_archive(there: &Path, data: &Path) {
    for entry in fs::read_dir(there.join("warc")).unwrap() {
        let path = entry.unwrap().path();
        let here = data.join("warc").join(path.file_name().unwrap());
        if !here.exists() {
            fs::copy(&path, &here).unwrap();
        }
    }
}

#[test]
fn a_crawl_whose_machine_is_gone_goes_on_from_its_newest_whole_copy() {
    let (mut sandbox, there) = copying(1, "");
    gone_in_the_middle(&mut sandbox, 1);
    assert_eq!(assert_all_is_there(&there), 1);
    let asked = sandbox.web.audit_len();
    let log = go_on(&mut sandbox, there.to_str().unwrap(), "new");
    assert!(log.contains("restored: checkpoint="), "{log}");
    let again = sandbox.web.audit_len() - asked;
    assert!(again < sandbox.truth().len(), "it went on and did not begin anew: {again} requests");
    let said = run(&[&"run", &"--from", &there, &"--data", &sandbox.data()], None);
    assert!(said.code == Some(2) && said.text.contains("holds a crawl"), "{said:?}");
    bring_archive(&there, &sandbox.data());
    assert_is_the_truth(&sandbox);
    fs::remove_dir_all(there).unwrap();
}

#[test]
fn a_folder_with_other_things_in_it_and_a_place_without_copies_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let (data, place) = (dir.path().join("data"), dir.path().join("place"));
    let from = |data: &PathBuf| run(&[&"run", &"--from", &place, &"--data", data, &"--set", &"admin.listen=off"], None);
    from(&data).refused("there is no whole copy of a checkpoint");
    fs::create_dir_all(&data).unwrap();
    fs::write(data.join("thesis.txt"), "x").unwrap();
    let said = from(&data);
    assert!(said.code == Some(2) && said.text.contains("is not empty"), "{said:?}");
}

#[test]
fn what_is_damaged_or_lacks_an_object_or_an_archive_file_is_passed_over_for_an_older_copy() {
    let (mut sandbox, there) = copying(4, "");
    gone_in_the_middle(&mut sandbox, 3);
    let mut names: Vec<String> = manifests(&there).into_keys().collect();
    assert_eq!(names.len(), 3);
    let (newest, middle) = (names.pop().unwrap(), names.pop().unwrap());
    // An object that only the newest names goes; of the one before an archive file.
    let named = |name: &str| manifests(&there)[name]["checkpoint"]["files"].clone();
    let digests = |files: &Value| -> Vec<String> {
        files.as_array().unwrap().iter().map(|f| f["sha256"].as_str().unwrap().to_owned()).collect()
    };
    let older = [digests(&named(&middle)), digests(&named(&names[0]))].concat();
    let own = digests(&named(&newest)).into_iter().find(|digest| !older.contains(digest)).unwrap();
    fs::remove_file(there.join("tables").join(own)).unwrap();
    let archive = |name: &str| {
        let list = in_pieces(&there, &manifests(&there)[name]["pieces"]["archive.jsonl"]);
        String::from_utf8(list).unwrap().lines().map(str::to_owned).collect::<Vec<_>>()
    };
    let line = archive(&middle).into_iter().find(|line| !archive(&names[0]).contains(line)).unwrap();
    let file: Value = serde_json::from_str(&line).unwrap();
    fs::rename(there.join("warc").join(file["file"].as_str().unwrap()), there.join("away")).unwrap();
    // Asked for by its name it is refused, and says why.
    let data = sandbox.folder().join("x");
    let by_name = |name: &str| on(&data, &[&"import", &format!("{}@{name}", there.display())]);
    by_name(&newest).refused("not there: tables/");
    by_name(&middle).refused("--incomplete");
    // The disk with the copies is elsewhere on the new machine: what was uploaded to it is looked for where it is now.
    let (was, there) = (there.clone(), there.with_extension("moved"));
    fs::rename(&was, &there).unwrap();
    let log = go_on(&mut sandbox, there.to_str().unwrap(), "new");
    let uploaded = fs::read_to_string(sandbox.data().join("uploaded.jsonl")).unwrap();
    let lines = uploaded.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let to: BTreeMap<String, String> = lines
        .map(|line| (line["file"].as_str().unwrap().to_owned(), line["to"].as_str().unwrap().to_owned()))
        .collect();
    let restored = in_pieces(&there, &manifests(&there)[&names[0]]["pieces"]["archive.jsonl"]);
    for line in String::from_utf8(restored).unwrap().lines() {
        let file: Value = serde_json::from_str(line).unwrap();
        let name = file["file"].as_str().unwrap();
        assert!(!to[name].starts_with(&format!("{}/", was.display())), "{name}: {to:?}");
    }
    assert!(log.contains(&format!("restored: checkpoint={}", names[0])), "{log}");
    assert!(
        log.contains(&format!("passed over: {newest}")) && log.contains(&format!("passed over: {middle}")),
        "{log}"
    );
    fs::remove_dir_all(there).unwrap();
}

#[test]
fn an_object_that_is_not_as_it_was_is_never_made_a_data_folder_of() {
    let (mut sandbox, there) = copying(1, "");
    gone_in_the_middle(&mut sandbox, 1);
    let data = sandbox.folder().join("new");
    for kind in ["tables", "pieces"] {
        let files = fs::read_dir(there.join(kind)).unwrap().map(|entry| entry.unwrap().path());
        let path = files.max_by_key(|path| path.metadata().unwrap().len()).unwrap();
        let whole = fs::read(&path).unwrap();
        let mut damaged = whole.clone();
        let middle = damaged.len() / 2;
        damaged[middle] ^= 1;
        fs::write(&path, &damaged).unwrap();
        let said = run(&[&"run", &"--from", &there, &"--data", &data, &"--set", &"admin.listen=off"], None);
        said.refused("is damaged");
        assert!(!data.join("FORMAT").exists());
        fs::write(&path, &whole).unwrap();
    }
    for (step, restored) in [("import.file", false), ("import.piece", false), ("restore.noted", true)] {
        let faults = format!("{step}=kill@1");
        let from: [&dyn AsRef<std::ffi::OsStr>; 5] = [&"run", &"--from", &there, &"--data", &data];
        assert_eq!(run(&from, Some(&faults)).code, None, "{step}");
        assert_eq!(data.join("RESTORING").exists(), restored, "{step}");
        if !restored {
            let plain = sandbox.folder().join("plain.toml");
            fs::write(&plain, "crawl.seeds = [\"http://127.0.0.1:1/\"]\nadmin.listen = \"off\"\n").unwrap();
            let said = run(&[&"run", &plain, &"--data", &data], None);
            assert!(said.code == Some(2) && said.text.contains("is taken back: the folder is empty"), "{said:?}");
        }
    }
    let log = go_on(&mut sandbox, there.to_str().unwrap(), "new");
    assert!(log.contains("killed half way is completed"), "{log}");
    fs::remove_dir_all(there).unwrap();
}

#[test]
fn what_is_there_is_not_sent_again() {
    let (mut sandbox, there) = copying(2, "checkpoint.keep = 2\n");
    let mut daemon = sandbox.start(&[], None);
    let truth = sandbox.truth().len();
    until("the end", || (sandbox.lines().len() >= truth).then_some(()), || daemon.log());
    for nth in 1..=3 {
        ask(&daemon);
        until_copied(&daemon, nth);
    }
    let scrape = run(&[&"ctl", &"checkpoints", &"--admin", &crate::checkpoint::admin(&daemon)], None).done();
    assert!(scrape.contains("copy sent"), "{scrape}");
    daemon.signal(Signal::SIGTERM);
    daemon.wait();
    let upload = format!("checkpoint.upload={}", there.display());
    for _ in 0..2 {
        on(&sandbox.data(), &[&"create", &"--set", &upload]).done();
    }
    let took = took(&sandbox.data());
    assert_eq!(took.len(), 5, "those asked for stay");
    let whole = took[0].0;
    assert!(whole > 0 && took[0].1 == 0, "{took:?}");
    // The fourth is the first since the crawl was closed, and a start writes.
    let unchanged = [took[1], took[2], took[4]];
    assert!(unchanged.iter().all(|(sent, reused)| *sent <= LITTLE && *reused > 0), "nothing changed: {took:?}");
    assert_eq!(assert_all_is_there(&there), 5);
    fs::remove_dir_all(there).unwrap();
}

#[test]
fn a_place_that_takes_no_copies_costs_the_copy_alone_and_the_next_one_has_all() {
    let (mut sandbox, there) = copying(1, "");
    let mut daemon = sandbox.start(&[], Some("export.object=error@2"));
    until_requests(&sandbox, &daemon, 40);
    ask(&daemon);
    until("the remark", || daemon.log().contains("was not copied").then_some(()), || daemon.log());
    assert_eq!(assert_all_is_there(&there), 0);
    ask(&daemon);
    until_copied(&daemon, 1);
    assert_eq!(assert_all_is_there(&there), 1);
    daemon.signal(Signal::SIGKILL);
    daemon.wait();
    fs::remove_dir_all(there).unwrap();
}

#[test]
fn a_copy_that_failed_is_made_up_for_though_nothing_changes_any_more() {
    let dir = tempfile::tempdir().unwrap();
    let blocked = dir.path().join("a-file");
    fs::write(&blocked, "x").unwrap();
    let there = blocked.join("there");
    let (to, archive) = (there.display(), dir.path().join("archive"));
    let places = format!("checkpoint.upload = \"{to}\"\nstore.upload = \"{}\"\n", archive.display());
    let mut sandbox = larger(1, &places);
    let mut daemon = sandbox.start(&["--set", "checkpoint.every=150ms"], None);
    let truth = sandbox.truth().len();
    until("the end", || (sandbox.lines().len() >= truth).then_some(()), || daemon.log());
    let failed = |daemon: &Daemon| daemon.log().matches("was not copied").count();
    let before = failed(&daemon);
    until("more tries", || (failed(&daemon) >= before + 3).then_some(()), || daemon.log());
    fs::remove_file(&blocked).unwrap();
    until_copied(&daemon, 1);
    assert_eq!(manifests(&there).len(), 1);
    daemon.signal(Signal::SIGTERM);
    assert_eq!(daemon.wait().code(), Some(0), "{}", daemon.log());
}

/// Where a copy may be killed, and at which pass at most.
const STEPS: [(&str, u64); 9] = [
    ("upload.begin", 2),
    ("upload.verified", 2),
    ("upload.listed", 2),
    ("export.object", 12),
    ("export.manifest", 1),
    ("export.written", 1),
    ("export.prune", 1),
    ("export.remove", 8),
    ("checkpoint.prune", 1),
];

/// Lets a day pass for what no copy names.
fn a_day_later(there: &Path) {
    let path = there.join("unnamed.json.zst");
    if !path.exists() {
        return;
    }
    let unnamed: BTreeMap<String, u64> = serde_json::from_slice(&unpacked(&path)).unwrap();
    let earlier: BTreeMap<_, u64> = unnamed.into_keys().map(|key| (key, 0)).collect();
    fs::write(&path, zstd::bulk::compress(&serde_json::to_vec(&earlier).unwrap(), 1).unwrap()).unwrap();
}

/// `LYCOSA_COPY_KILLS` of them; 300 took so long as `docs/durability.md` says.
#[test]
fn killed_anywhere_no_manifest_names_what_is_not_there_and_the_newest_goes_on() {
    let kills: u64 = std::env::var("LYCOSA_COPY_KILLS").map_or(18, |text| text.parse().unwrap());
    let seed = Dice::seed();
    let mut dice = Dice::of(seed);
    let web = TestWebConfig { hosts: 8, pages: 60 + 5 * kills as u32, links: 8, ..TestWebConfig::default() };
    let place = tempfile::tempdir().unwrap();
    let more = format!("checkpoint.upload = \"{}\"\ncheckpoint.keep = 2\n", place.path().display());
    let mut sandbox = Sandbox::new(web, &format!("{}{more}", SETTINGS));
    let (mut killed, mut most) = (0, 0);
    for nth in 0..kills {
        let (step, passes) = STEPS[(nth as usize) % STEPS.len()];
        let faults = format!("{step}=kill@{}", 1 + dice.below(passes));
        a_day_later(place.path());
        let slowly = ["--set", "checkpoint.every=60ms", "--set", "politeness.min_delay=300ms"];
        let mut daemon = sandbox.start(&slowly, Some(&faults));
        killed += u64::from(daemon.until_ended_or(|log| log.matches("checkpoint copied").count() >= 4));
        daemon.signal_if_there(Signal::SIGKILL);
        daemon.wait();
        most = most.max(assert_all_is_there(place.path()));
        assert!(sandbox.lines().len() < sandbox.truth().len(), "the web is too small: seed {seed}");
    }
    println!("{kills} kills, {killed} of them at a step, seed {seed}; at most {most} copies at a time");
    assert!(killed >= kills / 2 && most <= 6, "{killed} killed, {most} copies: seed {seed}");
    fs::remove_dir_all(sandbox.data()).unwrap();
    go_on(&mut sandbox, place.path().to_str().unwrap(), "new");
    bring_archive(place.path(), &sandbox.data());
    assert_is_the_truth(&sandbox);
}
