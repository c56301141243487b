//! `lycosa ctl urls …`: URLs that were given up, back into the queue.

use awc::http::Method;
use clap::{Args, Subcommand};

use super::Ask;
use crate::admin::retry::RetryWhich;
use crate::cli::exit::CliError;

/// `lycosa ctl urls …`.
#[derive(Clone, Debug, Subcommand)]
pub enum UrlsCommand {
    /// Queue URLs again that ended in an error
    Retry(RetryArgs),
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
}

/// The request.
pub(super) fn ask(UrlsCommand::Retry(args): &UrlsCommand) -> Result<Ask, CliError> {
    let RetryArgs { reason, host, since, status } = args.clone();
    let body = serde_json::to_string(&RetryWhich { reason, host, since, status });
    let body = body.map_err(|e| CliError::new(format!("the request cannot be written: {e}")))?;
    Ok(Ask { method: Method::POST, path: "/api/v1/urls/retry".into(), body })
}
