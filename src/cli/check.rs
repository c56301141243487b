//! `lycosa check`: proves that a data folder at rest is whole, and mends it on wish.

use std::cell::RefCell;
use std::io::{IsTerminal, Write};
use std::path::Path;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::args::FolderArgs;
use super::check_report as told;
use super::exit::{CliError, Exit, unless_gone};
use super::gather::layers;
use crate::config::{LogSection, Settings};
use crate::domain::url::Canonicaliser;
use crate::recovery::check::{ArchivePlace, Check, CheckError, CheckRules, Event, Report};
use crate::storage::{RocksOptions, RocksStorage, Storage, StorageError, folder};
use crate::telemetry::log::escaped;
use crate::warc::folder::claim;

/// How often progress is logged without a terminal.
const EVERY: Duration = Duration::from_secs(10);
/// How often the live line is drawn.
const TICK: Duration = Duration::from_millis(100);

/// Checks, and repairs.
///
/// # Errors
/// Bad arguments, a folder in use or of another kind (exit code 2); a disk that cannot be read (3).
pub fn run(args: &FolderArgs, rust_log: Option<&str>, out: &mut dyn Write) -> Result<Exit, CliError> {
    crate::telemetry::log::init(&LogSection::default(), rust_log);
    let mut layers = layers(args.config.as_deref(), &args.settings)?;
    if let Some(data) = &args.data {
        layers = layers.flag("--data", "store.data_dir", data.to_string_lossy().into_owned().into())?;
    }
    let settings = layers.load()?;
    let dir = &settings.store.data_dir;
    let began = Instant::now();
    let Some(database) = folder::find(dir).map_err(|e| absent(dir, e))? else {
        if !dir.join(folder::MARKER).exists() {
            return Err(CliError::usage(format!("{} holds no crawl: it is empty; {NAME_IT}", shown(dir))));
        }
        unless_gone(out.write_all(told::empty(dir, args.json).as_bytes()))?;
        return Ok(Exit::Done);
    };
    let check = what_to_check(args, &settings);
    let report = if args.repair {
        repair(&check, &settings, args, out)?
    } else {
        let storage = RocksStorage::look(&database, options(&settings)).map_err(refused)?;
        let watch = RefCell::new(Watch::start(!args.no_progress));
        check.check(&storage, &mut |event| watch.borrow_mut().progress(&event)).map_err(failed)?
    };
    let took = began.elapsed();
    let text = if args.json { told::json(dir, args, &report, took) } else { told::table(dir, args, &report, took) };
    unless_gone(out.write_all(text.as_bytes()))?;
    Ok(if report.is_clean() { Exit::Done } else { Exit::Error })
}

/// What to do about a folder that is not the one.
const NAME_IT: &str = "name the crawl's data folder with --data DIR, or its configuration";

/// A folder that is not there holds no crawl.
fn absent(dir: &Path, error: StorageError) -> CliError {
    if dir.exists() {
        return refused(error);
    }
    CliError::usage(format!("{} is not there, so there is no crawl to check; {NAME_IT}", shown(dir)))
}

fn options(settings: &Settings) -> RocksOptions {
    RocksOptions { memory: usize::try_from(settings.store.memory).unwrap_or(usize::MAX), ..RocksOptions::default() }
}

fn what_to_check(args: &FolderArgs, settings: &Settings) -> Check {
    let rules = CheckRules {
        record_rejected: settings.scope.record_rejected,
        ranker: settings.ranker(),
        canon: Canonicaliser::new(settings.clean_rules()),
    };
    let archive = ArchivePlace { data: settings.store.data_dir.clone(), warc: settings.warc_dir() };
    Check { rules, archive: Some(archive), full: args.full }
}

/// Opens the folder as a crawl does, with its locks, and mends.
fn repair(check: &Check, settings: &Settings, args: &FolderArgs, out: &mut dyn Write) -> Result<Report, CliError> {
    crate::base::disk::outlive_file_limit()?;
    let storage = RocksStorage::open(&settings.store.data_dir, options(settings)).map_err(refused)?;
    let seed = crate::storage::read::meta::<crate::storage::values::Format>(&storage, ()).map_err(refused)?;
    let _claim = match seed {
        Some(format) => Some(claim(&settings.warc_dir(), format.seed).map_err(CliError::usage)?),
        None => None,
    };
    let mut watch = Watch::start(!args.no_progress);
    let mut gone = Ok(());
    let report = check.repair(&storage, &mut |event| {
        if let Some(line) = told::change(&event, args.json) {
            watch.pause(|| {
                if gone.is_ok() {
                    gone = unless_gone(writeln!(out, "{line}"));
                }
            });
        }
        watch.progress(&event);
    });
    storage.close();
    gone?;
    report.map_err(failed)
}

/// Shows how far it is.
struct Watch {
    bar: Option<ProgressBar>,
    last: Instant,
    text: String,
}

impl Watch {
    fn start(live: bool) -> Self {
        let bar = (live && std::io::stderr().is_terminal()).then(|| {
            let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
            if let Ok(style) = ProgressStyle::with_template("{spinner} {wide_msg}") {
                bar.set_style(style);
            }
            bar
        });
        Self { bar, last: Instant::now(), text: String::new() }
    }

    fn progress(&mut self, event: &Event<'_>) {
        let Event::Read { what, count } = event else { return };
        let every = if self.bar.is_some() { TICK } else { EVERY };
        if self.last.elapsed() < every {
            return;
        }
        self.last = Instant::now();
        self.text = format!("checking: {what}={count}");
        match &self.bar {
            Some(bar) => {
                bar.set_message(self.text.clone());
                bar.tick();
            }
            None => log::info!("{}", self.text),
        }
    }

    /// Prints something above the live line.
    fn pause(&self, print: impl FnOnce()) {
        match &self.bar {
            Some(bar) => bar.suspend(print),
            None => print(),
        }
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

/// A folder that cannot be checked is a mistake of the caller's; a database that cannot be read is the disk's.
fn refused(error: StorageError) -> CliError {
    match &error {
        StorageError::Locked { .. } | StorageError::NotADataFolder { .. } | StorageError::Version { .. } => {
            CliError::usage(error)
        }
        StorageError::Folder { source, .. } if source.kind() == std::io::ErrorKind::NotFound => CliError::usage(error),
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

/// A path for people.
pub(super) fn shown(dir: &Path) -> String {
    escaped(&dir.display().to_string())
}
