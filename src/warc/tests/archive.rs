//! The files together: commits, kills at any moment, power failures.

use std::collections::BTreeMap;
use std::fs::{self, OpenOptions};
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::pages::{Maker, NOON};
use crate::storage::values::FileLengths;
use crate::warc::archive::{Archive, ArchiveRepair, ArchiveSettings, Strays};
use crate::warc::info::WarcInfo;
use crate::warc::jsonl::CrawlLine;
use crate::warc::name::Series;
use crate::warc::reader::WarcReader;
use crate::warc::scan::scan_next;
use crate::warc::writer::{Place, WarcLimits};

fn settings(dir: &Path) -> ArchiveSettings {
    ArchiveSettings {
        dir: dir.join("warc"),
        jsonl: dir.join("crawl.jsonl"),
        series: Series::new("T", "h").unwrap(),
        limits: WarcLimits { max_size: 1 << 40, max_age: Duration::from_secs(3600) },
        level: 1,
        info: WarcInfo { software: "Lycosa/0".into(), ..WarcInfo::default() },
        faults: crate::base::fault::Faults::default(),
    }
}

pub(super) fn open_with(
    dir: &Path,
    file_lengths: &FileLengths,
    unsynced: Option<u64>,
    strays: Strays,
) -> (Archive, ArchiveRepair) {
    Archive::open(settings(dir), file_lengths, unsynced, strays, NOON).unwrap()
}

pub(super) fn open(dir: &Path, file_lengths: &FileLengths) -> (Archive, ArchiveRepair) {
    open_with(dir, file_lengths, None, Strays::Remove)
}

pub(super) fn add(archive: &mut Archive, maker: &mut Maker, n: u32) -> Place {
    let page = maker.html(n);
    let place = archive.append([&page], NOON).unwrap().remove(0);
    let url = format!("http://h{}.test/p/{n}", n % 3);
    archive.log([&CrawlLine::new(NOON, &url).placed(&place)]).unwrap();
    place
}

fn files(dir: &Path) -> BTreeMap<String, Vec<u8>> {
    let entries = fs::read_dir(dir).unwrap().map(|e| e.unwrap());
    entries.map(|e| (e.file_name().into_string().unwrap(), fs::read(e.path()).unwrap())).collect()
}

/// Every index line of `cdxj` finds its record in `warc`, and every page of it has a line; gives their number.
pub(super) fn check_index(warc: &Path, cdxj: &Path) -> usize {
    let lines = fs::read_to_string(cdxj).unwrap();
    let mut expected = Vec::new();
    let mut reader = WarcReader::open(warc, 0).unwrap();
    let name: std::sync::Arc<str> =
        warc.file_name().unwrap().to_str().unwrap().trim_end_matches(".open").to_owned().into();
    while let Some(record) = scan_next(&mut reader).unwrap() {
        assert_eq!(record.check_digests(), Ok(()));
        if let Some(entry) = record.cdxj_entry() {
            expected.push(entry.line(&Place {
                file: name.clone(),
                offset: record.header.offset,
                length: record.length,
            }));
        }
    }
    let mut found: Vec<_> = lines.split_inclusive('\n').map(str::to_owned).collect();
    if !cdxj.to_string_lossy().ends_with(".open") {
        assert!(found.is_sorted());
    }
    found.sort();
    expected.sort();
    assert_eq!(found, expected);
    for line in &found {
        let json: serde_json::Value = serde_json::from_str(line.splitn(3, ' ').nth(2).unwrap()).unwrap();
        let at = json["offset"].as_str().unwrap().parse().unwrap();
        let header = WarcReader::open(warc, at).unwrap().next_record().unwrap().unwrap();
        assert_eq!(header.target(), json["url"].as_str());
        assert_eq!(header.get("WARC-Payload-Digest"), json["digest"].as_str());
    }
    found.len()
}

pub(super) fn open_pair(archive: &Archive, dir: &Path) -> (PathBuf, PathBuf) {
    let warc = archive.open_path().unwrap().to_owned();
    let cdxj = dir.join("warc").join(format!("{}.open", archive.file_lengths().cdxj.unwrap().0));
    (warc, cdxj)
}

#[test]
fn a_closed_archive_has_a_warc_and_a_sorted_index_that_finds_each_page() {
    let dir = tempfile::tempdir().unwrap();
    let (mut archive, _) = open(dir.path(), &FileLengths::default());
    let mut maker = Maker::new(dir.path());
    (0..7).for_each(|n| drop(add(&mut archive, &mut maker, n)));
    let name = archive.close().unwrap().unwrap();
    assert_eq!(archive.file_lengths().warc, None);
    let warc_dir = dir.path().join("warc");
    assert_eq!(files(&warc_dir).len(), 2);
    assert_eq!(check_index(&warc_dir.join(&*name), &warc_dir.join(name.replace(".warc.gz", ".cdxj"))), 7);
    assert_eq!(fs::read_to_string(dir.path().join("crawl.jsonl")).unwrap().lines().count(), 7);
}

#[test]
fn nothing_is_written_before_the_first_page() {
    let dir = tempfile::tempdir().unwrap();
    let (mut archive, _) = open(dir.path(), &FileLengths::default());
    assert_eq!(archive.close().unwrap(), None);
    assert_eq!(archive.append([], NOON).unwrap(), []);
    assert!(files(&dir.path().join("warc")).is_empty());
}

/// I3: a WARC record without a commit is cut off at the next start.
#[test]
fn after_a_kill_the_files_end_where_the_commit_says_and_writing_goes_on() {
    let dir = tempfile::tempdir().unwrap();
    let mut maker = Maker::new(dir.path());
    let (mut archive, _) = open(dir.path(), &FileLengths::default());
    add(&mut archive, &mut maker, 0);
    add(&mut archive, &mut maker, 1);
    let committed = archive.file_lengths();
    let lost = add(&mut archive, &mut maker, 2);
    let (warc, _) = open_pair(&archive, dir.path());
    drop(archive);
    let torn = fs::read(&warc).unwrap();
    fs::write(&warc, &torn[..torn.len() - 3]).unwrap(); // a kill inside the write

    let (mut archive, repair) = open(dir.path(), &committed);
    assert!(repair.warc.cut > 0 && repair.jsonl.cut > 0 && repair.lost.is_none() && !repair.index_rebuilt);
    assert_eq!(archive.file_lengths(), committed);
    assert_eq!(add(&mut archive, &mut maker, 3).offset, lost.offset);
    let (warc, cdxj) = open_pair(&archive, dir.path());
    assert_eq!(check_index(&warc, &cdxj), 3);
    assert_eq!(fs::read_to_string(dir.path().join("crawl.jsonl")).unwrap().lines().count(), 3);
}

#[test]
fn a_commit_that_fails_is_rolled_back() {
    let dir = tempfile::tempdir().unwrap();
    let mut maker = Maker::new(dir.path());
    let (mut archive, _) = open(dir.path(), &FileLengths::default());
    let nothing = archive.file_lengths();
    add(&mut archive, &mut maker, 0);
    archive.roll_back(&nothing).unwrap();
    let (warc, cdxj) = open_pair(&archive, dir.path());
    assert_eq!(check_index(&warc, &cdxj), 0);
    add(&mut archive, &mut maker, 1);
    let one = archive.file_lengths();
    let before = files(&dir.path().join("warc"));
    add(&mut archive, &mut maker, 2);
    archive.roll_back(&one).unwrap();
    assert_eq!(archive.file_lengths(), one);
    assert_eq!(files(&dir.path().join("warc")), before);
    assert_eq!(fs::read_to_string(dir.path().join("crawl.jsonl")).unwrap().lines().count(), 1);
}

#[test]
fn a_full_or_old_warc_is_closed_and_the_next_page_begins_another() {
    let dir = tempfile::tempdir().unwrap();
    let mut maker = Maker::new(dir.path());
    let (mut archive, _) = open(dir.path(), &FileLengths::default());
    let first = add(&mut archive, &mut maker, 0);
    assert_eq!(archive.rotate_if_due(NOON).unwrap(), None);
    let later = NOON.plus(Duration::from_secs(3600));
    assert_eq!(archive.rotate_if_due(later).unwrap(), Some(first.file.clone()));
    let second = add(&mut archive, &mut maker, 1);
    assert_ne!(second.file, first.file);
    assert!(second.file.contains("-00002-"));
    assert_eq!(files(&dir.path().join("warc")).len(), 4);
}

#[test]
fn a_warc_begun_but_never_committed_is_removed_and_closed_ones_are_not_touched() {
    let dir = tempfile::tempdir().unwrap();
    let mut maker = Maker::new(dir.path());
    let (mut archive, _) = open(dir.path(), &FileLengths::default());
    add(&mut archive, &mut maker, 0);
    archive.close().unwrap();
    let committed = archive.file_lengths();
    let closed = files(&dir.path().join("warc"));
    add(&mut archive, &mut maker, 1);
    drop(archive);
    let (mut archive, repair) = open(dir.path(), &committed);
    assert_eq!(repair.removed.len(), 2);
    assert_eq!(files(&dir.path().join("warc")), closed);
    let place = add(&mut archive, &mut maker, 2);
    assert!(closed.keys().all(|name| *name != *place.file));
}

#[test]
fn files_of_other_writers_are_left_alone() {
    let dir = tempfile::tempdir().unwrap();
    let warc_dir = dir.path().join("warc");
    fs::create_dir(&warc_dir).unwrap();
    for name in ["O-20240506070809012-00007-h.warc.gz.open", "T-20240506070809012-00007-other.cdxj.open", "x.tmp"] {
        fs::write(warc_dir.join(name), "theirs").unwrap();
    }
    let before = files(&warc_dir);
    let (_archive, repair) = open(dir.path(), &FileLengths::default());
    assert_eq!(repair, ArchiveRepair::default());
    assert_eq!(files(&warc_dir), before);
}

/// The closing steps are: index sorted, WARC renamed, open index removed, lengths committed. A kill may come after each.
#[test]
fn a_kill_between_any_two_steps_of_closing_loses_nothing() {
    for step in 0..4 {
        let dir = tempfile::tempdir().unwrap();
        let warc_dir = dir.path().join("warc");
        let mut maker = Maker::new(dir.path());
        let (mut archive, _) = open(dir.path(), &FileLengths::default());
        (0..3).for_each(|n| drop(add(&mut archive, &mut maker, n)));
        let committed = archive.file_lengths();
        let before = files(&warc_dir);
        archive.close().unwrap();
        let after = archive.file_lengths();
        drop(archive);
        let put_back = |name: &str| fs::write(warc_dir.join(name), &before[name]).unwrap();
        let [cdxj, warc] = &before.keys().cloned().collect::<Vec<_>>()[..] else { panic!("two files") };
        if step < 3 {
            put_back(cdxj);
        }
        if step < 2 {
            put_back(warc);
            fs::remove_file(warc_dir.join(warc.trim_end_matches(".open"))).unwrap();
        }
        if step < 1 {
            fs::remove_file(warc_dir.join(cdxj.trim_end_matches(".open"))).unwrap();
        }
        let file_lengths = if step == 3 { [&committed, &after] } else { [&committed, &committed] };
        for file_lengths in file_lengths {
            let (mut archive, repair) = open(dir.path(), file_lengths);
            assert_eq!(repair.lost, None, "step {step}");
            archive.close().unwrap();
            let closed = warc_dir.join(warc.trim_end_matches(".open"));
            assert_eq!(check_index(&closed, &warc_dir.join(cdxj.trim_end_matches(".open"))), 3, "step {step}");
            assert_eq!(files(&warc_dir).len(), 2, "step {step}");
        }
    }
}

#[test]
fn records_that_a_power_failure_took_are_reported_and_their_index_lines_go_with_them() {
    for (name, damage) in [
        ("shorter", (|bytes, at| bytes.truncate(at + 5)) as fn(&mut Vec<u8>, usize)),
        ("at a border", |bytes, at| bytes.truncate(at)),
        ("zeros", |bytes, at| bytes[at..].fill(0)),
    ] {
        let dir = tempfile::tempdir().unwrap();
        let mut maker = Maker::new(dir.path());
        let (mut archive, _) = open(dir.path(), &FileLengths::default());
        add(&mut archive, &mut maker, 0);
        let synced = add(&mut archive, &mut maker, 1);
        let unsynced = add(&mut archive, &mut maker, 2);
        let gone = add(&mut archive, &mut maker, 3);
        let committed = archive.file_lengths();
        let (warc, _) = open_pair(&archive, dir.path());
        drop(archive);
        let mut bytes = fs::read(&warc).unwrap();
        damage(&mut bytes, gone.offset as usize);
        fs::write(&warc, bytes).unwrap();

        let (archive, repair) = open_with(dir.path(), &committed, Some(unsynced.offset), Strays::Remove);
        assert_eq!(repair.lost, Some((synced.file.clone(), gone.offset)), "{name}");
        assert!(repair.index_rebuilt);
        let (warc, cdxj) = open_pair(&archive, dir.path());
        assert_eq!(check_index(&warc, &cdxj), 3, "{name}");
    }
}

#[test]
fn an_index_or_log_that_a_power_failure_cut_is_made_whole() {
    let dir = tempfile::tempdir().unwrap();
    let mut maker = Maker::new(dir.path());
    let (mut archive, _) = open(dir.path(), &FileLengths::default());
    (0..3).for_each(|n| drop(add(&mut archive, &mut maker, n)));
    let committed = archive.file_lengths();
    let (warc, cdxj) = open_pair(&archive, dir.path());
    drop(archive);
    let whole = fs::read(&cdxj).unwrap();
    let jsonl = dir.path().join("crawl.jsonl");
    let log = fs::read(&jsonl).unwrap();
    fs::write(&jsonl, &log[..log.len() - 4]).unwrap();
    for broken in [whole[..whole.len() - 5].to_vec(), Vec::new(), [&whole[..200], &vec![0; whole.len() - 200]].concat()]
    {
        fs::write(&cdxj, broken).unwrap();
        let (archive, repair) = open(dir.path(), &committed);
        assert!(repair.index_rebuilt && repair.lost.is_none());
        assert_eq!(check_index(&warc, &cdxj), 3);
        assert_eq!(fs::read(&cdxj).unwrap(), whole, "made anew, the index is what it was");
        assert_eq!(fs::read_to_string(&jsonl).unwrap().lines().count(), 2);
        assert_eq!(archive.file_lengths().warc, committed.warc);
    }
}

#[test]
fn without_a_database_whole_pages_of_an_open_warc_are_kept() {
    let dir = tempfile::tempdir().unwrap();
    let warc_dir = dir.path().join("warc");
    let mut maker = Maker::new(dir.path());
    let (mut archive, _) = open(dir.path(), &FileLengths::default());
    (0..3).for_each(|n| drop(add(&mut archive, &mut maker, n)));
    let (warc, _) = open_pair(&archive, dir.path());
    drop(archive);
    let bytes = fs::read(&warc).unwrap();
    fs::write(&warc, &bytes[..bytes.len() - 3]).unwrap();
    let (_archive, repair) = open_with(dir.path(), &FileLengths::default(), None, Strays::Keep);
    let [name] = &repair.closed[..] else { panic!("{repair:?}") };
    assert_eq!(files(&warc_dir).len(), 2);
    assert_eq!(check_index(&warc_dir.join(name), &warc_dir.join(name.replace(".warc.gz", ".cdxj"))), 3);
}

#[test]
fn an_open_warc_without_pages_is_not_kept() {
    let dir = tempfile::tempdir().unwrap();
    let mut maker = Maker::new(dir.path());
    let (mut archive, _) = open(dir.path(), &FileLengths::default());
    let nothing = archive.file_lengths();
    add(&mut archive, &mut maker, 0);
    archive.roll_back(&nothing).unwrap();
    drop(archive);
    let (_archive, repair) = open_with(dir.path(), &nothing, None, Strays::Keep);
    assert!(repair.closed.is_empty());
    assert!(files(&dir.path().join("warc")).is_empty());
}

#[test]
fn a_warc_that_is_gone_is_reported_and_does_not_stop_the_start() {
    let dir = tempfile::tempdir().unwrap();
    let file_lengths =
        FileLengths { warc: Some(("T-20240506070809012-00007-h.warc.gz".into(), 9)), ..FileLengths::default() };
    let (_archive, repair) = open(dir.path(), &file_lengths);
    assert_eq!(repair.lost, Some(("T-20240506070809012-00007-h.warc.gz".into(), 0)));
}

#[test]
fn an_open_warc_of_which_nothing_is_left_begins_with_its_warcinfo_again() {
    let dir = tempfile::tempdir().unwrap();
    let mut maker = Maker::new(dir.path());
    let (mut archive, _) = open(dir.path(), &FileLengths::default());
    let lost = add(&mut archive, &mut maker, 1);
    let (file_lengths, warc) = (archive.file_lengths(), open_pair(&archive, dir.path()).0);
    drop(archive);
    for left in [0, 7] {
        OpenOptions::new().write(true).open(&warc).unwrap().set_len(left).unwrap();
        let (archive, repair) = open_with(dir.path(), &file_lengths, Some(lost.offset), Strays::Remove);
        assert!(repair.lacks(&lost.file, lost.offset) && !repair.lacks("other.warc.gz", lost.offset));
        assert_eq!(archive.file_lengths().warc.unwrap().1, lost.offset);
        let mut reader = WarcReader::open(&warc, 0).unwrap();
        assert_eq!(reader.next_record().unwrap().unwrap().kind(), "warcinfo");
    }
    let (mut archive, _) = open_with(dir.path(), &file_lengths, Some(lost.offset), Strays::Remove);
    assert_eq!(add(&mut archive, &mut maker, 1), lost);
}

#[test]
fn the_end_of_crawl_jsonl_is_written_anew_whatever_is_there() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("crawl.jsonl");
    for left in ["a\n", "a\nb", "a\nb\n", "a\n\0\0\0\0", "a\nb\nc\nd\n", ""] {
        fs::write(&path, left).unwrap();
        let (mut archive, _) = open(dir.path(), &FileLengths { jsonl: 6, ..FileLengths::default() });
        archive.log_again(2, "b\nc\n").unwrap();
        let whole = if left.is_empty() { "b\nc\n" } else { "a\nb\nc\n" };
        assert_eq!(fs::read_to_string(&path).unwrap(), whole, "{left:?}");
        assert_eq!(archive.file_lengths().jsonl, whole.len() as u64);
    }
}
