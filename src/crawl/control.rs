//! What is answered to those who steer a crawl.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A command that could not be carried out.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ControlError {
    /// The crawl is stopping or an actor is being replaced; try again.
    #[error("not ready: {0}")]
    Unavailable(String),
    /// The command makes no sense now.
    #[error("{0}")]
    Refused(String),
    /// There is no such thing.
    #[error("{0}")]
    Absent(String),
    /// The question is not understood.
    #[error("{0}")]
    Invalid(String),
}

/// What became of seeds handed in.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SeedReport {
    /// Taken into the frontier, committed.
    pub accepted: u64,
    /// Known already.
    pub known: u64,
    /// Turned away.
    pub rejected: Vec<RejectedSeed>,
    /// Seeds that were given without a scheme, as they are asked for first; http is asked when https does not answer.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub guessed: Vec<String>,
}

/// A seed that was turned away.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RejectedSeed {
    /// As it was given.
    pub url: String,
    /// Why.
    pub reason: String,
}
