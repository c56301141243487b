//! `lycosa check`: proves that a data folder at rest is whole, and mends it on wish. What it says has the same content for people and as
//! JSON (docs/operations.md).

use std::cell::RefCell;
use std::fmt::Write as _;
use std::io::Write;
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::json;

use super::args::FolderArgs;
use super::exit::{CliError, Exit, unless_gone};
use super::gather::{as_member, layers, with_data};
use super::run::BROKEN;
use super::watch::Watch;
use crate::base::units::counted;
use crate::config::{LogSection, Settings};
use crate::domain::url::Canonicaliser;
use crate::recovery::check::{ArchivePlace, Check, CheckError, CheckRules, Event, Fault, Note, Report, Told};
use crate::storage::{RocksOptions, RocksStorage, Storage, StorageError, folder};
use crate::telemetry::log::escaped;
use crate::warc::folder::claim;

/// Checks, and repairs.
///
/// # Errors
/// Bad arguments, a folder in use or of another kind (exit code 2); a disk that cannot be read (3).
pub fn run(args: &FolderArgs, rust_log: Option<&str>, out: &mut dyn Write) -> Result<Exit, CliError> {
    crate::telemetry::log::init(&LogSection::default(), rust_log);
    let settings =
        as_member(with_data(layers(args.config.as_deref(), &args.settings)?, args.data.as_deref())?.load()?)?;
    if let Some(host) = &args.erased {
        return super::erase::check(host, &settings, (args.json, args.no_progress), out);
    }
    let dir = &settings.store.data_dir;
    let began = Instant::now();
    let Some(storage) = RocksStorage::find(dir, options(&settings)).map_err(|e| absent(dir, e))? else {
        if !dir.join(folder::MARKER).exists() {
            return Err(CliError::usage(format!("{} holds no crawl: it is empty; {NAME_IT}", shown(dir))));
        }
        unless_gone(out.write_all(empty(dir, args.json).as_bytes()))?;
        return Ok(Exit::Done);
    };
    let check = what_to_check(args, &settings);
    let report = if args.repair {
        drop(storage); // it would keep the folder from being opened
        repair(&check, &settings, args, out)?
    } else {
        let watch = RefCell::new(Watch::start(!args.no_progress));
        check.check(&storage, &mut |event| progress(&mut watch.borrow_mut(), &event)).map_err(failed)?
    };
    let took = began.elapsed();
    let text = if args.json { json(dir, args, &report, took) } else { table(dir, args, &report, took) };
    unless_gone(out.write_all(text.as_bytes()))?;
    Ok(if report.is_clean() { Exit::Done } else { Exit::Error })
}

/// What to do about a folder that is not the one.
pub(super) const NAME_IT: &str = "name the crawl's data folder with --data DIR, or its configuration";

/// A folder that is not there holds no crawl.
pub(super) fn absent(dir: &Path, error: StorageError) -> CliError {
    if dir.exists() {
        return refused(error);
    }
    CliError::usage(format!("{} is not there, so there is no crawl to look at; {NAME_IT}", shown(dir)))
}

pub(super) fn options(settings: &Settings) -> RocksOptions {
    RocksOptions { memory: usize::try_from(settings.store.memory).unwrap_or(usize::MAX), ..RocksOptions::default() }
}

fn what_to_check(args: &FolderArgs, settings: &Settings) -> Check {
    let rules = CheckRules {
        record_rejected: settings.scope.record_rejected,
        ranker: settings.ranker(),
        canon: Canonicaliser::new(settings.clean_rules()),
    };
    let archive = ArchivePlace { data: settings.store.data_dir.clone(), warc: settings.warc_dir() };
    #[cfg(feature = "search")]
    let derived = crate::index::Folder::of(&settings.store.data_dir).derived();
    #[cfg(not(feature = "search"))]
    let derived = Vec::new();
    Check { rules, archive: Some(archive), derived, full: args.full }
}

/// Opens the folder as a crawl does, with its locks, and mends.
fn repair(check: &Check, settings: &Settings, args: &FolderArgs, out: &mut dyn Write) -> Result<Report, CliError> {
    crate::base::disk::outlive_file_limit()?;
    let storage = RocksStorage::open(&settings.store.data_dir, options(settings)).map_err(refused)?;
    let seed = crate::storage::read::meta::<crate::storage::values::Format>(&storage, ()).map_err(refused)?;
    crate::app::may_be_changed(&storage).map_err(CliError::usage)?;
    let _claim = match seed {
        Some(format) => Some(claim(&settings.warc_dir(), format.seed).map_err(CliError::usage)?),
        None => None,
    };
    let mut watch = Watch::start(!args.no_progress);
    let mut gone = Ok(());
    let report = check.repair(&storage, &mut |event| {
        if let Some(line) = change(&event, args.json) {
            watch.pause(|| {
                if gone.is_ok() {
                    gone = unless_gone(writeln!(out, "{line}"));
                }
            });
        }
        progress(&mut watch, &event);
    });
    storage.close();
    gone?;
    report.map_err(failed)
}

/// Shows how far it is.
fn progress(watch: &mut Watch, event: &Event<'_>) {
    if let Event::Read { what, count } = event {
        watch.tell(|| format!("checking: {what}={count}"));
    }
}

/// A folder that cannot be checked is a mistake of the caller's; a database that cannot be read is the disk's.
pub(super) fn refused(error: StorageError) -> CliError {
    match &error {
        StorageError::Locked { .. } | StorageError::NotADataFolder { .. } | StorageError::Version { .. } => {
            CliError::usage(error)
        }
        StorageError::Folder { source, .. } if source.kind() == std::io::ErrorKind::NotFound => CliError::usage(error),
        _ if error.is_broken() => CliError { exit: Exit::Disk, message: format!("{error}{BROKEN}") },
        _ => CliError { exit: Exit::Disk, message: error.to_string() },
    }
}

fn failed(error: CheckError) -> CliError {
    match error {
        CheckError::Storage(error) => refused(error),
        error @ CheckError::Restless { .. } => CliError::new(error),
        error => CliError { exit: Exit::Disk, message: error.to_string() },
    }
}

pub(super) fn shown(dir: &Path) -> String {
    escaped(&dir.display().to_string())
}

/// A data folder in which no crawl has begun: a first start was killed.
fn empty(dir: &Path, json: bool) -> String {
    if json {
        return format!("{}\n", json!({ "data": dir.display().to_string(), "urls": 0, "clean": true, "findings": [] }));
    }
    format!(
        "{}: no crawl has begun here: the first start ended before the database was made; `lycosa run` begins it\nclean\n",
        shown(dir)
    )
}

/// The line of a change; nothing for other events.
fn change(event: &Event<'_>, json: bool) -> Option<String> {
    let (fault, subject, detail) = match event {
        Event::Read { .. } => return None,
        Event::Mended { fault, subject, detail } => (fault.name(), *subject, *detail),
        Event::Dropped { key } => ("dropped", *key, "the next link to it finds it anew"),
    };
    Some(if json {
        json!({ "mended": fault, "subject": subject, "detail": detail }).to_string()
    } else {
        format!("mended {fault}: {}: {}", escaped(subject), escaped(detail))
    })
}

/// The report for people; the last line is the verdict.
fn table(dir: &Path, args: &FolderArgs, report: &Report, took: Duration) -> String {
    let mut text = format!("{}\n\n", shown(dir));
    for (family, count) in &report.records {
        let _ = writeln!(text, "  {family:<12} {count:>12}");
    }
    if let Some(files) = &report.files {
        let read = if args.full { format!(", {} records read", files.records) } else { String::new() };
        let away = if files.elsewhere > 0 { format!(", {} kept elsewhere", files.elsewhere) } else { String::new() };
        let _ = writeln!(text, "  {:<12} {:>12}{away}{read}", "warc files", files.warcs);
        let _ = writeln!(text, "  {:<12} {:>12}", "index lines", files.index_lines);
        let _ = writeln!(text, "  {:<12} {:>12}", "crawl.jsonl", files.lines);
    }
    for (note, told) in &report.notes {
        let _ = writeln!(text, "\nnote {} ({}): {}", note.name(), told.count, note.what());
        examples(&mut text, told);
    }
    for (fault, told) in &report.findings {
        let _ = writeln!(text, "\n{} {} ({}): {}", fault.invariant(), fault.name(), told.count, fault.what());
        examples(&mut text, told);
        let _ = writeln!(text, "  --repair {}", fault.repair());
    }
    if !report.repaired.is_empty() {
        let each: Vec<String> =
            report.repaired.iter().map(|(f, told)| format!("{} {}", told.count, f.name())).collect();
        let _ = writeln!(text, "\nmended: {}; marks dropped: {}", each.join(", "), report.dropped);
    }
    let _ = writeln!(text, "\n{}", verdict(report, took));
    text
}

fn examples(text: &mut String, told: &Told) {
    for example in &told.examples {
        let _ = writeln!(text, "  {}", escaped(example));
    }
    let more = told.count.saturating_sub(told.examples.len() as u64);
    if more > 0 && !told.examples.is_empty() {
        let _ = writeln!(text, "  and {more} more");
    }
}

fn verdict(report: &Report, took: Duration) -> String {
    let urls = counted(report.urls(), "URL");
    let found = report.total();
    let seconds = took.as_secs_f64();
    match (found, report.repaired.is_empty()) {
        (0, true) => format!("clean: {urls} checked in {seconds:.1} s"),
        (0, false) => {
            format!("repaired: {urls}, nothing is left to mend ({} rounds, {seconds:.1} s)", report.rounds)
        }
        (n, _) => {
            let (found, them) = (counted(n, "finding"), if n == 1 { "it" } else { "them" });
            format!("{found}: {urls} checked in {seconds:.1} s; --repair mends {them}")
        }
    }
}

/// The report as one line of JSON.
fn json(dir: &Path, args: &FolderArgs, report: &Report, took: Duration) -> String {
    let fault = |(f, Told { count, examples }): (&Fault, &Told)| {
        json!({
            "name": f.name(), "invariant": f.invariant(), "what": f.what(), "repair": f.repair(),
            "count": count, "examples": examples,
        })
    };
    let note = |(n, Told { count, examples }): (&Note, &Told)| json!({ "name": n.name(), "what": n.what(), "count": count, "examples": examples });
    let value = json!({
        "data": dir.display().to_string(),
        "full": args.full,
        "clean": report.is_clean(),
        "urls": report.urls(),
        "seconds": took.as_secs_f64(),
        "rounds": report.rounds,
        "records": report.records,
        "files": report.files,
        "findings": report.findings.iter().map(fault).collect::<Vec<_>>(),
        "notes": report.notes.iter().map(note).collect::<Vec<_>>(),
        "repaired": report.repaired.iter().map(fault).collect::<Vec<_>>(),
        "dropped": report.dropped,
    });
    format!("{value}\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_damaged_database_ends_with_what_to_do_and_a_single_finding_is_one() {
        let damaged = StorageError::Engine { doing: "reading", message: "Corruption: block checksum mismatch".into() };
        let told = refused(damaged);
        assert!(told.exit == Exit::Disk && told.message.contains("restore a checkpoint"), "{told}");
        let told = Told { count: 1, examples: Vec::new() };
        let report = Report { findings: [(Fault::Damaged, told)].into(), ..Report::default() };
        assert_eq!(verdict(&report, Duration::ZERO), "1 finding: 0 URLs checked in 0.0 s; --repair mends it");
    }
}
