//! `lycosa ctl host NAME …`: one host, and commands to it. `lycosa ctl robots`: what its robots.txt said, when, to whom, and what
//! that means for a URL.

use std::time::Duration;

use awc::http::Method;
use clap::{Args, Subcommand};
use serde_json::json;
use url::Url;

use super::door::Ask;
use super::table::{moment, pairs};
use super::{escaped_part, read};
use crate::admin::hosts::{DelayFrom, HostDetail, HostView, RobotsText, Schedule};
use crate::admin::orders::HostOrdered;
use crate::admin::views::{HostState, RobotsStanding, RobotsView};
use crate::base::units::{counted, format_duration, human_size};
use crate::cli::exit::CliError;
use crate::domain::url::with_schemes;
use crate::warc::date::iso;

/// `lycosa ctl host …`.
#[derive(Clone, Debug, Args)]
#[command(
    after_help = "Examples: lycosa ctl host example.org\n          lycosa ctl host example.org pause\n          lycosa ctl host example.org delay 5s"
)]
pub struct HostArgs {
    /// Its name, as in its URLs
    pub name: String,
    /// What is said of it; without it the host is shown.
    #[command(subcommand)]
    pub command: Option<HostCommand>,
}

/// A command to a host.
#[derive(Clone, Debug, Subcommand)]
pub enum HostCommand {
    /// Send it no new requests, also after a restart
    #[command(after_help = "Example: lycosa ctl host example.org pause")]
    Pause,
    /// Go on with it
    #[command(after_help = "Example: lycosa ctl host example.org resume")]
    Resume,
    /// Turn away what is queued of it
    #[command(after_help = "Example: lycosa ctl host example.org drop")]
    Drop,
    /// Never request or queue anything of it again
    #[command(
        after_help = "Examples: lycosa ctl host example.org block\n          lycosa ctl host example.org block --purge"
    )]
    Block {
        /// Erase everything that was received from it, too: the crawl closes its files for that, and goes on by itself after it; it cannot be taken back
        #[arg(long)]
        purge: bool,
    },
    /// Take the block back
    #[command(after_help = "Example: lycosa ctl host example.org unblock")]
    Unblock,
    /// Fetch what was fetched of it once more
    #[command(after_help = "Example: lycosa ctl host example.org recrawl")]
    Recrawl,
    /// Set the least gap between two requests
    #[command(
        after_help = "Examples: lycosa ctl host example.org delay 5s\n          lycosa ctl host example.org delay none"
    )]
    Delay {
        /// Such as 5s; `none` for that of the settings
        gap: String,
    },
}

pub(super) fn ask(args: &HostArgs) -> Ask {
    let host = format!("/api/v1/hosts/{}", escaped_part(&args.name));
    let Some(command) = &args.command else { return Ask::get(host) };
    let what = match command {
        HostCommand::Pause => "pause",
        HostCommand::Resume => "resume",
        HostCommand::Drop => "drop",
        HostCommand::Block { purge: false } => "block",
        HostCommand::Block { purge: true } => "block?purge=own",
        HostCommand::Unblock => "unblock",
        HostCommand::Recrawl => "recrawl",
        HostCommand::Delay { gap } => {
            let gap = Some(gap).filter(|gap| *gap != "none");
            let body = json!({ "min_delay": gap }).to_string();
            return Ask { method: Method::PUT, path: format!("{host}/delay"), body };
        }
    };
    Ask::post(format!("{host}/{what}"), String::new())
}

pub(super) fn told(args: &HostArgs, answer: &str) -> Result<String, CliError> {
    Ok(if args.command.is_none() { detail(&read(answer)?) } else { ordered(&read(answer)?) })
}

fn ordered(ordered: &HostOrdered) -> String {
    let orders = &ordered.orders;
    let since = [
        ("paused", orders.paused),
        ("blocked", orders.blocked),
        ("queue is being dropped", orders.dropping),
        ("being queued again", orders.recrawling),
    ];
    let mut told: Vec<String> =
        since.iter().filter_map(|(what, at)| at.map(|at| format!("{what} since {}", iso(at)))).collect();
    let gap = orders.min_delay_ms.map(|ms| format_duration(Duration::from_millis(ms)));
    told.extend(gap.map(|gap| format!("at least {gap} between two requests")));
    let told = if told.is_empty() { "no order stands".to_owned() } else { told.join(", ") };
    let note = match ordered.known {
        true => "",
        false => "note: nothing is known of this host yet: nobody found a link to it; is its name spelt right?\n",
    };
    let job = ordered.job.as_ref().map(super::jobs::started).unwrap_or_default();
    let erasure = ordered.erasure.as_ref().map(|erasure| {
        format!(
            "it is erased now: the crawl closes its files for that, and goes on after it; `lycosa ctl status` says how far it is, and \
             `lycosa ctl erasures {}` shows its certificate then\n",
            erasure.id
        )
    });
    let more = erasure.unwrap_or(job);
    format!("{}: {told}\n{note}{more}", ordered.host)
}

/// How a host stands, a line for each thing.
fn detail(detail: &HostDetail) -> String {
    let host = &detail.host;
    let mut facts = vec![
        ("host", format!("{}: {:?}", host.name, host.state).to_lowercase()),
        ("queue", queue(host)),
        ("done", format!("{}, {} given up, {}", counted(host.done, "page"), host.errors, human_size(host.bytes))),
        ("next", next(host)),
        ("delay", delay(&detail.schedule)),
    ];
    facts.extend(trouble(&detail.schedule).map(|text| ("trouble", text)));
    facts.extend(host.orders.iter().map(|order| ("order", order.clone())));
    facts.push(("addresses", addresses(detail)));
    let budget = detail.budget.as_ref().map(|budget| format!("{} of {} pages used", budget.used, budget.pages));
    facts.extend(budget.map(|budget| ("budget", budget)));
    let robots = detail
        .robots
        .iter()
        .map(|r| format!("{}, port {}: {}, {}", r.scheme, r.port, standing(r), counted(r.rules, "rule")));
    facts.extend(robots.map(|robots| ("robots.txt", robots)));
    pairs(&facts)
}

fn queue(host: &HostView) -> String {
    let ranks = host.queued_by_rank.iter().enumerate().filter(|(_, n)| **n > 0);
    let ranks: Vec<String> = ranks.map(|(rank, n)| format!("rank {rank}: {n}")).collect();
    let ranks = if ranks.is_empty() { String::new() } else { format!(" ({})", ranks.join(", ")) };
    let due =
        if host.due == 1 { "1 waits for its next try".into() } else { format!("{} wait for their next try", host.due) };
    format!("{}{ranks}, {due}", counted(host.queued, "URL"))
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
    let backoff =
        (schedule.backoff_steps > 0).then(|| format!("back-off of {}", counted(schedule.backoff_steps.into(), "step")));
    let refusals =
        (schedule.refusals > 0).then(|| format!("{} in a row", counted(schedule.refusals.into(), "refusal")));
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

/// Which robots.txt.
#[derive(Clone, Debug, Args)]
#[command(
    after_help = "Examples: lycosa ctl robots example.org\n          lycosa ctl robots https://example.org/private/page --text"
)]
pub struct RobotsArgs {
    /// A host, or a URL of it: then its verdict is told
    #[arg(value_name = "HOST|URL")]
    pub of: String,
    /// Show its text as it was fetched, too
    #[arg(long)]
    pub text: bool,
}

pub(super) fn ask_robots(args: &RobotsArgs) -> Result<Ask, CliError> {
    let path = |host: &str| format!("/api/v1/hosts/{}/robots", escaped_part(host));
    let of = args.of.trim();
    let is_name = !of.contains(['/', '?', '#', ':']) || (of.starts_with('[') && of.ends_with(']'));
    if is_name {
        return Ok(Ask::get(path(of)));
    }
    let whole = with_schemes(of).map_or_else(|| of.to_owned(), |[https, _]| https);
    let url = Url::parse(&whole).ok();
    let wrong = || {
        CliError::usage(format!("{of}: expected a host such as example.org, or a URL such as https://example.org/x"))
    };
    let host = url.as_ref().and_then(Url::host_str).ok_or_else(wrong)?;
    Ok(Ask::get(format!("{}?url={}", path(host), escaped_part(of))))
}

pub(super) fn robots_told(args: &RobotsArgs, answer: &RobotsText) -> String {
    let robots = &answer.robots;
    let mut facts = vec![("of", format!("{}, port {}", robots.scheme, robots.port)), ("in force", standing(robots))];
    facts.extend(fetched(robots).map(|text| ("fetched", text)));
    facts.extend(failures(robots).map(|text| ("failures", text)));
    if robots.fetched_ms.is_some() {
        facts.push(("rules", group(robots)));
    }
    facts.extend(robots.sitemaps.iter().map(|sitemap| ("sitemap", sitemap.clone())));
    let verdict = answer.verdict.as_ref().map(|verdict| {
        let word = match verdict.allowed {
            Some(true) => "allowed",
            Some(false) => "forbidden",
            None => "not known",
        };
        format!("{word}: {}", verdict.because)
    });
    facts.extend(verdict.map(|verdict| ("verdict", verdict)));
    let text = if args.text { format!("\n{}\n", answer.text.trim_end()) } else { String::new() };
    pairs(&facts) + &text
}

/// What of it is in force.
fn standing(robots: &RobotsView) -> String {
    match robots.standing {
        RobotsStanding::Rules => "its rules",
        RobotsStanding::StaleRules => "the rules of an older copy: it cannot be reached now",
        RobotsStanding::AllowAll if matches!(robots.status, Some(300..400)) => {
            "everything is allowed: its redirects lead nowhere"
        }
        RobotsStanding::AllowAll => "everything is allowed: there is none",
        RobotsStanding::DisallowAll => "nothing is fetched: it cannot be reached (RFC 9309)",
        RobotsStanding::NotAsked if robots.asking_since_ms.is_some() => "it is being asked for",
        RobotsStanding::NotAsked => "it was not asked for yet",
        RobotsStanding::Ignored => "it is ignored (politeness.respect_robots)",
    }
    .to_owned()
}

fn fetched(robots: &RobotsView) -> Option<String> {
    let at = robots.fetched_ms?;
    let status = robots.status.map(|status| format!(", status {status}")).unwrap_or_default();
    let due = if robots.due { ", asked for anew before the next page" } else { "" };
    Some(format!("{}{status}, {}{due}", moment(at), human_size(robots.bytes)))
}

fn failures(robots: &RobotsView) -> Option<String> {
    let again = robots.retry_ms.map(|at| format!(", next try {}", moment(at))).unwrap_or_default();
    (robots.failures > 0).then(|| format!("{} in a row{again}", robots.failures))
}

fn group(robots: &RobotsView) -> String {
    let whose = match robots.group.as_str() {
        "named" => "of the group for this crawler",
        "star" => "of the group for all (*)",
        _ => "no group is for this crawler",
    };
    let delay = robots.crawl_delay_seconds.map(|s| format!(", Crawl-delay {s} s")).unwrap_or_default();
    format!("{} {whose}{delay}", robots.rules)
}
