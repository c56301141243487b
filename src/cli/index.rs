//! `lycosa index …`: the index of pages of a data folder at rest.

use std::cell::Cell;
use std::io::Write;
use std::time::Instant;

use data_encoding::HEXLOWER;
use serde_json::{Value, json};

use super::args::{IndexArgs, IndexCommand};
use super::at_rest::{as_crawled, database};
use super::check::refused;
use super::exit::{CliError, Exit, unless_gone};
use super::watch::Watch;
use crate::base::fault::Faults;
use crate::base::units::{counted, human_size};
use crate::crawl::rules::Rules;
use crate::domain::fingerprint::{CrawlId, Fingerprinter};
use crate::index::verify::{Comparison, compare};
use crate::index::{Folder, FollowError, Follower, IndexError, Reader, Source, Stand, Writer};
use crate::storage::values::{Counters, FeedLog, Format};
use crate::storage::{RocksStorage, feed, read};
use crate::telemetry::log::escaped;

/// A data folder at rest.
pub(super) struct AtRest {
    pub rules: Rules,
    pub storage: RocksStorage,
    pub prints: Fingerprinter,
    folder: Folder,
    log: FeedLog,
    /// Number of the feed's last entry.
    pub high: u64,
}

/// Carries out a command.
///
/// # Errors
/// Bad arguments, a folder in use (exit code 2), a disk that cannot be read or written (3).
pub fn run(args: &IndexArgs, out: &mut dyn Write) -> Result<Exit, CliError> {
    let settings = args.at_rest.load()?;
    let live = match args.command {
        IndexCommand::Build { .. } => "it makes the index itself once `lycosa ctl set index.enabled=true` was said",
        IndexCommand::Status => "ask it with `lycosa ctl index`",
        IndexCommand::Verify => "`lycosa ctl index` tells how far its index is; it is compared at rest",
    };
    let at_rest = AtRest::open(Rules::new(settings, String::new()), live)?;
    let (told, exit) = match args.command {
        IndexCommand::Build { fresh } => (at_rest.build(args, fresh)?, Exit::Done),
        IndexCommand::Status => (at_rest.status()?, Exit::Done),
        IndexCommand::Verify => at_rest.verify(args)?,
    };
    let text = if args.at_rest.json { format!("{}\n", told.0) } else { told.1 };
    unless_gone(out.write_all(text.as_bytes()))?;
    Ok(exit)
}

/// For programs, and for people.
type Told = (Value, String);

impl AtRest {
    /// Of a data folder; `live`: what to do while a crawl runs there.
    pub fn open(mut rules: Rules, live: &str) -> Result<Self, CliError> {
        crate::base::disk::outlive_file_limit()?;
        let storage = database(&rules.settings, live)?;
        as_crawled(&mut rules.settings, &storage)?;
        let dir = &rules.settings.store.data_dir;
        let seed = read::meta::<Format>(&storage, ()).map_err(refused)?.map_or(0, |format| format.seed);
        let counters: Counters = read::meta(&storage, CrawlId::default()).map_err(refused)?.unwrap_or_default();
        let log = feed::log(&storage).map_err(refused)?;
        let (prints, folder) = (Fingerprinter::new(seed), Folder::of(dir));
        Ok(Self { prints, folder, log, high: counters.fed, storage, rules })
    }

    pub fn with<T>(&self, work: impl FnOnce(Source<'_>) -> Result<T, FollowError>) -> Result<T, CliError> {
        let (again, warc, faults) = (self.rules.again(), self.rules.settings.warc_dir(), Faults::default());
        let making = (&self.rules.settings.index, &self.rules.canon, &self.prints);
        work(Source::of(&self.storage, making, (&warc, &again), &faults)).map_err(failed)
    }

    fn build(&self, args: &IndexArgs, fresh: bool) -> Result<Told, CliError> {
        let id = HEXLOWER.encode(&self.log.id);
        let fresh = fresh || !self.folder.has_keywords(self.rules.settings.index.keywords);
        let plan = self.folder.plan(&self.log, &id, self.high, fresh);
        let dir = self.folder.generation(plan.writes);
        std::fs::create_dir_all(&dir).map_err(unwritten(&dir))?;
        let writer = Writer::open(&dir, self.rules.settings.index.memory as usize).map_err(unread)?;
        let mut watch = Watch::start(!args.no_progress);
        let refresh = self.rules.settings.index.refresh;
        let (began, mut added, mut bare) = (Instant::now(), 0, 0);
        self.with(|source| {
            let mut follower = Follower::new(source, writer, plan.stand.clone(), (&id, self.log.trimmed, self.high));
            let (in_hand, mut committed) = (Cell::new(None), Instant::now());
            while let Some(step) = follower.step(self.high, &|_| false, &in_hand)? {
                (added, bare) = (added + step.added, bare + step.unread);
                watch.tell(|| format!("index: documents={added} entry={} of={}", follower.stand().seq, self.high));
                if committed.elapsed() >= refresh {
                    follower.commit()?;
                    committed = Instant::now();
                }
            }
            follower.close(true)
        })?;
        drop(watch);
        self.folder.set_current(plan.writes).map_err(unwritten(&self.folder.current_file()))?;
        let of_no_use = self.folder.numbers().into_iter().filter(|number| *number != plan.writes);
        of_no_use.for_each(|number| self.folder.remove(number));
        let seconds = began.elapsed().as_secs_f64();
        let (mut value, text) = self.status()?;
        (value["added"], value["unread"], value["seconds"]) = (json!(added), json!(bare), json!(seconds));
        let without = if bare > 0 { format!(", {bare} of them without their text") } else { String::new() };
        Ok((value, format!("{} put in in {seconds:.1} s{without}\n{text}", counted(added, "document"))))
    }

    /// The generation that answers, with its number.
    pub fn answering(&self) -> Result<Option<(u32, Reader)>, CliError> {
        let numbers = self.folder.numbers();
        let current = self.folder.current().filter(|number| numbers.contains(number));
        let Some(number) = current.or(numbers.last().copied()) else { return Ok(None) };
        Ok(Some((number, Reader::open(&self.folder.generation(number)).map_err(unread)?)))
    }

    /// Whether what it says is of this folder as it is now; not so once a checkpoint was put back.
    pub fn is_of_this_crawl(&self, reader: &Reader) -> Result<bool, CliError> {
        let stand = reader.stand().map_err(unread)?.unwrap_or_default();
        Ok(stand == Stand::default() || stand.goes_on(&self.log, &HEXLOWER.encode(&self.log.id), self.high))
    }

    /// Why an index cannot be gone on with, and what to do.
    pub fn other(&self, reader: &Reader) -> Result<&'static str, CliError> {
        Ok(match reader.stand().map_err(unread)?.unwrap_or_default().has_same_words() {
            true => "is of another state of this crawl: `lycosa index build` makes it anew",
            false => {
                "was made with other words (index.dictionary): name the crawl's configuration with --config FILE; if it is \
                 the words that have changed, `lycosa index build --config FILE` makes it anew"
            }
        })
    }

    fn status(&self) -> Result<Told, CliError> {
        let Some((number, reader)) = self.answering()? else {
            return Ok((json!({ "generation": null, "documents": 0 }), "there is no index\n".into()));
        };
        let Stand { seq, captured, .. } = reader.stand().map_err(unread)?.unwrap_or_default();
        let (documents, behind, bytes) = (reader.documents(), self.high.saturating_sub(seq), self.folder.bytes());
        let building: Vec<u32> = self.folder.numbers().into_iter().filter(|other| *other > number).collect();
        let value = json!({
            "generation": number, "documents": documents, "seq": seq, "behind": behind, "captured_ms": captured,
            "bytes": bytes, "building": building,
        });
        let of = counted(documents, "document");
        let built = if building.is_empty() { "" } else { "; a new one is being built" };
        let size = human_size(bytes);
        let mut text = format!("generation {number:04}: {of} up to entry {seq}, {behind} entries behind, {size}");
        match self.is_of_this_crawl(&reader)? {
            true => text += built,
            false => text += &format!("; it {}", self.other(&reader)?),
        }
        text.push('\n');
        Ok((value, text))
    }

    fn verify(&self, args: &IndexArgs) -> Result<(Told, Exit), CliError> {
        let Some((_, reader)) = self.answering()? else {
            return Err(CliError::new("there is no index to compare; `lycosa index build` makes one"));
        };
        reader.verify().map_err(unread)?;
        if reader.stand().map_err(unread)?.unwrap_or_default() == Stand::default() {
            return Err(CliError::new("the index is empty: nothing was taken in yet; `lycosa index build` does it"));
        }
        if !self.is_of_this_crawl(&reader)? {
            return Err(CliError::new(format!("nothing is compared, for the index {}", self.other(&reader)?)));
        }
        if !self.folder.has_keywords(self.rules.settings.index.keywords) {
            return Err(CliError::new(
                "nothing is compared, for the keywords of the index were found otherwise (index.keywords): `lycosa index build` makes it anew",
            ));
        }
        let watch = std::cell::RefCell::new(Watch::start(!args.no_progress));
        let looked = |pages: u64| watch.borrow_mut().tell(|| format!("comparing: pages={pages}"));
        let found = self.with(|source| compare(&source, CrawlId::default(), &reader, self.high, &looked))?;
        drop(watch);
        let exit = if found.agrees() { Exit::Done } else { Exit::Error };
        Ok(((json!(found), told(&found)), exit))
    }
}

fn told(found: &Comparison) -> String {
    let mut text = String::new();
    for line in &found.told {
        text += &format!("{}\n", escaped(line));
    }
    let Comparison { pages, documents, right, waiting, pending, missing, old, stray, double, .. } = found;
    text += &format!(
        "{pages} pages, {documents} documents: {right} right, {waiting} of pages that wait, {pending} pages with entries that are not read yet, \
         {missing} missing, {old} old, {stray} stray, {double} double\n"
    );
    text + if found.agrees() {
        match pending {
            0 => "the index is what it should be\n",
            _ => "what the index has read is what it should be; `lycosa index build` takes in the rest\n",
        }
    } else {
        "the index is not what it should be; `lycosa index build --fresh`\n"
    }
}

fn unwritten(path: &std::path::Path) -> impl FnOnce(std::io::Error) -> CliError + '_ {
    move |error| CliError {
        exit: Exit::Disk,
        message: format!(
            "{} cannot be written: {error}; the folder index/ can be deleted and made again",
            path.display()
        ),
    }
}

fn failed(error: FollowError) -> CliError {
    match error {
        FollowError::Storage(error) => refused(error),
        error @ FollowError::Index(_) => {
            let message = format!("{error}; `lycosa index build` makes it anew from the archive");
            CliError { exit: Exit::Disk, message }
        }
        error => CliError { exit: Exit::Disk, message: error.to_string() },
    }
}

pub(super) fn unread(error: IndexError) -> CliError {
    failed(error.into())
}
