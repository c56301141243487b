//! The URLs of one host: state, captures, kept rejection or failure of each, which have one key.

use super::files::Whereabouts;
use super::hosts::{Unit, Walk};
use super::judge::mark_of_page;
use super::lost::Want;
use super::pass::Pass;
use super::stream::{Row, TOGETHER};
use super::{Fault, Note, Result, meta, near, queue, visits};
use crate::base::time::UnixMillis;
use crate::domain::reach::Reach;
use crate::domain::reason::{Failure, Rejection};
use crate::storage::error::hex;
use crate::storage::keys::{DueKey, Key, SeenKey};
use crate::storage::tables::{Due, Failed, Pages, Rejected, Seen, Table};
use crate::storage::values::{FailedValue, RejectedValue, UrlState};

/// All URLs of a host, in the order of their keys.
pub fn urls(pass: &mut Pass<'_>, walk: &mut Walk, unit: &mut Unit, kept_any: bool) -> Result<()> {
    let mut retries = Vec::new();
    while let Some(raw) = next_key(pass, walk, unit)? {
        let Ok(key) = SeenKey::decode(&raw) else { break };
        let state = walk.seen.next_in(pass, &raw)?.map(|row| row.value);
        let pages = walk.pages.chunk_in(pass, &raw, usize::MAX)?;
        let row = walk.rejected.next_in(pass, &raw)?;
        let pages = captures(pass, unit, key, pages)?;
        let row = own(pass, unit, key, row, ("rejection", |row| &row.url))?;
        let failed = walk.failed.next_in(pass, &raw)?;
        pass.totals.counters.failed += u64::from(failed.is_some());
        let failed = own(pass, unit, key, failed, ("failure", |row| &row.url))?;
        let Some(state) = state else {
            unmarked(pass, key, &pages, row.as_ref(), failed.as_ref())?;
            continue;
        };
        pass.totals.state(&state);
        unit.tally.state(&state);
        kept(pass, key, &state, row.as_ref(), kept_any)?;
        kept_failure(pass, key, &state, failed.as_ref())?;
        match state {
            UrlState::Waiting { due: Some(time), .. } => retries.push(key.due(time)),
            UrlState::Waiting { due: None, .. } => unit.waiting += 1,
            UrlState::Done { captured, .. } => captured_there(pass, key, captured, &pages)?,
            UrlState::Error { reason: Failure::Status4xx | Failure::Status5xx } if pages.is_empty() => {
                uncaptured(pass, key)?; // what was answered is stored
            }
            UrlState::Error { .. } => {
                if let Some(failed) = &failed {
                    visits::there(pass, key, &failed.url, failed.when, failed.next)?;
                }
            }
            UrlState::Rejected { .. } => {}
        }
        if retries.len() >= TOGETHER {
            look_for_retries(pass, unit, std::mem::take(&mut retries))?;
        }
    }
    look_for_retries(pass, unit, retries)
}

/// The key of the next URL of this host that has a record in any of the four families.
fn next_key(pass: &mut Pass<'_>, walk: &mut Walk, unit: &Unit) -> Result<Option<Vec<u8>>> {
    const LEN: usize = SeenKey::LEN;
    let Walk { seen, pages, rejected, failed, .. } = walk;
    let heads = [seen.head(pass, LEN)?, pages.head(pass, LEN)?, rejected.head(pass, LEN)?, failed.head(pass, LEN)?];
    Ok(heads.into_iter().flatten().filter(|key| key.starts_with(&unit.prefix)).min())
}

/// Judges and counts the captures of a URL; gives those that are its own.
fn captures(pass: &mut Pass<'_>, unit: &mut Unit, key: SeenKey, pages: Vec<Row<Pages>>) -> Result<Vec<Row<Pages>>> {
    let mut own = Vec::with_capacity(pages.len());
    for row in pages {
        pass.totals.page(&row.value);
        unit.tally.bytes = unit.tally.bytes.saturating_add(row.value.bytes);
        let timely = row.key.captured.0 == row.value.fetched;
        let Some(url) = pass.url_at(&row.value.url, key).filter(|_| timely) else {
            let shown = row.value.url.clone();
            pass.find(Fault::Misplaced, &shown, "URL or time are not those of its key", |b| {
                b.delete::<Pages>(&row.key)
            })?;
            continue;
        };
        unit.hint.get_or_insert_with(|| url.host().to_owned());
        archived(pass, &row)?;
        own.push(row);
    }
    Ok(own)
}

/// The record of a capture is where it should be, or will be dealt with at the next start; else the capture is undone.
fn archived(pass: &mut Pass<'_>, row: &Row<Pages>) -> Result<()> {
    let Some(files) = &mut pass.files else { return Ok(()) };
    match files.whereabouts(&row.key, &row.value) {
        Whereabouts::There => Ok(()),
        Whereabouts::Requeued => {
            pass.note(Note::RequeuedAtStart, || row.value.url.clone());
            Ok(())
        }
        Whereabouts::Gone(why) => pass.undone(Fault::RecordMissing, row.key, &row.value, &why),
    }
}

/// A row that is kept of a URL, when it is that of its key.
fn own<T: Table<Key = SeenKey>>(
    pass: &mut Pass<'_>,
    unit: &mut Unit,
    key: SeenKey,
    row: Option<Row<T>>,
    (what, url): (&str, fn(&T::Value) -> &str),
) -> Result<Option<T::Value>> {
    let Some(Row { value, .. }) = row else { return Ok(None) };
    if let Some(url) = pass.url_at(url(&value), key) {
        unit.hint.get_or_insert_with(|| url.host().to_owned());
        return Ok(Some(value));
    }
    let why = format!("is not the URL of this {what}'s key");
    pass.find(Fault::Misplaced, url(&value), &why, |batch| batch.delete::<T>(&key))?;
    Ok(None)
}

/// Kept failures are of URLs that are errors. That one is gone is found by their number.
fn kept_failure(pass: &mut Pass<'_>, key: SeenKey, state: &UrlState, row: Option<&FailedValue>) -> Result<()> {
    match (state, row) {
        (UrlState::Error { reason }, Some(row)) if *reason != row.reason => {
            let right = FailedValue { reason: *reason, ..row.clone() };
            let detail = format!("kept as {}, marked as {reason}", row.reason);
            pass.find(Fault::FailedUnmarked, &row.url, &detail, |b| b.put::<Failed>(&key, &right))
        }
        (UrlState::Error { .. }, None) => {
            pass.note(Note::FailureNotKept, || hex(&key.encode()));
            Ok(())
        }
        (UrlState::Error { .. }, _) | (_, None) => Ok(()),
        (_, Some(row)) => pass.find(Fault::FailedUnmarked, &row.url, "is no error now", |b| b.delete::<Failed>(&key)),
    }
}

/// A URL without mark gets the one that its capture, its rejection or its failure says.
fn unmarked(
    pass: &mut Pass<'_>,
    key: SeenKey,
    pages: &[Row<Pages>],
    row: Option<&RejectedValue>,
    failed: Option<&FailedValue>,
) -> Result<()> {
    if let Some(page) = pages.first() {
        let mark = mark_of_page(&page.value);
        return pass.find(Fault::PageUnmarked, &page.value.url, "was captured", |b| b.put::<Seen>(&key, &mark));
    }
    if let Some(failed) = failed {
        let mark = UrlState::Error { reason: failed.reason };
        return pass.find(Fault::FailedUnmarked, &failed.url, failed.reason.as_str(), |b| b.put::<Seen>(&key, &mark));
    }
    let Some(row) = row else { return Ok(()) };
    let reach = Reach { depth: row.depth, limit: None };
    let mark = UrlState::Rejected { reason: row.reason, generation: row.generation, reach };
    pass.find(Fault::RejectedUnmarked, &row.url, row.reason.as_str(), |b| b.put::<Seen>(&key, &mark))
}

/// Rejected marks and kept rejections go together.
fn kept(
    pass: &mut Pass<'_>,
    key: SeenKey,
    state: &UrlState,
    row: Option<&RejectedValue>,
    kept_any: bool,
) -> Result<()> {
    match (state, row) {
        (UrlState::Rejected { reason, .. }, Some(row)) if *reason != row.reason => {
            let detail = format!("kept as {}, marked as {reason}", row.reason);
            let right = RejectedValue { reason: *reason, ..row.clone() };
            pass.find(Fault::RejectedUnmarked, &row.url, &detail, |b| b.put::<Rejected>(&key, &right))
        }
        // No collision is kept in full.
        (UrlState::Rejected { reason, generation, reach }, None) if *reason != Rejection::Collision => {
            let name = hex(&key.encode());
            if !(pass.rules.record_rejected && kept_any) {
                pass.note(Note::NotKept, || name);
                return Ok(());
            }
            let want = Want::Keep { reason: *reason, generation: *generation, depth: reach.depth };
            pass.lost.url(key, Fault::RejectedUnkept, want);
            pass.find(Fault::RejectedUnkept, &name, reason.as_str(), |_| {})
        }
        (UrlState::Rejected { .. }, _) | (_, None) => Ok(()),
        (_, Some(row)) => {
            pass.find(Fault::RejectedUnmarked, &row.url, "is not rejected now", |b| b.delete::<Rejected>(&key))
        }
    }
}

/// The capture that a URL's mark names.
fn captured_there(pass: &mut Pass<'_>, key: SeenKey, at: UnixMillis, pages: &[Row<Pages>]) -> Result<()> {
    if let Some(page) = pages.iter().find(|page| page.key.captured.0 == at) {
        visits::there(pass, key, &page.value.url, at, page.value.next)?;
        if pages.first().is_some_and(|first| first.key == page.key) {
            near::placed(pass, key, page)?;
        }
        return meta::sitemap_there(pass, key, page);
    }
    if let Some(page) = pages.first() {
        let mark = mark_of_page(&page.value);
        return pass
            .find(Fault::DoneUncaptured, &page.value.url, "names another capture", |b| b.put::<Seen>(&key, &mark));
    }
    uncaptured(pass, key)
}

/// A URL that was answered, of which nothing is there.
fn uncaptured(pass: &mut Pass<'_>, key: SeenKey) -> Result<()> {
    pass.lost.url(key, Fault::DoneUncaptured, Want::Queue(None));
    pass.find(Fault::DoneUncaptured, &hex(&key.encode()), "its text is not known", |_| {})
}

/// Retries that marks name; those that are there are counted.
fn look_for_retries(pass: &mut Pass<'_>, unit: &mut Unit, keys: Vec<DueKey>) -> Result<()> {
    for (key, entry) in keys.iter().zip(pass.look::<Due>(&keys)?) {
        match entry {
            Some(entry) => {
                unit.tally.due += 1;
                unit.tally.entry(&entry);
            }
            None => queue::unqueued(pass, key.seen(), None)?,
        }
    }
    Ok(())
}
