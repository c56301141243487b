//! One crawl: its rules, what was said of it, and how far it is. What the process lends to it is in [`Node`](super::node::Node).

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, RwLock};
use std::time::Duration;

use tokio::sync::watch;

use super::lease::LeaseTable;
use super::live::{Live, LiveCell};
use super::orders::Orders;
use super::rules::Rules;
use super::seeds::Seeds;
use super::strikes::{STRIKES, Strikes};
use super::together::{Spent, Together};
use crate::base::clock::Clock;
use crate::base::sync::lock;
use crate::base::time::{UnixMillis, millis};
use crate::domain::fingerprint::{CrawlId, UrlKey};
use crate::domain::scope::Scope;
use crate::domain::traps::Shapes;
use crate::storage::share::Shared;
use crate::storage::values::Counters;

/// What the actors of a crawl share.
#[expect(missing_docs, reason = "each name says it")]
pub struct Crawl {
    /// Which (one for now).
    pub id: CrawlId,
    /// Rules that hold to the end of the run.
    pub rules: Rules,
    /// Rules that may change.
    pub live: LiveCell,
    /// Scope, widened by seed redirects; replaced together with `live`.
    pub scope: RwLock<Scope>,
    pub orders: Orders,
    /// What is this folder's own, in a crawl in parts.
    pub share: Shared,
    pub seeds: Seeds,
    pub leases: LeaseTable,
    /// Pages that were in hand when a process ended.
    pub strikes: Strikes,
    /// Shapes of URLs found since this process began, and what of them is held back.
    pub shapes: Mutex<Shapes>,
    pub epoch: Epoch,
    pub progress: Progress,
    /// The other members of the crawl.
    pub together: Together,
    pub switches: Switches,
    pub filter: FilterFacts,
    /// By when the former run had surely ended: every host not asked since then first waits one full gap from here.
    pub last_stop: Option<UnixMillis>,
}

/// How far a crawl is.
pub struct Progress {
    /// The counters as last committed, published by the Store.
    pub counters: Mutex<Counters>,
    /// Raised by every commit.
    pub committed: watch::Sender<u64>,
    /// When the Store synced last, in milliseconds of the clock's uptime.
    pub synced: AtomicU64,
    /// Number of the last entry of the feed that is shown, the last one synced; none before the feed was taken up.
    pub fed: watch::Sender<Option<u64>>,
    /// When the next retry is due or a parking ends, in milliseconds; 0 while something else is to do, or nothing.
    pub next_try: AtomicU64,
    /// The earliest last visit of a sitemap, milliseconds since 1970; `u64::MAX` when there is none.
    pub sitemap_visit: AtomicU64,
    /// When the first visit of a host is due; the largest number when none is.
    pub next_visit: AtomicU64,
}

impl Progress {
    /// As the storage says.
    pub fn new(counters: Counters, clock: &Clock) -> Self {
        Self {
            counters: Mutex::new(counters),
            committed: watch::Sender::new(0),
            fed: watch::Sender::new(None),
            synced: AtomicU64::new(millis(clock.uptime())),
            next_try: AtomicU64::new(0),
            sitemap_visit: AtomicU64::new(u64::MAX),
            next_visit: AtomicU64::new(u64::MAX),
        }
    }

    /// Everything committed so far is safe against power loss.
    pub fn note_synced(&self, clock: &Clock) {
        self.synced.store(millis(clock.uptime()), Ordering::Relaxed);
    }

    /// How long ago the Store synced; since the start of this process when it has not yet.
    pub fn sync_age(&self, clock: &Clock) -> Duration {
        let at = Duration::from_millis(self.synced.load(Ordering::Relaxed));
        clock.uptime().saturating_sub(at)
    }
}

/// What holds a crawl up, or ends it.
#[derive(Default)]
pub struct Switches {
    /// No leases while set (pause).
    pub paused: AtomicBool,
    /// No new work while set (drain).
    pub draining: AtomicBool,
    /// The Store has closed its files, and writes no more.
    pub closed: AtomicBool,
}

/// What is known of the seen filter.
pub struct FilterFacts {
    /// Its bytes, with the one that is to replace it.
    pub bytes: AtomicU64,
    /// The saved one was tried: a later Deduper must not believe it, for URLs were committed since.
    pub opened: AtomicBool,
    /// Sequence number of the database when the process began, before anything was written.
    pub start_sequence: u64,
}

/// Raised whenever a commit is lost, so that nothing hangs on it (docs/architecture.md, Deduper).
#[derive(Default)]
pub struct Epoch {
    number: AtomicU64,
    writing: Mutex<()>,
}

impl Epoch {
    /// The epoch in force.
    pub fn now(&self) -> u64 {
        self.number.load(Ordering::Acquire)
    }

    /// Begins a new one: pages that carry an older one are refused. Waits for a write under way, so that afterwards the
    /// disk holds all that was accepted in the old one.
    pub fn raise(&self) -> u64 {
        let _no_write = lock(&self.writing);
        self.number.fetch_add(1, Ordering::AcqRel) + 1
    }

    /// Held by the Store from its look at the epoch to the end of its write.
    pub fn hold(&self) -> std::sync::MutexGuard<'_, ()> {
        lock(&self.writing)
    }
}

impl Crawl {
    /// The rules in force that may change.
    pub fn live(&self) -> Arc<Live> {
        self.live.get()
    }

    /// How many more leases `crawl.max_pages` leaves room for, with what other members have stored.
    pub fn lease_room(&self) -> usize {
        let Some(max) = self.live().settings.crawl.max_pages else { return usize::MAX };
        let stored = lock(&self.progress.counters).pages_stored.saturating_add(self.together.others().pages);
        usize::try_from(max.saturating_sub(stored.saturating_add(self.leases.len() as u64))).unwrap_or(usize::MAX)
    }

    /// True when a page ended rooms, or whole processes, so often that it is given up.
    pub fn is_poison(&self, page: &UrlKey) -> bool {
        self.leases.is_poison(page) || self.strikes.of(page) >= STRIKES
    }

    /// After how long sitemaps are read again; not at all in a crawl that is to end.
    pub fn sitemaps_again(&self) -> Option<Duration> {
        let sitemaps = &self.rules.settings.sitemaps;
        sitemaps.revisit.filter(|_| sitemaps.in_use && !self.live().settings.crawl.until_done)
    }

    /// When the next sitemap is read again.
    pub fn next_sitemap(&self) -> Option<UnixMillis> {
        let visit = Some(self.progress.sitemap_visit.load(Ordering::Relaxed)).filter(|visit| *visit < u64::MAX)?;
        self.sitemaps_again().map(|after| UnixMillis(visit).plus(after))
    }

    /// When the next page is visited again, or the next sitemap is.
    pub fn next_visit(&self) -> Option<UnixMillis> {
        self.next_page_visit().into_iter().chain(self.next_sitemap()).min()
    }

    /// When the next page is visited again.
    pub fn next_page_visit(&self) -> Option<UnixMillis> {
        let visit = Some(self.progress.next_visit.load(Ordering::Relaxed)).filter(|visit| *visit < u64::MAX);
        visit.map(UnixMillis)
    }

    /// The counters of the last commit.
    pub fn counters(&self) -> Counters {
        lock(&self.progress.counters).clone()
    }

    /// What counts against the limits: its own, as of the last commit, and what the other members said last.
    pub fn spent(&self) -> Spent {
        let mut spent = Spent::from(&*lock(&self.progress.counters));
        spent += self.together.others();
        spent
    }

    /// Says once of each shape that URLs of it are held back.
    pub fn tell_held_back(&self) {
        for held in lock(&self.shapes).newly_held() {
            log::warn!(
                "URLs held back, for many pages of their shape brought nothing new; `lycosa ctl urls readmit --held-back` takes them up, and `lycosa run --readmit-held-back` when the crawl has ended: host={} reason={} example={}",
                held.host,
                held.reason,
                held.example
            );
        }
    }
}
