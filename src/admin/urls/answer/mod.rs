//! The answer to "why was this URL (not) crawled?": a verdict in one sentence.

use super::facts::{clock, soon, tries};
use super::views::{AttemptView, Explanation, QueueView, UrlState};
use crate::admin::hosts::{DelayFrom, Schedule};
use crate::admin::views::{RobotsStanding, WaitView, WaitWhy};
use crate::base::time::UnixMillis;
use crate::base::units::{format_duration, human_size};
use crate::domain::note::Note;
use crate::domain::reason::Failure;
use crate::telemetry::advice::advice;
use crate::warc::date::iso;

/// The answer, from everything else in the explanation.
pub fn answer(e: &Explanation, now: UnixMillis) -> String {
    match e.state {
        UrlState::Unknown => format!("Not crawled: nobody found a link to it yet; {}.", would_be(e)),
        UrlState::Processing => in_hand(e, now),
        UrlState::Waiting => waiting(e, now),
        UrlState::Done => done(e),
        UrlState::Error => given_up(e),
        UrlState::Rejected => rejected(e),
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

/// Its host takes some URLs at a time; what is in its hands may still wait for its turn.
fn in_hand(e: &Explanation, now: UnixMillis) -> String {
    let waits = e.host.as_ref().is_some_and(|host| host.wait.is_some());
    match (&e.queue, &e.hold) {
        (_, Some(hold)) => {
            format!("Not crawled yet: in the hands of its host, but nothing is begun now ({}).", hold.sentence)
        }
        (Some(queue), None) if waits => {
            format!("Not crawled yet: in the hands of its host, {}{}.", place(queue), earliest(e, queue, now))
        }
        _ if e.robots.asking_since_ms.is_some() => {
            format!("Not crawled yet: in the hands of its host; first {}.", e.robots_verdict.because)
        }
        _ => "Being crawled now: its request is under way, or its page waits for its commit.".into(),
    }
}

fn waiting(e: &Explanation, now: UnixMillis) -> String {
    let host = &e.canonical.host;
    let Some(queue) = &e.queue else { return format!("Not crawled yet: waiting in the queue of {host}.") };
    let begin = begin(queue);
    let mut text = match queue.due_ms {
        Some(_) if queue.failed_attempts == 0 && e.attempts.is_empty() => format!("{begin}: it was put off"),
        Some(_) => format!("{begin}: {}", failed(e, queue)),
        None => format!("{begin}: waiting in the queue of {host}, {}", place(queue)),
    };
    match &e.hold {
        Some(hold) => text += &format!("; nothing is begun now ({})", hold.sentence),
        None => text += &earliest(e, queue, now),
    }
    if e.robots_verdict.allowed == Some(false) {
        text += &format!("; then robots.txt will turn it away ({})", e.robots_verdict.because);
    }
    text + "."
}

/// One that was fetched before is told apart.
fn begin(queue: &QueueView) -> String {
    let Some(again) = &queue.again else { return "Not crawled yet".into() };
    let why = match (again.reason.as_str(), &queue.via) {
        ("recrawl", _) => "because the operator wants its host crawled anew".to_owned(),
        ("sitemap", _) => "because it is a sitemap, and sitemaps.revisit has passed since".to_owned(),
        ("spelling", _) => "because a redirect leads to it under another spelling".to_owned(),
        ("cut", _) => "because the connection ended before its body did".to_owned(),
        ("given_up", _) => "because it was given up then or later".to_owned(),
        ("depth", Some(via)) => {
            format!("because {via} leads to it by a way on which more of its links may be followed")
        }
        ("cycle", _) => "because its cycle says that it is time".to_owned(),
        ("cookies", _) => "because a redirect leads back to it, perhaps for its cookies".to_owned(),
        (_, Some(via)) => format!("because {via} says that it was changed since"),
        (_, None) => "because a sitemap says that it was changed since".to_owned(),
    };
    format!("Crawled at {} and queued once more, {why}", iso(UnixMillis(again.captured_ms)))
}

fn place(queue: &QueueView) -> String {
    let before = match (queue.before, queue.before_is_exact) {
        (0, true) => "next".into(),
        (n, true) => format!("{n} before it"),
        (n, false) => format!("{n} or more before it"),
    };
    format!("rank {}, {before}", queue.rank)
}

fn failed(e: &Explanation, queue: &QueueView) -> String {
    let failed = e.attempts.iter().find(|attempt| attempt.outcome != "stored");
    let answer =
        failed.and_then(|attempt| attempt.status).map(|status| format!(", answer {status}")).unwrap_or_default();
    let why = failed.map(|attempt| format!(" ({}{answer})", attempt.outcome)).unwrap_or_default();
    format!("{} failed{why}, it is tried again", tries(queue.failed_attempts.into()))
}

/// When its turn can come, and what sets that time.
fn earliest(e: &Explanation, queue: &QueueView, now: UnixMillis) -> String {
    let Some(at) = queue.earliest_ms.map(UnixMillis) else { return String::new() };
    let host = e.host.as_ref();
    let retried = queue.due_ms.is_some_and(|due| due >= at.0);
    let cause = match host.and_then(|host| host.wait.as_ref()) {
        _ if retried && e.robots.standing == RobotsStanding::DisallowAll => {
            "its robots.txt cannot be reached and is asked for again first".to_owned()
        }
        _ if retried => "fetch.retry_delays".to_owned(),
        Some(wait) if !wait.why.is_ordinary() => trouble(wait),
        _ => host.map(|host| pace(&host.schedule)).unwrap_or_default(),
    };
    match at > now {
        true => format!("; earliest {} ({}), because {cause}", clock(at, now), soon(at, now)),
        false => "; it may be asked for now".into(),
    }
}

fn trouble(wait: &WaitView) -> String {
    match wait.why {
        WaitWhy::RobotsUnreachable | WaitWhy::DnsFailing | WaitWhy::Parked => wait.words.clone(),
        _ => format!("of {}", wait.words),
    }
}

/// What asks for the gap between two requests.
fn pace(schedule: &Schedule) -> String {
    let millis = std::time::Duration::try_from_secs_f64(schedule.delay_seconds).unwrap_or_default().as_millis();
    let gap = format_duration(std::time::Duration::from_millis(u64::try_from(millis).unwrap_or(u64::MAX)));
    match schedule.delay_from {
        DelayFrom::CrawlDelay => format!("of Crawl-delay {gap} in robots.txt"),
        DelayFrom::MinDelay => format!("of the gap of {gap} between two requests (politeness.min_delay)"),
        DelayFrom::Ordered => {
            format!("of the gap of {gap} between two requests that the operator ordered (`lycosa ctl host NAME delay`)")
        }
        DelayFrom::AnswerTime => {
            format!("of the gap of {gap}, by the time its last answer took (politeness.delay_factor)")
        }
    }
}

fn done(e: &Explanation) -> String {
    let Some(page) = &e.page else { return "Crawled; nothing is kept of it.".into() };
    let (when, status) = (iso(UnixMillis(page.captured_ms)), page.status);
    let kind = page.mime.as_deref().map(|mime| format!(" of {mime}")).unwrap_or_default();
    let what = match page.how.as_str() {
        "redirect" | "unstored" if page.target.is_some() || page.how == "redirect" => {
            let noted = |note: Note| page.notes.iter().any(|noted| noted == note.as_str());
            let to = match page.target.as_deref() {
                Some(to) => format!("to {to}"),
                None if noted(Note::RedirectSelf) => "to itself".into(),
                None if noted(Note::RedirectNowhere) => "to what is no URL".into(),
                None => "elsewhere".into(),
            };
            let refused = page.target_refused.as_deref().map(|why| format!(", which was turned away ({why})"));
            format!("it redirects {to}{}", refused.unwrap_or_default())
        }
        "duplicate" => "its content was known already".into(),
        "not_modified" => "it had not changed".into(),
        _ => format!("{}{kind}", human_size(page.bytes)),
    };
    let place = match &page.warc {
        Some(warc) => format!("its record is in {} at {}", warc.file, warc.offset),
        None => "the settings leave it out of the archive (store.skip_types, store.statuses, dedup.near_store)".into(),
    };
    format!("Crawled at {when} with status {status}: {what}; {place}.")
}

fn given_up(e: &Explanation) -> String {
    let reason = e.reason.as_deref().unwrap_or_default();
    let last = e.attempts.first();
    let status = last.and_then(|last| last.status).map(|status| format!(", answer {status}")).unwrap_or_default();
    let when = last.map(|last| format!(" at {}", iso(UnixMillis(last.at_ms)))).unwrap_or_default();
    let good = |a: &&AttemptView| {
        a.status.is_some_and(|status| status < 400) && Failure::ALL.iter().all(|failure| failure.as_str() != a.outcome)
    };
    let begin = match e.attempts.iter().skip(1).find(good) {
        Some(before) => format!("Crawled at {}, and given up later", iso(UnixMillis(before.at_ms))),
        None => "Not crawled: given up".to_owned(),
    };
    format!("{begin}{when} ({reason}{status}); {}.", advice(reason))
}

fn rejected(e: &Explanation) -> String {
    let reason = e.reason.as_deref().unwrap_or_default();
    let same = e.rules.reason.as_deref() == Some(reason);
    match (e.rules.accepted, reason) {
        (_, "robots") => match e.robots_verdict.allowed {
            Some(false) => {
                format!("Not crawled: robots.txt forbids it ({}); {}.", e.robots_verdict.because, way_out(reason))
            }
            _ => "Not crawled: robots.txt forbade it when it was its turn; it does not now: \
                  `lycosa ctl urls readmit --reason robots` tries again."
                .into(),
        },
        (false, _) if same => {
            let way = match reason {
                "scope" if e.rules.rule.contains("include pattern") => {
                    "change scope.include: `lycosa ctl set scope.include=… --readmit`"
                }
                _ => way_out(reason),
            };
            format!("Not crawled: turned away ({reason}), because {}; {way}.", e.rules.rule)
        }
        (true, "scope" | "excluded" | "extension" | "too_deep" | "too_long" | "segments" | "repeats" | "params") => {
            format!(
                "Not crawled: turned away ({reason}) by earlier rules or on a longer path; those in force would accept it \
                 ({}): `lycosa ctl urls readmit --reason {reason}` queues it.",
                e.rules.rule
            )
        }
        (_, "session" | "permuted" | "barren" | "self_fed" | "pattern_budget" | "domain_budget") => {
            format!(
                "Not crawled: turned away ({reason}) when it was found: {}; `lycosa ctl urls readmit --reason {reason}` queues it \
                 all the same.",
                advice(reason)
            )
        }
        _ => format!("Not crawled: turned away ({reason}); {}.", way_out(reason)),
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
        "nofollow" => {
            "every link to it found so far says nofollow, or its page does; add it as a seed, or \
             `lycosa ctl urls readmit --reason nofollow` queues all of these; for a site of your own there is \
             politeness.respect_nofollow = false"
        }
        "near_duplicate" => {
            "the page it was found on says what another page says, and dedup.near_follow = false; `lycosa ctl urls readmit --reason \
             near_duplicate` queues all of these"
        }
        _ => advice(reason),
    }
}

#[cfg(test)]
mod tests;
