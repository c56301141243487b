//! Visits: pages that are done are queued once more when their time comes (ADR 33).
//!
//! Each has a row in `visits`, by host and time, which its newest capture names; a host that has such has one row in `visit_hosts`, at the
//! time of its first. So a time that comes is found by one row a host, whatever the host has waiting, and of no host more than
//! [`AT_A_TIME`] are in the queue or in hands. Rows say when to look: whether the time has come is reckoned anew then.

use super::feed::Finished;
use super::{Done, Ledger, PageChange, Result};
use crate::base::time::UnixMillis;
use crate::domain::refresh::interval::weight;
use crate::domain::refresh::{Cycle, Ended, Habit, Told};
use crate::domain::revisit::RequeueReason;
use crate::domain::visit::Visit;
use crate::storage::keys::{HostAt, KeyRange, SeenKey, VisitHostKey, VisitKey};
use crate::storage::tables::{Failed, Pages, Seen, Visits};
use crate::storage::txn::Txn;
use crate::storage::values::{FailedValue, LastTime, PageRecord, UrlState};

/// Visits of a host that are queued or in hands at a time.
const AT_A_TIME: u32 = 16;

/// What is noted of a page for its next visit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Planned {
    /// What is known of its changes now.
    pub habit: Habit,
    /// When it is visited next.
    pub next: Option<UnixMillis>,
}

impl Ledger {
    /// Notes what a visit tells of how the page changes, and when it is visited next.
    pub(super) fn plan(
        &mut self,
        txn: &mut Txn<'_>,
        seen: SeenKey,
        page: &PageChange,
        state: &UrlState,
        finished: &Finished,
    ) -> Result<Planned> {
        let at = seen.host_crawl().host_at();
        let (record, last) = (page.record(), finished.last.as_ref());
        let habit = match (record, last) {
            (Some(record), None) => {
                let host = self.hosts.rate(txn, at)?;
                Habit::of_new_page(host, changed_ago(record), page.links.new.len())
            }
            (Some(record), Some(last)) => {
                let told = Told {
                    visit: finished.visit,
                    since: record.fetched.since(last.fetched),
                    changed_ago: changed_ago(record).filter(|_| record.last_modified != last.last_modified),
                    links: page.links.new.len(),
                };
                let (habit, found) = last.habit.after(&told, self.rules.refresh.heed);
                self.hosts.note_visit(txn, at, |rate| rate.of_host_after(told.since, found))?;
                habit
            }
            (None, Some(last)) => last.habit,
            (None, None) => return Ok(Planned::default()),
        };
        let (visited, ended) = match (state, record) {
            (UrlState::Done { captured, .. }, _) => (*captured, Ended::Done),
            (UrlState::Error { .. }, record) => {
                let Some(failed) = txn.get::<Failed>(&seen)? else { return Ok(Planned { habit, next: None }) };
                let gone = finished.visit == Visit::Gone;
                let when = record.map_or(failed.when, |record| record.fetched);
                (when, if gone { Ended::Gone(failed.visits) } else { Ended::Failed(failed.visits) })
            }
            _ => return Ok(Planned { habit, next: None }),
        };
        let depth = record.or(last).map_or(0, |record| record.depth);
        let next = self.next_visit(seen, (visited, ended), &habit, depth);
        if let Some(next) = next {
            self.put_visit(txn, seen, next)?;
        }
        if let (UrlState::Error { .. }, Some(mut failed)) = (state, txn.get::<Failed>(&seen)?) {
            failed.next = next;
            txn.put::<Failed>(&seen, &failed);
        }
        Ok(Planned { habit, next })
    }

    fn next_visit(
        &self,
        seen: SeenKey,
        (visited, ended): (UnixMillis, Ended),
        habit: &Habit,
        depth: u16,
    ) -> Option<UnixMillis> {
        let links = f64::from(habit.links) / 8.0;
        let weight = weight(self.rules.ranker.importance(depth), 1.0, 1.0, 1.0, links);
        self.rules.refresh.next((visited, ended), habit, weight, 1.0, &seen.url.0)
    }

    fn put_visit(&mut self, txn: &mut Txn<'_>, seen: SeenKey, next: UnixMillis) -> Result<()> {
        txn.put::<Visits>(&seen.visit(next), &());
        self.hosts.with(txn, seen.host_crawl().host_at(), |row| {
            let visits = &mut row.counts.visits;
            visits.first = if visits.rows == 0 { next } else { visits.first.min(next) };
            visits.rows += 1;
        })
    }

    /// A URL is no longer as its last visit left it: its row goes.
    pub(super) fn no_visit(&mut self, txn: &mut Txn<'_>, seen: SeenKey, next: Option<UnixMillis>) -> Result<()> {
        let Some(row) = next.map(|next| seen.visit(next)) else { return Ok(()) };
        if txn.get::<Visits>(&row)?.is_none() {
            return Ok(());
        }
        txn.delete::<Visits>(&row);
        self.hosts.with(txn, seen.host_crawl().host_at(), |row| {
            row.counts.visits.rows = row.counts.visits.rows.saturating_sub(1);
        })
    }

    /// What was fetched `before` left the queue: a visit is over, or one of the new pages that the host owed.
    pub(super) fn visited(&mut self, txn: &Txn<'_>, at: HostAt, before: Option<LastTime>) -> Result<()> {
        let visit = before.is_some_and(|last| last.why == RequeueReason::Cycle);
        self.hosts.with(txn, at, |row| {
            let visits = &mut row.counts.visits;
            let left = if visit { &mut visits.queued } else { &mut visits.owed };
            *left = left.saturating_sub(1);
        })
    }

    /// The time of the first visit of these hosts has come.
    pub(super) fn revisit(&mut self, txn: &mut Txn<'_>, hosts: &[VisitHostKey], date: UnixMillis) -> Result<Done> {
        let mut done = Done::default();
        for key in hosts {
            let at = key.host_at();
            let counts = self.hosts.visits(txn, at)?;
            if counts.row != Some(key.time) || self.hosts.orders(txn, at)?.refusal().is_some() {
                continue; // told before, or nothing is fetched of it
            }
            let new_wait = self.hosts.queued(txn, at)? > 0;
            let (most, owed) = self.rules.refresh.turn(AT_A_TIME.saturating_sub(counts.queued), new_wait);
            let rows = txn.stored::<Visits>(&KeyRange::host_crawl(at.crawl(self.rules.crawl)), most as usize + 1)?;
            let (mut turn, mut first) = (0, None);
            for (row, ()) in rows {
                if txn.get::<Visits>(&row)?.is_none() {
                    continue; // it went in this batch
                }
                if row.time > date || turn >= most {
                    first = Some(row.time);
                    break;
                }
                if self.visit_now(txn, &row, date)? {
                    turn += 1;
                    done.again.push(RequeueReason::Cycle);
                }
            }
            self.hosts.with(txn, at, |row| {
                let visits = &mut row.counts.visits;
                visits.first = first.unwrap_or(date); // too early does no harm: it is looked at once more
                visits.queued += turn;
                visits.owed = if turn > 0 { owed } else { 0 };
            })?;
        }
        Ok(done)
    }

    /// Queues a page whose row says that its time has come, unless by the rules of today it has not: then its row moves, or goes.
    fn visit_now(&mut self, txn: &mut Txn<'_>, row: &VisitKey, date: UnixMillis) -> Result<bool> {
        let seen = row.seen();
        self.no_visit(txn, seen, Some(row.time))?;
        match txn.get::<Seen>(&seen)? {
            Some(UrlState::Done { captured, .. }) => {
                let key = seen.page(captured);
                let Some(page) = txn.get::<Pages>(&key)? else { return Ok(false) };
                let next = self.next_visit(seen, (captured, Ended::Done), &page.habit, page.depth);
                if next.is_some_and(|next| next <= date) {
                    return Ok(self.once_more(txn, &key, RequeueReason::Cycle, None)?.is_some());
                }
                txn.put::<Pages>(&key, &PageRecord { next, ..page });
                next.map_or(Ok(()), |next| self.put_visit(txn, seen, next))?;
            }
            Some(UrlState::Error { .. }) => {
                let Some(failed) = txn.get::<Failed>(&seen)? else { return Ok(false) };
                txn.put::<Failed>(&seen, &FailedValue { next: None, ..failed });
                return Ok(self.rules.refresh.cycle != Cycle::Off && self.try_once_more(txn, seen, RequeueReason::Cycle)?);
            }
            _ => {}
        }
        Ok(false)
    }
}

/// How long before it was fetched a page was changed, by its server's word.
fn changed_ago(record: &PageRecord) -> Option<std::time::Duration> {
    let changed = httpdate::parse_http_date(record.last_modified.as_deref()?).ok()?;
    let changed = changed.duration_since(std::time::UNIX_EPOCH).ok()?;
    std::time::Duration::from_millis(record.fetched.0).checked_sub(changed)
}
