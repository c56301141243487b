//! A folder of the ledger's own making is taken apart and put together, with a kill at every fault point.

#![cfg(feature = "rocksdb")]

mod moving;

use std::sync::Arc;

use super::*;
use crate::base::fault::{Fault, Faults};
use crate::base::time::UnixMillis;
use crate::domain::cluster::map::MemberId;
use crate::domain::credit::{CreditRules, Dividend};
use crate::domain::fingerprint::Fingerprinter;
use crate::domain::rank::{Order, Ranker};
use crate::domain::reason::{Failure, Rejection};
use crate::domain::url::{Canonicaliser, CleanRules, PageUrl};
use crate::recovery::check::{Check, CheckRules};
use crate::storage::keys::{KeyRange, RowKey};
use crate::storage::ledger::{
    Change, Ending, ForeignUrl, Ledger, LedgerRules, LinkChange, NewUrl, PageChange, TakenIn,
};
use crate::storage::values::{Counters, CreditState, DoneKind, NoteHost, PageRecord, SeedValue};
use crate::storage::{RocksOptions, RocksStorage};

const SEED: u64 = 9;
const HOSTS: usize = 40;

struct Folder {
    storage: RocksStorage,
    data: PathBuf,
}

impl Folder {
    fn open(data: PathBuf) -> Self {
        let options = RocksOptions { memory: 16 << 20, seed: Some(SEED), ..RocksOptions::default() };
        Self { storage: RocksStorage::open(&data, options).unwrap(), data }
    }

    fn side(&self) -> Side<'_> {
        Side { storage: &self.storage, data: self.data.clone(), warc: self.data.join("warc") }
    }

    fn counters(&self) -> Counters {
        rows::counters_of(&self.side()).unwrap()
    }

    fn credit(&self) -> Option<CreditState> {
        read::meta(&self.storage, CRAWL).unwrap()
    }

    /// Nothing is wrong in it.
    fn is_sound(&self) {
        let canon = Canonicaliser::new(CleanRules::default());
        let check = Check {
            rules: CheckRules { record_rejected: true, ranker: ranker(), canon },
            archive: None,
            derived: vec![],
            full: false,
        };
        let report = check.check(&self.storage, &mut |_| {}).unwrap();
        assert!(report.is_clean(), "{:?}", report.findings);
    }

    fn share(&self) -> Share {
        Share::load(&self.storage).unwrap().unwrap()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        self.storage.close();
    }
}

fn ranker() -> Ranker {
    Ranker::new(Order::Best, vec![10.0, 8.0, 5.0, 2.0, 0.5], 8)
}

fn rules(storage: &dyn Storage, dividend: Option<Dividend>) -> LedgerRules {
    LedgerRules {
        crawl: CRAWL,
        prints: Fingerprinter::new(SEED),
        ranker: ranker(),
        keep_rejected: true,
        generation: 1,
        max_depth: None,
        refresh: crate::domain::refresh::Refresh::default(),
        priorities: Arc::default(),
        credit: dividend.map(|dividend| CreditRules { dividend, ..CreditRules::default() }),
        share: Share::load(storage).unwrap().map(Arc::new),
    }
}

fn url(host: usize, n: usize) -> PageUrl {
    PageUrl::from_canonical(&format!("http://h{host}.test/p{n}")).unwrap()
}

fn said(host: usize) -> SeedValue {
    SeedValue {
        url: url(host, 0).as_str().to_owned(),
        added: UnixMillis(0),
        rank: None,
        weight: None,
        max_depth: None,
        tags: vec![],
        cycle: None,
        guessed: false,
    }
}

/// A seed that is done, given up or turned away, with what it leads to.
fn page(ledger: &Ledger, host: usize) -> Change {
    let seed = NewUrl::seed(url(host, 0));
    let found: Vec<NewUrl> = (0..3)
        .flat_map(|next| (1..4).map(move |n| NewUrl::link(url((host + next) % HOSTS, 10 * host + n), 1)))
        .collect();
    let linked = found.iter().map(|new| {
        let key = ledger.seen_key(&new.url);
        let at = crate::storage::keys::HostAt::of(&Fingerprinter::new(SEED), new.url.host());
        let domain = crate::storage::keys::HostAt::domain(&Fingerprinter::new(SEED), new.url.host());
        NoteHost { partition: at.partition, host: at.host, domain, pages: vec![key.url] }
    });
    let (linked, turned) = (linked.collect(), Vec::new());
    let links = LinkChange { new: found, linked, turned, ..LinkChange::default() };
    let (failed, away) = (host % 7 == 3, host % 7 == 5);
    let ending = match (failed, away) {
        (true, _) => Ending::Error(Failure::ConnectTimeout),
        (_, true) => Ending::Rejected(Rejection::Robots),
        _ => Ending::Done(DoneKind::Unstored),
    };
    let done = matches!(ending, Ending::Done(_));
    let capture = done.then(|| PageRecord {
        status: 200,
        mime: Some(format!("text/{}", host % 3)),
        bytes: 100,
        ..PageRecord::new(&seed.url, UnixMillis(900), DoneKind::Unstored)
    });
    let page = PageChange {
        taken: seed.reach(),
        reach: seed.reach(),
        url: seed.url,
        ending,
        status: None,
        capture,
        first_with: None,
        links,
        pace: None,
    };
    Change::Page(Box::new(page))
}

/// Seeds, one of each host, that are done, lead to three URLs on each of three hosts, and give them credit.
fn fill(folder: &Folder, dividend: Option<Dividend>) {
    let storage = &folder.storage;
    let mut ledger = Ledger::open(storage, rules(storage, dividend)).unwrap();
    let commit = |ledger: &mut Ledger, change: &Change| {
        let mut txn = Txn::new(storage);
        ledger.apply(&mut txn, change, UnixMillis(1_000), &|_| false).unwrap();
        ledger.seal(&mut txn).unwrap();
        storage.write(&txn.into_batch()).unwrap();
        ledger.commit();
    };
    let seeds = (0..HOSTS).map(|host| NewUrl::seed(url(host, 0))).collect();
    let links = LinkChange { new: seeds, seeds: (0..HOSTS).map(said).collect(), ..LinkChange::default() };
    commit(&mut ledger, &Change::Links(Box::new(links)));
    for host in 0..HOSTS {
        let page = page(&ledger, host);
        commit(&mut ledger, &page);
    }
    storage.sync().unwrap();
}

fn split_of<'s>(from: &'s Folder, to: &std::path::Path, faults: Faults) -> Split<'s> {
    Split {
        from: from.side(),
        to: to.to_owned(),
        choice: Choice::Share(1, 2),
        own_name: "n1".into(),
        name: None,
        command: "lycosa split A B".into(),
        now: UnixMillis(5),
        faults,
    }
}

/// Splits; at the fault point it fails, as a kill there would leave it.
fn split(from: &Folder, to: &std::path::Path, point: Option<&str>) -> Result<Folder> {
    let faults = Faults::default();
    point.iter().for_each(|point| faults.set(point, Fault::Error, 1, 1));
    let split = split_of(from, to, faults);
    let plan = split.plan()?;
    let to = Folder::open(to.to_owned());
    split.run(plan, &to.side(), &mut |_, _| {})?;
    Ok(to)
}

const OF_SPLIT: [&str; 8] = [
    "part.noted",
    "part.begun",
    "part.rows",
    "part.files",
    "part.built",
    "part.given",
    "part.released",
    "part.cleared",
];
const OF_MERGE: [&str; 6] =
    ["part.merging", "part.leaving", "part.taken", "part.carried", "part.accepted", "part.merged"];

fn sum(a: &Counters, b: &Counters) -> Counters {
    let mut sum = rows::added(a, b);
    sum.fed = 0;
    sum
}

fn merge(into: &Folder, from: &Folder, point: Option<&str>) -> Result<Merged> {
    let faults = Faults::default();
    point.iter().for_each(|point| faults.set(point, Fault::Error, 1, 1));
    let command = "lycosa merge A B".into();
    Merge { into: into.side(), from: from.side(), command, faults }.run(&mut |_, _| {})
}

#[test]
fn a_folder_is_taken_apart_and_put_together_whatever_kills_it_and_every_count_and_unit_is_what_it_was() {
    for dividend in [None, Some(Dividend::Page), Some(Dividend::Group)] {
        let base = tempfile::tempdir().unwrap();
        let (a, b) = (Folder::open(base.path().join("a")), base.path().join("b"));
        fill(&a, dividend);
        a.is_sound();
        let (before, issued) = (Counters { fed: 0, ..a.counters() }, a.credit().map(|credit| credit.sums));
        for point in OF_SPLIT {
            let failed = split(&a, &b, Some(point)).err().unwrap_or_else(|| panic!("{point} is not passed"));
            assert!(matches!(failed, PartError::Injected(_)), "{point}: {failed}");
            assert!(crate::storage::share::may_go_on(&a.storage).is_err(), "{point}");
            if point == "part.given" {
                assert!(matches!(abandon(&a.side()), Err(PartError::TooLate)));
            }
        }
        let to = split(&a, &b, None).unwrap();
        assert!(crate::storage::share::may_go_on(&a.storage).is_ok());
        assert!(crate::storage::share::may_go_on(&to.storage).is_ok());
        a.is_sound();
        to.is_sound();
        assert_eq!(sum(&a.counters(), &to.counters()), before);
        assert!(a.counters().discovered > 50 && to.counters().discovered > 50);
        assert_eq!((a.share().mine().len() + to.share().mine().len(), a.share().map), (1024, to.share().map));
        if let Some(was) = issued {
            let (one, two) = (a.credit().unwrap().sums, to.credit().unwrap().sums);
            assert_eq!((one.difference(), two.difference(), one.issued + two.issued), (0, 0, was.issued));
        }
        for point in OF_MERGE {
            let failed = merge(&a, &to, Some(point)).err().unwrap_or_else(|| panic!("{point} is not passed"));
            assert!(matches!(failed, PartError::Injected(_)), "{point}: {failed}");
            assert!(crate::storage::share::may_go_on(&a.storage).is_err(), "{point}");
        }
        merge(&a, &to, None).unwrap();
        a.is_sound();
        assert_eq!(Counters { fed: 0, ..a.counters() }, before);
        let merged = crate::storage::share::may_go_on(&to.storage).unwrap_err().to_string();
        assert!(merged.contains("merged into member n1"), "{merged}");
        if let Some(was) = issued {
            let is = a.credit().unwrap().sums;
            assert_eq!((is.difference(), is.issued, is.lambda, is.notes), (0, was.issued, was.lambda, was.notes));
        }
        assert_eq!(a.share().mine(), &PartitionSet::all());
    }
}

#[test]
fn a_split_that_is_taken_back_leaves_the_folder_as_it_was() {
    let base = tempfile::tempdir().unwrap();
    let (a, b) = (Folder::open(base.path().join("a")), base.path().join("b"));
    fill(&a, None);
    let before = a.counters();
    assert!(split(&a, &b, Some("part.built")).is_err());
    assert_eq!(abandon(&a.side()).unwrap(), Some(b));
    assert_eq!((a.counters(), a.side().member().unwrap()), (before, None));
    a.is_sound();
}

#[test]
fn what_cannot_be_parted_is_refused_and_left_as_it_is() {
    let base = tempfile::tempdir().unwrap();
    let (a, b) = (Folder::open(base.path().join("a")), base.path().join("b"));
    fill(&a, None);
    std::fs::create_dir(&b).unwrap();
    std::fs::write(b.join("thesis.txt"), "x").unwrap();
    assert!(matches!(split(&a, &b, None), Err(PartError::Taken(_))));
    assert_eq!(a.side().member().unwrap(), None);
    let c = split(&a, &base.path().join("c"), None).unwrap();
    assert!(matches!(split(&c, &base.path().join("d"), None), Err(PartError::NotFirst { .. })));
    let d = split(&a, &base.path().join("d"), None).unwrap();
    assert_eq!((d.share().own, d.share().map.members.len()), (MemberId(2), 3));
    let other = Folder::open(base.path().join("other"));
    assert!(matches!(merge(&a, &other, None), Err(PartError::Whole(_))));
    merge(&d, &a, None).unwrap();
    d.is_sound();
    merge(&d, &c, None).unwrap();
    d.is_sound();
    assert_eq!(d.share().mine(), &PartitionSet::all());
}

/// A folder finds URLs of all hosts of the other, and hands them over in one row. `n`: which ones, and when. Gives how many.
fn find(folder: &Folder, n: u64) -> u64 {
    let mut ledger = Ledger::open(&folder.storage, rules(&folder.storage, None)).unwrap();
    let share = folder.share();
    let foreign = (0..HOSTS)
        .map(|host| url(host, 1_000 + n as usize))
        .filter(|url| share.foreign(crate::domain::partition::Partition::of_host(url.host())).is_some())
        .map(|url| ForeignUrl { new: NewUrl::link(url, 2), refused: None, units: 0 })
        .collect::<Vec<_>>();
    let found = foreign.len() as u64;
    let mut txn = Txn::new(&folder.storage);
    let links = LinkChange { foreign, ..LinkChange::default() };
    ledger.apply(&mut txn, &Change::Links(Box::new(links)), UnixMillis(n), &|_| false).unwrap();
    ledger.seal(&mut txn).unwrap();
    folder.storage.write(&txn.into_batch()).unwrap();
    found
}

/// Which of the finds came to a folder, each whole.
fn came(folder: &Folder, of: &[(u64, u64)]) -> Vec<u64> {
    let rows = read::scan::<crate::storage::tables::Outbox>(&folder.storage, &KeyRange::all(), 100).unwrap();
    let links = rows.iter().flat_map(|(_, row)| row.unpack().unwrap().links);
    let urls: std::collections::BTreeSet<String> = links.map(|link| link.url).collect();
    let whole = |(n, links): &&(u64, u64)| {
        urls.iter().filter(|url| url.ends_with(&format!("/p{}", 1_000 + n))).count() as u64 == *links
    };
    of.iter().filter(whole).map(|(n, _)| *n).collect()
}

/// A copy of a folder as it is now, as a checkpoint would have it.
fn kept(folder: Folder, to: &std::path::Path) -> Folder {
    let data = folder.data.clone();
    drop(folder);
    copy(&data, to);
    Folder::open(data)
}

fn put_back(folder: Folder, kept: &std::path::Path) -> Folder {
    let data = folder.data.clone();
    drop(folder);
    std::fs::remove_dir_all(&data).unwrap();
    copy(kept, &data);
    Folder::open(data)
}

fn copy(from: &std::path::Path, to: &std::path::Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap().map(|entry| entry.unwrap()) {
        let to = to.join(entry.file_name());
        match entry.path().is_dir() {
            true => copy(&entry.path(), &to),
            false => drop(std::fs::copy(entry.path(), to).unwrap()),
        }
    }
}

/// Writes what one has for the other, and brings it. Gives the rows that were news.
fn carry(from: &Folder, to: &Folder, dir: &std::path::Path) -> Result<u64> {
    let written = links::export(&from.side(), dir)?.remove(0);
    Ok(links::import(&to.side(), &written.file)?.rows)
}

#[test]
fn a_sender_that_is_put_back_gives_no_number_again_and_nothing_of_what_it_finds_then_is_passed_over() {
    let base = tempfile::tempdir().unwrap();
    let (dir, checkpoint) = (base.path().join("carried"), base.path().join("checkpoint"));
    let a = Folder::open(base.path().join("a"));
    fill(&a, None);
    let b = split(&a, &base.path().join("b"), None).unwrap();
    let mut all = vec![(1, find(&a, 1))];
    let a = kept(a, &checkpoint);
    all.extend([2, 3].map(|n| (n, find(&a, n))));
    assert_eq!(carry(&a, &b, &dir).unwrap(), 3);
    carry(&b, &a, &dir).unwrap();
    let a = put_back(a, &checkpoint);
    all.push((4, find(&a, 4)));
    assert_eq!(carry(&a, &b, &dir).unwrap(), 1, "the one that both have is known, the one of now is not");
    // The same once it was told what the other has; that is more than it knows of.
    carry(&b, &a, &dir).unwrap();
    let a = put_back(a, &checkpoint);
    carry(&b, &a, &dir).unwrap();
    all.push((1, all[0].1));
    all.push((2, find(&a, 2))); // by a clock that was put back: above what the other says it has all the same
    all.push((5, find(&a, 5)));
    assert_eq!(carry(&a, &b, &dir).unwrap(), 2);
    assert_eq!(came(&b, &all), all.iter().map(|(n, _)| *n).collect::<Vec<_>>());
    a.is_sound();
    b.is_sound();
    merge(&a, &b, None).unwrap();
    assert_eq!(came(&a, &all), all.iter().map(|(n, _)| *n).collect::<Vec<_>>());
    a.is_sound();
}

#[test]
fn a_receiver_that_is_put_back_says_so_and_is_given_all_rows_again() {
    let base = tempfile::tempdir().unwrap();
    let (dir, checkpoint) = (base.path().join("carried"), base.path().join("checkpoint"));
    let a = Folder::open(base.path().join("a"));
    fill(&a, None);
    let b = kept(split(&a, &base.path().join("b"), None).unwrap(), &checkpoint);
    let mut all: Vec<_> = [1, 2].map(|n| (n, find(&a, n))).into();
    assert_eq!(carry(&a, &b, &dir).unwrap(), 2);
    carry(&b, &a, &dir).unwrap();
    all.push((3, find(&a, 3)));
    let b = put_back(b, &checkpoint);
    let refused = carry(&a, &b, &dir).unwrap_err().to_string();
    assert!(refused.contains("carry what n2 exports now to n1"), "{refused}");
    assert!(came(&b, &all).is_empty());
    carry(&b, &a, &dir).unwrap();
    assert_eq!(carry(&a, &b, &dir).unwrap(), 3);
    assert_eq!(came(&b, &all), [1, 2, 3]);
    a.is_sound();
    b.is_sound();
}

#[test]
fn what_somebody_else_put_into_the_new_folder_after_a_kill_is_not_touched() {
    let base = tempfile::tempdir().unwrap();
    let (a, b) = (Folder::open(base.path().join("a")), base.path().join("b"));
    fill(&a, None);
    assert!(split(&a, &b, Some("part.noted")).is_err());
    let refused = crate::storage::share::may_go_on(&a.storage).unwrap_err().to_string();
    assert!(refused.contains("lycosa split A B") && refused.contains("--abandon"), "{refused}");
    let crawls: [&dyn Fn(); 4] = [
        &|| {
            drop(
                RocksStorage::open(&b, RocksOptions { seed: Some(SEED + 1), ..RocksOptions::default() })
                    .map(|s| s.close()),
            )
        },
        &|| fill(&Folder::open(b.clone()), None), // with the same seed: a copy
        &|| copy(&a.data.join("db"), &b.join("db")), // no marker
        &|| {},
    ];
    for (nth, crawl) in crawls.iter().enumerate() {
        std::fs::create_dir_all(b.join("warc")).unwrap();
        std::fs::remove_dir_all(&b).unwrap();
        std::fs::create_dir_all(&b).unwrap();
        crawl();
        std::fs::create_dir_all(b.join("warc")).unwrap();
        std::fs::write(b.join("warc/1.warc.gz"), "x").unwrap();
        std::fs::write(b.join("crawl.jsonl"), "{}\n").unwrap();
        assert!(matches!(split(&a, &b, None), Err(PartError::NotOurs { .. })), "{nth}");
        assert!(b.join("warc/1.warc.gz").exists() && b.join("crawl.jsonl").exists(), "{nth}");
    }
    std::fs::remove_dir_all(&b).unwrap();
    // What was begun before its note was written is this split's own.
    drop(Folder::open(b.clone()));
    split(&a, &b, None).unwrap().is_sound();
    a.is_sound();
}

#[test]
fn a_folder_in_the_other_or_one_that_cannot_be_made_is_refused_before_anything_is_noted() {
    let base = tempfile::tempdir().unwrap();
    let a = Folder::open(base.path().join("over/a"));
    fill(&a, None);
    let (file, link) = (base.path().join("file"), base.path().join("link"));
    std::fs::write(&file, "x").unwrap();
    std::os::unix::fs::symlink(&a.data, &link).unwrap();
    for within in [a.data.join("sub"), a.data.join("x/y"), link.join("sub"), base.path().join("over"), a.data.clone()] {
        assert!(matches!(split(&a, &within, None), Err(PartError::Within(..))), "{within:?}");
    }
    for unmade in [file.clone(), file.join("b")] {
        assert!(matches!(split(&a, &unmade, None), Err(PartError::NotMade { .. })), "{unmade:?}");
    }
    assert_eq!(a.side().member().unwrap(), None);
}

#[test]
fn links_are_carried_by_file_once_and_in_order_and_what_is_merged_is_taken_in() {
    let base = tempfile::tempdir().unwrap();
    let a = Folder::open(base.path().join("a"));
    fill(&a, None);
    let b = split(&a, &base.path().join("b"), None).unwrap();
    let (dir, first) = (base.path().join("carried"), find(&a, 1));
    let early = links::export(&a.side(), &dir).unwrap().remove(0);
    assert_eq!((early.rows, early.links, early.to.as_str()), (1, first, "n2"));
    let kept = std::fs::read(&early.file).unwrap();
    let second = find(&a, 2);
    let late = links::export(&a.side(), &dir).unwrap().remove(0);
    assert_eq!((late.rows, late.links), (2, first + second));
    let brought = |rows| links::import(&b.side(), &late.file).map(|b| (b.rows, b.known)).unwrap() == rows;
    assert!(brought((2, 0)) && brought((0, 2)));
    assert!(matches!(links::import(&a.side(), &late.file), Err(PartError::Links { .. })), "they are for the other");
    // b says what it has; from then on a writes the rest only.
    let back = links::export(&b.side(), &dir).unwrap().remove(0);
    assert_eq!((back.rows, links::import(&a.side(), &back.file).unwrap().rows), (0, 0));
    find(&a, 3);
    let rest = links::export(&a.side(), &dir).unwrap().remove(0);
    assert_eq!(rest.rows, 1);
    let mut damaged = kept.clone();
    let middle = damaged.len() / 2;
    damaged[middle] ^= 1;
    for (bytes, why) in [(damaged, "damaged"), (kept[..kept.len() - 1].to_vec(), "damaged"), (vec![], "damaged")] {
        std::fs::write(base.path().join("x"), bytes).unwrap();
        let refused = links::import(&b.side(), &base.path().join("x")).unwrap_err().to_string();
        assert!(refused.contains(why), "{refused}");
    }
    for (path, why) in [(base.path().join("none"), "no such file"), (dir.clone(), "a folder")] {
        let refused = links::import(&b.side(), &path).unwrap_err();
        assert!(matches!(&refused, PartError::Links { problem, .. } if problem.contains(why)), "{refused}");
    }
    find(&b, 4);
    a.is_sound();
    b.is_sound();
    let mut ledger = Ledger::open(&b.storage, rules(&b.storage, None)).unwrap();
    let mut txn = Txn::new(&b.storage);
    let row = RowKey { from: MemberId(0), to: MemberId(1), number: 1 };
    let taken = Change::TakeIn(Box::new(TakenIn { row, links: LinkChange::default(), credit: vec![] }));
    assert!(!ledger.apply(&mut txn, &taken, UnixMillis(1), &|_| false).unwrap().void);
    ledger.seal(&mut txn).unwrap();
    b.storage.write(&txn.into_batch()).unwrap();
    let merged = merge(&a, &b, None).unwrap();
    a.is_sound();
    // The row that b has for a, the one that a still had for b, and the other of the two that b was brought.
    assert_eq!(merged.rows_to_take_in, 3);
    assert!(links::waiting(&a.storage, &a.share()).unwrap().is_empty());
}
