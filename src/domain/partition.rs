//! Which of the fixed partitions a host belongs to: the unit in which hosts move between nodes.

use std::fmt;

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64;

use super::host::registrable_domain;

/// How many partitions there are; fixed for all time, as keys begin with the partition.
pub const PARTITIONS: u16 = 1024;

/// A partition, below [`PARTITIONS`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Partition(pub u16);

impl Partition {
    /// The partition of a canonical host: XXH3 (seed 0) of its registrable domain, modulo [`PARTITIONS`], so that the
    /// hosts of one domain stay together and every node computes the same. The list of public suffixes is frozen: by
    /// another one rows would not be found any more.
    pub fn of_host(host: &str) -> Self {
        let nth = xxh3_64(registrable_domain(host).as_bytes()) % u64::from(PARTITIONS);
        Self(u16::try_from(nth).unwrap_or_default())
    }
}

/// A set of partitions.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct PartitionSet(Vec<u64>);

impl PartitionSet {
    /// None of them.
    pub fn none() -> Self {
        Self(vec![0; WORDS])
    }

    /// All of them.
    pub fn all() -> Self {
        Self(vec![u64::MAX; WORDS])
    }

    /// Whether a partition is in it.
    pub fn has(&self, partition: Partition) -> bool {
        let (word, bit) = place(partition);
        self.0.get(word).is_some_and(|bits| bits & bit != 0)
    }

    /// Puts one in.
    pub fn add(&mut self, partition: Partition) {
        let (word, bit) = place(partition);
        if let Some(bits) = self.0.get_mut(word) {
            *bits |= bit;
        }
    }

    /// Takes one out.
    pub fn remove(&mut self, partition: Partition) {
        let (word, bit) = place(partition);
        if let Some(bits) = self.0.get_mut(word) {
            *bits &= !bit;
        }
    }

    /// Those in it, ascending.
    pub fn iter(&self) -> impl Iterator<Item = Partition> + '_ {
        let words = (0..).step_by(64).zip(&self.0);
        words.flat_map(|(first, word)| {
            let rest = |bits: &u64| Some(bits & (bits - 1)).filter(|rest| *rest != 0); // without the lowest
            let bits = std::iter::successors(Some(*word).filter(|bits| *bits != 0), rest);
            bits.map(move |bits| Partition(first + bits.trailing_zeros() as u16))
        })
    }

    /// How many are in it.
    pub fn len(&self) -> usize {
        self.0.iter().map(|word| word.count_ones() as usize).sum()
    }

    /// True when none is in it.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl FromIterator<Partition> for PartitionSet {
    fn from_iter<I: IntoIterator<Item = Partition>>(partitions: I) -> Self {
        let mut set = Self::none();
        partitions.into_iter().for_each(|partition| set.add(partition));
        set
    }
}

const WORDS: usize = (PARTITIONS / 64) as usize;

/// Where the bit of a partition is.
fn place(partition: Partition) -> (usize, u64) {
    (usize::from(partition.0 / 64), 1 << (partition.0 % 64))
}

impl fmt::Display for Partition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use sha2::{Digest, Sha256};

    use super::*;
    use crate::domain::cases::check;

    /// What keys on disk hang on: see ADR 38 before changing it.
    const LIST: &str = "name = \"psl\"
version = \"2.1.247\"
source = \"registry+https://github.com/rust-lang/crates.io-index\"
checksum = \"bcf03dc0cd8c65e109a7848e3b4adf06236a181d937af94bff66966e3876b1aa\"
";

    #[test]
    fn the_list_of_public_suffixes_is_the_frozen_one() {
        let lock = include_str!("../../Cargo.lock").replace("\r\n", "\n");
        assert!(lock.contains(LIST), "another list: the rows of hosts that it classes otherwise would not be found");
        assert_eq!(lock.matches("name = \"psl\"").count(), 1);
    }

    #[test]
    fn domains_that_keys_hang_on_stay_what_they_are() {
        check(include_str!("../../tests/data/domains.txt"), |[host]| [registrable_domain(host)]);
    }

    #[test]
    fn domains_below_every_suffix_of_two_and_three_letters_have_the_digest_that_they_had() {
        let letters = || ('a'..='z').map(String::from);
        let longer = |words: Vec<String>| -> Vec<String> {
            words.iter().flat_map(|word| letters().map(move |letter| format!("{word}{letter}"))).collect()
        };
        let two = longer(letters().collect());
        let second = "co com net org edu gov ac mil or ne go gob nom info web city";
        let below = std::iter::once(String::new()).chain(second.split(' ').map(|word| format!("{word}.")));
        let hosts = below.flat_map(|word| two.iter().map(move |end| format!("a.b.{word}{end}")).collect::<Vec<_>>());
        let hosts = hosts.chain(longer(two.clone()).into_iter().map(|end| format!("a.b.{end}")));
        let (mut digest, mut count) = (Sha256::new(), 0);
        for host in hosts {
            digest.update(format!("{}\n", registrable_domain(&host)));
            count += 1;
        }
        let found = data_encoding::HEXLOWER.encode(&digest.finalize());
        // By the same program as the table.
        assert_eq!(
            (count, found.as_str()),
            (29_068, "19ccbecd782f8beb18e8f216541a5ed2f3ca8a91c44c00b1c88e2a8fa9b19b77")
        );
    }

    #[test]
    fn the_hosts_of_a_domain_share_their_partition() {
        assert_eq!(Partition::of_host("a.example.org"), Partition::of_host("b.c.example.org"));
        assert_ne!(Partition::of_host("a.github.io"), Partition::of_host("b.github.io"));
    }

    #[test]
    fn partitions_stay_what_they_are_on_disk() {
        // Computed with another implementation of XXH3 (xxhash for Python).
        assert_eq!(Partition::of_host("example.org"), Partition(837));
        assert_eq!(Partition::of_host("h0.test"), Partition(129));
        assert_eq!(Partition::of_host("[::1]"), Partition(540));
    }

    #[test]
    fn a_set_of_partitions_has_what_was_put_in() {
        let mut set: PartitionSet = [Partition(0), Partition(63), Partition(64), Partition(1023)].into_iter().collect();
        assert!(set.has(Partition(63)) && !set.has(Partition(62)) && !set.has(Partition(PARTITIONS)));
        set.remove(Partition(64));
        set.add(Partition(PARTITIONS)); // there is no such one
        assert_eq!(set.iter().map(|p| p.0).collect::<Vec<_>>(), [0, 63, 1023]);
        assert_eq!((PartitionSet::all().len(), PartitionSet::none().is_empty()), (1024, true));
    }

    #[test]
    fn domains_spread_over_all_partitions() {
        let used: std::collections::BTreeSet<_> =
            (0..20_000).map(|nth| Partition::of_host(&format!("d{nth}.org"))).collect();
        assert_eq!(used.len(), usize::from(PARTITIONS));
    }
}
