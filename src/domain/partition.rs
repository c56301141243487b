//! partition.
