//! robots.txt. Input: path and query of a URL without the first slash on one line, then the text.

use std::time::Duration;

use super::domain::robots::RobotsRules;
use super::input::{line, text};

const TOKENS: [&str; 2] = ["lycosa", "lycosa-images"];
const YEAR: Duration = Duration::from_secs(365 * 24 * 60 * 60);

/// One verdict however it is asked for, its line where it says, and memory in proportion to the text.
pub fn check(data: &[u8]) {
    let (tail, robots) = line(data);
    let tail = format!("/{}", text(tail));
    let rules = RobotsRules::parse(robots, &TOKENS);
    let verdict = rules.verdict(&tail);
    assert_eq!(verdict.allowed, rules.allows(&tail));
    assert_eq!(verdict.allowed, rules.explain(&tail).0);
    if let Some(decisive) = &verdict.line {
        stands_there(decisive, robots);
    }
    assert!(rules.allows("/robots.txt"));
    assert!(rules.crawl_delay().is_none_or(|delay| delay <= YEAR));
    bounded(&rules, robots);
    // The answer may be cut anywhere.
    let cut = robots.get(..robots.len() / 2).unwrap_or_default();
    bounded(&RobotsRules::parse(cut, &TOKENS), cut);
}

/// `12: Disallow: /a` is line 12 of the text.
fn stands_there(decisive: &str, robots: &[u8]) {
    let (number, written) = decisive.split_once(": ").expect("a number stands before the line");
    let number: usize = number.parse().expect("lines are numbered");
    let robots = robots.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(robots);
    let one_end = String::from_utf8_lossy(robots).replace("\r\n", "\n").replace('\r', "\n");
    let found = one_end.split('\n').nth(number - 1).map(|line| line.trim_matches(|c: char| c.is_ascii_whitespace()));
    assert_eq!(found, Some(written));
}

fn bounded(rules: &RobotsRules, robots: &[u8]) {
    let lines = robots.split(|b| matches!(b, b'\n' | b'\r')).count();
    assert!(rules.len() + rules.sitemaps().len() <= lines);
    assert!(rules.memory() <= 1000 + 64 * lines + 6 * robots.len(), "{} for {}", rules.memory(), robots.len());
}
