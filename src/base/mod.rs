//! What every room stands on: time, locks, units, exit codes, invariants, fault points, the disk.

pub mod clock;
pub mod disk;
pub mod exit;
pub mod fault;
pub mod fence;
pub mod invariant;
pub(crate) mod kinds;
pub(crate) mod section;
pub mod sort;
pub mod sync;
pub mod time;
pub mod units;
