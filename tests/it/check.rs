//! `lycosa check` as a library: each damage is found under its name, mended, and the crawl then ends with the truth.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use lycosa::check::{Fault, Note, Report};
use lycosa::cli::testweb::TestWebConfig;
use lycosa::domain::fingerprint::{ContentDigest, CrawlId};
use lycosa::domain::time::UnixMillis;
use lycosa::storage::keys::{Key, KeyRange, MetaKey, SeenKey};
use lycosa::storage::tables::{self, MetaRecord, Table};
use lycosa::storage::values::{Counters, Place, QueueEntry, Tails, Unsynced, UnsyncedLines, UrlState};
use lycosa::storage::{Batch, Family, MemoryStorage, Pair, Storage, StorageError, StorageStats, read};
use proptest::prelude::*;

use crate::support::{Fork, Sandbox, checker, fsck, truth_any};

const SEED: u64 = 7;

fn web() -> TestWebConfig {
    TestWebConfig {
        hosts: 4,
        pages: 25,
        links: 8,
        min_size: 300,
        max_size: 1_500,
        redirects: 0.1,
        duplicates: 0.2,
        errors: 0.1,
        flaky: 0.3,
        private: 0.2,
        robots: "disallow-some".parse().unwrap(),
        ..TestWebConfig::default()
    }
}

/// A crawl in its middle, as a kill leaves it: every family has records, one WARC is closed, one is open.
fn middle() -> Sandbox {
    let sandbox = Sandbox::new(web()).gap(Duration::from_millis(5)).set("fetch.retry_delays=[\"3s\"]");
    let live = sandbox.start();
    live.until("pages", |s| s.pages_stored >= 20);
    live.close();
    let live = sandbox.start();
    live.until("pages", |s| s.pages_stored >= 45 && s.waiting > 10);
    let fork = sandbox.fork();
    live.drop_at_once();
    sandbox.resume(fork)
}

/// One for all tests that only look at it.
static MIDDLE: LazyLock<Sandbox> = LazyLock::new(middle);

fn check(fork: &Fork) -> Report {
    checker(Some(fork.data())).check(fork.storage(), &mut |_| {}).unwrap()
}

fn repair(fork: &Fork) -> Report {
    checker(Some(fork.data())).repair(fork.storage(), &mut |_| {}).unwrap()
}

/// After a repair nothing is found, a second one has nothing to do, and the tests' own check agrees.
fn is_mended(fork: &Fork, what: &str) {
    let report = check(fork);
    assert!(report.is_clean(), "{what}: {:#?}", report.findings);
    let sequence = fork.storage().sequence();
    assert!(repair(fork).repaired.is_empty(), "{what}");
    assert_eq!(fork.storage().sequence(), sequence, "{what}: a repair of what is whole writes nothing");
    fsck(fork.storage(), SEED, None);
}

fn all<T: Table>(storage: &dyn Storage) -> Vec<(T::Key, T::Value)> {
    read::scan::<T>(storage, &KeyRange::all(), usize::MAX).unwrap()
}

fn write(storage: &MemoryStorage, change: impl FnOnce(&mut Batch)) {
    let mut batch = Batch::new();
    change(&mut batch);
    assert!(!batch.is_empty());
    storage.write(&batch).unwrap();
}

fn remove<T: Table>(storage: &MemoryStorage, key: &T::Key) {
    write(storage, |batch| batch.delete::<T>(key));
}

/// The first URL in a state.
fn url_in(storage: &MemoryStorage, wanted: impl Fn(&UrlState) -> bool) -> (SeenKey, UrlState) {
    all::<tables::Seen>(storage).into_iter().find(|(_, state)| wanted(state)).expect("the fixture has one")
}

fn queued(storage: &MemoryStorage) -> (SeenKey, UrlState) {
    url_in(storage, |s| matches!(s, UrlState::Waiting { due: None, .. }))
}

fn stored(storage: &MemoryStorage) -> (SeenKey, UrlState) {
    url_in(storage, |s| matches!(s, UrlState::Done { .. }))
}

fn host_with_queue(storage: &MemoryStorage) -> (lycosa::storage::keys::HostCrawl, lycosa::storage::values::HostCounts) {
    let all = all::<tables::HostCounts>(storage);
    all.into_iter().find(|(_, c)| c.queued_total() > 0).expect("the fixture has one")
}

fn meta<M: MetaRecord<Of = ()>>(storage: &MemoryStorage) -> M {
    read::meta::<M>(storage, ()).unwrap().unwrap()
}

fn file(folder: &Path, ending: &str) -> PathBuf {
    let all = fs::read_dir(folder.join("warc")).unwrap().map(|e| e.unwrap().path());
    all.into_iter().find(|p| p.to_str().unwrap().ends_with(ending)).expect("the fixture has one")
}

type Damage = fn(&MemoryStorage, &Path);

/// Damages that cost nothing: the crawl ends with the truth after the repair.
const HARMLESS: &[(&str, Damage, &[Fault])] = &[
    (
        "a queue entry is gone",
        |s, _| {
            let (key, entry) = all::<tables::Queue>(s).pop().unwrap();
            assert!(!entry.tail.is_empty());
            remove::<tables::Queue>(s, &key);
        },
        &[Fault::WaitingUnqueued, Fault::HostCounts],
    ),
    (
        "a queued URL's mark is gone",
        |s, _| remove::<tables::Seen>(s, &queued(s).0),
        &[Fault::QueueUnmarked, Fault::Counters],
    ),
    (
        "a queued URL's mark has another depth",
        |s, _| {
            let (key, UrlState::Waiting { rank, order, depth, due }) = queued(s) else { panic!() };
            write(s, |b| b.put::<tables::Seen>(&key, &UrlState::Waiting { rank, order, depth: depth + 1, due }));
        },
        &[Fault::QueueUnmarked],
    ),
    (
        "a queued URL's mark points to where nothing is",
        |s, _| {
            let (key, UrlState::Waiting { rank, order, depth, due }) = queued(s) else { panic!() };
            write(s, |b| b.put::<tables::Seen>(&key, &UrlState::Waiting { rank, order: order ^ 1 << 40, depth, due }));
        },
        &[Fault::QueueUnmarked, Fault::WaitingUnqueued],
    ),
    (
        "a queued URL's mark points to another URL's entry",
        |s, _| {
            let marks = all::<tables::Seen>(s);
            let mut waiting = marks.iter().filter(|(_, m)| matches!(m, UrlState::Waiting { due: None, .. }));
            let (first, other) = (waiting.next().unwrap(), waiting.next().unwrap());
            write(s, |b| b.put::<tables::Seen>(&first.0, &other.1));
        },
        &[Fault::QueueUnmarked, Fault::WaitingUnqueued],
    ),
    (
        "a URL is queued twice",
        |s, _| {
            let (key, entry) = all::<tables::Queue>(s).pop().unwrap();
            let twin = key.host_crawl().queue(key.rank, key.order ^ 1 << 40);
            write(s, |b| b.put::<tables::Queue>(&twin, &entry));
        },
        &[Fault::QueueUnmarked, Fault::HostCounts],
    ),
    (
        "a finished URL is queued",
        |s, _| {
            let (key, entry) = all::<tables::Queue>(s).pop().unwrap();
            let UrlState::Done { captured, .. } = stored(s).1 else { panic!() };
            let page = all::<tables::Pages>(s).into_iter().find(|(k, _)| k.captured.0 == captured).unwrap();
            let url = lycosa::domain::url::PageUrl::from_canonical(&page.1.url).unwrap();
            let again = QueueEntry { tail: url.tail().to_owned(), port: url.port(), ..entry };
            let at = page.0.seen().host_crawl().queue(0, key.order ^ 1 << 40);
            write(s, |b| b.put::<tables::Queue>(&at, &again));
        },
        &[Fault::QueueUnmarked],
    ),
    (
        "a retry is gone",
        |s, _| remove::<tables::Due>(s, &all::<tables::Due>(s)[0].0),
        &[Fault::WaitingUnqueued, Fault::HostCounts],
    ),
    (
        "a retry's mark is gone",
        |s, _| remove::<tables::Seen>(s, &all::<tables::Due>(s)[0].0.seen()),
        &[Fault::DueUnmarked],
    ),
    (
        "a retry stands at another URL's key",
        |s, _| {
            let (key, entry) = all::<tables::Due>(s).remove(0);
            let other = stored(s).0;
            write(s, |b| {
                b.delete::<tables::Due>(&key);
                b.delete::<tables::Seen>(&key.seen());
                b.put::<tables::Due>(&key.seen().host_crawl().url(other.url).due(key.time), &entry);
            });
        },
        &[Fault::DueUnmarked],
    ),
    ("a done URL's mark is gone", |s, _| remove::<tables::Seen>(s, &stored(s).0), &[Fault::PageUnmarked]),
    (
        "a done URL's mark names another capture",
        |s, _| {
            let (key, UrlState::Done { how, .. }) = stored(s) else { panic!() };
            write(s, |b| b.put::<tables::Seen>(&key, &UrlState::Done { captured: UnixMillis(5), how }));
        },
        &[Fault::DoneUncaptured],
    ),
    (
        "a capture is gone",
        |s, _| {
            let (key, UrlState::Done { captured, .. }) = stored(s) else { panic!() };
            remove::<tables::Pages>(s, &key.page(captured));
        },
        &[Fault::DoneUncaptured, Fault::Counters],
    ),
    (
        "a capture says another URL",
        |s, _| {
            let (key, mut page) = all::<tables::Pages>(s).remove(0);
            page.url.push('x');
            write(s, |b| b.put::<tables::Pages>(&key, &page));
        },
        &[Fault::Misplaced],
    ),
    (
        "a kept rejection is gone",
        |s, _| remove::<tables::Rejected>(s, &all::<tables::Rejected>(s)[0].0),
        &[Fault::RejectedUnkept],
    ),
    (
        "a rejected URL's mark is gone",
        |s, _| remove::<tables::Seen>(s, &all::<tables::Rejected>(s)[0].0),
        &[Fault::RejectedUnmarked, Fault::Counters],
    ),
    (
        "a content names a capture that is not there",
        |s, _| {
            let (key, mut value) = all::<tables::Content>(s).remove(0);
            value.first = value.first.seen().page(UnixMillis(3));
            write(s, |b| b.put::<tables::Content>(&key, &value));
        },
        &[Fault::ContentDangling],
    ),
    (
        "a content is of another capture",
        |s, _| {
            let (_, value) = all::<tables::Content>(s).remove(0);
            write(s, |b| b.put::<tables::Content>(&ContentDigest([1; 16]).into(), &value));
        },
        &[Fault::ContentDangling],
    ),
    (
        "a host's name is gone",
        |s, _| remove::<tables::HostState>(s, &host_with_queue(s).0.host_at()),
        &[Fault::HostNameless, Fault::Counters],
    ),
    (
        "a host has another's name",
        |s, _| {
            let named = all::<tables::HostState>(s);
            let queued = |at| all::<tables::Queue>(s).iter().any(|(key, _)| key.host_crawl().host_at() == at);
            let (at, state) = named.into_iter().find(|(at, _)| queued(*at)).unwrap();
            let state = lycosa::storage::values::HostState { name: "other.test".into(), ..state };
            write(s, |b| b.put::<tables::HostState>(&at, &state));
        },
        &[Fault::HostMisnamed, Fault::HostNameless],
    ),
    (
        "a host counts one too many",
        |s, _| {
            let (at, mut counts) = host_with_queue(s);
            counts.queued[0] += 1;
            counts.bytes += 1;
            write(s, |b| b.put::<tables::HostCounts>(&at, &counts));
        },
        &[Fault::HostCounts],
    ),
    (
        "a host's counts are gone",
        |s, _| remove::<tables::HostCounts>(s, &host_with_queue(s).0),
        &[Fault::HostCounts, Fault::HostPlace],
    ),
    (
        "a host's head is too high",
        |s, _| {
            let (at, mut counts) = host_with_queue(s);
            counts.heads = [u64::MAX; 8];
            write(s, |b| b.put::<tables::HostCounts>(&at, &counts));
        },
        &[Fault::HostHeads],
    ),
    (
        "a host is in no row",
        |s, _| {
            write(s, |b| {
                all::<tables::Waiting>(s).iter().for_each(|(key, ())| b.delete::<tables::Waiting>(key));
                all::<tables::Parked>(s).iter().for_each(|(key, ())| b.delete::<tables::Parked>(key));
            });
        },
        &[Fault::HostPlace],
    ),
    (
        "a host is in two rows",
        |s, _| {
            let at = host_with_queue(s).0.host_at();
            write(s, |b| b.put::<tables::Parked>(&at.parked(UnixMillis(77)), &()));
        },
        &[Fault::RowStray],
    ),
    (
        "a host says that it has no place",
        |s, _| {
            let (at, mut counts) = host_with_queue(s);
            counts.place = Place::None;
            write(s, |b| b.put::<tables::HostCounts>(&at, &counts));
        },
        &[Fault::RowStray, Fault::HostPlace],
    ),
    (
        "counters are off",
        |s, _| {
            let mut counters: Counters = read::meta(s, CrawlId::default()).unwrap().unwrap();
            counters.discovered += 1;
            counters.done += 1;
            counters.hosts_parked += 9;
            write(s, |b| b.put_meta(CrawlId::default(), &counters));
        },
        &[Fault::Counters],
    ),
    (
        "counters are gone",
        |s, _| write(s, |b| b.delete_meta::<Counters>(CrawlId::default())),
        &[Fault::Counters, Fault::NextNumber],
    ),
    (
        "a number was given out already",
        |s, _| {
            let counters: Counters = read::meta(s, CrawlId::default()).unwrap().unwrap();
            write(s, |b| b.put_meta(CrawlId::default(), &Counters { next_seq: 1, ..counters }));
        },
        &[Fault::NextNumber],
    ),
    (
        "a page listed as not yet safe is not there",
        |s, _| {
            let (_, entry) = all::<tables::Queue>(s).pop().unwrap();
            let warc = all::<tables::Pages>(s)[0].1.warc.clone().unwrap();
            let page = queued(s).0.page(UnixMillis(9));
            let listed = lycosa::storage::values::UnsyncedPage { page, rank: 0, order: 3, entry, warc };
            write(s, |b| b.put_meta(3, &Unsynced(vec![listed])));
        },
        &[Fault::UnsyncedStray],
    ),
    (
        "a capture's record lies beyond the archive's end",
        |s, _| {
            let (key, mut page) = all::<tables::Pages>(s).remove(0);
            page.warc.as_mut().unwrap().offset = 1 << 40;
            write(s, |b| b.put::<tables::Pages>(&key, &page));
        },
        &[Fault::RecordMissing],
    ),
    (
        "a capture has no place",
        |s, _| {
            let (key, mut page) = all::<tables::Pages>(s).remove(0);
            page.warc = None;
            write(s, |b| b.put::<tables::Pages>(&key, &page));
        },
        &[Fault::RecordMissing],
    ),
    (
        "the open archive file is gone",
        |_, data| {
            fs::remove_file(file(data, ".warc.gz.open")).unwrap();
        },
        &[Fault::TailMissing, Fault::RecordMissing],
    ),
    (
        "a closed archive file is gone",
        |_, data| {
            fs::remove_file(file(data, ".warc.gz")).unwrap();
        },
        &[Fault::RecordMissing],
    ),
    (
        "a response is damaged",
        |s, data| {
            let name = file(data, ".warc.gz");
            let own = name.file_name().unwrap().to_str().unwrap();
            let pages = all::<tables::Pages>(s);
            let place = pages.iter().filter_map(|(_, p)| p.warc.clone()).find(|w| w.file == own).unwrap();
            let mut bytes = fs::read(&name).unwrap();
            bytes[(place.offset + place.length / 2) as usize] ^= 0x55;
            fs::write(&name, bytes).unwrap();
        },
        &[Fault::RecordWrong],
    ),
    (
        "two captures change places",
        |s, _| {
            let pages = all::<tables::Pages>(s);
            let ((a, mut one), (b, mut two)) = (pages[0].clone(), pages[1].clone());
            std::mem::swap(&mut one.warc, &mut two.warc);
            write(s, |batch| {
                batch.put::<tables::Pages>(&a, &one);
                batch.put::<tables::Pages>(&b, &two);
            });
        },
        &[Fault::RecordWrong],
    ),
    (
        "an index line is damaged",
        |_, data| {
            let path = file(data, ".cdxj");
            let text = fs::read_to_string(&path).unwrap().replacen("\"offset\":\"", "\"offset\":\"9", 1);
            fs::write(&path, text).unwrap();
        },
        &[Fault::IndexLine, Fault::IndexMissing],
    ),
    ("an index is gone", |_, data| fs::remove_file(file(data, ".cdxj")).unwrap(), &[Fault::IndexMissing]),
    (
        "a line of the open index is damaged",
        |_, data| {
            let path = file(data, ".cdxj.open");
            let text = fs::read_to_string(&path).unwrap().replacen("\"offset\":\"", "\"offset\":\"9", 1);
            fs::write(&path, text).unwrap();
        },
        &[Fault::IndexLine],
    ),
    (
        "a line of crawl.jsonl is damaged",
        |_, data| {
            let path = data.join("crawl.jsonl");
            let text = fs::read_to_string(&path).unwrap().replacen("{\"ts\"", "{}\"ts\"", 1);
            fs::write(&path, text).unwrap();
        },
        &[Fault::LineDamaged, Fault::LineMissing],
    ),
    (
        "a line of crawl.jsonl is another URL's",
        |_, data| {
            let path = data.join("crawl.jsonl");
            let text = fs::read_to_string(&path).unwrap();
            let captured = text.lines().find(|line| line.contains("\"offset\":")).unwrap();
            let other = captured.replacen("\"url\":\"http://h", "\"url\":\"http://g", 1);
            fs::write(&path, text.replacen(captured, &other, 1)).unwrap();
        },
        &[Fault::LineMissing],
    ),
    (
        "lines said to be pending are not the end of crawl.jsonl",
        |s, _| {
            let tails: Tails = meta(s);
            let pending = UnsyncedLines { from: tails.jsonl / 2, text: "{}\n".into() };
            write(s, |b| {
                read::unsynced_lines(s, usize::MAX)
                    .unwrap()
                    .iter()
                    .for_each(|(n, _)| b.delete_meta::<UnsyncedLines>(*n));
                b.put_meta(3, &pending);
            });
        },
        &[Fault::UnsyncedStray],
    ),
];

#[test]
fn a_folder_in_the_middle_of_a_crawl_has_every_kind_of_record_and_is_clean() {
    let fork = MIDDLE.fork();
    let report = check(&fork);
    assert!(report.is_clean(), "{:#?}", report.findings);
    for family in Family::ALL.iter().filter(|f| !matches!(f, Family::Waiting | Family::Parked)) {
        assert!(report.records.get(family.name()).is_some_and(|n| *n > 0), "{family} is empty: {:?}", report.records);
    }
    let files = report.files.unwrap();
    assert!(files.warcs >= 2 && files.records > 100 && files.lines > 40 && files.index_lines > 40, "{files:?}");
    is_mended(&fork, "nothing");
}

#[test]
fn each_damage_is_found_under_its_name_and_mended() {
    for (what, damage, faults) in HARMLESS {
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
            if matches!(family, Family::Waiting | Family::Parked) && garbage.is_empty() {
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
    let (made, lost) = (parse(text.lines().last().unwrap()), parse(lost));
    assert_eq!(made["restored"], true);
    for field in ["url", "status", "reason", "bytes", "mime", "hop_path", "digest", "ms", "warc", "offset"] {
        assert_eq!(made[field], lost[field], "{field}");
    }
    let tails: Tails = meta(fork.storage());
    assert_eq!(tails.jsonl, text.len() as u64);
}

/// All damages at once, but those that leave the others nothing to damage.
fn damage_everything(fork: &Fork) {
    let whole =
        ["counters are gone", "the open archive file is gone", "a closed archive file is gone", "an index is gone"];
    for (_, damage, _) in HARMLESS.iter().filter(|(what, _, _)| !whole.contains(what)) {
        damage(fork.storage(), fork.data());
    }
}

/// A store whose process is killed at one of its writes.
struct Killed<'s> {
    storage: &'s MemoryStorage,
    writes_left: AtomicU64,
}

impl Storage for Killed<'_> {
    fn get(&self, family: Family, key: &[u8]) -> Result<Option<Vec<u8>>, StorageError> {
        self.storage.get(family, key)
    }

    fn multi_get(&self, family: Family, keys: &[Vec<u8>]) -> Result<Vec<Option<Vec<u8>>>, StorageError> {
        self.storage.multi_get(family, keys)
    }

    fn scan(&self, family: Family, from: &[u8], until: &[u8], limit: usize) -> Result<Vec<Pair>, StorageError> {
        self.storage.scan(family, from, until, limit)
    }

    fn write(&self, batch: &Batch) -> Result<u64, StorageError> {
        let left = self.writes_left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |n| n.checked_sub(1));
        if left.is_ok() { self.storage.write(batch) } else { Err(StorageError::Injected { doing: "being killed" }) }
    }

    fn sync(&self) -> Result<(), StorageError> {
        self.storage.sync()
    }

    fn sequence(&self) -> u64 {
        self.storage.sequence()
    }

    fn stats(&self) -> StorageStats {
        self.storage.stats()
    }

    fn approximate_len(&self, family: Family) -> u64 {
        self.storage.approximate_len(family)
    }
}

#[test]
fn a_repair_killed_at_any_of_its_writes_has_lost_nothing_and_is_gone_on_with() {
    for writes in 0.. {
        let fork = MIDDLE.fork();
        damage_everything(&fork);
        let known = all::<tables::Seen>(fork.storage()).len();
        let killed = Killed { storage: fork.storage(), writes_left: AtomicU64::new(writes) };
        let whole = checker(Some(fork.data())).repair(&killed, &mut |_| {}).is_ok();
        assert!(all::<tables::Seen>(fork.storage()).len() >= known, "marks were lost after {writes} writes");
        assert_eq!(repair(&fork).dropped, 0, "after {writes} writes");
        is_mended(&fork, "a repair that was killed");
        if whole {
            assert!(writes > 5, "{writes} writes are too few to have been killed between");
            return;
        }
    }
}

#[test]
fn a_crawl_repaired_of_everything_at_once_ends_with_the_truth() {
    let sandbox = middle();
    let fork = sandbox.fork();
    damage_everything(&fork);
    let mended = repair(&fork);
    assert_eq!(mended.dropped, 0, "{:#?}", mended.repaired);
    is_mended(&fork, "everything");
    let sandbox = sandbox.resume(fork);
    let live = sandbox.start();
    live.until_stop();
    live.until_all_is_back();
    let found = fsck(&*live.storage, SEED, None);
    let missing: Vec<_> = sandbox.web.truth(truth_any()).difference(&found.captured()).cloned().collect();
    let states = missing.iter().map(|url| {
        let url = lycosa::domain::url::PageUrl::from_canonical(url).unwrap();
        found.seen.get(&found.key(&url)).copied()
    });
    assert!(missing.is_empty(), "{missing:?} {:?} {:#?}", states.collect::<Vec<_>>(), mended.repaired);
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
    let line = format!(
        "{{\"file\":\"{name}\",\"bytes\":1,\"sha256\":\"00\",\"to\":\"s3://a/b\",\"ts\":\"2026-01-01T00:00:00Z\"}}\n"
    );
    fs::write(fork.data().join("uploaded.jsonl"), line).unwrap();
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
    let before: Tails = meta(fork.storage());
    fs::remove_file(file(fork.data(), ".warc.gz.open")).unwrap();
    repair(&fork);
    let after: Tails = meta(fork.storage());
    assert_eq!((after.warc, after.jsonl), (None, before.jsonl));
}

/// One random change: which family, which record, what is done to it, and a number more.
type Random = (u8, u16, u8, u8);

fn damage(storage: &MemoryStorage, (family, record, kind, extra): Random) {
    let family = Family::ALL[usize::from(family) % Family::ALL.len()];
    let pairs = storage.scan(family, &[], &[], usize::MAX).unwrap();
    if pairs.is_empty() {
        return;
    }
    let (key, mut value) = pairs[usize::from(record) % pairs.len()].clone();
    let other = &pairs[(usize::from(record) + 1 + usize::from(extra)) % pairs.len()];
    if key == MetaKey::Format.encode() || other.0 == MetaKey::Format.encode() {
        return;
    }
    write(storage, |batch| match kind % 5 {
        0 => batch.delete_raw(family, key),
        1 if !value.is_empty() => {
            let at = usize::from(extra) % value.len();
            value[at] ^= 1 << (record % 8);
            batch.put_raw(family, key, value);
        }
        2 => batch.put_raw(family, key, other.1.clone()),
        3 => {
            let mut key = key;
            let at = usize::from(extra) % key.len();
            key[at] ^= 1 << (record % 8);
            batch.put_raw(family, key, value);
        }
        _ => {
            value.truncate(usize::from(extra) % (value.len() + 1));
            batch.put_raw(family, key, value);
        }
    });
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn whatever_is_damaged_a_repair_ends_clean_and_a_second_one_has_nothing_to_do(
        damages in prop::collection::vec(any::<Random>(), 1..8),
    ) {
        let fork = MIDDLE.fork();
        damages.iter().for_each(|d| damage(fork.storage(), *d));
        repair(&fork);
        is_mended(&fork, "random damages");
    }
}
