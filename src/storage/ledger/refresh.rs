//! Visits: pages that are done are queued once more when their time comes (ADR 33).
//!
//! Each has a row in `visits`, by host and time, which its newest capture names; a host that has such has one row in `visit_hosts`, at the
//! time of its first. So a time that comes is found by one row a host, whatever the host has waiting, and of no host more than
//! [`TURN`] are in the queue or in hands. Rows say when to look: whether the time has come is reckoned anew then.

use std::time::Duration;

use super::again::DonePage;
use super::feed::Finished;
use super::schedule::{Last, Page, ended};
use super::{Done, Ledger, PageChange, Result};
use crate::base::time::UnixMillis;
use crate::domain::refresh::{Ended, Found, Habit, TURN, Told, Unpaid};
use crate::domain::revisit::RequeueReason;
use crate::domain::visit::Visit;
use crate::storage::keys::{HostAt, KeyRange, SeenKey, VisitHostKey, VisitKey};
use crate::storage::tables::{Failed, Pages, Visits};
use crate::storage::txn::Txn;
use crate::storage::values::{FailedValue, LastTime, PageRecord, UrlState, VisitRow};

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
        (finished, why, now): (&Finished, Option<RequeueReason>, UnixMillis),
    ) -> Result<Planned> {
        let at = seen.host_crawl().host_at();
        let (record, last) = (page.record(), finished.last.as_ref());
        let Some(known) = record.or(last) else { return Ok(Planned::default()) };
        let about = Page::of(known);
        let seed = self.rules.seed_of(txn, about)?;
        let heed = self.rules.refresh.plan(&about.about(seed.as_ref()), now).heed;
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
                    announced: why == Some(RequeueReason::Lastmod),
                };
                let (habit, found) = last.habit.after(&told, heed);
                self.hosts.note_visit(txn, at, |rate| rate.of_host_after(told.since, found))?;
                let changed = found != Found::Same;
                let missed =
                    changed && last.habit.named && told.visit != Visit::Gone && why == Some(RequeueReason::Cycle);
                self.hosts.with(txn, at, |row| {
                    let announced = &mut row.counts.visits.announced;
                    match told.announced {
                        true => *announced = announced.after_told(changed),
                        false if missed => *announced = announced.after_missed(),
                        false => {}
                    }
                })?;
                habit
            }
            (None, _) => known.habit,
        };
        let failed = match state {
            UrlState::Error { .. } => txn.get::<Failed>(&seen)?,
            _ => None,
        };
        let visited = match (state, &failed) {
            (UrlState::Done { captured, .. }, _) => (*captured, Ended::Done),
            (_, Some(failed)) => (failed.when, ended(failed)),
            _ => return Ok(Planned { habit, next: None }),
        };
        let stretch = self.hosts.visits(txn, at)?.stretched_for(&habit);
        let about = failed.as_ref().map_or(about, Page::given_up);
        let quality = self.hosts.quality(txn, at)?;
        let (next, host) = ((about, &habit, visited), (stretch, quality, now));
        let next = self.rules.schedule((seen, seed.as_ref()), next, host).next;
        if let Some(next) = next {
            self.put_visit(txn, seen, (visited.0, next))?;
        }
        if let Some(failed) = failed {
            txn.put::<Failed>(&seen, &FailedValue { next, ..failed });
        }
        Ok(Planned { habit, next })
    }

    /// When a page is visited next by the rules of today.
    fn next_of(&mut self, txn: &Txn<'_>, seen: SeenKey, last: &Last, date: UnixMillis) -> Result<Option<UnixMillis>> {
        let at = seen.host_crawl().host_at();
        let (stretch, quality) =
            (self.hosts.visits(txn, at)?.stretched_for(last.parts().1), self.hosts.quality(txn, at)?);
        let seed = self.rules.seed_of(txn, last.parts().0)?;
        Ok(self.rules.schedule((seen, seed.as_ref()), last.parts(), (stretch, quality, date)).next)
    }

    /// The row of a page goes to another time.
    fn move_visit(&mut self, txn: &mut Txn<'_>, seen: SeenKey, last: Last, next: Option<UnixMillis>) -> Result<()> {
        let visited = match last {
            Last::Page(DonePage { key, page, .. }) => {
                self.no_visit(txn, seen, page.next)?;
                let visited = page.fetched;
                txn.put::<Pages>(&key, &PageRecord { next, ..page });
                visited
            }
            Last::Failed(failed, _) => {
                self.no_visit(txn, seen, failed.next)?;
                let visited = failed.when;
                txn.put::<Failed>(&seen, &FailedValue { next, ..failed });
                visited
            }
        };
        next.map_or(Ok(()), |next| self.put_visit(txn, seen, (visited, next)))
    }

    fn put_visit(&mut self, txn: &mut Txn<'_>, seen: SeenKey, (visited, next): (UnixMillis, UnixMillis)) -> Result<()> {
        let row = VisitRow::after(next.since(visited));
        txn.put::<Visits>(&seen.visit(next), &row);
        self.hosts.with(txn, seen.host_crawl().host_at(), |host| {
            let visits = &mut host.counts.visits;
            visits.first = if visits.rows == 0 { next } else { visits.first.min(next) };
            visits.rows += 1;
            visits.load += row.load();
            host.visit = Some(host.visit.map_or(next, |first| first.min(next)));
        })
    }

    /// A URL is no longer as its last visit left it: its row goes.
    pub(super) fn no_visit(&mut self, txn: &mut Txn<'_>, seen: SeenKey, next: Option<UnixMillis>) -> Result<()> {
        let Some(key) = next.map(|next| seen.visit(next)) else { return Ok(()) };
        let Some(row) = txn.get::<Visits>(&key)? else { return Ok(()) };
        txn.delete::<Visits>(&key);
        self.hosts.with(txn, seen.host_crawl().host_at(), |host| {
            let visits = &mut host.counts.visits;
            visits.rows = visits.rows.saturating_sub(1);
            visits.load = visits.load.saturating_sub(row.load());
        })
    }

    /// What was fetched `before` left the queue: a visit is over, or one of the new pages that the host owed.
    pub(super) fn visited(&mut self, txn: &Txn<'_>, at: HostAt, before: Option<LastTime>) -> Result<()> {
        let visit = before.is_some_and(|last| last.why == RequeueReason::Cycle);
        let refresh = &self.rules.refresh;
        self.hosts.with(txn, at, |row| {
            let visits = &mut row.counts.visits;
            match visit {
                true => visits.queued = visits.queued.saturating_sub(1),
                false if visits.rows > 0 => visits.unpaid = refresh.paid(visits.unpaid),
                false => visits.unpaid = Unpaid::default(),
            }
        })
    }

    /// The time of the first visit of these hosts has come.
    pub(super) fn revisit(&mut self, txn: &mut Txn<'_>, hosts: &[VisitHostKey], date: UnixMillis) -> Result<Done> {
        let mut done = Done::default();
        for key in hosts {
            let at = key.host_at();
            let counts = self.hosts.visits(txn, at)?;
            if counts.row != Some(key.time) || self.hosts.orders(txn, at)?.holds() {
                continue; // told before, or nothing is fetched of it
            }
            if let Some(most) = self.rules.refresh.stretches() {
                self.hosts.with(txn, at, |row| row.counts.visits.look(date, most))?;
            }
            let new_wait = self.hosts.new_wait(txn, at)?;
            let (refresh, room) = (&self.rules.refresh, TURN.saturating_sub(counts.queued));
            let most = if new_wait { refresh.turn(room, counts.unpaid) } else { refresh.room(room) };
            let (turn, first) = self.turn(txn, at, most, date)?;
            let refresh = &self.rules.refresh;
            self.hosts.with(txn, at, |row| {
                let visits = &mut row.counts.visits;
                let first = first.unwrap_or(date); // too early does no harm: it is looked at once more
                visits.first = row.visit.map_or(first, |put| put.min(first)); // what this batch put was not read
                visits.queued += turn;
                let none_due = turn == 0 && most > 0;
                visits.unpaid =
                    if new_wait && !none_due { refresh.owes(visits.unpaid, turn) } else { Unpaid::default() };
            })?;
            done.again.extend((0..turn).map(|_| RequeueReason::Cycle));
            done.late.extend((turn > 0).then(|| date.since(counts.first)));
        }
        Ok(done)
    }

    /// Queues the first pages of a host whose time has come, at most so many. Gives how many, and when the next one's comes.
    fn turn(
        &mut self,
        txn: &mut Txn<'_>,
        at: HostAt,
        most: u32,
        date: UnixMillis,
    ) -> Result<(u32, Option<UnixMillis>)> {
        let rows = txn.stored::<Visits>(&KeyRange::host_crawl(at.crawl(self.rules.crawl)), most as usize + 1)?;
        // Behind as many as were asked for there may be more, none of them earlier than the last of these.
        let behind = rows.last().filter(|_| rows.len() > most as usize).map(|(row, _)| row.time);
        let mut turn = 0;
        for (row, _) in rows {
            if txn.get::<Visits>(&row)?.is_none() {
                continue; // it went in this batch
            }
            if row.time > date || turn >= most {
                return Ok((turn, Some(row.time)));
            }
            turn += u32::from(self.visit_now(txn, &row, date)?);
        }
        Ok((turn, behind))
    }

    /// Queues a page whose row says that its time has come, unless by the rules of today it has not: then its row moves, or goes.
    fn visit_now(&mut self, txn: &mut Txn<'_>, row: &VisitKey, date: UnixMillis) -> Result<bool> {
        let seen = row.seen();
        let Some(last) = Last::of(txn, seen)? else {
            return self.no_visit(txn, seen, Some(row.time)).map(|()| false);
        };
        let next = self.next_of(txn, seen, &last, date)?;
        if next.is_none_or(|next| next > date) {
            return self.move_visit(txn, seen, last, next).map(|()| false);
        }
        let queued = match last {
            Last::Page(done) => self.done_once_more(txn, done, RequeueReason::Cycle, None)?,
            Last::Failed(..) => self.try_once_more(txn, seen, RequeueReason::Cycle)?,
        };
        if !queued && let Some(last) = Last::of(txn, seen)? {
            self.move_visit(txn, seen, last, None)?;
        }
        Ok(queued)
    }

    /// Reckons anew when pages are visited next, by the rules of today. Gives how many got another time.
    pub(super) fn reschedule(&mut self, txn: &mut Txn<'_>, urls: &[SeenKey], date: UnixMillis) -> Result<Done> {
        for seen in urls {
            let Some(last) = Last::of(txn, *seen)? else { continue };
            let next = self.next_of(txn, *seen, &last, date)?;
            if next != last.next() {
                self.move_visit(txn, *seen, last, next)?;
            }
        }
        Ok(Done::default())
    }
}

/// How long before it was fetched a page was changed, by its server's word.
fn changed_ago(record: &PageRecord) -> Option<Duration> {
    let changed = httpdate::parse_http_date(record.last_modified.as_deref()?).ok()?;
    let changed = changed.duration_since(std::time::UNIX_EPOCH).ok()?;
    Duration::from_millis(record.fetched.0).checked_sub(changed)
}
