//! `lycosa ctl jobs`, and commands that a job carries out: its end is waited for, and told in a sentence.

use std::time::Duration;

use clap::{Args, Subcommand};
use serde_json::{Value, json};

use super::door::{Ask, Door, send};
use super::table::{Column, Form, cell, facts, listed};
use super::{escaped_part, read};
use crate::admin::jobs::{JobElsewhere, JobState, JobView};
use crate::cli::exit::CliError;

/// How often a job is looked at.
const LOOK: Duration = Duration::from_millis(200);

/// `lycosa ctl jobs …`.
#[derive(Clone, Debug, Default, Args)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "Examples: lycosa ctl jobs\n          lycosa ctl jobs cancel 3"
)]
pub struct JobsArgs {
    /// What of it; without it all are listed.
    #[command(subcommand)]
    pub command: Option<JobsCommand>,
}

/// Of one job.
#[derive(Clone, Debug, Subcommand)]
pub enum JobsCommand {
    /// Show one, with its result
    #[command(after_help = "Example: lycosa ctl jobs show 3")]
    Show {
        /// Its number
        id: u64,
    },
    /// Stop one; what it has done stands
    #[command(after_help = "Example: lycosa ctl jobs cancel 3")]
    Cancel {
        /// Its number
        id: u64,
    },
}

/// Whether the end of a job is waited for.
#[derive(Clone, Copy, Debug, Default, Args)]
pub struct WaitArgs {
    /// Start the job and do not wait for its end
    #[arg(long)]
    pub no_wait: bool,
}

const JOBS: &[Column] = &[
    Column("node", "/node", Form::Plain),
    Column("job", "/id", Form::Plain),
    Column("kind", "/kind", Form::Plain),
    Column("state", "/state", Form::Plain),
    Column("looked at", "/looked", Form::Plain),
    Column("changed", "/changed", Form::Plain),
    Column("began", "/started", Form::Time),
    Column("ended", "/ended", Form::Time),
    Column("about", "/about", Form::Plain),
    Column("error", "/error", Form::Plain),
];

pub(super) fn ask(args: &JobsArgs) -> Ask {
    match &args.command {
        None => Ask::get("/api/v1/jobs"),
        Some(JobsCommand::Show { id }) => Ask::get(format!("/api/v1/jobs/{id}")),
        Some(JobsCommand::Cancel { id }) => Ask::delete(format!("/api/v1/jobs/{id}")),
    }
}

pub(super) fn told(args: &JobsArgs, answer: &str) -> Result<String, CliError> {
    Ok(match &args.command {
        None => listed(&read(answer)?, JOBS),
        Some(JobsCommand::Show { .. }) => facts(&read(answer)?),
        Some(JobsCommand::Cancel { id }) => {
            let JobView { state, changed, .. } = read(answer)?;
            match state {
                JobState::Running => {
                    format!("job {id} is told to stop; {changed} were changed so far, and stay so\n")
                }
                state => format!("job {id} had ended before: {}\n", cell(&json!(state))),
            }
        }
    })
}

/// Waits until a job has ended, and those that other members began with it; gives them as one.
///
/// # Errors
/// One failed, was cancelled, or the crawl does not answer any more.
pub(super) async fn end_of(door: &Door, started: &str) -> Result<String, CliError> {
    let JobView { node, others, .. } = read(started)?;
    let mut whole: Value = read(&end_of_one(door, started.to_owned(), node.as_deref()).await?)?;
    for JobElsewhere { node, id } in others {
        let began = send(door, Ask::get(path(id, Some(&node)))).await?;
        let end: Value = read(&end_of_one(door, began, Some(&node)).await?)?;
        ["/looked", "/changed", "/result"].into_iter().for_each(|part| add(whole.pointer_mut(part), end.pointer(part)));
    }
    Ok(whole.to_string())
}

/// Adds counts to counts.
fn add(to: Option<&mut Value>, more: Option<&Value>) {
    match (to, more) {
        (Some(Value::Object(to)), Some(Value::Object(more))) => {
            more.iter().for_each(|(name, value)| add(to.get_mut(name), Some(value)));
        }
        (Some(to), Some(more)) => {
            if let (Some(a), Some(b)) = (to.as_u64(), more.as_u64()) {
                *to = json!(a.saturating_add(b));
            }
        }
        _ => {}
    }
}

fn path(id: u64, node: Option<&str>) -> String {
    let node = node.map(|node| format!("?node={}", escaped_part(node))).unwrap_or_default();
    format!("/api/v1/jobs/{id}{node}")
}

async fn end_of_one(door: &Door, started: String, node: Option<&str>) -> Result<String, CliError> {
    let mut answer = started;
    loop {
        let JobView { id, state, changed, error, .. } = read(&answer)?;
        match state {
            JobState::Running => tokio::time::sleep(LOOK).await,
            JobState::Done => return Ok(answer),
            JobState::Failed => {
                let why = error.unwrap_or_default();
                return Err(CliError::new(format!("job {id} failed: {why}; {changed} were changed before")));
            }
            JobState::Cancelled => {
                let told = format!("job {id} was cancelled; {changed} were changed before, and stay so");
                return Err(CliError::new(told));
            }
        }
        answer = send(door, Ask::get(path(id, node))).await?;
    }
}

/// What a job is, or was, in a sentence.
pub(super) fn sentence(job: &JobView) -> String {
    let n = |name: &str| job.result.get(name).and_then(Value::as_u64).unwrap_or(job.changed);
    let looked = job.looked;
    match (job.state, job.kind.as_str()) {
        (JobState::Done, "retry") => match n("queued") {
            0 => format!("no URL fits: {looked} that were given up were looked at\n"),
            1 => format!("1 URL that was given up is queued again ({looked} looked at)\n"),
            n => format!("{n} URLs that were given up are queued again ({looked} looked at)\n"),
        },
        (JobState::Done, "readmit") => match n("readmitted") {
            0 if job.about.contains("reason=held back") && n("meant") == 0 => "nothing is held back\n".to_owned(),
            0 => format!("no URL fits, or the rules still turn them away: {looked} rejected ones were looked at\n"),
            1 => format!("1 rejected URL is queued ({looked} looked at)\n"),
            n => format!("{n} rejected URLs are queued ({looked} looked at)\n"),
        },
        (JobState::Done, "rerank") => match n("moved") {
            0 => format!("every URL stands where the rules put it already ({looked} looked at)\n"),
            1 => format!("1 waiting URL has another place now ({looked} looked at)\n"),
            n => format!("{n} waiting URLs have another place now ({looked} looked at)\n"),
        },
        (JobState::Done, "visit") => match n("queued") {
            0 => format!("no page fits: {looked} were looked at\n"),
            1 => format!("1 page is visited now ({looked} looked at)\n"),
            n => format!("{n} pages are visited now ({looked} looked at)\n"),
        },
        (JobState::Done, "reschedule") => {
            let (before, planned) = (n("planned_before"), n("planned"));
            format!("{} a next visit now, {before} had one ({looked} looked at)\n", have(planned))
        }
        _ => started(job),
    }
}

fn have(pages: u64) -> String {
    if pages == 1 { "1 page has".to_owned() } else { format!("{pages} pages have") }
}

/// A job that goes on by itself.
pub(super) fn started(job: &JobView) -> String {
    format!("job {} ({}) has begun; `lycosa ctl jobs show {}` says how far it is\n", job.id, job.kind, job.id)
}
