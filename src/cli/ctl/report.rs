//! `lycosa ctl report …`: whole reports, as CSV or one JSON object a line.

use std::io::Write;

use clap::{Args, ValueEnum};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::door::{Ask, Door, send};
use super::{escaped_part, holders, unread};
use crate::admin::csv::{Row, line, names};
use crate::admin::paging::Page;
use crate::admin::reports::{DeadLink, HostLine, SeedLine, StatusLine, TypeLine};
use crate::cli::exit::CliError;

/// `lycosa ctl report …`.
#[derive(Clone, Debug, Args)]
#[command(
    after_help = "Examples: lycosa ctl report dead-links --host example.org > dead.csv\n          lycosa ctl report seeds --json"
)]
pub struct ReportArgs {
    /// Which
    #[arg(value_enum)]
    pub name: ReportName,
    /// Of dead links: those to this host alone
    #[arg(long)]
    pub host: Option<String>,
    /// Of dead links: with the pages that hold each, found in the archive by a job when there is no such report yet
    #[arg(long)]
    pub holders: bool,
    /// With --holders: has the report made anew
    #[arg(long, requires = "holders")]
    pub again: bool,
}

/// A report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ReportName {
    /// URLs that ended in an error, with the page each was first found on
    #[value(alias = "dead")]
    DeadLinks,
    /// Seeds, and what became of them
    Seeds,
    /// Hosts, and how far they are
    Hosts,
    /// Captures by status
    Statuses,
    /// Captures by media type
    Types,
}

/// Fetches and shows a report, page by page.
pub(super) fn run(json: bool, door: &Door, args: &ReportArgs, out: &mut dyn Write) -> Result<(), CliError> {
    if let (Some(host), true) = (&args.host, args.name != ReportName::DeadLinks) {
        return Err(CliError::usage(format!(
            "--host is for the report dead-links alone; `lycosa ctl host {host}` shows that host"
        )));
    }
    match args.name {
        ReportName::DeadLinks if args.holders => holders::run(json, door, args, out),
        _ if args.holders => Err(CliError::usage("--holders: of dead links only")),
        ReportName::DeadLinks => {
            let host = args.host.as_deref().map(|host| format!("&host={}", escaped_part(host))).unwrap_or_default();
            paged::<DeadLink>(json, door, "dead-links", &host, out)
        }
        ReportName::Seeds => paged::<SeedLine>(json, door, "seeds", "", out),
        ReportName::Hosts => paged::<HostLine>(json, door, "hosts", "", out),
        ReportName::Statuses => show::<StatusLine>(json, &get(door, "/api/v1/reports/statuses")?, true, out),
        ReportName::Types => show::<TypeLine>(json, &get(door, "/api/v1/reports/types")?, true, out),
    }
}

pub(super) fn get<T: DeserializeOwned>(door: &Door, path: &str) -> Result<T, CliError> {
    let answer = actix_rt::System::new().block_on(send(door, Ask::get(path)))?;
    serde_json::from_str(&answer).map_err(unread)
}

fn paged<R: Row + Serialize + DeserializeOwned>(
    json: bool,
    door: &Door,
    name: &str,
    more: &str,
    out: &mut dyn Write,
) -> Result<(), CliError> {
    let (mut cursor, mut first) = (String::new(), true);
    loop {
        let from = if first { String::new() } else { format!("&cursor={}", escaped_part(&cursor)) };
        let page: Page<R> = get(door, &format!("/api/v1/reports/{name}?limit=1000{more}{from}"))?;
        show(json, &page.items, std::mem::take(&mut first), out)?;
        // Cursors are keys, and keys go up: a list whose do not would have no end.
        match page.next {
            Some(next) if next > cursor => cursor = next,
            Some(_) => return Err(CliError::new("the report does not come to its end; is it a lycosa?")),
            None => return Ok(()),
        }
    }
}

pub(super) fn show<R: Row + Serialize>(
    json: bool,
    rows: &Vec<R>,
    first: bool,
    out: &mut dyn Write,
) -> Result<(), CliError> {
    let mut text = if first && !json { names::<R>() } else { String::new() };
    for row in rows {
        if json {
            let row =
                serde_json::to_string(row).map_err(|e| CliError::new(format!("a line cannot be written: {e}")))?;
            text += &(row + "\n");
        } else {
            text += &line(row);
        }
    }
    // A reader that went away has what it wanted: the rest is not fetched.
    Ok(out.write_all(text.as_bytes())?)
}
