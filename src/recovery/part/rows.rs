//! The records of some partitions: copied to another folder and counted on the way, and removed.

use std::collections::BTreeSet;
use std::path::Path;

use super::credit::CreditPart;
use super::{CRAWL, PartError, Result, Side, Tell};
use crate::domain::partition::PartitionSet;
use crate::recovery::check::feed::entry_of;
use crate::recovery::check::judge::Totals;
use crate::storage::error::hex;
use crate::storage::keys::{ContentKey, FeedKey, Key, KeyRange, NoteKey, SeenKey, after};
use crate::storage::tables::{Content, Feed};
use crate::storage::values::{
    ContentValue, Counters, CreditState, CreditValue, HostCounts, HostState, PageRecord, UrlState, Value,
};
use crate::storage::{Batch, Family, Storage, read};

/// Records read, and written, at a time.
const CHUNK: usize = 4_000;
/// Bytes of a batch.
const BATCH: usize = 4 << 20;

/// What was copied.
pub(super) struct Copied {
    /// What is counted of it.
    pub counters: Counters,
    /// The files of the archive in which its captures are.
    pub files: BTreeSet<String>,
    /// Its part of link credit.
    pub credit: CreditPart,
    /// Records.
    pub records: u64,
}

/// How records change on their way.
pub(super) struct Way<'w> {
    /// Link credit as it is in the folder they come from, where it has any.
    pub credit: Option<&'w CreditState>,
    /// Index of the pool of all in the folder they go to, for accounts that are paid out on the way; none: it is the same.
    pub root_index: Option<u128>,
    /// Media types that are counted by name.
    pub like: &'w Counters,
    /// The last entry of the feed of the folder they go to: it is told of each finished page; none: it is told nothing.
    pub fed: Option<u64>,
}

/// Copies all records that move with partitions, or counts them only, where they go nowhere. What is there already is written again.
pub(super) fn copy(
    from: &Side<'_>,
    to: Option<&dyn Storage>,
    set: &PartitionSet,
    way: Way<'_>,
    tell: Tell<'_>,
) -> Result<Copied> {
    let ranges = KeyRange::partitions(set);
    let mut copied =
        Copied { counters: Counters::default(), files: BTreeSet::new(), credit: CreditPart::default(), records: 0 };
    let (mut totals, mut fed, mut out) = (Totals::like(way.like), way.fed, Out::new(to));
    for family in Family::moving() {
        for range in &ranges {
            each(from.storage, family, range, &mut |key, mut value| {
                let damaged = || damaged(&from.data, family, key);
                count(&mut totals, &mut copied.files, family, &value).map_err(|_| damaged())?;
                if family == Family::Credit {
                    let state = way.credit.ok_or_else(damaged)?;
                    let key = SeenKey::decode(key).map_err(|_| damaged())?;
                    let account = CreditValue::decode(&value).map_err(|_| damaged())?;
                    value = copied.credit.take(from.storage, state, (key, account), way.root_index)?.encode();
                }
                if let (Family::Seen, Some(fed)) = (family, &mut fed) {
                    let key = SeenKey::decode(key).map_err(|_| damaged())?;
                    let state = UrlState::decode(&value).map_err(|_| damaged())?;
                    if let Some(entry) = entry_of(key, &state, false) {
                        *fed += 1;
                        out.batch.put::<Feed>(&FeedKey { number: *fed }, &entry);
                    }
                }
                out.batch.put_raw(family, key.to_vec(), value);
                copied.records += 1;
                if copied.records.is_multiple_of(CHUNK as u64) {
                    tell("records", copied.records);
                }
                out.flush(BATCH)
            })?;
        }
    }
    out.flush(0)?;
    totals.counters.fed = fed.unwrap_or_default();
    copied.counters = totals.counters;
    Ok(copied)
}

/// Counts a record as a check does.
fn count(
    totals: &mut Totals,
    files: &mut BTreeSet<String>,
    family: Family,
    value: &[u8],
) -> std::result::Result<(), crate::storage::values::ValueError> {
    match family {
        Family::Seen => totals.state(&UrlState::decode(value)?),
        Family::Pages => {
            let page = PageRecord::decode(value)?;
            totals.page(&page);
            if let Some(place) = page.warc
                && !files.contains(&place.file)
            {
                files.insert(place.file);
            }
        }
        Family::HostState => totals.counters.hosts += u64::from(!HostState::decode(value)?.name.is_empty()),
        Family::HostCounts => totals.counts(&HostCounts::decode(value)?),
        Family::Failed => totals.counters.failed += 1,
        Family::Nearer => totals.counters.nearer += 1,
        _ => {}
    }
    Ok(())
}

/// Copies first captures of contents that are in these partitions, where the other has none with that content.
pub(super) fn copy_contents(from: &Side<'_>, to: &dyn Storage, set: &PartitionSet) -> Result<()> {
    let mut out = Out::new(Some(to));
    contents_of(from, set, &mut |key, value| {
        if to.get(Family::Content, &key.encode())?.is_none() {
            out.batch.put::<Content>(&key, &value);
        }
        out.flush(BATCH)
    })?;
    out.flush(0)
}

/// Removes all records that move with partitions, and the contents whose first capture was in them; also what stands behind the last number
/// of the feed and of the notes, as a taking in that was killed leaves it.
pub(super) fn clear(side: &Side<'_>, set: &PartitionSet, tell: Tell<'_>) -> Result<()> {
    let mut gone = Batch::new();
    contents_of(side, set, &mut |key, _| {
        gone.delete::<Content>(&key);
        if gone.len() >= CHUNK {
            side.storage.write(&gone)?;
            gone.clear();
        }
        Ok(())
    })?;
    side.storage.write(&gone)?;
    let ranges = KeyRange::partitions(set);
    for (nth, family) in Family::moving().enumerate() {
        tell("families cleared", nth as u64);
        ranges.iter().try_for_each(|range| side.storage.clear(family, range))?;
    }
    let next = read::meta::<CreditState>(side.storage, CRAWL)?.map_or(0, |state| state.next);
    let notes = KeyRange { from: NoteKey { crawl: CRAWL, number: next }.encode(), until: Vec::new() };
    for (family, range) in [(Family::Feed, KeyRange::feed(counters_of(side)?.fed, u64::MAX)), (Family::Notes, notes)] {
        if !side.storage.scan(family, &range.from, &range.until, 1)?.is_empty() {
            side.storage.clear(family, &range)?;
        }
    }
    Ok(())
}

fn contents_of(
    side: &Side<'_>,
    set: &PartitionSet,
    act: &mut dyn FnMut(ContentKey, ContentValue) -> Result<()>,
) -> Result<()> {
    each(side.storage, Family::Content, &KeyRange::all(), &mut |key, value| {
        let damaged = || damaged(&side.data, Family::Content, key);
        let content = ContentValue::decode(&value).map_err(|_| damaged())?;
        if !set.has(content.first.partition) {
            return Ok(());
        }
        act(ContentKey::decode(key).map_err(|_| damaged())?, content)
    })
}

pub(super) fn damaged(data: &Path, family: Family, key: &[u8]) -> PartError {
    PartError::Damaged { data: data.to_owned(), family, key: hex(key) }
}

/// What is done with each record: its key, its value.
type Act<'a> = &'a mut dyn FnMut(&[u8], Vec<u8>) -> Result<()>;

/// Goes through a range.
pub(super) fn each(storage: &dyn Storage, family: Family, range: &KeyRange, act: Act<'_>) -> Result<()> {
    let mut from = range.from.clone();
    loop {
        let found = storage.scan(family, &from, &range.until, CHUNK)?;
        let next = found.last().filter(|_| found.len() == CHUNK).map(|(last, _)| after(last));
        for (key, value) in found {
            act(&key, value)?;
        }
        match next {
            Some(next) => from = next,
            None => return Ok(()),
        }
    }
}

/// Bounded batches; without a store they are made and forgotten.
pub(super) struct Out<'s> {
    to: Option<&'s dyn Storage>,
    pub batch: Batch,
}

impl<'s> Out<'s> {
    pub fn new(to: Option<&'s dyn Storage>) -> Self {
        Self { to, batch: Batch::new() }
    }

    /// Writes what has more bytes.
    pub fn flush(&mut self, most: usize) -> Result<()> {
        if self.batch.bytes() > most || (most == 0 && !self.batch.is_empty()) {
            self.to.map_or(Ok(0), |to| to.write(&self.batch))?;
            self.batch.clear();
        }
        Ok(())
    }
}

/// Counts of both together; numbers that are never given out twice are the larger ones.
pub(super) fn added(a: &Counters, b: &Counters) -> Counters {
    let mut sum = together(a, b, u64::saturating_add);
    (sum.next_seq, sum.next_commit) = (a.next_seq.max(b.next_seq), a.next_commit.max(b.next_commit));
    sum.too_deep |= b.too_deep;
    sum.seed_cycles = a.seed_cycles.max(b.seed_cycles);
    sum
}

/// What is left when a part has gone.
pub(super) fn less(all: &Counters, part: &Counters) -> Counters {
    let mut left = together(all, part, u64::saturating_sub);
    (left.next_seq, left.next_commit, left.fed) = (all.next_seq, all.next_commit, all.fed);
    left
}

fn together(a: &Counters, b: &Counters, each: fn(u64, u64) -> u64) -> Counters {
    let mut out = a.clone();
    for (is, by) in [
        (&mut out.discovered, b.discovered),
        (&mut out.queued, b.queued),
        (&mut out.done, b.done),
        (&mut out.pages_stored, b.pages_stored),
        (&mut out.revisits, b.revisits),
        (&mut out.redirects, b.redirects),
        (&mut out.bytes, b.bytes),
        (&mut out.hosts, b.hosts),
        (&mut out.hosts_waiting, b.hosts_waiting),
        (&mut out.hosts_parked, b.hosts_parked),
        (&mut out.fetch_ms, b.fetch_ms),
        (&mut out.failed, b.failed),
        (&mut out.nearer, b.nearer),
        (&mut out.frontier.retries, b.frontier.retries),
        (&mut out.frontier.hosts_held, b.frontier.hosts_held),
        (&mut out.frontier.visits, b.frontier.visits),
        (&mut out.frontier.visit_load, b.frontier.visit_load),
    ] {
        *is = each(*is, by);
    }
    out.frontier.ranks.iter_mut().zip(b.frontier.ranks).for_each(|(is, by)| *is = each(*is, by));
    for (to, from) in [(&mut out.errors, &b.errors), (&mut out.rejected, &b.rejected)] {
        from.iter().for_each(|(code, n)| {
            let sum = to.entry(*code).or_default();
            *sum = each(*sum, *n);
        });
        to.retain(|_, n| *n > 0);
    }
    b.statuses.iter().for_each(|(class, n)| {
        let sum = out.statuses.entry(*class).or_default();
        *sum = each(*sum, *n);
    });
    out.statuses.retain(|_, n| *n > 0);
    b.types.iter().for_each(|(name, (captures, bytes))| {
        let sum = out.types.entry(name.clone()).or_default();
        *sum = (each(sum.0, *captures), each(sum.1, *bytes));
    });
    out
}

/// The counters of a folder.
pub(super) fn counters_of(side: &Side<'_>) -> Result<Counters> {
    Ok(read::meta(side.storage, CRAWL)?.unwrap_or_default())
}
