//! The seen test: fastbloom, `bloom` as the baseline, the exact set in memory and (feature `rocksdb`) on disk.
//!
//! A million URL keys are known. "miss" asks for keys that are not, "hit" for keys that are. Before the timings each filter's
//! rate of false positives is measured and printed next to the one it was built for, because a filter that is fast and wrong
//! sends every question on to the exact set.

use std::collections::HashSet;
use std::hint::black_box;

use bloom::ASMS;
use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use fastbloom::AtomicBloomFilter;
use lycosa::domain::fingerprint::{CrawlId, HostKey, UrlKey};
use lycosa::domain::partition::Partition;
use lycosa::domain::reach::Reach;
use lycosa::storage::keys::{HostAt, SeenKey};
use lycosa::storage::values::UrlState;
use lycosa::storage::{Batch, MemoryStorage, Storage, read, tables};

const KNOWN: u64 = 1_000_000;
/// URLs asked for at once: the links of a page.
const LINKS: u64 = 64;
/// False positives are counted over so many questions.
const ASKED: u64 = 1_000_000;
/// The filter's size: 20 bits a URL, 10 hashes.
const BITS: usize = 20 * KNOWN as usize;
const HASHES: u32 = 10;

/// A 64-bit mix (splitmix64): the same keys in each run.
fn mix(n: u64) -> u64 {
    let z = n.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

fn url_key(n: u64) -> UrlKey {
    let mut key = [0; 12];
    key[..8].copy_from_slice(&mix(n).to_be_bytes());
    key[8..].copy_from_slice(&mix(!n).to_be_bytes()[..4]);
    UrlKey(key)
}

/// The key of the `n`-th URL; a thousand URLs a host.
fn seen_key(n: u64) -> SeenKey {
    let host = mix(n / 1000);
    let at = HostAt { partition: Partition((host % 1024) as u16), host: HostKey(host.to_be_bytes()) };
    at.crawl(CrawlId(1)).url(url_key(n))
}

/// The hash a filter is asked with: the URL key's first eight bytes are one already.
fn hash_of(key: UrlKey) -> u64 {
    key.0.first_chunk().map_or(0, |bytes| u64::from_be_bytes(*bytes))
}

fn fast_filter() -> AtomicBloomFilter {
    let filter = AtomicBloomFilter::with_num_bits(BITS).hashes(HASHES);
    (0..KNOWN).for_each(|n| drop_bool(filter.insert_hash(hash_of(url_key(n)))));
    filter
}

fn baseline_filter() -> bloom::BloomFilter {
    let mut filter = bloom::BloomFilter::with_size(BITS, HASHES);
    (0..KNOWN).for_each(|n| drop_bool(filter.insert(&url_key(n).0)));
    filter
}

fn drop_bool(_: bool) {}

/// Prints how often a filter says "seen" of what is not.
fn report(name: &str, contains: impl Fn(UrlKey) -> bool) {
    let wrong = (KNOWN..KNOWN + ASKED).filter(|n| contains(url_key(*n))).count();
    let wanted = fastbloom_expected();
    println!("{name}: {:.4} % false positives, {:.4} % expected", wrong as f64 * 100.0 / ASKED as f64, wanted * 100.0);
}

/// (1 - e^(-kn/m))^k
fn fastbloom_expected() -> f64 {
    let k = f64::from(HASHES);
    (1.0 - (-k * KNOWN as f64 / BITS as f64).exp()).powf(k)
}

/// Times one question, over ever new keys from `first` on.
fn ask(c: &mut Criterion, name: &str, first: u64, contains: impl Fn(UrlKey) -> bool) {
    let mut group = c.benchmark_group("seen");
    group.throughput(Throughput::Elements(1));
    let mut n = 0;
    group.bench_function(name, |b| {
        b.iter(|| {
            n = (n + 7919) % KNOWN;
            black_box(contains(url_key(first + n)))
        });
    });
    group.finish();
}

fn filters(c: &mut Criterion) {
    let fast = fast_filter();
    report("fastbloom", |key| fast.contains_hash(hash_of(key)));
    ask(c, "fastbloom/miss", KNOWN, |key| fast.contains_hash(hash_of(key)));
    ask(c, "fastbloom/hit", 0, |key| fast.contains_hash(hash_of(key)));
    drop(fast);

    let baseline = baseline_filter();
    report("bloom 0.3", |key| baseline.contains(&key.0));
    ask(c, "bloom/miss", KNOWN, |key| baseline.contains(&key.0));
    ask(c, "bloom/hit", 0, |key| baseline.contains(&key.0));
    drop(baseline);

    let exact: HashSet<UrlKey> = (0..KNOWN).map(url_key).collect();
    ask(c, "hash set/miss", KNOWN, |key| exact.contains(&key));
    ask(c, "hash set/hit", 0, |key| exact.contains(&key));
}

/// Makes every known URL seen, in commits of a page's links.
fn fill(storage: &dyn Storage, known: u64) -> Result<(), lycosa::storage::StorageError> {
    let state = UrlState::Waiting { rank: 0, order: 0, reach: Reach::BEST, due: None };
    for first in (0..known).step_by(1000) {
        let mut batch = Batch::new();
        for n in first..(first + 1000).min(known) {
            batch.put::<tables::Seen>(&seen_key(n), &state);
        }
        storage.write(&batch)?;
    }
    Ok(())
}

/// Times a page's links: `hits` of [`LINKS`] are known.
fn ask_exact(c: &mut Criterion, name: &str, storage: &dyn Storage, known: u64, hits: u64) {
    let mut group = c.benchmark_group("exact");
    group.throughput(Throughput::Elements(LINKS));
    let mut page = 0_u64;
    let mut links = || -> Vec<SeenKey> {
        page += 1;
        (0..LINKS).map(|n| mix(page * LINKS + n) % known + if n < hits { 0 } else { known }).map(seen_key).collect()
    };
    group.bench_function(name, |b| {
        b.iter_batched(&mut links, |keys| black_box(read::seen_states(storage, &keys)), BatchSize::SmallInput);
    });
    group.finish();
}

fn memory_twin(c: &mut Criterion) {
    let storage = MemoryStorage::new();
    let known = KNOWN / 10;
    if let Err(error) = fill(&storage, known) {
        return println!("memory twin: {error}");
    }
    ask_exact(c, "memory twin/80 % seen", &storage, known, LINKS * 4 / 5);
}

#[cfg(feature = "rocksdb")]
fn on_disk(c: &mut Criterion) {
    use lycosa::storage::{RocksOptions, RocksStorage, StorageError};

    let opened = || -> Result<(tempfile::TempDir, RocksStorage), StorageError> {
        let dir = tempfile::tempdir().map_err(|source| StorageError::Folder { path: std::env::temp_dir(), source })?;
        let storage = RocksStorage::open(dir.path(), RocksOptions::default())?;
        fill(&storage, KNOWN)?;
        Ok((dir, storage))
    };
    let (dir, storage) = match opened() {
        Ok(opened) => opened,
        Err(error) => return println!("RocksDB: {error}"),
    };
    ask_exact(c, "RocksDB/all seen", &storage, KNOWN, LINKS);
    ask_exact(c, "RocksDB/80 % seen", &storage, KNOWN, LINKS * 4 / 5);
    ask_exact(c, "RocksDB/none seen", &storage, KNOWN, 0);
    drop(storage);
    drop(dir);
}

#[cfg(not(feature = "rocksdb"))]
fn on_disk(_: &mut Criterion) {}

criterion_group!(benches, filters, memory_twin, on_disk);
criterion_main!(benches);
