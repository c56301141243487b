//! Rows of pages that are visited again: each at the time that its page's last visit says, and each host at the time of its first.

use super::hosts::{Unit, Walk};
use super::pass::Pass;
use super::stream::{Row, TOGETHER};
use super::{Fault, Result};
use crate::base::time::UnixMillis;
use crate::storage::error::hex;
use crate::storage::keys::{PageKey, SeenKey};
use crate::storage::tables::{Failed, Pages, Seen, Visits};
use crate::storage::values::{FailedValue, UrlState, VisitRow};

/// The rows of one host, counted; one that its page does not name goes.
pub fn rows(pass: &mut Pass<'_>, walk: &mut Walk, unit: &mut Unit) -> Result<()> {
    loop {
        let rows = walk.visits.chunk_in(pass, &unit.prefix, TOGETHER)?;
        if rows.is_empty() {
            return Ok(());
        }
        for (row, next) in rows.iter().zip(nexts(pass, &rows)?) {
            if next == Some(row.key.time) {
                unit.tally.visit(row.key.time, row.value);
                continue;
            }
            let subject = format!("visits {}", hex(&row.raw));
            let detail = "its page is not visited next then";
            pass.find(Fault::VisitStray, &subject, detail, |batch| batch.delete::<Visits>(&row.key))?;
        }
    }
}

/// When the pages of rows are visited next, by their last visits.
fn nexts(pass: &Pass<'_>, rows: &[Row<Visits>]) -> Result<Vec<Option<UnixMillis>>> {
    let keys: Vec<SeenKey> = rows.iter().map(|row| row.key.seen()).collect();
    let (states, failed) = (pass.look::<Seen>(&keys)?, pass.look::<Failed>(&keys)?);
    let captured = |state: &Option<UrlState>| match state {
        Some(UrlState::Done { captured, .. }) => Some(*captured),
        _ => None,
    };
    let done = keys.iter().zip(&states).filter_map(|(key, state)| captured(state).map(|at| key.page(at)));
    let done: Vec<PageKey> = done.collect();
    let mut pages = pass.look::<Pages>(&done)?.into_iter();
    let mut next = |state: Option<UrlState>, failed: Option<FailedValue>| match state {
        Some(UrlState::Done { .. }) => pages.next().flatten().and_then(|page| page.next),
        Some(UrlState::Error { .. }) => failed.and_then(|failed| failed.next),
        _ => None,
    };
    Ok(states.into_iter().zip(failed).map(|(state, failed)| next(state, failed)).collect())
}

/// The row that the last visit of a page names is there.
pub fn there(
    pass: &mut Pass<'_>,
    key: SeenKey,
    url: &str,
    visited: UnixMillis,
    next: Option<UnixMillis>,
) -> Result<()> {
    let Some(next) = next else { return Ok(()) };
    let row = key.visit(next);
    if pass.look_one::<Visits>(&row)?.is_some() {
        return Ok(());
    }
    let planned = VisitRow::after(next.since(visited));
    pass.find(Fault::VisitMissing, url, "would not be visited again", |batch| batch.put::<Visits>(&row, &planned))
}
