//! `lycosa replay`: stored pages are read again by the crawl's own parser, under its rules or under others; what it makes of each is a line
//! of JSON, or with `--compare` what differs from what the live run wrote. No socket is opened, nothing is written.

mod compare;
mod eyes;

use std::fs;
use std::io::{IsTerminal, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use indicatif::ProgressBar;
use nix::sys::signal::{SigSet, Signal};

use super::args::{ReplayArgs, ReplayWhat};
use super::at_rest;
use super::exit::{CliError, Exit, Safe};
use super::progress::live_line;
use crate::base::units::counted;
use crate::telemetry::log::escaped;
use crate::warc::name::{closed_name, is_warc};
use crate::warc::pages::StoredPages;
use eyes::{Eyes, Skipped};

/// Pages between two looks of the live line.
const LOOK: u64 = 64;

/// Replays.
///
/// # Errors
/// Bad arguments, no crawl there, one that runs (exit code 2); a file that cannot be opened. When something differs, or a record cannot be
/// read, it is told and the exit code is 1; 11 when interrupted.
pub(super) fn run(args: &ReplayArgs, out: &mut dyn Write) -> Result<Exit, CliError> {
    if args.compare && args.what == ReplayWhat::Card {
        return Err(CliError::usage("--compare: a crawl writes no cards, so there is nothing to compare them with"));
    }
    if args.compare && !args.warc.is_empty() && args.what != ReplayWhat::Links {
        let what = "verdicts and values of the live run are in its database: name that with --data";
        return Err(CliError::usage(format!("--compare: {what}; with --warc links alone can be compared")));
    }
    let interrupted = interruption()?; // before there are threads that could take the signal
    let settings = at_rest::settings(&args.rules, args.data.as_deref())?;
    let (mut node, files) = if args.warc.is_empty() {
        let dir = settings.warc_dir();
        let live = "the files that it has closed can be replayed with --warc FILE";
        (at_rest::node(settings, live)?, archive(&dir)?)
    } else {
        (at_rest::of_none(settings)?, args.warc.clone())
    };
    node.crawl.rules.parse.extract.card |= args.what == ReplayWhat::Card;
    let mut eyes = Eyes::new(&node, args.warc.is_empty(), args.what, args.compare);
    let (mut tally, mut watch) = (Tally::default(), Watch::start(!args.no_progress));
    'files: for (nth, path) in files.iter().enumerate() {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let unread = |e| CliError::new(format!("{} cannot be read: {e}", path.display()));
        for page in StoredPages::open(path).map_err(unread)? {
            if interrupted.load(Ordering::Acquire) {
                tally.interrupted = true;
                break 'files;
            }
            let found = match page {
                Ok(page) => {
                    let at = page.offset;
                    let panicked = |_| Skipped::Damaged(format!("{name}: the page at {at} ends the parser"));
                    catch_unwind(AssertUnwindSafe(|| eyes.line(page, &name)))
                        .unwrap_or_else(|panic| Err(panicked(panic)))
                }
                Err(damage) => Err(Skipped::Damaged(damage.to_string())),
            };
            if let Some(line) = tally.take(found) {
                watch.pause(|| Safe(out).write_all(line.as_bytes()))?;
            }
            watch.look(&tally, (nth + 1, files.len()));
        }
    }
    drop(watch);
    out.flush()?;
    let _ = writeln!(Safe(&mut std::io::stderr()), "{}", tally.told(files.len(), args.compare));
    Ok(match () {
        () if tally.interrupted => Exit::Interrupted,
        () if tally.damaged > 0 || args.compare && tally.lines > 0 => Exit::Error,
        () => Exit::Done,
    })
}

/// The files of an archive, the oldest first, with those that were being written.
fn archive(dir: &Path) -> Result<Vec<PathBuf>, CliError> {
    let unread = |e| CliError::usage(format!("the archive {} cannot be read: {e}", dir.display()));
    let mut names = Vec::new();
    for entry in fs::read_dir(dir).map_err(unread)? {
        let name = entry.map_err(unread)?.file_name().to_string_lossy().into_owned();
        if is_warc(closed_name(&name).unwrap_or(&name)) {
            names.push(name);
        }
    }
    if names.is_empty() {
        let why = "it holds no file of an archive; name copies kept elsewhere with --warc";
        return Err(CliError::usage(format!("{}: {why}", dir.display())));
    }
    names.sort();
    Ok(names.into_iter().map(|name| dir.join(name)).collect())
}

/// Set once somebody interrupts: the page in hand is told to its end.
fn interruption() -> Result<Arc<AtomicBool>, CliError> {
    let mut signals = SigSet::empty();
    signals.add(Signal::SIGINT);
    signals.add(Signal::SIGTERM);
    signals.thread_block().map_err(CliError::new)?;
    let asked = Arc::new(AtomicBool::new(false));
    let flag = asked.clone();
    let wait = move || {
        if signals.wait().is_ok() {
            flag.store(true, Ordering::Release);
        }
    };
    std::thread::Builder::new().name("signals".into()).spawn(wait)?;
    Ok(asked)
}

/// What became of the pages.
#[derive(Default)]
struct Tally {
    read: u64,
    /// Lines written.
    lines: u64,
    /// Of no page of the crawl, such as a robots.txt.
    others: u64,
    /// Revisits whose bytes are not here.
    elsewhere: u64,
    /// Without a record of what the live run made of it.
    alone: u64,
    damaged: u64,
    interrupted: bool,
}

impl Tally {
    /// Counts a page; gives its line, if it has one.
    fn take(&mut self, found: Result<Option<String>, Skipped>) -> Option<String> {
        match found {
            Ok(line) => {
                self.read += 1;
                self.lines += u64::from(line.is_some());
                return line.map(|line| line + "\n");
            }
            Err(Skipped::NoPage) => self.others += 1,
            Err(Skipped::Elsewhere) => self.elsewhere += 1,
            Err(Skipped::Alone) => self.alone += 1,
            Err(Skipped::Damaged(why)) => {
                self.damaged += 1;
                let _ = writeln!(std::io::stderr(), "damaged: {}", escaped(&why));
            }
        }
        None
    }

    fn told(&self, files: usize, compared: bool) -> String {
        let mut text = format!("{} of {}", counted(self.read, "page"), counted(files as u64, "file"));
        if compared {
            text += &match self.lines {
                0 => ", as the live run saw them".to_owned(),
                n => format!(", {n} of them seen otherwise than by the live run"),
            };
        }
        for (n, what) in [
            (self.others, "other answer"),
            (self.elsewhere, "unresolved revisit"),
            (self.alone, "uncompared page"),
            (self.damaged, "damaged record"),
        ] {
            if n > 0 {
                text += &format!(", {}", counted(n, what));
            }
        }
        if self.interrupted { text + "; interrupted" } else { text }
    }
}

/// Shows how far it is.
struct Watch(Option<ProgressBar>);

impl Watch {
    fn start(wanted: bool) -> Self {
        let live = wanted && std::io::stderr().is_terminal() && !std::io::stdout().is_terminal();
        Self(live.then(live_line))
    }

    fn look(&self, tally: &Tally, (file, files): (usize, usize)) {
        let Some(bar) = self.0.as_ref().filter(|_| tally.read.is_multiple_of(LOOK)) else { return };
        bar.set_message(format!("replaying: file {file} of {files}, {} pages, {} lines", tally.read, tally.lines));
        bar.tick();
    }

    /// Writes beside the live line.
    fn pause<T>(&mut self, write: impl FnOnce() -> T) -> T {
        match &self.0 {
            Some(bar) => bar.suspend(write),
            None => write(),
        }
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.0.iter().for_each(ProgressBar::finish_and_clear);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_became_of_the_pages_is_one_sentence_and_only_pages_that_were_read_count() {
        let mut tally = Tally::default();
        let found = [
            Ok(Some("{}".to_owned())),
            Ok(None),
            Err(Skipped::NoPage),
            Err(Skipped::Elsewhere),
            Err(Skipped::Alone),
            Err(Skipped::Damaged("x: torn".into())),
        ];
        let lines: Vec<_> = found.into_iter().filter_map(|found| tally.take(found)).collect();
        assert_eq!(lines, ["{}\n"]);
        assert_eq!(
            tally.told(1, true),
            "2 pages of 1 file, 1 of them seen otherwise than by the live run, 1 other answer, 1 unresolved revisit, 1 uncompared page, 1 damaged \
             record"
        );
        let tally = Tally { read: 1, interrupted: true, ..Tally::default() };
        assert_eq!(tally.told(2, true), "1 page of 2 files, as the live run saw them; interrupted");
        assert_eq!(Tally::default().told(0, false), "0 pages of 0 files");
    }
}
