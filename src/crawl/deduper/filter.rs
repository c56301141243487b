//! The Bloom filter in front of the seen set (I4).
//!
//! It is saved at a clean stop with the sequence number of the database. At start it is believed only when that number is
//! the one the database was opened with, and only by the first Deduper of a run; otherwise every URL is looked up on disk, exactly and slower, while the filter is rebuilt from the
//! seen set in small steps. It is also rebuilt, larger, when more URLs are known than it was made for, as long as `memory.max` has
//! room for both; beyond that it has more false positives, which the exact set answers.

use std::fs::{self, File};
use std::io::{self, BufReader, BufWriter, Read, Write};
use std::path::PathBuf;
use std::sync::atomic::Ordering;

use fastbloom::BloomFilter;
use xxhash_rust::xxh3::{Xxh3Default, xxh3_64};

use crate::base::disk::own;
use crate::config::DedupSection;
use crate::crawl::node::Node;
use crate::domain::fingerprint::UrlKey;
use crate::storage::keys::{KeyRange, after};
use crate::storage::schema::Family;
use crate::storage::values::Counters;
use crate::storage::{StorageError, read};

/// Keys read in one step of a rebuild.
const STEP: usize = 5_000;
/// Where `seen` keys hold the URL's part: the last bytes.
const URL_BYTES: usize = 12;
const MAGIC: &[u8; 8] = b"lybloom1";
/// Bytes of a saved filter before its words: the magic and five numbers.
const HEAD: u64 = 48;
/// Read and written at a time.
const CHUNK: usize = 256 * 1024;

/// The filter and whether it may be believed.
pub(super) struct SeenFilter {
    believed: Option<Sized>,
    rebuild: Option<(Sized, Vec<u8>)>,
    /// It was told that the filter grows no more.
    full: bool,
}

struct Sized {
    filter: BloomFilter,
    made_for: u64,
    holds: u64,
}

impl Sized {
    fn new(size: &DedupSection, made_for: u64) -> Self {
        let (bits, hashes) = size.filter_size(made_for);
        let bits = usize::try_from(bits).unwrap_or(usize::MAX);
        Self { filter: BloomFilter::with_num_bits(bits).seed(&0).hashes(hashes), made_for, holds: 0 }
    }

    fn insert(&mut self, key: &UrlKey) {
        self.filter.insert_hash(xxh3_64(&key.0));
        self.holds += 1;
    }

    fn bytes(&self) -> u64 {
        std::mem::size_of_val(self.filter.as_slice()) as u64
    }
}

impl SeenFilter {
    /// The saved filter if it has caught up with the database; else a rebuild begins.
    pub fn open(node: &Node) -> Self {
        let filter = Self::take_up(node);
        filter.publish(node);
        filter
    }

    fn take_up(node: &Node) -> Self {
        // As written, not as published: a batch may be on disk whose news is still on its way.
        let known =
            read::meta::<Counters>(&*node.storage, node.crawl.id).ok().map(|c| c.unwrap_or_default().discovered);
        let dedup = &node.crawl.rules.settings.dedup;
        let sized =
            |known| Sized::new(dedup, wish(dedup, known).min(dedup.filter_urls(node.permits.memory.filter)).max(1));
        let saved = || {
            let first_life = !node.crawl.filter.opened.swap(true, Ordering::AcqRel);
            first_life.then(|| load(node)).flatten().filter(|s| s.bytes() <= node.permits.memory.filter)
        };
        let believed = if known == Some(0) { Some(sized(0)) } else { saved() };
        let rebuild = believed.is_none().then(|| (sized(known.unwrap_or(0)), Vec::new()));
        Self { believed, rebuild, full: false }
    }

    /// False only when the URL is certainly not on disk.
    pub fn may_contain(&self, key: &UrlKey) -> bool {
        self.believed.as_ref().is_none_or(|s| s.filter.contains_hash(xxh3_64(&key.0)))
    }

    /// Notes a URL that is about to be committed.
    pub fn insert(&mut self, key: &UrlKey) {
        if let Some(believed) = &mut self.believed {
            believed.insert(key);
        }
        if let Some((building, _)) = &mut self.rebuild {
            building.insert(key);
        }
    }

    /// Whether it is being rebuilt, or is yet to be.
    pub fn is_behind(&self) -> bool {
        self.rebuild.is_some() || self.believed.is_none()
    }

    /// One step of a rebuild, if one is under way or needed.
    ///
    /// `pending` are the URLs that are marked and perhaps not yet on disk: a new filter must know them from its start.
    pub fn catch_up<'p>(&mut self, node: &Node, pending: impl Iterator<Item = &'p UrlKey>) -> Result<(), StorageError> {
        if self.rebuild.is_none()
            && let Some(mut building) = self.larger(node)
        {
            pending.for_each(|key| building.insert(key));
            self.rebuild = Some((building, Vec::new()));
            self.publish(node);
        }
        let Some((building, from)) = &mut self.rebuild else { return Ok(()) };
        let found = node.storage.scan(Family::Seen, from, &KeyRange::all().until, STEP)?;
        for (key, _) in &found {
            let url = key.get(key.len().saturating_sub(URL_BYTES)..).and_then(UrlKey::from_slice);
            url.iter().for_each(|url| building.insert(url));
        }
        match found.last() {
            Some((last, _)) if found.len() == STEP => *from = after(last),
            _ => {
                let made = self.rebuild.take().map(|(made, _)| made);
                log::info!("seen filter ready: urls={}", made.as_ref().map_or(0, |m| m.holds));
                self.believed = made;
                self.publish(node);
            }
        }
        Ok(())
    }

    /// The next filter, when this one holds more than it was made for and memory has room for both.
    fn larger(&mut self, node: &Node) -> Option<Sized> {
        let held = self.believed.as_ref().filter(|s| s.holds > s.made_for)?;
        if self.full {
            return None;
        }
        let dedup = &node.crawl.rules.settings.dedup;
        let made_for = wish(dedup, node.crawl.counters().discovered);
        if made_for > held.made_for
            && dedup.filter_bytes(made_for).saturating_add(held.bytes()) <= node.permits.memory.filter
        {
            return Some(Sized::new(dedup, made_for));
        }
        self.full = true;
        log::warn!(
            "the seen filter grows no further, the exact set on disk answers more and more: raise memory.max: urls={} bytes={}",
            held.holds,
            held.bytes()
        );
        None
    }

    fn publish(&self, node: &Node) {
        let building = self.rebuild.as_ref().map(|(building, _)| building);
        let bytes = self.believed.iter().chain(building).map(Sized::bytes).sum();
        node.crawl.filter.bytes.store(bytes, Ordering::Relaxed);
    }

    /// Saves the filter with the database's sequence number.
    pub fn save(&self, node: &Node) -> io::Result<()> {
        let Some(believed) = &self.believed else { return Ok(()) };
        node.faults.check("filter.save")?;
        // The number must name one state for ever: what a power failure takes back would be counted anew.
        node.storage.sync().map_err(io::Error::other)?;
        let words = believed.filter.as_slice();
        let mut check = Xxh3Default::new();
        words.iter().for_each(|word| check.update(&word.to_be_bytes()));
        let hashes = u64::from(believed.filter.num_hashes());
        let head = [node.storage.sequence(), believed.made_for, believed.holds, check.digest(), hashes];
        let path = path(node);
        let part = path.with_extension("part");
        let write = || {
            let mut file = BufWriter::with_capacity(CHUNK, own::create(&part)?);
            file.write_all(MAGIC)?;
            head.iter().chain(words).try_for_each(|word| file.write_all(&word.to_be_bytes()))?;
            file.into_inner().map_err(io::IntoInnerError::into_error)?.sync_all()?;
            node.faults.check("filter.saved")?;
            fs::rename(&part, path)
        };
        write().inspect_err(|_| {
            let _ = fs::remove_file(&part); // on a full disk its room is needed
        })
    }
}

/// URLs a filter is made for when so many are known.
fn wish(dedup: &DedupSection, known: u64) -> u64 {
    known.saturating_mul(2).max(dedup.bloom_urls)
}

fn path(node: &Node) -> PathBuf {
    node.crawl.rules.settings.store.data_dir.join("seen.bloom")
}

fn load(node: &Node) -> Option<Sized> {
    node.faults.check("filter.load").ok()?;
    let file = File::open(path(node)).ok()?;
    let words = usize::try_from(file.metadata().ok()?.len().checked_sub(HEAD)? / 8).ok()?;
    let mut file = BufReader::with_capacity(CHUNK, file);
    let mut word = || {
        let mut bytes = [0; 8];
        file.read_exact(&mut bytes).ok().map(|()| bytes)
    };
    if word()? != *MAGIC {
        return None;
    }
    let mut number = || word().map(u64::from_be_bytes);
    let (sequence, made_for, holds, check) = (number()?, number()?, number()?, number()?);
    let hashes = u32::try_from(number()?).ok().filter(|n| (1..=64).contains(n))?;
    let rebuilt = || {
        log::info!("the saved seen filter is not of this state and is rebuilt");
        None
    };
    if sequence != node.crawl.filter.start_sequence {
        return rebuilt();
    }
    let (mut body, mut found) = (Vec::with_capacity(words), Xxh3Default::new());
    for _ in 0..words {
        let bytes = word()?;
        found.update(&bytes);
        body.push(u64::from_be_bytes(bytes));
    }
    if check != found.digest() || body.is_empty() {
        return rebuilt();
    }
    Some(Sized { filter: BloomFilter::from_vec(body).seed(&0).hashes(hashes), made_for, holds })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_size_follows_the_usual_formulas() {
        let size = DedupSection { bloom_fp: 0.01, bloom_bits: None, bloom_hashes: None, ..DedupSection::default() };
        assert_eq!(size.filter_size(1_000_000), (9_585_059, 7));
        let preset = DedupSection { bloom_bits: Some(20), bloom_hashes: Some(10), ..size.clone() };
        assert_eq!(preset.filter_size(1_000), (20_000, 10));
        let made = Sized::new(&size, 1_000_000);
        assert_eq!(made.bytes(), size.filter_bytes(1_000_000));
        assert!(size.filter_bytes(size.filter_urls(1 << 20)) <= 1 << 20);
    }
}
