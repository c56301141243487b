//! What is shown of one URL. Times are milliseconds since 1970.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::admin::hosts::Schedule;
use crate::admin::schedule::ScheduleView;
use crate::admin::views::{CanonicalView, CaptureView, HostState, RobotsView, VerdictView, WaitView, WarcPlace};

/// The state a URL is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum UrlState {
    /// Nobody found a link to it yet.
    Unknown,
    /// In its host's queue, or waiting for its next try.
    Waiting,
    /// In somebody's hands, between queue and commit.
    Processing,
    /// Fetched.
    Done,
    /// Given up.
    Error,
    /// Turned away.
    Rejected,
}

/// What is known of a URL.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct UrlView {
    /// Its canonical form.
    pub url: String,
    /// Its state.
    pub state: UrlState,
    /// Why: the name of a failure or rejection, or how it was done.
    pub reason: Option<String>,
    /// When that was settled, as far as it is known.
    pub at_ms: Option<u64>,
    /// Links from the nearest seed, on the shortest path known.
    pub depth: Option<u16>,
    /// Rank in its host's queue; 0 is fetched first.
    pub rank: Option<u8>,
    /// Order inside the rank.
    pub order: Option<u64>,
    /// When it is tried again.
    pub due_ms: Option<u64>,
    /// Its newest record in the archive.
    pub warc: Option<WarcPlace>,
}

/// What the rules in force say of a URL.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RuleView {
    /// Whether they let it in.
    pub accepted: bool,
    /// The name of the rejection, when they do not.
    pub reason: Option<String>,
    /// The rule that decides, in words.
    pub rule: String,
    /// The depth that was judged: as it is known, or 1 for a URL never seen.
    pub depth: u16,
}

/// Where a URL waits.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct QueueView {
    /// Rank in its host's queue; 0 is fetched first.
    pub rank: u8,
    /// Order inside the rank.
    pub order: u64,
    /// URLs of its host that stand before it. Under `crawl.order = "best"` a share of lower ranks comes between.
    pub before: u64,
    /// False when there are more than were counted.
    pub before_is_exact: bool,
    /// When it is tried again, after an attempt that failed.
    pub due_ms: Option<u64>,
    /// The first moment its turn can come: after the URLs before it, each with the gap of its host. None while nothing is begun,
    /// or when not all before it were counted.
    pub earliest_ms: Option<u64>,
    /// Attempts that failed so far.
    pub failed_attempts: u8,
    /// True for a seed.
    pub seed: bool,
    /// When it was found.
    pub discovered_ms: u64,
    /// The page it was found on.
    pub via: Option<String>,
    /// The seed it goes back to.
    pub origin: Option<String>,
    /// Why it is queued although it was fetched before.
    pub again: Option<AgainView>,
}

/// A URL that was fetched and is queued once more.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AgainView {
    /// When it was fetched last.
    pub captured_ms: u64,
    /// `recrawl`, `sitemap`, `lastmod` or `cookies`.
    pub reason: String,
}

/// One attempt. Failures are known of this process's last thousands, answers that were stored for good.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AttemptView {
    /// When.
    pub at_ms: u64,
    /// How it was done, or the name of the failure.
    pub outcome: String,
    /// HTTP status, if there was an answer.
    pub status: Option<u16>,
}

/// How the URL's host stands.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct UrlHost {
    /// Where it stands.
    pub state: HostState,
    /// What it waits for; none when it may be asked now.
    pub wait: Option<WaitView>,
    /// URLs in its queue.
    pub queued: u64,
    /// When it may be asked.
    pub schedule: Schedule,
}

/// A fact, for people.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct FactView {
    /// What it is of, such as `robots.txt`.
    pub name: String,
    /// The fact.
    pub text: String,
}

/// Why nothing of any host is begun.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct HoldView {
    /// A code of `/api/v1/why-idle`.
    pub code: String,
    /// In words.
    pub sentence: String,
}

/// How a URL was found first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct FoundView {
    /// The page that held a link to it, or redirected to it; none of a seed.
    pub via: Option<String>,
    /// True for a seed, and for what a seed redirects to.
    pub seed: bool,
}

/// All that decides over a URL.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Explanation {
    /// The verdict in one plain sentence.
    pub answer: String,
    /// The handful of facts that decide, in words.
    pub facts: Vec<FactView>,
    /// Which scheme, or encoding of its query, was taken and why, when the question does not say.
    pub assumed: Option<String>,
    /// Its canonical form and what canonicalisation changed.
    pub canonical: CanonicalView,
    /// Its state.
    pub state: UrlState,
    /// Why it is in that state: the name of a failure or rejection, or how it was done.
    pub reason: Option<String>,
    /// What the rules in force say: traps, scope, filters.
    pub rules: RuleView,
    /// What its robots.txt says.
    pub robots_verdict: VerdictView,
    /// Its robots.txt.
    pub robots: RobotsView,
    /// Where it waits.
    pub queue: Option<QueueView>,
    /// How its host stands; none when nothing is known of it.
    pub host: Option<UrlHost>,
    /// What keeps every host from being asked now.
    pub hold: Option<HoldView>,
    /// Attempts, newest first.
    pub attempts: Vec<AttemptView>,
    /// How it was found; none while nothing is known of it.
    pub found: Option<FoundView>,
    /// Its newest capture.
    pub page: Option<CaptureView>,
    /// When it is visited next; none of one that was not visited yet, or was turned away.
    pub schedule: Option<ScheduleView>,
}
