//! A crawl in two parts: what one finds for the other, and what that takes in.

use super::*;
use crate::domain::cluster::map::{Map, MemberId};
use crate::domain::credit::SEED;
use crate::domain::partition::Partition;
use crate::storage::keys::{HostAt, RowKey};
use crate::storage::share::Share;
use crate::storage::tables::Outbox;
use crate::storage::values::{CreditState, Handed, HandedLinks, Membership, NoteHost, OutboxRow};

const A: MemberId = MemberId(0);
const B: MemberId = MemberId(1);
const HERE: &str = "http://a.test/";
const THERE: &str = "http://b.test/";

/// The ledger of the member who has `a.test`, or of the one who has `b.test`.
fn part(own: MemberId, credit: bool) -> Bench {
    let (map, _) = Map::first("n1", 3).unwrap().joined("n2", 1).unwrap();
    let map = map.given(&[Partition::of_host("b.test")].into_iter().collect(), B);
    let text = String::from_utf8(map.text()).unwrap();
    let member = Membership { map: text, own, also: vec![], work: None, merged: None, lines: None, held: None };
    let rules = LedgerRules {
        share: Some(Arc::new(Share::of(&member).unwrap())),
        credit: credit.then(CreditRules::default),
        ..rules()
    };
    let storage = MemoryStorage::new();
    let ledger = Ledger::open(&storage, rules).unwrap();
    Bench { storage, ledger }
}

fn foreign(url: &str, depth: u16, origin: &str) -> ForeignUrl {
    let new = NewUrl { via: Some(HERE.into()), origin: Some(origin.into()), hops: 2, ..new(url, depth) };
    ForeignUrl { new, refused: None, units: 0 }
}

fn rows(bench: &Bench) -> Vec<(RowKey, OutboxRow)> {
    read::scan::<Outbox>(&bench.storage, &crate::storage::keys::KeyRange::all(), 100).unwrap()
}

/// What the commit of a page says that was done, and led there.
fn done(page: &NewUrl, foreign: Vec<ForeignUrl>) -> Change {
    let Change::Page(mut change) = bare(page, Ending::Done(DoneKind::Unstored)) else { unreachable!() };
    change.links.foreign = foreign;
    Change::Page(change)
}

/// What the other makes of a row, all of which is admitted and new.
fn taken(bench: &Bench, row: RowKey, HandedLinks { links, said }: HandedLinks) -> Change {
    let all: Vec<ForeignUrl> = links.into_iter().filter_map(ForeignUrl::of).collect();
    let note = |foreign: &ForeignUrl| {
        let SeenKey { partition, host, url, .. } = bench.ledger.seen_key(&foreign.new.url);
        let domain = HostAt::domain(&bench.ledger.rules.prints, foreign.new.url.host());
        (foreign.units, vec![NoteHost { partition, host, domain, pages: vec![url] }])
    };
    let credit = all.iter().filter(|foreign| foreign.units > 0).map(note).collect();
    let new = all.into_iter().map(|foreign| foreign.new).collect();
    let links = LinkChange { new, seeds: said, ..LinkChange::default() };
    Change::TakeIn(Box::new(TakenIn { row, links, credit }))
}

#[test]
fn a_link_to_anothers_host_becomes_a_row_for_it_with_all_that_it_cannot_know_and_counts_nowhere_here() {
    let mut bench = part(A, false);
    let seed = SeedValue { tags: vec!["x".into()], ..said(HERE) };
    let page = NewUrl { seed: true, ..new(HERE, 0) };
    bench.commit(&[of_links(LinkChange {
        new: vec![page.clone()],
        seeds: vec![seed.clone()],
        ..LinkChange::default()
    })]);
    let before = bench.ledger.committed().discovered;
    let links = vec![foreign(THERE, 3, HERE), foreign("http://b.test/2", 1, HERE)];
    bench.commit(&[
        done(&page, links.clone()),
        of_links(LinkChange { foreign: vec![foreign("http://b.test/3", 1, HERE)], ..LinkChange::default() }),
    ]);
    let rows = rows(&bench);
    assert_eq!(rows.len(), 1, "one row a member and batch");
    assert_eq!(rows[0].0, RowKey { from: A, to: B, number: NOW.0 });
    let HandedLinks { links: handed, said } = rows[0].1.unpack().unwrap();
    assert_eq!(said, [SeedValue { added: NOW, ..seed }], "once, what is said of the seed they go back to");
    let back: Vec<ForeignUrl> = handed.into_iter().filter_map(ForeignUrl::of).collect();
    assert_eq!(back[..2], links[..]);
    assert_eq!((back.len(), bench.ledger.committed().discovered), (3, before));
    assert_eq!(bench.state(&links[0].new), None);
    let handed: Handed = read::meta(&bench.storage, ()).unwrap().unwrap();
    let to = handed.out[&B].clone();
    assert_eq!((to.next, to.rows, to.links, to.bytes), (NOW.0 + 1, 1, 3, rows[0].1.packed.len() as u64));
}

fn said(url: &str) -> SeedValue {
    SeedValue {
        url: url.into(),
        added: UnixMillis(0),
        rank: None,
        weight: None,
        max_depth: None,
        tags: vec![],
        cycle: None,
        guessed: false,
    }
}

#[test]
fn the_number_of_a_row_is_its_time_or_the_next_one() {
    let mut bench = part(A, false);
    let find = |n: u64| {
        of_links(LinkChange { foreign: vec![foreign(&format!("{THERE}{n}"), 1, HERE)], ..LinkChange::default() })
    };
    (0..3).for_each(|n| drop(bench.commit(&[find(n)])));
    let numbers: Vec<u64> = rows(&bench).iter().map(|(key, _)| key.number - NOW.0).collect();
    assert_eq!(numbers, [0, 1, 2], "of one millisecond");
}

#[test]
fn what_the_door_took_for_its_own_is_handed_over_all_the_same() {
    let mut bench = part(A, false);
    let astray = new(THERE, 1);
    let turned = vec![RejectedUrl { new: new("http://b.test/2", 1), reason: Rejection::Scope }];
    let done = bench.apply(&of_links(LinkChange { new: vec![astray.clone()], turned, ..LinkChange::default() }));
    assert_eq!((done.settled.len(), bench.ledger.committed().discovered, bench.state(&astray)), (2, 0, None));
    let HandedLinks { links, .. } = rows(&bench)[0].1.unpack().unwrap();
    assert_eq!(links.iter().map(|link| link.refused).collect::<Vec<_>>(), [None, None], "the owner judges");
}

#[test]
fn a_row_counts_once_however_often_it_comes() {
    let (mut a, mut b) = (part(A, false), part(B, false));
    let page = a.find(HERE, 0);
    a.commit(&[done(&page, vec![foreign(THERE, 1, HERE)])]);
    let (key, row) = rows(&a).remove(0);
    let mut put = crate::storage::Batch::new();
    put.put::<Outbox>(&key, &row);
    b.storage.write(&put).unwrap();
    let change = taken(&b, key, row.unpack().unwrap());
    assert!(!b.apply(&change).void);
    assert!(b.apply(&change).void);
    assert!(rows(&b).is_empty());
    let counters = b.ledger.committed();
    assert_eq!((counters.discovered, counters.queued), (1, 1));
}

#[test]
fn credit_goes_along_with_a_link_and_both_sides_add_up_to_the_unit() {
    let (mut a, mut b) = (part(A, true), part(B, true));
    let page = NewUrl { seed: true, ..new(HERE, 0) };
    a.commit(&[of_links(LinkChange { new: vec![page.clone()], seeds: vec![said(HERE)], ..LinkChange::default() })]);
    let nofollow = ForeignUrl { refused: Some(Rejection::Nofollow), ..foreign("http://b.test/no", 1, HERE) };
    a.commit(&[done(&page, vec![foreign(THERE, 1, HERE), nofollow, foreign("http://b.test/2", 1, HERE)])]);
    let of = |bench: &Bench| read::meta::<CreditState>(&bench.storage, CrawlId::default()).unwrap().unwrap().sums;
    let (key, row) = rows(&a).remove(0);
    let handed = row.unpack().unwrap();
    let units: Vec<u128> = handed.links.iter().map(|link| link.units).collect();
    let share = (SEED - SEED / 10) / 2;
    assert_eq!(units, [share, 0, share]);
    assert_eq!((of(&a).difference(), of(&a).issued, of(&a).notes), (0, SEED - 2 * share, 0));
    let mut put = crate::storage::Batch::new();
    put.put::<Outbox>(&key, &row);
    b.storage.write(&put).unwrap();
    let change = taken(&b, key, handed);
    b.commit(&[change.clone(), change]);
    assert_eq!((of(&b).difference(), of(&b).issued, of(&b).notes), (0, 2 * share, 2 * share));
}

#[test]
fn a_crawl_that_is_whole_has_no_record_of_members_and_no_row() {
    let mut bench = Bench::new();
    let page = bench.find(HERE, 0);
    bench.commit(&[done(&page, vec![])]);
    assert!(rows(&bench).is_empty());
    assert_eq!(read::meta::<Handed>(&bench.storage, ()).unwrap(), None);
    assert_eq!(read::meta::<Membership>(&bench.storage, ()).unwrap(), None);
}
