//! Folders that are not where they were, or not what they should be: refused before anything is written.

use std::fs;
use std::path::Path;

use nix::sys::signal::Signal;

use crate::checkpoint::{admin, on, run, sandbox, until_requests};
use crate::sandbox::Sandbox;

/// Names and lengths of everything below a folder.
fn all_of(folder: &Path) -> Vec<(String, u64)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        let name = entry.path().display().to_string();
        if entry.file_type().unwrap().is_dir() {
            found.extend(all_of(&entry.path()));
        } else {
            found.push((name, entry.metadata().unwrap().len()));
        }
    }
    found.sort();
    found
}

/// A run that is refused, with these words, and leaves the folder as it was.
fn refused(sandbox: &mut Sandbox, arguments: &[&str], code: i32, words: &[&str]) {
    // Opening the database is no change of the crawl: RocksDB begins an empty log.
    let all = |data: &Path| {
        let mut all = all_of(data);
        all.retain(|(name, _)| !name.contains("/db/"));
        all
    };
    let before = all(&sandbox.data());
    let mut daemon = sandbox.start(&[arguments, &["--until-done"]].concat(), None);
    let ended = daemon.wait().code();
    let said = daemon.log();
    assert_eq!(ended, Some(code), "{said}");
    let line = said.lines().find(|l| l.starts_with("lycosa: ")).unwrap_or_else(|| panic!("{said}"));
    assert!(words.iter().all(|word| line.contains(word)), "{words:?}: {line}");
    assert_eq!(all(&sandbox.data()), before);
}

#[test]
fn an_archive_that_is_not_where_it_was_is_refused_after_a_clean_stop_too() {
    let mut sandbox = sandbox("");
    sandbox.finish();
    refused(&mut sandbox, &["--set", "store.warc_dir=wrac"], 2, &["wrac", "store.warc_dir"]);
    fs::rename(sandbox.data().join("warc"), sandbox.beside("unmounted")).unwrap();
    refused(&mut sandbox, &[], 2, &["warc", "mount its disk"]);
    fs::rename(sandbox.beside("unmounted"), sandbox.data().join("warc")).unwrap();
    sandbox.finish();
}

#[test]
fn a_crawl_whose_database_is_gone_is_refused_and_not_begun_anew() {
    let mut sandbox = sandbox("");
    sandbox.finish();
    let data = sandbox.data();
    fs::remove_dir_all(data.join("db")).unwrap();
    refused(&mut sandbox, &[], 1, &["database is gone", "lycosa checkpoint list"]);
    assert!(!data.join("db").join("CURRENT").exists());
    let said = run(&[&"check", &"--data", &data], None);
    assert!(said.code != Some(0) && said.text.contains("database is gone"), "{said:?}");
}

#[test]
fn after_a_clean_stop_the_log_of_the_database_is_no_longer_needed() {
    let mut sandbox = sandbox("");
    sandbox.finish();
    let logs: Vec<_> = fs::read_dir(sandbox.data().join("db")).unwrap().map(|e| e.unwrap().path()).collect();
    for log in logs.iter().filter(|path| path.extension().is_some_and(|e| e == "log")) {
        fs::write(log, "damaged").unwrap();
    }
    sandbox.finish();
    crate::checkpoint::assert_is_the_truth(&sandbox);
}

#[test]
fn copies_of_the_archive_into_itself_are_refused() {
    let mut sandbox = sandbox("");
    sandbox.finish();
    let into = format!("store.upload={}", sandbox.data().join("x/../warc").display());
    refused(&mut sandbox, &["--set", &into, "--set", "store.delete_uploaded=true"], 2, &["store.upload"]);
    refused(&mut sandbox, &["--set", "checkpoint.dir=db"], 2, &["checkpoint.dir"]);
}

#[test]
fn a_checkpoint_is_never_made_of_another_crawl_than_the_one_named() {
    let (mut one, mut other) = (sandbox(""), sandbox(""));
    let daemons = [one.start(&[], None), other.start(&[], None)];
    until_requests(&one, &daemons[0], 10);
    until_requests(&other, &daemons[1], 10);
    let address = admin(&daemons[0]);
    let said = on(&other.data(), &[&"create", &"--admin", &address]);
    assert!(said.code != Some(0) && said.text.contains("not of"), "{said:?}");
    let named = format!("admin.listen={address}");
    let said = on(&one.data(), &[&"create", &"--set", &named]);
    assert_eq!(said.code, Some(0), "{said:?}");
    for mut daemon in daemons {
        daemon.signal(Signal::SIGTERM);
        assert_eq!(daemon.wait().code(), Some(0), "{}", daemon.log());
    }
}

#[test]
fn a_crawl_gives_way_to_a_checkpoint_of_another_one_only_where_that_is_named() {
    let mut sandbox = sandbox("");
    sandbox.finish();
    let (one, config) = (sandbox.data(), sandbox.config_file());
    on(&one, &[&"create", &"--config", &config]).done();
    sandbox.move_to("other");
    sandbox.finish();
    let configured = format!("store.data_dir={}", one.display());
    let restore = |to: &Path, more: &[&dyn AsRef<std::ffi::OsStr>]| {
        let arguments: [&dyn AsRef<std::ffi::OsStr>; 4] = [&"restore", &"newest", &"--set", &configured];
        on(to, &[&arguments, more].concat())
    };
    let before = all_of(&sandbox.data());
    restore(&sandbox.data(), &[&"--force"]).refused("--from");
    restore(&sandbox.beside("none"), &[&"--force"]).refused("--from");
    assert_eq!(all_of(&sandbox.data()), before);
    let told = restore(&sandbox.beside("new"), &[]).done();
    assert!(told.contains(&format!("is one of the crawl in {}", one.display())), "{told}");
    let told = restore(&sandbox.data(), &[&"--force", &"--from", &one]).done();
    assert!(told.contains(&format!("is one of the crawl in {}", one.display())), "{told}");
}

#[test]
fn a_restore_beside_a_running_crawl_does_not_touch_the_archive_that_it_writes() {
    let mut sandbox = sandbox("");
    let archive = format!("store.warc_dir={}", sandbox.beside("archive").display());
    let mut daemon = sandbox.start(&["--set", &archive], None);
    until_requests(&sandbox, &daemon, 40);
    let address = admin(&daemon);
    let data = sandbox.data();
    let made = on(&data, &[&"create", &"--set", &archive, &"--admin", &address]);
    assert_eq!(made.code, Some(0), "{made:?}");
    until_requests(&sandbox, &daemon, 80);
    let said = on(&sandbox.beside("new"), &[&"restore", &"newest", &"--from", &data, &"--set", &archive]);
    assert!(said.code == Some(1) && said.text.contains("in use"), "{said:?}");
    daemon.signal(Signal::SIGTERM);
    assert_eq!(daemon.wait().code(), Some(0), "{}", daemon.log());
    let said = run(&[&"check", &"--full", &"--data", &data, &"--set", &archive], None);
    assert_eq!(said.code, Some(0), "{said:?}");
}

#[test]
fn two_copies_of_one_data_folder_never_write_to_one_archive_at_once() {
    let mut sandbox = sandbox("");
    let archive = format!("store.warc_dir={}", sandbox.beside("archive").display());
    let mut daemon = sandbox.start(&["--set", &archive], None);
    until_requests(&sandbox, &daemon, 20);
    daemon.signal(Signal::SIGTERM);
    assert_eq!(daemon.wait().code(), Some(0), "{}", daemon.log());
    let copied =
        std::process::Command::new("cp").arg("-r").arg(sandbox.data()).arg(sandbox.folder().join("copy")).status();
    assert!(copied.unwrap().success());
    let first = sandbox.start(&["--set", &archive], None);
    admin(&first);
    sandbox.move_to("copy");
    refused(&mut sandbox, &["--set", &archive], 2, &["in use by another running crawl", "store.warc_dir"]);
    let listed = |name: &str| fs::read_dir(sandbox.beside("archive")).unwrap().any(|e| e.unwrap().file_name() == name);
    assert!(listed(".lycosa-owner"));
}

#[test]
fn what_is_no_checkpoint_neither_hangs_nor_takes_the_place_of_one() {
    let mut sandbox = sandbox("checkpoint.keep = 1\n");
    sandbox.finish();
    let (data, config) = (sandbox.data(), sandbox.config_file());
    for (name, pipe) in [("20991128022343123-r00007", false), ("20991128022343124-r00007", true)] {
        let dir = data.join("checkpoints").join(name);
        fs::create_dir_all(&dir).unwrap();
        if pipe {
            nix::unistd::mkfifo(&dir.join("manifest.json"), nix::sys::stat::Mode::S_IRWXU).unwrap();
        }
    }
    let made = on(&data, &[&"create", &"--config", &config]);
    assert_eq!(made.code, Some(0), "{made:?}");
    assert_eq!(crate::checkpoint::names(&data).len(), 1);
    let said = run(&[&"checkpoint", &"export", &"newest", &data.join("checkpoints"), &"--data", &data], None);
    assert_eq!(said.code, Some(1), "{said:?}");
    let said = on(&data, &[&"verify", &"newest"]);
    assert_eq!(said.code, Some(0), "{said:?}");
}

#[test]
fn a_newer_checkpoint_restored_after_an_older_one_finds_its_own_lines() {
    let mut sandbox = sandbox("");
    let data = sandbox.data();
    for pages in ["40", "80"] {
        let mut daemon = sandbox.start(&["--until-done", "--max-pages", pages], None);
        assert_eq!(daemon.wait().code(), Some(0), "{}", daemon.log());
        assert_eq!(on(&data, &[&"create"]).code, Some(0));
    }
    let names = crate::checkpoint::names(&data);
    for (name, pages) in [(&names[0], "60"), (&names[1], "90")] {
        let said = on(&data, &[&"restore", name, &"--force"]);
        assert_eq!(said.code, Some(0), "{said:?}");
        let mut daemon = sandbox.start(&["--until-done", "--max-pages", pages, "--set", "crawl.order=depth"], None);
        assert_eq!(daemon.wait().code(), Some(0), "{}", daemon.log());
    }
    sandbox.finish();
    crate::checkpoint::assert_is_the_truth(&sandbox);
}
