//! What every room of a running node shares: rules, clock, storage to read from, registries that outlive actors.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, RwLock};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};

use crate::base::clock::Clock;
use crate::base::disk::{DiskFault, DiskState, Reserve};
use crate::base::fault::Faults;
use crate::base::time::{UnixMillis, millis};
use crate::crawl::jobs::Jobs;
use crate::crawl::live::Live;
use crate::crawl::live::LiveCell;
use crate::crawl::pulse::Pulses;
use crate::crawl::rules::Rules;
use crate::document::SpillBudget;
use crate::domain::fingerprint::{CrawlId, Fingerprinter, HostKey, UrlKey};
use crate::domain::memory::MemoryPlan;
use crate::domain::outcome::FetchOutcome;
use crate::domain::reason::{Failure, Rejection};
use crate::domain::robots::RobotsAccess;
use crate::domain::scope::Scope;
use crate::domain::traps::Shapes;
use crate::domain::url::Scheme;
use crate::net::dns::Resolver;
use crate::net::guard::AddressPolicy;
use crate::net::protocol::Timings;
use crate::storage::ledger::{Change, Ending, PageChange};
use crate::storage::values::{ClockState, Counters, How, SeedValue};
use crate::storage::{Storage, StorageError};
use crate::telemetry::metrics::{Metrics, Phase, Registry};
use crate::telemetry::notice::Notices;
use crate::telemetry::series::Series;
use crate::telemetry::trouble::ROBOTS_UNREACHABLE;
use crate::telemetry::{Attempt, Attempts, Events, StateChange, StatusSnapshot, Troubles};

use super::asking::Asking;
use super::deduper::Deduper;
use super::door::Door;
use super::fetcher::Fetcher;
use super::frontier::Frontier;
use super::lease::{Lease, LeaseCore, LeaseEnd, LeaseTable};
use super::link_room::LinkRoom;
use super::orders::Orders;
use super::parser::Parser;
use super::politeness::{Host, Targets, copy_of};
use super::seeds::Seeds;
use super::slot::Slots;
use super::store::{Commit, Store, room_taken};
use super::strikes::{STRIKES, Strikes};
use super::supervise::{Coroner, Death, RestartRules};
use super::supervisor::Supervisor;
use crate::base::sync::lock;

/// Why a node ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stop {
    /// Every URL is done.
    Done,
    /// TERM, INT or `/api/v1/stop`.
    Asked,
    /// `/api/v1/drain`: what is in flight gets all the time it needs.
    Drained,
    /// `crawl.max_pages`, or `--max-pages`.
    Pages,
    /// `crawl.max_bytes`.
    Bytes,
    /// `crawl.max_time`.
    Time,
    /// `crawl.max_failures`.
    Failures,
    /// An actor died too often.
    Supervisor(String),
    /// The disk refuses to store.
    Disk(String),
}

/// Raised whenever a commit is lost, so that nothing hangs on it (docs/architecture.md, Deduper).
#[derive(Default)]
pub struct Epoch {
    number: AtomicU64,
    writing: Mutex<()>,
}

impl Epoch {
    /// The epoch in force.
    #[must_use]
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

/// A page from fetch to commit. Dropped with the message that carries it.
pub type PagePermit = OwnedSemaphorePermit;

/// The addresses of all rooms; the same over every death.
pub struct Doors {
    /// The Supervisor.
    pub supervisor: Door<Supervisor>,
    /// The Frontier.
    pub frontier: Door<Frontier>,
    /// The Fetchers, one a thread.
    pub fetchers: Vec<Door<Fetcher>>,
    /// The Parser.
    pub parser: Door<Parser>,
    /// The Deduper.
    pub deduper: Door<Deduper>,
    /// The Store.
    pub store: Door<Store>,
}

/// The shared part of a running node.
pub struct Node {
    /// Rules of the run that hold to its end.
    pub rules: Rules,
    /// Rules that may change.
    pub live: LiveCell,
    /// The only clock.
    pub clock: Clock,
    /// Read access; only the Store writes.
    pub storage: Arc<dyn Storage>,
    /// Keys of this data folder.
    pub prints: Fingerprinter,
    /// The crawl (one for now).
    pub crawl: CrawlId,
    /// Scope, widened by seed redirects; replaced together with `live`.
    pub scope: RwLock<Scope>,
    /// What the operator has said of hosts.
    pub orders: Orders,
    /// What was said of seeds.
    pub seeds: Seeds,
    /// Slots of hosts.
    pub slots: Slots,
    /// The room for temporary files of bodies.
    pub spill: SpillBudget,
    /// Every robots.txt that is being asked for.
    pub asking: Asking,
    /// Places to which robots.txt of other hosts redirect, as they answered.
    pub targets: Targets,
    /// Leases.
    pub leases: LeaseTable,
    /// Pages that were in hand when a process ended.
    pub strikes: Strikes,
    /// Pages from fetch to commit.
    pub pages: Arc<Semaphore>,
    /// Room before the Store, for what the Deduper sends.
    pub store_room: Arc<Semaphore>,
    /// When the Store synced last, in milliseconds of the clock's uptime.
    pub synced: AtomicU64,
    /// Room for links that wait for their commit.
    pub links: Arc<LinkRoom>,
    /// How many page permits there are.
    pub pages_total: usize,
    /// How many of them are withheld because memory is short.
    pub withheld: AtomicUsize,
    /// Who gets how much memory.
    pub memory: MemoryPlan,
    /// Bytes of the seen filter, with the one that is to replace it.
    pub filter_bytes: AtomicU64,
    /// The earliest last visit of a sitemap, milliseconds since 1970; `u64::MAX` when there is none.
    pub sitemap_visit: AtomicU64,
    /// Requests on the wire.
    pub fetches: Arc<Semaphore>,
    /// Pages being parsed now.
    pub parsing: AtomicU64,
    /// Commit epoch.
    pub epoch: Epoch,
    /// The counters as last committed, published by the Store.
    pub counters: Mutex<Counters>,
    /// Raised by every commit.
    pub committed: watch::Sender<u64>,
    /// Names to addresses.
    pub resolver: Resolver,
    /// Addresses allowed.
    pub guard: AddressPolicy,
    /// Counters for the outside.
    pub metrics: Metrics,
    /// Fault points.
    pub faults: Faults,
    /// Meter and door of each room.
    pub doors: OnceLock<Doors>,
    /// Hosts that are active, so that a new Frontier can retire those of the old one.
    pub hosts: Mutex<HashMap<HostKey, Door<Host>>>,
    /// Shapes of URLs found since this process began, and what of them is held back.
    pub shapes: Mutex<Shapes>,
    /// What goes wrong, for people.
    pub troubles: Troubles,
    /// What happens, for whoever listens.
    pub events: Arc<Events>,
    /// What the operator is called for.
    pub notices: Notices,
    /// Attempts that failed lately.
    pub attempts: Attempts,
    /// Counts over time.
    pub series: Series,
    /// When the next retry is due or a parking ends, in milliseconds; 0 while something else is to do, or nothing.
    pub next_try: AtomicU64,
    /// Pages a second, measured between looks.
    pub rate: Mutex<Rate>,
    /// No leases while set (pause).
    pub paused: AtomicBool,
    /// No new work while set (drain).
    pub draining: AtomicBool,
    /// The Store has closed its files, and writes no more.
    pub closed: AtomicBool,
    /// The turn of whoever makes a checkpoint: one at a time.
    pub checkpoints: Arc<Semaphore>,
    /// Background jobs.
    pub jobs: Arc<Jobs>,
    /// What is known of the disks. No leases while something is wrong with them.
    pub disk: DiskState,
    /// Given up when a write finds no space.
    pub reserve: Reserve,
    /// Why the node ends, once it does.
    pub stop: watch::Sender<Option<Stop>>,
    /// By when the former run had surely ended: every host not asked since then first waits one full gap from here.
    pub last_stop: Option<UnixMillis>,
    /// Sequence number of the database when this node was built, before anything was written.
    pub start_sequence: u64,
    /// The saved seen filter was tried: a later Deduper must not believe it, for URLs were committed since.
    pub filter_opened: AtomicBool,
    /// The beats of the actors' threads.
    pub pulses: Pulses,
    /// When this node was built.
    pub started: UnixMillis,
}

/// Pages a second over the last looks.
#[derive(Default)]
pub struct Rate(std::collections::VecDeque<(UnixMillis, u64)>);

impl Rate {
    /// The rate over the last minute, with a look at `now` when `pages` are stored.
    pub fn per_second(&mut self, now: UnixMillis, pages: u64) -> f64 {
        const WINDOW: std::time::Duration = std::time::Duration::from_secs(60);
        const BETWEEN: std::time::Duration = std::time::Duration::from_millis(500);
        if self.0.back().is_none_or(|(last, _)| now.since(*last) >= BETWEEN) {
            self.0.push_back((now, pages));
        }
        while self.0.len() > 1 && self.0.front().is_some_and(|(first, _)| now.since(*first) > WINDOW) {
            self.0.pop_front();
        }
        let Some((first, at_first)) = self.0.front() else { return 0.0 };
        let seconds = now.since(*first).as_secs_f64();
        if seconds > 0.0 { pages.saturating_sub(*at_first) as f64 / seconds } else { 0.0 }
    }
}

impl Node {
    /// The rooms' doors.
    ///
    /// # Panics
    /// Before the composition root has set them, which happens before any actor is started.
    #[must_use]
    #[expect(clippy::expect_used, reason = "set once by the composition root before the first actor starts")]
    pub fn doors(&self) -> &Doors {
        self.doors.get().expect("doors are set before actors start")
    }

    /// The fetcher that serves `host`: always the same one, so that its connection is found again.
    #[must_use]
    pub fn fetcher_of(&self, host: &HostKey) -> &Door<Fetcher> {
        let doors = &self.doors().fetchers;
        &doors[usize::from(host.0[7]) % doors.len().max(1)] // there is at least one
    }

    /// The rules in force that may change.
    #[must_use]
    pub fn live(&self) -> Arc<Live> {
        self.live.get()
    }

    /// Ends the node; the first reason wins.
    pub fn stop_with(&self, why: Stop) {
        self.stop.send_if_modified(|current| {
            let first = current.is_none();
            if first {
                *current = Some(why);
            }
            first
        });
    }

    /// After how long sitemaps are read again; not at all in a crawl that is to end.
    #[must_use]
    pub fn sitemaps_again(&self) -> Option<Duration> {
        let sitemaps = &self.rules.settings.sitemaps;
        sitemaps.revisit.filter(|_| sitemaps.in_use && !self.live().settings.crawl.until_done)
    }

    /// When the next sitemap is read again.
    #[must_use]
    pub fn next_sitemap(&self) -> Option<UnixMillis> {
        let visit = Some(self.sitemap_visit.load(Ordering::Relaxed)).filter(|visit| *visit < u64::MAX)?;
        self.sitemaps_again().map(|after| UnixMillis(visit).plus(after))
    }

    /// True while nothing new may be begun.
    #[must_use]
    pub fn holds(&self) -> bool {
        self.disk.holds() || [&self.paused, &self.draining].iter().any(|flag| flag.load(Ordering::Acquire))
    }

    /// What the clocks say: kept with each commit.
    #[must_use]
    pub fn clock_state(&self) -> ClockState {
        ClockState { crawl: self.clock.now(), date: self.clock.date(), boot: self.clock.since_boot() }
    }

    /// Everything committed so far is safe against power loss.
    pub fn note_synced(&self) {
        self.synced.store(millis(self.clock.uptime()), Ordering::Relaxed);
    }

    /// How long ago the Store synced; since the start of this process when it has not yet.
    #[must_use]
    pub fn sync_age(&self) -> Duration {
        let at = Duration::from_millis(self.synced.load(Ordering::Relaxed));
        self.clock.uptime().saturating_sub(at)
    }

    /// True when a page ended rooms, or whole processes, so often that it is given up.
    #[must_use]
    pub fn is_poison(&self, page: &UrlKey) -> bool {
        self.leases.is_poison(page) || self.strikes.of(page) >= STRIKES
    }

    /// How many more leases `crawl.max_pages` leaves room for.
    #[must_use]
    pub fn lease_room(&self) -> usize {
        let Some(max) = self.live().settings.crawl.max_pages else { return usize::MAX };
        let spoken_for = lock(&self.counters).pages_stored.saturating_add(self.leases.len() as u64);
        usize::try_from(max.saturating_sub(spoken_for)).unwrap_or(usize::MAX)
    }

    /// True when no page is between fetch and commit.
    #[must_use]
    pub fn is_quiet(&self) -> bool {
        // Permits are withheld and given back meanwhile: only a look between two equal numbers counts.
        let withheld = self.withheld.load(Ordering::Acquire);
        let here = self.pages.available_permits().saturating_add(withheld) == self.pages_total;
        here && withheld == self.withheld.load(Ordering::Acquire)
    }

    /// Counts a committed change for the outside.
    pub fn note_committed(&self, commit: &Commit) {
        let page = match &commit.change {
            Change::Page(page) => page,
            Change::Robots { key, host, value, .. } if value.failures > 0 => {
                let what = match value.status {
                    0 => "no answer".to_owned(),
                    200..=299 => format!("status {}, but its text did not come whole", value.status),
                    status => format!("status {status}"),
                };
                let port = Some(key.port).filter(|port| *port != key.scheme.default_port());
                let port = port.map(|port| format!(":{port}")).unwrap_or_default();
                let standing = self.rules.robots.standing(&copy_of(value), self.clock.now());
                let at = format!("{}://{host}{port}/robots.txt", key.scheme.as_str());
                self.trouble(ROBOTS_UNREACHABLE, &at, Some(what));
                self.robots_failed(host, &at, value.failures, standing == RobotsAccess::Stale);
                return;
            }
            _ => return,
        };
        self.note_trouble(page);
        self.tell_page(page);
        match &page.ending {
            Ending::Error(failure) => self.metrics.error(*failure),
            Ending::Retry { reason, .. } => self.metrics.retry(*reason),
            Ending::Wait { .. } | Ending::Rejected(_) | Ending::Done(_) | Ending::Kept(_) => {}
        }
        if let Some(capture) = &page.capture {
            self.metrics.stored(u64::from(capture.how != How::Unstored), u64::from(capture.how.is_revisit()));
            self.metrics.received(capture.bytes);
            capture.remarks.notes.iter().for_each(|note| self.metrics.note(*note));
            let answered = capture.fetched.plus(Duration::from_millis(capture.took_ms.into()));
            self.metrics.commit_lag(self.clock.date().since(answered));
        }
    }

    /// Keeps a failure for people; the first of its kind is worth a line.
    fn trouble(&self, reason: &'static str, url: &str, said: Option<String>) {
        let example = said.as_ref().map_or_else(|| url.to_owned(), |said| format!("{url} ({said})"));
        if self.troubles.note(self.clock.now(), reason, example) {
            let said = said.map(|said| format!(" said={said:?}")).unwrap_or_default();
            log::warn!("first trouble of its kind: reason={reason} url={url}{said}");
        }
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

    /// Keeps what went wrong with a page for people.
    fn note_trouble(&self, page: &PageChange) {
        for turned in page.links.turned.iter().filter(|t| t.reason == Rejection::Scope || t.reason.is_held_back()) {
            self.troubles.tally(turned.reason.as_str(), turned.new.url.to_string());
        }
        match &page.ending {
            Ending::Error(failure) | Ending::Retry { reason: failure, .. } => {
                let status = page.status;
                let (url, at) = (self.prints.url(&page.url), self.clock.date());
                self.attempts.note(Attempt { url, at, reason: failure.as_str(), status });
                if *failure == Failure::RobotsUnreachable {
                    return; // it was told with what robots.txt answered
                }
                self.trouble(failure.as_str(), page.url.as_str(), status.map(|status| format!("status {status}")));
            }
            Ending::Rejected(rejection) => self.troubles.tally(rejection.as_str(), page.url.to_string()),
            Ending::Wait { .. } | Ending::Done(_) | Ending::Kept(_) => {}
        }
    }

    /// Counts what became of a request.
    pub fn note_fetched(&self, outcome: &FetchOutcome, timings: Option<&Timings>) {
        if let FetchOutcome::Answer(answer) = outcome {
            self.metrics.response(answer.status);
        }
        if let Some(t) = timings {
            let phases = [
                (Phase::Connect, t.connect),
                (Phase::Tls, t.tls),
                (Phase::FirstByte, t.first_byte),
                (Phase::Body, t.body),
                (Phase::Total, t.total),
            ];
            for (phase, took) in phases.into_iter().filter(|(_, took)| !took.is_zero()) {
                self.metrics.phase(phase, took);
            }
        }
    }

    /// When a page for which there was no room on our disk is tried again: after a wait that grows with each time in a row.
    #[must_use]
    pub fn after_spill(&self, page: &UrlKey) -> UnixMillis {
        self.clock.now().plus(self.live().retry.own_fault(self.spilled(page)))
    }

    /// How often in a row there was no room on our disk for a page, as far as it is remembered.
    #[must_use]
    pub fn spilled(&self, page: &UrlKey) -> u32 {
        let spilled = |attempt: &&Attempt| attempt.reason == Failure::Spill.as_str();
        self.attempts.of(page).iter().take_while(spilled).count().try_into().unwrap_or(u32::MAX)
    }

    /// A temporary file could not be written. When that is the disk's fault the crawl pauses.
    pub fn spill_failed(&self, error: &str) {
        let Some(fault) = DiskFault::of_text(error) else { return };
        if self.disk.spill_failed(fault, error, self.clock.now()) {
            let fault = fault.as_str();
            let text = format!("temporary files cannot be written, the crawl pauses: fault={fault} error={error}");
            self.changed(StateChange::DiskBroken, text);
        }
    }

    /// Brings the gauges up to date.
    pub fn publish_metrics(&self, status: &StatusSnapshot) {
        let operator = self.paused.load(Ordering::Acquire);
        self.metrics.paused([operator, self.disk.is_low(), self.disk.is_broken()]);
        self.metrics.publish(status);
        let (free, withheld) = (self.pages.available_permits(), self.withheld.load(Ordering::Acquire));
        let taken = self.pages_total.saturating_sub(free).saturating_sub(withheld);
        self.metrics.permits(free as u64, taken as u64, withheld as u64);
        let registries = [
            (Registry::Leases, self.leases.len()),
            (Registry::Slots, self.slots.len()),
            (Registry::SlotGroups, self.slots.groups()),
            (Registry::DnsNames, self.resolver.names_kept()),
        ];
        registries.into_iter().for_each(|(registry, n)| self.metrics.entries(registry, n));
        let stats = self.storage.stats();
        self.metrics.storage(&stats);
        self.metrics.store(self.sync_age(), room_taken(&self.store_room));
        self.metrics.clock_ahead(self.clock.ahead());
        self.metrics.memory(self.memory.max, stats.memory, self.filter_bytes.load(Ordering::Relaxed));
        self.metrics.in_hand(status.in_flight, self.parsing.load(Ordering::Relaxed));
        self.metrics.dns(self.resolver.stats());
        self.metrics.listening(self.events.listeners(), self.events.missed());
    }

    /// What was said of the seed that a URL goes back to; nothing when that is not known any more.
    ///
    /// # Errors
    /// The storage's own.
    pub fn seed_of(&self, lease: &Lease) -> Result<Option<Arc<SeedValue>>, StorageError> {
        let own = lease.entry.seed.then_some(lease.url.as_str());
        let Some(seed) = lease.entry.origin.as_deref().or(own) else { return Ok(None) };
        self.seeds.of(&*self.storage, self.crawl, &self.prints, seed)
    }

    /// What was said of the URL at hand, where it is the https of a seed without a scheme.
    ///
    /// # Errors
    /// The storage's own.
    pub fn guess_of(&self, lease: &Lease) -> Result<Option<Arc<SeedValue>>, StorageError> {
        if !lease.entry.seed || lease.url.scheme() != Scheme::Https {
            return Ok(None);
        }
        Ok(self.seed_of(lease)?.filter(|said| said.guessed && said.url == lease.url.as_str()))
    }

    /// The counters of the last commit.
    #[must_use]
    pub fn counters(&self) -> Counters {
        lock(&self.counters).clone()
    }
}

impl Coroner for Node {
    fn now(&self) -> UnixMillis {
        self.clock.now()
    }

    fn rules(&self) -> RestartRules {
        let s = &self.rules.settings.supervision;
        RestartRules { backoff: s.backoff, backoff_max: s.backoff_max, budget: s.budget, window: s.window }
    }

    fn restarted(&self, kind: super::supervise::Kind) {
        self.metrics.restart_asked(kind);
    }

    fn died(&self, death: Death) {
        self.metrics.restarted(death.kind);
        log::warn!(
            "actor died: kind={} instance={} why={:?} rest_ms={}",
            death.kind.as_str(),
            death.instance,
            death.why,
            death.rest.map_or_else(|| "none".into(), |r| r.as_millis().to_string()),
        );
        self.tell_death(&death);
        if death.rest.is_none() {
            self.stop_with(Stop::Supervisor(format!("{} died too often: {}", death.kind.as_str(), death.why)));
        }
        if let Some(doors) = self.doors.get() {
            doors.supervisor.tell(super::supervisor::Died(death));
        }
    }
}

/// Gives dropped leases back to the Frontier.
pub struct LeaseReturn(pub Door<Frontier>);

impl LeaseEnd for LeaseReturn {
    fn returned(&self, core: &Arc<LeaseCore>) {
        self.0.tell(super::frontier::LeaseReturned(core.clone()));
    }
}
