//! What goes wrong, for people: how often each reason came, with the latest example.

use std::collections::BTreeMap;
use std::sync::Mutex;

use serde::{Deserialize, Serialize};

use crate::base::sync::lock;
use crate::base::time::UnixMillis;

/// Reasons kept; there are some thirty names of failures and rejections.
const REASONS: usize = 64;

/// robots.txt could not be had, so that its host waits.
pub const ROBOTS_UNREACHABLE: &str = "robots_unreachable";
/// A certificate that a browser would refuse.
pub const CERTIFICATE: &str = "certificate";

/// The system's clock was set.
pub const CLOCK: &str = "clock";
/// What to do about it.
pub const CLOCK_ADVICE: &str = "see `timedatectl`; no wait is longer or shorter for it, but dates (WARC-Date, crawl.jsonl, \
                                 the log) are as wrong as the clock was when they were written";
/// A copy elsewhere failed and is tried again.
pub const UPLOAD: &str = "upload_failed";
/// The index of pages waits.
pub const INDEX: &str = "index_failed";
/// A sink waits, or its server is away.
pub const SINK: &str = "sink_waits";
/// A checkpoint could not be made.
pub const CHECKPOINT: &str = "checkpoint_failed";

/// One reason.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct Trouble {
    /// How often since the process began; an attempt that is repeated later counts each time.
    pub count: u64,
    /// The latest URL, with what it answered where that says more.
    pub example: String,
}

/// The troubles of one node. The number of reasons is bounded.
#[derive(Debug, Default)]
pub struct Troubles(Mutex<Kept>);

#[derive(Debug, Default)]
struct Kept {
    by_reason: BTreeMap<&'static str, Trouble>,
    latest: Option<(UnixMillis, &'static str)>,
    /// When each failure came last.
    last: BTreeMap<&'static str, UnixMillis>,
}

impl Troubles {
    /// Counts a failure; the first of its kind gives true.
    pub fn note(&self, now: UnixMillis, reason: &'static str, example: String) -> bool {
        self.count(reason, example, Some(now))
    }

    /// Counts what is no failure, such as a URL that the rules turn away.
    pub fn tally(&self, reason: &'static str, example: String) {
        self.count(reason, example, None);
    }

    fn count(&self, reason: &'static str, example: String, failed: Option<UnixMillis>) -> bool {
        let mut kept = lock(&self.0);
        if kept.by_reason.len() >= REASONS && !kept.by_reason.contains_key(reason) {
            return false;
        }
        kept.latest = failed.map(|now| (now, reason)).or(kept.latest);
        if let Some(now) = failed {
            kept.last.insert(reason, now);
        }
        let trouble = kept.by_reason.entry(reason).or_default();
        trouble.count = trouble.count.saturating_add(1);
        trouble.example = example;
        trouble.count == 1
    }

    /// All of them.
    pub fn all(&self) -> BTreeMap<String, Trouble> {
        let kept = lock(&self.0);
        kept.by_reason.iter().map(|(reason, trouble)| ((*reason).to_owned(), trouble.clone())).collect()
    }

    /// When a failure came last, with its example.
    pub fn last(&self, reason: &str) -> Option<(UnixMillis, String)> {
        let kept = lock(&self.0);
        Some((*kept.last.get(reason)?, kept.by_reason.get(reason)?.example.clone()))
    }

    /// The latest failure, if there was any: when, its reason and example.
    pub fn latest(&self) -> Option<(UnixMillis, &'static str, String)> {
        let kept = lock(&self.0);
        let (when, reason) = kept.latest?;
        Some((when, reason, kept.by_reason.get(reason)?.example.clone()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_are_counted_with_their_latest_example() {
        let troubles = Troubles::default();
        assert!(troubles.note(UnixMillis(1), "tls", "https://a.test/".into()));
        assert!(!troubles.note(UnixMillis(2), "tls", "https://b.test/".into()));
        assert!(troubles.note(UnixMillis(3), "reset", "http://c.test/".into()));
        assert_eq!(troubles.all()["tls"], Trouble { count: 2, example: "https://b.test/".into() });
        troubles.tally("robots", "http://d.test/".into());
        assert_eq!(troubles.latest(), Some((UnixMillis(3), "reset", "http://c.test/".into())));
        assert_eq!(troubles.all()["robots"].count, 1);
        assert_eq!(troubles.last("tls"), Some((UnixMillis(2), "https://b.test/".into())));
        assert_eq!(troubles.last("robots"), None);
    }
}
