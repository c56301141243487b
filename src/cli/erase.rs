//! `lycosa erase HOST`: everything that was received from a host goes, at rest; `lycosa check --erased HOST`: what is left of it.

use std::cell::RefCell;
use std::fmt::Write as _;
use std::io::Write;
use std::path::Path;

use serde_json::json;

use super::args::EraseArgs;
use super::at_rest::database;
use super::check::{options, refused, shown};
use super::exit::{CliError, Exit, unless_gone};
use super::interrupt;
use super::watch::Watch;
use crate::app::faults;
use crate::base::clock::Clock;
use crate::base::disk::DiskFault;
use crate::base::units::{counted, human_size};
use crate::config::Settings;
use crate::crawl::store::archive_settings_of;
use crate::domain::fingerprint::Fingerprinter;
use crate::recovery::checkpoint::Shelf;
use crate::recovery::erase::{Certificate, Count, Erase, EraseError, Found, Host, Look};
use crate::storage::values::Format;
use crate::storage::{RocksStorage, Storage, read};
use crate::telemetry::log::escaped;

/// A running crawl can block the host and drop what waits; the rest is done at rest.
const BLOCK_IT: &str =
    "block the host there (`lycosa ctl host HOST block`) and stop it (`lycosa ctl stop`), then erase";

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
    let storage = database(settings, BLOCK_IT)?;
    let host = host_of(&storage, host)?;
    let (stop, mut watch) = (interrupt::heed()?, Watch::start(!no_progress));
    let mut tell = |what: &str, done: u64| watch.tell(|| format!("searching: {what}={done}"));
    let found = look_of(settings).all(&storage, &host, &stop, &mut tell).map_err(failed)?;
    Ok((host.name, found))
}

fn erased(args: &EraseArgs, settings: &Settings) -> Result<Certificate, CliError> {
    crate::base::disk::outlive_file_limit()?;
    let dir = &settings.store.data_dir;
    database(settings, BLOCK_IT)?.close(); // says what is wrong with a folder that has no crawl, or one that runs
    let faults = faults().map_err(CliError::usage)?;
    let storage = RocksStorage::open(dir, options(settings)).map_err(refused)?;
    let host = host_of(&storage, &args.host)?;
    let node_name = nix::unistd::gethostname().ok().and_then(|name| name.into_string().ok()).filter(|n| !n.is_empty());
    let archive = archive_settings_of(settings, node_name.as_deref().unwrap_or("localhost"), &faults);
    let erase = Erase {
        look: look_of(settings),
        archive: archive.map_err(CliError::usage)?,
        shelf: Shelf::new(settings.checkpoint_dir()),
        keep_checkpoints: args.keep_checkpoints,
        ranker: settings.ranker(),
        keep_rejected: settings.scope.record_rejected,
        now: Clock::real().now(),
        stop: interrupt::heed()?,
        faults,
    };
    let watch = RefCell::new(Watch::start(!args.no_progress));
    let mut tell = |what: &str, done: u64| watch.borrow_mut().tell(|| format!("erasing: {what}={done}"));
    let done = erase.run(&storage, &host, &mut tell);
    storage.close();
    done.map_err(failed)?;
    let storage = RocksStorage::open(dir, options(settings)).map_err(refused)?;
    let certificate = erase.certify(&storage, &host, &mut tell);
    storage.close();
    certificate.map_err(failed)
}

fn look_of(settings: &Settings) -> Look {
    let (data, checkpoints) = (settings.store.data_dir.clone(), settings.checkpoint_dir());
    Look { data, warc: settings.warc_dir(), checkpoints, in_index }
}

/// One that cannot be read may have pages of any host.
#[cfg(feature = "search")]
fn in_index(data: &Path, host: &str) -> bool {
    crate::index::Folder::of(data).has_host(host)
}

#[cfg(not(feature = "search"))]
fn in_index(_: &Path, _: &str) -> bool {
    true
}

fn host_of(storage: &dyn Storage, name: &str) -> Result<Host, CliError> {
    let seed = read::meta::<Format>(storage, ()).map_err(refused)?.map_or(0, |format| format.seed);
    Host::named(name, &Fingerprinter::new(seed)).map_err(CliError::usage)
}

fn failed(error: EraseError) -> CliError {
    let exit = match (&error, error.fault()) {
        (EraseError::Interrupted, _) => Exit::Interrupted,
        (_, Some(DiskFault::Full | DiskFault::ReadOnly | DiskFault::Io)) => Exit::Disk,
        (EraseError::Storage(e), _) if e.is_broken() => Exit::Disk,
        (EraseError::Host(_) | EraseError::Unclean(_) | EraseError::Another(_), _) => Exit::Usage,
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
