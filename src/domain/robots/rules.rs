//! The rules for one agent, packed, and the verdict on a URL.

use std::time::Duration;

use super::pattern::{Spelling, matches, spell};
use super::usage::{self, UsageRule};

/// What robots.txt says about one URL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RobotsVerdict {
    /// Whether it may be fetched.
    pub allowed: bool,
    /// The line that decided it, as written, after its number: `12: Disallow: /private`. `None` when no rule matched.
    pub line: Option<String>,
}

/// Whose rules were found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RobotsGroup {
    /// A group names our product token.
    Named,
    /// Only the groups for everybody apply.
    Star,
    /// No group applies: all is allowed.
    None,
    /// There is no text: everything is allowed or disallowed as a whole.
    #[default]
    Whole,
}

/// What a host's robots.txt tells one agent. Compact: patterns and lines lie in one buffer each. By default nothing may be fetched.
#[derive(Clone, Debug, Default)]
pub struct RobotsRules {
    pub(super) group: RobotsGroup,
    /// The verdict when no rule matches.
    pub(super) otherwise: bool,
    /// The most specific first; of equal ones those that allow first, then by line.
    pub(super) rules: Box<[Rule]>,
    pub(super) patterns: Box<[u8]>,
    pub(super) lines: Box<str>,
    pub(super) has_query_rules: bool,
    pub(super) crawl_delay: Option<Duration>,
    pub(super) sitemaps: Vec<String>,
    pub(super) usage: Vec<UsageRule>,
}

/// One rule; spans point into the buffers.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rule {
    pub pattern: Span,
    pub line: Span,
    pub number: u32,
    pub allow: bool,
    pub anchored: bool,
    pub wild: bool,
    pub spelling: Spelling,
}

/// A piece of a buffer.
#[derive(Clone, Copy, Debug)]
pub(super) struct Span {
    pub start: u32,
    pub end: u32,
}

impl Span {
    fn range(self) -> std::ops::Range<usize> {
        self.start as usize..self.end as usize
    }
}

impl RobotsRules {
    /// Everything may be fetched: there is no robots.txt (RFC 9309, section 2.3.1.3).
    pub fn allow_all() -> Self {
        Self { otherwise: true, ..Self::default() }
    }

    /// Nothing may be fetched: robots.txt could not be reached (RFC 9309, section 2.3.1.4).
    pub fn disallow_all() -> Self {
        Self::default()
    }

    /// Whether `tail` (path and query of a URL, beginning with `/`) may be fetched: the longest matching rule decides,
    /// of equally long ones the one that allows; `/robots.txt` itself may always be fetched.
    pub fn verdict(&self, tail: &str) -> RobotsVerdict {
        match self.deciding(tail) {
            Decision::Rule(rule) => {
                let line = self.lines.get(rule.line.range()).unwrap_or_default();
                RobotsVerdict { allowed: rule.allow, line: Some(format!("{}: {line}", rule.number)) }
            }
            Decision::Whole(allowed) => RobotsVerdict { allowed, line: None },
        }
    }

    /// The verdict and why, in words: the line that decides, or why there is none.
    pub fn explain(&self, tail: &str) -> (bool, String) {
        let RobotsVerdict { allowed, line } = self.verdict(tail);
        let no_line = || match self.group {
            _ if is_robots_txt(tail) => "/robots.txt may always be fetched",
            RobotsGroup::None => "no group for this agent",
            _ => "no rule matches",
        };
        (allowed, line.unwrap_or_else(|| no_line().into()))
    }

    /// As [`Self::verdict`], without the line: nothing is allocated for it.
    pub fn allows(&self, tail: &str) -> bool {
        match self.deciding(tail) {
            Decision::Rule(rule) => rule.allow,
            Decision::Whole(allowed) => allowed,
        }
    }

    /// Crawl-delay of our groups; the longest, if they name several.
    pub fn crawl_delay(&self) -> Option<Duration> {
        self.crawl_delay
    }

    /// The values of all Sitemap lines, wherever they stand, as written.
    pub fn sitemaps(&self) -> &[String] {
        &self.sitemaps
    }

    /// What our groups say of the use of content, in the order of the file.
    pub fn usage_rules(&self) -> &[UsageRule] {
        &self.usage
    }

    /// What they say of the use of this one, as it is recorded: of each kind the statements with the longest matching path.
    pub fn usage(&self, tail: &str) -> Option<String> {
        usage::of(&self.usage, tail)
    }

    /// Whose rules these are.
    pub fn group(&self) -> RobotsGroup {
        self.group
    }

    /// Number of rules kept.
    pub fn len(&self) -> usize {
        self.rules.len()
    }

    /// Whether there are no rules.
    pub fn is_empty(&self) -> bool {
        self.rules.is_empty()
    }

    /// Bytes of memory in use, for a cache that is bounded by them.
    pub fn memory(&self) -> usize {
        let sitemaps: usize = self.sitemaps.iter().map(|s| s.capacity() + size_of::<String>()).sum();
        let usage: usize = self.usage.iter().map(UsageRule::memory).sum();
        size_of::<Self>() + size_of_val(&*self.rules) + self.patterns.len() + self.lines.len() + sitemaps + usage
    }

    fn deciding(&self, tail: &str) -> Decision<'_> {
        if is_robots_txt(tail) {
            return Decision::Whole(true);
        }
        if self.rules.is_empty() {
            return Decision::Whole(self.otherwise);
        }
        let plain = spell(tail.as_bytes(), Spelling::Plain, false);
        let query = match self.has_query_rules && tail.contains('?') {
            true => Some(spell(tail.as_bytes(), Spelling::Query, false)),
            false => None,
        };
        let query = query.as_deref().unwrap_or(&plain);
        let found = self.rules.iter().find(|rule| {
            let path = if rule.spelling == Spelling::Query { query } else { &plain };
            self.patterns.get(rule.pattern.range()).is_some_and(|pattern| rule.matches(pattern, path))
        });
        found.map_or(Decision::Whole(self.otherwise), Decision::Rule)
    }
}

enum Decision<'a> {
    Rule(&'a Rule),
    Whole(bool),
}

impl Rule {
    fn matches(&self, pattern: &[u8], path: &[u8]) -> bool {
        match (self.wild, self.anchored) {
            (false, false) => path.starts_with(pattern),
            (false, true) => path == pattern,
            (true, anchored) => matches(pattern, anchored, path),
        }
    }
}

fn is_robots_txt(tail: &str) -> bool {
    tail.strip_prefix("/robots.txt").is_some_and(|rest| rest.is_empty() || rest.starts_with('?'))
}
