//! `lycosa fetch URL`: one URL the way a crawl would fetch it, and what happened on the way.

mod report;
mod session;
#[cfg(test)]
mod tests;

use std::io::Write;
use std::time::Duration;

use super::args::FetchArgs;
use super::exit::{CliError, Exit};
use super::gather::layers;
use crate::config::units::format_duration;
use report::Report;
use session::{Robots, Session};

/// Fetches one URL and shows what happened; robots.txt comes first and is obeyed.
///
/// # Errors
/// Bad settings (exit code 2), no answer, or robots.txt disallows the URL.
pub fn run(args: &FetchArgs, out: &mut dyn Write) -> Result<Exit, CliError> {
    let settings = layers(args.config.as_deref(), &args.settings)?.load()?;
    settings.contact_for(std::slice::from_ref(&args.url))?;
    let session = Session::new(settings)?;
    let url = session.canonical(&args.url)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(CliError::new)?;
    let report = runtime.block_on(async {
        let robots = session.robots(&url).await;
        if !robots.allowed && !args.ignore_robots {
            return Ok(Report::refused(&url, &robots));
        }
        session.wait(&robots).await;
        let reply = session.get(&url).await.map_err(|fault| CliError::new(format!("{url}: {fault}")))?;
        Report::new(&session, &url, &robots, &reply)
    })?;
    show(args, &report, out)?;
    Ok(if report.fetched() { Exit::Done } else { Exit::Error })
}

fn show(args: &FetchArgs, report: &Report, out: &mut dyn Write) -> Result<(), CliError> {
    let text = if args.json { report.json() } else { report.text() };
    if args.body {
        write!(std::io::stderr(), "{text}")?;
        report.write_body(out)?;
    } else {
        out.write_all(text.as_bytes())?;
    }
    Ok(())
}

/// The gap after robots.txt, said aloud when it is long.
fn announce(gap: Duration, robots: &Robots) {
    if gap > Duration::from_secs(2) {
        let why = if robots.crawl_delay.is_some() { "its robots.txt" } else { "politeness" };
        // A closed stderr is no reason to fail.
        let _ = writeln!(std::io::stderr(), "waiting {} as {why} asks", format_duration(gap));
    }
}
