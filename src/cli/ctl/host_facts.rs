//! `lycosa ctl host NAME`: how a host stands, a line for each thing.

use std::time::Duration;

use super::robots::standing;
use super::table::{moment, pairs};
use crate::admin::hosts::{DelayFrom, HostDetail, HostView, Schedule};
use crate::admin::views::HostState;
use crate::base::units::{format_duration, human_size};

/// The lines.
pub(super) fn told(detail: &HostDetail) -> String {
    let host = &detail.host;
    let mut facts = vec![
        ("host", format!("{}: {:?}", host.name, host.state).to_lowercase()),
        ("queue", queue(host)),
        ("done", format!("{} pages, {} given up, {}", host.done, host.errors, human_size(host.bytes))),
        ("next", next(host)),
        ("delay", delay(&detail.schedule)),
    ];
    facts.extend(trouble(&detail.schedule).map(|text| ("trouble", text)));
    facts.extend(host.orders.iter().map(|order| ("order", order.clone())));
    facts.push(("addresses", addresses(detail)));
    let budget = detail.budget.as_ref().map(|budget| format!("{} of {} pages used", budget.used, budget.pages));
    facts.extend(budget.map(|budget| ("budget", budget)));
    let robots =
        detail.robots.iter().map(|r| format!("{}, port {}: {}, {} rules", r.scheme, r.port, standing(r), r.rules));
    facts.extend(robots.map(|robots| ("robots.txt", robots)));
    pairs(&facts)
}

fn queue(host: &HostView) -> String {
    let ranks = host.queued_by_rank.iter().enumerate().filter(|(_, n)| **n > 0);
    let ranks: Vec<String> = ranks.map(|(rank, n)| format!("rank {rank}: {n}")).collect();
    let ranks = if ranks.is_empty() { String::new() } else { format!(" ({})", ranks.join(", ")) };
    format!("{} URLs{ranks}, {} wait for their next try", host.queued, host.due)
}

fn next(host: &HostView) -> String {
    match &host.wait {
        Some(wait) => format!("not before {}: {}", moment(wait.until_ms), wait.words),
        None if host.state == HostState::Held => "not asked: the operator holds it".into(),
        None => "may be asked now".into(),
    }
}

fn delay(schedule: &Schedule) -> String {
    let millis = Duration::try_from_secs_f64(schedule.delay_seconds).unwrap_or_default().as_millis();
    let gap = format_duration(Duration::from_millis(u64::try_from(millis).unwrap_or(u64::MAX)));
    let from = match schedule.delay_from {
        DelayFrom::MinDelay => "politeness.min_delay",
        DelayFrom::Ordered => "the operator's order",
        DelayFrom::AnswerTime => "politeness.delay_factor, by the last answer",
        DelayFrom::CrawlDelay => "Crawl-delay of its robots.txt",
    };
    let own = if schedule.own_rules { ", rules of its own" } else { "" };
    format!("{gap} between two requests ({from}{own}), {} at a time", schedule.connections)
}

fn trouble(schedule: &Schedule) -> Option<String> {
    let backoff = (schedule.backoff_steps > 0).then(|| format!("back-off of {} steps", schedule.backoff_steps));
    let refusals = (schedule.refusals > 0).then(|| format!("{} refusals in a row", schedule.refusals));
    let parts: Vec<String> = [backoff, refusals].into_iter().flatten().collect();
    (!parts.is_empty()).then(|| parts.join(", "))
}

fn addresses(detail: &HostDetail) -> String {
    match (&detail.address_fault, detail.addresses.is_empty()) {
        (Some(fault), _) => format!("not resolved: {fault}"),
        (None, true) => "not known now".into(),
        (None, false) => detail.addresses.join(", "),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_host_is_told_in_a_handful_of_lines() {
        let detail = json!({
            "host": {"name": "a.test", "state": "parked", "queued": 9, "queued_by_rank": [7, 0, 2, 0, 0, 0, 0, 0], "due": 1,
                "done": 30, "errors": 2, "bytes": 2048, "orders": ["paused by the operator"], "rate": 0.0,
                "wait": {"until_ms": 1_714_979_289_000_u64, "seconds": 3.0, "why": "gap", "words": "the gap between two requests"}},
            "schedule": {"earliest_ms": 0, "delay_seconds": 2.5, "delay_from": "min_delay", "own_rules": true, "connections": 1,
                "backoff_steps": 2, "refusals": 0, "last_answer_ms": null, "last_answer_seconds": 0.1},
            "addresses": ["127.0.0.1"], "address_fault": null, "budget": {"pages": 100, "used": 32, "left": 68}, "robots": [],
        });
        let expected = "host       a.test: parked\n\
                        queue      9 URLs (rank 0: 7, rank 2: 2), 1 wait for their next try\n\
                        done       30 pages, 2 given up, 2.0 KiB\n\
                        next       not before 2024-05-06T07:08:09Z: the gap between two requests\n\
                        delay      2500ms between two requests (politeness.min_delay, rules of its own), 1 at a time\n\
                        trouble    back-off of 2 steps\n\
                        order      paused by the operator\n\
                        addresses  127.0.0.1\n\
                        budget     32 of 100 pages used\n";
        assert_eq!(told(&serde_json::from_value(detail).unwrap()), expected);
    }
}
