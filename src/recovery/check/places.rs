//! Counts of hosts against their recounts, and the one place each host has (I9).

use super::context::Context;
use super::error::Result;
use super::fault::Fault;
use super::findings::Findings;
use super::hosts::{Unit, Walk};
use super::stream::{Row, Stream, look, look_one};
use super::tally::{Totals, right_place};
use crate::storage::Batch;
use crate::storage::keys::{HostAt, HostCrawl};
use crate::storage::tables::{self, Parked, Table, Waiting};
use crate::storage::values::{HostCounts, Place};

/// Row entries looked up at a time.
const CHUNK: usize = 256;

/// The counts of a host. `changing`: other repairs of the host come first, so that it is counted in the next round.
pub fn counts(
    context: &Context<'_>,
    findings: &mut Findings<'_>,
    walk: &mut Walk,
    unit: &Unit,
    totals: &mut Totals,
    changing: bool,
) -> Result<()> {
    let stored = walk.counts.next_in(findings, &unit.prefix)?.map(|row| row.value).unwrap_or_default();
    totals.host(&unit.tally, stored.place);
    if changing {
        return Ok(());
    }
    let mut right = unit.tally.counts(&stored);
    right.heads = unit.tally.heads(&stored.heads);
    let standing = stands(findings, unit.at.host_at(), stored.place)?;
    let place = right_place(&right, unit.held);
    let misplaced = !standing || place != Some(stored.place);
    right.place = match place {
        Some(place) => place,
        None => {
            let order = findings.host_order(&context.rules.ranker)?;
            Place::Waiting { rank: right.best_rank().unwrap_or(0), order }
        }
    };
    judge(findings, unit, &stored, &right, misplaced)
}

fn judge(
    findings: &mut Findings<'_>,
    unit: &Unit,
    stored: &HostCounts,
    right: &HostCounts,
    misplaced: bool,
) -> Result<()> {
    let at = unit.at;
    let plain = |c: &HostCounts| (c.queued, c.due, c.done, c.errors, c.bytes);
    if plain(stored) != plain(right) {
        let detail = format!("stored {:?}, counted {:?}", plain(stored), plain(right));
        findings
            .find(Fault::HostCounts, &unit.shown(), &detail, |batch| batch.put::<tables::HostCounts>(&at, right))?;
    }
    if stored.heads != right.heads {
        let detail = format!("stored {:?}, first entries {:?}", stored.heads, unit.tally.lowest);
        findings.find(Fault::HostHeads, &unit.shown(), &detail, |batch| batch.put::<tables::HostCounts>(&at, right))?;
    }
    if misplaced {
        let detail = format!("{:?} with {} URLs in its queue", stored.place, right.queued_total());
        findings.find(Fault::HostPlace, &unit.shown(), &detail, |batch| {
            leave(batch, at.host_at(), stored.place);
            enter(batch, at.host_at(), right.place);
            batch.put::<tables::HostCounts>(&at, right);
        })?;
    }
    Ok(())
}

/// True when the host has the row entry that its place says.
fn stands(findings: &Findings<'_>, at: HostAt, place: Place) -> Result<bool> {
    Ok(match place {
        Place::None | Place::Held => true,
        Place::Waiting { rank, order } => look_one::<Waiting>(findings.storage, &at.waiting(rank, order))?.is_some(),
        Place::Parked { time } => look_one::<Parked>(findings.storage, &at.parked(time))?.is_some(),
    })
}

fn leave(batch: &mut Batch, at: HostAt, place: Place) {
    match place {
        Place::None | Place::Held => {}
        Place::Waiting { rank, order } => batch.delete::<Waiting>(&at.waiting(rank, order)),
        Place::Parked { time } => batch.delete::<Parked>(&at.parked(time)),
    }
}

fn enter(batch: &mut Batch, at: HostAt, place: Place) {
    match place {
        Place::None | Place::Held => {}
        Place::Waiting { rank, order } => batch.put::<Waiting>(&at.waiting(rank, order), &()),
        Place::Parked { time } => batch.put::<Parked>(&at.parked(time), &()),
    }
}

/// Every entry of `waiting` and `parked` is its host's place.
pub fn rows(context: &Context<'_>, findings: &mut Findings<'_>) -> Result<()> {
    row::<Waiting>(context, findings, |key| (key.host_at(), Place::Waiting { rank: key.rank, order: key.order }))?;
    row::<Parked>(context, findings, |key| (key.host_at(), Place::Parked { time: key.time }))
}

fn row<T: Table<Value = ()>>(
    context: &Context<'_>,
    findings: &mut Findings<'_>,
    place_of: impl Fn(&T::Key) -> (HostAt, Place),
) -> Result<()> {
    let mut stream = Stream::<T>::all();
    loop {
        let rows: Vec<Row<T>> = stream.chunk_in(findings, &[], CHUNK)?;
        if rows.is_empty() {
            return Ok(());
        }
        let hosts: Vec<HostCrawl> = rows.iter().map(|row| place_of(&row.key).0.crawl(context.crawl)).collect();
        for (row, counts) in rows.iter().zip(look::<tables::HostCounts>(findings.storage, &hosts)?) {
            let (at, place) = place_of(&row.key);
            if counts.as_ref().map(|c| c.place) != Some(place) {
                let stored = counts.map(|c| c.place).unwrap_or_default();
                let detail = format!("is at {place:?} in {}, its place is {stored:?}", T::FAMILY);
                findings.find(Fault::RowStray, &shown(findings, at)?, &detail, |batch| batch.delete::<T>(&row.key))?;
            }
        }
    }
}

/// A host's name, or its key.
fn shown(findings: &Findings<'_>, at: HostAt) -> Result<String> {
    let state = look_one::<tables::HostState>(findings.storage, &at)?;
    Ok(state.map_or_else(|| format!("host {}", at.host), |state| state.name))
}
