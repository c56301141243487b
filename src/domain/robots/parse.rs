//! Text to the rules of one agent, in two passes: whose groups are ours, then what they say.

use std::time::Duration;

use super::agent::{Choice, choose};
use super::lines::{Field, Line, lines};
use super::pattern::{Pattern, Spelling};
use super::rules::{RobotsGroup, RobotsRules, Rule, Span};
use super::usage::UsageRule;
use crate::domain::text::url_text;

/// Longest Crawl-delay that is taken at its word; a longer one counts as this.
const MAX_CRAWL_DELAY: Duration = Duration::from_secs(365 * 24 * 60 * 60);

/// So many statements on usage are kept.
const MAX_USAGE_RULES: usize = 256;

impl RobotsRules {
    /// What `text` tells a crawler whose product tokens are `tokens`, the most specific first: the groups of the first
    /// token that the text names, all merged, else those for `*`. Never fails; see [`super::MAX_ROBOTS_BYTES`].
    pub fn parse(text: &[u8], tokens: &[&str]) -> Self {
        let choice = choose(text, tokens);
        let mut collected = Collected::default();
        let mut sitemaps = Vec::new();
        let mut group = OpenGroup::default();
        for line in lines(text) {
            match line.record() {
                Some((Field::Sitemap, value)) if !value.is_empty() => {
                    sitemaps.push(url_text(value).into_owned());
                }
                Some((field, value)) => collected.take(&mut group, choice, &line, field, value),
                None => {}
            }
        }
        collected.pack(choice, sitemaps)
    }
}

/// Where the reading stands: User-agent lines in a row open one group together. Only Allow and Disallow end that row;
/// other records must not interfere (RFC 9309, section 2.2.4). That holds for Crawl-delay too, so that a group with
/// nothing but a Crawl-delay shares the rules of the next one, as Google's parser has it. The delay itself, on which the
/// RFC is silent, is only for those named above it; so are statements on usage, which neither end nor begin a group.
#[derive(Default)]
struct OpenGroup {
    naming: bool,
    ours: bool,
}

#[derive(Default)]
struct Collected<'a> {
    rules: Vec<(Pattern, bool, Line<'a>)>,
    delay: Option<Duration>,
    usage: Vec<UsageRule>,
}

impl<'a> Collected<'a> {
    fn take(
        &mut self,
        group: &mut OpenGroup,
        choice: Option<Choice<'_>>,
        line: &Line<'a>,
        field: Field,
        value: &'a [u8],
    ) {
        match field {
            Field::UserAgent => {
                if !group.naming {
                    *group = OpenGroup { naming: true, ..OpenGroup::default() };
                }
                group.ours |= choice.is_some_and(|choice| choice.is_meant_by(value));
            }
            Field::Allow | Field::Disallow => {
                group.naming = false;
                if let Some(pattern) = Pattern::new(value).filter(|_| group.ours) {
                    self.rules.push((pattern, field == Field::Allow, *line));
                }
            }
            Field::CrawlDelay if group.ours => self.delay = self.delay.max(crawl_delay(value)),
            Field::Usage(signal) if group.ours && self.usage.len() < MAX_USAGE_RULES => {
                self.usage.push(UsageRule::new(signal, value, line.number));
            }
            Field::CrawlDelay | Field::Sitemap | Field::Usage(_) => {}
        }
    }

    fn pack(mut self, choice: Option<Choice<'_>>, sitemaps: Vec<String>) -> RobotsRules {
        self.rules.sort_by_key(|(pattern, allow, line)| (std::cmp::Reverse(pattern.octets), !allow, line.number));
        let (mut patterns, mut lines) = (Vec::new(), String::new());
        let mut rules = Vec::with_capacity(self.rules.len());
        for (pattern, allow, line) in &self.rules {
            let (pattern_start, line_start) = (offset(patterns.len()), offset(lines.len()));
            patterns.extend_from_slice(&pattern.text);
            lines.push_str(&String::from_utf8_lossy(line.text));
            rules.push(Rule {
                pattern: Span { start: pattern_start, end: offset(patterns.len()) },
                line: Span { start: line_start, end: offset(lines.len()) },
                number: line.number,
                allow: *allow,
                anchored: pattern.anchored,
                wild: memchr::memchr(b'*', &pattern.text).is_some(),
                spelling: pattern.spelling,
            });
        }
        RobotsRules {
            group: match choice {
                Some(Choice::Named(_)) => RobotsGroup::Named,
                Some(Choice::Star) => RobotsGroup::Star,
                None => RobotsGroup::None,
            },
            otherwise: true,
            has_query_rules: rules.iter().any(|rule| rule.spelling == Spelling::Query),
            rules: rules.into(),
            patterns: patterns.into(),
            lines: lines.into(),
            crawl_delay: self.delay,
            sitemaps,
            usage: self.usage,
        }
    }
}

/// The text is bounded by 500 KiB and its spelling by three times that, so an offset always fits.
fn offset(at: usize) -> u32 {
    u32::try_from(at).unwrap_or(u32::MAX)
}

/// Seconds, with a fraction if need be; what follows the number (`10 s`) is ignored, and so is a value that does not
/// begin with one.
fn crawl_delay(value: &[u8]) -> Option<Duration> {
    let end = value.iter().position(|b| !(b.is_ascii_digit() || *b == b'.')).unwrap_or(value.len());
    let seconds: f64 = std::str::from_utf8(value.get(..end)?).ok()?.parse().ok()?;
    Duration::try_from_secs_f64(seconds.min(MAX_CRAWL_DELAY.as_secs_f64())).ok()
}
