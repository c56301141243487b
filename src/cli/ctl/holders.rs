//! `lycosa ctl report dead-links --holders`: the pages that hold dead links. A job finds them first, if there is no report.

use std::io::{IsTerminal, Write};
use std::time::Duration;

use super::door::{Ask, Door, send};
use super::report::{ReportArgs, get, show};
use super::{escaped_part, unread};
use crate::admin::holders::{HeldLink, HoldersAbout, HoldersPage, WhichDead};
use crate::admin::jobs::{JobState, JobView};
use crate::cli::exit::CliError;
use crate::cli::safe::Safe;
use crate::domain::url::Canonicaliser;
use crate::warc::date::iso;

const PATH: &str = "/api/v1/reports/dead-links/holders";
/// Between two looks at the job.
const LOOK: Duration = Duration::from_millis(250);

/// Shows the report; makes it first when there is none, when it is of another host, or when that is asked for.
pub(super) fn run(json: bool, door: &Door, args: &ReportArgs, out: &mut dyn Write) -> Result<(), CliError> {
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
        page = get(door, &format!("{PATH}?limit=1000&cursor={}", escaped_part(&next)))?;
    }
}

fn first(door: &Door) -> Result<HoldersPage, CliError> {
    get(door, &format!("{PATH}?limit=1000"))
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
    let answer = actix_rt::System::new().block_on(send(door, Ask::post(PATH, body)))?;
    let mut job: JobView = serde_json::from_str(&answer).map_err(unread)?;
    let mut err = std::io::stderr();
    let live = err.is_terminal();
    let _ = writeln!(err, "job {} reads the archive; Ctrl-C leaves it to itself (/api/v1/jobs/{0})", job.id);
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
