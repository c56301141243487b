//! What several rooms show.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::domain::host::registrable_domain;
use crate::domain::partition::Partition;
use crate::domain::url::{PageUrl, changes};
pub use crate::export::item::CaptureView;
pub use crate::storage::values::WarcPlace;

/// The name that one of several has in an answer.
pub(super) fn json_name(value: impl Serialize) -> String {
    serde_json::to_value(value).ok().and_then(|v| v.as_str().map(str::to_owned)).unwrap_or_default()
}

/// A URL in canonical form.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct CanonicalView {
    /// The canonical form.
    pub url: String,
    /// `http` or `https`.
    pub scheme: String,
    /// The host.
    pub host: String,
    /// Its registrable domain.
    pub domain: String,
    /// The effective port.
    pub port: u16,
    /// Path and query.
    pub tail: String,
    /// The partition of its host.
    pub partition: u16,
    /// What canonicalisation changed, in words.
    pub changed: Vec<String>,
}

impl CanonicalView {
    /// Of `url`, the canonical form of `input`.
    pub fn new(input: &str, url: &PageUrl) -> Self {
        Self {
            url: url.as_str().to_owned(),
            scheme: url.scheme().as_str().to_owned(),
            host: url.host().to_owned(),
            domain: registrable_domain(url.host()).to_owned(),
            port: url.port(),
            tail: url.tail().to_owned(),
            partition: Partition::of_host(url.host()).0,
            changed: changes(input, url),
        }
    }
}

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
