//! The handful of facts that decide over a URL, each a line.

use std::time::Duration;

use super::views::{AttemptView, Explanation, FactView, HoldView, QueueView, UrlHost};
use crate::admin::views::{CaptureView, HostState, RobotsStanding, RobotsView, json_name};
use crate::base::time::UnixMillis;
use crate::base::units::{human_size, roughly};
use crate::warc::date::iso;

const ATTEMPTS: usize = 4;
/// The traps among the reasons of a rejection.
const TRAPS: [&str; 10] = [
    "too_long",
    "segments",
    "repeats",
    "params",
    "session",
    "permuted",
    "barren",
    "self_fed",
    "pattern_budget",
    "domain_budget",
];

/// The facts, in the order in which they decide.
pub fn deciding(e: &Explanation, now: UnixMillis) -> Vec<FactView> {
    let found = [
        Some(("URL", url(e))),
        found(e).map(|text| ("found", text)),
        Some(("traps", traps(e))),
        Some(("scope and filters", scope(e))),
        Some(("robots.txt", robots(e))),
        e.host.as_ref().map(|host| ("host", of_host(host, e.hold.as_ref(), now))),
        e.queue.as_ref().map(|queue| ("queue", of_queue(queue, now))),
        e.ranking.as_ref().map(|ranking| ("rank", ranking.because.clone())),
        attempts(&e.attempts).map(|text| ("attempts", text)),
        e.page.as_ref().map(|page| ("page", of_page(page))),
        e.page.as_ref().and_then(near).map(|text| ("near-duplicate", text)),
        e.page.as_ref().and_then(warc).map(|text| ("WARC", text)),
        e.schedule.as_ref().map(|schedule| ("next visit", schedule.answer.clone())),
    ];
    let fact = |(name, text): (&str, String)| FactView { name: name.to_owned(), text };
    found.into_iter().flatten().map(fact).collect()
}

fn url(e: &Explanation) -> String {
    let url = &e.canonical.url;
    let changed: Vec<&str> = e.assumed.iter().chain(&e.canonical.changed).map(String::as_str).collect();
    if changed.is_empty() { url.clone() } else { format!("{url} ({})", changed.join(", ")) }
}

fn found(e: &Explanation) -> Option<String> {
    let found = e.found.as_ref()?;
    match &found.via {
        Some(via) => Some(format!("on {via}")),
        None => found.seed.then(|| "as a seed".to_owned()),
    }
}

fn traps(e: &Explanation) -> String {
    match e.rules.reason.as_deref() {
        Some(reason) if TRAPS.contains(&reason) => format!("turn it away ({reason}): {}", e.rules.rule),
        _ => "none applies".into(),
    }
}

fn scope(e: &Explanation) -> String {
    let depth = e.rules.depth;
    match e.rules.reason.as_deref() {
        Some(reason) if TRAPS.contains(&reason) => "not asked".into(),
        Some(reason) => format!("turn it away ({reason}): {}; depth {depth}", e.rules.rule),
        None => format!("accept it: {}; depth {depth}", e.rules.rule),
    }
}

fn robots(e: &Explanation) -> String {
    let verdict = match e.robots_verdict.allowed {
        Some(true) => "allows it",
        Some(false) => "forbids it",
        None => "is not known",
    };
    format!("{verdict}: {}{}", e.robots_verdict.because, copy(&e.robots))
}

/// Whose rules, and how old they are.
fn copy(robots: &RobotsView) -> String {
    let group = match robots.group.as_str() {
        "named" => "its group for this crawler",
        "star" => "its group for all (*)",
        _ => "no group of it is for this crawler",
    };
    let rules = matches!(robots.standing, RobotsStanding::Rules | RobotsStanding::StaleRules);
    let age = robots.age_seconds.and_then(|s| Duration::try_from_secs_f64(s).ok());
    let age = age.map(|age| format!(", fetched {} ago", roughly(age))).unwrap_or_default();
    if rules { format!(" ({group}{age})") } else { String::new() }
}

fn of_host(host: &UrlHost, hold: Option<&HoldView>, now: UnixMillis) -> String {
    let state = json_name(host.state);
    let wait = match (hold, &host.wait) {
        (Some(hold), _) => format!("not asked now: {}", hold.sentence),
        (None, Some(wait)) => {
            let until = UnixMillis(wait.until_ms);
            format!("asked again at {} ({}): {}", clock(until, now), soon(until, now), wait.words)
        }
        (None, None) if host.state == HostState::Idle => "nothing of it is to be asked for now".into(),
        (None, None) => "may be asked now".into(),
    };
    format!("{state}, {} queued, {wait}", host.queued)
}

fn of_queue(queue: &QueueView, now: UnixMillis) -> String {
    let more = if queue.before_is_exact { "" } else { " or more" };
    let before = match queue.due_ms {
        Some(due) => format!("tried again at {}", clock(UnixMillis(due), now)),
        None => format!("{}{more} before it", queue.before),
    };
    format!("rank {}, {before}, found {}", queue.rank, iso(UnixMillis(queue.discovered_ms)))
}

fn attempts(all: &[AttemptView]) -> Option<String> {
    let status = |a: &AttemptView| a.status.map(|status| format!(" {status}")).unwrap_or_default();
    let told = all.iter().take(ATTEMPTS).map(|a| format!("{} {}{}", iso(UnixMillis(a.at_ms)), a.outcome, status(a)));
    let mut told: Vec<String> = told.collect();
    if all.len() > ATTEMPTS {
        told.push(format!("and {} before", all.len() - ATTEMPTS));
    }
    Some(told.join(", ")).filter(|text| !text.is_empty())
}

fn of_page(page: &CaptureView) -> String {
    let mut parts = vec![page.status.to_string(), human_size(page.bytes), format!("{} links", page.out_links)];
    parts.extend(page.mime.clone());
    parts.extend(page.cut.as_ref().map(|cut| format!("cut ({cut})")));
    parts.extend(page.title.as_ref().map(|title| format!("“{title}”")));
    parts.join(", ")
}

fn near(page: &CaptureView) -> Option<String> {
    let distance = page.near_distance?;
    let bits = if distance == 1 { "bit" } else { "bits" };
    Some(format!("its text is near to that of {} ({distance} {bits} of 256 apart)", page.near.as_ref()?))
}

fn warc(page: &CaptureView) -> Option<String> {
    let place = page.warc.as_ref()?;
    Some(format!("{} at {}, {} bytes", place.file, place.offset, place.length))
}

/// A moment: the time alone on the day of `now`.
pub(super) fn clock(at: UnixMillis, now: UnixMillis) -> String {
    let (text, today) = (iso(at), iso(now));
    match (text.split_once('T'), today.split_once('T')) {
        (Some((day, time)), Some((today, _))) => {
            let time = time.get(..8).unwrap_or(time);
            if day == today { format!("{time} UTC") } else { format!("{day} {time} UTC") }
        }
        _ => text,
    }
}

pub(super) fn soon(at: UnixMillis, now: UnixMillis) -> String {
    format!("in {}", roughly(at.since(now)))
}

pub(super) fn tries(n: u64) -> String {
    if n == 1 { "its first try".into() } else { format!("{n} tries") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_of_today_is_a_time_and_another_has_its_day() {
        let now = UnixMillis(1_714_979_289_000); // 2024-05-06T07:08:09Z
        assert_eq!(clock(UnixMillis(now.0 + 1_000), now), "07:08:10 UTC");
        assert_eq!(clock(UnixMillis(now.0 + 86_400_000), now), "2024-05-07 07:08:09 UTC");
    }
}
