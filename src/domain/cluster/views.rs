//! The members of a crawl as the admin endpoint shows them.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::lease::{Facts, MemberState};

/// Who takes part in a crawl on several machines.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Nodes {
    /// The crawl.
    pub cluster: String,
    /// Who answers.
    pub asked: String,
    /// The version of the map of partitions; none before there is one.
    pub map: Option<u64>,
    /// Members in the order of their numbers, then spares.
    pub nodes: Vec<NodeView>,
    /// How it stands with the engine.
    pub engine: EngineView,
}

/// A member or a spare.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct NodeView {
    /// Its name.
    pub name: String,
    /// What it said last; none of a member that has not been heard of.
    pub state: Option<MemberState>,
    /// How long ago that was, milliseconds.
    pub beat_age_ms: Option<u64>,
    /// True when that is longer than its lease: it may be replaced.
    pub is_lost: bool,
    /// Partitions that are its own, of 1,024.
    pub partitions: usize,
    /// How many of them go to others.
    pub going: usize,
    /// Partitions that come to it: they are another's still, or are not taken in yet.
    pub coming: usize,
    /// It gives everything to the others, and leaves then.
    pub leaving: bool,
    /// Its machine.
    pub machine: Option<String>,
    /// Its version of lycosa.
    pub version: Option<String>,
    /// What it says of its crawl.
    #[serde(flatten)]
    pub facts: Facts,
}

/// How it stands with the engine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct EngineView {
    /// Whether it is reached.
    pub connected: bool,
    /// Since when it is so, milliseconds since 1970.
    pub since_ms: u64,
    /// The server that is spoken to, and its version.
    pub server: Option<String>,
    /// Why it is away, or was last.
    pub why: Option<String>,
    /// Milliseconds that its clock is ahead of this machine's.
    pub clock_ahead_ms: Option<i64>,
}
