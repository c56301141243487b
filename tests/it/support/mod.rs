//! What the tests of a whole node stand on.

#![allow(dead_code, reason = "not every feature set uses all of it")]

pub mod audit;
pub mod audit_check;
mod check;
mod ended;
pub mod fsck;
mod live;
mod log;
mod looker;
pub mod nats;
mod near;
mod sandbox;

pub use audit::{Manners, check_manners};

pub use check::{checked, checker};
pub use ended::Ended;
pub use fsck::fsck;
pub use live::Live;
pub use sandbox::{Fork, Sandbox, truth_any};
