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
    /// hosts of one domain stay together and every node computes the same.
    pub fn of_host(host: &str) -> Self {
        let nth = xxh3_64(registrable_domain(host).as_bytes()) % u64::from(PARTITIONS);
        Self(u16::try_from(nth).unwrap_or_default())
    }
}

impl fmt::Display for Partition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
    fn domains_spread_over_all_partitions() {
        let used: std::collections::BTreeSet<_> =
            (0..20_000).map(|nth| Partition::of_host(&format!("d{nth}.org"))).collect();
        assert_eq!(used.len(), usize::from(PARTITIONS));
    }
}
