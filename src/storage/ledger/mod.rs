//! The ledger: turns changes into one atomic batch and keeps the counts true (I2, I3, I9).
//!
//! It belongs to the Store, the only writer. Its memory is a cache: after a failed write it is thrown away and read again.
//! One batch holds the changes of several pages; a change reads through the writes of those before it.

mod again;
mod change;
mod counts;
mod credit;
mod erase;
mod failures;
mod feed;
mod handed;
mod hosts;
mod near;
mod nearer;
mod orders;
mod ranks;
mod refresh;
mod requeue;
mod schedule;
mod seeds;
#[cfg(test)]
pub(crate) mod tests;

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::base::invariant::{Invariant, uphold};
use crate::base::time::UnixMillis;
use crate::domain::credit::CreditRules;
use crate::domain::fingerprint::{CrawlId, Fingerprinter, UrlKey};
use crate::domain::found_as::FoundAs;
use crate::domain::near::Near;
use crate::domain::priority::Priorities;
use crate::domain::rank::{Place, Ranker};
use crate::domain::reach::Reach;
use crate::domain::reason::{Failure, Rejection};
use crate::domain::refresh::Refresh;
use crate::domain::revisit::RequeueReason;
use crate::domain::url::PageUrl;

use super::keys::{ContentKey, DueKey, HostAt, SeenKey};
use super::share::Shared;
use super::tables::{Content, Due, Pages, Queue, Rejected, Robots, Seen};
use super::txn::Txn;
use super::values::{
    Counters, DoneKind, LastTime, PageRecord, QueueEntry, RejectedValue, RunState, UnsyncedPage, UrlState,
};
use super::{Storage, StorageError};

pub use change::{
    Change, Done, Ending, ForeignUrl, HostNews, KnownUrl, LinkChange, NewUrl, PageChange, RejectedUrl, Rerank, TakenIn,
};
pub use counts::counters;
use counts::counters_of;
use credit::Credit;
pub use credit::{Arrival, Settling};
use feed::Finished;
use hosts::Hosts;
pub use near::NearPlace;
use refresh::Planned;
pub use schedule::Scheduled;

/// What does not change while the node runs.
#[derive(Clone)]
pub struct LedgerRules {
    /// The crawl.
    pub crawl: CrawlId,
    /// Keys of this data folder.
    pub prints: Fingerprinter,
    /// Ranks and orders.
    pub ranker: Ranker,
    /// True keeps rejected URLs in full, so that widened rules can readmit them.
    pub keep_rejected: bool,
    /// Number of the rules in force.
    pub generation: u32,
    /// Links that are followed from any seed, by these rules.
    pub max_depth: Option<u16>,
    /// When pages are visited again.
    pub refresh: Refresh,
    /// What is said of the importance of pages.
    pub priorities: Arc<Priorities>,
    /// Link credit; none: it costs nothing.
    pub credit: Option<CreditRules>,
    /// What is this folder's own, in a crawl in parts; none: it costs nothing.
    pub share: Shared,
}

/// Counts and places, and the changes to them.
pub struct Ledger {
    rules: LedgerRules,
    counters: Counters,
    committed: Counters,
    /// URLs turned away in the batch under construction.
    rejected: BTreeMap<Rejection, u64>,
    hosts: Hosts,
    seeds: ranks::Seeds,
    credit: Option<Credit>,
    outbox: Option<handed::Outbox>,
}

type Result<T> = std::result::Result<T, StorageError>;

/// Says whether a URL is in somebody's hands: such a one is not moved in its queue.
pub type Leased<'l> = &'l dyn Fn(&UrlKey) -> bool;

impl Ledger {
    /// Reads the counters; nothing else is scanned.
    ///
    /// # Errors
    /// The storage's own.
    pub fn open(storage: &dyn Storage, rules: LedgerRules) -> Result<Self> {
        let counters = counters(storage, rules.crawl)?;
        let refresh = Refresh { of_seeds: counters.seed_cycles, ..rules.refresh };
        let rules = LedgerRules { refresh, ..rules };
        Ok(Self {
            hosts: Hosts::new(rules.crawl),
            seeds: ranks::Seeds::default(),
            committed: counters.clone(),
            counters,
            rejected: BTreeMap::new(),
            credit: rules.credit.map(|credit| Credit::open(storage, rules.crawl, credit)).transpose()?,
            outbox: rules.share.as_ref().map(|_| handed::Outbox::open(storage)).transpose()?,
            rules,
        })
    }

    /// Rules of this generation hold, with this limit of depth and these visits.
    pub fn rules_are(&mut self, generation: u32, max_depth: Option<u16>, refresh: Refresh) {
        let refresh = Refresh { of_seeds: self.counters.seed_cycles, ..refresh };
        (self.rules.generation, self.rules.max_depth, self.rules.refresh) = (generation, max_depth, refresh);
    }

    /// This is said of the importance of pages.
    pub fn priorities_are(&mut self, priorities: Arc<Priorities>) {
        self.rules.priorities = priorities;
    }

    /// The counters of the last commit.
    pub fn committed(&self) -> &Counters {
        &self.committed
    }

    /// Hosts kept in memory between commits; bounded.
    pub fn hosts_kept(&self) -> usize {
        self.hosts.kept()
    }

    /// Key of a URL in `seen`.
    pub fn seen_key(&self, url: &PageUrl) -> SeenKey {
        SeenKey::of(&self.rules.prints, self.rules.crawl, url)
    }

    /// Applies one change to the batch under construction.
    ///
    /// # Errors
    /// The storage's own; batch and ledger must then be dropped.
    pub fn apply(&mut self, txn: &mut Txn<'_>, change: &Change, now: UnixMillis, leased: Leased<'_>) -> Result<Done> {
        match change {
            Change::Page(page) => self.page(txn, page, now, leased),
            Change::Links(links) => self.links(txn, links, now, leased),
            Change::Settle(piece) => self.settle(txn, piece, leased),
            Change::TakeIn(taken) => self.take_in(txn, taken, now, leased),
            Change::Covered { to, upto } => self.covered(txn, *to, *upto),
            Change::TurnRound(to) => self.turn_round(txn, *to, now),
            Change::Robots { key, host, value, pace, sitemaps } => {
                txn.put::<Robots>(key, value);
                let at = HostAt { partition: key.partition, host: key.host };
                self.hosts.note_state(txn, at, Some(host), pace.as_deref(), &mut self.counters)?;
                self.links(txn, sitemaps, now, leased)
            }
            Change::Yield { at, until, pace } => {
                self.hosts.note_state(txn, *at, None, pace.as_deref(), &mut self.counters)?;
                self.hosts.make_room(txn, *at, *until, &mut self.counters, &self.rules.ranker)?;
                Ok(Done::default())
            }
            Change::Unpark(at) => {
                if !self.hosts.is_parked(txn, *at)? {
                    return Ok(Done::default());
                }
                self.hosts.make_room(txn, *at, None, &mut self.counters, &self.rules.ranker)?;
                Ok(Done::default())
            }
            Change::Promote(due) => self.promote(txn, due),
            Change::Order { host, order } => self.order(txn, host, *order, now),
            Change::DropUrls { urls, reason } => self.drop_urls(txn, (urls, *reason), now, leased),
            Change::FetchAgain(pages) => self.fetch_again(txn, pages),
            Change::TryAgain(urls) => self.try_again(txn, urls),
            Change::ReadAgain(rows) => self.read_again(txn, rows),
            Change::Revisit(hosts) => self.revisit(txn, hosts, now),
            Change::Reschedule(urls) => self.reschedule(txn, urls, now),
            Change::FollowNearer(pages) => self.follow_nearer(txn, pages),
            Change::Rerank(rerank) => self.rerank(txn, rerank, leased),
            Change::Consumer { name, at } => self.consumer(txn, name, at.as_ref()),
            Change::Settings { record, rules, digest, max_depth, refresh, priorities } => {
                txn.put_meta((), &**record);
                if let Some(run) = txn.get_meta::<RunState>(())? {
                    txn.put_meta((), &RunState { rules: *rules, rules_digest: *digest, ..run });
                }
                self.rules_are(*rules, *max_depth, (**refresh).clone());
                self.priorities_are(priorities.clone());
                Ok(Done::default())
            }
        }
    }

    /// Number of the commit under construction, for its list of unsynced pages.
    pub fn number(&self) -> u64 {
        self.counters.next_commit
    }

    /// Ends the batch: places of hosts, counters. Gives the Frontier's news.
    ///
    /// # Errors
    /// The storage's own.
    pub fn seal(&mut self, txn: &mut Txn<'_>) -> Result<Vec<HostNews>> {
        let news = self.hosts.settle(txn, &mut self.counters, &self.rules.ranker)?;
        uphold(Invariant::I2, self.counters.balanced(), || format!("the states do not add up: {:?}", self.counters));
        let queues = self.counters.queues_add_up();
        uphold(Invariant::I2, queues, || format!("the queues of hosts do not add up: {:?}", self.counters));
        self.counters.next_commit += 1;
        txn.put_meta(self.rules.crawl, &self.counters);
        self.seal_credit(txn);
        self.seal_outbox(txn)?;
        Ok(news)
    }

    /// The batch was written. Gives how many URLs it turned away, by reason.
    pub fn commit(&mut self) -> BTreeMap<Rejection, u64> {
        self.committed = self.counters.clone();
        self.hosts.trim();
        std::mem::take(&mut self.rejected)
    }

    fn count_rejected(&mut self, reason: Rejection) {
        self.counters.add_rejected(reason);
        *self.rejected.entry(reason).or_default() += 1;
    }

    fn page(&mut self, txn: &mut Txn<'_>, page: &PageChange, now: UnixMillis, leased: Leased<'_>) -> Result<Done> {
        let seen = self.seen_key(&page.url);
        let Some(UrlState::Waiting { rank, order, reach, due: None }) = txn.get::<Seen>(&seen)? else {
            // Nothing is counted twice (I3), but its links are news: others left them out because it had found them.
            log::warn!("duplicate commit ignored: url={}", page.url);
            return Ok(Done { void: true, ..self.links(txn, &page.links, now, leased)? });
        };
        let queue_key = seen.host_crawl().queue(rank, order);
        let entry = txn.get::<Queue>(&queue_key)?;
        txn.delete::<Queue>(&queue_key);
        self.hosts.unqueue(txn, seen.host_crawl().host_at(), rank)?;
        let unsynced = unsynced(page, seen, (rank, order), entry.as_ref());
        let before = entry.as_ref().and_then(|entry| entry.again);
        let found = entry.as_ref().map_or(FoundAs::Link, |entry| entry.found);
        let (most, by_depth) = (self.rules.max_depth, page.ending == Ending::Rejected(Rejection::TooDeep));
        let better = reach.leads_further(page.taken, most) || by_depth && reach.beats(page.taken, most);
        let nearer = entry.as_ref().filter(|_| better).cloned();
        let state = self.end_state(txn, page, seen, (rank, order, reach), entry, now)?;
        txn.put::<Seen>(&seen, &state);
        let abroad = page.links.foreign.iter().filter(|foreign| foreign.refused.is_none()).count() as u64;
        self.give(txn, seen, &state, (&page.links.linked, abroad))?;
        if !matches!(state, UrlState::Waiting { .. }) || page.capture.is_some() {
            self.visited(txn, seen.host_crawl().host_at(), before)?; // of a half the entry says from now on that it was cut
        }
        let finished = self.feed_page(txn, (seen, before), page, &state, now)?;
        let planned = match &finished {
            Some(finished) => {
                Some(self.plan(txn, seen, page, &state, (finished, before.map(|before| before.why), now))?)
            }
            None => None,
        };
        self.note_sitemap(txn, seen, page, &state, (found, now));
        let near = self.regroup_page(txn, seen, before, page)?;
        self.store_capture(txn, page, seen, near, finished.as_ref().zip(planned))?;
        if let Some((digest, first)) = &page.first_with {
            txn.put::<Content>(&ContentKey::from(*digest), first);
        }
        let (at, pace) = (seen.host_crawl().host_at(), page.pace.as_deref());
        self.hosts.note_state(txn, at, Some(page.url.host()), pace, &mut self.counters)?;
        let mut done = self.links(txn, &page.links, now, leased)?;
        self.gave(txn, &page.links.linked);
        if let Some(entry) = nearer {
            done.again.extend(self.found_nearer_meanwhile(txn, page, entry, now)?);
        }
        let number = finished.as_ref().map_or(0, |finished| finished.number);
        let unsynced = unsynced.map(|unsynced| UnsyncedPage { feed: number, ..unsynced });
        Ok(Done { unsynced, visit: finished.map(|finished| finished.visit), ..done })
    }

    fn end_state(
        &mut self,
        txn: &mut Txn<'_>,
        page: &PageChange,
        seen: SeenKey,
        (rank, order, reach): (u8, u64, Reach),
        entry: Option<QueueEntry>,
        now: UnixMillis,
    ) -> Result<UrlState> {
        let at = seen.host_crawl().host_at();
        // A host that is blocked or being dropped has no next try.
        let refused = match page.ending {
            Ending::Retry { .. } | Ending::Wait { .. } => self.hosts.orders(txn, at)?.refusal().map(Ending::Rejected),
            _ => None,
        };
        Ok(match refused.as_ref().unwrap_or(&page.ending) {
            Ending::Retry { at: when, reason } | Ending::Wait { at: when, reason } => {
                if let Some(mut entry) = entry {
                    // A fault of this machine's disk is not the URL's.
                    let counts = *reason != Failure::Spill && !matches!(page.ending, Ending::Wait { .. });
                    entry.attempts = entry.attempts.saturating_add(counts.into());
                    if let Some(half) = &page.capture {
                        entry.again = Some(LastTime::new(half.fetched, RequeueReason::Cut));
                    }
                    txn.put::<Due>(&seen.due(*when), &entry);
                }
                self.hosts.with(txn, at, |row| row.counts.due += 1)?;
                self.hosts.note_due(at, *when);
                UrlState::Waiting { rank, order, reach, due: Some(*when) }
            }
            Ending::Done(how) => {
                let captured = page.capture.as_ref().map_or(UnixMillis(0), |c| c.fetched);
                self.done(txn, at, captured, *how, page.reach)?
            }
            Ending::Kept(half) => self.done(txn, at, half.fetched, half.how, page.reach)?,
            Ending::Error(reason) => {
                self.counters.queued = self.counters.queued.saturating_sub(1);
                self.counters.add_error(*reason);
                self.hosts.with(txn, at, |row| row.counts.errors += 1)?;
                self.keep_failed(txn, seen, page, *reason, reach, entry, now);
                UrlState::Error { reason: *reason }
            }
            Ending::Rejected(reason) => {
                self.counters.queued = self.counters.queued.saturating_sub(1);
                self.count_rejected(*reason);
                let from = entry.map(|e| Found { via: e.via, origin: e.origin, found: e.found }).unwrap_or_default();
                self.keep_rejected(txn, seen, &page.url, *reason, reach.depth, from);
                UrlState::Rejected { reason: *reason, generation: self.rules.generation, reach }
            }
        })
    }

    fn done(
        &mut self,
        txn: &mut Txn<'_>,
        at: HostAt,
        captured: UnixMillis,
        how: DoneKind,
        reach: Reach,
    ) -> Result<UrlState> {
        self.counters.queued = self.counters.queued.saturating_sub(1);
        self.counters.done += 1;
        self.hosts.finished(txn, at, how)?;
        self.counters.redirects += u64::from(how == DoneKind::Redirect);
        Ok(UrlState::Done { captured, how, reach })
    }

    fn store_capture(
        &mut self,
        txn: &mut Txn<'_>,
        page: &PageChange,
        seen: SeenKey,
        near: Option<Near>,
        told: Option<(&Finished, Planned)>,
    ) -> Result<()> {
        let Some(capture) = page.record() else { return Ok(()) };
        let mut kept = match told {
            Some((finished, Planned { habit, next })) => {
                PageRecord { visit: finished.visit, habit, next, ..capture.clone() }
            }
            None => capture.clone(),
        };
        kept.remarks.near = near;
        txn.put::<Pages>(&seen.page(capture.fetched), &kept);
        if page.capture.is_none() {
            return Ok(()); // the half of an earlier try, counted when it came
        }
        counters_of(&mut self.counters, capture, true);
        let at = seen.host_crawl().host_at();
        self.hosts.with(txn, at, |row| row.counts.bytes = row.counts.bytes.saturating_add(capture.bytes))
    }

    /// Marks a URL as turned away, and keeps it.
    fn turned(&self, txn: &mut Txn<'_>, seen: SeenKey, url: &PageUrl, reason: Rejection, reach: Reach, from: Found) {
        let generation = self.rules.generation;
        txn.put::<Seen>(&seen, &UrlState::Rejected { reason, generation, reach });
        self.keep_rejected(txn, seen, url, reason, reach.depth, from);
    }

    fn keep_rejected(
        &self,
        txn: &mut Txn<'_>,
        seen: SeenKey,
        url: &PageUrl,
        reason: Rejection,
        depth: u16,
        Found { via, origin, found }: Found,
    ) {
        if self.rules.keep_rejected {
            let (generation, spelling) = (self.rules.generation, url.spelling().map(str::to_owned));
            let url = url.as_str().to_owned();
            txn.put::<Rejected>(&seen, &RejectedValue { url, reason, generation, depth, via, origin, found, spelling });
        }
    }

    fn links(&mut self, txn: &mut Txn<'_>, links: &LinkChange, now: UnixMillis, leased: Leased<'_>) -> Result<Done> {
        let mut settled = Vec::with_capacity(links.new.len() + links.turned.len());
        let fresh = self.keep_seeds(txn, &links.seeds, now)?;
        self.counters.too_deep |= links.too_deep;
        let mut astray = Vec::new(); // the door knew it otherwise, or not yet
        for new in &links.new {
            settled.push(match self.goes_astray(new, &mut astray) {
                Some(key) => key,
                None => self.discover(txn, new, now)?,
            });
        }
        for turned in &links.turned {
            settled.push(match self.goes_astray(&turned.new, &mut astray) {
                Some(key) => key,
                None => self.turn_away(txn, turned)?,
            });
        }
        let mut again = Vec::new();
        for new in &links.readmitted {
            let seen = self.seen_key(&new.url);
            settled.push(seen.url);
            if !self.readmit(txn, seen, new, now)? {
                again.extend(self.bring_nearer(txn, new, leased)?); // another page was faster
            }
        }
        for nearer in &links.nearer {
            again.extend(self.bring_nearer(txn, nearer, leased)?);
        }
        for known in &links.again {
            again.extend(self.named_again(txn, known)?);
        }
        self.issue(txn, &fresh)?;
        self.hand_over(txn, &links.foreign, self.share_abroad(), now)?;
        self.hand_over(txn, &astray, 0, now)?;
        Ok(Done { settled, again, ..Done::default() })
    }

    fn discover(&mut self, txn: &mut Txn<'_>, new: &NewUrl, now: UnixMillis) -> Result<UrlKey> {
        let seen = self.seen_key(&new.url);
        // In the shipped program one look-up for each new URL would cost too much.
        debug_assert!(!matches!(txn.get::<Seen>(&seen), Ok(Some(_))), "I2: {} is known already", new.url);
        self.counters.discovered += 1;
        self.enqueue(txn, seen, new, now)?;
        Ok(seen.url)
    }

    fn enqueue(&mut self, txn: &mut Txn<'_>, seen: SeenKey, new: &NewUrl, now: UnixMillis) -> Result<()> {
        let at = seen.host_crawl().host_at();
        if !self.hosts.is_named(txn, at, new.url.host(), &mut self.counters)? {
            self.count_rejected(Rejection::Collision);
            let (reason, generation) = (Rejection::Collision, self.rules.generation);
            txn.put::<Seen>(&seen, &UrlState::Rejected { reason, generation, reach: new.reach() });
            log::error!("host key collision: {} was given up; no other host is touched", new.url.host());
            return Ok(());
        }
        if let Some(reason) = self.hosts.orders(txn, at)?.refusal() {
            self.count_rejected(reason);
            self.turned(txn, seen, &new.url, reason, new.reach(), Found::of(new));
            return Ok(());
        }
        let entry = QueueEntry {
            limit: new.limit,
            hops: new.hops,
            seed: new.seed,
            found: new.found,
            origin: new.origin.as_deref().map(str::to_owned),
            via: new.via.as_deref().map(str::to_owned),
            priority: new.priority,
            ..QueueEntry::new(&new.url, new.depth, now)
        };
        self.counters.queued += 1;
        self.put_at(txn, seen, &entry, new.is_last())
    }

    fn put_in_queue(&mut self, txn: &mut Txn<'_>, seen: SeenKey, entry: &QueueEntry) -> Result<()> {
        self.put_at(txn, seen, entry, false)
    }

    /// Queues a URL where the rules say, or behind all others of its host.
    fn put_at(&mut self, txn: &mut Txn<'_>, seen: SeenKey, entry: &QueueEntry, last: bool) -> Result<()> {
        let (reach, seq) = (entry.reach(), self.counters.next_seq);
        self.waits(txn, seen, entry)?;
        let place = if last { Ranker::last_place(seq) } else { self.place_of(txn, seen, entry, seq)? };
        self.counters.next_seq += 1;
        let Place { rank, order } = place;
        txn.put::<Queue>(&seen.host_crawl().queue(rank, order), entry);
        txn.put::<Seen>(&seen, &UrlState::Waiting { rank, order, reach, due: None });
        self.hosts.enqueued(txn, seen.host_crawl().host_at(), rank, order)
    }

    fn turn_away(&mut self, txn: &mut Txn<'_>, turned: &RejectedUrl) -> Result<UrlKey> {
        let seen = self.seen_key(&turned.new.url);
        self.counters.discovered += 1;
        self.count_rejected(turned.reason);
        self.turned(txn, seen, &turned.new.url, turned.reason, turned.new.reach(), Found::of(&turned.new));
        Ok(seen.url)
    }

    /// Queues a URL that is rejected; false when it is not.
    fn readmit(&mut self, txn: &mut Txn<'_>, seen: SeenKey, new: &NewUrl, now: UnixMillis) -> Result<bool> {
        let Some(UrlState::Rejected { reason, .. }) = txn.get::<Seen>(&seen)? else { return Ok(false) };
        self.counters.sub_rejected(reason);
        txn.delete::<Rejected>(&seen);
        self.enqueue(txn, seen, new, now)?;
        Ok(true)
    }

    fn promote(&mut self, txn: &mut Txn<'_>, due: &[DueKey]) -> Result<Done> {
        for key in due {
            let Some(entry) = txn.get::<Due>(key)? else { continue };
            txn.delete::<Due>(key);
            let seen = key.seen();
            self.hosts.with(txn, seen.host_crawl().host_at(), |row| {
                row.counts.due = row.counts.due.saturating_sub(1);
            })?;
            self.put_in_queue(txn, seen, &entry)?;
        }
        Ok(Done::default())
    }
}

/// As what a URL was found and on which page, and the seed it goes back to.
#[derive(Default)]
struct Found {
    via: Option<String>,
    origin: Option<String>,
    found: FoundAs,
}

impl Found {
    fn of(new: &NewUrl) -> Self {
        let (via, origin) = (new.via.as_deref().map(str::to_owned), new.origin.as_deref().map(str::to_owned));
        Self { via, origin, found: new.found }
    }
}

/// What it takes to queue a page again, should its record be lost.
fn unsynced(
    page: &PageChange,
    seen: SeenKey,
    (rank, order): (u8, u64),
    entry: Option<&QueueEntry>,
) -> Option<UnsyncedPage> {
    let capture = page.capture.as_ref()?;
    let (entry, warc) = (entry?.clone(), capture.warc.clone()?);
    Some(UnsyncedPage { page: seen.page(capture.fetched), rank, order, entry, warc, feed: 0 })
}
