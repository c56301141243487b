//! One snapshot of a running crawl: what the progress display, the log, the admin API and the final summary show.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::domain::reason::Failure;
use serde::{Deserialize, Serialize};

use super::trouble::Trouble;

/// What the daemon is doing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// Opening its data folder.
    #[default]
    Starting,
    /// Crawling, or waiting for something to crawl.
    Running,
    /// Paused by the operator or a full disk; see `idle_reason`.
    Paused,
    /// Finishing what is in flight.
    Draining,
    /// Over.
    Stopped,
}

/// Counts and rates at one moment. Invariant I2: `discovered = waiting + processing + done + errors + rejected`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct StatusSnapshot {
    /// What it does.
    pub state: State,
    /// Name of the crawl.
    pub crawl: String,
    /// Version of the program.
    pub version: String,
    /// Seconds since this process began.
    pub uptime_seconds: f64,
    /// URLs ever accepted.
    pub discovered: u64,
    /// URLs in a queue, retries included.
    pub waiting: u64,
    /// URLs between lease and commit.
    pub processing: u64,
    /// URLs finished.
    pub done: u64,
    /// URLs given up.
    pub errors: u64,
    /// URLs turned away, all reasons together.
    pub rejected: u64,
    /// Captures, each visit of a page one, as `crawl.max_pages` counts them: also those whose content was known, and those that the
    /// settings keep out of the archive.
    pub pages_stored: u64,
    /// Answers with known content, stored as references.
    pub revisits: u64,
    /// Bytes received.
    pub bytes: u64,
    /// Pages a second over the last minute or so.
    pub pages_per_second: f64,
    /// Sum of the time spent on fetching, for the mean time per page.
    pub fetch_seconds: f64,
    /// Hosts being crawled.
    pub hosts_active: u64,
    /// Hosts with URLs that could be taken up now.
    pub hosts_waiting: u64,
    /// Hosts with URLs that wait for a time.
    pub hosts_parked: u64,
    /// Hosts with URLs that the operator holds: paused, blocked, or their queue is being dropped.
    #[serde(default)]
    pub hosts_held: u64,
    /// Hosts, with URLs or without, for which an order of the operator stands.
    #[serde(default)]
    pub hosts_ordered: HostsOrdered,
    /// URLs in the queues of all hosts by rank, the best first, those being processed among them. With `retries` they are all
    /// that wait or are processed.
    #[serde(default)]
    pub frontier: Vec<u64>,
    /// URLs that wait for the time of their next try.
    #[serde(default)]
    pub retries: u64,
    /// Pages that are done and have a next visit.
    #[serde(default)]
    pub visits_planned: u64,
    /// Visits a day that they ask for.
    #[serde(default)]
    pub visits_a_day: f64,
    /// Pages found to be near to another one since the process began; none where `dedup.near` is off.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub near_duplicates: Option<u64>,
    /// Link credit, where `frontier.credit` is on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub credit: Option<CreditSums>,
    /// Which member of a crawl in parts this is; none when it has the whole crawl.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub member: Option<MemberView>,
    /// The members whose counts these are, added up; none when they are those of one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub members: Vec<String>,
    /// Members that did not answer, and whose counts are left out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<String>,
    /// Requests in flight.
    pub in_flight: u64,
    /// Page permits withheld because memory is short.
    #[serde(default)]
    pub permits_withheld: u64,
    /// Final answers by status code.
    #[schema(value_type = BTreeMap<String, u64>)]
    pub statuses: BTreeMap<u16, u64>,
    /// Errors by reason.
    pub errors_by_reason: BTreeMap<String, u64>,
    /// Rejections by reason.
    pub rejected_by_reason: BTreeMap<String, u64>,
    /// What is held back since many pages of its shape brought nothing new: a suspicion. `lycosa ctl urls readmit --held-back` takes
    /// it up.
    #[serde(default)]
    pub held_back: HeldBack,
    /// What went wrong since the process began, by reason of failure or rejection, with an example of each. Attempts that
    /// will be repeated count too.
    #[serde(default)]
    pub troubles: BTreeMap<String, Trouble>,
    /// Seconds to the next retry or the end of the next parking, when nothing can be done before.
    #[serde(default)]
    pub next_try_seconds: Option<f64>,
    /// Why nothing is being fetched; empty when something is.
    pub idle_reason: String,
    /// Folder of the WARC files.
    pub warc_dir: String,
}

/// Who holds link credit (ADR 37); one is what a seed brings.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct CreditSums {
    /// What seeds brought.
    pub issued: f64,
    /// In the accounts of pages.
    pub accounts: f64,
    /// In purses: what did not divide among their members.
    pub purses: f64,
    /// Dividends that nobody took yet.
    pub unpaid: f64,
    /// With lambda.
    pub lambda: f64,
    /// In notes: given, and not yet with those that it was given to.
    pub notes: f64,
    /// What is held less what was issued, in units: 0, or the program has a fault (I11).
    pub difference: i64,
    /// Accounts.
    pub pages: u64,
    /// Notes that are not settled.
    pub notes_open: u64,
    /// Rounds that ended.
    pub rounds: u64,
    /// URLs that moved up.
    pub moved: u64,
}

/// A member of a crawl in parts.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct MemberView {
    /// Its name.
    pub name: String,
    /// Partitions that are its own, of 1,024.
    pub partitions: u64,
    /// Seconds for which it may send requests without another word from the engine; none where there is no engine.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub lease_seconds: Option<u64>,
    /// What it has for other members.
    pub outbox: Vec<OutboxView>,
}

/// Links that a member has for another.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct OutboxView {
    /// For whom.
    pub to: String,
    /// Rows that are kept.
    pub rows: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Links in them.
    pub links: u64,
}

/// URLs held back.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct HeldBack {
    /// All of them; they are among the rejected ones.
    pub urls: u64,
    /// The same by reason: `barren`, `self_fed`, `session` or `permuted`.
    #[serde(default)]
    pub reasons: BTreeMap<String, u64>,
    /// Their shapes, those with most URLs first, as far as they were told apart since the process began.
    pub shapes: Vec<HeldShapeView>,
}

/// A shape of which URLs are held back.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct HeldShapeView {
    /// Its host.
    pub host: String,
    /// Why: `barren`, `self_fed`, `session` or `permuted`.
    pub reason: String,
    /// One of the URLs.
    pub example: String,
    /// Their number.
    pub urls: u64,
}

impl HeldBack {
    /// In one sentence; empty when nothing is held back.
    pub fn sentence(&self) -> String {
        let urls = match self.urls {
            0 => return String::new(),
            1 => format!("1 URL is held back{}, and whatever lies behind it, for many pages of its shape", self.why()),
            n => format!(
                "{n} URLs are held back{}, and whatever lies behind them, for many pages of their shapes",
                self.why()
            ),
        };
        let example = self.shapes.first().map(|shape| format!(", such as {}", shape.example)).unwrap_or_default();
        format!("{urls} brought nothing new{example}")
    }

    /// The reasons in brackets, behind a space.
    fn why(&self) -> String {
        let one = |(reason, n): (&String, &u64)| match self.reasons.len() {
            1 => reason.clone(),
            _ => format!("{n} {reason}"),
        };
        let reasons: Vec<String> = self.reasons.iter().map(one).collect();
        if reasons.is_empty() { String::new() } else { format!(" ({})", reasons.join(", ")) }
    }
}

/// Hosts by the orders that stand for them; one may have several.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct HostsOrdered {
    /// Paused.
    pub paused: u64,
    /// Blocked.
    pub blocked: u64,
    /// Their queue is being dropped.
    pub dropping: u64,
    /// They are being queued again.
    pub recrawling: u64,
    /// They have a least gap of their own.
    #[serde(default)]
    pub slowed: u64,
}

impl StatusSnapshot {
    /// Whether the states add up (I2).
    pub fn adds_up(&self) -> bool {
        self.discovered == self.waiting + self.processing + self.done + self.errors + self.rejected
    }

    /// Whether any page was fetched: answered with a status of success.
    pub fn fetched_any(&self) -> bool {
        self.statuses.range(200..300).any(|(_, n)| *n > 0)
    }

    /// URLs for which a request got an answer: those done, and those whose error is what was answered.
    pub fn visited(&self) -> u64 {
        let answered = |reason: &str| reason.starts_with("status_") || reason == Failure::Poison.as_str();
        let errors = self.errors_by_reason.iter().filter(|(reason, _)| answered(reason)).map(|(_, n)| *n);
        errors.fold(self.done, u64::saturating_add)
    }

    /// Mean time of a fetch per answer kept; `None` before the first.
    pub fn mean_fetch(&self) -> Option<Duration> {
        let answers = self.statuses.values().copied().fold(0, u64::saturating_add);
        if answers == 0 {
            return None;
        }
        Duration::try_from_secs_f64(self.fetch_seconds / answers as f64).ok()
    }
}
