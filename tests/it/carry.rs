//! Checkpoints and archive files carried elsewhere: to a folder, and to a store that speaks S3 (`tests/s3_server.py`).

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use nix::sys::signal::Signal;
use sha2::{Digest, Sha256};

use crate::checkpoint::{archived, ask, assert_is_the_truth, crawl_into_the_middle, on, run, sandbox, until_requests};
use crate::sandbox::{Sandbox, left_out, python, until};

/// Exports, loses everything, imports, and crawls to the end.
fn carried_there_and_back(sandbox: &mut Sandbox, target: &str, more: &[&str]) {
    let name = crawl_into_the_middle(sandbox);
    let (home, copy) = (sandbox.data(), sandbox.folder().join("copy"));
    let sets: Vec<String> = more.iter().flat_map(|set| ["--set".to_owned(), (*set).to_owned()]).collect();
    let with = |arguments: &[&dyn AsRef<std::ffi::OsStr>], data: &Path| {
        let sets: Vec<&dyn AsRef<std::ffi::OsStr>> = sets.iter().map(|s| s as _).collect();
        on(data, &[arguments, &sets].concat())
    };
    with(&[&"export", &name, &target], &home).done();
    fs::remove_dir_all(&home).unwrap();
    with(&[&"import", &target], &copy).done();
    with(&[&"import", &target], &copy).refused("a copy does not replace");
    assert!(!copy.join("restoring").exists() && !copy.join("RESTORING").exists());
    sandbox.move_to("copy");
    sandbox.finish();
    assert_is_the_truth(sandbox);
}

#[test]
fn a_checkpoint_exported_to_a_folder_goes_on_elsewhere() {
    let mut sandbox = sandbox("");
    let target = sandbox.folder().join("there").display().to_string();
    carried_there_and_back(&mut sandbox, &target, &[]);
}

#[test]
fn an_export_without_its_manifest_or_with_another_byte_is_never_imported() {
    let mut sandbox = sandbox("");
    let name = crawl_into_the_middle(&mut sandbox);
    let (home, there) = (sandbox.data(), sandbox.folder().join("there"));
    let export = [&"checkpoint" as &dyn AsRef<std::ffi::OsStr>, &"export", &name, &there, &"--data", &home];
    for step in ["export.object=kill@3", "export.archive=kill@1", "export.manifest=kill@1"] {
        assert_eq!(run(&export, Some(step)).code, None, "{step}");
        on(&sandbox.folder().join("new"), &[&"import", &there]).refused("no whole copy");
    }
    run(&export, None).done();
    let new = sandbox.folder().join("new");
    let killed = [&"checkpoint" as &dyn AsRef<std::ffi::OsStr>, &"import", &there, &"--data", &new];
    assert_eq!(run(&killed, Some("import.file=kill@4")).code, None);
    assert!(!new.join("FORMAT").exists(), "no data folder yet");
    let warc = fs::read_dir(there.join("warc")).unwrap().next().unwrap().unwrap().path();
    let mut bytes = fs::read(&warc).unwrap();
    *bytes.last_mut().unwrap() ^= 1;
    fs::write(&warc, &bytes).unwrap();
    on(&new, &[&"import", &there]).refused("damaged");
    assert!(!new.join("FORMAT").exists());
    *bytes.last_mut().unwrap() ^= 1;
    fs::write(&warc, &bytes).unwrap();
    on(&new, &[&"import", &there]).done();
    sandbox.move_to("new");
    sandbox.finish();
    assert_is_the_truth(&sandbox);
}

/// The list of what was uploaded: file to length and digest.
fn listed(data: &Path) -> BTreeMap<String, (u64, String)> {
    let text = fs::read_to_string(data.join("uploaded.jsonl")).unwrap_or_default();
    let lines = text.lines().map(|l| serde_json::from_str::<serde_json::Value>(l).unwrap());
    let text = |value: &serde_json::Value| value.as_str().unwrap().to_owned();
    lines.map(|l| (text(&l["file"]), (l["bytes"].as_u64().unwrap(), text(&l["sha256"])))).collect()
}

fn sha(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|b| format!("{b:02x}")).collect()
}

#[test]
fn closed_archive_files_are_copied_verified_listed_and_removed_whenever_it_is_killed() {
    let mut sandbox = sandbox("");
    let there = sandbox.folder().join("there");
    let upload = format!("store.upload={}", there.display());
    let arguments = ["--until-done", "--set", &upload, "--set", "store.delete_uploaded=true"];
    crawl_into_the_middle(&mut sandbox); // with an archive file closed
    for step in ["upload.begin=kill@1", "upload.verified=kill@1", "upload.listed=kill@1"] {
        let mut daemon = sandbox.start(&arguments[1..], Some(step));
        assert_eq!(daemon.wait().code(), None, "{step}: {}", daemon.log());
    }
    let mut daemon = sandbox.start(&arguments, None);
    assert_eq!(daemon.wait().code(), Some(0), "{}", daemon.log());
    assert!(daemon.log().contains("removed here"), "{}", daemon.log());
    assert!(archived(&sandbox.data()).is_empty(), "{:?}", archived(&sandbox.data()));
    let listed = listed(&sandbox.data());
    assert!(listed.len() >= 4, "{listed:?}");
    for (file, (bytes, digest)) in &listed {
        let copy = fs::read(there.join(file)).unwrap();
        assert_eq!((copy.len() as u64, &sha(&copy)), (*bytes, digest), "{file}");
    }
    // A checkpoint that refers to them is whole: it is known where they are.
    let told = on(&sandbox.data(), &[&"verify"]).done();
    assert!(told.contains("were uploaded"), "{told}");
    // Nothing more is fetched by a start, and with the files back all of the truth is there.
    sandbox.finish();
    for file in listed.keys() {
        fs::copy(there.join(file), sandbox.data().join("warc").join(file)).unwrap();
    }
    assert_is_the_truth(&sandbox);
}

#[test]
fn a_place_that_takes_nothing_is_told_and_never_stops_the_crawl() {
    let mut sandbox = sandbox("");
    let blocked = sandbox.folder().join("a-file");
    fs::write(&blocked, "x").unwrap();
    let to = format!("store.upload={}", blocked.join("there").display());
    let mut daemon = sandbox.start(&["--set", &to], None);
    until_requests(&sandbox, &daemon, 30);
    ask(&daemon);
    until("the remark", || daemon.log().contains("wait to be copied").then_some(()), || daemon.log());
    let status = run(&[&"ctl", &"status", &"--admin", &crate::checkpoint::admin(&daemon)], None).done();
    assert!(status.contains("upload_failed"), "{status}");
    let truth = sandbox.truth().len();
    until("the end", || (sandbox.lines().len() >= truth).then_some(()), || daemon.log());
    daemon.signal(Signal::SIGTERM);
    assert_eq!(daemon.wait().code(), Some(0), "{}", daemon.log());
    assert_is_the_truth(&sandbox);
}

/// A store in a process of its own; ends with it.
#[cfg(feature = "s3")]
pub struct S3 {
    child: Child,
    pub url: String,
}

#[cfg(feature = "s3")]
impl S3 {
    /// `None` where its tools are not installed.
    pub fn start() -> Option<Self> {
        let python = python()?;
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/s3_server.py");
        let mut command = Command::new(python);
        command.arg(script).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        let mut url = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut url).unwrap();
        if url.is_empty() {
            child.wait().unwrap();
            left_out("LYCOSA_PYTHON", "a Python with moto (`pip install -r tests/tools/requirements.txt`)");
            return None;
        }
        Some(Self { child, url: url.trim().to_owned() })
    }
}

#[cfg(feature = "s3")]
impl Drop for S3 {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        let _ = self.child.wait();
    }
}

#[cfg(feature = "s3")]
#[test]
fn a_store_that_speaks_s3_takes_checkpoints_and_archive_files_and_gives_them_back() {
    let Some(store) = S3::start() else { return };
    let endpoint = format!("checkpoint.s3_endpoint={}", store.url);
    let mut sandbox = sandbox(&format!(
        "checkpoint.s3_endpoint = \"{}\"\nstore.upload = \"s3://crawl/a/warc\"\ncheckpoint.upload = \"s3://crawl/a/copies\"\n",
        store.url
    ));
    // An archive file larger than one part of an upload.
    let mut first = sandbox.start(&["--max-pages", "1"], None);
    first.wait();
    let noise: Vec<u8> = (0..5_000_000_u32).flat_map(|n| n.wrapping_mul(2_654_435_761).to_le_bytes()).collect();
    fs::write(sandbox.data().join("warc/noise.warc.gz"), &noise).unwrap();
    carried_there_and_back(&mut sandbox, "s3://crawl/a/exported", &[&endpoint]);
    assert!(fs::read(sandbox.data().join("warc/noise.warc.gz")).unwrap() == noise);
    let listed = listed(&sandbox.data());
    assert_eq!(listed["noise.warc.gz"], (noise.len() as u64, sha(&noise)));
    assert!(listed.len() >= 4, "the archive's files were copied at the end: {listed:?}");
    let mut daemon = sandbox.start(&[], None);
    ask(&daemon);
    until("the copy", || daemon.log().contains("checkpoint copied").then_some(()), || daemon.log());
    daemon.signal(Signal::SIGTERM);
    daemon.wait();
    let light = sandbox.folder().join("light");
    let told = on(&light, &[&"import", &"s3://crawl/a/copies", &"--set", &endpoint]).done();
    assert!(told.contains("not there"), "they were uploaded elsewhere: {told}");
    sandbox.move_to("light");
    sandbox.finish();
    sandbox.move_to("lighter");
    let mut daemon = sandbox.start(&["--until-done", "--from", "s3://crawl/a/copies"], None);
    assert_eq!(daemon.wait().code(), Some(0), "{}", daemon.log());
    assert!(daemon.log().contains("restored: checkpoint="), "{}", daemon.log());
    sandbox.finish();
}

#[cfg(feature = "s3")]
#[test]
fn a_store_that_cannot_be_reached_is_an_error_that_names_it() {
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let mut sandbox = sandbox("");
    sandbox.finish();
    on(&sandbox.data(), &[&"create"]).done();
    let endpoint = format!("checkpoint.s3_endpoint=http://{free}");
    let said = on(&sandbox.data(), &[&"export", &"newest", &"s3://crawl/x", &"--set", &endpoint]);
    assert!(said.text.contains("s3://crawl/x"), "{said:?}");
    assert!(!said.text.contains("test/") && !said.text.contains("AWS4-HMAC"), "no credentials: {said:?}");
    said.refused("listing");
}
