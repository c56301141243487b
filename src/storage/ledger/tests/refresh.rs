//! Visits: rows where they belong, hosts by the time of their first, turns and what they owe; random lives against a recount.

use proptest::prelude::*;

use super::*;
use crate::domain::fingerprint::ContentDigest;
use crate::domain::refresh::{Habit, Pace, Refresh};
use crate::domain::visit::Visit;
use crate::storage::keys::{KeyRange, VisitHostKey};
use crate::storage::tables::{Pages, VisitHosts, Visits};

const HOUR: u64 = 3_600_000;

fn refreshing(cycle: &str) -> Bench {
    let hour = std::time::Duration::from_secs(3_600);
    let pace = Pace { pace: hour, min: hour / 60, max: hour * 24 };
    let storage = MemoryStorage::new();
    let refresh = Refresh { cycle: cycle.parse().unwrap(), pace, share: 0.5, ..Refresh::default() };
    let ledger = Ledger::open(&storage, LedgerRules { refresh, ..rules() }).unwrap();
    Bench { storage, ledger }
}

impl Bench {
    /// A page is fetched at this time, with this content.
    fn visit(&mut self, url: &NewUrl, at: u64, content: u8) -> PageRecord {
        let mut capture = PageRecord::new(&url.url, UnixMillis(at), DoneKind::Stored);
        (capture.status, capture.content) = (200, Some(ContentDigest([content; 16])));
        let Change::Page(page) = bare(url, Ending::Done(DoneKind::Stored)) else { panic!("a page") };
        let page = PageChange { status: Some(200), capture: Some(capture), ..*page };
        self.commit(&[Change::Page(Box::new(page))]);
        self.newest(url)
    }

    fn newest(&self, url: &NewUrl) -> PageRecord {
        let key = self.ledger.seen_key(&url.url);
        read::scan::<Pages>(&self.storage, &KeyRange::captures(key), 1).unwrap().remove(0).1
    }

    fn hosts_due(&self) -> Vec<VisitHostKey> {
        let rows = read::scan::<VisitHosts>(&self.storage, &KeyRange::all(), usize::MAX).unwrap();
        rows.into_iter().map(|(key, ())| key).collect()
    }

    /// The time of each host whose first visit is due by `date` has come.
    fn turn(&mut self, date: u64) -> usize {
        let due: Vec<_> = self.hosts_due().into_iter().filter(|key| key.time.0 <= date).collect();
        let revisit = Change::Revisit(due);
        let of = |ledger: &mut Ledger, txn: &mut Txn<'_>| ledger.apply(txn, &revisit, UnixMillis(date), &|_| false);
        self.write(|ledger, txn| of(ledger, txn).unwrap()).0.again.len()
    }

    /// Rows are those of URLs that are done or given up, each at the time that its newest capture names; a host's numbers are those of its
    /// rows and entries.
    fn is_sound(&self) {
        let rows = read::scan::<Visits>(&self.storage, &KeyRange::all(), usize::MAX).unwrap();
        for (key, _) in &rows {
            let next = match read::seen_state(&self.storage, key.seen()).unwrap() {
                Some(UrlState::Done { captured, .. }) => {
                    read::get::<Pages>(&self.storage, &key.seen().page(captured)).unwrap().and_then(|page| page.next)
                }
                Some(UrlState::Error { .. }) => {
                    read::get::<Failed>(&self.storage, &key.seen()).unwrap().and_then(|failed| failed.next)
                }
                other => panic!("{other:?} has a row"),
            };
            assert_eq!(next, Some(key.time));
        }
        for (seen, state) in read::scan::<Seen>(&self.storage, &KeyRange::all(), usize::MAX).unwrap() {
            let UrlState::Done { captured, .. } = state else { continue };
            let next = read::get::<Pages>(&self.storage, &seen.page(captured)).unwrap().and_then(|page| page.next);
            let there = next.is_none_or(|next| rows.iter().any(|(key, _)| *key == seen.visit(next)));
            assert!(there, "a page without its row: {next:?}");
        }
        let hosts = self.hosts_due();
        for (host, counts) in
            read::scan::<crate::storage::tables::HostCounts>(&self.storage, &KeyRange::all(), usize::MAX).unwrap()
        {
            let own: Vec<_> =
                rows.iter().filter(|(key, _)| key.host == host.host).map(|(key, row)| (key.time, row.load())).collect();
            let load = own.iter().map(|(_, load)| load).sum::<u64>();
            let own: Vec<_> = own.into_iter().map(|(time, _)| time).collect();
            let queue = KeyRange::host_crawl(host);
            let queued = read::scan::<Queue>(&self.storage, &queue, usize::MAX).unwrap();
            let queued = queued.iter().filter(|(_, entry)| entry.is_visit()).count();
            let visits = counts.visits;
            assert_eq!(
                (visits.rows, visits.queued, visits.load),
                (own.len() as u64, queued as u32, load),
                "{visits:?}"
            );
            assert!(own.iter().all(|time| *time >= visits.first), "{visits:?} {own:?}");
            let row = hosts.iter().find(|key| key.host == host.host).map(|key| key.time);
            assert_eq!(row, visits.row);
            let new_first = visits.unpaid.is_much() && counts.queued_total() > queued as u64;
            assert_eq!(row.is_some(), !own.is_empty() && queued <= 12 && !new_first, "{visits:?}");
        }
    }
}

#[test]
fn a_page_comes_back_after_its_cycle_and_not_before_and_goes_on_so() {
    let mut bench = refreshing("1h");
    let url = bench.find("http://h.test/a", 0);
    let first = bench.visit(&url, 1_000, 1).next.unwrap();
    assert!(first.0.abs_diff(1_000 + HOUR) <= HOUR / 20, "{first:?}");
    bench.is_sound();
    assert_eq!((bench.turn(first.0 - 1), bench.counts(&url).queued_total()), (0, 0));
    assert_eq!((bench.turn(first.0), bench.counts(&url).queued_total()), (1, 1));
    bench.is_sound();
    assert_eq!(entry(&bench, &url).unwrap().again.unwrap().why, RequeueReason::Cycle);
    assert_eq!(bench.turn(first.0 + HOUR), 0, "it is in hands");
    let again = bench.visit(&url, first.0 + 5, 2);
    assert_eq!((again.visit, again.habit.rate.ln > Habit::default().rate.ln), (Visit::Changed, true));
    assert!(again.next.unwrap().0 > first.0 + HOUR * 9 / 10);
    bench.is_sound();
}

#[test]
fn with_cycles_off_there_are_no_rows_and_what_had_one_loses_it_when_its_time_comes() {
    let mut off = refreshing("off");
    let url = off.find("http://h.test/a", 0);
    assert_eq!(off.visit(&url, 1_000, 1).next, None);
    assert_eq!(off.hosts_due(), []);
    let mut bench = refreshing("1h");
    let url = bench.find("http://h.test/a", 0);
    let next = bench.visit(&url, 1_000, 1).next.unwrap();
    bench.ledger.rules_are(2, None, Refresh::default());
    assert_eq!((bench.turn(next.0), bench.newest(&url).next), (0, None));
    bench.is_sound();
    assert_eq!(bench.hosts_due(), []);
}

#[test]
fn a_longer_cycle_moves_the_row_when_its_time_comes() {
    let mut bench = refreshing("1h");
    let url = bench.find("http://h.test/a", 0);
    let next = bench.visit(&url, 1_000, 1).next.unwrap();
    let refresh = Refresh { cycle: "10h".parse().unwrap(), ..Refresh::default() };
    bench.ledger.rules_are(2, None, refresh);
    assert_eq!(bench.turn(next.0), 0);
    assert!(bench.newest(&url).next.unwrap().0 > 9 * HOUR);
    bench.is_sound();
}

#[test]
fn pages_that_go_back_to_a_seed_with_a_cycle_come_back_though_cycles_are_off() {
    let mut bench = refreshing("off");
    let seed = bench.find("http://h.test/", 0);
    let said = SeedValue {
        url: seed.url.as_str().to_owned(),
        added: UnixMillis(1),
        rank: None,
        weight: None,
        max_depth: None,
        tags: Vec::new(),
        cycle: Some("2h".parse().unwrap()),
        guessed: false,
    };
    bench.commit(&[Change::Links(Box::new(LinkChange { seeds: vec![said], ..LinkChange::default() }))]);
    let mut capture = |path: &str, origin: Option<&str>| {
        let url = bench.find(&format!("http://h.test{path}"), 1);
        let mut capture = PageRecord::new(&url.url, UnixMillis(1_000), DoneKind::Stored);
        (capture.status, capture.origin) = (200, origin.map(str::to_owned));
        let Change::Page(page) = bare(&url, Ending::Done(DoneKind::Stored)) else { panic!("a page") };
        bench.commit(&[Change::Page(Box::new(PageChange { status: Some(200), capture: Some(capture), ..*page }))]);
        bench.newest(&url).next
    };
    let next = capture("/a", Some("http://h.test/")).unwrap();
    assert!(next.0.abs_diff(1_000 + 2 * HOUR) <= HOUR / 10, "{next:?}");
    assert_eq!(capture("/b", Some("http://other.test/")), None);
    bench.is_sound();
}

#[test]
fn of_pages_that_are_all_due_the_next_turn_begins_with_the_first_that_is_left_whatever_went_in_the_same_batch() {
    let mut bench = refreshing("1h");
    let urls: Vec<_> = (0..60).map(|n| bench.find(&format!("http://h.test/{n}"), 1)).collect();
    urls.iter().zip(0..).for_each(|(url, n)| _ = bench.visit(url, 1_000 + n * 60_000, 1));
    let captured = |url: &NewUrl| match bench.state(url) {
        Some(UrlState::Done { captured, .. }) => bench.ledger.seen_key(&url.url).page(captured),
        other => panic!("{other:?}"),
    };
    let again = Change::FetchAgain(urls.iter().take(3).map(captured).collect());
    let changes = [again, Change::Revisit(bench.hosts_due())];
    bench.write(|ledger, txn| {
        for change in &changes {
            ledger.apply(txn, change, UnixMillis(9 * HOUR), &|_| false).unwrap();
        }
    });
    bench.is_sound();
}

#[test]
fn other_rules_and_back_leave_every_row_as_it_was_and_nothing_is_queued() {
    let mut bench = refreshing("adapt");
    let urls: Vec<_> = (0..40).map(|n| bench.find(&format!("http://h{}.test/{n}", n % 3), n % 6)).collect();
    urls.iter().zip(0..).for_each(|(url, n)| _ = bench.visit(url, 1_000 + n * 777, 1));
    let rows = |bench: &Bench| read::scan::<Visits>(&bench.storage, &KeyRange::all(), usize::MAX).unwrap();
    let (before, adapt) = (rows(&bench), bench.ledger.rules.refresh.clone());
    let keys: Vec<_> = urls.iter().map(|url| bench.ledger.seen_key(&url.url)).collect();
    for other in ["1h", "off", "0 6 * * *"] {
        bench.ledger.rules_are(2, None, Refresh { cycle: other.parse().unwrap(), ..adapt.clone() });
        bench.commit(&[Change::Reschedule(keys.clone())]);
        bench.is_sound();
        assert_ne!(rows(&bench), before, "{other}");
        bench.ledger.rules_are(3, None, adapt.clone());
        bench.commit(&[Change::Reschedule(keys.clone())]);
        bench.is_sound();
        assert_eq!(rows(&bench), before, "{other}");
    }
    assert!(urls.iter().all(|url| entry(&bench, url).is_none()));
}

#[test]
fn a_turn_is_sixteen_visits_and_a_half_of_them_while_new_pages_wait_which_come_before_the_next() {
    let mut bench = refreshing("1h");
    let urls: Vec<_> = (0..40).map(|n| bench.find(&format!("http://h.test/{n}"), 1)).collect();
    urls.iter().for_each(|url| _ = bench.visit(url, 1_000, 1));
    assert_eq!(bench.turn(3 * HOUR), 16);
    bench.is_sound();
    let in_hand =
        |bench: &Bench| -> Vec<NewUrl> { urls.iter().filter(|url| entry(bench, url).is_some()).cloned().collect() };
    in_hand(&bench).iter().for_each(|url| _ = bench.visit(url, 3 * HOUR, 1));
    let new: Vec<_> = (0..20).map(|n| bench.find(&format!("http://h.test/new/{n}"), 1)).collect();
    assert_eq!(bench.turn(3 * HOUR), 8, "half of them");
    in_hand(&bench).iter().for_each(|url| _ = bench.visit(url, 3 * HOUR + 1, 1));
    assert_eq!((bench.turn(4 * HOUR), bench.hosts_due().len()), (0, 0), "eight new ones come first");
    new.iter().take(8).for_each(|url| _ = bench.visit(url, 4 * HOUR, 1));
    bench.is_sound();
    assert_eq!(bench.turn(4 * HOUR), 8);
}

#[test]
fn what_is_gone_is_looked_for_three_times_and_comes_back_as_back() {
    let mut bench = refreshing("1h");
    let url = bench.find("http://h.test/a", 0);
    let mut now = bench.visit(&url, 1_000, 1).next.unwrap().0;
    let gone = |bench: &mut Bench, at: u64| {
        let mut capture = PageRecord::new(&url.url, UnixMillis(at), DoneKind::Stored);
        capture.status = 404;
        let Change::Page(page) = bare(&url, Ending::Error(Failure::Status4xx)) else { panic!("a page") };
        let gone = Change::Page(Box::new(PageChange { status: Some(404), capture: Some(capture), ..*page }));
        bench.write(|ledger, txn| ledger.apply(txn, &gone, UnixMillis(at), &|_| false).map(drop).unwrap());
        let key = bench.ledger.seen_key(&url.url);
        read::get::<Failed>(&bench.storage, &key).unwrap().unwrap().next
    };
    let mut waits = Vec::new();
    assert_eq!(bench.turn(now), 1);
    while let Some(next) = gone(&mut bench, now) {
        bench.is_sound();
        waits.push((next.0 - now + HOUR / 2) / HOUR);
        now = next.0;
        assert_eq!(bench.turn(now), 1);
    }
    assert_eq!(waits.len(), 3);
    assert_eq!(waits, [1, 4, 16]);
    bench.commit(&[Change::TryAgain(vec![bench.ledger.seen_key(&url.url)])]);
    assert_eq!(bench.visit(&url, now + 9, 1).visit, Visit::Back);
    bench.is_sound();
}

proptest! {
    #[test]
    fn whatever_is_done_to_pages_their_rows_and_the_numbers_of_their_hosts_are_true(
        steps in prop::collection::vec((0_u8..7, 0_usize..12, 0_u64..3 * HOUR), 1..60), adapt: bool,
    ) {
        let mut bench = refreshing(if adapt { "adapt" } else { "1h" });
        let urls: Vec<_> = (0..12).map(|n| bench.find(&format!("http://h{}.test/{n}", n % 3), 1)).collect();
        let mut now = 1_000;
        for (step, which, passes) in steps {
            let url = &urls[which];
            let key = bench.ledger.seen_key(&url.url);
            let waits = entry(&bench, url).is_some();
            match step {
                0 | 1 if waits => _ = bench.visit(url, now, step),
                2 if waits => _ = bench.commit(&[bare(url, Ending::Error(Failure::Reset))]),
                3 => _ = bench.turn(now),
                4 => _ = bench.commit(&[Change::TryAgain(vec![key])]),
                5 => if let Some(UrlState::Done { captured, .. }) = bench.state(url) {
                    bench.commit(&[Change::FetchAgain(vec![key.page(captured)])]);
                },
                6 if waits => {
                    let at = UnixMillis(now + 5);
                    bench.commit(&[bare(url, Ending::Retry { at, reason: Failure::Reset })]);
                    bench.commit(&[Change::Promote(vec![key.due(at)])]);
                }
                _ => {}
            }
            now += passes + 1;
            bench.is_sound();
        }
    }
}

#[test]
fn pages_of_a_host_whose_sitemaps_proved_true_come_four_times_as_seldom_until_they_prove_untrue() {
    let mut bench = refreshing("adapt");
    let url = bench.find("http://h.test/a", 0);
    let mut at = 1_000;
    bench.visit(&url, at, 0);
    let announced = |bench: &mut Bench, at: u64, content: u8| {
        let new = NewUrl { lastmod: Some(UnixMillis(at)), ..url.clone() };
        let captured = bench.newest(&url).fetched;
        let again = KnownUrl { new, captured, why: RequeueReason::Lastmod };
        let links = LinkChange { again: vec![again], ..LinkChange::default() };
        bench.commit(&[of_links(links)]);
        bench.visit(&url, at, content)
    };
    for n in 1..20 {
        at += HOUR;
        let page = announced(&mut bench, at, n);
        assert!(page.habit.named && page.visit == Visit::Changed);
    }
    let stretched = |bench: &Bench| {
        let page = bench.newest(&url);
        bench.counts(&url).visits.stretched_for(&page.habit)
    };
    assert_eq!(stretched(&bench), 1.0);
    announced(&mut bench, at + HOUR, 20);
    assert_eq!((stretched(&bench), bench.counts(&url).visits.announced.proved), (4.0, 20));
    for n in 1..4 {
        announced(&mut bench, at + HOUR + n, 20); // nothing has changed
    }
    assert_eq!(stretched(&bench), 1.0);
    bench.is_sound();
    let next = bench.newest(&url).next.unwrap().0;
    bench.turn(next);
    bench.visit(&url, next, 77);
    assert_eq!(bench.counts(&url).visits.announced.missed, 1, "its cycle found what no date had told");
}
