//! The files together: commits, kills at any moment, power failures.

use std::collections::BTreeMap;
use std::fs::{self, OpenOptions};
use std::path::{Path, PathBuf};
use std::time::Duration;

use tempfile::TempDir;

use super::pages::{Maker, NOON};
use crate::storage::values::FileLengths;
use crate::warc::archive::{Archive, ArchiveRepair, ArchiveSettings, Strays};
use crate::warc::info::WarcInfo;
use crate::warc::jsonl::CrawlLine;
use crate::warc::member::Compression;
use crate::warc::name::{Series, cdxj_name, closed_name, open_name};
use crate::warc::reader::WarcReader;
use crate::warc::scan::scan_next;
use crate::warc::writer::{Place, WarcLimits};

fn open(
    (dir, compression): (&Path, Compression),
    lengths: &FileLengths,
    unsynced: Option<u64>,
    strays: Strays,
) -> (Archive, ArchiveRepair) {
    let settings = ArchiveSettings {
        dir: dir.join("warc"),
        jsonl: dir.join("crawl.jsonl"),
        series: Series::new("T", "h").unwrap(),
        limits: WarcLimits { max_size: 1 << 40, max_age: Duration::from_secs(3600) },
        compression,
        info: WarcInfo { software: "Lycosa/0".into(), ..WarcInfo::default() },
        faults: crate::base::fault::Faults::default(),
    };
    Archive::open(settings, lengths, unsynced, strays, NOON).unwrap()
}

/// An archive in a folder of its own, and who makes its pages.
pub(super) struct Bench {
    dir: TempDir,
    maker: Maker,
    compression: Compression,
    pub(super) archive: Archive,
}

impl Bench {
    /// Nothing is there.
    pub(super) fn new() -> Self {
        Self::of(Compression::default())
    }

    pub(super) fn of(compression: Compression) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let (archive, repair) = open((dir.path(), compression), &FileLengths::default(), None, Strays::Remove);
        assert_eq!(repair, ArchiveRepair::default());
        Self { maker: Maker::of(compression, dir.path()), dir, compression, archive }
    }

    /// With these pages, and where they stand.
    fn with(pages: std::ops::Range<u32>) -> (Self, Vec<Place>) {
        Self::with_of(Compression::default(), pages)
    }

    fn with_of(compression: Compression, pages: std::ops::Range<u32>) -> (Self, Vec<Place>) {
        let mut bench = Self::of(compression);
        let places = pages.map(|n| bench.add(n)).collect();
        (bench, places)
    }

    pub(super) fn add(&mut self, n: u32) -> Place {
        let page = self.maker.html(n);
        let place = self.archive.append([&page], NOON).unwrap().remove(0);
        let url = format!("http://h{}.test/p/{n}", n % 3);
        self.archive.log([&CrawlLine::new(NOON, &url).placed(&place)]).unwrap();
        place
    }

    /// As after a start with these lengths committed.
    pub(super) fn reopen(&mut self, committed: &FileLengths) -> ArchiveRepair {
        self.reopen_with(committed, None, Strays::Remove)
    }

    fn reopen_with(&mut self, committed: &FileLengths, unsynced: Option<u64>, strays: Strays) -> ArchiveRepair {
        let (archive, repair) = open((self.dir.path(), self.compression), committed, unsynced, strays);
        self.archive = archive;
        repair
    }

    /// As after a start with the other compression in the settings.
    pub(super) fn reopen_switched(&mut self, committed: &FileLengths, unsynced: Option<u64>) -> ArchiveRepair {
        self.compression = Compression::BOTH.into_iter().find(|one| *one != self.compression).unwrap();
        self.maker = Maker::of(self.compression, self.dir.path());
        self.reopen_with(committed, unsynced, Strays::Remove)
    }

    pub(super) fn warc_dir(&self) -> PathBuf {
        self.dir.path().join("warc")
    }

    pub(super) fn jsonl(&self) -> PathBuf {
        self.dir.path().join("crawl.jsonl")
    }

    fn lines(&self) -> usize {
        fs::read_to_string(self.jsonl()).unwrap().lines().count()
    }

    fn files(&self) -> BTreeMap<String, Vec<u8>> {
        let entries = fs::read_dir(self.warc_dir()).unwrap().map(|e| e.unwrap());
        entries.map(|e| (e.file_name().into_string().unwrap(), fs::read(e.path()).unwrap())).collect()
    }

    /// The open WARC and its index.
    fn open_pair(&self) -> (PathBuf, PathBuf) {
        let warc = self.archive.open_path().unwrap().to_owned();
        (warc, self.warc_dir().join(open_name(&self.archive.file_lengths().cdxj.unwrap().0)))
    }

    /// The lines of the open index, which finds each page.
    fn indexed(&self) -> usize {
        let (warc, cdxj) = self.open_pair();
        check_index(&warc, &cdxj)
    }

    /// The same of a closed one.
    pub(super) fn indexed_in(&self, warc: &str) -> usize {
        check_index(&self.warc_dir().join(warc), &self.warc_dir().join(cdxj_name(warc)))
    }
}

/// Every index line of `cdxj` finds its record in `warc`, and every page of it has a line; gives their number.
fn check_index(warc: &Path, cdxj: &Path) -> usize {
    let lines = fs::read_to_string(cdxj).unwrap();
    let mut expected = Vec::new();
    let mut reader = WarcReader::open(warc, 0).unwrap();
    let name: std::sync::Arc<str> = warc.file_name().unwrap().to_str().unwrap().trim_end_matches(".open").into();
    while let Some(record) = scan_next(&mut reader).unwrap() {
        assert_eq!(record.check_digests(), Ok(()));
        let place = Place { file: name.clone(), offset: record.header.offset, length: record.length };
        expected.extend(record.cdxj_entry().map(|entry| entry.line(&place)));
    }
    let mut found: Vec<_> = lines.split_inclusive('\n').map(str::to_owned).collect();
    assert!(found.is_sorted() || cdxj.to_string_lossy().ends_with(".open"));
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

fn cut(file: &Path, len: u64) {
    OpenOptions::new().write(true).open(file).unwrap().set_len(len).unwrap();
}

#[test]
fn a_closed_archive_has_a_warc_and_a_sorted_index_that_finds_each_page() {
    let (mut bench, _) = Bench::with(0..7);
    let name = bench.archive.close().unwrap().unwrap();
    assert_eq!(bench.archive.file_lengths().warc, None);
    assert_eq!((bench.files().len(), bench.indexed_in(&name), bench.lines()), (2, 7, 7));
}

#[test]
fn nothing_is_written_before_the_first_page() {
    let mut bench = Bench::new();
    assert_eq!(bench.archive.close().unwrap(), None);
    assert_eq!(bench.archive.append([], NOON).unwrap(), []);
    assert!(bench.files().is_empty());
}

/// I3: a WARC record without a commit is cut off at the next start.
#[test]
fn after_a_kill_the_files_end_where_the_commit_says_and_writing_goes_on() {
    for compression in Compression::BOTH {
        let (mut bench, _) = Bench::with_of(compression, 0..2);
        let committed = bench.archive.file_lengths();
        let lost = bench.add(2);
        let (warc, _) = bench.open_pair();
        cut(&warc, fs::metadata(&warc).unwrap().len() - 3); // a kill inside the write

        let repair = bench.reopen(&committed);
        assert!(repair.warc.cut > 0 && repair.jsonl.cut > 0 && repair.lost.is_none() && !repair.index_rebuilt);
        assert_eq!(bench.archive.file_lengths(), committed);
        assert_eq!(bench.add(3).offset, lost.offset);
        assert_eq!((bench.indexed(), bench.lines()), (3, 3));
    }
}

#[test]
fn after_a_change_of_the_compression_the_open_warc_is_due_and_the_next_page_begins_one_of_the_new_form() {
    for compression in Compression::BOTH {
        let (mut bench, first) = Bench::with_of(compression, 0..2);
        let committed = bench.archive.file_lengths();
        assert!(!bench.archive.rotate_due(NOON));
        let repair = bench.reopen_switched(&committed, Some(first[1].offset));
        assert_eq!(repair, ArchiveRepair::default());
        assert!(bench.archive.rotate_due(NOON));
        bench.archive.close().unwrap();
        assert_eq!(bench.indexed_in(&first[0].file), 2);
        let second = bench.add(2);
        assert!(second.file.ends_with(bench.compression.ending()) && !bench.archive.rotate_due(NOON));
        assert_eq!(bench.indexed(), 1);
    }
}

#[test]
fn a_full_or_old_warc_is_closed_and_the_next_page_begins_another() {
    let (mut bench, first) = Bench::with(0..1);
    let later = NOON.plus(Duration::from_secs(3600));
    assert!(!bench.archive.rotate_due(NOON) && bench.archive.rotate_due(later));
    assert_eq!(bench.archive.close().unwrap(), Some(first[0].file.clone()));
    let second = bench.add(1);
    assert_ne!(second.file, first[0].file);
    assert!(second.file.contains("-00002-"));
    assert_eq!(bench.files().len(), 4);
}

#[test]
fn a_warc_begun_but_never_committed_is_removed_and_closed_ones_are_not_touched() {
    let (mut bench, _) = Bench::with(0..1);
    bench.archive.close().unwrap();
    let (committed, closed) = (bench.archive.file_lengths(), bench.files());
    bench.add(1);
    assert_eq!(bench.reopen(&committed).removed.len(), 2);
    assert_eq!(bench.files(), closed);
    let place = bench.add(2);
    assert!(closed.keys().all(|name| *name != *place.file));
}

#[test]
fn files_of_other_writers_are_left_alone() {
    let mut bench = Bench::new();
    for name in ["O-20240506070809012-00007-h.warc.gz.open", "T-20240506070809012-00007-other.cdxj.open", "x.tmp"] {
        fs::write(bench.warc_dir().join(name), "theirs").unwrap();
    }
    let before = bench.files();
    assert_eq!(bench.reopen(&FileLengths::default()), ArchiveRepair::default());
    assert_eq!(bench.files(), before);
}

#[test]
fn records_that_were_on_the_disk_and_are_gone_all_the_same_are_told_apart_from_what_a_power_failure_takes() {
    for (cut_at, beyond) in [(1, true), (2, false), (3, false)] {
        let (mut bench, places) = Bench::with(0..4);
        let (warc, _) = bench.open_pair();
        let mut bytes = fs::read(&warc).unwrap();
        bytes.truncate(places[cut_at].offset as usize);
        fs::write(&warc, bytes).unwrap();
        let committed = bench.archive.file_lengths();
        let repair = bench.reopen_with(&committed, Some(places[2].offset), Strays::Remove);
        let lost = Some((places[cut_at].file.clone(), places[cut_at].offset));
        assert_eq!((repair.lost, repair.synced_lost), (lost, beyond), "{cut_at}");
    }
}

/// The closing steps are: index sorted, WARC renamed, open index removed, lengths committed. A kill may come after each.
#[test]
fn a_kill_between_any_two_steps_of_closing_loses_nothing() {
    for (compression, step) in Compression::BOTH.into_iter().flat_map(|one| (0..4).map(move |step| (one, step))) {
        let (mut bench, _) = Bench::with_of(compression, 0..3);
        let (committed, before) = (bench.archive.file_lengths(), bench.files());
        bench.archive.close().unwrap();
        let after = bench.archive.file_lengths();
        let put_back = |name: &str| fs::write(bench.warc_dir().join(name), &before[name]).unwrap();
        let remove_closed = |open: &str| fs::remove_file(bench.warc_dir().join(closed_name(open).unwrap())).unwrap();
        let [cdxj, warc] = &before.keys().cloned().collect::<Vec<_>>()[..] else { panic!("two files") };
        if step < 3 {
            put_back(cdxj);
        }
        if step < 2 {
            put_back(warc);
            remove_closed(warc);
        }
        if step < 1 {
            remove_closed(cdxj);
        }
        for lengths in [&committed, if step == 3 { &after } else { &committed }] {
            assert_eq!(bench.reopen(lengths).lost, None, "step {step}");
            bench.archive.close().unwrap();
            assert_eq!(bench.indexed_in(closed_name(warc).unwrap()), 3, "step {step}");
            assert_eq!(bench.files().len(), 2, "step {step}");
        }
    }
}

#[test]
fn records_that_a_power_failure_took_are_reported_and_their_index_lines_go_with_them() {
    let damages = [
        ("shorter", (|bytes, at| bytes.truncate(at + 5)) as fn(&mut Vec<u8>, usize)),
        ("at a border", |bytes, at| bytes.truncate(at)),
        ("zeros", |bytes, at| bytes[at..].fill(0)),
        ("zeros from within", |bytes, at| bytes[at + 100..].fill(0)),
    ];
    for (compression, (name, damage)) in Compression::BOTH.into_iter().flat_map(|one| damages.map(|what| (one, what))) {
        let (mut bench, places) = Bench::with_of(compression, 0..4);
        let [_, synced, unsynced, gone] = &places[..] else { panic!("four pages") };
        let (warc, _) = bench.open_pair();
        let mut bytes = fs::read(&warc).unwrap();
        damage(&mut bytes, gone.offset as usize);
        fs::write(&warc, bytes).unwrap();

        let committed = bench.archive.file_lengths();
        let repair = bench.reopen_with(&committed, Some(unsynced.offset), Strays::Remove);
        assert_eq!(repair.lost, Some((synced.file.clone(), gone.offset)), "{name}");
        assert!(repair.index_rebuilt);
        assert_eq!(bench.indexed(), 3, "{name}");
    }
}

#[test]
fn an_index_or_log_that_a_power_failure_cut_is_made_whole() {
    let (mut bench, _) = Bench::with(0..3);
    let committed = bench.archive.file_lengths();
    let (_, cdxj) = bench.open_pair();
    let whole = fs::read(&cdxj).unwrap();
    cut(&bench.jsonl(), committed.jsonl - 4);
    for broken in [whole[..whole.len() - 5].to_vec(), Vec::new(), [&whole[..200], &vec![0; whole.len() - 200]].concat()]
    {
        fs::write(&cdxj, broken).unwrap();
        let repair = bench.reopen(&committed);
        assert!(repair.index_rebuilt && repair.lost.is_none());
        assert_eq!((bench.indexed(), bench.lines()), (3, 2));
        assert_eq!(fs::read(&cdxj).unwrap(), whole, "made anew, the index is what it was");
        assert_eq!(bench.archive.file_lengths().warc, committed.warc);
    }
}

#[test]
fn without_a_database_whole_pages_of_an_open_warc_are_kept() {
    for compression in Compression::BOTH {
        let (mut bench, _) = Bench::with_of(compression, 0..3);
        let (warc, _) = bench.open_pair();
        cut(&warc, fs::metadata(&warc).unwrap().len() - 3);
        let repair = bench.reopen_with(&FileLengths::default(), None, Strays::Keep);
        let [name] = &repair.closed[..] else { panic!("{repair:?}") };
        assert_eq!((bench.files().len(), bench.indexed_in(name)), (2, 3));
    }
}

#[test]
fn an_open_warc_without_pages_is_not_kept() {
    let (mut bench, places) = Bench::with(0..1);
    cut(&bench.open_pair().0, places[0].offset);
    assert!(bench.reopen_with(&FileLengths::default(), None, Strays::Keep).closed.is_empty());
    assert!(bench.files().is_empty());
}

#[test]
fn a_warc_that_is_gone_is_reported_and_does_not_stop_the_start() {
    let name = "T-20240506070809012-00007-h.warc.gz";
    let lengths = FileLengths { warc: Some((name.into(), 9)), ..FileLengths::default() };
    assert_eq!(Bench::new().reopen(&lengths).lost, Some((name.into(), 0)));
}

#[test]
fn an_open_warc_of_which_nothing_is_left_begins_with_its_warcinfo_again() {
    let (mut bench, places) = Bench::with(1..2);
    let lost = &places[0];
    let (lengths, warc) = (bench.archive.file_lengths(), bench.open_pair().0);
    for left in [0, 7] {
        cut(&warc, left);
        let repair = bench.reopen_with(&lengths, Some(lost.offset), Strays::Remove);
        assert!(repair.lacks(&lost.file, lost.offset) && !repair.lacks("other.warc.gz", lost.offset));
        let mut reader = WarcReader::open(&warc, 0).unwrap();
        assert_eq!(reader.next_record().unwrap().unwrap().kind(), "warcinfo");
        assert_eq!(bench.archive.file_lengths().warc.unwrap().1, reader.finish().unwrap());
    }
    bench.reopen_with(&lengths, Some(lost.offset), Strays::Remove);
    let begun = bench.archive.file_lengths().warc.unwrap().1; // its id is another one, and may pack better or worse
    let again = bench.add(1);
    assert_eq!((&again.file, again.offset), (&lost.file, begun));
    cut(&warc, 0);
    bench.reopen_switched(&lengths, Some(lost.offset));
    bench.archive.close().unwrap();
    assert_eq!(bench.files()[&*lost.file][0], 0x1f, "its warcinfo is what its name says");
}

#[test]
fn the_end_of_crawl_jsonl_is_written_anew_whatever_is_there() {
    let mut bench = Bench::new();
    for left in ["a\n", "a\nb", "a\nb\n", "a\n\0\0\0\0", "a\nb\nc\nd\n", ""] {
        fs::write(bench.jsonl(), left).unwrap();
        bench.reopen(&FileLengths { jsonl: 6, ..FileLengths::default() });
        bench.archive.log_again(2, "b\nc\n").unwrap();
        let whole = if left.is_empty() { "b\nc\n" } else { "a\nb\nc\n" };
        assert_eq!(fs::read_to_string(bench.jsonl()).unwrap(), whole, "{left:?}");
        assert_eq!(bench.archive.file_lengths().jsonl, whole.len() as u64);
    }
}
