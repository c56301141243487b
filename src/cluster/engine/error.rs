//! Why an engine did not do what it was asked.

use std::time::Duration;

use crate::base::units::{format_duration, human_size};

use super::NAME_CAP;

/// What went wrong, where, and what to do. Servers are named without what lets one in.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "each message says what its fields are")]
pub enum EngineError {
    /// Nothing was done.
    #[error("{key} has been written by another meanwhile: read it again")]
    Conflict { key: String },
    /// What was asked may have been done all the same.
    #[error("the engine at {server} is away: {why}")]
    Away { server: String, why: String },
    /// Reached, and it says no. Trying again does not help until somebody has changed something. Nothing was done.
    #[error("the engine at {server} refuses: {why}")]
    Refused { server: String, why: String },
    /// Nothing was sent.
    #[error("{what} of {} is too large: at most {}", human_size(*.bytes as u64), human_size(*.cap as u64))]
    TooLarge { what: &'static str, bytes: usize, cap: usize },
    #[error(
        "{name:?} is no key and no subject: words of letters a-z, A-Z, digits, - and _, joined by dots, at most {NAME_CAP} bytes"
    )]
    Name { name: String },
    #[error("nobody answers to {subject}: is that member running, and under that name?")]
    NoOne { subject: String },
    /// The request may have been heard.
    #[error("no answer to {subject} within {}", format_duration(*.patience))]
    Late { subject: String, patience: Duration },
    /// Nothing was done.
    #[error("who answers to {subject} is busy: ask again a little later")]
    Busy { subject: String },
    #[error("who answers to {subject} failed over it; its log says how")]
    Failed { subject: String },
    #[error("the setting cluster.{setting}: {why}")]
    Setting { setting: &'static str, why: String },
}
