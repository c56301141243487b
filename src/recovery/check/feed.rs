//! The feed: entries where they belong, and for each finished page one that says what became of it (I10).

use std::io;

use super::pass::Pass;
use super::stream::{Stream, each_chunk};
use super::{CheckError, Fault, Result, stored_counters};
use crate::base::sort::{Sorted, Sorter};
use crate::base::time::UnixMillis;
use crate::domain::visit::Visit;
use crate::storage::error::hex;
use crate::storage::keys::{FeedKey, Key, SeenKey};
use crate::storage::read;
use crate::storage::tables::{Feed, Seen};
use crate::storage::values::{DoneKind, FeedEntry, FeedLog, UrlState, Value};

/// Goes through the entries, then through the pages beside them.
pub fn feed(pass: &mut Pass<'_>) -> Result<()> {
    let log: FeedLog = read::meta(pass.storage, ()).ok().flatten().unwrap_or_default();
    pass.totals.counters.fed = stored_counters(pass.storage).fed; // also where the last ones are gone
    let mut told = Sorter::new(&std::env::temp_dir());
    each_chunk::<Feed>(pass, |pass, rows| {
        for row in rows {
            let number = row.key.number;
            pass.totals.counters.fed = pass.totals.counters.fed.max(number);
            if number <= log.trimmed {
                let detail = format!("entries up to {} were let go", log.trimmed);
                pass.find(Fault::FeedStray, &format!("feed {number}"), &detail, |batch| {
                    batch.delete::<Feed>(&row.key)
                })?;
            }
            told.push(&record(number, &row.value)).map_err(sorting())?;
        }
        Ok(())
    })?;
    untold(pass, told.sorted().map_err(sorting())?, log.trimmed > 0)
}

fn sorting() -> impl FnOnce(io::Error) -> CheckError {
    CheckError::io("sort keys in", &std::env::temp_dir())
}

/// The page, the number, and what is said of it, so that the newest of a page comes last.
fn record(number: u64, entry: &FeedEntry) -> Vec<u8> {
    [&entry.page.encode()[..], &number.to_be_bytes(), &entry.encode()].concat()
}

/// Finished pages whose newest entry says something else, or that have none. `trimmed`: it may have been let go.
fn untold(pass: &mut Pass<'_>, mut told: Sorted, trimmed: bool) -> Result<()> {
    let mut next = told.next_record().map_err(sorting())?;
    let mut seen = Stream::<Seen>::quiet();
    while let Some(row) = seen.next_in(pass, &[])? {
        let mut newest = None;
        while let Some(record) = next.take() {
            if record.get(..SeenKey::LEN).is_some_and(|page| page > &row.raw[..]) {
                next = Some(record);
                break;
            }
            newest = Some(record).filter(|record| record.starts_with(&row.raw)).or(newest);
            next = told.next_record().map_err(sorting())?;
        }
        let newest = newest.and_then(|record| FeedEntry::decode(record.get(SeenKey::LEN + 8..)?).ok());
        // What was erased was told as that, and is not known any more.
        let newest = newest.filter(|entry| entry.kind != Visit::Erased);
        let Some(entry) = entry_of(row.key, &row.value, newest.is_some()) else { continue };
        let fits = newest.map_or(trimmed, |newest| says(&newest, &entry));
        if !fits {
            pass.totals.counters.fed += 1;
            let (key, subject) = (FeedKey { number: pass.totals.counters.fed }, format!("page {}", hex(&row.raw)));
            let detail = "its end is told by no entry";
            pass.find(Fault::FeedMissing, &subject, detail, |batch| batch.put::<Feed>(&key, &entry))?;
        }
    }
    Ok(())
}

/// Whether an entry says what one made now would: as far as the state of the page tells.
fn says(newest: &FeedEntry, now: &FeedEntry) -> bool {
    let (kind, same) = (newest.kind, newest.captured == now.captured);
    match now.kind {
        Visit::Failed => matches!(kind, Visit::Failed | Visit::Gone) && newest.why == now.why,
        Visit::Rejected => kind == Visit::Rejected,
        Visit::Redirect => same && kind == Visit::Redirect,
        _ => same && kind.is_content(),
    }
}

/// What would be told of a finished page now. `known`: something was told of it before.
pub(in crate::recovery) fn entry_of(page: SeenKey, state: &UrlState, known: bool) -> Option<FeedEntry> {
    let (kind, captured, why) = match *state {
        UrlState::Done { captured, how: DoneKind::Redirect, .. } => (Visit::Redirect, Some(captured), None),
        UrlState::Done { captured, .. } if known => (Visit::Changed, Some(captured), None),
        UrlState::Done { captured, .. } => (Visit::First, Some(captured), None),
        UrlState::Error { reason } => (Visit::Failed, None, Some(reason.code())),
        // What was never told of a page needs no word of its being turned away.
        UrlState::Rejected { reason, .. } if known => (Visit::Rejected, None, Some(reason.code())),
        UrlState::Waiting { .. } | UrlState::Rejected { .. } => return None,
    };
    Some(FeedEntry { kind, at: captured.unwrap_or(UnixMillis(0)), page, captured, why })
}
