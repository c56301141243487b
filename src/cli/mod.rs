//! The commands of the `lycosa` program.

pub mod testweb;
