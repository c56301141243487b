//! `lycosa ctl …`: speaks to the admin endpoint of a running crawl.
//!
//! A group of commands has a file of its own with two functions: `ask` says what the endpoint is asked, `told` what its
//! answer says to people. The commands themselves are in `cli::args`, or beside these functions and flattened there.

mod crawl;
mod door;
pub mod events;
pub mod export;
pub mod feed;
pub mod host;
pub mod jobs;
pub mod look;
pub mod nodes;
pub mod report;
pub mod schedule;
pub mod settings;
pub mod snapshot;
mod table;
#[cfg(test)]
mod tests;
mod told;
pub mod urls;

use std::io::Write;

use serde::de::DeserializeOwned;

use super::args::{CtlArgs, CtlCommand};
use super::diff;
use super::exit::{CliError, Exit, Safe, unless_gone};
use told::InForce;

/// Carries out a command and shows the answer. Gives [`Exit::Error`] when the answer, shown as JSON, says that nothing was done.
pub fn run(args: &CtlArgs, out: &mut dyn Write) -> Result<Exit, CliError> {
    let door = door::door(args)?;
    if let CtlCommand::Snapshot(which) = &args.command {
        return block_on(snapshot::run(&door, which, args.json, out)).map(|()| Exit::Done);
    }
    if let (CtlCommand::Diff(_), false) = (&args.command, args.json) {
        let answer = block_on(door::send(&door, crawl::ask(args)?))?;
        return diff::show(&read(&answer)?, out).map(|()| Exit::Done); // coloured, what is of the page escaped
    }
    let out = &mut Safe(out);
    match &args.command {
        CtlCommand::Events(which) => block_on(events::follow(&door, which, args.json, out))?,
        CtlCommand::Feed(which) => feed::run(args.json, &door, which, out)?,
        CtlCommand::Export(which) => export::make(args.json, &door, which, out)?,
        CtlCommand::Exports(which) => export::look(args.json, &door, which, out)?,
        CtlCommand::Report(which) => report::run(args.json, &door, which, out)?,
        command => {
            let (answer, now) = block_on(answer(&door, args))?;
            if args.json {
                let answer = if matches!(command, CtlCommand::Health) { r#"{"ready":true}"# } else { answer.trim() };
                let _: serde::de::IgnoredAny = read(answer)?;
                writeln!(out, "{answer}")?;
                return Ok(if crawl::nothing_done(command, answer)? { Exit::Error } else { Exit::Done });
            }
            unless_gone(out.write_all(crawl::told(command, &answer, &now)?.as_bytes()))?;
            if crawl::nothing_done(command, &answer)? {
                return Err(CliError::new("no seed was taken"));
            }
        }
    }
    Ok(Exit::Done)
}

/// The answer, or the end of the job that it began; with the settings in force where people are told of a change.
async fn answer(door: &door::Door, args: &CtlArgs) -> Result<(String, InForce), CliError> {
    let answer = door::send(door, crawl::ask(args)?).await?;
    let answer = if crawl::waits(&args.command) { jobs::end_of(door, &answer).await? } else { answer };
    let is_change = matches!(&args.command, CtlCommand::Settings(command) if settings::is_change(command));
    Ok((answer, if is_change && !args.json { InForce::now(door).await } else { InForce::default() }))
}

fn block_on<T>(asking: impl Future<Output = T>) -> T {
    actix_rt::System::new().block_on(asking)
}

/// An answer of this form.
fn read<T: DeserializeOwned>(answer: &str) -> Result<T, CliError> {
    serde_json::from_str(answer).map_err(unread)
}

/// A part of a path, or a value of a query.
fn escaped_part(text: &str) -> String {
    // In a path a plus sign would be one.
    url::form_urlencoded::byte_serialize(text.as_bytes()).collect::<String>().replace('+', "%20")
}

fn unread(error: serde_json::Error) -> CliError {
    CliError::new(format!("the answer of the endpoint makes no sense: {error}"))
}
