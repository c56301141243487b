//! The database: what of it is of a host, and how that goes.

use std::collections::BTreeMap;
use std::path::Path;

use super::{DATABASE, EraseError, Far, Host, Result, TABLES, Work};
use crate::domain::fingerprint::{CrawlId, Fingerprinter};
use crate::domain::near::Near;
use crate::domain::reason::Rejection;
use crate::domain::refresh::Rate;
use crate::domain::visit::Visit;
use crate::recovery::check::of_no_group;
use crate::storage::keys::{
    ContentKey, DueKey, FeedKey, Key, KeyRange, MetaKey, NearKey, NearMemberKey, PageKey, ParkedKey, SeenKey,
    WaitingKey, after,
};
use crate::storage::ledger::Ledger;
use crate::storage::tables::{Content, Feed, Notes, Pages, Seen};
use crate::storage::txn::Txn;
use crate::storage::values::{
    ContentValue, DoneKind, FeedEntry, Format, HostState, NoteValue, PageRecord, RejectedValue, UrlState, Value,
    WarcPlace,
};
use crate::storage::{Batch, Family, RocksOptions, RocksStorage, Storage, StorageError, read};

/// Records read at a time.
const CHUNK: usize = 1_000;
/// Records of one batch.
const BATCH: usize = 500;

/// What a record of the database is to the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Is {
    Own,
    /// The order that blocks it.
    Order,
    /// An entry of the feed that says by ids that something was erased.
    Erased,
    /// A URL of it to which another linked, turned away because the host is blocked.
    TurnedAway,
    /// Of another; whether it names the host.
    Other(bool),
}

/// Told of each record: its family, key and value.
pub type Act<'a> = &'a mut dyn FnMut(Family, &[u8], &[u8]) -> Result<()>;

/// Every record, in the order of families and keys.
pub fn each(storage: &dyn Storage, act: Act<'_>) -> Result<()> {
    Family::ALL.iter().try_for_each(|family| each_of(storage, *family, KeyRange::all(), act))
}

/// Every record of a range; what `act` removes meanwhile does no harm.
fn each_of(storage: &dyn Storage, family: Family, range: KeyRange, act: Act<'_>) -> Result<()> {
    let mut from = range.from;
    loop {
        let found = storage.scan(family, &from, &range.until, CHUNK)?;
        for (key, value) in &found {
            act(family, key, value)?;
        }
        match found.last() {
            Some((last, _)) if found.len() == CHUNK => from = after(last),
            _ => return Ok(()),
        }
    }
}

/// What a record is to the host. One that is damaged is judged by its key.
pub fn what_is(host: &Host, family: Family, key: &[u8], value: &[u8]) -> Is {
    let own = match family {
        Family::Seen | Family::Rejected if key.starts_with(&host.prefix) && is_turned_away(family, value) => {
            return Is::TurnedAway;
        }
        Family::Queue
        | Family::HostCounts
        | Family::Seen
        | Family::Pages
        | Family::Rejected
        | Family::Failed
        | Family::Nearer
        | Family::Seeds
        | Family::Visits
        | Family::Credit
        | Family::Robots => key.starts_with(&host.prefix),
        Family::HostState if key == host.prefix => {
            let bare = HostState::decode(value)
                .is_ok_and(|state| state.pace.is_empty() && state.rate == Rate::default() && !state.orders.is_empty());
            return if bare { Is::Order } else { Is::Own };
        }
        Family::HostState | Family::Outbox => false, // links to others are packed together
        Family::Waiting => WaitingKey::decode(key).is_ok_and(|key| key.host_at() == host.at),
        Family::Parked | Family::VisitHosts => ParkedKey::decode(key).is_ok_and(|key| key.host_at() == host.at),
        Family::Due | Family::Sitemaps => DueKey::decode(key).is_ok_and(|key| host.is_at(key.partition, key.host)),
        Family::Near => NearKey::decode(key).is_ok_and(|key| host.is_at(key.partition, key.host)),
        Family::NearMembers => NearMemberKey::decode(key)
            .is_ok_and(|key| host.is_at(key.partition, key.host) || host.is_at(key.partition, key.member_host)),
        Family::Content => ContentValue::decode(value).is_ok_and(|content| is_first(host, &content)),
        Family::Feed => match FeedEntry::decode(value) {
            Ok(entry) if host.is_at(entry.page.partition, entry.page.host) => {
                if entry.kind == Visit::Erased {
                    return Is::Erased;
                }
                true
            }
            _ => false,
        },
        Family::Notes => {
            NoteValue::decode(value).is_ok_and(|note| note.to.iter().any(|to| host.is_at(to.partition, to.host)))
        }
        Family::Meta => matches!(MetaKey::decode(key), Ok(MetaKey::Joined(_, joined)) if joined == host.at.host),
    };
    if own { Is::Own } else { Is::Other(host.is_named_in(value)) }
}

fn is_turned_away(family: Family, value: &[u8]) -> bool {
    match family {
        Family::Seen => UrlState::decode(value).is_ok_and(|state| is_blocked(&state)),
        _ => RejectedValue::decode(value).is_ok_and(|value| value.reason == Rejection::Blocked),
    }
}

fn is_blocked(state: &UrlState) -> bool {
    matches!(state, UrlState::Rejected { reason: Rejection::Blocked, .. })
}

fn is_first(host: &Host, content: &ContentValue) -> bool {
    host.is_at(content.first.partition, content.first.host)
}

/// The files of the archive in which captures of the host are, and how many.
pub fn files_of(storage: &dyn Storage, host: &Host) -> Result<BTreeMap<String, u64>> {
    let mut files = BTreeMap::new();
    each_of(storage, Family::Pages, KeyRange::host(host.at), &mut |_, _, value| {
        let place = PageRecord::decode(value).ok().and_then(|page| page.warc);
        place.into_iter().for_each(|place| *files.entry(place.file).or_default() += 1);
        Ok(())
    })?;
    Ok(files)
}

/// Whether a database knows a host; true when it cannot be read.
pub fn has(dir: &Path, host: &Host) -> bool {
    let little = RocksOptions { memory: 16 << 20, open_files: 64, ..RocksOptions::default() };
    let knows = || -> std::result::Result<bool, StorageError> {
        let storage = RocksStorage::look(dir, little)?;
        let mut range = KeyRange::host(host.at);
        if !read::scan::<Pages>(&storage, &range, 1)?.is_empty() {
            return Ok(true);
        }
        loop {
            let urls = read::scan::<Seen>(&storage, &range, CHUNK)?;
            if !urls.iter().all(|(_, state)| is_blocked(state)) {
                return Ok(true);
            }
            match urls.last() {
                Some((last, _)) if urls.len() == CHUNK => range.from = after(&last.encode()),
                _ => return Ok(false),
            }
        }
    };
    knows().unwrap_or(true)
}

/// Whether a capture of a URL, as the archive writes it, is the one that stands there.
pub fn is_captured(storage: &dyn Storage, host: &Host, target: &str, (file, offset): (&str, u64)) -> Result<bool> {
    let format = read::meta::<Format>(storage, ())?;
    let prints = Fingerprinter::new(format.map_or(0, |format| format.seed));
    for url in host.meant(target) {
        let key = SeenKey::of(&prints, CrawlId::default(), &url);
        let captures = read::scan::<Pages>(storage, &KeyRange::captures(key), usize::MAX)?;
        let here = |place: &WarcPlace| place.file == file && place.offset == offset;
        if captures.iter().any(|(_, page)| page.warc.as_ref().is_some_and(here)) {
            return Ok(true);
        }
    }
    Ok(false)
}

impl Work<'_> {
    /// One change through the ledger, as one batch.
    pub(super) fn through_ledger(
        &self,
        change: impl FnOnce(&mut Ledger, &mut Txn<'_>) -> std::result::Result<(), StorageError>,
    ) -> Result<()> {
        let mut ledger = Ledger::open(self.storage, self.rules.clone())?;
        let mut txn = Txn::new(self.storage);
        change(&mut ledger, &mut txn)?;
        ledger.seal(&mut txn)?;
        self.storage.write(&txn.into_batch())?;
        self.erase.faults.check("erase.batch")?;
        Ok(())
    }

    /// Nothing of the host is asked for any more, whatever becomes of the rest.
    pub(super) fn block(&mut self) -> Result<()> {
        let now = self.note.began();
        self.through_ledger(|ledger, txn| ledger.erase_host(txn, &self.host.name, now))?;
        Ok(self.storage.sync()?)
    }

    /// Everything that is keyed by the host.
    pub(super) fn database(&mut self) -> Result<()> {
        self.contents()?;
        self.captures()?;
        self.urls()?;
        self.notes()?;
        self.rest()?;
        self.storage.sync()?;
        self.rewrite()
    }

    /// Contents whose first capture is of the host get another one that has the same, or go; what is near to a text of it is of no group.
    fn contents(&mut self) -> Result<()> {
        let (storage, host) = (self.storage, self.host);
        let mut batch = Batch::new();
        each_of(storage, Family::Pages, KeyRange::all(), &mut |_, key, value| {
            self.may_go_on()?;
            if key.starts_with(&host.prefix) {
                return Ok(());
            }
            let (Ok(key), Ok(page)) = (PageKey::decode(key), PageRecord::decode(value)) else { return Ok(()) };
            let near = page.remarks.near.as_ref().and_then(Near::like);
            if near.is_some_and(|(leader, _)| host.owns(leader)) {
                batch.put::<Pages>(&key, &of_no_group(page.clone())); // its row goes with the leader's
            }
            let Some(digest) = page.content.filter(|_| page.how == DoneKind::Stored) else { return Ok(()) };
            let content = ContentKey::from(digest);
            if read::content(storage, content)?.is_some_and(|first| is_first(host, &first)) {
                let url = page.asked().into_owned();
                let value = ContentValue { first: key, url, date: page.fetched, payload: page.payload_digest };
                batch.put::<Content>(&content, &value);
            }
            flush(storage, &mut batch, BATCH)
        })?;
        flush(storage, &mut batch, 0)?;
        each_of(storage, Family::Content, KeyRange::all(), &mut |family, key, value| {
            if what_is(host, family, key, value) == Is::Own {
                batch.delete_raw(family, key.to_vec());
            }
            flush(storage, &mut batch, BATCH)
        })?;
        flush(storage, &mut batch, 0)?;
        Ok(self.erase.faults.check("erase.contents")?)
    }

    fn captures(&mut self) -> Result<()> {
        let mut done = 0;
        loop {
            self.tell(DATABASE, "captures", done);
            self.may_go_on()?;
            let captures = read::scan::<Pages>(self.storage, &KeyRange::host(self.host.at), BATCH)?;
            if captures.is_empty() {
                return Ok(());
            }
            done += captures.len() as u64;
            self.through_ledger(|ledger, txn| ledger.erase_captures(txn, &captures))?;
        }
    }

    fn urls(&mut self) -> Result<()> {
        let now = self.note.began();
        let mut done = 0;
        loop {
            self.tell(DATABASE, "URLs", done);
            self.may_go_on()?;
            let urls = read::scan::<Seen>(self.storage, &KeyRange::host(self.host.at), BATCH)?;
            if urls.is_empty() {
                return Ok(());
            }
            done += urls.len() as u64;
            self.through_ledger(|ledger, txn| ledger.erase_urls(txn, &urls, now))?;
        }
    }

    /// Shares of link credit that were on their way to pages of the host.
    fn notes(&mut self) -> Result<()> {
        let mut range = KeyRange::all();
        loop {
            self.may_go_on()?;
            let notes = read::scan::<Notes>(self.storage, &range, BATCH)?;
            if notes.is_empty() {
                return Ok(());
            }
            self.through_ledger(|ledger, txn| ledger.erase_notes(txn, self.host.at, &notes))?;
            match notes.last() {
                Some((last, _)) if notes.len() == BATCH => range.from = after(&last.encode()),
                _ => return Ok(()),
            }
        }
    }

    /// What is left: robots.txt, counts, entries of the feed, and whatever stands there without its URL.
    fn rest(&mut self) -> Result<()> {
        let (storage, host) = (self.storage, self.host);
        let mut batch = Batch::new();
        each(storage, &mut |family, key, value| {
            self.may_go_on()?;
            match (what_is(host, family, key, value), family) {
                (Is::Own, Family::Feed) => {
                    if let (Ok(number), Ok(entry)) = (FeedKey::decode(key), FeedEntry::decode(value)) {
                        let bare = FeedEntry { kind: Visit::Erased, captured: None, why: None, ..entry };
                        batch.put::<Feed>(&number, &bare);
                    }
                }
                (Is::Own, _) => batch.delete_raw(family, key.to_vec()),
                _ => {}
            }
            flush(storage, &mut batch, BATCH)
        })?;
        flush(storage, &mut batch, 0)?;
        Ok(self.erase.faults.check("erase.keys")?)
    }

    /// What was deleted leaves the disk.
    fn rewrite(&mut self) -> Result<()> {
        let tell = &mut self.tell;
        let kept = self.storage.rewrite(&self.erase.stop, |family| {
            let nth = Family::ALL.iter().position(|one| *one == family).unwrap_or_default();
            tell(Far { step: TABLES, what: "families of the database written anew", done: nth as u64 });
        })?;
        self.may_go_on()?;
        if kept > 0 {
            return Err(EraseError::Tables { kept, path: self.erase.data().join("db") });
        }
        Ok(self.erase.faults.check("erase.rewritten")?)
    }
}

/// Writes a batch that has grown to so many changes.
fn flush(storage: &dyn Storage, batch: &mut Batch, most: usize) -> Result<()> {
    if batch.len() > most {
        storage.write(batch)?;
        batch.clear();
    }
    Ok(())
}
