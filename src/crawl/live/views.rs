//! How changes of settings and their trials are shown.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

/// One key of a change; null is what file, environment and flags say.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ChangedView {
    /// Dotted.
    pub key: String,
    /// Before.
    pub before: Value,
    /// Since.
    pub after: Value,
}

/// What a change would do to the URLs there are.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct TrialView {
    /// True when only a part was looked at: the first URLs of some hosts.
    pub sample: bool,
    /// What there is to fear: the crawl would end at once, or most of the queue be turned away. Such a change is made only
    /// with `force`.
    #[serde(default)]
    pub warnings: Vec<String>,
    /// The keys that it would change.
    pub changed: Vec<ChangedView>,
    /// URLs in the queues: those that would be turned away when their turn comes, by the reason that would be given.
    pub queued: TrialPart,
    /// URLs rejected: those that would be readmitted, by the reason that was given.
    pub rejected: TrialPart,
}

/// One family of URLs in a trial.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct TrialPart {
    /// How many there are.
    pub of: u64,
    /// How many were looked at.
    pub looked: u64,
    /// How many would change, by reason.
    pub changing: BTreeMap<String, u64>,
    /// Some of them.
    pub examples: Vec<TrialExample>,
}

/// A URL that would change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TrialExample {
    /// The URL.
    pub url: String,
    /// The reason.
    pub reason: String,
    /// The rule that decides, in words.
    pub rule: String,
}
