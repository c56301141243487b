//! `lycosa ctl urls …`: URLs turned away or given up, listed and queued again.

use clap::{Args, Subcommand};
use serde_json::{Value, json};

use super::door::Ask;
use super::jobs::{WaitArgs, sentence};
use super::look::{PagingArgs, list};
use super::read;
use super::table::{Column, Form, listed};
use crate::admin::jobs::JobView;
use crate::admin::rerank::RerankWhich;
use crate::admin::retry::RetryWhich;
use crate::admin::schedule::VisitWhich;
use crate::admin::settings::ReadmitView;
use crate::cli::exit::CliError;

/// `lycosa ctl urls …`.
#[derive(Clone, Debug, Subcommand)]
pub enum UrlsCommand {
    /// List URLs that were turned away
    #[command(after_help = "Example: lycosa ctl urls rejected --reason scope --host example.org")]
    Rejected {
        /// Only those of this reason, such as scope, excluded, robots, too_deep
        #[arg(long)]
        reason: Option<String>,
        /// Only those of this host
        #[arg(long)]
        host: Option<String>,
        /// Which part.
        #[command(flatten)]
        paging: PagingArgs,
    },
    /// List URLs that were given up
    #[command(after_help = "Example: lycosa ctl urls failed --reason timeout --limit 20")]
    Failed {
        /// Only those of this reason, such as reset, or timeout, dns, connect, tls, status
        #[arg(long)]
        reason: Option<String>,
        /// Only those of this host
        #[arg(long)]
        host: Option<String>,
        /// Which part.
        #[command(flatten)]
        paging: PagingArgs,
    },
    /// Judge rejected URLs again by the rules in force; what they admit is queued
    #[command(after_help = "Example: lycosa ctl urls readmit --reason scope")]
    Readmit {
        /// Those turned away for this reason, such as scope or robots; all that depend on the rules when absent
        #[arg(long)]
        reason: Option<String>,
        /// Those held back because many pages of their shape brought nothing new
        #[arg(long, conflicts_with = "reason")]
        held_back: bool,
        /// Those of this host
        #[arg(long)]
        host: Option<String>,
        /// Whether its end is waited for.
        #[command(flatten)]
        wait: WaitArgs,
    },
    /// Give waiting URLs the places that the rules in force give them
    #[command(after_help = "Example: lycosa ctl urls rerank --host example.org")]
    Rerank {
        /// Those of this host
        #[arg(long)]
        host: Option<String>,
        /// Whether its end is waited for.
        #[command(flatten)]
        wait: WaitArgs,
    },
    /// Visit pages now that are done: these, or those of a host, a pattern, a tag of their seed
    #[command(
        after_help = "Examples: lycosa ctl urls visit https://example.org/news\n          lycosa ctl urls visit --pattern /news/ --host example.org"
    )]
    Visit(VisitArgs),
    /// Queue URLs again that ended in an error
    #[command(after_help = "Example: lycosa ctl urls retry --reason timeout --since 2h")]
    Retry(RetryArgs),
}

/// Which pages.
#[derive(Clone, Debug, Default, Args)]
pub struct VisitArgs {
    /// These pages
    #[arg(conflicts_with_all = ["host", "pattern", "tag"])]
    pub urls: Vec<String>,
    /// Pages of this host
    #[arg(long)]
    pub host: Option<String>,
    /// Pages whose URL this regular expression fits
    #[arg(long)]
    pub pattern: Option<String>,
    /// Pages that go back to a seed with this tag
    #[arg(long)]
    pub tag: Option<String>,
    /// Whether its end is waited for.
    #[command(flatten)]
    pub wait: WaitArgs,
}

/// Which errors; what is not said does not matter.
#[derive(Clone, Debug, Default, Args)]
pub struct RetryArgs {
    /// A reason such as reset, or timeout, dns, connect, tls, status
    #[arg(long)]
    pub reason: Option<String>,
    /// Of this host alone
    #[arg(long)]
    pub host: Option<String>,
    /// Given up within this time, such as 2h
    #[arg(long)]
    pub since: Option<String>,
    /// Whose last answer had this status
    #[arg(long)]
    pub status: Option<u16>,
    /// Whether its end is waited for.
    #[command(flatten)]
    pub wait: WaitArgs,
}

const REJECTED: &[Column] = &[
    Column("reason", "/reason", Form::Plain),
    Column("depth", "/depth", Form::Plain),
    Column("URL", "/url", Form::Plain),
    Column("found on", "/via", Form::Plain),
];
const FAILED: &[Column] = &[
    Column("reason", "/reason", Form::Plain),
    Column("status", "/status", Form::Plain),
    Column("when", "/when", Form::Time),
    Column("tries", "/attempts", Form::Plain),
    Column("URL", "/url", Form::Plain),
    Column("found on", "/page", Form::Plain),
];

pub(super) fn ask(command: &UrlsCommand) -> Ask {
    match command {
        UrlsCommand::Rejected { reason, host, paging } => {
            list("/api/v1/urls/rejected", &[("reason", reason), ("host", host)], paging)
        }
        UrlsCommand::Failed { reason, host, paging } => {
            list("/api/v1/urls/failed", &[("reason", reason), ("host", host)], paging)
        }
        UrlsCommand::Readmit { reason, held_back, host, .. } => {
            let which = ReadmitView { reason: reason.clone(), held_back: *held_back, host: host.clone() };
            Ask::post("/api/v1/urls/readmit", json!(which).to_string())
        }
        UrlsCommand::Rerank { host, .. } => {
            Ask::post("/api/v1/urls/rerank", json!(RerankWhich { host: host.clone() }).to_string())
        }
        UrlsCommand::Visit(which) => {
            let VisitArgs { urls, host, pattern, tag, .. } = which.clone();
            Ask::post("/api/v1/urls/visit", json!(VisitWhich { urls, host, pattern, tag }).to_string())
        }
        UrlsCommand::Retry(which) => {
            let RetryArgs { reason, host, since, status, .. } = which.clone();
            Ask::post("/api/v1/urls/retry", json!(RetryWhich { reason, host, since, status }).to_string())
        }
    }
}

/// A list, or how a job ended.
pub(super) fn told(command: &UrlsCommand, answer: &str) -> Result<String, CliError> {
    Ok(match command {
        UrlsCommand::Rejected { .. } => listed(&read(answer)?, REJECTED),
        UrlsCommand::Failed { .. } => listed(&read(answer)?, FAILED),
        UrlsCommand::Visit(which) if !which.urls.is_empty() => visited(&read(answer)?)?,
        UrlsCommand::Readmit { .. } | UrlsCommand::Rerank { .. } | UrlsCommand::Retry(_) | UrlsCommand::Visit(_) => {
            sentence(&read(answer)?)
        }
    })
}

/// Of pages that were named each is visited, or it is an error.
fn visited(job: &JobView) -> Result<String, CliError> {
    let n = |name: &str| job.result.get(name).and_then(Value::as_u64);
    match (n("queued"), n("asked")) {
        (Some(queued), Some(asked)) if queued < asked => Err(CliError::new(format!(
            "{queued} of {asked} pages are visited now; of the others none is done: they wait already, were given up or turned away; \
             `lycosa ctl explain URL` says which"
        ))),
        _ => Ok(sentence(job)),
    }
}

/// Whether a job carries it out whose end is waited for.
pub(super) fn waits(command: &UrlsCommand) -> bool {
    match command {
        UrlsCommand::Readmit { wait, .. }
        | UrlsCommand::Rerank { wait, .. }
        | UrlsCommand::Retry(RetryArgs { wait, .. })
        | UrlsCommand::Visit(VisitArgs { wait, .. }) => !wait.no_wait,
        _ => false,
    }
}
