//! What an answer to the request for robots.txt means, and how long it holds (RFC 9309, sections 2.3.1 and 2.4).

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::base::time::UnixMillis;
use crate::base::units::{duration, durations};

/// What the request for robots.txt brought.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RobotsStatus {
    /// A text: its rules hold.
    Found,
    /// There is none: everything is allowed.
    Unavailable,
    /// It cannot be had for now: nothing is allowed until it can.
    Unreachable,
}

/// What the final status code of a request for robots.txt means. Redirects are followed up to five before this, so a
/// 3xx here is one too many, or one that leads nowhere, and means that there is none (section 2.3.1.2). 429 asks for
/// patience and is taken like a server error. Network faults are [`RobotsStatus::Unreachable`] without asking here.
pub fn classify(status: u16) -> RobotsStatus {
    match status {
        200..=299 => RobotsStatus::Found,
        429 => RobotsStatus::Unreachable,
        300..=499 => RobotsStatus::Unavailable,
        _ => RobotsStatus::Unreachable,
    }
}

/// What to go by now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RobotsAccess {
    /// The text just fetched.
    Fetched,
    /// The copy kept from before.
    Stale,
    /// No rules: everything is allowed.
    AllowAll,
    /// Nothing is allowed.
    DisallowAll,
}

/// `[robots]`: how long a robots.txt holds and when a failed request for one is repeated.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RobotsCachePolicy {
    /// Age at which a copy is fetched again (RFC 9309: at most 24 hours).
    #[serde(with = "duration")]
    pub max_age: Duration,
    /// Waits after the first, second … failure in a row; the last one repeats.
    #[serde(with = "durations")]
    pub error_retry: Vec<Duration>,
    /// How long an old copy stands in while robots.txt cannot be reached.
    #[serde(with = "duration")]
    pub keep_stale: Duration,
}

impl Default for RobotsCachePolicy {
    fn default() -> Self {
        Self {
            max_age: Duration::from_secs(24 * 60 * 60),
            error_retry: [5 * 60, 15 * 60, 60 * 60].map(Duration::from_secs).to_vec(),
            keep_stale: Duration::from_secs(30 * 24 * 60 * 60),
        }
    }
}

/// A robots.txt as kept, without its text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RobotsCopy {
    /// Status of the final answer; 0 when none came.
    pub status: u16,
    /// When it was learned what holds: a text, an empty one too, or that there is none; 0 when it never was.
    pub fetched: UnixMillis,
    /// Fetches that failed in a row since.
    pub failures: u8,
    /// When to try again after a failure.
    pub retry_at: Option<UnixMillis>,
}

impl RobotsCachePolicy {
    /// Whether the copy says nothing any more: one must be fetched before anything else of its host.
    pub fn is_due(&self, copy: &RobotsCopy, now: UnixMillis) -> bool {
        match copy.retry_at {
            Some(at) => at <= now,
            // From the future: the clock was set back.
            None => copy.fetched > now || now.since(copy.fetched) >= self.max_age,
        }
    }

    /// What to go by with this copy, whether it is due or not; an old one stands in for a while for one that cannot be reached.
    pub fn standing(&self, copy: &RobotsCopy, now: UnixMillis) -> RobotsAccess {
        let stale = copy.fetched.0 > 0 && now.since(copy.fetched) <= self.keep_stale;
        match if copy.failures > 0 { RobotsStatus::Unreachable } else { classify(copy.status) } {
            RobotsStatus::Found => RobotsAccess::Fetched,
            RobotsStatus::Unavailable => RobotsAccess::AllowAll,
            RobotsStatus::Unreachable if stale => RobotsAccess::Stale,
            RobotsStatus::Unreachable => RobotsAccess::DisallowAll,
        }
    }

    /// When to ask again after `failures` failed requests in a row (at least one). It counts from `earliest`, the host's next
    /// request: else each of them would be one for robots.txt, which asks for more patience, and no page would ever have a turn.
    pub fn retry_at(&self, earliest: UnixMillis, failures: u32) -> UnixMillis {
        let step = usize::try_from(failures.saturating_sub(1)).unwrap_or(usize::MAX);
        let wait = self.error_retry.get(step).or(self.error_retry.last()).copied();
        earliest.plus(wait.unwrap_or(self.max_age))
    }
}
