//! `lycosa ctl schedule …`: when pages are visited next.

use clap::{Args, Subcommand};
use serde_json::Value;

use super::door::Ask;
use super::jobs::{WaitArgs, sentence};
use super::look::{PagingArgs, list, path};
use super::read;
use super::table::{Column, Form, cell, facts, listed};
use crate::cli::exit::CliError;

/// `lycosa ctl schedule …`.
#[derive(Clone, Debug, Args)]
#[command(
    args_conflicts_with_subcommands = true,
    subcommand_negates_reqs = true,
    after_help = "Examples: lycosa ctl schedule https://example.org/news\n          lycosa ctl schedule due --host example.org\n          lycosa ctl schedule hosts"
)]
pub struct ScheduleArgs {
    /// When this page is visited next, and why then
    #[arg(required = true)]
    pub url: Option<String>,
    /// What else.
    #[command(subcommand)]
    pub command: Option<ScheduleCommand>,
}

/// Of many pages.
#[derive(Clone, Debug, Subcommand)]
pub enum ScheduleCommand {
    /// Pages of a host in the order of their next visits
    #[command(after_help = "Example: lycosa ctl schedule due --host example.org --limit 20")]
    Due {
        /// The host
        #[arg(long)]
        host: String,
        /// Which part.
        #[command(flatten)]
        paging: PagingArgs,
    },
    /// Hosts with visits: how many a day are wanted, and how many can be had
    #[command(after_help = "Example: lycosa ctl schedule hosts")]
    Hosts {
        /// Which part.
        #[command(flatten)]
        paging: PagingArgs,
    },
    /// Reckon all visits anew, after rules have changed that make them sooner
    #[command(after_help = "Example: lycosa ctl schedule again")]
    Again {
        /// Whether its end is waited for.
        #[command(flatten)]
        wait: WaitArgs,
    },
}

const DUE: &[Column] = &[
    Column("next visit", "/next", Form::Time),
    Column("after", "/every_seconds", Form::Latency),
    Column("URL", "/url", Form::Plain),
];
const HOSTS: &[Column] = &[
    Column("host", "/host", Form::Plain),
    Column("pages", "/pages", Form::Plain),
    Column("first", "/first", Form::Time),
    Column("due", "/due", Form::Plain),
    Column("late", "/late_seconds", Form::Latency),
    Column("wanted a day", "/load", Form::Plain),
    Column("room a day", "/room", Form::Plain),
    Column("stretch", "/stretch", Form::Plain),
    Column("under way", "/queued", Form::Plain),
    Column("new first", "/owed", Form::Plain),
    Column("held", "/held", Form::Plain),
];

pub(super) fn ask(args: &ScheduleArgs) -> Ask {
    match &args.command {
        None => Ask::get(path("/api/v1/schedule", &[("url", args.url.clone())])),
        Some(ScheduleCommand::Due { host, paging }) => {
            list("/api/v1/schedule/due", &[("host", &Some(host.clone()))], paging)
        }
        Some(ScheduleCommand::Hosts { paging }) => list("/api/v1/schedule/hosts", &[], paging),
        Some(ScheduleCommand::Again { .. }) => Ask::post("/api/v1/schedule/reschedule", String::new()),
    }
}

/// The sentence with its facts, a list, or how a job ended.
pub(super) fn told(args: &ScheduleArgs, answer: &str) -> Result<String, CliError> {
    let answer: Value = match &args.command {
        Some(ScheduleCommand::Again { .. }) => return Ok(sentence(&read(answer)?)),
        _ => read(answer)?,
    };
    Ok(match &args.command {
        None => one(answer),
        Some(ScheduleCommand::Due { .. }) => listed(&answer, DUE),
        Some(_) => listed(&rounded(answer), HOSTS),
    })
}

fn one(mut answer: Value) -> String {
    let schedule = answer.get_mut("schedule").map(Value::take).unwrap_or_default();
    match schedule {
        Value::Object(mut schedule) => {
            let sentence = schedule.remove("answer").unwrap_or_default();
            format!("{}\n\n{}", cell(&sentence), facts(&Value::Object(schedule)))
        }
        _ => "Nothing is planned: it waits in its queue now, was turned away, or never was answered; `lycosa ctl explain URL` says which.\n"
            .to_owned(),
    }
}

/// Numbers with two places.
fn rounded(mut answer: Value) -> Value {
    for item in answer.get_mut("items").and_then(Value::as_array_mut).into_iter().flatten() {
        for name in ["load", "room", "stretch", "owed"] {
            if let Some(value) = item.get_mut(name) {
                *value = ((value.as_f64().unwrap_or_default() * 100.0).round() / 100.0).into();
            }
        }
    }
    answer
}

/// Whether a job carries it out whose end is waited for.
pub(super) fn waits(args: &ScheduleArgs) -> bool {
    matches!(&args.command, Some(ScheduleCommand::Again { wait }) if !wait.no_wait)
}
