//! Runs the case tables in `tests/data/robots`; their form is described there.

use std::time::Duration;

use super::{RobotsGroup, RobotsRules};
use crate::domain::cases::unescaped;

#[derive(Default)]
struct Case {
    name: String,
    has_source: bool,
    agents: Vec<String>,
    robots: Vec<u8>,
    checks: Vec<(String, String)>,
}

const TABLES: &[(&str, &str)] = &[
    ("agents", include_str!("../../../tests/data/robots/agents.txt")),
    ("matching", include_str!("../../../tests/data/robots/matching.txt")),
    ("encoding", include_str!("../../../tests/data/robots/encoding.txt")),
    ("syntax", include_str!("../../../tests/data/robots/syntax.txt")),
    ("extensions", include_str!("../../../tests/data/robots/extensions.txt")),
    ("usage", include_str!("../../../tests/data/usage.txt")),
];

#[test]
fn every_case_of_the_tables_holds() {
    let mut checked = 0;
    let mut wrong = Vec::new();
    for (table, text) in TABLES {
        for case in read(text) {
            assert!(case.has_source, "{table}: {}: names no source", case.name);
            let agents: Vec<&str> = case.agents.iter().map(String::as_str).collect();
            let rules = RobotsRules::parse(&case.robots, &agents);
            for (what, wanted) in &case.checks {
                checked += 1;
                let found = answer(&rules, what, wanted);
                if found != *wanted {
                    wrong.push(format!("{table}: {}: {what} is `{found}`, should be `{wanted}`", case.name));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(checked >= 200, "only {checked} checks were found in the tables");
}

/// What the rules say, in the words of the check. For a verdict `what` is the tail and `wanted` is `allow N`.
fn answer(rules: &RobotsRules, what: &str, wanted: &str) -> String {
    match what {
        "delay" => rules.crawl_delay().map_or("none".into(), |d: Duration| d.as_secs_f64().to_string()),
        "group" => match rules.group() {
            RobotsGroup::Named => "named".into(),
            RobotsGroup::Star => "star".into(),
            RobotsGroup::None => "none".into(),
            RobotsGroup::Whole => "whole".into(),
        },
        "sitemaps" => rules.sitemaps().join(" "),
        what if what.starts_with("usage ") => rules.usage(&what[6..]).unwrap_or_else(|| "none".into()),
        tail => {
            assert!(tail.starts_with('/'), "unknown check `{what} {wanted}`");
            let verdict = rules.verdict(tail);
            assert_eq!(verdict.allowed, rules.allows(tail));
            let line = verdict.line.as_deref().and_then(|line| line.split(':').next()).unwrap_or("-");
            format!("{} {line}", if verdict.allowed { "allow" } else { "disallow" })
        }
    }
}

fn read(text: &str) -> Vec<Case> {
    let mut cases: Vec<Case> = Vec::new();
    for line in text.lines().filter(|line| !line.trim().is_empty() && !line.starts_with('#')) {
        if let Some(name) = line.strip_prefix("case: ") {
            cases.push(Case { name: name.into(), agents: vec!["lycosa".into()], ..Case::default() });
            continue;
        }
        let case = cases.last_mut().expect("a table begins with a case");
        let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
        match word {
            "source:" => case.has_source = !rest.is_empty(),
            "agents:" => case.agents = rest.split(' ').map(Into::into).collect(),
            "|" => {
                if !case.robots.is_empty() {
                    case.robots.push(b'\n');
                }
                case.robots.extend(unescaped(rest));
            }
            "allow" | "disallow" => {
                let (number, tail) = rest.split_once(' ').expect("a verdict has a line number and a tail");
                case.checks.push((tail.into(), format!("{word} {number}")));
            }
            "delay" | "group" => case.checks.push((word.into(), rest.into())),
            "usage" => {
                let (tail, wanted) = rest.split_once(": ").expect("a tail and what is recorded");
                case.checks.push((format!("usage {tail}"), wanted.into()));
            }
            "sitemaps:" => case.checks.push(("sitemaps".into(), rest.into())),
            other => panic!("unknown word `{other}` in case `{}`", case.name),
        }
    }
    cases
}
