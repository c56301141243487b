//! What robots.txt says of the use of content, by path (draft-ietf-aipref-attach, "robots.txt"; contentsignals.org).

use super::pattern::{Pattern, Spelling, matches, spell};
use crate::domain::usage::{MAX_USAGE, Signal, Statements, split_path};

/// One statement.
#[derive(Clone, Debug)]
pub struct UsageRule {
    /// Which kind.
    pub signal: Signal,
    /// The path it is for, as written; none for all.
    pub path: Option<String>,
    /// What it states, as written; at most [`MAX_USAGE`] bytes.
    pub value: String,
    /// Its line, counted from 1.
    pub line: u32,
    /// None also for a path that can match nothing; told apart by `path`.
    pattern: Option<Pattern>,
}

impl UsageRule {
    pub(super) fn new(signal: Signal, value: &[u8], line: u32) -> Self {
        let (path, value) = split_path(value);
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes.get(..MAX_USAGE).unwrap_or(bytes)).into_owned();
        Self { signal, path: path.map(text), value: text(value), line, pattern: path.and_then(Pattern::new) }
    }

    pub(super) fn memory(&self) -> usize {
        let pattern = self.pattern.as_ref().map_or(0, |p| p.text.capacity());
        size_of::<Self>() + self.value.capacity() + self.path.as_ref().map_or(0, String::capacity) + pattern
    }

    /// How specific it is for a URL spelled this way, if it speaks of it at all.
    fn octets(&self, plain: &[u8], query: &[u8]) -> Option<u32> {
        match (&self.pattern, &self.path) {
            (Some(pattern), _) => {
                let path = if pattern.spelling == Spelling::Query { query } else { plain };
                matches(&pattern.text, pattern.anchored, path).then_some(pattern.octets)
            }
            (None, Some(_)) => None,
            (None, None) => Some(0),
        }
    }
}

/// Of each kind those with the longest matching path, in the order of the file.
pub(super) fn of(rules: &[UsageRule], tail: &str) -> Option<String> {
    if rules.is_empty() {
        return None;
    }
    let [plain, query] = [Spelling::Plain, Spelling::Query].map(|spelling| spell(tail.as_bytes(), spelling, false));
    let mut all = Statements::default();
    for signal in Signal::ALL {
        let measured = || rules.iter().filter(|r| r.signal == *signal).map(|r| (r.octets(&plain, &query), r));
        let Some(longest) = measured().filter_map(|(octets, _)| octets).max() else { continue };
        for (_, rule) in measured().filter(|(octets, _)| *octets == Some(longest)) {
            all.add("robots.txt", *signal, &rule.value);
        }
    }
    all.finish()
}
