//! What is found and mended, one damage at a time; and what is no fault.

use std::fs;
use std::sync::atomic::{AtomicUsize, Ordering};

use lycosa::domain::fingerprint::CrawlId;
use lycosa::recovery::check::{Fault, Note, Report};
use lycosa::storage::keys::{Key, MetaKey, SeenKey};
use lycosa::storage::tables;
use lycosa::storage::values::FileLengths;
use lycosa::storage::{Family, Storage, read};

use super::{MIDDLE, all, check, file, harmless, is_mended, meta, queued, repair, write};
use crate::cockpit::in_front_of;
use crate::site::{Site, html, none};
use crate::support::checker;

#[test]
fn a_folder_in_the_middle_of_a_crawl_has_every_kind_of_record_and_is_clean() {
    let fork = MIDDLE.fork();
    let report = check(&fork);
    assert!(report.is_clean(), "{:#?}", report.findings);
    let often_empty = [
        Family::Waiting,
        Family::Parked,
        Family::Sitemaps,
        Family::NearMembers,
        Family::Credit,
        Family::Notes,
        Family::Outbox,
    ];
    for family in Family::ALL.iter().filter(|f| !often_empty.contains(f)) {
        assert!(report.records.get(family.name()).is_some_and(|n| *n > 0), "{family} is empty: {:?}", report.records);
    }
    let files = report.files.unwrap();
    assert!(files.warcs >= 2 && files.records > 100 && files.lines > 40 && files.index_lines > 40, "{files:?}");
    is_mended(&fork, "nothing");
}

#[test]
fn each_damage_is_found_under_its_name_and_mended() {
    for (what, damage, faults) in harmless() {
        let fork = MIDDLE.fork();
        damage(fork.storage(), fork.data());
        let report = check(&fork);
        for fault in *faults {
            assert!(report.count(*fault) > 0, "{what}: no {} in {:#?}", fault.name(), report.findings);
        }
        let mended = repair(&fork);
        assert_eq!(mended.dropped, 0, "{what}: {:#?}", mended.repaired);
        is_mended(&fork, what);
    }
}

#[test]
fn bytes_at_which_readers_stop_are_told_also_when_no_capture_refers_to_them_any_more() {
    let fork = MIDDLE.fork();
    let (_, damage, _) = harmless().find(|(what, ..)| *what == "a response is damaged").unwrap();
    damage(fork.storage(), fork.data());
    repair(&fork);
    let notes = check(&fork).notes;
    assert!(notes[&Note::DamagedBytes].examples[0].contains(".warc.gz: "), "{notes:?}");
}

#[test]
fn garbage_in_any_family_is_found_and_removed() {
    for family in Family::ALL {
        for (key_too, garbage) in
            [(false, vec![]), (false, vec![9, 9, 9]), (false, vec![1, 0xff, 0xff, 0xff]), (true, vec![1])]
        {
            let fork = MIDDLE.fork();
            let pairs = fork.storage().scan(*family, &[], &[], usize::MAX).unwrap();
            let not_the_seed = |key: &&Vec<u8>| **key != MetaKey::Format.encode();
            let first = pairs.iter().map(|(key, _)| key).find(not_the_seed).cloned();
            let Some(key) = (if key_too { Some(vec![7; 5]) } else { first }) else { continue };
            let bare = [Family::Waiting, Family::Parked, Family::Sitemaps, Family::Near, Family::VisitHosts];
            let is_bare = bare.contains(family);
            if is_bare && garbage.is_empty() {
                continue; // that is their value
            }
            write(fork.storage(), |b| b.put_raw(*family, key, garbage.clone()));
            assert!(check(&fork).count(Fault::Damaged) > 0, "{family} {garbage:?}");
            repair(&fork);
            is_mended(&fork, family.name());
        }
    }
}

#[test]
fn a_line_made_anew_says_what_the_capture_knows_and_that_it_was_restored() {
    let fork = MIDDLE.fork();
    let path = fork.data().join("crawl.jsonl");
    let parse = |text: &str| serde_json::from_str::<serde_json::Value>(text).unwrap();
    let text = fs::read_to_string(&path).unwrap();
    let lost = text.lines().find(|line| line.contains("\"offset\":")).unwrap();
    fs::write(&path, text.replacen(lost, "lost", 1)).unwrap();
    repair(&fork);
    let text = fs::read_to_string(&path).unwrap();
    let lost = parse(lost);
    let mut lines = text.lines().filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok());
    let made = lines.rfind(|line| line["url"] == lost["url"]).unwrap();
    assert_eq!(made["restored"], true);
    for field in ["url", "status", "reason", "bytes", "mime", "hop_path", "digest", "ms", "warc", "offset"] {
        assert_eq!(made[field], lost[field], "{field}");
    }
    let file_lengths: FileLengths = meta(fork.storage());
    assert_eq!(file_lengths.jsonl, text.len() as u64);
}

/// Text that is nowhere else: the mark goes, so that the next link to it finds it anew.
#[test]
fn a_mark_whose_url_is_nowhere_to_be_found_is_dropped_and_counted() {
    let fork = MIDDLE.fork();
    let (key, state) = queued(fork.storage());
    let unknown = SeenKey { url: lycosa::domain::fingerprint::UrlKey([3; 12]), ..key };
    write(fork.storage(), |b| b.put::<tables::Seen>(&unknown, &state));
    assert_eq!(check(&fork).count(Fault::WaitingUnqueued), 1);
    let mended = repair(&fork);
    assert_eq!(mended.dropped, 1);
    is_mended(&fork, "an unknown mark");
    assert_eq!(read::seen_state(fork.storage(), unknown).unwrap(), None);
}

#[test]
fn a_host_whose_name_is_nowhere_loses_its_queue_and_nothing_else() {
    let fork = MIDDLE.fork();
    let storage = fork.storage();
    let unknown = lycosa::storage::keys::HostAt {
        partition: lycosa::domain::partition::Partition(5),
        host: lycosa::domain::fingerprint::HostKey([3; 8]),
    };
    let (_, entry) = all::<tables::Queue>(storage).pop().unwrap();
    write(storage, |b| b.put::<tables::Queue>(&unknown.crawl(CrawlId::default()).queue(0, 7), &entry));
    let before = all::<tables::Queue>(storage).len();
    assert!(check(&fork).count(Fault::HostNameless) > 0);
    repair(&fork);
    is_mended(&fork, "an unknown host");
    assert_eq!(all::<tables::Queue>(storage).len(), before - 1);
}

#[test]
fn archive_files_kept_elsewhere_are_no_loss() {
    let fork = MIDDLE.fork();
    let warc = file(fork.data(), ".warc.gz");
    let name = warc.file_name().unwrap().to_str().unwrap().to_owned();
    fs::remove_file(&warc).unwrap();
    assert!(check(&fork).count(Fault::RecordMissing) > 0);
    let line = |name: &str| {
        format!(
            "{{\"file\":\"{name}\",\"bytes\":1,\"sha256\":\"00\",\"to\":\"s3://a/b\",\"ts\":\"2026-01-01T00:00:00Z\"}}\n"
        )
    };
    // Its index was copied too, and is still here.
    let lines = line(&name) + &line(&name.replace(".warc.gz", ".cdxj"));
    fs::write(fork.data().join("uploaded.jsonl"), lines).unwrap();
    let report = check(&fork);
    assert!(report.is_clean(), "{:#?}", report.findings);
    assert_eq!(report.notes[&Note::KeptElsewhere].examples, [name]);
}

#[test]
fn what_a_kill_leaves_is_told_and_no_fault() {
    let fork = MIDDLE.fork();
    let open = file(fork.data(), ".warc.gz.open");
    let mut bytes = fs::read(&open).unwrap();
    bytes.extend_from_slice(b"half a record");
    fs::write(&open, bytes).unwrap();
    let report = check(&fork);
    assert!(report.is_clean(), "{:#?}", report.findings);
    assert!(report.notes.contains_key(&Note::UncleanEnd));
    assert!(report.notes[&Note::CutAtStart].examples[0].contains("bytes"), "{:?}", report.notes);
}

#[test]
fn without_its_seed_a_database_cannot_be_checked_and_the_error_says_what_to_do() {
    let fork = MIDDLE.fork();
    write(fork.storage(), |b| b.put_raw(Family::Meta, MetaKey::Format.encode(), vec![1]));
    let error = checker(None).check(fork.storage(), &mut |_| {}).unwrap_err();
    assert!(error.to_string().contains("checkpoint"), "{error}");
}

#[test]
fn a_tail_without_archive_file_keeps_the_length_of_crawl_jsonl() {
    let fork = MIDDLE.fork();
    let before: FileLengths = meta(fork.storage());
    fs::remove_file(file(fork.data(), ".warc.gz.open")).unwrap();
    repair(&fork);
    let after: FileLengths = meta(fork.storage());
    assert_eq!((after.warc, after.jsonl), (None, before.jsonl));
}

#[test]
fn lines_of_earlier_visits_are_counted_and_named_only_where_the_newest_has_none() {
    let asked = AtomicUsize::new(0);
    let site = Site::http(move |_, path| match path {
        "/robots.txt" => none(),
        _ => html(&format!("<p>the page {path} for the time {}", asked.fetch_add(1, Ordering::SeqCst))),
    });
    let sandbox = in_front_of(&site)
        .fetching_again()
        .set("crawl.seeds=[\"http://a.test/\"]")
        .set("refresh.cycle=1s")
        .set("refresh.min_interval=1s");
    let live = sandbox.start();
    live.until("visits", |s| s.pages_stored >= 3);
    live.close();
    let fork = sandbox.fork();
    let old = |report: &Report| {
        let note = report.notes.get(&Note::OldLine);
        note.map(|told| (told.count, told.examples.clone())).unwrap()
    };
    let report = check(&fork);
    assert!(report.is_clean(), "{:#?}", report.findings);
    let (before, examples) = old(&report);
    assert!(before >= 2 && examples.is_empty(), "{before}: {examples:?}");
    // The newest line is made one of another place.
    let path = fork.data().join("crawl.jsonl");
    let text = fs::read_to_string(&path).unwrap();
    let newest = text.lines().last().unwrap();
    let at = newest.find("\"offset\":").unwrap() + 9;
    let digit = if newest.as_bytes()[at] == b'9' { '8' } else { '9' };
    let other = format!("{}{digit}{}", &newest[..at], &newest[at + 1..]);
    fs::write(&path, text.replace(newest, &other)).unwrap();
    let (count, examples) = old(&check(&fork));
    assert_eq!(count, before + 1);
    assert!(examples.iter().all(|text| text == "http://a.test/: its capture is elsewhere now"), "{examples:?}");
    assert!(!examples.is_empty());
}
