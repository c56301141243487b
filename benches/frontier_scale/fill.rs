//! A data folder with many queued URLs, made through the ledger as a crawl would make it, only faster.

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use lycosa::base::time::UnixMillis;
use lycosa::domain::fingerprint::{CrawlId, Fingerprinter};
use lycosa::domain::found_as::FoundAs;
use lycosa::domain::partition::Partition;
use lycosa::domain::rank::Ranker;
use lycosa::domain::refresh::Refresh;
use lycosa::domain::url::{Canonicaliser, CleanRules};
use lycosa::storage::ledger::{Change, Done, Ledger, LedgerRules, LinkChange, NewUrl};
use lycosa::storage::txn::Txn;
use lycosa::storage::values::Format;
use lycosa::storage::{RocksOptions, RocksStorage, Storage, read};

use super::{Plan, Result};

/// Pages of one host found at a time, and hosts in one batch.
const PAGES: u32 = 10;
const HOSTS: usize = 50;

/// The ledger of a folder, and what makes its keys.
pub fn ledger_of(storage: &RocksStorage) -> Result<(Ledger, Fingerprinter)> {
    ledger_with(storage, Refresh::default())
}

/// The same where pages are visited again.
pub fn ledger_with(storage: &RocksStorage, refresh: Refresh) -> Result<(Ledger, Fingerprinter)> {
    let seed = read::meta::<Format>(storage, ())?.ok_or("a folder without format")?.seed;
    let rules = LedgerRules {
        crawl: CrawlId::default(),
        prints: Fingerprinter::new(seed),
        ranker: Ranker::default(),
        keep_rejected: true,
        generation: 1,
        max_depth: None,
        refresh,
        priorities: Arc::default(),
        credit: None,
        share: None,
    };
    Ok((Ledger::open(storage, rules)?, Fingerprinter::new(seed)))
}

/// Queues `plan.urls` URLs of `plan.hosts` hosts: round after round some pages of each, in the order of the hosts' keys, which
/// spares the database most of its merging.
pub fn fill(plan: &Plan, folder: &Path) -> Result<()> {
    let storage = RocksStorage::open(folder, RocksOptions::default())?;
    let (mut ledger, prints) = ledger_of(&storage)?;
    let canon = Canonicaliser::new(CleanRules::default());
    let (began, mut told) = (Instant::now(), 0);
    let pages = plan.pages(1)?;
    let hosts = hosts_of(plan, prints);
    for round in (0..pages).step_by(PAGES as usize) {
        for hosts in hosts.chunks(HOSTS) {
            let pages = round..pages.min(round + PAGES);
            let new = hosts.iter().flat_map(|host| pages.clone().map(move |page| (*host, page)));
            let new = new.map(|(host, page)| found(&canon, host, page)).collect::<Result<Vec<_>>>()?;
            commit(&storage, &mut ledger, new)?;
        }
        let queued = ledger.committed().queued;
        if queued / 1_000_000 > told / 1_000_000 {
            told = queued;
            let rate = queued as f64 / began.elapsed().as_secs_f64();
            eprintln!("filling: {queued} of {} URLs, {rate:.0} a second", plan.urls);
        }
    }
    storage.sync()?;
    println!("Filled: {} URLs on {} hosts in {:.0} s.\n", told, plan.hosts, began.elapsed().as_secs_f64());
    Ok(())
}

/// All hosts in the order of their keys.
pub fn hosts_of(plan: &Plan, prints: Fingerprinter) -> Vec<u32> {
    let mut hosts: Vec<u32> = (0..plan.hosts).collect();
    hosts.sort_by_cached_key(|host| {
        let name = format!("h{host}.test");
        (Partition::of_host(&name), prints.host(&name))
    });
    hosts
}

pub fn found(canon: &Canonicaliser, host: u32, page: u32) -> Result<NewUrl> {
    let path = if page == 0 { "/".to_owned() } else { format!("/p/{page}") };
    let url = canon.parse(&format!("http://h{host}.test{path}"))?;
    let via = Some(format!("http://h{}.test/p/{}", host / 2, page / 2).into());
    Ok(NewUrl {
        url,
        depth: 3,
        limit: None,
        hops: 0,
        seed: false,
        via,
        origin: Some("http://h0.test/".into()),
        found: FoundAs::Link,
        priority: None,
        rank: None,
        lastmod: None,
    })
}

pub fn commit(storage: &RocksStorage, ledger: &mut Ledger, new: Vec<NewUrl>) -> Result<()> {
    let change = Change::Links(Box::new(LinkChange { new, ..LinkChange::default() }));
    write(storage, ledger, &[change], UnixMillis(1_700_000_000_000)).map(drop)
}

/// Applies and writes changes in one batch, as the Store does.
pub fn write(storage: &RocksStorage, ledger: &mut Ledger, changes: &[Change], date: UnixMillis) -> Result<Vec<Done>> {
    let mut txn = Txn::new(storage);
    let apply = |change| ledger.apply(&mut txn, change, date, &|_| false);
    let done = changes.iter().map(apply).collect::<std::result::Result<_, _>>()?;
    ledger.seal(&mut txn)?;
    storage.write(&txn.into_batch())?;
    ledger.commit();
    Ok(done)
}
