use std::time::Duration;

use proptest::prelude::*;

use super::*;
use crate::base::time::UnixMillis;

const DAY: u64 = 24 * 60 * 60 * 1000;

#[test]
fn the_verdict_names_the_line_as_written() {
    let rules = RobotsRules::parse(b"# hello\n\nUser-agent: *\n  Disallow :  /private # keep out \n", &["lycosa"]);
    let verdict = rules.verdict("/private/a");
    assert!(!verdict.allowed);
    assert_eq!(verdict.line.as_deref(), Some("4: Disallow :  /private # keep out"));
}

#[test]
fn a_whole_verdict_has_no_line_and_still_lets_robots_txt_through() {
    assert_eq!(RobotsRules::allow_all().verdict("/a"), RobotsVerdict { allowed: true, line: None });
    assert_eq!(RobotsRules::disallow_all().verdict("/a"), RobotsVerdict { allowed: false, line: None });
    assert!(RobotsRules::disallow_all().allows("/robots.txt"));
    assert_eq!(RobotsRules::disallow_all().group(), RobotsGroup::Whole);
}

#[test]
fn a_long_file_ends_with_the_last_whole_line_within_500_kib() {
    let mut text = b"User-agent: *\nDisallow: /first\n".to_vec();
    while text.len() + 16 <= MAX_ROBOTS_BYTES - 5 {
        text.extend_from_slice(b"# 3456789012345\n");
    }
    // The next rule is whole within the limit, the one after it is cut by it.
    text.extend_from_slice(b"Allow: /first/a\n");
    text.truncate(MAX_ROBOTS_BYTES - 20);
    text.extend_from_slice(b"\nDisallow: /inside\nDisallow: /beyond\n");
    let rules = RobotsRules::parse(&text, &["lycosa"]);
    assert!(!rules.allows("/first"));
    assert!(!rules.allows("/inside"));
    assert!(rules.allows("/beyond"));
    assert!(rules.allows("/b"), "half a rule was taken for a rule");
}

#[test]
fn a_file_of_exactly_500_kib_is_read_to_its_end() {
    let rule = b"User-agent: *\nDisallow: /last";
    let mut text = vec![b'\n'; MAX_ROBOTS_BYTES - rule.len()];
    text.extend_from_slice(rule);
    assert!(!RobotsRules::parse(&text, &["lycosa"]).allows("/last"));
    text.push(b'x');
    assert!(RobotsRules::parse(&text, &["lycosa"]).allows("/lastx"));
}

#[test]
fn a_long_line_is_cut_and_the_next_is_read() {
    let mut text = b"User-agent: *\nDisallow: /".to_vec();
    text.extend(std::iter::repeat_n(b'a', MAX_LINE_BYTES));
    text.extend_from_slice(b"\nDisallow: /next\n");
    let rules = RobotsRules::parse(&text, &["lycosa"]);
    assert!(!rules.allows("/next"));
    let kept = MAX_LINE_BYTES - "Disallow: /".len();
    assert!(!rules.allows(&format!("/{}", "a".repeat(kept))));
    assert!(rules.allows(&format!("/{}", "a".repeat(kept - 1))));
}

#[test]
fn rules_and_groups_of_others_are_not_kept() {
    let mut text = String::from("User-agent: otherbot\n");
    for n in 0..1000 {
        text.push_str(&format!("Disallow: /{n}\n"));
    }
    text.push_str("User-agent: *\nDisallow: /a\n");
    let rules = RobotsRules::parse(text.as_bytes(), &["lycosa"]);
    assert_eq!(rules.len(), 1);
    assert!(rules.memory() < 1000, "{} bytes", rules.memory());
}

#[test]
fn every_status_means_found_unavailable_or_unreachable() {
    use RobotsStatus::{Found, Unavailable, Unreachable};
    for (statuses, meaning) in [
        (&[200, 204, 299][..], Found),
        (&[301, 304, 400, 401, 403, 404, 410, 428, 451], Unavailable),
        (&[429, 500, 503, 599, 100, 0, 999], Unreachable),
    ] {
        for status in statuses {
            assert_eq!(classify(*status), meaning, "status {status}");
        }
    }
}

#[test]
fn a_copy_is_due_when_it_is_old_or_its_next_try_has_come() {
    let policy = RobotsCachePolicy::default();
    let copy = RobotsCopy { status: 200, fetched: UnixMillis(1_000), failures: 0, retry_at: None };
    let failed = RobotsCopy { failures: 1, retry_at: Some(UnixMillis(5_000)), ..copy };
    for (copy, now, due) in [
        (copy, 1_000, false),
        (copy, 999 + DAY, false),
        (copy, 1_000 + DAY, true),
        (copy, 999, true), // from the future
        (failed, 4_999, false),
        (failed, 5_000, true),
    ] {
        assert_eq!(policy.is_due(&copy, UnixMillis(now)), due, "{copy:?} {now}");
    }
}

#[test]
fn whatever_was_learned_stands_in_while_it_cannot_be_reached_and_for_no_longer_than_it_may() {
    use RobotsAccess::{AllowAll, DisallowAll, Fetched, Stale};
    let policy = RobotsCachePolicy::default();
    for (learned, access) in [(200, Fetched), (404, AllowAll), (302, AllowAll)] {
        let copy = RobotsCopy { status: learned, fetched: UnixMillis(1), failures: 0, retry_at: None };
        assert_eq!(policy.standing(&copy, UnixMillis(1 + 90 * DAY)), access, "{learned}");
        for status in [0, 503] {
            // The status is that of the last answer, whatever was learned before.
            let failed = RobotsCopy { status, failures: 1, ..copy };
            assert_eq!(policy.standing(&failed, UnixMillis(1 + 30 * DAY)), Stale, "{learned}");
            assert_eq!(policy.standing(&failed, UnixMillis(2 + 30 * DAY)), DisallowAll, "{learned}");
            let never = RobotsCopy { fetched: UnixMillis(0), ..failed };
            assert_eq!(policy.standing(&never, UnixMillis(1)), DisallowAll);
        }
    }
}

#[test]
fn failures_are_repeated_after_5_and_15_minutes_and_then_hourly() {
    let policy = RobotsCachePolicy::default();
    let minutes = |failures| policy.retry_at(UnixMillis(7), failures).since(UnixMillis(7)).as_secs() / 60;
    assert_eq!([1, 2, 3, 4, 100].map(minutes), [5, 15, 60, 60, 60]);
    assert_eq!(minutes(0), 5);
    let without = RobotsCachePolicy { error_retry: Vec::new(), ..policy };
    assert_eq!(without.retry_at(UnixMillis(0), 1), UnixMillis(DAY));
}

#[test]
fn an_endless_delay_is_a_duration() {
    let text = format!("User-agent: *\nCrawl-delay: {}", "9".repeat(MAX_LINE_BYTES));
    let delay = RobotsRules::parse(text.as_bytes(), &["lycosa"]).crawl_delay();
    assert_eq!(delay, Some(Duration::from_secs(365 * 24 * 60 * 60)));
}

/// The definition of a match, spelled out: tries every length for every `*`.
fn reference_match(pattern: &[u8], path: &[u8]) -> bool {
    match pattern {
        [] => true,
        [b'$'] => path.is_empty(),
        [b'*', rest @ ..] => (0..=path.len()).any(|skip| reference_match(rest, &path[skip..])),
        [octet, rest @ ..] => path.first() == Some(octet) && reference_match(rest, &path[1..]),
    }
}

/// The definition of a verdict: the longest match, of equals the one that allows. The patterns' `$` is only ever the
/// last octet, so length as written and length as compared are the same.
fn reference_verdict(rules: &[(bool, String)], path: &str) -> bool {
    let matching = rules.iter().filter(|(_, pattern)| reference_match(pattern.as_bytes(), path.as_bytes()));
    matching.map(|(allow, pattern)| (pattern.len(), *allow)).max().is_none_or(|(_, allow)| allow)
}

fn robots_of(rules: &[(bool, String)]) -> Vec<u8> {
    let mut text = String::from("User-agent: *\n");
    for (allow, pattern) in rules {
        text.push_str(&format!("{}: {pattern}\n", if *allow { "Allow" } else { "Disallow" }));
    }
    text.into_bytes()
}

proptest! {
    #[test]
    fn a_pattern_matches_what_its_definition_says(pattern in "/[ab/*]{0,8}\\$?", path in "/[ab/]{0,10}") {
        let rules = RobotsRules::parse(&robots_of(&[(false, pattern.clone())]), &["lycosa"]);
        prop_assert_eq!(!rules.allows(&path), reference_match(pattern.as_bytes(), path.as_bytes()));
    }

    #[test]
    fn the_verdict_is_what_its_definition_says(
        rules in prop::collection::vec((any::<bool>(), "/[ab/*]{0,5}\\$?"), 0..12),
        path in "/[ab/]{0,8}",
    ) {
        let parsed = RobotsRules::parse(&robots_of(&rules), &["lycosa"]);
        prop_assert_eq!(parsed.allows(&path), reference_verdict(&rules, &path));
    }

    #[test]
    fn how_an_unreserved_or_foreign_character_is_spelled_does_not_matter(path in "/[a-zäツ~. -]{1,12}") {
        let path = path.trim_end().to_owned();
        let encoded: String = path.bytes().map(|b| if b == b'/' { "/".into() } else { format!("%{b:02x}") }).collect();
        for (rule, tail) in [(&path, &encoded), (&encoded, &path), (&encoded, &encoded)] {
            let rules = RobotsRules::parse(&robots_of(&[(false, format!("{rule}$"))]), &["lycosa"]);
            prop_assert!(!rules.allows(tail), "{} against {}", rule, tail);
        }
    }

    #[test]
    fn any_bytes_are_a_robots_txt(text in prop::collection::vec(any::<u8>(), 0..400), tail in "/\\PC{0,40}") {
        let rules = RobotsRules::parse(&text, &["lycosa", ""]);
        prop_assert_eq!(rules.verdict(&tail).allowed, rules.allows(&tail));
    }

    #[test]
    fn any_mixture_of_records_and_noise_is_read(
        parts in prop::collection::vec(prop_oneof![
            Just("User-agent:"), Just("*"), Just("lycosa"), Just("Disallow:"), Just("Allow"), Just("/a"), Just("%"),
            Just("$"), Just("#"), Just("\r"), Just("\n"), Just("\r\n"), Just(":"), Just(" "), Just("\u{feff}"),
            Just("Crawl-delay:"), Just("1e9"), Just("Sitemap:"), Just("?"), Just("%2"), Just("ä"), Just("\0"),
        ], 0..60),
        tail in "/[a?%$*2Fä]{0,12}",
    ) {
        let rules = RobotsRules::parse(parts.concat().as_bytes(), &["lycosa"]);
        let verdict = rules.verdict(&tail);
        prop_assert_eq!(verdict.allowed, rules.allows(&tail));
        prop_assert!(verdict.allowed || verdict.line.is_some());
        prop_assert!(rules.len() <= parts.len());
    }

    #[test]
    fn lines_end_the_same_way_however_they_end(rules in prop::collection::vec((any::<bool>(), "/[ab]{0,3}"), 1..6), path in "/[ab]{0,4}") {
        let text = String::from_utf8(robots_of(&rules)).expect("ASCII");
        let verdict = RobotsRules::parse(text.as_bytes(), &["lycosa"]).verdict(&path);
        for end in ["\r", "\r\n"] {
            prop_assert_eq!(&RobotsRules::parse(text.replace('\n', end).as_bytes(), &["lycosa"]).verdict(&path), &verdict);
        }
    }
}
