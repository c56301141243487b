//! Captures of other hosts that rely on a record of the host: their payload was the same, so it was stored once. Each gets a record of its
//! own with that payload, in a new file; a 304 refers to the capture of its own URL instead. Where the payload cannot be read any more the
//! page is queued again.

use std::io::{BufReader, Seek, SeekFrom};

use super::{EraseError, OTHERS, Result, Work};
use crate::recovery::check::line_of;
use crate::storage::keys::{ContentKey, Key, KeyRange, PageKey, after};
use crate::storage::ledger::Change;
use crate::storage::tables::Pages;
use crate::storage::values::{DoneKind, FileLengths, PageRecord, WarcPlace};
use crate::storage::{Storage, read};
use crate::warc::archive::{Archive, Strays};
use crate::warc::digest::WarcDigest;
use crate::warc::page::PageRecords;
use crate::warc::pick::{opened_file, response_at};
use crate::warc::reader::WarcReader;
use crate::warc::recast::{Read, Recast, read_next, recast};
use crate::warc::record::{PROFILE_NOT_MODIFIED, RefersTo};

/// Captures looked at together.
const CHUNK: usize = 200;
/// Longest payload that is carried over, bytes.
const MOST: u64 = 256 << 20;
/// Records of a capture: revisit, request, metadata.
const OF_A_CAPTURE: usize = 3;

/// What a capture has from now on: its records, and how it ended; none when the payload is lost.
type Fate = Option<(PageRecords, DoneKind)>;

impl Work<'_> {
    pub(super) fn others(&mut self) -> Result<()> {
        let erase = self.erase;
        let lengths = read::meta::<FileLengths>(self.storage, ())?.unwrap_or_default();
        let (mut archive, _) = Archive::open(erase.archive.clone(), &lengths, None, Strays::Remove, erase.now)?;
        let (mut from, mut looked) = (Vec::new(), 0);
        loop {
            self.tell(OTHERS, "captures of others", looked);
            self.may_go_on()?;
            let range = KeyRange { from, until: Vec::new() };
            let captures = read::scan::<Pages>(self.storage, &range, CHUNK)?;
            let Some((last, _)) = captures.last() else { break };
            from = after(&last.encode());
            looked += captures.len() as u64;
            for (key, page) in &captures {
                self.may_go_on()?;
                if let Some((records, place)) = self.relies(key, page)? {
                    let fate = self.fate(key, page, &records, &place)?;
                    self.carry(&mut archive, key, page, fate)?;
                }
            }
        }
        archive.close()?;
        self.through_ledger(|_, txn| {
            txn.put_meta((), &archive.file_lengths());
            Ok(())
        })?;
        Ok(self.storage.sync()?)
    }

    /// The records of a capture that relies on one of the host's, and where the payload is.
    fn relies(&self, key: &PageKey, page: &PageRecord) -> Result<Option<(Vec<Read>, Option<WarcPlace>)>> {
        let own = self.host.at == key.seen().host_crawl().host_at();
        let (Some(place), Some(digest)) = (&page.warc, page.content) else { return Ok(None) };
        if own || !page.how.is_revisit() {
            return Ok(None);
        }
        let first = read::content(self.storage, ContentKey::from(digest))?;
        let Some(first) = first.filter(|first| self.host.is_at(first.first.partition, first.first.host)) else {
            return Ok(None);
        };
        let records = self.records_at(place).unwrap_or_default();
        let relies = records.first().and_then(|(header, _)| header.get("WARC-Refers-To-Target-URI"));
        if !relies.is_some_and(|url| self.host.owns(url)) {
            return Ok(None);
        }
        let payload = read::get::<Pages>(self.storage, &first.first)?.and_then(|page| page.warc);
        Ok(Some((records, payload)))
    }

    /// The records of a capture; none when they cannot be read.
    fn records_at(&self, place: &WarcPlace) -> Option<Vec<Read>> {
        let mut file = opened_file(&self.erase.look.warc, &place.file).ok()?;
        file.seek(SeekFrom::Start(place.offset)).ok()?;
        let mut reader = WarcReader::new(BufReader::new(file), place.offset);
        let mut records = vec![read_next(&mut reader, MOST).ok()??];
        while records.len() < OF_A_CAPTURE {
            let id = records.first()?.0.get("WARC-Record-ID").map(str::to_owned);
            match read_next(&mut reader, MOST) {
                Ok(Some(next)) if id.is_some() && next.0.get("WARC-Concurrent-To") == id.as_deref() => {
                    records.push(next)
                }
                _ => break,
            }
        }
        Some(records)
    }

    fn fate(&self, key: &PageKey, page: &PageRecord, records: &[Read], payload: &Option<WarcPlace>) -> Result<Fate> {
        let compression = self.erase.archive.compression;
        let built = |what: Recast<'_>, how: DoneKind| {
            let made = recast(records, what, compression);
            Ok(Some((made.map_err(EraseError::io("write anew a record of", self.erase.data()))?, how)))
        };
        if page.how == DoneKind::NotModified {
            let captures = read::scan::<Pages>(self.storage, &KeyRange::captures(key.seen()), usize::MAX)?;
            let mut older = captures.iter().map(|(_, page)| page).filter(|older| older.fetched < page.fetched);
            let Some(older) = older.find(|older| older.how != DoneKind::NotModified && older.content == page.content)
            else {
                return Ok(None);
            };
            let (url, date) = (older.asked(), older.fetched);
            return built(Recast::Refers(&RefersTo { profile: PROFILE_NOT_MODIFIED, url: &url, date }), page.how);
        }
        let Some(place) = payload else { return Ok(None) };
        match response_at(&self.erase.look.warc, &place.file, place.offset, MOST) {
            Ok(picked) if sha1_is(&picked.body, page) => {
                built(Recast::Response(&picked.body, page.cut), DoneKind::Stored)
            }
            Ok(_) => Ok(None),
            Err(e) => {
                log::warn!("a payload that another page relies on cannot be read, so that page is queued again: {e}");
                Ok(None)
            }
        }
    }

    fn carry(&self, archive: &mut Archive, key: &PageKey, page: &PageRecord, fate: Fate) -> Result<()> {
        let Some((records, how)) = fate else {
            // It stays a capture without a body.
            return self.through_ledger(|ledger, txn| {
                ledger.apply(txn, &Change::FetchAgain(vec![*key]), self.erase.now, &|_| false).map(drop)
            });
        };
        let now = self.erase.now;
        if archive.rotate_due(now) {
            archive.close()?;
        }
        let place = archive.append([&records], now)?.pop();
        let place =
            place.map(|place| WarcPlace { file: place.file.to_string(), offset: place.offset, length: place.length });
        let moved = PageRecord { warc: place, how, ..page.clone() };
        archive.log([&line_of(&moved)])?;
        archive.sync()?; // before the database names the place (I3)
        self.through_ledger(|ledger, txn| {
            txn.put_meta((), &archive.file_lengths());
            ledger.recast(txn, key, page, &moved)
        })?;
        Ok(self.erase.faults.check("erase.carried")?)
    }
}

fn sha1_is(body: &[u8], page: &PageRecord) -> bool {
    WarcDigest::of(body).0 == page.payload_digest
}
