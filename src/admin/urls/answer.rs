//! The answer to "why was this URL (not) crawled?" in a plain sentence or two.

use std::time::Duration;

use super::views::{Explanation, FoundView, QueueView, UrlState};
use crate::admin::views::WaitWhy;
use crate::cli::why::advice;
use crate::config::units::roughly;
use crate::domain::time::UnixMillis;
use crate::warc::date::iso;

/// The answer, from everything else in the explanation.
#[must_use]
pub fn answer(e: &Explanation, now: UnixMillis) -> String {
    let answer = match e.state {
        UrlState::Unknown => format!("Nobody found a link to it yet; {}.", would_be(e)),
        UrlState::Processing => in_hand(e),
        UrlState::Waiting => waiting(e, now),
        UrlState::Done => done(e),
        UrlState::Error => {
            let reason = e.reason.as_deref().unwrap_or_default();
            format!("It was given up: {reason}; {}.", advice(reason))
        }
        UrlState::Rejected => rejected(e),
    };
    format!("{answer}{}", found(e))
}

/// Where it comes from.
fn found(e: &Explanation) -> String {
    match &e.found {
        Some(FoundView { via: Some(via), .. }) => format!(" It was found on {via}."),
        Some(FoundView { seed: true, .. }) => " It is a seed.".into(),
        _ => String::new(),
    }
}

/// Its host takes some URLs at a time; what is in its hands may still wait for its turn.
fn in_hand(e: &Explanation) -> String {
    let wait = e.host.as_ref().and_then(|host| host.wait.as_ref());
    match (wait, &e.queue, &e.hold) {
        (_, _, Some(hold)) => format!("It is in hand, but nothing is begun now ({}).", hold.sentence),
        (Some(wait), Some(queue), None) => {
            format!("It is in the hands of its host: {}; {}.", host_wait(wait.why, wait.seconds), before(queue))
        }
        _ => "It is in hand: its request is under way, or its page waits for its commit.".into(),
    }
}

/// What would become of it.
fn would_be(e: &Explanation) -> String {
    let reason = e.rules.reason.as_deref().unwrap_or_default();
    match (e.rules.accepted, e.robots_verdict.allowed) {
        (false, _) => format!("it would be turned away ({reason}): {}", e.rules.rule),
        (true, Some(false)) => {
            format!("the rules would accept it, but robots.txt forbids it ({})", e.robots_verdict.because)
        }
        (true, _) => format!("it would be accepted: {}", e.rules.rule),
    }
}

fn waiting(e: &Explanation, now: UnixMillis) -> String {
    let Some(queue) = &e.queue else { return "It waits in the queue of its host.".into() };
    let mut parts = vec!["It waits".to_owned()];
    if let Some(due) = queue.due_ms {
        parts.push(retry(e, queue, UnixMillis(due), now));
    }
    match &e.hold {
        Some(hold) => parts.push(format!("nothing is begun now ({})", hold.sentence)),
        None => parts
            .extend(e.host.as_ref().and_then(|host| host.wait.as_ref()).map(|wait| host_wait(wait.why, wait.seconds))),
    }
    if queue.due_ms.is_none() {
        parts.push(before(queue));
    }
    if let Some(false) = e.robots_verdict.allowed {
        parts.push(format!("then robots.txt will turn it away ({})", e.robots_verdict.because));
    }
    let (first, rest) = parts.split_first().map_or(("", &[][..]), |(first, rest)| (first.as_str(), rest));
    format!("{first}: {}.", rest.join("; "))
}

fn retry(e: &Explanation, queue: &QueueView, due: UnixMillis, now: UnixMillis) -> String {
    let failed = e.attempts.iter().find(|attempt| attempt.outcome != "stored").map(|attempt| attempt.outcome.as_str());
    let why = failed.map(|reason| format!(" ({reason})")).unwrap_or_default();
    let tries = match queue.failed_attempts {
        1 => "its first try failed".to_owned(),
        n => format!("{n} tries failed"),
    };
    format!("{tries}{why}, it is tried again in {}", roughly(due.since(now)))
}

fn host_wait(why: WaitWhy, seconds: f64) -> String {
    let time = roughly(Duration::try_from_secs_f64(seconds).unwrap_or_default());
    format!("the host is asked again in {time} ({})", why.words())
}

fn before(queue: &QueueView) -> String {
    match (queue.before, queue.before_is_exact) {
        (0, true) => "it is the next of its host".into(),
        (1, true) => "1 URL of the host comes before it".into(),
        (n, true) => format!("{n} URLs of the host come before it"),
        (n, false) => format!("{n} URLs of the host or more come before it"),
    }
}

fn done(e: &Explanation) -> String {
    let Some(page) = &e.page else { return "It is done; nothing is kept of it.".into() };
    let (when, status) = (iso(UnixMillis(page.captured_ms)), page.status);
    let place = match &page.warc {
        Some(warc) => format!("its record is in {} at {}", warc.file, warc.offset),
        None => "the settings leave it out of the archive (store.skip_types)".into(),
    };
    let what = match page.how.as_str() {
        "redirect" => "it redirects elsewhere",
        "duplicate" => "its content was known already",
        "not_modified" => "it had not changed",
        _ => return format!("It was fetched at {when} with status {status}; {place}."),
    };
    format!("It was fetched at {when} with status {status}: {what}; {place}.")
}

fn rejected(e: &Explanation) -> String {
    let reason = e.reason.as_deref().unwrap_or_default();
    let same = e.rules.reason.as_deref() == Some(reason);
    match (e.rules.accepted, reason) {
        (_, "robots") => match e.robots_verdict.allowed {
            Some(false) => format!("robots.txt forbids it ({}); {}.", e.robots_verdict.because, way_out(reason)),
            _ => "robots.txt forbade it when it was its turn; it does not now.".into(),
        },
        (false, _) if same => format!("It was turned away ({reason}): {}; {}.", e.rules.rule, way_out(reason)),
        (true, "scope" | "excluded" | "extension" | "too_deep" | "too_long" | "segments" | "repeats" | "params") => {
            format!(
                "It was turned away ({reason}) by earlier rules or on a longer path; those in force would accept it ({}).",
                e.rules.rule
            )
        }
        _ => format!("It was turned away ({reason}): {}.", way_out(reason)),
    }
}

/// What an operator can do about it while the crawl runs.
fn way_out(reason: &str) -> &'static str {
    match reason {
        "robots" => "ask the site's owner; for a site of your own there is politeness.respect_robots = false",
        "scope" => "add it as a seed, or widen the scope: `lycosa ctl set scope.mode=any --readmit`",
        "excluded" => "change scope.exclude or scope.deny_hosts: `lycosa ctl set scope.exclude=… --readmit`",
        "extension" => "change what is skipped: `lycosa ctl set scope.skip_extensions=… --readmit`",
        "too_deep" => "raise the limit: `lycosa ctl set crawl.max_depth=… --readmit`",
        "dropped" => {
            "the operator dropped its host's queue; `lycosa ctl urls readmit --reason dropped` queues it again"
        }
        "blocked" => {
            "the operator blocked its host; after `lycosa ctl host NAME unblock`, `lycosa ctl urls readmit --reason blocked` \
             queues it again"
        }
        _ => advice(reason),
    }
}

#[cfg(test)]
mod tests;
