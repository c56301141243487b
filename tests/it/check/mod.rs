//! `lycosa check` as a library: each damage is found under its name, mended, and the crawl then ends with the truth.

mod damaged_counts;
mod damaged_files;
mod damaged_urls;
mod found;
mod killed;
mod random;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use std::time::Duration;

use lycosa::domain::fingerprint::CrawlId;
use lycosa::domain::revisit::RequeueReason;
use lycosa::domain::url::PageUrl;
use lycosa::recovery::check::{Fault, Report};
use lycosa::storage::keys::{KeyRange, PageKey, SeenKey};
use lycosa::storage::tables::{self, MetaRecord, Table};
use lycosa::storage::values::{Counters, LastTime, NearerValue, PageRecord, QueueEntry, UrlState};
use lycosa::storage::{Batch, MemoryStorage, Storage, read};
use lycosa::testweb::TestWebConfig;

use crate::support::{Fork, Sandbox, checker, fsck};

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
    let sandbox =
        Sandbox::new(web()).gap(Duration::from_millis(5)).set("fetch.retry_delays=[\"3s\"]").set("refresh.cycle=1h");
    let live = sandbox.start();
    live.until("pages", |s| s.pages_stored >= 20);
    live.close();
    let live = sandbox.start();
    live.until("pages", |s| s.pages_stored >= 45 && s.waiting > 10);
    let fork = sandbox.fork();
    live.drop_at_once();
    better_ways(fork.storage());
    sandbox.resume(fork)
}

/// Better ways to pages that are done, which wait: as in a crawl that has a limit of depth.
fn better_ways(storage: &MemoryStorage) {
    let mut counters: Counters = read::meta(storage, CrawlId::default()).unwrap().unwrap();
    write(storage, |batch| {
        for (key, page) in all::<tables::Pages>(storage) {
            let seen = key.seen();
            let Some(UrlState::Done { captured, how, reach: judged }) = read::seen_state(storage, seen).unwrap() else {
                continue;
            };
            let url = PageUrl::from_canonical(&page.url).unwrap();
            let again = Some(LastTime::new(captured, RequeueReason::Depth));
            let entry = QueueEntry { limit: Some(9), again, ..QueueEntry::new(&url, 1, page.fetched) };
            let reach = entry.reach();
            batch.put::<tables::Seen>(&seen, &UrlState::Done { captured, how, reach });
            batch.put::<tables::Nearer>(&seen, &NearerValue { judged, entry });
            counters.nearer += 1;
        }
        batch.put_meta(CrawlId::default(), &counters);
    });
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

/// The capture of a URL that is done, and not listed as not yet safe: of such a one other things are found.
fn done_page(storage: &MemoryStorage) -> (PageKey, PageRecord) {
    let lists = read::unsynced(storage, usize::MAX).unwrap();
    let is_safe = |key: &PageKey| lists.iter().flat_map(|(_, list)| &list.0).all(|listed| listed.page != *key);
    let is_done = |key: &PageKey| {
        let state = read::seen_state(storage, key.seen()).unwrap();
        matches!(state, Some(UrlState::Done { captured, .. }) if captured == key.captured.0)
    };
    all::<tables::Pages>(storage)
        .into_iter()
        .find(|(key, _)| is_done(key) && is_safe(key))
        .expect("the fixture has one")
}

fn meta<M: MetaRecord<Of = ()>>(storage: &MemoryStorage) -> M {
    read::meta::<M>(storage, ()).unwrap().unwrap()
}

fn file(folder: &Path, ending: &str) -> PathBuf {
    let all = fs::read_dir(folder.join("warc")).unwrap().map(|e| e.unwrap().path());
    all.into_iter().find(|p| p.to_str().unwrap().ends_with(ending)).expect("the fixture has one")
}

type Damage = fn(&MemoryStorage, &Path);

/// What it is, what it does, and what is found.
type Named = (&'static str, Damage, &'static [Fault]);

/// Damages that cost nothing: the crawl ends with the truth after the repair.
fn harmless() -> impl Iterator<Item = &'static Named> {
    [damaged_urls::ALL, damaged_counts::ALL, damaged_files::ALL].into_iter().flatten()
}
