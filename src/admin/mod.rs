//! The admin endpoint.

mod control;

pub use control::{Control, ControlError, SeedReport};
