//! What can come in the way of an erasure, or be asked of it: checkpoints that are kept, signals, answers 304, a full disk, damage.

use std::fs;
use std::sync::{Arc, Mutex};
use std::time::{SystemTime, UNIX_EPOCH};

use lycosa::base::time::UnixMillis;
use lycosa::telemetry::StatusSnapshot;
use lycosa::warc::date::iso;
use nix::errno::Errno;
use nix::sys::signal::Signal;
use serde_json::Value;

use super::{CANARY, HOST, SAME, crawled, does, is_erased, lycosa, nothing_is_left, other, serve, text, victim};
use super::{captures, searched};
use crate::admin::Running;
use crate::disk::bad::{Rule, bad_disk};
use crate::sandbox::{Daemon, judge_archive, program, python, until};
use crate::site::{Site, page};

#[test]
fn checkpoints_that_are_to_be_kept_stay_also_when_a_start_goes_on_with_it() {
    let site = serve();
    let mut sandbox = crawled(&site, "");
    let data = sandbox.data();
    let made = program().args(["checkpoint", "create", "--data"]).arg(&data).output().unwrap();
    assert!(made.status.success(), "{}", text(&made));
    let killed = lycosa(&["erase", HOST, "--keep-checkpoints"], &data, Some("erase.noted=kill@1"));
    assert_eq!(killed.status.code(), None, "{}", text(&killed));
    let log = sandbox.finish();
    assert!(log.contains("something of a host is left after its erasure"), "{log}");
    let names: Vec<_> = fs::read_dir(data.join("erasures")).unwrap().map(|entry| entry.unwrap().path()).collect();
    let certificate: Value = serde_json::from_slice(&fs::read(&names[0]).unwrap()).unwrap();
    let states = certificate["after"]["states_before"].as_array().unwrap();
    assert_eq!((names.len(), states.len(), &certificate["erased"]), (1, 1, &false.into()), "{certificate}");
    assert_eq!(certificate["checkpoints_removed"].as_array().unwrap().len(), 0);
    let told = text(&lycosa(&["check", "--erased", HOST], &data, None));
    assert!(told.contains("of a time before: checkpoint "), "{told}");
    // Nothing but the checkpoint is left; without it nothing at all.
    let told = does(&["erase", HOST, "--json"], &data, 0);
    let certificate: Value = serde_json::from_str(&told).unwrap();
    assert_eq!(certificate["checkpoints_removed"].as_array().unwrap().len(), 1, "{certificate}");
    nothing_is_left(&data);
    does(&["check", "--full"], &data, 0);
}

#[test]
fn a_signal_ends_it_between_two_steps_and_the_same_command_goes_on() {
    let site = serve();
    let mut sandbox = crawled(&site, "");
    let (data, before) = (sandbox.data(), captures(&sandbox));
    let points = [(Signal::SIGTERM, "erase.noted"), (Signal::SIGINT, "erase.carried")];
    for (nth, (signal, point)) in points.into_iter().enumerate() {
        let mut command = program();
        command.args(["erase", HOST, "--no-progress", "--data"]).arg(&data);
        command.env("LYCOSA_FAULTS", format!("{point}=delay:3s@1"));
        let mut erasing = Daemon::spawn(command, sandbox.beside(&format!("erase-{nth}.log")));
        let heeds = || {
            let status = fs::read_to_string(format!("/proc/{}/status", erasing.id())).ok()?;
            let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:"))?;
            let caught = u64::from_str_radix(caught.trim(), 16).ok()?;
            (caught >> (signal as i32 - 1) & 1 == 1 && data.join("ERASING").exists()).then_some(())
        };
        until("the note, and that signals are heeded", heeds, || erasing.log());
        erasing.signal(signal);
        assert_eq!(erasing.wait().code(), Some(11), "{point}: {}", erasing.log());
        assert!(erasing.log().contains("interrupted between two steps"), "{}", erasing.log());
    }
    does(&["erase", HOST], &data, 0);
    is_erased(&mut sandbox, &site, &before);
}

#[test]
fn an_answer_304_to_a_page_that_relied_on_the_host_refers_to_the_page_itself() {
    let not_modified = "HTTP/1.1 304 Not Modified\r\nETag: \"same\"\r\nConnection: close\r\n\r\n";
    // A sitemap says first that its pages are old, then that they have changed.
    let changed = Arc::new(Mutex::new("2020-01-01".to_owned()));
    let date = changed.clone();
    let site = Site::of_heads(move |head, host, path| match (host, path) {
        (HOST, _) => victim(path),
        _ if head.contains("If-None-Match: \"same\"\r\n") => not_modified.to_owned(),
        ("a.test", "/robots.txt") => page(200, "text/plain", "", "Sitemap: /s.xml\n"),
        ("a.test", "/s.xml") => {
            let date = date.lock().unwrap().clone();
            let url = |n| format!("<url><loc>http://a.test/same/{n}</loc><lastmod>{date}</lastmod></url>");
            page(200, "text/xml", "", &format!("<urlset>{}</urlset>", (0..SAME).map(url).collect::<String>()))
        }
        _ => other(host, path),
    });
    let mut sandbox = crawled(&site, "sitemaps.revisit = \"1s\"\nsitemaps.lastmod_gap = \"1ms\"");
    let data = sandbox.data();
    let crawl = Running::of(sandbox.start(&["--seed", "http://a.test/"], None));
    let second = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs() + 1;
    *changed.lock().unwrap() = iso(UnixMillis(second * 1_000));
    let all = |s: &StatusSnapshot| s.statuses.get(&304) == Some(&(SAME as u64)) && s.waiting + s.processing == 0;
    crawl.until_status("answers 304", all);
    assert_eq!(crawl.ctl(&["stop"]).0, 0);
    crawl.end();
    let of_304 = |record: &&String| {
        record.contains("revisit/identical-payload-not-modified") || record.contains("server-not-modified")
    };
    let all = captures(&sandbox);
    assert_eq!(all.values().filter(of_304).count(), SAME, "{:?}", all.keys());

    let told = does(&["erase", HOST, "--json"], &data, 0);
    let certificate: Value = serde_json::from_str(&told).unwrap();
    assert_eq!(certificate["after"]["relying"], 0, "{certificate}");
    let after = captures(&sandbox);
    let mut of_pages = 0;
    for ((url, ..), record) in after.iter().filter(|(_, record)| of_304(record)) {
        assert!(record.contains(&format!("WARC-Refers-To-Target-URI: {url}\r\n")), "{record}");
        let whole = after.iter().filter(|((other, ..), record)| other == url && record.contains("WARC-Type: response"));
        assert_eq!(whole.count(), 1, "{url} has its payload");
        of_pages += 1;
    }
    assert_eq!(of_pages, SAME);
    does(&["check", "--full"], &data, 0);
    nothing_is_left(&data);
    if let Some(python) = python() {
        judge_archive(&python, &data.join("warc"), None);
    }
}

#[test]
fn a_disk_that_is_full_when_the_tables_are_written_anew_is_said_and_room_lets_it_go_on() {
    let Some(library) = bad_disk() else { return };
    let site = serve();
    let mut sandbox = crawled(&site, "");
    let (data, before, rule) = (sandbox.data(), captures(&sandbox), Rule::of(&sandbox));
    let killed = lycosa(&["erase", HOST], &data, Some("erase.keys=kill@1"));
    assert_eq!(killed.status.code(), None, "{}", text(&killed));
    let mut variables = rule.variables(library).to_vec();
    variables.push(("LYCOSA_FAULTS", "storage.rewrite=delay:5s@1".into()));
    let mut full = sandbox.start_with(&["--until-done"], &variables);
    until("the tables", || full.log().contains("erasing: step=6/8").then_some(()), || full.log());
    rule.set(("write", "before", "*/data/db/*.sst"), Errno::ENOSPC);
    assert_eq!(full.wait().code(), Some(3), "{}", full.log());
    assert!(rule.hits().exists(), "{}", full.log());
    let said = full.log();
    let said = said.lines().find(|line| line.starts_with("lycosa: ")).unwrap();
    assert!(said.contains("could not be written anew") && said.contains("make room"), "{said}");
    rule.lift();
    assert!(searched(&data).is_none_or(|found| found.status.code() == Some(1)), "what was deleted stands there still");
    does(&["erase", HOST], &data, 0);
    is_erased(&mut sandbox, &site, &before);
}

#[test]
fn damage_in_a_file_keeps_nothing_of_the_host_that_comes_after_it() {
    let site = serve();
    let sandbox = crawled(&site, "");
    let data = sandbox.data();
    let entries = sandbox.entries();
    let number = |entry: &Value, name: &str| entry[name].as_str().unwrap().parse::<usize>().unwrap();
    let own = |entry: &&Value| entry["url"].as_str().unwrap().contains(CANARY);
    let last = entries
        .iter()
        .filter(own)
        .max_by_key(|entry| (entry["filename"].to_string(), number(entry, "offset")))
        .unwrap();
    let first = entries
        .iter()
        .filter(|entry| entry["filename"] == last["filename"])
        .min_by_key(|entry| number(entry, "offset"))
        .unwrap();
    let path = data.join("warc").join(first["filename"].as_str().unwrap());
    let mut bytes = fs::read(&path).unwrap();
    // The end of the record before the first capture: a head of a member that is none.
    let at = number(first, "offset") - 30;
    bytes[at..at + 20].copy_from_slice(&[0x55; 20]);
    fs::write(&path, bytes).unwrap();
    let told = does(&["erase", HOST, "--json"], &data, 0);
    let certificate: Value = serde_json::from_str(&told).unwrap();
    let damaged = |when: &str| certificate[when]["damaged"].as_u64();
    assert_eq!((damaged("before"), damaged("after")), (Some(1), Some(1)), "of nobody knows whom: {certificate}");
    assert_eq!(certificate["erased"], true, "{certificate}");
    let told = does(&["check", "--erased", HOST], &data, 0);
    assert!(told.contains("damaged places of the archive, of which nobody knows what they hold: 1"), "{told}");
    let after = fs::read(&path).unwrap();
    let left = unpacked(&after);
    assert!(!left.contains(CANARY), "a member that can be read has it still");
}

/// All that can be unpacked of a file's members, wherever one begins.
fn unpacked(bytes: &[u8]) -> String {
    use std::io::Read;
    let mut text = String::new();
    for at in memchr::memmem::find_iter(bytes, &[0x1f, 0x8b, 0x08]) {
        let mut member = Vec::new();
        let _ = flate2::read::GzDecoder::new(&bytes[at..]).read_to_end(&mut member); // one that is torn gives what it has
        text += &String::from_utf8_lossy(&member);
    }
    text
}
