//! What is known of a robots.txt.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// What to go by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum RobotsStanding {
    /// Its rules.
    Rules,
    /// The rules of an older copy: it cannot be reached now.
    StaleRules,
    /// There is none: everything is allowed.
    AllowAll,
    /// It cannot be reached and there is no older copy: nothing is allowed (RFC 9309).
    DisallowAll,
    /// It was not asked for yet.
    NotAsked,
    /// The settings ignore it (`politeness.respect_robots`).
    Ignored,
}

/// The robots.txt of one scheme, host and port. Times are milliseconds since 1970.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct RobotsView {
    /// `http` or `https`.
    pub scheme: String,
    /// The port.
    pub port: u16,
    /// What to go by.
    pub standing: RobotsStanding,
    /// HTTP status of the latest answer; none when there was no answer, or no request.
    pub status: Option<u16>,
    /// When its text was fetched.
    pub fetched_ms: Option<u64>,
    /// Seconds since then.
    pub age_seconds: Option<f64>,
    /// True when it is asked for anew before the next page of its host.
    pub due: bool,
    /// Requests that failed in a row.
    pub failures: u8,
    /// Since when it is being asked for, when it is.
    pub asking_since_ms: Option<u64>,
    /// When it is asked for again after a failure.
    pub retry_ms: Option<u64>,
    /// Bytes of its text.
    pub bytes: u64,
    /// Whose rules are taken: `named` (this crawler's), `star`, `none`.
    pub group: String,
    /// Number of rules that are meant for this crawler.
    pub rules: u64,
    /// `Crawl-delay`, seconds.
    pub crawl_delay_seconds: Option<f64>,
    /// The first hundred values of `Sitemap`.
    pub sitemaps: Vec<String>,
}

/// What robots.txt says of one URL.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct VerdictView {
    /// Whether it may be fetched; none while robots.txt was not asked for.
    pub allowed: Option<bool>,
    /// The line that decides, with its number, or why there is none.
    pub because: String,
}
