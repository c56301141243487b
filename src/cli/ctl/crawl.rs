//! The crawl as a whole: status, seeds, pause, resume, checkpoints, stop; and which file knows which other command.

use std::io::Write;

use serde_json::{Value, json};

use super::door::Ask;
use super::look::list;
use super::table::{Column, Form, listed, table};
use super::{jobs, unread, urls};
use crate::admin::orders::HostOrdered;
use crate::admin::{NewSeed, SeedReport};
use crate::cli::args::{CtlArgs, CtlCommand, SeedSaid, SeedsCommand};
use crate::cli::checkpoint;
use crate::cli::exit::{CliError, Exit, unless_gone};
use crate::cli::gather::read_input;
use crate::config::without_scheme;
use crate::domain::seed::{in_utf8, seed_lines};
use crate::recovery::checkpoint::manifest::Summary;
use crate::telemetry::StatusSnapshot;
use crate::telemetry::summary;

/// What a command asks.
///
/// # Errors
/// No seed is given, or the file of seeds cannot be read.
pub(super) fn ask(args: &CtlArgs) -> Result<Ask, CliError> {
    Ok(match &args.command {
        CtlCommand::Status => Ask::get("/api/v1/status"),
        CtlCommand::Health => Ask::get("/readyz"),
        CtlCommand::Pause => Ask::post("/api/v1/pause", String::new()),
        CtlCommand::Resume => Ask::post("/api/v1/resume", String::new()),
        CtlCommand::Checkpoint => Ask::post("/api/v1/checkpoint", folder(args)),
        CtlCommand::Drain => Ask::post("/api/v1/drain", String::new()),
        CtlCommand::Stop => Ask::post("/api/v1/stop", String::new()),
        CtlCommand::Seeds(SeedsCommand::Add { urls, file, said }) => {
            let mut urls = urls.clone();
            if let Some(file) = file {
                urls.extend(urls_of(&read_input(file)?)?);
            }
            if urls.is_empty() {
                return Err(CliError::usage("no URL given; try `lycosa ctl seeds add https://example.org/`"));
            }
            Ask::post("/api/v1/seeds", seeds(urls, said))
        }
        CtlCommand::Seeds(SeedsCommand::List { paging }) => list("/api/v1/reports/seeds", &[], paging),
        CtlCommand::Checkpoints => Ask::get("/api/v1/checkpoints"),
        CtlCommand::Host(host) => super::host::ask(host),
        CtlCommand::Urls(command) => urls::ask(command),
        CtlCommand::Snapshot(_) | CtlCommand::Report(_) | CtlCommand::Events(_) => Ask::get("/readyz"), // asked elsewhere
        CtlCommand::Look(command) => super::look::ask(command)?,
        CtlCommand::Settings(command) => super::settings::ask(command)?,
    })
}

/// Shows an answer.
///
/// # Errors
/// It is none, or no seed was taken.
pub(super) fn tell(command: &CtlCommand, answer: &str, out: &mut dyn Write) -> Result<(), CliError> {
    match command {
        CtlCommand::Status => {
            let status: StatusSnapshot = serde_json::from_str(answer).map_err(unread)?;
            out.write_all(summary::table(&status, &format!("{:?}", status.state).to_lowercase()).as_bytes())?;
            if !status.idle_reason.is_empty() {
                writeln!(out, "idle: {}", crate::telemetry::log::escaped(&status.idle_reason))?;
            }
            if status.held_back.urls > 0 {
                writeln!(out, "`lycosa ctl urls readmit --held-back` takes up what is held back")?;
            }
        }
        CtlCommand::Health => out.write_all(answer.as_bytes())?,
        CtlCommand::Seeds(SeedsCommand::List { .. }) => {
            let list: Value = serde_json::from_str(answer).map_err(unread)?;
            unless_gone(out.write_all(listed(&list, SEEDS).as_bytes()))?;
        }
        CtlCommand::Seeds(SeedsCommand::Add { said, .. }) => {
            let seeds: SeedReport = serde_json::from_str(answer).map_err(unread)?;
            unless_gone(report(&seeds, said, out))?;
            if none_taken(&seeds) {
                return Err(CliError::new("no seed was taken"));
            }
        }
        CtlCommand::Checkpoint => {
            let made: Summary = serde_json::from_str(answer).map_err(unread)?;
            unless_gone(checkpoint::told_made(&made, out))?;
        }
        CtlCommand::Checkpoints => {
            let list: Value = serde_json::from_str(answer).map_err(unread)?;
            unless_gone(out.write_all(checkpoints(&list).as_bytes()))?;
        }
        CtlCommand::Urls(command) => {
            let told = match urls::told(command, &serde_json::from_str(answer).map_err(unread)?) {
                Some(list) => list,
                None => jobs::sentence(&serde_json::from_str(answer).map_err(unread)?),
            };
            unless_gone(out.write_all(told.as_bytes()))?;
        }
        CtlCommand::Pause | CtlCommand::Resume | CtlCommand::Drain | CtlCommand::Stop => {
            let answer: Value = serde_json::from_str(answer).map_err(unread)?;
            let done = answer.get("done").and_then(Value::as_str).unwrap_or("command");
            match answer.get("still").and_then(Value::as_str) {
                Some(still) => {
                    let told = format!("{done}: your pause is over, but the crawl waits all the same: {still}");
                    writeln!(out, "{}", crate::telemetry::log::escaped(&told))?;
                }
                None => writeln!(out, "{done}: done")?,
            }
        }
        CtlCommand::Host(host) if host.command.is_none() => {
            let told = super::host_facts::told(&serde_json::from_str(answer).map_err(unread)?);
            unless_gone(out.write_all(told.as_bytes()))?;
        }
        CtlCommand::Host(_) => {
            let ordered: HostOrdered = serde_json::from_str(answer).map_err(unread)?;
            unless_gone(super::host::show(&ordered, out))?;
        }
        CtlCommand::Snapshot(_) | CtlCommand::Report(_) | CtlCommand::Events(_) => {}
        CtlCommand::Look(command) => super::look::tell(command, answer, out)?,
        CtlCommand::Settings(command) => super::settings::tell(command, answer, out)?,
    }
    Ok(())
}

/// How a command ended whose answer was shown as it is.
///
/// # Errors
/// The answer is none.
pub(super) fn outcome(command: &CtlCommand, answer: &str) -> Result<Exit, CliError> {
    let CtlCommand::Seeds(SeedsCommand::Add { .. }) = command else { return Ok(Exit::Done) };
    let seeds: SeedReport = serde_json::from_str(answer).map_err(unread)?;
    Ok(if none_taken(&seeds) { Exit::Error } else { Exit::Done })
}

fn none_taken(seeds: &SeedReport) -> bool {
    seeds.accepted + seeds.known == 0
}

/// The URLs of a file; a line that is no text is told and left out.
fn urls_of(file: &[u8]) -> Result<Vec<String>, CliError> {
    let mut urls = Vec::new();
    for (number, line) in seed_lines(&in_utf8(file)) {
        match line {
            Ok(url) => urls.push(url.to_owned()),
            // Who does not read this sees the same in the count.
            Err(_) => _ = writeln!(std::io::stderr(), "lycosa: line {number} is not UTF-8 text and is left out"),
        }
    }
    Ok(urls)
}

const SEEDS: &[Column] = &[
    Column("state", "/state", Form::Plain),
    Column("reason", "/reason", Form::Plain),
    Column("added", "/added", Form::Time),
    Column("rank", "/rank", Form::Plain),
    Column("max depth", "/max_depth", Form::Plain),
    Column("tags", "/tags", Form::Plain),
    Column("URL", "/url", Form::Plain),
];
const CHECKPOINTS: &[Column] = &[
    Column("name", "/name", Form::Plain),
    Column("made", "/ts", Form::Plain),
    Column("pages", "/counts/pages_stored", Form::Plain),
    Column("waiting", "/counts/waiting", Form::Plain),
    Column("size", "/bytes", Form::Size),
    Column("archive files", "/archive_files", Form::Plain),
    Column("by hand", "/by_hand", Form::Plain),
];

/// The oldest first, then what is damaged.
fn checkpoints(list: &Value) -> String {
    let items = |name: &str| list.get(name).and_then(Value::as_array).into_iter().flatten();
    let good: Vec<&Value> = items("checkpoints").collect();
    let damaged = items("damaged").map(|text| format!("damaged: {}\n", super::table::cell(text)));
    let good =
        if good.is_empty() { "none; `lycosa ctl checkpoint` makes one\n".into() } else { table(&good, CHECKPOINTS) };
    good + &damaged.collect::<String>()
}

/// Whether a job carries a command out whose end is waited for.
pub(super) fn waits(command: &CtlCommand) -> bool {
    match command {
        CtlCommand::Urls(command) => urls::waits(command),
        CtlCommand::Settings(command) => super::settings::waits(command),
        _ => false,
    }
}

/// Seeds as the endpoint takes them.
fn seeds(urls: Vec<String>, said: &SeedSaid) -> String {
    let SeedSaid { rank, max_depth, tags } = said;
    if rank.is_none() && max_depth.is_none() && tags.is_empty() {
        return urls.join("\n");
    }
    let seed = |url| NewSeed { url, rank: *rank, max_depth: *max_depth, tags: tags.clone(), guessed: false };
    json!({ "seeds": urls.into_iter().map(seed).collect::<Vec<NewSeed>>() }).to_string()
}

fn report(report: &SeedReport, said: &SeedSaid, out: &mut dyn Write) -> std::io::Result<()> {
    writeln!(out, "{} accepted, {} known already, {} rejected", report.accepted, report.known, report.rejected.len())?;
    if report.known > 0 && *said != SeedSaid::default() {
        writeln!(
            out,
            "what is said now of a known seed replaces what was said of it; a URL that is queued keeps its place"
        )?;
    }
    for url in &report.guessed {
        writeln!(out, "{}", crate::telemetry::log::escaped(&without_scheme(url)))?;
    }
    for seed in &report.rejected {
        let text = format!("rejected {}: {}", seed.url, seed.reason);
        writeln!(out, "{}", crate::telemetry::log::escaped(&text))?;
    }
    Ok(())
}

/// The folder whose crawl is asked, so that another one that listens there refuses.
fn folder(args: &CtlArgs) -> String {
    let whole = args.folder.as_deref().map(|dir| dir.canonicalize().unwrap_or_else(|_| dir.to_owned()));
    whole.map(|dir| dir.to_string_lossy().into_owned()).unwrap_or_default()
}
