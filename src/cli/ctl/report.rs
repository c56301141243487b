//! `lycosa ctl report …`: whole reports, as CSV or one JSON object a line.

use std::io::{IsTerminal, Write};
use std::time::Duration;

use clap::{Args, ValueEnum};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::door::{Ask, Door, send};
use super::jobs::end_of;
use super::{block_on, escaped_part, read, unread};
use crate::admin::csv::{Row, line, names};
use crate::admin::holders::{HeldLink, HoldersAbout, HoldersPage, WhichDead};
use crate::admin::jobs::{JobState, JobView};
use crate::admin::paging::Page;
use crate::admin::reports::{ChangedPage, DeadLink, HostLine, SeedLine, StatusLine, TypeLine};
use crate::admin::schedule::FreshLine;
use crate::cli::exit::{CliError, Safe};
use crate::domain::url::Canonicaliser;
use crate::warc::date::iso;

/// `lycosa ctl report …`.
#[derive(Clone, Debug, Args)]
#[command(
    after_help = "Examples: lycosa ctl report dead-links --host example.org > dead.csv\n          lycosa ctl report seeds --json\n          lycosa ctl report changes --since 1d --kind gone,moved"
)]
pub struct ReportArgs {
    /// Which
    #[arg(value_enum)]
    pub name: ReportName,
    /// Of dead links and changes: those of this host alone
    #[arg(long)]
    pub host: Option<String>,
    /// Of changes: those of this moment or later: 2026-11-28T12:00:00Z, 2026-11-28, or how long ago such as 2h
    #[arg(long, value_name = "TIME")]
    pub since: Option<String>,
    /// Of changes: those before this moment
    #[arg(long, value_name = "TIME")]
    pub until: Option<String>,
    /// Of changes: only these: new, changed, little, numbers, markup, gone, back, moved, failed; without it all but markup
    #[arg(long, value_name = "KIND,…")]
    pub kind: Option<String>,
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
    /// Pages that are new, changed (and by how much), gone, back, moved or given up
    Changes,
    /// What part of the pages is likely to be as it was captured, by depth and by rule; a job finds it
    Freshness,
}

/// Fetches and shows a report, page by page.
pub(super) fn run(json: bool, door: &Door, args: &ReportArgs, out: &mut dyn Write) -> Result<(), CliError> {
    let (of_links, of_changes) = (args.name == ReportName::DeadLinks, args.name == ReportName::Changes);
    if let (Some(host), false) = (&args.host, of_links || of_changes) {
        return Err(CliError::usage(format!(
            "--host is for the reports dead-links and changes alone; `lycosa ctl host {host}` shows that host"
        )));
    }
    if args.holders && !of_links {
        return Err(CliError::usage("--holders: of dead links only"));
    }
    if !of_changes && [&args.since, &args.until, &args.kind].into_iter().any(Option::is_some) {
        return Err(CliError::usage("--since, --until, --kind: of changes only"));
    }
    match args.name {
        ReportName::DeadLinks if args.holders => holders(json, door, args, out),
        ReportName::DeadLinks => paged::<DeadLink>(json, door, "dead-links", &narrowed(args), out),
        ReportName::Changes => paged::<ChangedPage>(json, door, "changes", &narrowed(args), out),
        ReportName::Seeds => paged::<SeedLine>(json, door, "seeds", "", out),
        ReportName::Hosts => paged::<HostLine>(json, door, "hosts", "", out),
        ReportName::Statuses => show::<StatusLine>(json, &get(door, "/api/v1/reports/statuses")?, true, out),
        ReportName::Freshness => freshness(json, door, out),
        ReportName::Types => show::<TypeLine>(json, &get(door, "/api/v1/reports/types")?, true, out),
    }
}

/// Waits for the job, and shows what it found.
fn freshness(json: bool, door: &Door, out: &mut dyn Write) -> Result<(), CliError> {
    let begun = block_on(send(door, Ask::post("/api/v1/reports/freshness", String::new())))?;
    let mut job: JobView = read(&block_on(end_of(door, &begun))?)?;
    let lines = job.result.get_mut("lines").map(serde_json::Value::take).unwrap_or_default();
    let lines: Vec<FreshLine> = serde_json::from_value(lines).map_err(unread)?;
    show(json, &lines, true, out)
}

/// What narrows a report, as the end of its query.
fn narrowed(args: &ReportArgs) -> String {
    let given = [("host", &args.host), ("since", &args.since), ("until", &args.until), ("kind", &args.kind)];
    let given = given.iter().filter_map(|(name, value)| Some((name, value.as_deref()?)));
    given.map(|(name, value)| format!("&{name}={}", escaped_part(value))).collect()
}

fn get<T: DeserializeOwned>(door: &Door, path: &str) -> Result<T, CliError> {
    let answer = block_on(send(door, Ask::get(path)))?;
    read(&answer)
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

fn show<R: Row + Serialize>(json: bool, rows: &Vec<R>, first: bool, out: &mut dyn Write) -> Result<(), CliError> {
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

const HOLDERS: &str = "/api/v1/reports/dead-links/holders";
/// Between two looks at the job.
const LOOK: Duration = Duration::from_millis(250);

/// Shows the pages that hold dead links; a job finds them first when there is no such report, when it is of another host, or when that is asked for.
fn holders(json: bool, door: &Door, args: &ReportArgs, out: &mut dyn Write) -> Result<(), CliError> {
    let host = args.host.as_deref().map(canonical).transpose()?;
    let mut page = first(door)?;
    if args.again || page.about.as_ref().is_none_or(|about| about.host != host) {
        make(door, host.clone())?;
        page = first(door)?;
    }
    let about = page.about.as_ref().filter(|about| about.host == host);
    note(about.ok_or_else(|| another(page.about.as_ref(), host.as_deref()))?);
    let mut is_first = true;
    loop {
        show::<HeldLink>(json, &page.items, std::mem::take(&mut is_first), out)?;
        let Some(next) = page.next.filter(|_| !page.items.is_empty()) else { return Ok(()) };
        page = get(door, &format!("{HOLDERS}?limit=1000&cursor={}", escaped_part(&next)))?;
    }
}

fn first(door: &Door) -> Result<HoldersPage, CliError> {
    get(door, &format!("{HOLDERS}?limit=1000"))
}

/// A host as reports name it.
fn canonical(host: &str) -> Result<String, CliError> {
    let url = Canonicaliser::default().parse(&format!("http://{host}/"));
    let url = url.ok().filter(|url| url.tail() == "/" && url.port() == url.scheme().default_port());
    url.map(|url| url.host().to_owned())
        .ok_or_else(|| CliError::usage(format!("--host {host}: expected the name of a host, as in its URLs")))
}

/// The report was replaced meanwhile, or never made.
fn another(there: Option<&HoldersAbout>, host: Option<&str>) -> CliError {
    let of = |host: Option<&str>| host.map_or_else(|| "all hosts".to_owned(), |host| format!("the host {host}"));
    let there = there
        .map_or_else(|| "none is there".to_owned(), |about| format!("one of {} is there", of(about.host.as_deref())));
    CliError::new(format!(
        "the report of {} was asked for, and {there}: another job makes or made it; once `lycosa ctl jobs` shows none at work, ask again",
        of(host)
    ))
}

/// Has the report made, and waits for it.
fn make(door: &Door, host: Option<String>) -> Result<(), CliError> {
    let which = WhichDead { host };
    let body = serde_json::to_string(&which).map_err(unread)?;
    let answer = block_on(send(door, Ask::post(HOLDERS, body)))?;
    let mut job: JobView = read(&answer)?;
    let mut err = std::io::stderr();
    let live = err.is_terminal();
    let _ = writeln!(err, "job {} reads the archive; Ctrl-C leaves it to itself (`lycosa ctl jobs show {0}`)", job.id);
    while job.state == JobState::Running {
        std::thread::sleep(LOOK);
        job = get(door, &format!("/api/v1/jobs/{}", job.id))?;
        if live {
            let _ = write!(err, "\r{} pages read, {} dead links on them", job.looked, job.changed);
        }
    }
    if live {
        let _ = writeln!(err);
    }
    match job.state {
        JobState::Done => Ok(()),
        JobState::Cancelled => Err(CliError::new(format!("job {} was cancelled; nothing was changed", job.id))),
        _ => Err(CliError::new(format!("job {} failed: {}", job.id, job.error.unwrap_or_default()))),
    }
}

/// What is to be known of the report, beside it.
fn note(about: &HoldersAbout) {
    let mut err = std::io::stderr();
    let mut err = Safe(&mut err);
    let _ = writeln!(
        err,
        "as of {} ({} dead URLs, {} pages read; --again makes it anew)",
        iso(about.made),
        about.dead,
        about.records
    );
    if about.dead_cut || about.listed_cut {
        let _ = writeln!(err, "there is more than the report can hold; ask for one host at a time with --host");
    }
    if about.links_omitted > 0 {
        let _ = writeln!(err, "{} links of pages with very many are not in the archive", about.links_omitted);
    }
    for file in &about.not_read {
        let _ = writeln!(err, "not read: {}", file);
    }
    let more = about.not_read_total.saturating_sub(about.not_read.len() as u64);
    if more > 0 {
        let _ = writeln!(err, "and {more} more files not read");
    }
}
