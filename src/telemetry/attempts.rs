//! Attempts that failed lately, by URL: what the records on disk do not keep of a URL that is tried again.

use std::collections::VecDeque;
use std::sync::Mutex;

use crate::base::sync::lock;
use crate::base::time::UnixMillis;
use crate::domain::fingerprint::UrlKey;

/// Attempts kept, of all URLs together; some 300 KB.
const KEPT: usize = 8_192;
/// Attempts of one URL that are told.
const TOLD: usize = 16;

/// One attempt that failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attempt {
    /// The URL.
    pub url: UrlKey,
    /// When it was committed.
    pub at: UnixMillis,
    /// Name of the failure.
    pub reason: &'static str,
    /// What was answered, if anything.
    pub status: Option<u16>,
}

/// The latest of one process.
#[derive(Debug, Default)]
pub struct Attempts(Mutex<VecDeque<Attempt>>);

impl Attempts {
    /// Keeps one; the oldest goes.
    pub fn note(&self, attempt: Attempt) {
        let mut kept = lock(&self.0);
        if kept.len() >= KEPT {
            kept.pop_front();
        }
        kept.push_back(attempt);
    }

    /// Those of one URL, newest first.
    pub fn of(&self, url: &UrlKey) -> Vec<Attempt> {
        let kept = lock(&self.0);
        kept.iter().rev().filter(|attempt| attempt.url == *url).take(TOLD).copied().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_attempts_of_a_url_are_told_and_the_number_kept_is_bounded() {
        let attempts = Attempts::default();
        let attempt =
            |n: u64| Attempt { url: UrlKey([(n % 2) as u8; 12]), at: UnixMillis(n), reason: "reset", status: None };
        (0..KEPT as u64 + 4).for_each(|n| attempts.note(attempt(n)));
        assert_eq!(attempts.0.lock().unwrap().len(), KEPT);
        let told: Vec<u64> = attempts.of(&UrlKey([1; 12])).iter().map(|a| a.at.0).collect();
        assert_eq!((told.len(), told[0], told[1]), (TOLD, KEPT as u64 + 3, KEPT as u64 + 1));
        assert!(attempts.of(&UrlKey([9; 12])).is_empty());
    }
}
