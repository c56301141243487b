//! `lycosa export FORMAT --data DIR --to PATH`: the pages of a data folder at rest, in a form that others read.

use std::cell::RefCell;
use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::json;

use super::args::ExportArgs;
use super::at_rest::{as_crawled, database};
use super::check::refused;
use super::exit::{CliError, Exit, unless_gone};
use super::gather::{layers, with_data};
use super::interrupt;
use super::watch::Watch;
use crate::base::disk::DiskFault;
use crate::base::units::{counted, human_size};
use crate::config::{LogSection, Settings};
use crate::domain::fingerprint::CrawlId;
use crate::export::{self, Asked, ExportError, Far, Manifest, Owner, Source};
use crate::storage::values::Counters;
use crate::storage::{Storage, feed, mark, read};
use crate::telemetry::log::escaped;

/// Makes an export and says what is in it.
///
/// # Errors
/// Bad arguments, a folder in use, something at the place named already (exit code 2); a full or broken disk (3); a signal (11).
pub fn run(args: &ExportArgs, rust_log: Option<&str>, out: &mut dyn Write) -> Result<Exit, CliError> {
    crate::telemetry::log::init(&LogSection::default(), rust_log);
    let mut settings = with_data(layers(args.config.as_deref(), &args.settings)?, args.data.as_deref())?.load()?;
    crate::base::disk::outlive_file_limit()?;
    let storage = database(&settings, "have it make the export with `lycosa ctl export`")?;
    as_crawled(&mut settings, &storage)?;
    let (manifest, unshown) = made(args, &settings, &storage)?;
    unless_gone(out.write_all(told(args, &manifest, unshown).as_bytes()))?;
    Ok(Exit::Done)
}

/// Gives also how many entries nobody may rely on yet: a kill came before they were synced.
fn made(args: &ExportArgs, settings: &Settings, storage: &dyn Storage) -> Result<(Manifest, u64), CliError> {
    let log = feed::log(storage).map_err(refused)?;
    let last = read::meta::<Counters>(storage, CrawlId::default()).map_err(refused)?.unwrap_or_default().fed;
    // A database that was put back to a former state has what it has: the next start goes on as another feed.
    let noted = mark::fed(&settings.store.data_dir).filter(|noted| noted.log.id == log.id);
    let shown = noted.map_or(last, |noted| noted.high.min(last));
    let form = export::form(&args.format).ok_or_else(|| CliError::usage(format!("{} is no format", args.format)))?;
    let (select, options) = (args.select.clone(), args.options.clone());
    let asked = Asked { form, select, options, to: args.to.clone(), replace: args.force };
    let owner = AtTerminal { stopped: interrupt::heed()?, watch: RefCell::new(Watch::start(!args.no_progress)) };
    let manifest = export::run(&Source::new(storage, settings, shown), &asked, &owner).map_err(failed)?;
    Ok((manifest, last - shown))
}

/// Who typed it.
struct AtTerminal {
    stopped: Arc<AtomicBool>,
    watch: RefCell<Watch>,
}

impl Owner for AtTerminal {
    fn goes_on(&self) -> bool {
        !self.stopped.load(Ordering::Acquire)
    }

    fn far(&self, Far { looked, of, pages }: Far) {
        self.watch.borrow_mut().tell(|| format!("exporting: entries={looked} of={of} pages={pages}"));
    }
}

fn failed(error: ExportError) -> CliError {
    let exit = match (&error, error.fault()) {
        (ExportError::Stopped, _) => Exit::Interrupted,
        (_, Some(DiskFault::Full | DiskFault::ReadOnly | DiskFault::Io)) => Exit::Disk,
        (_, Some(_)) => Exit::Error,
        (_, None) => Exit::Usage,
    };
    match error {
        ExportError::Storage(error) => refused(error),
        error => CliError { exit, message: error.to_string() },
    }
}

/// The manifest as one line of JSON, or what people want to know of it.
fn told(args: &ExportArgs, manifest: &Manifest, unshown: u64) -> String {
    let to = args.to.display().to_string();
    if args.json {
        let mut told = json!(manifest);
        told["to"] = to.into();
        told["entries_not_synced"] = unshown.into();
        return format!("{told}\n");
    }
    let Manifest { counts, files, feed, unread, .. } = manifest;
    let bytes: u64 = files.iter().map(|file| file.bytes).sum();
    let (pages, entries) = (counted(counts.pages, "page"), counts.entries);
    let (in_files, size) = (counted(files.len() as u64, "file"), human_size(bytes));
    let mut text = format!("{}: {pages} of {entries} entries, {in_files}, {size}\n", escaped(&to));
    if let Some(first) = unread.first() {
        let (n, url, why) = (counted(counts.unread, "page"), escaped(&first.url), escaped(&first.why));
        text += &format!("not read of {n}, which the manifest names; the first: {url}: {why}\n");
    }
    if unshown > 0 {
        let them = counted(unshown, "entry").replace("entrys", "entries");
        text +=
            &format!("{them} behind these wait for the next start of the crawl: it ended before they were synced\n");
    }
    text + &format!("the next one goes on with: --after {} --log {}\n", feed.last, feed.log)
}
