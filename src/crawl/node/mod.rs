//! What a process has and every actor is given: clock, storage to read from, registries that outlive actors; and the crawl at work.

mod news;
mod note;
mod permits;

use std::collections::HashMap;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, OnceLock};

use tokio::sync::{Semaphore, watch};

use crate::base::clock::Clock;
use crate::base::disk::{DiskState, Reserve};
use crate::base::fault::Faults;
use crate::base::fence::Fence;
use crate::base::time::UnixMillis;
use crate::crawl::jobs::Jobs;
use crate::crawl::pulse::Pulses;
use crate::crawl::state::Crawl;
use crate::domain::fingerprint::{Fingerprinter, HostKey};
use crate::domain::url::Scheme;
use crate::net::dns::Resolver;
use crate::net::guard::AddressPolicy;
use crate::storage::values::{ClockState, SeedValue};
use crate::storage::{Storage, StorageError};
use crate::telemetry::metrics::Metrics;
use crate::telemetry::notice::Notices;
use crate::telemetry::series::Series;
use crate::telemetry::{Attempts, Events, StateChange, Troubles};

use crate::crawl::asking::Asking;
use crate::crawl::deduper::Deduper;
use crate::crawl::fetcher::Fetcher;
use crate::crawl::frontier::Frontier;
use crate::crawl::lease::{Lease, LeaseEnd};
use crate::crawl::mailbox::Mailbox;
use crate::crawl::parser::Parser;
use crate::crawl::politeness::{Host, Targets};
use crate::crawl::slot::Slots;
use crate::crawl::store::Store;
use crate::crawl::supervise::{Death, DeathListener, RestartRules};
use crate::crawl::supervisor::Supervisor;

pub use permits::{PagePermit, Permits};

/// Why a node ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stop {
    /// Every URL is done.
    Done,
    /// TERM, INT or `/api/v1/stop`.
    Asked,
    /// `/api/v1/drain`: what is in flight gets all the time it needs.
    Drained,
    /// A host is to be erased; the same process goes on after that.
    Erase,
    /// Partitions go to another member of the crawl, or come; the same process goes on after that.
    Moves,
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
    /// Another machine has taken the place of this member: by whom.
    Replaced(String),
    /// This member has given everything to the others and is none any more: a sentence.
    Left(String),
}

impl Stop {
    /// Whether the same process goes on afterwards.
    pub const fn is_rest(&self) -> bool {
        matches!(self, Self::Erase | Self::Moves)
    }
}

/// The addresses of all actors; the same over every death.
#[expect(missing_docs, reason = "each name says it")]
pub struct Mailboxes {
    pub supervisor: Mailbox<Supervisor>,
    pub frontier: Mailbox<Frontier>,
    /// The Fetchers, one a thread.
    pub fetchers: Vec<Mailbox<Fetcher>>,
    pub parser: Mailbox<Parser>,
    pub deduper: Mailbox<Deduper>,
    pub store: Mailbox<Store>,
}

/// What a process has, whatever it crawls, and the crawl at work in it.
#[expect(missing_docs, reason = "each name says it")]
pub struct Node {
    /// The only clock.
    pub clock: Clock,
    /// Read access; only the Store writes.
    pub storage: Arc<dyn Storage>,
    /// Keys of this data folder.
    pub prints: Fingerprinter,
    pub faults: Faults,
    pub net: Net,
    pub slots: Slots,
    /// Until when requests may be sent, in a crawl on several machines.
    pub fence: Fence,
    pub permits: Permits,
    /// What is known of the disks. No leases while something is wrong with them.
    pub disk: DiskState,
    /// Given up when a write finds no space.
    pub reserve: Reserve,
    pub telemetry: Telemetry,
    pub actors: Actors,
    pub jobs: Arc<Jobs>,
    /// Its membership, in a crawl on several machines.
    #[cfg(feature = "cluster")]
    pub member: OnceLock<Arc<crate::cluster::keeper::Membership>>,
    /// The index of pages.
    #[cfg(feature = "search")]
    pub index: crate::index::Served,
    /// The sinks, in the order of the settings.
    pub sinks: Vec<crate::sink::Served>,
    /// The turn of whoever makes a checkpoint: one at a time.
    pub checkpoints: Arc<Semaphore>,
    /// Why the node ends, once it does.
    pub stop: watch::Sender<Option<Stop>>,
    pub crawl: Crawl,
}

/// What requests need beside their connection.
#[expect(missing_docs, reason = "each name says it")]
pub struct Net {
    pub resolver: Resolver,
    pub guard: AddressPolicy,
    pub asking: Asking,
    /// Places to which robots.txt of other hosts redirect, as they answered.
    pub targets: Targets,
}

/// What is told to the outside.
pub struct Telemetry {
    /// Counters.
    pub metrics: Metrics,
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
    /// Pages a second, measured between looks.
    pub rate: Mutex<Rate>,
    /// When this node was built.
    pub started: UnixMillis,
}

impl Telemetry {
    /// Nothing told yet.
    pub fn new(clock: &Clock) -> Self {
        Self {
            metrics: Metrics::new(clock.date()),
            troubles: Troubles::default(),
            events: Arc::default(),
            notices: Notices::default(),
            attempts: Attempts::default(),
            series: Series::default(),
            rate: Mutex::default(),
            started: clock.now(),
        }
    }
}

/// Where the actors are reached.
#[derive(Default)]
pub struct Actors {
    /// The mailbox of each actor.
    pub mailboxes: OnceLock<Mailboxes>,
    /// Hosts that are active, so that a new Frontier can retire those of the old one.
    pub hosts: Mutex<HashMap<HostKey, Mailbox<Host>>>,
    /// The beats of the actors' threads.
    pub pulses: Pulses,
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
    /// The actors' mailboxes.
    ///
    /// # Panics
    /// Before the composition root has set them, which happens before any actor is started.
    #[expect(clippy::expect_used, reason = "set once by the composition root before the first actor starts")]
    pub fn mailboxes(&self) -> &Mailboxes {
        self.actors.mailboxes.get().expect("mailboxes are set before actors start")
    }

    /// The fetcher that serves `host`: always the same one, so that its connection is found again.
    pub fn fetcher_of(&self, host: &HostKey) -> &Mailbox<Fetcher> {
        let mailboxes = &self.mailboxes().fetchers;
        &mailboxes[usize::from(host.0[7]) % mailboxes.len().max(1)] // there is at least one
    }

    /// Ends the node; the first reason wins. After a rest the process would go on: whoever ends it for good wins over that.
    pub fn stop_with(&self, why: Stop) {
        self.stop.send_if_modified(|current| {
            let first = current.as_ref().is_none_or(|was| was.is_rest() && !why.is_rest());
            if first {
                *current = Some(why);
            }
            first
        });
    }

    /// True while nothing new may be begun.
    pub fn holds(&self) -> bool {
        self.disk.holds()
            || self.fence.is_over()
            || [&self.crawl.switches.paused, &self.crawl.switches.draining]
                .iter()
                .any(|flag| flag.load(Ordering::Acquire))
    }

    /// What the clocks say: kept with each commit.
    pub fn clock_state(&self) -> ClockState {
        ClockState { crawl: self.clock.now(), date: self.clock.date(), boot: self.clock.since_boot() }
    }

    /// True when no page is between fetch and commit.
    pub fn is_quiet(&self) -> bool {
        // Permits are withheld and given back meanwhile: only a look between two equal numbers counts.
        let withheld = self.permits.withheld.load(Ordering::Acquire);
        let here = self.permits.pages.available_permits().saturating_add(withheld) == self.permits.pages_total;
        here && withheld == self.permits.withheld.load(Ordering::Acquire)
    }

    /// What was said of the seed that a URL goes back to; nothing when that is not known any more.
    ///
    /// # Errors
    /// The storage's own.
    pub fn seed_of(&self, lease: &Lease) -> Result<Option<Arc<SeedValue>>, StorageError> {
        let own = lease.entry.seed.then_some(lease.url.as_str());
        let Some(seed) = lease.entry.origin.as_deref().or(own) else { return Ok(None) };
        self.crawl.seeds.of(&*self.storage, self.crawl.id, &self.prints, seed)
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
}

impl DeathListener for Node {
    fn now(&self) -> UnixMillis {
        self.clock.now()
    }

    fn rules(&self) -> RestartRules {
        let s = &self.crawl.rules.settings.supervision;
        RestartRules { backoff: s.backoff, backoff_max: s.backoff_max, budget: s.budget, window: s.window }
    }

    fn restarted(&self, kind: crate::crawl::supervise::Kind) {
        self.telemetry.metrics.restart_asked(kind);
    }

    fn died(&self, death: Death) {
        self.telemetry.metrics.restarted(death.kind);
        log::warn!(
            "actor died: kind={} instance={} why={:?} backoff_ms={}",
            death.kind.as_str(),
            death.instance,
            death.why,
            death.rest.map_or_else(|| "none".into(), |r| r.as_millis().to_string()),
        );
        // The last death is told at once, and before what follows from it: the Supervisor may not come to it any more.
        if death.rest.is_none() {
            self.tell_death(&death);
            let (kind, why) = (death.kind.as_str(), &death.why);
            let line = format!("an actor died too often, the node ends: kind={kind} why={why:?}");
            self.changed(StateChange::Failing, line);
            self.stop_with(Stop::Supervisor(format!("{kind} died too often: {why}")));
        } else if let Some(mailboxes) = self.actors.mailboxes.get() {
            mailboxes.supervisor.tell(crate::crawl::supervisor::Died(death));
        }
    }
}

/// Gives dropped leases back to the Frontier.
pub fn lease_end(node: &Node) -> LeaseEnd {
    let frontier = node.mailboxes().frontier.clone();
    Arc::new(move |core| frontier.tell(crate::crawl::frontier::LeaseReturned(core.clone())))
}
