//! `lycosa erase HOST`: everything that was received from a host goes, at rest; `lycosa check --erased HOST`: what is left of it.

use std::fmt::Write as _;
use std::io::Write;
use std::path::Path;

use serde_json::json;

use super::args::EraseArgs;
use super::at_rest::database;
use super::check::shown;
use super::exit::{CliError, Exit, unless_gone};
use super::interrupt;
use super::watch::Watch;
use crate::app::{Way, erase, faults, host_of, look_of};
use crate::base::disk::DiskFault;
use crate::base::units::{counted, human_size};
use crate::config::Settings;
use crate::recovery::erase::{Certificate, Count, EraseError, Far, Found, STEPS};
use crate::storage::{Storage as _, StorageError};
use crate::telemetry::log::escaped;
use crate::warc::WarcError;

/// What a running crawl does itself.
const LIVE: &str = "have it erase the host itself (`lycosa ctl host HOST block --purge`)";

/// Erases, or says with `--dry-run` what there is to erase.
///
/// # Errors
/// Bad arguments, a folder in use (exit code 2); a full or broken disk (3); a signal (11). Exit code 1 when something is left.
pub fn run(args: &EraseArgs, out: &mut dyn Write) -> Result<Exit, CliError> {
    let settings = args.at_rest.load()?;
    if args.dry_run {
        let (host, found) = looked(&settings, &args.host, args.no_progress)?;
        let text = match (args.at_rest.json, found.is_nothing()) {
            (true, _) => format!("{}\n", json!(found)),
            (false, true) => format!("nothing of {host} is here\n{}", beside(&found)),
            (false, false) => format!("there is of {host}:\n{}", table(&found)),
        };
        return unless_gone(out.write_all(text.as_bytes())).map(|()| Exit::Done);
    }
    let certificate = erased(args, &settings)?;
    let text = match args.at_rest.json {
        true => format!("{}\n", json!(certificate)),
        false => told(&certificate, &settings.store.data_dir),
    };
    unless_gone(out.write_all(text.as_bytes()))?;
    Ok(if certificate.erased { Exit::Done } else { Exit::Error })
}

/// Says what is left of a host; exit code 1 when something is.
///
/// # Errors
/// As [`run`].
pub(super) fn check(
    host: &str,
    settings: &Settings,
    (as_json, no_progress): (bool, bool),
    out: &mut dyn Write,
) -> Result<Exit, CliError> {
    let (host, found) = looked(settings, host, no_progress)?;
    let text = match (as_json, found.is_nothing()) {
        (true, nothing) => format!("{}\n", json!({ "nothing": nothing, "found": found })),
        (false, true) => format!("nothing of {host} is left\n{}", beside(&found)),
        (false, false) => format!("there is of {host}:\n{}", table(&found)),
    };
    unless_gone(out.write_all(text.as_bytes()))?;
    Ok(if found.is_nothing() { Exit::Done } else { Exit::Error })
}

fn looked(settings: &Settings, host: &str, no_progress: bool) -> Result<(String, Found), CliError> {
    let storage = database(settings, LIVE)?;
    let host = host_of(&storage, host).map_err(failed)?;
    let (stop, mut watch) = (interrupt::heed()?, Watch::start(!no_progress));
    let mut tell = |what: &'static str, done: u64| watch.tell(|| format!("searching: {what}={done}"));
    let found = look_of(settings).all(&storage, &host, &stop, &mut tell).map_err(failed)?;
    Ok((host.name, found))
}

fn erased(args: &EraseArgs, settings: &Settings) -> Result<Certificate, CliError> {
    crate::base::disk::outlive_file_limit()?;
    database(settings, LIVE)?.close(); // says what is wrong with a folder that has no crawl, or one that runs
    let faults = faults().map_err(CliError::usage)?;
    let way = Way { keep_checkpoints: args.keep_checkpoints, stop: interrupt::heed()?, faults };
    let mut watch = Watch::start(!args.no_progress);
    let mut tell = |Far { step, what, done }: Far| {
        watch.tell(|| format!("erasing: step={step}/{STEPS} {what}={done}"));
    };
    erase(settings, &args.host, way, &mut tell).map_err(failed)
}

/// An erasure that did not come to its end.
pub(super) fn failed(error: EraseError) -> CliError {
    use StorageError as S;
    use WarcError as W;
    let exit = match (&error, error.fault()) {
        (EraseError::Interrupted, _) => Exit::Interrupted,
        (_, Some(DiskFault::Full | DiskFault::ReadOnly | DiskFault::Io)) => Exit::Disk,
        (EraseError::Storage(S::NotADataFolder { .. } | S::Version { .. } | S::Locked { .. }), _) => Exit::Usage,
        (EraseError::Storage(e), _) if e.is_broken() => Exit::Disk,
        (EraseError::Warc(W::Unclaimed { .. } | W::Foreign { .. } | W::InUse(_)), _) => Exit::Usage,
        (EraseError::Host(_) | EraseError::Unclean(_) | EraseError::Another(_) | EraseError::Share(_), _) => {
            Exit::Usage
        }
        _ => Exit::Error,
    };
    CliError { exit, message: error.to_string() }
}

fn told(certificate: &Certificate, data: &Path) -> String {
    let Certificate { before, after, checkpoints_removed, copies_to_replace, files, .. } = certificate;
    let mut text = format!("erased:\n{}", counts(before));
    let _ = writeln!(
        text,
        "  {} changed, {} removed",
        counted(files.len() as u64, "archive file"),
        counted(checkpoints_removed.len() as u64, "checkpoint")
    );
    if before.relying > 0 {
        let moved = before.relying.saturating_sub(after.relying);
        let _ = writeln!(
            text,
            "  {moved} of {} that relied on it have records of their own now",
            counted(before.relying, "capture")
        );
    }
    for copy in copies_to_replace {
        let is_here = files.iter().any(|changed| copy.ends_with(&changed.file));
        let what = if is_here { "a copy that the next run makes again" } else { "a copy that holds it still" };
        let _ = writeln!(text, "  {what}: {}", escaped(copy));
    }
    if !before.elsewhere.is_empty() {
        text += "  what is not here any more cannot be erased by this program: do it where the copies are\n";
    }
    if !certificate.erased {
        let _ = write!(text, "left:\n{}", counts(after));
    }
    text + &beside(after) + &format!("certificate: {}\n", shown(&certificate.path(data)))
}

fn table(found: &Found) -> String {
    counts(found) + &beside(found)
}

/// What is of the host.
fn counts(found: &Found) -> String {
    let mut text = String::new();
    for (kind, Count { count, bytes }) in &found.records {
        let _ = writeln!(text, "  {:<28} {count:>10}  {}", format!("{kind} records"), human_size(*bytes));
    }
    let mut row = |what: &str, n: u64| {
        if n > 0 {
            let _ = writeln!(text, "  {what:<28} {n:>10}");
        }
    };
    row("index lines", found.index_lines);
    row("lines of crawl.jsonl", found.lines.count);
    found.database.iter().for_each(|(family, n)| row(&format!("database: {family}"), *n));
    row("the index of pages", found.index_of_pages.into());
    for name in found.stray_tables.iter().map(|name| format!("db/{name}")).chain(found.states_before.iter().cloned()) {
        let _ = writeln!(text, "  of a time before: {}", escaped(&name));
    }
    text
}

/// What is said beside: of others, elsewhere, or not known.
fn beside(found: &Found) -> String {
    let mut text = String::new();
    if found.turned_away > 0 {
        let _ = writeln!(text, "  records of URLs that others name, turned away as blocked: {}", found.turned_away);
    }
    for (what, n) in &found.named {
        let _ = writeln!(text, "  named in others' {what}: {n}");
    }
    for name in &found.named_files {
        let _ = writeln!(text, "  named in the file {}, which is not touched", escaped(name));
    }
    for (file, n) in &found.elsewhere {
        let _ = writeln!(text, "  {} in {}, which is not here any more", counted(*n, "capture"), escaped(file));
    }
    if found.relying > 0 {
        let _ = writeln!(text, "  records of others that say their payload is in one of it: {}", found.relying);
    }
    if found.damaged > 0 {
        let _ =
            writeln!(text, "  damaged places of the archive, of which nobody knows what they hold: {}", found.damaged);
    }
    text
}
