//! `lycosa split`, `merge`, `links`: a crawl at rest is taken apart and put together (docs/split.md).

use std::fmt::Write as _;
use std::io::Write;
use std::path::Path;

use serde_json::json;

use super::args::{BothArgs, LinksArgs, LinksCommand, MergeArgs, SettingsArgs, SplitArgs};
use super::at_rest::database;
use super::check::shown;
use super::exit::{CliError, Exit, unless_gone};
use super::gather::{layers, with_data};
use super::watch::Watch;
use crate::app::{Parting, abandon_split, export_links, faults, import_links};
use crate::base::disk::{DiskFault, is_same_folder};
use crate::base::units::counted;
use crate::config::Settings;
use crate::recovery::part::{Choice, Merged, PartError, SplitUp};
use crate::storage::{Storage as _, StorageError};
use crate::warc::WarcError;

/// What is to be done with a running crawl first.
const LIVE: &str = "end it (`lycosa ctl stop`)";

/// Takes a folder apart.
///
/// # Errors
/// Bad arguments, a folder in use (exit code 2); a full or broken disk (3).
pub fn split(args: &SplitArgs, out: &mut dyn Write) -> Result<Exit, CliError> {
    let from = at_rest(&args.both, &args.from)?;
    if args.abandon {
        let begun = abandon_split(&from).map_err(failed)?;
        let text = match &begun {
            Some(folder) => {
                format!("taken back; {} can be removed, unless somebody put another crawl there\n", shown(folder))
            }
            None => "nothing was under way\n".to_owned(),
        };
        let text = if args.both.json { format!("{}\n", json!({ "begun": begun })) } else { text };
        return unless_gone(out.write_all(text.as_bytes())).map(|()| Exit::Done);
    }
    let Some(to_dir) = &args.to else { return Err(CliError::usage("name the new data folder")) };
    if is_same_folder(&args.from, to_dir) {
        return Err(CliError::usage("that is one folder: name a new one beside it"));
    }
    let to = of(&args.both, to_dir)?;
    if is_same_folder(&from.warc_dir(), &to.warc_dir()) || from.warc_dir() == to.warc_dir() {
        return Err(CliError::usage(
            "store.warc_dir names one folder for both: leave it out here, or name one below the data folder",
        ));
    }
    let parting = Parting {
        choice: choice(args)?,
        own_name: args.own_name.clone(),
        name: args.name.clone(),
        command: format!("lycosa split {} {}", shown(&args.from), shown(to_dir)),
        faults: faults().map_err(CliError::usage)?,
    };
    let mut watch = Watch::start(!args.both.no_progress);
    let mut tell = |what: &'static str, done: u64| watch.tell(|| format!("splitting: {what}={done}"));
    let done = crate::app::split(&from, &to, parting, &mut tell).map_err(failed)?;
    drop(watch);
    let text = if args.both.json { format!("{}\n", json!(done)) } else { of_split(&done, &args.from, to_dir) };
    unless_gone(out.write_all(text.as_bytes())).map(|()| Exit::Done)
}

/// Puts two folders together.
///
/// # Errors
/// As [`split`].
pub fn merge(args: &MergeArgs, out: &mut dyn Write) -> Result<Exit, CliError> {
    let (into, from) = (at_rest(&args.both, &args.into)?, at_rest(&args.both, &args.from)?);
    if is_same_folder(&args.into, &args.from) {
        return Err(CliError::usage("that is one folder: name two parts of a crawl"));
    }
    let command = format!("lycosa merge {} {}", shown(&args.into), shown(&args.from));
    let faults = faults().map_err(CliError::usage)?;
    let mut watch = Watch::start(!args.both.no_progress);
    let mut tell = |what: &'static str, done: u64| watch.tell(|| format!("merging: {what}={done}"));
    let done = crate::app::merge(&into, &from, command, faults, &mut tell).map_err(failed)?;
    drop(watch);
    let text = if args.both.json { format!("{}\n", json!(done)) } else { of_merge(&done, &args.into, &args.from) };
    unless_gone(out.write_all(text.as_bytes())).map(|()| Exit::Done)
}

/// Carries links.
///
/// # Errors
/// As [`split`].
pub fn links(args: &LinksArgs, out: &mut dyn Write) -> Result<Exit, CliError> {
    let mut text = String::new();
    match &args.command {
        LinksCommand::Export { data, to } => {
            let written = export_links(&at_rest(&args.both, data)?, to).map_err(failed)?;
            for file in &written {
                let (rows, links) = (counted(file.rows, "row"), counted(file.links, "link"));
                let _ = writeln!(text, "{}: {rows}, {links} for {}", shown(&file.file), file.to);
            }
            if args.both.json {
                text = format!("{}\n", json!(written));
            }
        }
        LinksCommand::Import { data, files } => {
            let brought = import_links(&at_rest(&args.both, data)?, files).map_err(failed)?;
            for file in &brought {
                let (rows, links) = (counted(file.rows, "new row"), counted(file.links, "link"));
                let known = counted(file.known, "row");
                let _ = writeln!(text, "{}: {rows} of {}, {links}; {known} came before", shown(&file.file), file.from);
            }
            if args.both.json {
                text = format!("{}\n", json!(brought));
            }
        }
    }
    unless_gone(out.write_all(text.as_bytes())).map(|()| Exit::Done)
}

/// The settings of the crawl with this data folder.
fn of(both: &BothArgs, data: &Path) -> Result<Settings, CliError> {
    let given = SettingsArgs { sets: both.sets.clone(), ..SettingsArgs::default() };
    Ok(with_data(layers(both.config.as_deref(), &given)?, Some(data))?.load()?)
}

/// The same, of one that is there.
fn at_rest(both: &BothArgs, data: &Path) -> Result<Settings, CliError> {
    let settings = of(both, data)?;
    crate::base::disk::outlive_file_limit()?;
    database(&settings, LIVE)?.close(); // says what is wrong with a folder that has no crawl, or one that runs
    Ok(settings)
}

fn choice(args: &SplitArgs) -> Result<Choice, CliError> {
    if !args.hosts.is_empty() {
        return Ok(Choice::Hosts(args.hosts.clone()));
    }
    if let Some(range) = &args.partitions {
        let parsed = range.split_once('-').and_then(|(a, b)| Some((a.parse().ok()?, b.parse().ok()?)));
        return match parsed {
            Some((from, to)) if from <= to => Ok(Choice::Range(from, to)),
            _ => Err(CliError::usage(format!("--partitions {range}: give two numbers, such as 512-1023"))),
        };
    }
    let parsed = args.share.split_once('/').and_then(|(n, of)| Some((n.parse().ok()?, of.parse().ok()?)));
    match parsed {
        Some((n, of)) if 0 < n && n < of => Ok(Choice::Share(n, of)),
        _ => Err(CliError::usage(format!("--share {}: give a part of the whole, such as 1/2", args.share))),
    }
}

fn of_split(done: &SplitUp, from: &Path, to: &Path) -> String {
    let mut text = format!(
        "{} is {}: {}, {} and {} of {}\n{} is {}: {}\n",
        shown(to),
        done.name,
        counted(done.partitions as u64, "partition"),
        counted(done.urls, "URL"),
        counted(done.captures, "capture"),
        shown(from),
        shown(from),
        done.own_name,
        counted(done.left, "URL"),
    );
    if done.archive_files > 0 {
        let _ = writeln!(text, "{} in both folders", counted(done.archive_files, "archive file"));
    }
    if done.archive_elsewhere > 0 {
        let files = counted(done.archive_elsewhere, "archive file");
        let _ = writeln!(text, "{files} not here, as uploaded.jsonl of {} says", shown(to));
    }
    text + "checkpoints of before hold all of it: do not put one of them back while the other folder is crawled on\n"
}

fn of_merge(done: &Merged, into: &Path, from: &Path) -> String {
    let mut text = format!(
        "{} has all of {} now: {} and {}\n",
        shown(into),
        done.from,
        counted(done.urls, "URL"),
        counted(done.captures, "capture"),
    );
    if done.rows_to_take_in > 0 {
        let rows = counted(done.rows_to_take_in, "row");
        let _ = writeln!(text, "{rows} of links are taken in when it runs next");
    }
    if done.archive_elsewhere > 0 {
        let files = counted(done.archive_elsewhere, "archive file");
        let _ = writeln!(text, "{files} not here, as uploaded.jsonl says");
    }
    text + &format!("{} can be removed\n", shown(from))
}

fn failed(error: PartError) -> CliError {
    use StorageError as S;
    use WarcError as W;
    let exit = match (&error, error.fault()) {
        (_, Some(DiskFault::Full | DiskFault::ReadOnly | DiskFault::Io)) => Exit::Disk,
        (PartError::Storage(S::NotADataFolder { .. } | S::Version { .. } | S::Locked { .. }), _) => Exit::Usage,
        (PartError::Storage(e), _) if e.is_broken() => Exit::Disk,
        (PartError::Warc(W::Unclaimed { .. } | W::Foreign { .. } | W::InUse(_)), _) => Exit::Usage,
        (PartError::Injected(_) | PartError::Io { .. }, _) => Exit::Error,
        _ => Exit::Usage,
    };
    CliError { exit, message: error.to_string() }
}
