//! Why a crawl brought nothing, or little, in sentences that say what to do.

use std::collections::BTreeMap;

use crate::admin::RejectedSeed;
use crate::app::Outcome;
use crate::base::units::counted;
use crate::config::without_credentials;
use crate::crawl::node::Stop;
use crate::telemetry::StatusSnapshot;
use crate::telemetry::advice::{GENERAL, advice};
use crate::telemetry::trouble::{CHECKPOINT, INDEX, ROBOTS_UNREACHABLE, UPLOAD};
use crate::warc::date::iso;

/// [`advice`] for what happened at a URL: it says which address or name to allow.
fn advice_at(reason: &str, example: &str) -> String {
    let url = example.split_whitespace().next().and_then(|url| url::Url::parse(url).ok());
    match url.as_ref().and_then(|url| url.host_str().zip(url.port_or_known_default())) {
        Some((host, port)) if matches!(reason, "address" | "address_refused") => {
            let quote = if host.starts_with('[') { "'" } else { "" }; // brackets mean something to a shell
            format!("the address is not public; allow it with --allow-net {quote}{host}:{port}{quote}")
        }
        _ => advice(reason).to_owned(),
    }
}

/// Why no page was fetched: the first seed that was not taken, else the most frequent trouble, with an example and what to do.
pub fn nothing_fetched(s: &StatusSnapshot, refused: &[RejectedSeed]) -> String {
    if let Some(told) = not_taken(refused).filter(|_| s.discovered == 0) {
        return told;
    }
    // What became of seeds says more than what became of links found on them.
    let of_pages = |reason: &str| ![UPLOAD, CHECKPOINT, INDEX].contains(&reason);
    let of_links = |reason: &str| matches!(reason, "scope" | "malformed" | "too_long");
    let troubles = s.troubles.iter().filter(|(reason, _)| of_pages(reason));
    let most = troubles.max_by_key(|(reason, t)| (!of_links(reason), *reason != ROBOTS_UNREACHABLE, t.count));
    if let Some((reason, trouble)) = most {
        let times = if trouble.count == 1 { String::new() } else { format!(", {} times", trouble.count) };
        return format!("{reason} at {}{times}: {}", trouble.example, advice_at(reason, &trouble.example));
    }
    // This run met nothing new; what the counters of former runs say.
    let known = most_of(&s.errors_by_reason).or_else(|| most_of(&s.rejected_by_reason));
    match known {
        Some((reason, n)) => {
            format!(
                "{n} x {reason} in this data folder: {}; to begin anew name another one with --data",
                advice(reason)
            )
        }
        None if s.discovered == 0 => "there is no seed; give one with --seed".into(),
        None if s.waiting > 0 => "the next try is not due yet; run the same command again later".into(),
        None => no_success(s),
    }
}

/// Answers came, none of them a page.
fn no_success(s: &StatusSnapshot) -> String {
    let statuses: Vec<String> = s.statuses.iter().map(|(status, n)| format!("{n} x status {status}")).collect();
    match statuses.join(", ") {
        none if none.is_empty() => "no answer brought a page; see the counts".into(),
        all if s.statuses.keys().all(|status| (300..400).contains(status)) => format!(
            "nothing but redirects ({all}), and they lead in a circle, nowhere, or to what was turned away; `lycosa fetch --follow URL` \
             shows the way"
        ),
        all => format!("no answer brought a page: {all}"),
    }
}

/// The seeds that were not taken, the first of them with the rule and what to do.
fn not_taken(refused: &[RejectedSeed]) -> Option<String> {
    let first = refused.first()?;
    let (reason, rule) = first.reason.split_once(": ").unwrap_or((&first.reason, ""));
    let advice = match reason {
        "scope" if rule.contains("include") => "; change scope.include",
        "scope" => "; change scope.mode or scope.prefixes, or name its host in scope.allow_hosts",
        reason if advice(reason) == GENERAL => "",
        reason => &format!("; {}", advice(reason)),
    };
    let more = match refused.len() - 1 {
        0 => String::new(),
        more => format!(" (and {more} more)"),
    };
    Some(format!("the seed {} was not taken{more}: {}{advice}", without_credentials(&first.url), first.reason))
}

fn most_of(counts: &BTreeMap<String, u64>) -> Option<(&str, u64)> {
    counts.iter().max_by_key(|(_, n)| **n).map(|(reason, n)| (reason.as_str(), *n))
}

/// The flag of `lycosa run` that takes up what is held back.
pub const HELD_BACK: &str = "--readmit-held-back";

/// Remarks for the end of a run that brought pages, but perhaps not what was meant. `typed`: the command that began it, if it may be
/// told; again it goes on.
pub fn notes(outcome: &Outcome, typed: Option<&str>) -> Vec<String> {
    let s = &outcome.status;
    let mut notes = Vec::new();
    let outside = s.rejected_by_reason.get("scope").copied().unwrap_or(0);
    if outside > 0 && s.done <= 3 && s.waiting == 0 {
        let example = s.troubles.get("scope").map(|t| format!(", such as {}", t.example)).unwrap_or_default();
        let links = if outside == 1 { "1 link leads".into() } else { format!("{outside} links lead") };
        let way = if outcome.outside.contains("include pattern") { NARROWED } else { WIDEN };
        notes.push(format!("{links} outside the scope{example}; {way}"));
    }
    if let Some(trouble) = s.troubles.get(crate::telemetry::trouble::CERTIFICATE) {
        notes.push(format!(
            "certificates with faults were accepted ({}); tls.verify=strict refuses them",
            trouble.example
        ));
    }
    if s.held_back.urls > 0 {
        let way =
            typed.map_or_else(|| format!("the same command with {HELD_BACK}"), |typed| format!("{typed} {HELD_BACK}"));
        notes.push(format!("{}; if that is wrong, take them up with: {way}", s.held_back.sentence()));
    }
    notes.extend(not_taken(&outcome.refused).filter(|_| s.fetched_any()));
    notes.extend(left(outcome, typed));
    notes
}

/// What is left, why, until when, and how to go on with it.
fn left(outcome: &Outcome, typed: Option<&str>) -> Option<String> {
    let left = outcome.status.waiting.saturating_add(outcome.status.processing);
    if left == 0 || matches!(outcome.stop, Stop::Replaced(_)) {
        return None;
    }
    let are = if left == 1 { "is" } else { "are" };
    let why = if outcome.left.is_empty() { String::new() } else { format!(": {}", outcome.left) };
    let until = outcome
        .next_try
        .filter(|_| !why.is_empty())
        .map(|at| format!("; the next try at {}", iso(at)))
        .unwrap_or_default();
    let higher = |limit| format!("a higher limit on the command line (`{limit}`) goes on with it");
    let way = match &outcome.stop {
        Stop::Pages => higher("--max-pages"),
        Stop::Bytes => higher("--set crawl.max_bytes="),
        Stop::Failures => higher("--set crawl.max_failures="),
        _ => {
            typed.map_or_else(|| "the same command goes on with it".to_owned(), |typed| format!("go on with: {typed}"))
        }
    };
    Some(format!("{} {are} left{why}{until}; {way}", counted(left, "URL")))
}

const NARROWED: &str = "no pattern of scope.include matches; change scope.include";
const WIDEN: &str = "to follow such links use --set scope.mode=domains (or any), or add their hosts as seeds";

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::base::time::UnixMillis;
    use crate::domain::cases::{blocks, lay};

    #[test]
    fn a_run_that_brought_nothing_or_little_says_why_and_what_to_do() {
        let mut wrong = Vec::new();
        for case in blocks(include_str!("../../tests/data/cli/why.txt"), &["status", "refused", "stop", "outside"]) {
            let read = |text| serde_json::from_str::<Value>(text).unwrap();
            let mut status = json!(StatusSnapshot::default());
            lay(&case.one("status").map_or_else(|| json!({}), read), &mut status);
            let refused = serde_json::from_value(case.one("refused").map_or_else(|| json!([]), read)).unwrap();
            let outcome = Outcome {
                stop: if case.one("stop") == Some("pages") { Stop::Pages } else { Stop::Done },
                status: serde_json::from_value(status).unwrap(),
                until_done: true,
                clean: true,
                refused,
                left: "1 host parked".into(),
                next_try: Some(UnixMillis(0)),
                never_tried: 0,
                outside: case.one("outside").unwrap_or_default().to_owned(),
            };
            let told = match case.one("stop") {
                Some(_) => notes(&outcome, Some("lycosa run x")).concat(),
                None => nothing_fetched(&outcome.status, &outcome.refused),
            };
            wrong.extend(case.check(&told));
        }
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }
}
