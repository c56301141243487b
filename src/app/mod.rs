//! Composition root: the only place that names every actor and says on which thread it lives.

mod budget;
mod checkpoint;
mod cockpit;
mod control;
mod disk;
mod files;
mod idle;
mod jobs;
mod live;
mod memory;
mod next;
mod notify;
mod pause;
mod pulse;
mod readmit;
mod refresh;
mod rules;
mod run;
mod status;
mod uploads;
mod watch;
mod webhooks;

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize};
use std::sync::{Arc, Mutex, OnceLock, RwLock, mpsc};
use std::thread::JoinHandle;
use std::time::Duration;

use actix::System;
use actix::dev::channel::AddressReceiver;
use actix_rt::{Arbiter, ArbiterHandle};
use tokio::sync::{Semaphore, oneshot, watch as channel};

use crate::actors::deduper::{Deduper, SaveFilter};
use crate::actors::door::Door;
use crate::actors::fetcher::Fetcher;
use crate::actors::frontier::Frontier;
use crate::actors::lease::LeaseTable;
use crate::actors::node::{Doors, Epoch, Node, Stop};
use crate::actors::orders::Orders;
use crate::actors::parser::Parser;
use crate::actors::seeds::Seeds;
use crate::actors::slot::Slots;
use crate::actors::store::{Close, Store};
use crate::actors::strikes::Strikes;
use crate::actors::supervise::{Guarded, Kind, Room};
use crate::actors::supervisor::Supervisor;
use crate::clock::Clock;
use crate::config::Settings;
use crate::disk::{DiskFault, DiskState, Reserve};
use crate::document::{SpillBudget, SpillConfig};
use crate::domain::fingerprint::{CrawlId, Fingerprinter};
use crate::domain::time::UnixMillis;
use crate::fault::Faults;
use crate::net::dns::Resolver;
use crate::net::http::{Http, HttpConfig};
use crate::net::protocol::Protocols;
use crate::parse::MimeModules;
use crate::storage::ledger::counters;
use crate::storage::txn::Txn;
use crate::storage::values::{Counters, RunState};
use crate::storage::{Storage, read};
use crate::telemetry::metrics::Metrics;
use crate::telemetry::notice::Notices;
use crate::telemetry::series::Series;
use crate::telemetry::{Attempts, StateChange, Troubles};
use crate::warc::WarcError;
use crate::warc::folder::{self, Claim};

pub use checkpoint::{create as checkpoint, keep as keep_checkpoints};
pub use cockpit::rooms as cockpit_rooms;
pub use cockpit::{NodeHolders, NodeHosts, Reporter, Retry};
pub use control::NodeControl;
pub use jobs::{Job, JobError, Jobs};
pub use live::{
    Live, LiveCell, Wish, change as change_settings, reload as reload_settings, resync, undo as undo_settings,
};
pub use memory::plan as memory_plan;
pub use pulse::Pulses;
pub use rules::{HostRules, Rules};
pub use run::{Outcome, ReadAgain, RunError, run};
pub use status::status;
pub use watch::watch;

/// How long a drain waits for what is in flight.
pub const DRAIN: Duration = Duration::from_secs(10);

/// Why a node could not be started.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// The data folder.
    #[error(transparent)]
    Storage(#[from] crate::storage::StorageError),
    /// A restore that was killed half way.
    #[error(transparent)]
    Checkpoint(#[from] crate::checkpoint::CheckpointError),
    /// The scope's patterns.
    #[error(transparent)]
    Scope(#[from] crate::domain::scope::ScopeError),
    /// The allowed addresses.
    #[error("[net] allow: {0}")]
    Allow(#[from] crate::net::guard::AllowError),
    /// `memory.max`.
    #[error(transparent)]
    Memory(#[from] crate::domain::memory::TooLittle),
    /// The overrides of names.
    #[error("[dns] overrides: {0}")]
    Dns(#[from] crate::net::dns::OverrideError),
    /// The archive's folder.
    #[error(transparent)]
    Archive(#[from] crate::warc::WarcError),
    /// TLS.
    #[error("TLS could not be set up: {0}")]
    Tls(#[from] crate::net::tls::TlsSetupError),
    /// Credentials.
    #[error(transparent)]
    Access(#[from] crate::config::AccessError),
    /// An address that this machine does not have.
    #[error("fetch.source_address: no connection can come from {address}: {source}")]
    Source {
        /// The address.
        address: std::net::IpAddr,
        /// The system's error.
        source: std::io::Error,
    },
    /// A folder or a thread.
    #[error("{doing}: {source}")]
    Io {
        /// What was being done.
        doing: String,
        /// The system's error.
        source: std::io::Error,
    },
    /// The thread of the actors ended before they were started.
    #[error("the actors could not be started; see the log")]
    Actors,
}

impl StartError {
    /// What it says of the disk, if that has a part in it.
    #[must_use]
    pub fn fault(&self) -> Option<DiskFault> {
        match self {
            Self::Storage(e) => Some(e.fault()),
            Self::Archive(e) => Some(e.fault()),
            Self::Io { source, .. } => Some(DiskFault::of_io(source)),
            Self::Checkpoint(e) => e.fault(),
            Self::Scope(_) | Self::Allow(_) | Self::Memory(_) | Self::Dns(_) | Self::Tls(_) | Self::Actors => None,
            Self::Access(_) | Self::Source { .. } => None,
        }
    }
}

/// Where the actors live.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Placement {
    /// Frontier with Hosts, each Fetcher, Deduper and Store have a thread of their own.
    Spread,
    /// All on one thread, parser threads apart: for tests and very small machines.
    Together,
}

/// What a node is made of besides its settings.
pub struct Parts {
    /// The database.
    pub storage: Arc<dyn Storage>,
    /// Seed of the data folder's keys.
    pub seed: u64,
    /// The clock.
    pub clock: Clock,
    /// Fault points.
    pub faults: Faults,
    /// Threads.
    pub placement: Placement,
    /// What is read from which kind of document.
    pub modules: MimeModules,
}

/// A running node.
pub struct Running {
    /// Its shared part.
    pub node: Arc<Node>,
    thread: Option<JoinHandle<bool>>,
    _claim: Claim,
    ask: Option<oneshot::Sender<Duration>>,
}

struct Mailboxes {
    supervisor: AddressReceiver<Supervisor>,
    frontier: AddressReceiver<Frontier>,
    fetchers: Vec<AddressReceiver<Fetcher>>,
    parser: AddressReceiver<Parser>,
    deduper: AddressReceiver<Deduper>,
    store: AddressReceiver<Store>,
}

/// Builds a node and starts its actors.
///
/// # Errors
/// See [`StartError`].
pub fn start(settings: Settings, parts: Parts) -> Result<Running, StartError> {
    claimed_before(&*parts.storage, &settings)?;
    let (source, access) = (settings.source(), settings.access(&parts.clock)?);
    source.check().map_err(|(address, source)| StartError::Source { address, source })?;
    let claim = folder::claim(&settings.warc_dir(), parts.seed)?;
    let node = Arc::new(build(settings, &parts)?);
    let http = HttpConfig {
        verify: node.rules.settings.tls_verify(),
        source,
        access,
        throttle: node.rules.settings.throttle(),
        faults: node.faults.clone(),
        ..HttpConfig::new(
            Arc::new(node.guard.clone()),
            SpillConfig {
                dir: node.rules.spill_dir.clone(),
                memory_body: node.rules.limits.memory_body,
                budget: SpillBudget::new(node.rules.settings.fetch.max_spill),
            },
        )
    };
    let first = Http::new(http.clone())?; // a fault of the set-up shows here, not in an actor
    drop(first);
    let make: Arc<dyn Fn() -> Protocols + Send + Sync> = Arc::new(move || match Http::new(http.clone()) {
        Ok(module) => Protocols::new().with(Arc::new(module)),
        Err(e) => {
            log::error!("no protocol module: {e}");
            Protocols::new()
        }
    });
    refresh::refresh(&node)?;
    let (doors, mailboxes) = open_doors(node.rules.settings.fetch.threads, &node.metrics);
    let _ = node.doors.set(doors);
    disk::begin(&node); // before the first request, not after it
    let (ready, started) = mpsc::channel();
    let (ask, asked) = oneshot::channel();
    let (of_thread, placement) = (node.clone(), parts.placement);
    let thread = std::thread::Builder::new()
        .name("lycosa".into())
        .spawn(move || system(&of_thread, placement, mailboxes, make, &ready, asked))
        .map_err(|source| StartError::Io { doing: "starting the actors' thread".into(), source })?;
    started.recv().map_err(|_| StartError::Actors)?;
    cockpit::finish_orders(&node);
    readmit::go_on(&node);
    Ok(Running { node, thread: Some(thread), ask: Some(ask), _claim: claim })
}

/// Refuses an archive folder that is another than before: mistyped, or a disk that is not mounted.
fn claimed_before(storage: &dyn Storage, settings: &Settings) -> Result<(), StartError> {
    let known: Counters = read::meta(storage, CrawlId::default())?.unwrap_or_default();
    let (dir, captures) = (settings.warc_dir(), known.pages_stored);
    if captures > 0 && !folder::is_claimed(&dir) {
        return Err(WarcError::Unclaimed { dir, captures }.into());
    }
    Ok(())
}

fn build(settings: Settings, parts: &Parts) -> Result<Node, StartError> {
    let io = |doing: String| move |source| StartError::Io { doing, source };
    let spill = settings.store.data_dir.join("spill");
    std::fs::create_dir_all(&spill).map_err(io(format!("making the folder {}", spill.display())))?;
    let host_name = nix::unistd::gethostname().ok().and_then(|n| n.into_string().ok()).unwrap_or_default();
    let host_name = if host_name.is_empty() { "localhost".to_owned() } else { host_name };
    let rules = Rules::new(settings, host_name, record_key(parts.seed)).reading(parts.modules.clone());
    let crawl = CrawlId::default();
    let joined = read::joined_hosts(&*parts.storage, crawl)?;
    let at_start = live::at_start(&*parts.storage, &rules, parts.clock.now())?;
    let scope = rules.scope(&at_start.live.settings, &rules.seeds(), joined.iter().map(String::as_str))?;
    let start_sequence = parts.storage.sequence();
    let last_stop = begin_run(&*parts.storage, &parts.clock, &rules, &at_start)?;
    let s = &rules.settings;
    let pages_total = s.fetch.concurrency.saturating_mul(2).max(4);
    let memory = memory_plan(s)?;
    let reserve = Reserve::of(&s.store.data_dir, s.disk.reserve);
    let guard = s.address_policy(s.admin_listen.into_iter().collect())?;
    let resolver = Resolver::new(s.dns_config())?;
    let strikes = Strikes::open(&s.store.data_dir);
    let fetches = Arc::new(Semaphore::new(s.fetch.concurrency));
    let paused = paused(s);
    let metrics = Metrics::new(parts.clock.now());
    let counters = counters(&*parts.storage, crawl)?;
    let prints = Fingerprinter::new(parts.seed);
    let orders = Orders::load(&*parts.storage, crawl, &prints)?;
    Ok(Node {
        rules,
        live: LiveCell::new(at_start.live),
        clock: parts.clock.clone(),
        storage: parts.storage.clone(),
        prints,
        crawl,
        scope: RwLock::new(scope),
        orders,
        seeds: Seeds::default(),
        slots: Slots::default(),
        leases: LeaseTable::default(),
        strikes,
        pages: Arc::new(Semaphore::new(pages_total)),
        pages_total,
        withheld: AtomicUsize::new(0),
        memory,
        filter_bytes: AtomicU64::new(0),
        sitemap_visit: AtomicU64::new(u64::MAX),
        fetches,
        parsing: AtomicU64::new(0),
        epoch: Epoch::default(),
        counters: Mutex::new(counters),
        committed: channel::Sender::new(0),
        resolver,
        guard,
        metrics,
        faults: parts.faults.clone(),
        doors: OnceLock::new(),
        hosts: Mutex::default(),
        rate: Mutex::default(),
        troubles: Troubles::default(),
        attempts: Attempts::default(),
        series: Series::default(),
        events: Arc::default(),
        notices: Notices::default(),
        next_try: AtomicU64::new(0),
        paused: AtomicBool::new(paused),
        draining: AtomicBool::new(false),
        closed: AtomicBool::new(false),
        checkpoints: Arc::new(Semaphore::new(1)),
        jobs: Arc::default(),
        disk: DiskState::default(),
        reserve,
        stop: channel::Sender::new(None),
        last_stop,
        start_sequence,
        filter_opened: AtomicBool::new(false),
        pulses: Pulses::default(),
        started: parts.clock.now(),
    })
}

/// After a kill its servers may be busy for so much longer with what the process had on the wire: the next start follows at
/// once, and a gap counts from the end of an answer at its server.
const LINGER: Duration = Duration::from_millis(250);

/// Marks the run as begun; gives by when the former run had surely ended.
fn begin_run(
    storage: &dyn Storage,
    clock: &Clock,
    rules: &Rules,
    at_start: &live::AtStart,
) -> Result<Option<UnixMillis>, StartError> {
    let former: Option<RunState> = read::meta(storage, ())?;
    let now = clock.now();
    let unclean = former.as_ref().is_some_and(|r| !r.clean);
    let said = former.as_ref().and_then(|r| r.last_stop).map(|stop| stop.min(now)); // a clock may have gone back
    let last_stop = if unclean { Some(now.plus(LINGER)) } else { said };
    let runs = former.as_ref().map_or(0, |r| r.runs).saturating_add(1);
    let run = RunState {
        clean: false,
        started: now,
        last_stop,
        node: rules.host_name.clone(),
        runs,
        rules: at_start.live.generation,
        rules_digest: at_start.digest,
    };
    let mut txn = Txn::new(storage);
    txn.put_meta((), &run);
    if let Some(record) = &at_start.record {
        txn.put_meta((), record);
    }
    storage.write(&txn.into_batch())?;
    storage.sync()?; // or a power failure would bring the clean stop of an earlier run back
    if unclean {
        log::warn!("the former run did not end cleanly; every host first waits one full delay");
    }
    Ok(last_stop)
}

/// Whether the operator's pause of a former run stands.
fn paused(settings: &Settings) -> bool {
    let paused = pause::stands(&settings.store.data_dir);
    if paused {
        log::warn!("paused by the operator before this start; go on with `lycosa ctl resume`");
    }
    paused
}

fn record_key(seed: u64) -> [u8; 32] {
    let mut key = [0; 32];
    let parts = [seed, std::process::id().into()];
    key.iter_mut().zip(parts.iter().flat_map(|n| n.to_be_bytes())).for_each(|(to, from)| *to = from);
    key
}

fn open_doors(fetchers: usize, metrics: &Metrics) -> (Doors, Mailboxes) {
    let (supervisor, m_supervisor) = Door::new(Kind::Supervisor, metrics);
    let (frontier, m_frontier) = Door::new(Kind::Frontier, metrics);
    let (parser, m_parser) = Door::new(Kind::Parser, metrics);
    let (deduper, m_deduper) = Door::new(Kind::Deduper, metrics);
    let (store, m_store) = Door::new(Kind::Store, metrics);
    let (fetchers, m_fetchers) = (0..fetchers.max(1)).map(|n| Door::of(Kind::Fetcher, n.to_string(), metrics)).unzip();
    (
        Doors { supervisor, frontier, fetchers, parser, deduper, store },
        Mailboxes {
            supervisor: m_supervisor,
            frontier: m_frontier,
            fetchers: m_fetchers,
            parser: m_parser,
            deduper: m_deduper,
            store: m_store,
        },
    )
}

/// The thread of the actors: starts them, waits for the end, drains. True when everything was closed cleanly.
fn system(
    node: &Arc<Node>,
    placement: Placement,
    mailboxes: Mailboxes,
    make: Arc<dyn Fn() -> Protocols + Send + Sync>,
    ready: &mpsc::Sender<()>,
    asked: oneshot::Receiver<Duration>,
) -> bool {
    let runner = System::new();
    let (closed, arbiters) = runner.block_on(async {
        let arbiters = spawn(node, placement, mailboxes, make);
        let _ = ready.send(());
        let patience = asked.await.unwrap_or(DRAIN);
        (drain(node, patience).await, arbiters)
    });
    end_threads(arbiters);
    System::current().stop();
    closed
}

/// Ends the actors' threads and waits for them, so that none uses the database when it is closed.
fn end_threads(arbiters: Vec<Arbiter>) {
    arbiters.iter().for_each(|arbiter| {
        arbiter.stop();
    });
    let (done, ended) = mpsc::channel();
    let waiter = std::thread::Builder::new().name("waiter".into()).spawn(move || {
        for arbiter in arbiters {
            let _ = arbiter.join(); // an arbiter that panicked has ended too
        }
        let _ = done.send(());
    });
    if waiter.is_err() || ended.recv_timeout(DRAIN).is_err() {
        log::warn!("an actor's thread has not ended in time");
    }
}

/// The order matters only for the log; doors exist already, so early messages wait in their mailboxes.
fn spawn(
    node: &Arc<Node>,
    placement: Placement,
    mailboxes: Mailboxes,
    make: Arc<dyn Fn() -> Protocols + Send + Sync>,
) -> Vec<Arbiter> {
    let mut arbiters = Vec::new();
    let mut place = |name| -> ArbiterHandle {
        let handle = match placement {
            Placement::Together => Arbiter::current(),
            Placement::Spread => {
                let arbiter = Arbiter::new();
                let handle = arbiter.handle();
                arbiters.push(arbiter);
                handle
            }
        };
        node.pulses.beat(&handle, name);
        handle
    };
    let doors = node.doors();
    put(&Arbiter::current(), node, &doors.supervisor, mailboxes.supervisor, Supervisor::new);
    put(&place("store"), node, &doors.store, mailboxes.store, Store::new);
    put(&place("deduper"), node, &doors.deduper, mailboxes.deduper, Deduper::new);
    put(&Arbiter::current(), node, &doors.parser, mailboxes.parser, Parser::new);
    for (number, (mailbox, door)) in mailboxes.fetchers.into_iter().zip(&doors.fetchers).enumerate() {
        let make = make.clone();
        put(&place("fetcher"), node, door, mailbox, move |node| Fetcher::new(node, number, make.clone()));
    }
    put(&place("frontier"), node, &doors.frontier, mailboxes.frontier, Frontier::new);
    arbiters
}

fn put<A: Room>(
    arbiter: &ArbiterHandle,
    node: &Arc<Node>,
    door: &Door<A>,
    mailbox: AddressReceiver<A>,
    make: impl Fn(Arc<Node>) -> A + Send + 'static,
) {
    let (node, card) = (node.clone(), door.meter().card().clone());
    arbiter.spawn_fn(move || {
        let coroner = node.clone();
        Guarded::raise(mailbox, move || make(node.clone()), coroner, card);
    });
}

/// Lets what is in flight come to its commit, then closes the store and saves the filter.
async fn drain(node: &Arc<Node>, patience: Duration) -> bool {
    node.draining.store(true, std::sync::atomic::Ordering::Release);
    node.changed(StateChange::Draining, "draining: nothing new is begun, what is in flight is stored");
    node.faults.pass("node.drain");
    let in_flight = async {
        while !node.is_quiet() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    let drained = tokio::time::timeout(patience, in_flight).await.is_ok();
    if !drained {
        log::warn!("drain ended by its time; what was in flight is fetched again at the next start");
    }
    node.faults.pass("node.drained");
    let (reply, closed) = oneshot::channel();
    node.doors().store.tell(Close { drained, reply });
    let closed = matches!(tokio::time::timeout(DRAIN, closed).await, Ok(Ok(true)));
    let (done, saved) = oneshot::channel();
    node.doors().deduper.tell(SaveFilter(done));
    let _ = tokio::time::timeout(DRAIN, saved).await;
    node.faults.pass("node.closed");
    closed
}

impl Running {
    /// Drains, closes everything and ends the actors. True when all was closed cleanly.
    pub fn shutdown(mut self, patience: Duration) -> bool {
        self.end(patience)
    }

    fn end(&mut self, patience: Duration) -> bool {
        self.node.jobs.close();
        if let Some(ask) = self.ask.take() {
            let _ = ask.send(patience);
        }
        self.node.stop_with(Stop::Asked);
        self.thread.take().is_some_and(|t| t.join().unwrap_or(false))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.end(Duration::ZERO);
    }
}
