//! `lycosa ctl urls retry`: URLs that were given up, back into the queue.

use clap::Args;
use serde_json::json;

use super::door::Ask;
use crate::admin::retry::RetryWhich;

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
pub(super) fn ask(args: &RetryArgs) -> Ask {
    let RetryArgs { reason, host, since, status } = args.clone();
    Ask::post("/api/v1/urls/retry", json!(RetryWhich { reason, host, since, status }).to_string())
}
