//! `lycosa ctl …`: speaks to the admin endpoint of a running crawl.
//!
//! A group of commands has a file of its own with two functions: `ask` says what the endpoint is asked, `tell` shows its
//! answer. The commands themselves are in `cli::args`, or beside these functions and flattened there.

pub mod actors;
mod changed;
mod crawl;
mod door;
pub mod events;
mod explain;
mod hint;
mod history;
mod holders;
pub mod host;
mod host_facts;
mod in_force;
pub mod jobs;
pub mod look;
pub mod report;
pub mod robots;
pub mod settings;
pub mod snapshot;
mod table;
#[cfg(test)]
mod tests;
mod trial;
pub mod urls;

use std::io::Write;

use super::args::{CtlArgs, CtlCommand};
use super::exit::{CliError, Exit};
use super::safe::Safe;

/// Carries out a command and shows the answer. Gives [`Exit::Error`] when the answer, shown as JSON, says that nothing was done.
///
/// # Errors
/// Nobody listens, the endpoint refuses, or the answer is none.
pub fn run(args: &CtlArgs, out: &mut dyn Write) -> Result<Exit, CliError> {
    let door = door::door(args)?;
    if let CtlCommand::Snapshot(which) = &args.command {
        return actix_rt::System::new().block_on(snapshot::run(&door, which, args.json, out)).map(|()| Exit::Done);
    }
    let out = &mut Safe(out);
    if let CtlCommand::Events(which) = &args.command {
        return actix_rt::System::new().block_on(events::follow(&door, which, args.json, out)).map(|()| Exit::Done);
    }
    if let CtlCommand::Report(which) = &args.command {
        return report::run(args.json, &door, which, out).map(|()| Exit::Done);
    }
    let answer = actix_rt::System::new().block_on(answer(&door, args))?;
    if args.json {
        let answer = if matches!(args.command, CtlCommand::Health) { r#"{"ready":true}"# } else { answer.trim() };
        let _: serde::de::IgnoredAny = serde_json::from_str(answer).map_err(unread)?;
        writeln!(out, "{answer}")?;
        return crawl::outcome(&args.command, answer);
    }
    crawl::tell(&args.command, &answer, out).map(|()| Exit::Done)
}

/// The answer, or the end of the job that it began.
async fn answer(door: &door::Door, args: &CtlArgs) -> Result<String, CliError> {
    let answer = door::send(door, crawl::ask(args)?).await?;
    let answer = if crawl::waits(&args.command) { jobs::end_of(door, &answer).await? } else { answer };
    let is_change = matches!(&args.command, CtlCommand::Settings(command) if settings::is_change(command));
    Ok(if is_change && !args.json { in_force::beside(door, answer).await } else { answer })
}

/// A part of a path, or a value of a query.
fn escaped_part(text: &str) -> String {
    url::form_urlencoded::byte_serialize(text.as_bytes()).collect()
}

fn unread(error: serde_json::Error) -> CliError {
    CliError::new(format!("the answer of the endpoint makes no sense: {error}"))
}
