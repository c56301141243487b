//! `lycosa fetch URL`: one URL the way a crawl would fetch it, and what happened on the way.

mod entries;
mod page;
mod report;
mod session;
#[cfg(test)]
mod tests;

use std::io::Write;

use super::args::FetchArgs;
use super::exit::{CliError, Exit, unless_gone};
use super::gather::layers;
use crate::domain::url::PageUrl;
use report::{Hop, Report};
use session::Session;

/// Fetches one URL and shows what happened; robots.txt comes first and is obeyed.
///
/// # Errors
/// Bad settings (exit code 2), or no answer (exit code 1); with `--json` there is a report of that too. A report of a URL that
/// robots.txt forbids, or of a host whose robots.txt is out of reach, is shown and has the exit code 1 too.
pub fn run(args: &FetchArgs, out: &mut dyn Write) -> Result<Exit, CliError> {
    let settings = layers(args.config.as_deref(), &args.settings)?.load()?;
    settings.contact_for(std::slice::from_ref(&args.url))?;
    let session = Session::new(settings)?;
    let url = session.canonical(&args.url)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(CliError::new)?;
    let report = runtime.block_on(visit(&session, url, args.follow))?;
    match report.fault() {
        Some(fault) => {
            if args.json {
                unless_gone(show(args, &report, out))?;
            }
            return Err(CliError::new(fault));
        }
        None => unless_gone(show(args, &report, out))?,
    }
    Ok(if report.fetched() { Exit::Done } else { Exit::Error })
}

/// robots.txt, the URL, and where redirects lead when they are to be followed: every hop passes every check.
async fn visit(session: &Session, start: PageUrl, follow: bool) -> Result<Report, CliError> {
    let scope = session.scope(&start)?;
    let (mut at, mut hops) = (start, Vec::new());
    loop {
        let robots = match session.robots(&at).await {
            Ok(robots) => robots,
            Err(fault) => return Ok(Report::failed(&at, hops, None, &fault)),
        };
        if !robots.allowed {
            return Ok(Report::refused(&at, hops, &robots));
        }
        let reply = match session.get(&at).await {
            Ok(reply) => reply,
            Err(fault) => return Ok(Report::failed(&at, hops, Some(&robots), &fault)),
        };
        let target = session.redirect(&at, &reply);
        match target {
            Some(Ok(next)) if follow && hops.len() < usize::from(session.max_redirects()) => {
                session.contact_for(&next)?;
                hops.push(Hop::new(&at, &reply, &next));
                at = next;
            }
            target => return Report::new(session, &scope, &at, hops, &robots, &reply, target),
        }
    }
}

fn show(args: &FetchArgs, report: &Report, out: &mut dyn Write) -> std::io::Result<()> {
    let text = if args.json { report.json() } else { report.text() };
    if args.body {
        write!(std::io::stderr(), "{text}")?;
        report.write_body(out)?;
    } else {
        out.write_all(text.as_bytes())?;
    }
    Ok(())
}
