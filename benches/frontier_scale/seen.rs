//! The seen test on a large folder: pages of 60 links to one host each, 48 of them known, the new ones queued; a commit for 32 pages.
//! As in the crawl, but without the cache of popular URLs and on one thread: filter, exact set, ledger, write.

use std::collections::HashMap;
use std::path::Path;
use std::time::{Duration, Instant};

use fastbloom::BloomFilter;
use lycosa::config::DedupSection;
use lycosa::domain::fingerprint::{CrawlId, Fingerprinter};
use lycosa::domain::partition::Partition;
use lycosa::domain::url::{Canonicaliser, CleanRules};
use lycosa::storage::keys::{HostAt, SeenKey};
use lycosa::storage::ledger::NewUrl;
use lycosa::storage::{RocksOptions, RocksStorage, Storage, read};
use nix::sys::resource::{UsageWho, getrusage};

use super::fill::{commit, fill, found, ledger_of};
use super::{Plan, Result};

/// Links of a page, and how many of them nobody knew.
const LINKS: u32 = 60;
const NEW: u32 = 12;
/// Pages in one commit.
const TOGETHER: usize = 32;

/// Asks for `plan.seconds`, and says how many checks that were.
pub fn run(plan: &Plan) -> Result<()> {
    let temporary = tempfile::tempdir()?;
    let folder = plan.data.clone().unwrap_or_else(|| temporary.path().join("data"));
    if !folder.join("db").exists() {
        fill(plan, &folder)?;
    }
    let storage = RocksStorage::open(&folder, RocksOptions::default())?;
    let (mut ledger, prints) = ledger_of(&storage)?;
    let canon = Canonicaliser::new(CleanRules::default());
    let pages = plan.pages(1)?;
    let mut filter = filter_of(plan, &canon, prints)?;
    let mut next: HashMap<u32, u32> = HashMap::new();
    let (mut drawn, mut spent, mut asking, mut cpu) = (0_u64, Duration::ZERO, 0, 0);
    let (mut checks, mut queued) = (0_usize, 0_usize);
    while spent.as_secs() < plan.seconds {
        let mut links = Vec::with_capacity(TOGETHER * LINKS as usize);
        for _ in 0..TOGETHER {
            let mut draw = |among: u32| {
                drawn += 1;
                (mix(drawn) % u64::from(among)) as u32
            };
            let host = draw(plan.hosts);
            let new = next.entry(host).or_insert(pages);
            for nth in 0..LINKS {
                let page = if nth < NEW { *new + nth } else { draw(pages) };
                links.push(found(&canon, host, page)?);
            }
            *new += NEW;
        }
        let (began, before) = (Instant::now(), cpu_us(UsageWho::RUSAGE_SELF)?);
        checks += links.len();
        let new = unseen(&storage, prints, &mut filter, links)?;
        asking += cpu_us(UsageWho::RUSAGE_SELF)? - before;
        queued += new.len();
        commit(&storage, &mut ledger, new)?;
        spent += began.elapsed();
        cpu += cpu_us(UsageWho::RUSAGE_SELF)? - before;
    }
    let rate = checks as f64 / spent.as_secs_f64();
    println!(
        "| known | checks | of them new | checks/s | CPU µs a check | of it to ask | CPU µs to queue one | bytes on disk a URL |"
    );
    println!("|--:|--:|--:|--:|--:|--:|--:|--:|");
    let known = ledger.committed().discovered;
    let bytes = size_of(&folder.join("db"))? as f64 / known as f64;
    let each = |us: i64, of: usize| us as f64 / of as f64;
    let (all, ask, queue) = (each(cpu, checks), each(asking, checks), each(cpu - asking, queued));
    println!("| {known} | {checks} | {queued} | {rate:.0} | {all:.2} | {ask:.2} | {queue:.1} | {bytes:.0} |\n");
    storage.sync()?;
    Ok(())
}

/// What the seen set does not know.
fn unseen(
    storage: &RocksStorage,
    prints: Fingerprinter,
    filter: &mut BloomFilter,
    links: Vec<NewUrl>,
) -> Result<Vec<NewUrl>> {
    let mut new = Vec::new();
    for page in links.chunks(LINKS as usize) {
        let keys: Vec<SeenKey> = page.iter().map(|link| key_of(prints, link)).collect();
        let asked: Vec<SeenKey> = keys.iter().copied().filter(|key| filter.contains_hash(hash_of(*key))).collect();
        let mut states = asked.iter().zip(read::seen_states(storage, &asked)?).peekable();
        for (key, link) in keys.iter().zip(page) {
            let known = states.next_if(|(asked, _)| *asked == key).and_then(|(_, state)| state);
            if known.is_none() {
                filter.insert_hash(hash_of(*key));
                new.push(link.clone());
            }
        }
    }
    Ok(new)
}

fn key_of(prints: Fingerprinter, link: &NewUrl) -> SeenKey {
    let host = link.url.host();
    let at = HostAt { partition: Partition::of_host(host), host: prints.host(host) };
    at.crawl(CrawlId::default()).url(prints.url(&link.url))
}

/// A key's bytes are a hash already.
fn hash_of(key: SeenKey) -> u64 {
    key.url.0.first_chunk().map_or(0, |bytes| u64::from_be_bytes(*bytes))
}

/// A filter that holds all that was filled in, with room for half as many more.
fn filter_of(plan: &Plan, canon: &Canonicaliser, prints: Fingerprinter) -> Result<BloomFilter> {
    let (bits, hashes) = DedupSection::default().filter_size(plan.urls + plan.urls / 2);
    let mut filter = BloomFilter::with_num_bits(usize::try_from(bits)?).seed(&0).hashes(hashes);
    for host in 0..plan.hosts {
        for page in 0..plan.pages(1)? {
            filter.insert_hash(hash_of(key_of(prints, &found(canon, host, page)?)));
        }
    }
    Ok(filter)
}

/// Processor time of this process or thread so far, in microseconds.
pub fn cpu_us(whose: UsageWho) -> Result<i64> {
    let usage = getrusage(whose)?;
    let of = |time: nix::sys::time::TimeVal| time.tv_sec() * 1_000_000 + time.tv_usec();
    Ok(of(usage.user_time()) + of(usage.system_time()))
}

fn size_of(folder: &Path) -> Result<u64> {
    let files = std::fs::read_dir(folder)?.collect::<std::io::Result<Vec<_>>>()?;
    Ok(files.iter().map(|file| Ok(file.metadata()?.len())).sum::<std::io::Result<u64>>()?)
}

/// A 64-bit mix (splitmix64).
pub fn mix(n: u64) -> u64 {
    let z = n.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}
