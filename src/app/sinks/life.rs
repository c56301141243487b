//! From taking up the feed to the end of the run, or to what goes wrong here.

use std::cell::Cell;
use std::collections::HashSet;
use std::time::Duration;

use data_encoding::HEXLOWER;

use super::send::{LAST_TIMEOUT, Poster};
use crate::app::follow::{Deaths, Ending, Last, Rest, acknowledge_as, give_way};
use crate::base::clock::Stopwatch;
use crate::config::{NoIndex, SinkKind, SinkSection};
use crate::crawl::node::Node;
use crate::domain::visit::Visit;
use crate::export::{Owner, Row, Source};
use crate::sink::files::{Folder, Part};
use crate::sink::outbox::{Heard, Wait};
use crate::sink::rejected::{Line, List};
use crate::sink::{Doing, Outbox, Piece, Served, SinkError, Trust, bulk, lines};
use crate::storage::feed::{self, Item};
use crate::storage::keys::SeenKey;
use crate::storage::newest::{Wanted, id, is_old};
use crate::storage::read;
use crate::storage::values::{CONSUMERS, Consumers, FeedLog};
use crate::telemetry::trouble;

/// How often it looks whether something new is shown.
const NEWS: Duration = Duration::from_millis(200);
/// How often it looks whether the disk has room again, and whether its acknowledgement was kept.
const LOOK: Duration = Duration::from_secs(1);
/// Longest wait between two tries, whatever a server wishes.
const LONGEST: Duration = Duration::from_secs(300);
/// Bytes of what a request is made of, beyond which no entry more goes into it.
const FULL: usize = 8 << 20;
/// Most bytes of a record that are read.
const MOST: u64 = 16 << 20;

/// What a life knows of the server from one batch to the next.
#[derive(Default)]
struct Hand {
    trust: Trust,
    rest: Rest,
    /// When, at the end of the run, the server began to take nothing.
    ends: Option<Stopwatch>,
}

/// What became of a batch.
enum Sent {
    /// All up to this entry is taken or rejected.
    All(u64),
    /// None of what is left was taken: it is to be made anew, with what has come since.
    None,
    /// The run ends before.
    RunOver,
}

/// One life of a sink.
pub(super) struct Life<'a> {
    pub node: &'a Node,
    pub section: &'a SinkSection,
    pub told: &'a Served,
    pub ending: &'a Ending,
    /// Of entries.
    pub deaths: &'a Deaths<u64>,
    /// The entry at work.
    pub in_hand: &'a Cell<Option<u64>>,
    /// The last entry that was acknowledged in this run.
    pub after: &'a Cell<Option<u64>>,
    /// Something was acknowledged in this life.
    pub went: &'a Cell<bool>,
    pub rejects: &'a List,
    /// Who sends, unless it writes files.
    pub poster: Option<&'a Poster>,
}

impl Life<'_> {
    /// Until the run is over.
    ///
    /// # Errors
    /// [`SinkError`]: what is not acknowledged is done again.
    pub fn live(&self) -> Result<(), SinkError> {
        let (node, settings) = (self.node, &self.node.crawl.rules.settings);
        let Some(shown) = self.taken_up() else { return Ok(()) };
        let log = feed::log(&*node.storage)?;
        let dir = self.section.folder(&settings.store.data_dir);
        let open = || Folder::open(dir, self.section.kind, &log).map_err(self.io());
        let folder = if self.poster.is_none() { Some(open()?) } else { None };
        self.begin(&log, shown, folder.as_ref())?;
        let source =
            Source::new(&*node.storage, settings, shown).reading(node.crawl.rules.modules.clone()).at_most(MOST);
        let log = HEXLOWER.encode(&log.id);
        // Since when it has something to hand on, since when all was to be brought to an end, and when its acknowledgement was looked at.
        let (mut since, mut ends, mut looked): (Option<Stopwatch>, Option<Stopwatch>, _) =
            (None, None, Stopwatch::start());
        let mut hand = Hand::default();
        loop {
            let last = self.ending.told();
            if last == Some(Last::Now) {
                return Ok(());
            }
            let (after, shown) = (self.acknowledged(), node.crawl.progress.fed.borrow().unwrap_or(0));
            if after >= shown {
                self.caught_up();
                let is_all = node.crawl.counters().fed <= shown;
                if last.is_some() && (is_all || ends.get_or_insert_with(Stopwatch::start).elapsed() > LAST_TIMEOUT) {
                    return Ok(());
                }
                since = None;
                if looked.elapsed() >= LOOK {
                    looked = Stopwatch::start();
                    self.confirm()?;
                }
                self.pause(NEWS, last);
                continue;
            }
            if folder.is_some() && node.disk.holds() {
                if last.is_some() {
                    return Ok(());
                }
                self.told.tell(|told| told.doing = Doing::Held);
                self.ending.wait(LOOK);
                continue;
            }
            let waited = since.get_or_insert_with(Stopwatch::start).elapsed();
            let is_due = shown - after >= self.section.batch() as u64 || waited >= self.section.every();
            if !is_due && last.is_none() {
                self.ending.wait(NEWS.min(self.section.every()));
                continue;
            }
            let done = match (self.next((after, shown))?, &folder) {
                (None, _) => Some(shown),
                (Some(items), Some(folder)) => self.write(&source, folder, after, items)?,
                (Some(items), None) => match self.send(&source, &log, items, &mut hand)? {
                    Sent::All(last) => Some(last),
                    Sent::None => continue,
                    Sent::RunOver => None,
                },
            };
            let Some(done) = done else {
                self.left(shown);
                return Ok(());
            };
            self.acknowledge(done)?;
            since = None;
        }
    }

    /// The last entry that is shown, once the feed is taken up; none when the run ends before.
    fn taken_up(&self) -> Option<u64> {
        loop {
            let last = self.ending.told();
            if let Some(shown) = *self.node.crawl.progress.fed.borrow() {
                return Some(shown);
            }
            if last.is_some() {
                return None;
            }
            self.ending.wait(NEWS);
        }
    }

    /// Goes on where it was, and says so, so that from now on all that follows is kept for it.
    fn begin(&self, log: &FeedLog, shown: u64, folder: Option<&Folder>) -> Result<(), SinkError> {
        let (node, name) = (self.node, self.section.consumer());
        let all: Consumers = read::meta(&*node.storage, ())?.unwrap_or_default();
        let known = all.0.iter().find(|known| known.name == name).map(|known| known.after);
        if known.is_none() && all.0.len() >= CONSUMERS {
            return Err(SinkError::Full);
        }
        let began = self.after.get().or(known);
        let mut after = began.unwrap_or(log.trimmed).min(shown);
        if after < log.trimmed || began.is_none() && log.trimmed > 0 {
            let (sink, trimmed) = (&self.section.name, log.trimmed);
            log::warn!(
                "entries of the feed were let go before a sink had them (feed.keep): sink={sink} begins_behind={trimmed}"
            );
            after = log.trimmed;
        }
        if let Some(folder) = folder {
            after = folder.written(after).map_err(self.io())?.min(shown);
        }
        if self.after.get().is_none() {
            let Served { name, kind, to, .. } = self.told;
            log::info!("sink begins: sink={name} kind={kind} to={to} from_entry={after}");
        }
        self.tell_after(after);
        acknowledge_as(node, &name, after);
        self.told.tell(|told| (told.doing, told.error) = (Doing::Waiting, None));
        Ok(())
    }

    fn acknowledged(&self) -> u64 {
        self.after.get().unwrap_or(0)
    }

    fn tell_after(&self, after: u64) {
        self.after.set(Some(after));
        self.told.tell(|told| told.after = after);
    }

    /// A batch is handed on.
    fn acknowledge(&self, after: u64) -> Result<(), SinkError> {
        self.tell_after(after);
        self.went.set(true);
        acknowledge_as(self.node, &self.section.consumer(), after);
        Ok(self.node.faults.check("sink.acknowledged")?)
    }

    /// Says once more how far it is, if that was lost.
    fn confirm(&self) -> Result<(), SinkError> {
        let (name, after) = (self.section.consumer(), self.acknowledged());
        let all: Consumers = read::meta(&*self.node.storage, ())?.unwrap_or_default();
        if all.0.iter().all(|known| known.name != name || known.after != after) {
            acknowledge_as(self.node, &name, after);
        }
        Ok(())
    }

    /// Waits a little, also when it was told to end.
    fn pause(&self, so_long: Duration, last: Option<Last>) {
        match last {
            None => _ = self.ending.wait(so_long),
            Some(_) => std::thread::sleep(so_long),
        }
    }

    /// The next entries, and the last of them; none where numbers have none.
    fn next(&self, (after, until): (u64, u64)) -> Result<Option<(Vec<Item>, u64)>, SinkError> {
        self.node.faults.check("sink.batch")?;
        let part = feed::Part { after, until, most: self.section.batch() };
        let (items, last) = feed::items(&*self.node.storage, part, |_| true)?;
        Ok(last.map(|last| (items, last)))
    }

    /// An entry is taken in hand; false for one that is passed over.
    fn takes(&self, entry: u64) -> Result<bool, SinkError> {
        self.in_hand.set(Some(entry));
        if self.deaths.is_over(&entry) {
            return Ok(false);
        }
        self.node.faults.check("sink.entry")?;
        Ok(true)
    }

    /// Makes what is sent of some entries, and sends it.
    fn send(
        &self,
        source: &Source<'_>,
        log: &str,
        (items, mut last): (Vec<Item>, u64),
        hand: &mut Hand,
    ) -> Result<Sent, SinkError> {
        let worked = Stopwatch::start();
        let (mut pieces, mut bytes, mut pages) = (Vec::new(), 0, HashSet::new());
        for item in &items {
            if self.takes(item.number)? {
                let piece = match self.section.kind {
                    SinkKind::OpenSearch => self.document(source, item, &mut pages)?,
                    _ => Some(self.line(source, item)?),
                };
                bytes += piece.as_ref().map_or(0, |piece| piece.bytes.len());
                pieces.extend(piece);
            }
            if bytes >= FULL {
                last = item.number;
                break;
            }
        }
        self.in_hand.set(None);
        give_way(self.node, self.ending, worked.elapsed());
        let mut outbox = Outbox::new(pieces, self.section.batch(), hand.trust);
        let sent = self.deliver(&mut outbox, log, hand)?;
        hand.trust = outbox.trust();
        Ok(sent.unwrap_or(Sent::All(last)))
    }

    fn line(&self, source: &Source<'_>, item: &Item) -> Result<Piece, SinkError> {
        let (id, url) = (HEXLOWER.encode(&id(item.entry.page)), item.url.clone());
        let mut piece = Piece { seq: item.number, id, url, ..Piece::default() };
        lines::write(source, item, self.section.text, &mut piece.bytes)?;
        Ok(piece)
    }

    /// What becomes of the page's document; nothing when another entry, or one before in this batch, says it.
    fn document(
        &self,
        source: &Source<'_>,
        item: &Item,
        pages: &mut HashSet<SeenKey>,
    ) -> Result<Option<Piece>, SinkError> {
        let (storage, key) = (&*self.node.storage, item.entry.page);
        let state = read::seen_state(storage, key)?;
        if is_old(&item.entry, state) || !pages.insert(key) {
            return Ok(None);
        }
        let version = match (read::latest_page(storage, key)?, item.entry.kind) {
            (Some((_, page)), _) => page.fetched.0,
            (None, Visit::Failed | Visit::Rejected) => return Ok(None), // there never was a document
            (None, _) => item.entry.at.0,
        };
        let wanted = Wanted { noindex: self.node.crawl.rules.settings.index.noindex == NoIndex::Ignore };
        if let Some(newest) = wanted.newest(storage, key, state)? {
            let row = Row::new(source, item.number, item.entry.clone(), newest.page.clone());
            if let Some(piece) = bulk::put(&row, &newest, version, self.section.text)? {
                return Ok(Some(piece));
            }
        }
        Ok(Some(bulk::remove(item.number, key, version, item.url.clone())))
    }

    /// Sends a batch until all of it is taken or rejected; what became of it else.
    fn deliver(&self, outbox: &mut Outbox, log: &str, hand: &mut Hand) -> Result<Option<Sent>, SinkError> {
        let node = self.node;
        let Some(poster) = self.poster else { return Ok(Some(Sent::RunOver)) };
        while let Some(request) = outbox.request() {
            self.told.tell(|told| {
                told.asked_since = Some(node.clock.date());
                if told.away_since.is_none() {
                    told.doing = Doing::Sending;
                }
            });
            let verdict = poster.post(self.section, log, &request, (&node.clock, self.ending));
            self.told.tell(|told| told.asked_since = None);
            let Some(verdict) = verdict else { return Ok(Some(Sent::RunOver)) };
            node.faults.check("sink.answered")?;
            let heard = outbox.hear(verdict);
            self.take_in(&heard)?;
            if heard.taken > 0 {
                hand.rest = Rest::default();
            }
            let Some(wait) = heard.wait else {
                if heard.taken > 0 {
                    self.answers();
                    hand.ends = None;
                }
                continue;
            };
            self.away(&wait);
            let so_long = hand.rest.take().max(wait.at_least.unwrap_or_default()).min(LONGEST);
            let last = self.ending.told();
            if last == Some(Last::Now)
                || last.is_some() && hand.ends.get_or_insert_with(Stopwatch::start).elapsed() > LAST_TIMEOUT
            {
                return Ok(Some(Sent::RunOver));
            }
            log::debug!("a sink tries again: sink={} in_s={} why={:?}", self.section.name, so_long.as_secs(), wait.why);
            self.pause(last.map_or(so_long, |_| so_long.min(LOOK)), last);
            if heard.round_over {
                return Ok(Some(Sent::None));
            }
        }
        Ok(None)
    }

    /// Counts what was taken, and lists what never will be.
    fn take_in(&self, heard: &Heard) -> Result<(), SinkError> {
        for rejected in &heard.rejected {
            let (piece, why) = (&rejected.piece, &rejected.why);
            let (seq, id, url, status) = (piece.seq, piece.id.as_str(), piece.url.as_deref(), Some(rejected.status));
            self.rejects.add(&Line { at_ms: self.node.clock.date(), seq, id, url, status, why }).map_err(self.io())?;
            let is_first = self.told.tell(|told| {
                told.rejected += 1;
                told.rejected == 1
            });
            if is_first {
                let name = &self.section.name;
                log::warn!(
                    "the server of a sink refuses a page for good; all such are in sinks/{name}.rejected.jsonl: entry={seq} why={why:?}"
                );
            }
        }
        self.told.tell(|told| (told.sent, told.removed) = (told.sent + heard.taken, told.removed + heard.removed));
        Ok(())
    }

    /// Nothing is taken: that is said once, and once more when it turns out that the server refuses it.
    fn away(&self, wait: &Wait) {
        let (node, name, why) = (self.node, &self.section.name, &wait.why);
        let is_new = self.told.tell(|told| {
            let is_new = told.away_since.is_none() || wait.refuses && told.doing != Doing::Refused;
            told.doing = if wait.refuses { Doing::Refused } else { Doing::Away };
            (told.failures, told.error) = (told.failures + 1, Some(why.clone()));
            told.away_since.get_or_insert(node.clock.date());
            is_new
        });
        if is_new {
            node.telemetry.troubles.note(node.clock.now(), trouble::SINK, format!("{name}: {why}"));
            let what =
                if wait.refuses { "the server of a sink refuses what it is sent" } else { "a sink takes nothing" };
            log::warn!("{what}; it is tried again and again, and the crawl goes on: sink={name} why={why:?}");
        }
    }

    /// Something is taken again.
    fn answers(&self) {
        let since = self.told.tell(|told| {
            told.error = None;
            told.away_since.take()
        });
        if let Some(since) = since {
            let away_s = self.node.clock.date().since(since).as_secs();
            let behind = self.node.crawl.progress.fed.borrow().unwrap_or(0).saturating_sub(self.acknowledged());
            log::info!("a sink takes pages again: sink={} away_s={away_s} behind={behind}", self.section.name);
            self.told.tell(|told| told.catches_up = true);
        }
    }

    fn caught_up(&self) {
        self.answers();
        let caught_up = self.told.tell(|told| {
            told.doing = Doing::Waiting;
            std::mem::take(&mut told.catches_up)
        });
        if caught_up {
            log::info!("a sink has caught up: sink={} entry={}", self.section.name, self.acknowledged());
        }
    }

    /// The run ends before all is handed on.
    fn left(&self, shown: u64) {
        let left = self.node.crawl.counters().fed.max(shown).saturating_sub(self.acknowledged());
        log::warn!(
            "the run ends before a sink has taken all; the next one goes on: sink={} left={left}",
            self.section.name
        );
    }

    /// Writes the next file. Gives the last entry in it; none when the run ends before it is whole.
    fn write(
        &self,
        source: &Source<'_>,
        folder: &Folder,
        after: u64,
        (items, last): (Vec<Item>, u64),
    ) -> Result<Option<u64>, SinkError> {
        self.told.tell(|told| told.doing = Doing::Sending);
        let part = Part { after, last, items: &items, text: self.section.text };
        let written = match folder.write(source, &part, &|entry| self.takes(entry), &Goes { life: self }) {
            Err(SinkError::Export(_)) if self.ending.told() == Some(Last::Now) => return Ok(None),
            written => written?,
        };
        self.in_hand.set(None);
        self.answers();
        self.node.faults.check("sink.written")?;
        let without_capture = if self.section.kind == SinkKind::Jsonl { written.counts.without_capture } else { 0 };
        self.told.tell(|told| told.sent += written.counts.pages + without_capture);
        Ok(Some(last))
    }

    /// A fault of the system with this sink's own files.
    fn io(&self) -> impl Fn(std::io::Error) -> SinkError {
        let doing = format!("the files of the sink {}", self.section.name);
        move |source| SinkError::Io { doing: doing.clone(), source }
    }
}

/// Whoever has a file written: it ends with the run.
struct Goes<'l, 'a> {
    life: &'l Life<'a>,
}

impl Owner for Goes<'_, '_> {
    fn goes_on(&self) -> bool {
        self.life.ending.told() != Some(Last::Now)
    }
}
