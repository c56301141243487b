//! Questions to a running crawl: why this URL, why nothing happens, hosts, actors, pages, jobs, how it went.

use std::time::Duration;

use clap::{Args, Subcommand};
use serde_json::{Value, json};
use url::form_urlencoded::Serializer;

use super::door::Ask;
use super::host::{self, RobotsArgs};
use super::jobs::{self, JobsArgs};
use super::nodes::{self, NodesArgs};
use super::schedule::{self, ScheduleArgs};
use super::table::{Column, Form, cell, facts, listed, pairs, table};
use super::{escaped_part, read};
use crate::admin::actors::ActorView;
use crate::admin::why_idle::WhyIdle;
use crate::base::units::parse_duration;
use crate::cli::args::Wanted;
use crate::cli::exit::CliError;
use crate::cli::hits;
use crate::telemetry::log::escaped;

/// The commands.
#[derive(Clone, Debug, Subcommand)]
pub enum LookCommand {
    /// Say why a URL was, or was not, crawled
    #[command(
        after_help = "Examples: lycosa ctl explain example.org/page\n          lycosa ctl explain --all https://example.org/page"
    )]
    Explain {
        /// The URL; without a scheme that one is taken which the crawl knows it by
        url: String,
        /// Everything that is known, not only what decides
        #[arg(long)]
        all: bool,
    },
    /// Search the pages that were stored
    #[command(
        after_help = "Examples: lycosa ctl search wolf spider\n          lycosa ctl search '\"wolf spider\" site:example.org' --sort newest\n\
    The whole language: docs/search.md"
    )]
    Search(Wanted),
    /// Pages that link to a page; with --out those that it links to
    #[command(after_help = "Example: lycosa ctl links example.org/page")]
    Links {
        /// The URL; without a scheme that one is taken which the crawl knows it by
        url: String,
        /// What it links to
        #[arg(long)]
        out: bool,
        /// Which part.
        #[command(flatten)]
        paging: PagingArgs,
    },
    /// Say why nothing is happening
    #[command(after_help = "Example: lycosa ctl why-idle")]
    WhyIdle,
    /// Show pages, rates, queues and memory over time
    #[command(after_help = "Example: lycosa ctl statistics --since 12h --points 24")]
    Statistics {
        /// Since when
        #[arg(long, value_name = "TIME", value_parser = parse_duration, default_value = "1h")]
        since: Duration,
        /// At most so many lines
        #[arg(long, value_name = "N", default_value_t = 20)]
        points: usize,
    },
    /// List hosts with their queues
    #[command(after_help = "Example: lycosa ctl hosts --sort queue --limit 20")]
    Hosts {
        /// Only those that stand there: active, waiting, parked, idle, held
        #[arg(long)]
        state: Option<String>,
        /// Only those whose name contains this
        #[arg(long, value_name = "PART")]
        contains: Option<String>,
        /// By queue, rate, errors, next or name
        #[arg(long)]
        sort: Option<String>,
        /// Which part.
        #[command(flatten)]
        paging: PagingArgs,
    },
    /// Show a host's robots.txt: what it said, when, and what that means for a URL
    Robots(RobotsArgs),
    /// List actors (queue, handled, latency, restarts); restart one
    Actors(ActorsArgs),
    /// List captures
    #[command(
        after_help = "Examples: lycosa ctl pages --host example.org\n          lycosa ctl pages --status 404 --mime text/ --since 2h"
    )]
    Pages {
        /// Only of this host
        #[arg(long)]
        host: Option<String>,
        /// Only with this status
        #[arg(long, value_name = "CODE")]
        status: Option<u16>,
        /// Only of this media type, or of all that begin so, such as image/
        #[arg(long, value_name = "TYPE")]
        mime: Option<String>,
        /// Only of this time until now, such as 2h
        #[arg(long, value_name = "TIME", value_parser = parse_duration)]
        since: Option<Duration>,
        /// Which part.
        #[command(flatten)]
        paging: PagingArgs,
    },
    /// Show who holds link credit, and the richest pages of a host or of all
    #[command(after_help = "Example: lycosa ctl credit --host example.org")]
    Credit {
        /// The host whose richest pages are shown; all without it
        #[arg(long)]
        host: Option<String>,
    },
    /// List the members of a crawl on several machines
    Nodes(NodesArgs),
    /// Say when pages are visited next
    Schedule(ScheduleArgs),
    /// List background jobs; show or cancel one
    Jobs(JobsArgs),
}

/// `lycosa ctl actors …`.
#[derive(Clone, Debug, Default, Args)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "Examples: lycosa ctl actors\n          lycosa ctl actors --kind fetcher\n          lycosa ctl actors restart store"
)]
pub struct ActorsArgs {
    /// Only of this kind: supervisor, frontier, politeness, fetcher, parser, deduper, store
    #[arg(long)]
    pub kind: Option<String>,
    /// Which part.
    #[command(flatten)]
    pub paging: PagingArgs,
    /// What with one; without it they are listed.
    #[command(subcommand)]
    pub command: Option<ActorsCommand>,
}

/// With one actor.
#[derive(Clone, Debug, Subcommand)]
pub enum ActorsCommand {
    /// Begin a new life of one: nothing is lost, and it is no death
    #[command(
        after_help = "Examples: lycosa ctl actors restart store\n          lycosa ctl actors restart fetcher/0\n          lycosa ctl actors restart politeness/example.org"
    )]
    Restart {
        /// Its kind, and which of its kind where there are several: a number of a fetcher, a host's name of politeness
        #[arg(value_name = "KIND[/N]")]
        actor: String,
    },
}

/// Which part of a list.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct PagingArgs {
    /// At most so many
    #[arg(long, value_name = "N")]
    pub limit: Option<usize>,
    /// Go on after the former part, which ended by naming this
    #[arg(long)]
    pub cursor: Option<String>,
}

/// A path with the parameters that are there.
pub(super) fn path(base: &str, parameters: &[(&str, Option<String>)]) -> String {
    let mut query = Serializer::new(String::new());
    for (name, value) in parameters {
        if let Some(value) = value {
            query.append_pair(name, value);
        }
    }
    match query.finish() {
        query if query.is_empty() => base.to_owned(),
        query => format!("{base}?{query}"),
    }
}

/// A part of a list.
pub(super) fn list(base: &str, own: &[(&str, &Option<String>)], paging: &PagingArgs) -> Ask {
    let own = own.iter().map(|(name, value)| (*name, (*value).clone()));
    let paging = [("limit", paging.limit.map(|n| n.to_string())), ("cursor", paging.cursor.clone())];
    Ask::get(path(base, &own.chain(paging).collect::<Vec<_>>()))
}

pub(super) fn ask(command: &LookCommand) -> Result<Ask, CliError> {
    Ok(match command {
        LookCommand::Explain { url, .. } => Ask::get(path("/api/v1/explain", &[("url", Some(url.clone()))])),
        LookCommand::WhyIdle => Ask::get("/api/v1/why-idle"),
        LookCommand::Search(wanted) => {
            let explain = wanted.explain.then(|| "1".to_owned());
            let limit = Some(wanted.limit.clamp(1, 100).to_string());
            let query = [
                ("q", Some(wanted.text())),
                ("limit", limit),
                ("sort", Some(wanted.sort.clone())),
                ("explain", explain),
            ];
            Ask::get(path("/api/v1/search", &query))
        }
        LookCommand::Links { url, out, paging } => {
            let direction = if *out { "out" } else { "in" };
            list("/api/v1/links", &[("url", &Some(url.clone())), ("direction", &Some(direction.into()))], paging)
        }
        LookCommand::Statistics { since, points } => {
            let since = since.as_secs().max(1).to_string();
            let query = [("since", Some(since)), ("points", Some(points.to_string()))];
            Ask::get(path("/api/v1/statistics", &query))
        }
        LookCommand::Hosts { state, contains, sort, paging } => {
            list("/api/v1/hosts", &[("state", state), ("contains", contains), ("sort", sort)], paging)
        }
        LookCommand::Robots(args) => host::ask_robots(args)?,
        LookCommand::Actors(args) => ask_actors(args)?,
        LookCommand::Pages { host, status, mime, since, paging } => {
            let (status, since) =
                (status.map(|code| code.to_string()), since.map(|time| time.as_secs().max(1).to_string()));
            let which = [("host", host), ("status", &status), ("mime", mime), ("since", &since)];
            list("/api/v1/pages", &which, paging)
        }
        LookCommand::Credit { host } => Ask::get(path("/api/v1/credit", &[("host", host.clone())])),
        LookCommand::Nodes(args) => nodes::ask(args),
        LookCommand::Schedule(args) => schedule::ask(args),
        LookCommand::Jobs(args) => jobs::ask(args),
    })
}

/// The actors there are, or a restart of one.
fn ask_actors(args: &ActorsArgs) -> Result<Ask, CliError> {
    let Some(ActorsCommand::Restart { actor }) = &args.command else {
        return Ok(list("/api/v1/actors", &[("kind", &args.kind)], &args.paging));
    };
    let (kind, instance) = match actor.split_once('/') {
        Some((kind, instance)) if !instance.is_empty() => (kind, instance),
        None if !matches!(actor.as_str(), "fetcher" | "politeness") => (actor.as_str(), "main"),
        _ => {
            let kind = actor.trim_end_matches('/');
            return Err(CliError::usage(format!(
                "{kind}: there are several; name one as `{kind}/…`, `lycosa ctl actors --kind {kind}` lists them"
            )));
        }
    };
    Ok(Ask::post(format!("/api/v1/actors/{}/{}/restart", escaped_part(kind), escaped_part(instance)), String::new()))
}

const HOSTS: &[Column] = &[
    Column("host", "/name", Form::Plain),
    Column("state", "/state", Form::Plain),
    Column("queued", "/queued", Form::Plain),
    Column("retries", "/due", Form::Plain),
    Column("done", "/done", Form::Plain),
    Column("errors", "/errors", Form::Plain),
    Column("waits for", "/wait/why", Form::Plain),
    Column("until", "/wait/until_ms", Form::Time),
    Column("orders", "/orders", Form::Plain),
];
const PAGES: &[Column] = &[
    Column("status", "/status", Form::Plain),
    Column("how", "/how", Form::Plain),
    Column("when", "/captured_ms", Form::Time),
    Column("type", "/mime", Form::Plain),
    Column("size", "/bytes", Form::Size),
    Column("URL", "/url", Form::Plain),
];
const STATISTICS: &[Column] = &[
    Column("when", "/at_ms", Form::Time),
    Column("pages", "/pages", Form::Plain),
    Column("pages/s", "/pages_per_second", Form::Plain),
    Column("received/s", "/bytes_per_second", Form::Size),
    Column("errors", "/errors", Form::Plain),
    Column("waiting", "/waiting", Form::Plain),
    Column("in flight", "/in_flight", Form::Plain),
    Column("hosts active", "/hosts_active", Form::Plain),
    Column("memory", "/resident_bytes", Form::Size),
];

const ACTORS: &[Column] = &[
    Column("actor", "/kind", Form::Plain),
    Column("instance", "/instance", Form::Plain),
    Column("state", "/state", Form::Plain),
    Column("queue", "/queue", Form::Plain),
    Column("handled", "/handled", Form::Plain),
    Column("half within", "/handle_p50_seconds", Form::Latency),
    Column("99 % within", "/handle_p99_seconds", Form::Latency),
    Column("restarts", "/restarts", Form::Plain),
    Column("last fault", "/last_fault/why", Form::Plain),
];

pub(super) fn told(command: &LookCommand, answer: &str) -> Result<String, CliError> {
    Ok(match command {
        LookCommand::Explain { all, .. } => explanation(read(answer)?, *all),
        LookCommand::WhyIdle => idle(&read(answer)?),
        LookCommand::Search(_) => hits::told(&read(answer)?),
        LookCommand::Links { .. } => hits::links_told(&read(answer)?),
        LookCommand::Statistics { .. } => statistics(&read(answer)?),
        LookCommand::Hosts { .. } => listed(&read(answer)?, HOSTS),
        LookCommand::Robots(args) => host::robots_told(args, &read(answer)?),
        LookCommand::Actors(ActorsArgs { command: None, .. }) => listed(&read(answer)?, ACTORS),
        LookCommand::Actors(_) => restarted(&read(answer)?),
        LookCommand::Pages { .. } => listed(&read(answer)?, PAGES),
        LookCommand::Credit { .. } => credit(read(answer)?),
        LookCommand::Nodes(_) => nodes::told(answer)?,
        LookCommand::Schedule(args) => schedule::told(args, answer)?,
        LookCommand::Jobs(args) => jobs::told(args, answer)?,
    })
}

/// Whether a job carries it out whose end is waited for.
pub(super) fn waits(command: &LookCommand) -> bool {
    matches!(command, LookCommand::Schedule(args) if schedule::waits(args))
}

/// Who holds what, then the richest pages.
fn credit(mut view: Value) -> String {
    let sums = view.get_mut("sums").map(Value::take).unwrap_or_default();
    if sums.is_null() {
        return "link credit is off (frontier.credit)\n".to_owned();
    }
    let digits = |value: &mut Value| {
        if let (Some(number), true) = (value.as_f64(), value.is_f64()) {
            *value = format!("{number:.6}").into();
        }
    };
    let mut sums = sums;
    sums.as_object_mut().into_iter().flat_map(serde_json::Map::values_mut).for_each(digits);
    for page in view.get_mut("richest").and_then(Value::as_array_mut).into_iter().flatten() {
        page.get_mut("credit").into_iter().for_each(digits);
        let percent = page["share"].as_f64().unwrap_or_default() * 100.0;
        page.as_object_mut().map(|page| page.insert("share".to_owned(), format!("{percent:.3} %").into()));
    }
    let richest: Vec<&Value> = view.get("richest").and_then(Value::as_array).into_iter().flatten().collect();
    let mut pages = if richest.is_empty() { String::new() } else { format!("\n{}", table(&richest, RICHEST)) };
    if !view["next"].is_null() {
        let looked = cell(&view["looked_at"]);
        pages += &format!(
            "\nThese are the richest of the {looked} pages looked at; there are more: --host shows those of one host.\n"
        );
    }
    facts(&sums) + &pages
}

const RICHEST: &[Column] = &[
    Column("credit", "/credit", Form::Plain),
    Column("of all", "/share", Form::Plain),
    Column("rank", "/rank", Form::Plain),
    Column("waits", "/waits", Form::Plain),
    Column("URL", "/url", Form::Plain),
];

/// The verdict, then the handful of deciding facts; with `all` everything else too.
fn explanation(mut explanation: Value, all: bool) -> String {
    let mut taken = |name: &str| explanation.as_object_mut().and_then(|facts| facts.remove(name)).unwrap_or_default();
    let (answer, deciding) = (taken("answer"), taken("facts"));
    let text = |fact: &Value, name: &str| fact.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
    let deciding: Vec<(String, String)> =
        deciding.as_array().into_iter().flatten().map(|fact| (text(fact, "name"), text(fact, "text"))).collect();
    let rest = if all { format!("\n{}", facts(&explanation)) } else { String::new() };
    format!("{}\n\n{}{rest}", cell(&answer), pairs(&deciding))
}

/// The answer, then each finding with what to do.
fn idle(why: &WhyIdle) -> String {
    let told = why.findings.iter().map(|finding| {
        let of = finding.node.as_ref().map(|node| format!("{}, ", escaped(node))).unwrap_or_default();
        let code = finding.code.as_str();
        format!("  {of}{code}: {}\n    {}\n", escaped(&finding.sentence), escaped(&finding.advice))
    });
    format!("{}\n{}", escaped(&why.answer), told.collect::<String>())
}

/// A line for each moment, the oldest first.
fn statistics(answer: &Value) -> String {
    let points: Vec<&Value> = answer.get("points").and_then(Value::as_array).into_iter().flatten().collect();
    match points.is_empty() {
        true => "nothing was noted yet; look again in a few seconds\n".to_owned(),
        false => table(&points, STATISTICS),
    }
}

fn restarted(actor: &ActorView) -> String {
    let (kind, state) = (cell(&json!(actor.kind)), cell(&json!(actor.state)));
    format!("{kind} {} was restarted: {} restarts so far, {state}\n", escaped(&actor.instance), actor.restarts)
}
