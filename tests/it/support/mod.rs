//! What the tests of a whole node stand on.

#![allow(dead_code, reason = "not every feature set uses all of it")]

mod audit;
mod check;
pub mod fsck;
mod log;
mod sandbox;

pub use audit::{Manners, check_manners};

pub use check::{checked, checker};
pub use fsck::fsck;
pub use sandbox::{Ended, Fork, Live, Sandbox, truth_any};
