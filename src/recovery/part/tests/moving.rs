//! Two members and their store: the map is driven by hand, with a kill at every fault point.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use super::*;
use crate::domain::cluster::held::Held;
use crate::domain::partition::Partition;
use crate::recovery::checkpoint::uploads::{Line, read_list};
use crate::recovery::checkpoint::{Place, Target};

const A: MemberId = MemberId(0);
const B: MemberId = MemberId(1);

/// The folders of a crawl that one member began, and the store.
struct Two {
    base: tempfile::TempDir,
    a: Folder,
    b: Folder,
    store: Box<dyn Place>,
    /// What the first had when it was alone.
    whole: (Counters, u128),
}

fn half() -> PartitionSet {
    (0..512).map(Partition).collect()
}

fn part(from: u16, to: u16) -> PartitionSet {
    (from..to).map(Partition).collect()
}

fn begun() -> Map {
    Map::first("a", SEED).unwrap().joined("b", 1).unwrap().0.begun(&half(), B).unwrap()
}

fn issued(folder: &Folder) -> u128 {
    folder.credit().map_or(0, |credit| credit.sums.issued)
}

impl Two {
    fn new(dividend: Option<Dividend>) -> Self {
        let base = tempfile::tempdir().unwrap();
        let (a, b) = (Folder::open(base.path().join("a")), Folder::open(base.path().join("b")));
        fill(&a, dividend);
        let store = Target::Folder(base.path().join("store")).open(None).unwrap();
        let whole = (Counters { fed: 0, ..a.counters() }, issued(&a));
        Self { base, a, b, store, whole }
    }

    fn rest(&self, me: MemberId, map: &Map, faults: &Faults) -> Result<(Option<Share>, Rested)> {
        let open = |dir: &Path| -> Result<Box<dyn Storage>> {
            let options = RocksOptions { memory: 16 << 20, seed: Some(SEED), ..RocksOptions::default() };
            Ok(Box::new(RocksStorage::open(dir, options)?))
        };
        let (folder, name, begins_with) = match me {
            A => (&self.a, "a", PartitionSet::all()),
            _ => (&self.b, "b", PartitionSet::none()),
        };
        let rest = Rest {
            side: folder.side(),
            name,
            map,
            begins_with: &begins_with,
            store: &*self.store,
            archive_at: "store/warc",
            session: 7,
            now: UnixMillis(5),
            open: &open,
            faults,
        };
        rest.run(&mut |_, _| {})
    }

    /// Does all that the map asks for.
    fn done(&self, me: MemberId, map: &Map) -> (Held, Rested) {
        let (share, rested) = self.rest(me, map, &Faults::default()).unwrap();
        (share.unwrap().held, rested)
    }

    /// The same, killed at these points before.
    fn killed(&self, me: MemberId, map: &Map, points: &[&str]) -> Held {
        for point in points {
            let faults = Faults::default();
            faults.set(point, Fault::Error, 1, 1);
            let failed = self.rest(me, map, &faults).err().unwrap_or_else(|| panic!("{point} is not passed"));
            assert!(matches!(failed, PartError::Injected(_)), "{point}: {failed}");
        }
        self.done(me, map).0
    }

    fn parcel(&self, object: &str) -> Folder {
        let dir = self.base.path().join("looked");
        parcels::fetch(&*self.store, object, &dir).unwrap().unwrap();
        Folder::open(dir)
    }

    /// Both are sound and have together what the first had, to the unit.
    fn adds_up(&self, other: &Folder) {
        self.a.is_sound();
        let theirs = Counters { fed: 0, ..other.counters() };
        assert_eq!(sum(&self.a.counters(), &theirs), self.whole.0);
        assert_eq!(issued(&self.a) + issued(other), self.whole.1);
        for credit in [self.a.credit(), other.credit()].into_iter().flatten() {
            assert_eq!(credit.sums.difference(), 0);
        }
    }
}

fn queued(folder: &Folder, set: &PartitionSet) -> Vec<(Vec<u8>, Vec<u8>)> {
    let ranges = KeyRange::partitions(set);
    let scan = |range: &KeyRange| folder.storage.scan(crate::storage::Family::Queue, &range.from, &range.until, 9_999);
    ranges.iter().flat_map(|range| scan(range).unwrap()).collect()
}

const OUT: [&str; 3] = ["moves.written", "moves.sent", "moves.let_go"];
const IN: [&str; 4] = ["moves.fetched", "moves.begun", "moves.rows", "moves.accepted"];

#[test]
fn partitions_go_to_another_member_and_back_whatever_kills_either_and_every_count_and_unit_is_what_it_was() {
    for dividend in [None, Some(Dividend::Page), Some(Dividend::Group)] {
        let two = Two::new(dividend);
        let (waiting, next_seq) = (queued(&two.a, &half()), two.a.counters().next_seq);
        assert!(waiting.len() > 20);
        let begun = begun();
        let held = two.killed(A, &begun, &OUT);
        let handed = held.hands_over(&begun, A);
        let objects: BTreeSet<_> = handed.values().cloned().collect();
        assert_eq!((handed.len(), objects.len(), held.dirty.len()), (512, 1, 0));
        let object = objects.first().unwrap();
        two.adds_up(&two.parcel(object));
        assert!(queued(&two.a, &half()).is_empty());

        let over = begun.handed_over(A, &handed).unwrap();
        assert!(two.done(A, &over).0.gone.is_empty());
        let held = two.killed(B, &over, &IN);
        assert_eq!((held.owned.clone(), held.dirty.len()), (half(), 0));
        two.b.is_sound();
        two.adds_up(&two.b);
        assert_eq!(queued(&two.b, &half()), waiting, "each with its rank and its place");
        assert!(two.b.counters().next_seq >= next_seq && two.b.counters().discovered > 50);
        assert!(!two.b.data.join("moves").exists() && !two.a.data.join("moves").exists());

        let (still, gone) = over.settled(B, &held.settles(&over, B)).unwrap();
        assert_eq!(gone.len(), 512);
        parcels::remove(&*two.store, object).unwrap();
        for (me, folder) in [(A, &two.a), (B, &two.b)] {
            two.done(me, &still);
            let before = folder.storage.sequence();
            assert_eq!((two.done(me, &still).1, folder.storage.sequence()), (Rested::default(), before));
        }

        let begun = still.begun(&half(), A).unwrap();
        let handed = two.killed(B, &begun, &OUT).hands_over(&begun, B);
        let over = begun.handed_over(B, &handed).unwrap();
        two.b.is_sound();
        assert_eq!((two.b.counters().discovered, two.b.counters().queued), (0, 0));
        two.killed(A, &over, &IN);
        two.a.is_sound();
        assert_eq!((Counters { fed: 0, ..two.a.counters() }, issued(&two.a)), two.whole);
        assert_eq!(queued(&two.a, &half()), waiting);
    }
}

#[test]
fn a_member_alone_writes_nothing() {
    let two = Two::new(None);
    let (map, before) = (Map::first("a", SEED).unwrap(), two.a.storage.sequence());
    let (share, rested) = two.rest(A, &map, &Faults::default()).unwrap();
    assert!(share.is_none() && rested == Rested::default());
    assert_eq!((two.a.side().member().unwrap(), two.a.storage.sequence()), (None, before));
}

#[test]
fn a_giver_takes_its_own_back_when_the_taker_leaves() {
    let two = Two::new(Some(Dividend::Group));
    let map = begun();
    two.killed(A, &map, &OUT);
    let back = map.leaving(B).unwrap();
    let held = two.killed(A, &back, &IN);
    assert_eq!((held.owned, held.gone.len()), (PartitionSet::all(), 0));
    two.a.is_sound();
    assert_eq!((Counters { fed: 0, ..two.a.counters() }, issued(&two.a)), two.whole);
}

#[test]
fn a_part_of_an_object_is_taken_in_and_the_rest_later() {
    for dividend in [None, Some(Dividend::Page), Some(Dividend::Group)] {
        let two = Two::new(dividend);
        let map = begun();
        let handed = two.done(A, &map).0.hands_over(&map, A);
        let (first, rest): (BTreeMap<_, _>, BTreeMap<_, _>) = handed.into_iter().partition(|(p, _)| p.0 % 2 == 0);
        let one = map.handed_over(A, &first).unwrap();
        assert_eq!(two.done(B, &one).1.taken, 256);
        two.b.is_sound();
        let all = one.handed_over(A, &rest).unwrap();
        assert_eq!(two.done(B, &all).1.taken, 256);
        two.b.is_sound();
        two.adds_up(&two.b);
    }
}

#[test]
fn a_restored_folder_gives_up_what_is_anothers() {
    let two = Two::new(Some(Dividend::Page));
    let map = begun();
    let handed = two.done(A, &map).0.hands_over(&map, A);
    let over = map.handed_over(A, &handed).unwrap();
    let older = Two {
        store: Target::Folder(two.base.path().join("store")).open(None).unwrap(),
        ..Two::new(Some(Dividend::Page))
    };
    let (held, rested) = older.done(A, &over);
    assert_eq!((held.owned, rested.given_up), (part(512, 1024), 512));
    older.a.is_sound();
    assert!(queued(&older.a, &half()).is_empty());
    assert_eq!(older.a.counters(), Counters { fed: older.a.counters().fed, ..two.a.counters() });
}

#[test]
fn a_damaged_object_is_refused_and_one_that_is_nowhere_is_told() {
    let two = Two::new(None);
    let map = begun();
    let handed = two.done(A, &map).0.hands_over(&map, A);
    let over = map.handed_over(A, &handed).unwrap();
    let there = two.base.path().join("store/moves").join(handed.values().next().unwrap());
    let table = std::fs::read_dir(there.join("db")).unwrap().map(|entry| entry.unwrap().path());
    let table = table.filter(|path| path.extension().is_some_and(|e| e == "sst")).min().unwrap();
    let good = std::fs::read(&table).unwrap();
    let mut bad = good.clone();
    bad[good.len() / 2] ^= 1;
    std::fs::write(&table, bad).unwrap();
    let refused = two.rest(B, &over, &Faults::default()).unwrap_err();
    assert!(matches!(refused, PartError::Parcel { .. }), "{refused}");
    assert_eq!(two.b.counters(), Counters::default());
    std::fs::write(&table, good).unwrap();
    std::fs::rename(there.join("PARCEL.json"), there.join("x")).unwrap();
    let (held, rested) = two.done(B, &over);
    assert_eq!((rested.missing.len(), held.owned.len()), (512, 0));
    std::fs::rename(there.join("x"), there.join("PARCEL.json")).unwrap();
    assert_eq!(two.done(B, &over).1.taken, 512);
    two.adds_up(&two.b);
}

#[test]
fn a_map_of_before_another_crawl_and_a_stranger_are_refused_and_members_are_not_split_by_hand() {
    let two = Two::new(None);
    let map = begun();
    two.done(A, &map);
    let older = Map::first("a", SEED).unwrap().joined("b", 1).unwrap().0;
    let refused = |map: &Map| two.rest(A, map, &Faults::default()).unwrap_err();
    assert!(matches!(refused(&older), PartError::OlderMap { .. }));
    assert!(matches!(refused(&Map::first("a", SEED + 1).unwrap()), PartError::OtherSeed(_)));
    assert!(matches!(refused(&Map::first("c", SEED).unwrap()), PartError::NotMember { .. }));
    assert!(matches!(split(&two.a, &two.base.path().join("d"), None), Err(PartError::Cluster(_))));
}

#[test]
fn where_the_archive_lies_goes_along() {
    let two = Two::new(None);
    let (a, b) = (two.a.side(), two.b.side());
    std::fs::create_dir_all(&a.warc).unwrap();
    std::fs::write(a.warc.join("new.warc.gz"), "abc").unwrap();
    let line =
        |file: &str, to: &str| Line { file: file.into(), bytes: 1, sha256: "x".into(), to: to.into(), ts: "t".into() };
    let sent = serde_json::to_string(&line("sent.warc.gz", "s3://x/sent.warc.gz")).unwrap();
    std::fs::write(a.data.join("uploaded.jsonl"), sent).unwrap();
    let own = serde_json::to_string(&line("own.warc.gz", "s3://x/own.warc.gz")).unwrap();
    std::fs::write(b.data.join("uploaded.jsonl"), own).unwrap();
    let (files, to) = (["new.warc.gz", "sent.warc.gz", "lost.warc.gz"], two.base.path().join("p"));
    std::fs::create_dir(&to).unwrap();
    super::files::list_places(&a, &to, &files.map(str::to_owned).into(), "s3://x/warc", UnixMillis(5)).unwrap();
    assert_eq!(super::files::take_list(&to, &b).unwrap(), 3);
    let places: Vec<_> =
        read_list(&b.data).unwrap().into_values().map(|line| (line.file, line.bytes, line.to)).collect();
    let place = |file: &str, bytes, to: &str| (file.to_owned(), bytes, to.to_owned());
    assert_eq!(
        places,
        [
            place("new.warc.gz", 3, "s3://x/warc/new.warc.gz"),
            place("own.warc.gz", 1, "s3://x/own.warc.gz"),
            place("sent.warc.gz", 1, "s3://x/sent.warc.gz")
        ]
    );
}
