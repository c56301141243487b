//! Commands that cannot do what they are asked: each says what happened, where and what to do, in words and in JSON, and ends
//! with the code for it.

use std::fs;
use std::path::Path;

use crate::checkpoint::{crawl_into_the_middle, on, run, sandbox};
use crate::sandbox::{Sandbox, program};

/// A crawl that is done, with one checkpoint of it.
fn done() -> (Sandbox, String) {
    let mut sandbox = sandbox("");
    sandbox.finish();
    on(&sandbox.data(), &[&"create"]).done();
    let name = crate::checkpoint::names(&sandbox.data()).remove(0);
    (sandbox, name)
}

#[test]
fn checkpoint_commands_on_a_folder_that_holds_no_crawl_say_so_and_make_nothing() {
    let base = tempfile::tempdir().unwrap();
    let empty = base.path().join("empty");
    fs::create_dir(&empty).unwrap();
    for (folder, words) in [(base.path().join("none"), "no such folder"), (empty, "no FORMAT file")] {
        let there = base.path().join("there").display().to_string();
        for command in [&["create"][..], &["list"], &["verify"], &["export", "newest", &there]] {
            let output = program().arg("checkpoint").args(command).arg("--json").arg("--data").arg(&folder).output();
            let output = output.unwrap();
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            assert_eq!(output.status.code(), Some(2), "{command:?}: {said}");
            assert!(said.starts_with("lycosa: ") && said.contains(words) && said.contains("--data DIR"), "{said}");
            let problem: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
            assert_eq!(problem["exit"], 2);
            assert!(problem["detail"].as_str().unwrap().contains(words), "{problem}");
        }
    }
    assert_eq!(fs::read_dir(base.path()).unwrap().count(), 1);
}

#[test]
fn a_start_that_fails_late_leaves_the_folder_as_cleanly_as_a_stop_does() {
    let (mut sandbox, _) = done();
    let mut daemon = sandbox.start(&["--set", "admin.token_file=/proc/lycosa.token"], None);
    let code = daemon.wait().code();
    let said = daemon.log();
    assert!(code != Some(0) && said.contains("token"), "{code:?}: {said}");
    assert!(!said.contains("not closed cleanly"), "{said}");
    let check = program().args(["check", "--json", "--data"]).arg(sandbox.data()).output().unwrap();
    let report: serde_json::Value = serde_json::from_slice(&check.stdout).unwrap();
    assert!(check.status.success() && !report.to_string().contains("unclean_end"), "{report}");
}

#[test]
fn a_report_in_json_is_the_only_object_also_when_the_checkpoint_is_damaged() {
    let (sandbox, name) = done();
    fs::write(sandbox.data().join("checkpoints").join(&name).join("FORMAT"), "x").unwrap();
    let output = program().args(["checkpoint", "verify", "--json", "--data"]).arg(sandbox.data()).output().unwrap();
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((output.status.code(), report["damage"].as_array().unwrap().len()), (Some(1), 1), "{report}");
}

#[test]
fn a_database_that_cannot_be_opened_ends_every_command_with_3_and_points_to_checkpoints() {
    let (mut sandbox, _) = done();
    let data = sandbox.data();
    let manifest = fs::read_dir(data.join("db")).unwrap().map(|e| e.unwrap().path());
    let manifest =
        manifest.into_iter().find(|p| p.file_name().unwrap().to_string_lossy().starts_with("MANIFEST")).unwrap();
    for (file, text) in [(data.join("db/CURRENT"), "nothing"), (manifest, "damaged, and longer than a header is")] {
        let good = fs::read(&file).unwrap();
        fs::write(&file, text).unwrap();
        let mut daemon = sandbox.start(&["--until-done"], None);
        let code = daemon.wait().code();
        let log = daemon.log();
        assert!(code == Some(3) && log.contains("lycosa checkpoint list"), "{code:?} {log}");
        assert_eq!(run(&[&"check", &"--data", &data], None).code, Some(3));
        assert_eq!(on(&data, &[&"create"]).code, Some(3));
        fs::write(&file, good).unwrap();
    }
    sandbox.finish();
}

/// A folder of copies with another manifest of this name.
fn copy_of(from: &Path, name: &str, to: &Path, change: impl Fn(&mut serde_json::Value)) {
    let done = std::process::Command::new("cp").arg("-r").arg(from).arg(to).status().unwrap();
    assert!(done.success());
    let path = to.join(format!("checkpoints/{name}.json.zst"));
    let text = zstd::decode_all(fs::File::open(&path).unwrap()).unwrap();
    let mut manifest: serde_json::Value = serde_json::from_slice(&text).unwrap();
    change(&mut manifest["checkpoint"]);
    fs::write(path, zstd::bulk::compress(manifest.to_string().as_bytes(), 1).unwrap()).unwrap();
}

#[test]
fn an_import_takes_no_database_of_another_seed_and_no_half_archive_unasked() {
    let (sandbox, name) = done();
    let (there, light) = (sandbox.beside("there"), sandbox.beside("light"));
    on(&sandbox.data(), &[&"export", &name, &there]).done();
    copy_of(&there, &name, &sandbox.beside("other"), |m| m["seed"] = "00000000000000aa".into());
    let new = sandbox.beside("new");
    on(&new, &[&"import", &sandbox.beside("other")]).refused("not that of the manifest");
    assert!(!new.join("FORMAT").exists());
    on(&sandbox.data(), &[&"export", &name, &light, &"--without-warc"]).done();
    let said = on(&new, &[&"import", &light]);
    assert!(said.text.contains("is not there") && said.text.contains("--incomplete"), "{said:?}");
    said.refused("--incomplete");
    assert!(!new.join("FORMAT").exists());
    on(&new, &[&"import", &light, &"--incomplete"]).done();
    on(&new, &[&"import", &there]).refused("name a new folder with --data");
    let told = on(&sandbox.beside("apart"), &[&"import", &there, &"--set", &"store.warc_dir=/nowhere/at/all"]).done();
    assert!(told.contains("apart/warc, not in this configuration's store.warc_dir"), "{told}");
}

#[test]
fn a_restore_beside_an_absolute_archive_folder_says_what_is_missing_there() {
    let mut sandbox = sandbox("");
    let name = crawl_into_the_middle(&mut sandbox);
    let (new, archive) = (sandbox.folder().join("new"), sandbox.beside("archive"));
    let set = format!("store.warc_dir={}", archive.display());
    let restore = [&"restore" as &dyn AsRef<std::ffi::OsStr>, &name, &"--from", &sandbox.data(), &"--set", &set];
    let said = on(&new, &restore);
    assert!(said.text.contains("copy them there first") && said.text.contains("/warc, and store.warc_dir"), "{said:?}");
    said.refused("--incomplete");
    assert!(!new.join("FORMAT").exists() && !archive.exists());
    fs::create_dir(&archive).unwrap();
    for file in fs::read_dir(sandbox.data().join("warc")).unwrap().map(|e| e.unwrap().file_name()) {
        if !file.to_string_lossy().starts_with('.') && !file.to_string_lossy().ends_with(".open") {
            fs::copy(sandbox.data().join("warc").join(&file), archive.join(&file)).unwrap();
        }
    }
    on(&new, &restore).done();
    sandbox.move_to("new");
    let mut daemon = sandbox.start(&["--until-done", "--set", &set], None);
    assert_eq!(daemon.wait().code(), Some(0), "{}", daemon.log());
    let unknown = on(&sandbox.beside("third"), &[&"restore", &"newest"]);
    assert!(unknown.text.contains("--from DIR"), "{unknown:?}");
}
