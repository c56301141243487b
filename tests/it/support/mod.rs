//! What the tests of a whole node stand on.

#![allow(dead_code, reason = "not every feature set uses all of it")]

mod audit;
pub mod fsck;
mod log;
mod sandbox;

pub use audit::{Manners, check_manners};

pub use fsck::fsck;
pub use sandbox::{Ended, Sandbox, truth_any};
