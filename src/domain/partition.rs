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
    #[must_use]
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
