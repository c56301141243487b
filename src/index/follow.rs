//! Follows the feed into an index, batch by batch. What a batch does may be done again; it counts once it is committed.

use std::cell::Cell;
use std::path::Path;

use data_encoding::HEXLOWER;

use super::error::IndexError;
use super::make::{Look, Making};
use super::schema::Stand;
use super::writer::Writer;
use crate::base::fault::{Faults, Injected};
use crate::config::{IndexSection, NoIndex};
use crate::domain::fingerprint::Fingerprinter;
use crate::domain::url::{Canonicaliser, PageUrl};
use crate::storage::keys::{Key, KeyRange, SeenKey, successor};
use crate::storage::newest::{Newest, Wanted, id, is_old};
use crate::storage::tables::{Feed, Pages};
use crate::storage::{Storage, StorageError, read};
use crate::warc::again::Again;
use crate::warc::pick::{Picked, response_at};

/// Entries of a batch.
pub const BATCH: usize = 64;
/// Most bytes of a record that are read; a larger one is taken in without its text.
const MOST: u64 = 16 << 20;

/// Why a batch failed.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "each message says what its fields are")]
pub enum FollowError {
    #[error(transparent)]
    Index(#[from] IndexError),
    #[error(transparent)]
    Storage(#[from] StorageError),
    #[error(transparent)]
    Injected(#[from] Injected),
    #[error("{doing}: {source}")]
    Io { doing: String, source: std::io::Error },
}

/// Where pages come from.
#[expect(missing_docs, reason = "each name says it")]
#[derive(Clone, Copy)]
pub struct Source<'a> {
    pub storage: &'a dyn Storage,
    /// Folder of the archive.
    pub warc: &'a Path,
    /// Reads what is stored there.
    pub again: &'a Again,
    pub making: Making<'a>,
    pub wanted: Wanted,
    pub faults: &'a Faults,
}

/// What a batch did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Step {
    /// Documents put in.
    pub added: u64,
    /// Those of them whose bytes could not be had.
    pub unread: u64,
}

/// Follows the feed into one index.
pub struct Follower<'a> {
    source: Source<'a>,
    writer: Writer,
    stand: Stand,
    dirty: bool,
}

/// A page to look at: the entry that says so, and what is to be in the index.
type Due = (u64, SeenKey, Option<Newest>);
/// Pages to look at, and where one stands behind them.
type Batch = (Vec<Due>, (u64, Option<String>));

impl<'a> Follower<'a> {
    /// Goes on where the index is, which is true up to `stand`; an empty one begins. `log`: the feed, of which `trimmed` entries are gone and
    /// `shown` is the last.
    pub fn new(source: Source<'a>, writer: Writer, stand: Stand, (log, trimmed, shown): (&str, u64, u64)) -> Self {
        let begins = stand == Stand::default();
        let Stand { seq, captured, scanned, .. } = stand;
        let keywords = source.making.keywords.as_str().to_owned();
        let mut stand = Stand { seq, captured, scanned, keywords, ..Stand::begin(log) };
        if begins && trimmed > 0 {
            stand.scanned = Some(String::new());
            stand.seq = shown;
        }
        Self { source, writer, stand, dirty: false }
    }

    /// Up to where it is, with what is not committed.
    pub fn stand(&self) -> &Stand {
        &self.stand
    }

    /// Something is not committed.
    pub fn is_dirty(&self) -> bool {
        self.dirty
    }

    /// It has all up to this entry.
    pub fn has(&self, shown: u64) -> bool {
        self.stand.scanned.is_none() && self.stand.seq >= shown
    }

    /// Takes in the next batch of what is shown; nothing to do gives none. `bare`: pages that are taken in without their text. `in_hand` says
    /// whatever happens which page was at work.
    ///
    /// # Errors
    /// [`FollowError`]; what was not committed is then to be taken in anew.
    pub fn step(
        &mut self,
        shown: u64,
        bare: &dyn Fn(SeenKey) -> bool,
        in_hand: &Cell<Option<SeenKey>>,
    ) -> Result<Option<Step>, FollowError> {
        self.source.faults.check("index.batch")?;
        let (mut due, behind) = match self.stand.scanned.clone() {
            Some(after) => self.pages_behind(&after)?,
            None if self.stand.seq >= shown => return Ok(None),
            None => self.entries(shown)?,
        };
        due.sort_by(|(_, _, a), (_, _, b)| place(a).cmp(&place(b)));
        let mut step = Step::default();
        self.dirty = true;
        for (seq, key, newest) in &due {
            in_hand.set(Some(*key));
            self.writer.delete(&id(*key));
            if let Some(newest) = newest {
                self.take_in(*seq, newest, bare(*key), &mut step)?;
                self.stand.captured = self.stand.captured.max(newest.page.fetched.0);
            }
        }
        in_hand.set(None);
        (self.stand.seq, self.stand.scanned) = behind;
        Ok(Some(step))
    }

    /// Writes and syncs what was taken in.
    ///
    /// # Errors
    /// [`FollowError`].
    pub fn commit(&mut self) -> Result<(), FollowError> {
        self.source.faults.check("index.commit")?;
        self.writer.commit(&self.stand)?;
        self.dirty = false;
        self.source.faults.check("index.committed")?;
        Ok(())
    }

    /// Commits what is not, and closes the index; `merged`: once what is being merged is.
    ///
    /// # Errors
    /// [`FollowError`].
    pub fn close(mut self, merged: bool) -> Result<(), FollowError> {
        if self.dirty {
            self.commit()?;
        }
        if merged {
            self.writer.close()?;
        }
        Ok(())
    }

    /// What the next entries ask for, and where one stands behind them.
    fn entries(&self, shown: u64) -> Result<Batch, FollowError> {
        let storage = self.source.storage;
        let range = KeyRange::feed(self.stand.seq, shown);
        let mut entries = read::scan::<Feed>(storage, &range, BATCH)?;
        let last = entries.last().filter(|_| entries.len() == BATCH).map_or(shown, |(key, _)| key.number);
        // Of a page the last one counts.
        entries.reverse();
        let mut met = std::collections::HashSet::new();
        entries.retain(|(_, entry)| met.insert(entry.page));
        let mut due = Vec::new();
        for (key, entry) in entries {
            let state = read::seen_state(storage, entry.page)?;
            if !is_old(&entry, state) {
                due.push((key.number, entry.page, self.source.wanted.newest(storage, entry.page, state)?));
            }
        }
        Ok((due, (last, None)))
    }

    /// The next pages in the order of their keys, for a feed whose beginning is gone.
    fn pages_behind(&self, after: &str) -> Result<Batch, FollowError> {
        let storage = self.source.storage;
        let mut from = HEXLOWER.decode(after.as_bytes()).unwrap_or_default();
        let mut due = Vec::new();
        while due.len() < BATCH {
            let range = KeyRange { from: from.clone(), until: Vec::new() };
            let Some(page) = read::first_key::<Pages>(storage, &range)? else {
                return Ok((due, (self.stand.seq, None)));
            };
            let key = page.seen();
            let state = read::seen_state(storage, key)?;
            due.push((self.stand.seq, key, self.source.wanted.newest(storage, key, state)?));
            from = successor(&key.encode());
        }
        Ok((due, (self.stand.seq, Some(HEXLOWER.encode(&from)))))
    }

    fn take_in(&mut self, seq: u64, newest: &Newest, bare: bool, step: &mut Step) -> Result<(), FollowError> {
        let Ok(url) = PageUrl::from_canonical(&newest.page.url) else { return Ok(()) };
        let making = self.source.making;
        let entry = match self.source.read(newest, &url).filter(|_| !bare) {
            Some(picked) => {
                self.source.faults.check("index.page")?;
                let look = Look::of(self.source.again, &url, &picked);
                look.and_then(|look| making.page(newest, &url, seq, &look))
            }
            None => {
                step.unread += 1;
                Some(making.unread(newest, &url, seq))
            }
        };
        if let Some(entry) = entry {
            self.writer.add(&entry)?;
            step.added += 1;
        }
        Ok(self.source.faults.check("index.added")?)
    }
}

impl<'a> Source<'a> {
    /// By the settings of a crawl: its canonical form and keys of URLs, its archive and who reads it.
    pub fn of(
        storage: &'a dyn Storage,
        (settings, canon, prints): (&IndexSection, &'a Canonicaliser, &'a Fingerprinter),
        (warc, again): (&'a Path, &'a Again),
        faults: &'a Faults,
    ) -> Self {
        let max_text = usize::try_from(settings.max_text).unwrap_or(usize::MAX);
        let making = Making { canon, prints, max_text, keywords: settings.keywords };
        Self { storage, warc, again, making, wanted: Wanted { noindex: settings.noindex == NoIndex::Ignore }, faults }
    }
    /// The stored response, as far as it can be had.
    pub fn read(&self, newest: &Newest, url: &PageUrl) -> Option<Picked> {
        let place = newest.place.as_ref()?;
        let picked = response_at(self.warc, &place.file, place.offset, MOST);
        picked.inspect_err(|e| log::debug!("a page is put into the index without its text: url={url} error={e}")).ok()
    }
}

/// In the order of the archive's files.
fn place(newest: &Option<Newest>) -> Option<(&str, u64)> {
    newest.as_ref()?.place.as_ref().map(|place| (&*place.file, place.offset))
}
