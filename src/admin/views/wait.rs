//! How a host stands and what it waits for.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Where a host stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum HostState {
    /// It has an actor; its URLs are being fetched.
    Active,
    /// It has URLs and could be taken up now.
    Waiting,
    /// It has URLs and is not taken up before a time.
    Parked,
    /// It has no URL to fetch now.
    Idle,
    /// It has URLs and is paused or blocked by the operator.
    Held,
}

/// What sets a host's earliest time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum WaitWhy {
    /// The ordinary gap between two requests.
    Gap,
    /// Crawl-delay of its robots.txt.
    CrawlDelay,
    /// Its server named a time (Retry-After).
    RetryAfter,
    /// Throttling answers, errors or faults.
    Backoff,
    /// Too many refusals in a row.
    Brake,
    /// Its pages take the processor longer than their bytes are worth.
    Work,
    /// Its robots.txt cannot be reached.
    RobotsUnreachable,
    /// Its name cannot be resolved.
    DnsFailing,
    /// It gave its place to other hosts for a while.
    Parked,
}

impl WaitWhy {
    /// In words.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::Gap => "the gap between two requests",
            Self::CrawlDelay => "the Crawl-delay of its robots.txt",
            Self::RetryAfter => "the Retry-After of its server",
            Self::Backoff => "back-off after errors or throttling",
            Self::Brake => "a pause after many refusals in a row (fetch.waf_brake)",
            Self::Work => "the work that its last pages made",
            Self::RobotsUnreachable => "its robots.txt cannot be reached",
            Self::DnsFailing => "its name cannot be resolved",
            Self::Parked => "it was set aside",
        }
    }

    /// True for what every host waits for between two requests; the rest is trouble.
    #[must_use]
    pub fn is_ordinary(self) -> bool {
        matches!(self, Self::Gap | Self::CrawlDelay)
    }
}

/// A wait.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct WaitView {
    /// The first moment of a request, milliseconds since 1970.
    pub until_ms: u64,
    /// Seconds until then.
    pub seconds: f64,
    /// What set it.
    pub why: WaitWhy,
    /// The same in words.
    pub words: String,
}
