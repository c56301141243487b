//! The lines of the reports, and their columns.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::admin::csv::Row;
use crate::admin::orders::OrdersView;
use crate::base::time::UnixMillis;
use crate::domain::priority::Weight;
use crate::domain::refresh::Cycle;

/// A URL that was given up.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct DeadLink {
    /// The URL.
    pub url: String,
    /// Why.
    pub reason: String,
    /// The status of the last answer, if there was one.
    pub status: Option<u16>,
    /// When it was given up, milliseconds since 1970.
    #[schema(value_type = u64)]
    pub when: UnixMillis,
    /// Fetches that failed.
    pub attempts: u8,
    /// The page it was first found on; others may hold it too.
    pub page: Option<String>,
    /// The seed it goes back to.
    pub seed: Option<String>,
}

/// A seed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SeedLine {
    /// The seed.
    pub url: String,
    /// `waiting`, `done`, `error` or `rejected`.
    pub state: String,
    /// How it ended, or why.
    pub reason: Option<String>,
    /// When it was added, milliseconds since 1970.
    #[schema(value_type = u64)]
    pub added: UnixMillis,
    /// Its own place in the queue.
    pub rank: Option<u8>,
    /// By how much more important than others it is.
    #[schema(value_type = Option<f64>)]
    pub weight: Option<Weight>,
    /// How many links are followed from it.
    pub max_depth: Option<u16>,
    /// What it is called.
    pub tags: Vec<String>,
    /// When pages that go back to it are visited again.
    #[schema(value_type = Option<String>)]
    pub cycle: Option<Cycle>,
}

/// A host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct HostLine {
    /// Its name.
    pub host: String,
    /// URLs in its queue.
    pub queued: u64,
    /// URLs that wait for their next try.
    pub retries: u64,
    /// URLs done.
    pub done: u64,
    /// URLs given up.
    pub errors: u64,
    /// Bytes of bodies.
    pub bytes: u64,
    /// What the operator has said of it.
    pub orders: OrdersView,
}

/// Answers with one status.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct StatusLine {
    /// The status.
    pub status: u16,
    /// Captures.
    pub captures: u64,
}

/// Captures of one media type.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TypeLine {
    /// The type; `unknown` without one, `other` for those that are not counted by name.
    pub media_type: String,
    /// Captures.
    pub captures: u64,
    /// Bytes of their bodies.
    pub bytes: u64,
}

impl Row for DeadLink {
    const NAMES: &'static [&'static str] = &["url", "reason", "status", "when", "attempts", "page", "seed"];
}

impl Row for SeedLine {
    const NAMES: &'static [&'static str] =
        &["url", "state", "reason", "added", "rank", "weight", "max_depth", "tags", "cycle"];
}

impl Row for HostLine {
    const NAMES: &'static [&'static str] =
        &["host", "queued", "retries", "done", "errors", "bytes", "paused", "blocked", "min_delay_ms"];
}

impl Row for StatusLine {
    const NAMES: &'static [&'static str] = &["status", "captures"];
}

impl Row for TypeLine {
    const NAMES: &'static [&'static str] = &["media_type", "captures", "bytes"];
}
