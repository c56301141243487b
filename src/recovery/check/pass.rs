//! A check under way, which every pass works with: the folder, its keys, the archive's files, URLs to look for; the book of what was
//! found, and, in a repair, the changes, written in bounded batches; and the two larger repairs, queueing a URL again and undoing a
//! capture.

use super::files::Files;
use super::judge::Totals;
use super::lost::Lost;
use super::{Check, CheckError, CheckRules, Fault, Note, Report, Result, stored_counters};
use crate::base::time::UnixMillis;
use crate::domain::fingerprint::{CrawlId, Fingerprinter};
use crate::domain::found_as::FoundAs;
use crate::domain::rank;
use crate::domain::reach::Reach;
use crate::domain::url::PageUrl;
use crate::storage::keys::{ContentKey, HostAt, PageKey, SeenKey};
use crate::storage::tables::{Content, HostCounts, HostState, Nearer, Pages, Queue, Seen, Waiting};
use crate::storage::values::{self, Counters, FileLengths, Format, PageRecord, Place, QueueEntry, UrlState};
use crate::storage::{Batch, Family, Storage, read};

/// A batch is written when it has so many changes or bytes.
const BATCH_OPS: usize = 512;
const BATCH_BYTES: usize = 1 << 20;
/// Numbers taken from the counters at a time.
const RESERVE: u64 = 4096;

/// What a check says while it goes on.
#[derive(Debug)]
#[expect(missing_docs, reason = "each name says it")]
pub enum Event<'a> {
    /// Records of a family, or lines, were read: so many so far in this round.
    Read { what: &'static str, count: u64 },
    /// A repair mended something; `subject` is where, in clear where that is known.
    Mended { fault: Fault, subject: &'a str, detail: &'a str },
    /// A URL whose text was nowhere to be found was forgotten.
    Dropped { key: &'a str },
}

/// Found, changed, told.
pub struct Pass<'a> {
    pub storage: &'a dyn Storage,
    pub rules: &'a CheckRules,
    pub prints: Fingerprinter,
    /// Every record of the archive is read.
    pub full: bool,
    pub files: Option<Files>,
    pub lost: Lost,
    /// What was counted in this round.
    pub totals: Totals,
    pub report: Report,
    pub repairing: bool,
    /// Changes made in this round.
    pub changes: u64,
    tell: &'a mut dyn FnMut(Event<'_>),
    pending: Batch,
    /// The next number for a new place in a queue, never one that was given out before; and up to where they are reserved on disk.
    next: u64,
    reserved: u64,
}

impl<'a> Pass<'a> {
    pub fn new(
        check: &'a Check,
        storage: &'a dyn Storage,
        repairing: bool,
        tell: &'a mut dyn FnMut(Event<'_>),
    ) -> Result<Self> {
        let format = read::meta::<Format>(storage, ()).ok().flatten().ok_or(CheckError::NoFormat)?;
        Ok(Self {
            storage,
            rules: &check.rules,
            prints: Fingerprinter::new(format.seed),
            full: check.full,
            files: None,
            lost: Lost::default(),
            totals: Totals::default(),
            report: Report::default(),
            repairing,
            changes: 0,
            tell,
            pending: Batch::new(),
            next: 0,
            reserved: 0,
        })
    }

    /// Notes a finding; a repair makes the changes that `mend` puts into the batch.
    pub fn find(&mut self, fault: Fault, subject: &str, detail: &str, mend: impl FnOnce(&mut Batch)) -> Result<()> {
        self.report.findings.entry(fault).or_default().add(|| format!("{subject}: {detail}"));
        if self.repairing { self.mend(fault, subject, detail, mend) } else { Ok(()) }
    }

    /// Makes the changes that `mend` puts into the batch, and tells of them when there are any.
    pub fn mend(&mut self, fault: Fault, subject: &str, detail: &str, mend: impl FnOnce(&mut Batch)) -> Result<()> {
        let before = self.pending.len();
        mend(&mut self.pending);
        if self.pending.len() == before {
            return Ok(()); // its repair comes later, or hangs on another's
        }
        self.mended(fault, subject, detail);
        if self.pending.len() >= BATCH_OPS || self.pending.bytes() >= BATCH_BYTES { self.flush() } else { Ok(()) }
    }

    /// Something was mended in another way than by [`Pass::find`].
    pub fn mended(&mut self, fault: Fault, subject: &str, detail: &str) {
        self.changes += 1;
        self.report.repaired.entry(fault).or_default().add(|| format!("{subject}: {detail}"));
        (self.tell)(Event::Mended { fault, subject, detail });
    }

    /// A mark was dropped.
    pub fn dropped(&mut self, key: &str) {
        self.report.dropped += 1;
        (self.tell)(Event::Dropped { key });
    }

    pub fn note(&mut self, note: Note, example: impl FnOnce() -> String) {
        self.report.notes.entry(note).or_default().add(example);
    }

    /// The same without an example.
    pub fn count(&mut self, note: Note) {
        self.report.notes.entry(note).or_default().count();
    }

    /// Records were read.
    pub fn read(&mut self, family: Family, n: u64) {
        let count = self.report.records.entry(family.name()).or_default();
        *count += n;
        (self.tell)(Event::Read { what: family.name(), count: *count });
    }

    /// Writes what is pending.
    pub fn flush(&mut self) -> Result<()> {
        if !self.pending.is_empty() {
            self.storage.write(&self.pending)?;
            self.pending.clear();
        }
        Ok(())
    }

    /// Numbers are given out from here on: above every one in use.
    pub fn numbers_from(&mut self, next: u64) {
        (self.next, self.reserved) = (next, next);
    }

    /// The length of `crawl.jsonl` that a start cuts it to.
    pub fn commit_lines(&self, jsonl: u64) -> Result<()> {
        if let Some(lengths) = read::meta::<FileLengths>(self.storage, ())? {
            let mut batch = Batch::new();
            batch.put_meta((), &FileLengths { jsonl, ..lengths });
            self.storage.write(&batch)?;
        }
        Ok(())
    }

    /// A new place in `waiting`.
    pub fn host_order(&mut self) -> Result<u64> {
        let number = self.number()?;
        Ok(self.rules.ranker.host_order(number))
    }

    /// A number for a new place, reserved on disk before anything can be written that uses it.
    fn number(&mut self) -> Result<u64> {
        let number = self.next;
        self.next += 1;
        if self.repairing && self.next > self.reserved {
            self.reserved = self.next + RESERVE;
            let counters = stored_counters(self.storage);
            let mut batch = Batch::new();
            batch.put_meta(CrawlId::default(), &Counters { next_seq: self.reserved, ..counters });
            self.storage.write(&batch)?;
        }
        Ok(number)
    }

    pub fn host_at(&self, host: &str) -> HostAt {
        HostAt::of(&self.prints, host)
    }

    pub fn key_of(&self, url: &PageUrl) -> SeenKey {
        SeenKey::of(&self.prints, CrawlId::default(), url)
    }

    /// The URLs that a text of the archive may name: the text itself, and the one that is asked for under this spelling.
    pub fn named_by(&self, text: &str) -> impl Iterator<Item = PageUrl> {
        let itself = PageUrl::from_canonical(text).ok();
        let meant = self.rules.canon.parse(text).ok().filter(|meant| itself.as_ref() != Some(meant));
        itself.into_iter().chain(meant)
    }

    /// The URL of a text, when it is that of this key.
    pub fn url_at(&self, text: &str, key: SeenKey) -> Option<PageUrl> {
        let url = PageUrl::from_canonical(text).ok()?;
        (self.key_of(&url) == key).then_some(url)
    }

    /// Queues a URL so that a crawl would serve it at once: entry, mark, the host's name when it has none, its head, and its
    /// place in a row. What else is to be counted is counted in the next round.
    pub fn queue_again(&mut self, key: SeenKey, url: &PageUrl, entry: &QueueEntry) -> Result<Batch> {
        self.flush()?; // the host's counts are read as they will be
        let number = self.number()?;
        let rank::Place { rank, order } = self.rules.ranker.place(entry.depth, None, number);
        let mut batch = Batch::new();
        let (host, at) = (key.host_crawl(), key.host_crawl().host_at());
        let mut counts = self.look_one::<HostCounts>(&host)?.unwrap_or_default();
        let i = usize::from(rank);
        if let (Some(n), Some(head)) = (counts.queued.get_mut(i), counts.heads.get_mut(i)) {
            *head = (*head).min(order); // too low does no harm
            *n += 1;
        }
        if counts.place == Place::None {
            let (rank, order) = (counts.best_rank().unwrap_or(rank), self.host_order()?);
            counts.place = Place::Waiting { rank, order };
            batch.put::<Waiting>(&at.waiting(rank, order), &());
        }
        batch.put::<HostCounts>(&host, &counts);
        let known = self.look_one::<HostState>(&at)?.unwrap_or_default();
        if known.name.is_empty() {
            batch.put::<HostState>(&at, &values::HostState { name: url.host().to_owned(), ..known });
        }
        batch.put::<Queue>(&host.queue(rank, order), entry);
        batch.put::<Seen>(&key, &UrlState::Waiting { rank, order, reach: entry.reach(), due: None });
        Ok(batch)
    }

    /// A capture whose archive record is gone, damaged or another's; a repair undoes it.
    pub fn undone(&mut self, fault: Fault, key: PageKey, page: &PageRecord, why: &str) -> Result<()> {
        let undone = if self.repairing { Some(self.undo(key, page)?) } else { None };
        self.find(fault, &page.url, why, |batch| undone.into_iter().for_each(|undone| batch.append(undone)))
    }

    /// Undoes a capture, and queues its URL again when it was done by that capture.
    fn undo(&mut self, key: PageKey, page: &PageRecord) -> Result<Batch> {
        let seen = key.seen();
        let own = match self.look_one::<Seen>(&seen)? {
            Some(UrlState::Done { captured, reach, .. }) => (captured == key.captured.0).then_some(reach.limit),
            Some(UrlState::Error { .. }) | None => Some(None),
            Some(UrlState::Waiting { .. } | UrlState::Rejected { .. }) => None,
        };
        let better = self.look_one::<Nearer>(&seen)?.map(|known| QueueEntry { again: None, ..known.entry });
        let mut batch = match self.url_at(&page.url, seen).zip(own) {
            Some((url, limit)) => {
                let entry = better.unwrap_or_else(|| entry_of_page(&url, page, limit));
                let mut batch = self.queue_again(seen, &url, &entry)?;
                batch.delete::<Nearer>(&seen);
                batch
            }
            None => Batch::new(),
        };
        batch.delete::<Pages>(&key);
        if let Some(digest) = page.content {
            let first = self.look_one::<Content>(&ContentKey::from(digest))?;
            if first.is_some_and(|first| first.first == key) {
                batch.delete::<Content>(&ContentKey::from(digest));
            }
        }
        Ok(batch)
    }
}

/// A queue entry of which nothing but its way is known.
pub fn entry_of(url: &PageUrl, Reach { depth, limit }: Reach) -> QueueEntry {
    QueueEntry { limit, ..QueueEntry::new(url, depth, UnixMillis(0)) }
}

fn entry_of_page(url: &PageUrl, page: &PageRecord, limit: Option<u16>) -> QueueEntry {
    let (found, via) = page.sitemap.clone().map_or((FoundAs::Link, None), |sitemap| (sitemap.found, sitemap.via));
    QueueEntry {
        hops: page.hops,
        discovered: page.fetched,
        via,
        origin: page.origin.clone(),
        found,
        spelling: page.spelling.clone(),
        ..entry_of(url, Reach { depth: page.depth, limit })
    }
}
