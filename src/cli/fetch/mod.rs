//! `lycosa fetch URL`: one URL the way a crawl would fetch it, and what happened on the way.

mod answer;
mod judge;
mod page;
mod read;
mod report;
mod session;
#[cfg(test)]
mod tests;
mod visit;

use std::io::Write;

use super::args::FetchArgs;
use super::exit::{CliError, Exit, Safe, in_json, unless_gone};
use super::gather::layers;
use report::Report;
use session::Session;

/// Fetches one URL and shows what happened; robots.txt comes first and is obeyed.
///
/// # Errors
/// Bad settings or no URL (exit code 2; with `--json` an object of that too), or no answer (exit code 1); with `--json`, or after redirects,
/// there is a report of that. A report of a URL that
/// robots.txt forbids, of a host whose robots.txt is out of reach, or of redirects that were not followed to their end, is shown and
/// has the exit code 1 too.
pub fn run(args: &FetchArgs, out: &mut dyn Write) -> Result<Exit, CliError> {
    let (session, report) = in_json(args.json && !args.body, visited(args), out)?;
    match report.fault() {
        Some(fault) => {
            if args.json || report.has_hops() && !args.body {
                show(args, &session, &report, out)?;
            }
            return Err(CliError::new(fault));
        }
        None => show(args, &session, &report, out)?,
    }
    Ok(if report.is_whole() { Exit::Done } else { Exit::Error })
}

/// What was found, also when that is no answer; an error is a fetch that could not be begun.
fn visited(args: &FetchArgs) -> Result<(Session, Report), CliError> {
    let settings = layers(args.config.as_deref(), &args.settings)?.load()?;
    settings.contact_for(std::slice::from_ref(&args.url))?;
    let session = Session::new(settings)?;
    let url = session.canonical(&args.url)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(CliError::new)?;
    let report = runtime.block_on(visit::visit(&session, url, args.url.trim(), args.follow))?;
    Ok((session, report))
}

fn show(args: &FetchArgs, session: &Session, report: &Report, out: &mut dyn Write) -> Result<(), CliError> {
    let text = if args.json { report.json() } else { report.text() };
    if !args.body {
        return unless_gone(Safe(out).write_all(text.as_bytes()));
    }
    let body = report.body(session.rules.settings.fetch.max_decoded)?;
    unless_gone(Safe(&mut std::io::stderr()).write_all(text.as_bytes()))?;
    unless_gone(out.write_all(&body))
}
