//! Where live entries begin in `waiting`, `parked` and `due`.

use std::collections::BTreeMap;

use super::RANKS;
use super::wire::fields;
use crate::domain::partition::Partition;
use crate::domain::time::UnixMillis;

fields! {
    /// "Nothing live below": hints that spare a scan the tombstones before the first live entry. A partition that is absent
    /// begins at zero. Lowered in the batch that inserts below.
    #[derive(Default)]
    Heads {
        /// `waiting`: by partition, the lowest live order of each rank.
        waiting: BTreeMap<Partition, [u64; RANKS]>,
        /// `parked`: by partition, the earliest live time.
        parked: BTreeMap<Partition, UnixMillis>,
        /// `due`: by partition, the earliest live time.
        due: BTreeMap<Partition, UnixMillis>,
    }
}
