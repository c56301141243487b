//! Lists of hosts as users write them.

use std::collections::HashSet;

use super::error::ScopeError;
use crate::domain::host::parse_host;

/// Hosts by name (`example.org`) and by what they lie below (`*.example.org`).
#[derive(Clone, Debug, Default)]
pub(super) struct HostPatterns {
    exact: HashSet<Box<str>>,
    below: HashSet<Box<str>>,
}

impl HostPatterns {
    /// # Errors
    /// The first pattern that can match no host.
    pub(super) fn new(key: &'static str, patterns: &[String]) -> Result<Self, ScopeError> {
        let mut made = Self::default();
        for pattern in patterns {
            let wrong = || ScopeError::Host { key, pattern: pattern.clone() };
            let trimmed = pattern.trim();
            let below = trimmed.strip_prefix("*.");
            let host = parse_host(below.unwrap_or(trimmed)).ok_or_else(wrong)?;
            let set = if below.is_some() { &mut made.below } else { &mut made.exact };
            set.insert(host.trim_end_matches('.').into());
        }
        Ok(made)
    }

    /// The pattern that covers `host`.
    pub(super) fn find(&self, host: &str) -> Option<&str> {
        if let Some(found) = self.exact.get(host) {
            return Some(found);
        }
        if self.below.is_empty() {
            return None;
        }
        let dots = host.bytes().enumerate().filter(|(_, b)| *b == b'.');
        dots.filter_map(|(at, _)| host.get(at + 1..)).find_map(|parent| self.below.get(parent)).map(|found| &**found)
    }
}
