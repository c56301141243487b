//! A data folder at rest: checked and repaired, saved as a checkpoint and put back.

pub mod check;
pub mod checkpoint;
