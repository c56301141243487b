//! How the daemon ends and refuses to begin: signals, a second daemon, a port in use, a strange folder.

use std::collections::BTreeSet;
use std::net::TcpListener;

use lycosa::testweb::{AuditEntry, TestWebConfig};
use lycosa::warc::pick::response_at;
use nix::sys::signal::Signal;

use crate::matrix::judge::{Life, judge, now_us};
use crate::matrix::{QUICK, web};
use crate::sandbox::{Daemon, Sandbox, is_rules, program, until};

const SETTINGS: &str = QUICK.settings;

/// Runs until so many requests were answered, then sends the signal; gives exit code, life and log.
fn run_and_signal(sandbox: &mut Sandbox, arguments: &[&str], signal: Signal) -> (Option<i32>, Life, String) {
    let before = sandbox.web.audit_len();
    let mut daemon = sandbox.start(arguments, None);
    until(
        "requests",
        || (sandbox.web.audit_len() >= before + 60 || daemon.ended().is_some()).then_some(()),
        String::new,
    );
    daemon.signal(signal);
    let status = daemon.wait();
    let life = Life::ended(signal.to_string(), now_us());
    (status.code(), life, daemon.log())
}

#[test]
fn a_signal_drains_it_and_another_run_goes_on() {
    let mut sandbox = Sandbox::new(web(12), SETTINGS);
    let mut lives = Vec::new();
    for (arguments, signal, code) in [
        (&["--until-done"][..], Signal::SIGTERM, 11),
        (&[], Signal::SIGTERM, 0),
        (&["--until-done"], Signal::SIGINT, 11),
    ] {
        let (ended, life, log) = run_and_signal(&mut sandbox, arguments, signal);
        lives.push(life);
        assert_eq!(ended, Some(code), "{log}");
        assert_eq!(sandbox.open_files(), [""; 0], "{log}");
        assert!(!log.contains(" ERROR ") && !log.contains(" WARN "), "{log}");
        let fetched = sandbox.web.audit().iter().filter(|e| !is_rules(&e.path)).count();
        let lines = sandbox.lines().iter().filter(|l| l.get("status").is_some()).count();
        assert_eq!(fetched, lines, "what was in flight was finished");
    }
    sandbox.finish();
    assert_eq!(judge(&QUICK, &sandbox, &lives).again, 0, "pages fetched again");
}

#[test]
fn killed_at_full_speed_while_its_parsers_are_the_slower_part_it_has_no_more_than_64_pages_to_fetch_again() {
    let config = TestWebConfig { hosts: 300, pages: 10, ..TestWebConfig::default() };
    let settings = "politeness.min_delay = \"1ms\"\nparse.threads = 2\nstore.memory = \"32MiB\"\n";
    let mut sandbox = Sandbox::new(config, settings);
    let truth = sandbox.truth();
    let mut hosts = BTreeSet::new();
    let one_a_host = truth.iter().filter(|url| hosts.insert(url.split('/').nth(2)));
    let seeds: Vec<&str> = one_a_host.flat_map(|url| ["--seed", url]).collect();
    let mut daemon = sandbox.start(&seeds, Some("parser.page=delay:20ms@1-100000"));
    let pages = |sandbox: &Sandbox| -> Vec<AuditEntry> {
        sandbox.web.audit().into_iter().filter(|entry| !is_rules(&entry.path)).collect()
    };
    until("600 pages", || (pages(&sandbox).len() >= 600).then_some(()), || daemon.log());
    daemon.signal(Signal::SIGKILL);
    daemon.wait();
    // What was still on its way to the daemon is not what ran ahead of its parsers.
    let read = now_us() - 100_000;
    let answered: BTreeSet<String> =
        pages(&sandbox).iter().filter(|entry| entry.t_end_us < read).map(AuditEntry::url).collect();
    let before = pages(&sandbox).len();
    sandbox.finish();
    let again = pages(&sandbox).split_off(before).iter().filter(|entry| answered.contains(&entry.url())).count();
    assert!(again <= 64, "{again} pages were fetched and not committed");
    let all: BTreeSet<String> = pages(&sandbox).iter().map(AuditEntry::url).collect();
    assert_eq!(all, truth);
}

/// Runs until so many requests were answered and an archive file of that form is written, then kills it.
fn run_and_kill(sandbox: &mut Sandbox, compression: &str, ending: &str) -> Life {
    let before = sandbox.web.audit_len();
    let daemon: Daemon = sandbox.start(&["--until-done", "--set", &format!("store.compression={compression}")], None);
    let is_written = || sandbox.open_files().iter().any(|name| name.ends_with(ending));
    until("requests", || (sandbox.web.audit_len() >= before + 60 && is_written()).then_some(()), || daemon.log());
    daemon.signal(Signal::SIGKILL);
    drop(daemon);
    Life::killed(format!("killed with {compression}"), now_us())
}

#[test]
fn killed_and_told_another_compression_it_loses_nothing_and_leaves_files_of_both_forms_that_all_tools_read() {
    let mut sandbox = Sandbox::new(web(12), SETTINGS);
    let (zstd, gzip) = (".warc.zst.open", ".warc.gz.open");
    let lives = [("zstd", zstd), ("zstd", zstd), ("1", gzip), ("zstd:3", zstd)]
        .map(|(compression, ending)| run_and_kill(&mut sandbox, compression, ending));
    sandbox.finish(); // with gzip again
    judge(&QUICK, &sandbox, &lives);
    let checked = program().args(["check", "--full", "--data"]).arg(sandbox.data()).output().unwrap();
    assert_eq!(checked.status.code(), Some(0), "{}", String::from_utf8_lossy(&checked.stdout));
    let entries = sandbox.entries();
    for ending in [".warc.zst", ".warc.gz"] {
        let is_page =
            |e: &&serde_json::Value| e["filename"].as_str().unwrap().ends_with(ending) && e["status"] == "200";
        let entry = entries.iter().filter(|e| e["mime"] == "text/html").find(is_page).unwrap();
        let offset = entry["offset"].as_str().unwrap().parse().unwrap();
        let file = entry["filename"].as_str().unwrap();
        assert!(!response_at(&sandbox.data().join("warc"), file, offset, 1 << 20).unwrap().body.is_empty());
    }
}

#[test]
fn a_second_daemon_on_the_same_folder_is_refused_and_disturbs_nothing() {
    let mut sandbox = Sandbox::new(web(5), SETTINGS);
    let mut first = sandbox.start(&["--until-done"], None);
    until("requests", || (sandbox.web.audit_len() > 10).then_some(()), || first.log());
    let mut second = sandbox.start(&["--until-done"], None);
    assert_eq!(second.wait().code(), Some(2));
    let said = second.log();
    let line = said.lines().find(|l| l.starts_with("lycosa: ")).unwrap_or_else(|| panic!("{said}"));
    assert!(line.contains(&*sandbox.data().to_string_lossy()) && line.contains("another"), "{line}");
    assert_eq!(first.wait().code(), Some(0), "{}", first.log());
    judge(&QUICK, &sandbox, &[]);
}

#[test]
fn a_port_in_use_is_said_so_and_the_folder_is_good_afterwards() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let mut sandbox = Sandbox::new(web(3), SETTINGS);
    let mut refused = sandbox.start(&["--until-done", "--set", &format!("admin.listen={address}")], None);
    assert_eq!(refused.wait().code(), Some(2));
    assert!(!sandbox.data().exists(), "nothing is left behind");
    let said = refused.log();
    let line = said.lines().find(|l| l.starts_with("lycosa: ")).unwrap_or_else(|| panic!("{said}"));
    assert!(line.contains(&address) && line.contains("admin.listen"), "{line}");
    sandbox.finish();
    judge(&QUICK, &sandbox, &[]);
}

#[test]
fn a_folder_that_is_no_data_folder_is_refused_and_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("thesis.txt"), "x").unwrap();
    let mut command = program();
    command.args(["run", "--seed", "http://h0.test/", "--data"]).arg(folder.path());
    let output = command.output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8(output.stderr).unwrap().contains(&*folder.path().to_string_lossy()));
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
}
