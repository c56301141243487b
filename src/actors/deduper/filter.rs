//! The Bloom filter in front of the seen set (M28, I4).
//!
//! It is saved at a clean stop with the sequence number of the database. At start it is believed only when that number is
//! the one the database was opened with, and only by the first Deduper of a run; otherwise every URL is looked up on disk, exactly and slower, while the filter is rebuilt from the
//! seen set in small steps. It is also rebuilt, larger, when more URLs are known than it was made for.

use std::fs;
use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::atomic::Ordering;

use fastbloom::BloomFilter;
use xxhash_rust::xxh3::xxh3_64;

use crate::actors::node::Node;
use crate::config::DedupSection;
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

/// The filter and whether it may be believed.
pub(super) struct SeenFilter {
    believed: Option<Sized>,
    rebuild: Option<(Sized, Vec<u8>)>,
}

struct Sized {
    filter: BloomFilter,
    made_for: u64,
    holds: u64,
}

impl Sized {
    fn new(size: &DedupSection, made_for: u64) -> Self {
        let (bits, hashes) = bits_and_hashes(size, made_for);
        let filter = BloomFilter::with_num_bits(bits).seed(&0).hashes(hashes);
        Self { filter, made_for, holds: 0 }
    }

    fn insert(&mut self, key: &UrlKey) {
        self.filter.insert_hash(xxh3_64(&key.0));
        self.holds += 1;
    }
}

impl SeenFilter {
    /// The saved filter if it has caught up with the database; else a rebuild begins.
    pub fn open(node: &Node) -> Self {
        // As written, not as published: a batch may be on disk whose news is still on its way.
        let known = read::meta::<Counters>(&*node.storage, node.crawl).ok().map(|c| c.unwrap_or_default().discovered);
        if known == Some(0) {
            return Self { believed: Some(Self::sized(node, 0)), rebuild: None };
        }
        let first_life = !node.filter_opened.swap(true, Ordering::AcqRel);
        if let Some(saved) = first_life.then(|| load(node)).flatten() {
            return Self { believed: Some(saved), rebuild: None };
        }
        Self { believed: None, rebuild: Some((Self::sized(node, known.unwrap_or(0)), Vec::new())) }
    }

    fn sized(node: &Node, known: u64) -> Sized {
        Sized::new(&node.rules.settings.dedup, known.saturating_mul(2).max(node.rules.settings.dedup.bloom_urls))
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

    /// One step of a rebuild, if one is under way or needed.
    ///
    /// `pending` are the URLs that are marked and perhaps not yet on disk: a new filter must know them from its start.
    pub fn catch_up<'p>(&mut self, node: &Node, pending: impl Iterator<Item = &'p UrlKey>) -> Result<(), StorageError> {
        if self.rebuild.is_none() && self.believed.as_ref().is_some_and(|s| s.holds > s.made_for) {
            let known = node.counters().discovered;
            let mut building = Self::sized(node, known);
            pending.for_each(|key| building.insert(key));
            self.rebuild = Some((building, Vec::new()));
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
            }
        }
        Ok(())
    }

    /// Saves the filter with the database's sequence number.
    pub fn save(&self, node: &Node) -> io::Result<()> {
        let Some(believed) = &self.believed else { return Ok(()) };
        let body: Vec<u8> = believed.filter.as_slice().iter().flat_map(|word| word.to_be_bytes()).collect();
        let mut head = Vec::from(*MAGIC);
        let hashes = u64::from(believed.filter.num_hashes());
        for n in [node.storage.sequence(), believed.made_for, believed.holds, xxh3_64(&body), hashes] {
            head.extend_from_slice(&n.to_be_bytes());
        }
        let path = path(node);
        let part = path.with_extension("part");
        let write = || {
            let mut file = fs::File::create(&part)?;
            file.write_all(&head)?;
            file.write_all(&body)?;
            file.sync_all()?;
            fs::rename(&part, path)
        };
        write().inspect_err(|_| {
            let _ = fs::remove_file(&part); // on a full disk its room is needed
        })
    }
}

fn path(node: &Node) -> PathBuf {
    node.rules.settings.store.data_dir.join("seen.bloom")
}

fn load(node: &Node) -> Option<Sized> {
    let bytes = fs::read(path(node)).ok()?;
    let rest = bytes.strip_prefix(MAGIC)?;
    let number = |i: usize| rest.get(i * 8..i * 8 + 8).and_then(|b| b.try_into().ok()).map(u64::from_be_bytes);
    let (sequence, made_for, holds, check) = (number(0)?, number(1)?, number(2)?, number(3)?);
    let hashes = u32::try_from(number(4)?).ok().filter(|n| (1..=64).contains(n))?;
    let body = rest.get(40..)?;
    if sequence != node.start_sequence || check != xxh3_64(body) {
        log::info!("the saved seen filter is not of this state and is rebuilt");
        return None;
    }
    let words: Vec<u64> = body.chunks_exact(8).filter_map(|w| w.try_into().ok()).map(u64::from_be_bytes).collect();
    let filter = (!words.is_empty()).then(|| BloomFilter::from_vec(words).seed(&0).hashes(hashes))?;
    Some(Sized { filter, made_for, holds })
}

/// Bits and hashes of a filter for `urls` keys: m >= -n ln p / (ln 2)^2 and k = (m/n) ln 2, unless the user says otherwise.
fn bits_and_hashes(size: &DedupSection, urls: u64) -> (usize, u32) {
    let ln2 = std::f64::consts::LN_2;
    let per_url = size.bloom_bits.map_or_else(|| -size.bloom_fp.ln() / (ln2 * ln2), f64::from);
    let bits = (per_url * urls as f64).ceil().clamp(64.0, 1e12);
    let hashes = size.bloom_hashes.unwrap_or_else(|| (per_url * ln2).round().clamp(1.0, 64.0) as u32);
    (bits as usize, hashes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_size_follows_the_usual_formulas() {
        let size = DedupSection { bloom_fp: 0.01, bloom_bits: None, bloom_hashes: None, ..DedupSection::default() };
        assert_eq!(bits_and_hashes(&size, 1_000_000), (9_585_059, 7));
        let preset = DedupSection { bloom_bits: Some(20), bloom_hashes: Some(10), ..size };
        assert_eq!(bits_and_hashes(&preset, 1_000), (20_000, 10));
    }
}
