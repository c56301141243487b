//! `lycosa checkpoint …`: what can be done to a crawl's checkpoints without the crawl, and with a running one.

use std::io::Write;
use std::path::Path;

use serde::Serialize;
use serde_json::json;

use super::args::{AtRestArgs, CheckpointArgs, CheckpointCommand, CtlArgs, CtlCommand};
use super::ctl;
use super::exit::{CliError, Exit, unless_gone};
use crate::app::faults;
use crate::base::clock::Clock;
use crate::base::disk::{DiskFault, is_same_folder};
use crate::base::fault::Faults;
use crate::base::units::{counted, human_size};
use crate::config::Settings;
use crate::recovery::checkpoint::carry::{Carried, How, export};
use crate::recovery::checkpoint::fetch::{Archive, Wanted, import};
#[cfg(feature = "rocksdb")]
use crate::recovery::checkpoint::manifest::Copied;
use crate::recovery::checkpoint::manifest::Summary;
use crate::recovery::checkpoint::restore::{Destination, Restored, Source, restore};
use crate::recovery::checkpoint::shelf::Listing;
#[cfg(feature = "rocksdb")]
use crate::recovery::checkpoint::uploads::Uploads;
use crate::recovery::checkpoint::verify::{Report, verify};
use crate::recovery::checkpoint::{CheckpointError, Manifest, Shelf, Target, swap};
use crate::storage::StorageError;
use crate::storage::folder::MARKER;
use crate::telemetry::log::escaped;

/// The name that stands for the newest.
const NEWEST: &str = "newest";

/// Carries out a command and shows what came of it.
///
/// # Errors
/// What, where, what to do. A damaged checkpoint ends with exit code 1, a full disk with 3.
pub fn run(args: &CheckpointArgs, out: &mut dyn Write) -> Result<Exit, CliError> {
    let settings = args.at_rest.load()?;
    let faults = faults().map_err(CliError::usage)?;
    crate::base::disk::outlive_file_limit()?;
    if !matches!(args.command, CheckpointCommand::Restore { .. } | CheckpointCommand::Import { .. }) {
        has_crawl(&settings, matches!(args.command, CheckpointCommand::Create { .. })).map_err(failed)?;
    }
    carry_out(args, &settings, &faults, out)
}

/// Checkpoints may be kept apart from a data folder that is gone.
fn has_crawl(settings: &Settings, needs_data: bool) -> Result<(), CheckpointError> {
    let dir = settings.store.data_dir.clone();
    let there = dir.join(crate::storage::folder::MARKER).exists();
    let kept_apart = !needs_data && settings.checkpoint_dir().exists();
    if there || kept_apart { Ok(()) } else { Err(CheckpointError::NoCrawl(dir)) }
}

fn carry_out(
    args: &CheckpointArgs,
    settings: &Settings,
    faults: &Faults,
    out: &mut dyn Write,
) -> Result<Exit, CliError> {
    let endpoint = settings.checkpoint.s3_endpoint.as_deref();
    match &args.command {
        CheckpointCommand::Create { admin, token_file } => {
            let admin = admin.clone().or_else(|| settings.admin_listen.map(|listen| listen.to_string()));
            let token_file = token_file.clone().or_else(|| settings.admin.token_file.clone());
            let (config, json) = (args.at_rest.config.clone(), args.at_rest.json);
            let folder = Some(settings.store.data_dir.clone());
            let command = CtlCommand::Checkpoint;
            let crawl = CtlArgs { admin, token_file, config, node: None, timeout: None, json, folder, command };
            made(args, settings, &crawl, faults, out)
        }
        CheckpointCommand::List => list(args, settings, out),
        CheckpointCommand::Verify { name } => checked(args, settings, name, out),
        CheckpointCommand::Restore { name, from, force, incomplete } => {
            let source = wanted(args, settings, name, from.as_deref(), *force)?;
            let to = Destination { force: *force, incomplete: *incomplete, ..destination(settings) };
            let done = restore(&source, &to, faults).map_err(failed)?;
            show(args, out, &done, told_from(&source, &done) + &told_restored(&done))
        }
        CheckpointCommand::Export { name, target, without_warc } => {
            let source = source(settings, name).map_err(failed)?;
            let target = Target::parse(target).map_err(CliError::usage)?;
            let how = if *without_warc { How::WithoutArchive } else { How::Whole };
            let done = export(&source, &target, endpoint, how, faults).map_err(failed)?;
            show(args, out, &done, told_carried(&done))
        }
        CheckpointCommand::Import { source, incomplete } => {
            if args.at_rest.data.is_none() {
                return Err(CliError::usage("name the new data folder with --data DIR"));
            }
            let wanted = Wanted::parse(source).map_err(CliError::usage)?;
            let to = Destination { incomplete: *incomplete, ..destination(settings) };
            let done = import(&wanted, endpoint, &to, Archive::Here, &mut |_| Ok(()), faults).map_err(failed)?;
            show(args, out, &done, told_restored(&done))
        }
    }
}

/// Makes one; when a crawl has the folder open, it is asked to.
fn made(
    args: &CheckpointArgs,
    settings: &Settings,
    crawl: &CtlArgs,
    faults: &Faults,
    out: &mut dyn Write,
) -> Result<Exit, CliError> {
    let made = match create(settings, faults) {
        Err(CheckpointError::Storage(StorageError::Locked { .. })) => return ctl::run(crawl, out),
        other => Summary::from(&other.map_err(failed)?),
    };
    show(args, out, &made, told_made(&made))
}

/// The checkpoint to restore: of `from`, else of the data folder that is named, else, into a folder that is new, of the
/// configuration's. A crawl's present state gives way to a checkpoint of its own, or to one that `from` names.
fn wanted(
    args: &CheckpointArgs,
    settings: &Settings,
    name: &str,
    from: Option<&Path>,
    force: bool,
) -> Result<Source, CliError> {
    if let Some(from) = from {
        let mut there = settings.clone();
        there.store.data_dir = from.to_owned();
        let found = source(&there, name).map_err(failed)?;
        // An absolute store.warc_dir is that of the new folder; the old one may have had its archive inside.
        let inside = from.join("warc");
        let is_inside = settings.store.warc_dir.is_absolute() && crate::warc::folder::is_claimed(&inside);
        return Ok(if is_inside { Source { warc_dir: inside, ..found } } else { found });
    }
    let own = source(settings, name);
    let data = &settings.store.data_dir;
    if own.is_ok() || args.at_rest.data.is_none() {
        return own.map_err(failed);
    }
    if force || data.join(crate::storage::folder::MARKER).exists() {
        return own.map_err(failed).map_err(|e| CliError {
            message: format!("{}; one of another crawl is named by its data folder: --from DIR", e.message),
            ..e
        });
    }
    let configured = AtRestArgs { data: None, ..args.at_rest.clone() }.load()?;
    source(&configured, name).map_err(failed)
}

/// Whose state it was, where that is another folder's.
fn told_from(source: &Source, done: &Restored) -> String {
    if is_same_folder(&source.data, &done.data) {
        return String::new();
    }
    format!("checkpoint {} is one of the crawl in {}\n", done.name, source.data.display())
}

fn failed(error: CheckpointError) -> CliError {
    let exit = match (&error, error.fault()) {
        (_, Some(DiskFault::Full | DiskFault::ReadOnly | DiskFault::Io)) => Exit::Disk,
        (CheckpointError::Storage(e), _) if e.is_broken() => Exit::Disk,
        (CheckpointError::Target { .. } | CheckpointError::NoCrawl(_), _) => Exit::Usage,
        _ => Exit::Error,
    };
    CliError { exit, message: error.to_string() }
}

#[cfg(feature = "rocksdb")]
fn create(settings: &Settings, faults: &Faults) -> Result<Manifest, CheckpointError> {
    use crate::recovery::checkpoint::make::{self, About};
    let data = settings.store.data_dir.clone();
    swap::settle(&data, faults)?;
    let about = About { data, crawl: settings.crawl.name.clone(), keep: settings.checkpoint.keep, by_hand: true };
    let shelf = Shelf::new(settings.checkpoint_dir());
    let made = make::at_rest(&about, &shelf, &settings.warc_dir(), Clock::real().now(), faults)?;
    copy(settings, &made, &shelf, faults)?;
    Ok(made)
}

/// The copy that `checkpoint.upload` asks for, behind the archive's files that it names.
#[cfg(feature = "rocksdb")]
fn copy(settings: &Settings, made: &Manifest, shelf: &Shelf, faults: &Faults) -> Result<(), CheckpointError> {
    let (Some(to), Some(archive)) = (settings.checkpoint_upload(), settings.archive_upload()) else { return Ok(()) };
    let endpoint = settings.checkpoint.s3_endpoint.as_deref();
    let (data, warc_dir) = (settings.store.data_dir.clone(), settings.warc_dir());
    let (place, now) = (Target::parse(&archive)?.open(endpoint)?, Clock::real().now());
    let uploads = Uploads { data, warc_dir, place: &*place, delete: false };
    for file in uploads.due()? {
        uploads.upload(&file, now, faults)?;
    }
    let how = How::Kept(settings.checkpoint.keep, now);
    let done = export(&source(settings, &made.name)?, &Target::parse(&to)?, endpoint, how, faults)?;
    shelf.note_copied(&made.name, &Copied::from(&done))
}

#[cfg(not(feature = "rocksdb"))]
fn create(_: &Settings, _: &Faults) -> Result<Manifest, CheckpointError> {
    Err(StorageError::NoCheckpoint.into())
}

/// The checkpoint of that name among those of a crawl.
fn source(settings: &Settings, name: &str) -> Result<Source, CheckpointError> {
    let shelf = Shelf::new(settings.checkpoint_dir());
    let manifest = shelf.find((name != NEWEST).then_some(name))?;
    let data = settings.store.data_dir.clone();
    Ok(Source { dir: shelf.path(&manifest.name), data, warc_dir: settings.warc_dir() })
}

fn destination(settings: &Settings) -> Destination {
    Destination {
        data: settings.store.data_dir.clone(),
        warc_dir: settings.store.warc_dir.clone(),
        force: false,
        incomplete: false,
        now: Clock::real().now(),
    }
}

/// Completes or takes back a restore that was killed; whether it was completed. `again`: another is asked for.
///
/// # Errors
/// One into a new folder was taken back, and none is asked for: bad usage, for whoever restores a crawl does not mean a new one.
pub(super) fn settled(settings: &Settings, again: bool) -> Result<bool, CliError> {
    let (data, faults) = (&settings.store.data_dir, faults().map_err(CliError::usage)?);
    let begun = swap::is_begun(data);
    let completed = swap::settle(data, &faults).map_err(failed)?;
    if let Some(name) = &completed {
        log::info!("a restore that was killed half way is completed: checkpoint={name}");
    } else if begun && !again && !data.join(MARKER).exists() {
        return Err(CliError::usage(format!(
            "a restore into {} was killed before all was there, and is taken back: the folder is empty. Repeat it (`lycosa run --from PLACE`); \
             without --from the next start begins a new crawl",
            data.display()
        )));
    }
    Ok(completed.is_some())
}

/// Fills a new data folder from a copy elsewhere, before a crawl goes on with it. The archive's files stay there.
///
/// # Errors
/// A folder that is not empty is bad usage.
pub(super) fn restored_from(settings: &Settings, from: &str) -> Result<(), CliError> {
    let faults = faults().map_err(CliError::usage)?;
    let to = destination(settings);
    let wanted = Wanted::parse(from).map_err(CliError::usage)?;
    let endpoint = settings.checkpoint.s3_endpoint.as_deref();
    let done = import(&wanted, endpoint, &to, Archive::There, &mut |_| Ok(()), &faults).map_err(|e| match e {
        CheckpointError::Taken(_) | CheckpointError::NotEmpty(_) => CliError::usage(e),
        e => failed(e),
    })?;
    for passed_over in &done.passed_over {
        log::warn!("a younger copy is not whole and was passed over: {passed_over}");
    }
    let Restored { name, pages, waiting, .. } = &done;
    log::info!("restored: checkpoint={name} from={from} pages={pages} waiting={waiting}");
    Ok(())
}

/// One answer: an object of JSON, or lines for people.
fn show<T: Serialize>(args: &CheckpointArgs, out: &mut dyn Write, value: &T, lines: String) -> Result<Exit, CliError> {
    let text = if args.at_rest.json { format!("{}\n", json!(value)) } else { lines };
    unless_gone(out.write_all(text.as_bytes())).map(|()| Exit::Done)
}

pub(super) fn told_made(made: &Summary) -> String {
    let Summary { name, counts, files, .. } = made;
    let (pages, waiting) = (counted(counts.pages_stored, "page"), counted(counts.waiting, "URL"));
    let (size, files) = (human_size(made.bytes), counted(*files as u64, "file"));
    format!("checkpoint {name} made: {pages} stored, {waiting} waiting, {size} in {files}\n")
}

fn list(args: &CheckpointArgs, settings: &Settings, out: &mut dyn Write) -> Result<Exit, CliError> {
    let shelf = Shelf::new(settings.checkpoint_dir());
    let listing = shelf.listing(&settings.store.data_dir.join("db")).map_err(failed)?;
    show(args, out, &listing, told_listing(&listing, &shelf))
}

fn told_listing(listing: &Listing, shelf: &Shelf) -> String {
    let row = |made: &Summary| {
        let Summary { name, ts, counts, archive_files, .. } = made;
        let (pages, waiting, size) = (counts.pages_stored, counts.waiting, human_size(made.bytes));
        let by = if made.by_hand { "  by hand" } else { "" };
        let copied = told_copied(made);
        format!("{name}  {ts}  {pages} pages  {waiting} waiting  {size}  {archive_files} archive files{by}{copied}\n")
    };
    let rows: String = listing.checkpoints.iter().map(row).collect();
    let damaged: String = listing.damaged.iter().map(|damaged| format!("damaged: {}\n", escaped(damaged))).collect();
    if rows.is_empty() {
        return format!("no checkpoint in {}\n{damaged}", shelf.dir().display());
    }
    let held = human_size(listing.held_bytes);
    format!("{rows}{damaged}only these hold {held} of the disk; the rest is shared with the database\n")
}

/// What its copy elsewhere took.
fn told_copied(made: &Summary) -> String {
    let sent = made.copied.as_ref().map(|copied| human_size(copied.sent_bytes));
    sent.map_or_else(String::new, |sent| format!("  copied: {sent} sent"))
}

fn checked(args: &CheckpointArgs, settings: &Settings, name: &str, out: &mut dyn Write) -> Result<Exit, CliError> {
    let source = source(settings, name).map_err(failed)?;
    let manifest = Manifest::read(&source.dir).map_err(failed)?;
    let report = verify(&source.dir, &manifest, &source.data, &source.warc_dir).map_err(failed)?;
    let shown = show(args, out, &report, told_report(&report))?;
    match report.is_good() {
        true => Ok(shown),
        false if args.at_rest.json => Ok(Exit::Error), // the report says it
        false => Err(CliError::new(format!("checkpoint {} is not whole", report.name))),
    }
}

fn told_report(report: &Report) -> String {
    let problems = |what: &str, all: &[String]| -> String {
        all.iter().map(|problem| format!("{what}: {}\n", escaped(problem))).collect()
    };
    if !report.is_good() {
        return problems("damaged", &report.damage) + &problems("missing", &report.missing);
    }
    let Report { name, files, bytes, archive, elsewhere, .. } = report;
    let (size, here) = (human_size(*bytes), archive - elsewhere);
    let uploaded = if *elsewhere > 0 { format!(", {elsewhere} were uploaded") } else { String::new() };
    format!("{name} is good: {files} files, {size}; {here} archive files are there{uploaded}\n")
}

fn told_restored(done: &Restored) -> String {
    let Restored { name, pages, waiting, archive, younger, .. } = done;
    let data = done.data.display();
    let (pages, waiting) = (counted(*pages, "page"), counted(*waiting, "URL"));
    let mut text = format!("{name} is now in {data}: {pages} stored, {waiting} waiting\n");
    if let Some(aside) = &done.aside {
        text += &format!("the former state is in {}; remove it when it is not needed\n", aside.display());
    }
    if *archive > 0 {
        text += &format!("{archive} archive files were put into the folder\n");
    }
    if *younger > 0 {
        text += &format!("{younger} WARC files younger than the checkpoint stay; their pages are fetched again\n");
    }
    for passed_over in &done.passed_over {
        text += &format!("passed over: {}\n", escaped(passed_over));
    }
    for missing in &done.missing {
        text += &format!("not there: {}\n", escaped(missing));
    }
    if let Some(dir) = &done.archive_apart {
        let dir = dir.display();
        text += &format!(
            "the archive is in {dir}, not in this configuration's store.warc_dir: move it there, or change that key\n"
        );
    }
    text + &format!("go on with: lycosa run … --data {data}\n")
}

fn told_carried(done: &Carried) -> String {
    let Carried { name, to, files, bytes, reused, left } = done;
    let left = if left.is_empty() { String::new() } else { format!("{} archive files were not copied\n", left.len()) };
    let (sent, objects) = (human_size(*bytes), counted(*files as u64, "object"));
    format!("{name} copied to {to}: {sent} sent in {objects}, {} were there already\n{left}", human_size(*reused))
}
