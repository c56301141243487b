//! `lycosa ctl host NAME …`: one host, and commands to it.

use std::io::Write;

use awc::http::Method;
use clap::{Args, Subcommand};
use serde_json::json;

use super::door::Ask;
use super::escaped_part;
use crate::admin::orders::HostOrdered;
use crate::base::units::format_duration;
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
    #[command(after_help = "Example: lycosa ctl host example.org block")]
    Block,
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

/// The request.
pub(super) fn ask(args: &HostArgs) -> Ask {
    let host = format!("/api/v1/hosts/{}", escaped_part(&args.name));
    let Some(command) = &args.command else { return Ask::get(host) };
    let (method, what, body) = match command {
        HostCommand::Pause => (Method::POST, "pause", String::new()),
        HostCommand::Resume => (Method::POST, "resume", String::new()),
        HostCommand::Drop => (Method::POST, "drop", String::new()),
        HostCommand::Block => (Method::POST, "block", String::new()),
        HostCommand::Unblock => (Method::POST, "unblock", String::new()),
        HostCommand::Recrawl => (Method::POST, "recrawl", String::new()),
        HostCommand::Delay { gap } => {
            let gap = Some(gap).filter(|gap| *gap != "none");
            (Method::PUT, "delay", json!({ "min_delay": gap }).to_string())
        }
    };
    Ask { method, path: format!("{host}/{what}"), body }
}

/// What stands now.
pub(super) fn show(ordered: &HostOrdered, out: &mut dyn Write) -> std::io::Result<()> {
    let orders = &ordered.orders;
    let since = [
        ("paused", orders.paused),
        ("blocked", orders.blocked),
        ("queue is being dropped", orders.dropping),
        ("being queued again", orders.recrawling),
    ];
    let mut told: Vec<String> =
        since.iter().filter_map(|(what, at)| at.map(|at| format!("{what} since {}", iso(at)))).collect();
    told.extend(
        orders.min_delay_ms.map(|ms| {
            format!("at least {} between two requests", format_duration(std::time::Duration::from_millis(ms)))
        }),
    );
    let told = if told.is_empty() { "no order stands".to_owned() } else { told.join(", ") };
    writeln!(out, "{}: {told}", ordered.host)?;
    if !ordered.known {
        writeln!(out, "note: nothing is known of this host yet: nobody found a link to it; is its name spelt right?")?;
    }
    ordered.job.iter().try_for_each(|job| write!(out, "{}", super::jobs::started(job)))
}
