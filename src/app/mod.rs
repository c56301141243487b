//! Composition root: the only place that names every actor and says on which thread it lives.

#[cfg(feature = "cluster")]
mod agreed;
mod build;
mod call;
mod checkpoint;
#[cfg(feature = "cluster")]
mod cluster;
#[cfg(feature = "cluster")]
mod common_end;
mod control;
mod credit;
mod disk;
#[cfg(feature = "rocksdb")]
mod erase;
#[cfg(feature = "rocksdb")]
mod erasing;
mod follow;
#[cfg(feature = "cluster")]
mod handing;
mod holds;
#[cfg(feature = "search")]
mod index;
#[cfg(feature = "cluster")]
mod life;
mod memory;
#[cfg(all(feature = "cluster", feature = "rocksdb"))]
mod moves;
mod next;
mod notify;
mod open;
#[cfg(feature = "rocksdb")]
mod part;
mod patience;
mod pause;
mod refresh;
mod run;
mod seeds;
mod signals;
mod sinks;
mod taking;
mod threads;
mod time;
#[cfg(feature = "cluster")]
mod together;
mod uploads;
mod watch;
mod webhooks;

use std::sync::{Arc, mpsc};
use std::thread::JoinHandle;
use std::time::Duration;

use tokio::sync::oneshot;

use crate::base::clock::Clock;
use crate::base::disk::DiskFault;
use crate::base::fault::Faults;
use crate::base::fence::Fence;
use crate::config::{HttpBody, Settings};
use crate::content::modules::MimeModules;
use crate::crawl::node::{Node, Stop};
use crate::crawl::supervise::die;
use crate::document::SpillConfig;
use crate::domain::fingerprint::CrawlId;
use crate::net::http::{Http, HttpConfig};
use crate::storage::values::Counters;
use crate::storage::{Storage, read};
use crate::warc::folder::{self, Claim};

use threads::Starters;

pub use build::at_rest;
pub use checkpoint::{create as checkpoint, keep as keep_checkpoints};
#[cfg(feature = "cluster")]
pub use cluster::as_member;
pub use control::NodeControl;
#[cfg(feature = "rocksdb")]
pub use erase::{Way, erase, host_of, look_of};
pub use memory::plan as memory_plan;
#[cfg(all(feature = "cluster", feature = "rocksdb"))]
pub use moves::{AtRest, at_rest as moves_at_rest};
pub use open::faults;
#[cfg(feature = "rocksdb")]
pub use part::{Parting, abandon_split, export_links, import_links, may_be_changed, merge, split};
pub use run::{Begin, Ended, Outcome, ReadAgain, RunError, run};
pub use sinks::{SinksError, check as check_sinks};
pub use watch::watch;
pub use webhooks::check as check_webhooks;

/// How long a drain waits for what is in flight.
pub const DRAIN: Duration = Duration::from_secs(10);

/// Where the actors live.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Placement {
    /// Frontier with Hosts, each Fetcher, Deduper and Store have a thread of their own.
    Spread,
    /// All on one thread, parser threads apart: for tests and very small machines.
    Together,
}

/// What a node is made of besides its settings.
#[expect(missing_docs, reason = "each name says it")]
pub struct Parts {
    pub storage: Arc<dyn Storage>,
    /// Seed of the data folder's keys.
    pub seed: u64,
    pub clock: Clock,
    pub faults: Faults,
    /// Until when requests may be sent; by default for ever.
    pub fence: Fence,
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
    ask: Option<oneshot::Sender<End>>,
}

/// How a node is to end.
struct End {
    /// How long what is in flight is waited for.
    patience: Duration,
    /// Done when nothing is in flight any more, before the Store closes.
    farewell: Box<dyn FnOnce() + Send>,
}

/// Why a node could not be started.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "each message says what its fields are")]
#[non_exhaustive]
pub enum StartError {
    #[error(transparent)]
    Storage(#[from] crate::storage::StorageError),
    /// A restore that was killed half way.
    #[error(transparent)]
    Checkpoint(#[from] crate::recovery::checkpoint::CheckpointError),
    #[error(transparent)]
    Scope(#[from] crate::domain::scope::ScopeError),
    #[error("[net] allow: {0}")]
    Allow(#[from] crate::net::guard::AllowError),
    #[error(transparent)]
    Memory(#[from] crate::domain::memory::TooLittle),
    #[error("[dns] overrides: {0}")]
    Dns(#[from] crate::net::dns::OverrideError),
    #[error(transparent)]
    Archive(#[from] crate::warc::WarcError),
    #[error("TLS could not be set up: {0}")]
    Tls(#[from] crate::net::tls::TlsSetupError),
    #[error(transparent)]
    Access(#[from] crate::config::AccessError),
    /// The words of `index.dictionary`.
    #[error(transparent)]
    Words(#[from] crate::config::ConfigError),
    /// Link credit cannot be taken up or left in a crawl, nor paid to others.
    #[error("{0}")]
    Credit(#[from] crate::storage::credit::AsBefore),
    /// The folder is a part of a crawl that may not be gone on with now.
    #[error(transparent)]
    Share(#[from] crate::storage::share::ShareError),
    /// An address that this machine does not have.
    #[error("fetch.source_address: no connection can come from {address}: {source}")]
    Source { address: std::net::IpAddr, source: std::io::Error },
    /// A folder or a thread.
    #[error("{doing}: {source}")]
    Io { doing: String, source: std::io::Error },
    /// The thread of the actors ended before they were started.
    #[error("the actors could not be started; see the log")]
    Actors,
}

impl StartError {
    /// What it says of the disk, if that has a part in it.
    pub fn fault(&self) -> Option<DiskFault> {
        match self {
            Self::Storage(e) => Some(e.fault()),
            Self::Archive(e) => Some(e.fault()),
            Self::Io { source, .. } => Some(DiskFault::of_io(source)),
            Self::Checkpoint(e) => e.fault(),
            Self::Scope(_) | Self::Allow(_) | Self::Memory(_) | Self::Dns(_) | Self::Tls(_) | Self::Actors => None,
            Self::Access(_) | Self::Words(_) | Self::Source { .. } | Self::Credit(_) | Self::Share(_) => None,
        }
    }
}

/// Builds a node and starts its actors.
///
/// # Errors
/// See [`StartError`].
pub fn start(settings: Settings, parts: Parts) -> Result<Running, StartError> {
    crate::storage::share::may_go_on(&*parts.storage)?;
    claimed_before(&*parts.storage, &settings)?;
    crate::storage::credit::as_before(&*parts.storage, settings.frontier.credit_rules())?;
    let (source, access) = (settings.source(), settings.access(&parts.clock)?);
    source.check().map_err(|(address, source)| StartError::Source { address, source })?;
    let roots = settings.tls_roots()?;
    let claim = folder::claim(&settings.warc_dir(), parts.seed)?;
    let node = Arc::new(build::build(settings, &parts)?);
    time::tell_start(&node);
    let (rules, settings) = (&node.crawl.rules, &node.crawl.rules.settings);
    let spill = SpillConfig {
        dir: rules.spill_dir.clone(),
        memory_body: rules.limits.memory_body,
        shared: node.permits.bodies.clone(),
        budget: node.permits.spill.clone(),
    };
    let http = HttpConfig {
        verify: settings.tls.verify,
        old: settings.tls.old,
        roots,
        source,
        access,
        throttle: settings.throttle(),
        exact: settings.store.http_body == HttpBody::Exact,
        faults: node.faults.clone(),
        max_idle: open::idle_connections(settings),
        ..HttpConfig::new(Arc::new(node.net.guard.clone()), spill)
    };
    drop(Http::new(http.clone())?); // a fault of the set-up shows here, not in an actor
    let make: Arc<dyn Fn() -> Http + Send + Sync> =
        Arc::new(move || Http::new(http.clone()).unwrap_or_else(|e| die(format!("no http module: {e}"))));
    refresh::refresh(&node)?;
    let (mailboxes, starters) = Starters::open(node.crawl.rules.settings.fetch.threads, &node.telemetry.metrics, &make);
    let _ = node.actors.mailboxes.set(mailboxes);
    disk::begin(&node); // before the first request, not after it
    let (ready, started) = mpsc::channel();
    let (ask, asked) = oneshot::channel();
    let (of_thread, placement) = (node.clone(), parts.placement);
    let thread = std::thread::Builder::new()
        .name("lycosa".into())
        .spawn(move || threads::system(&of_thread, placement, starters, &ready, asked))
        .map_err(|source| StartError::Io { doing: "starting the actors' thread".into(), source })?;
    started.recv().map_err(|_| StartError::Actors)?;
    crate::admin::orders::command::finish(&node);
    crate::crawl::readmit::go_on(&node);
    crate::admin::rerank::go_on(&node);
    Ok(Running { node, thread: Some(thread), ask: Some(ask), _claim: claim })
}

/// Refuses an archive folder that is another than before: mistyped, or a disk that is not mounted.
fn claimed_before(storage: &dyn Storage, settings: &Settings) -> Result<(), StartError> {
    let known: Counters = read::meta(storage, CrawlId::default())?.unwrap_or_default();
    Ok(folder::claimed_before(&settings.warc_dir(), known.pages_stored)?)
}

impl Running {
    /// Drains, closes everything and ends the actors. True when all was closed cleanly.
    pub fn shutdown(self, patience: Duration) -> bool {
        self.shutdown_after(patience, || ())
    }

    /// The same; `farewell` is called when nothing is in flight any more, while the Store still commits.
    pub fn shutdown_after(mut self, patience: Duration, farewell: impl FnOnce() + Send + 'static) -> bool {
        self.end(patience, Box::new(farewell))
    }

    fn end(&mut self, patience: Duration, farewell: Box<dyn FnOnce() + Send>) -> bool {
        self.node.jobs.close();
        if let Some(ask) = self.ask.take() {
            let _ = ask.send(End { patience, farewell });
        }
        if self.node.stop.borrow().is_none() {
            self.node.stop_with(Stop::Asked);
        }
        self.thread.take().is_some_and(|t| t.join().unwrap_or(false))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.end(Duration::ZERO, Box::new(|| ()));
    }
}
