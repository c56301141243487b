//! Composition root: the only place that names every actor and says on which thread it lives.

mod build;
mod checkpoint;
mod control;
mod disk;
mod files;
mod holds;
mod memory;
mod next;
mod notify;
mod open;
mod patience;
mod pause;
mod refresh;
mod run;
mod seeds;
mod signals;
mod start_error;
mod threads;
mod time;
mod uploads;
mod watch;
mod webhooks;

use std::sync::{Arc, mpsc};
use std::thread::JoinHandle;
use std::time::Duration;

use tokio::sync::oneshot;

use crate::base::clock::Clock;
use crate::base::fault::Faults;
use crate::config::{HttpBody, Settings};
use crate::content::modules::MimeModules;
use crate::crawl::node::{Node, Stop};
use crate::crawl::supervise::die;
use crate::document::SpillConfig;
use crate::domain::fingerprint::CrawlId;
use crate::net::http::{Http, HttpConfig};
use crate::storage::values::Counters;
use crate::storage::{Storage, read};
use crate::warc::WarcError;
use crate::warc::folder::{self, Claim};

pub use checkpoint::{create as checkpoint, keep as keep_checkpoints};
pub use control::NodeControl;
pub use memory::plan as memory_plan;
pub use run::{Outcome, ReadAgain, RunError, run};
pub use start_error::StartError;
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

/// Builds a node and starts its actors.
///
/// # Errors
/// See [`StartError`].
pub fn start(settings: Settings, parts: Parts) -> Result<Running, StartError> {
    claimed_before(&*parts.storage, &settings)?;
    let (source, access) = (settings.source(), settings.access(&parts.clock)?);
    source.check().map_err(|(address, source)| StartError::Source { address, source })?;
    let roots = settings.tls_roots()?;
    let claim = folder::claim(&settings.warc_dir(), parts.seed)?;
    let node = Arc::new(build::build(settings, &parts)?);
    time::tell_start(&node);
    let http = HttpConfig {
        verify: node.crawl.rules.settings.tls.verify,
        old: node.crawl.rules.settings.tls.old,
        roots,
        source,
        access,
        throttle: node.crawl.rules.settings.throttle(),
        exact: node.crawl.rules.settings.store.http_body == HttpBody::Exact,
        faults: node.faults.clone(),
        max_idle: files::idle(&node.crawl.rules.settings),
        ..HttpConfig::new(
            Arc::new(node.net.guard.clone()),
            SpillConfig {
                dir: node.crawl.rules.spill_dir.clone(),
                memory_body: node.crawl.rules.limits.memory_body,
                shared: node.permits.bodies.clone(),
                budget: node.permits.spill.clone(),
            },
        )
    };
    let first = Http::new(http.clone())?; // a fault of the set-up shows here, not in an actor
    drop(first);
    let make: Arc<dyn Fn() -> Http + Send + Sync> =
        Arc::new(move || Http::new(http.clone()).unwrap_or_else(|e| die(format!("no http module: {e}"))));
    refresh::refresh(&node)?;
    let (mailboxes, receivers) =
        threads::open_mailboxes(node.crawl.rules.settings.fetch.threads, &node.telemetry.metrics);
    let _ = node.actors.mailboxes.set(mailboxes);
    disk::begin(&node); // before the first request, not after it
    let (ready, started) = mpsc::channel();
    let (ask, asked) = oneshot::channel();
    let (of_thread, placement) = (node.clone(), parts.placement);
    let thread = std::thread::Builder::new()
        .name("lycosa".into())
        .spawn(move || threads::system(&of_thread, placement, receivers, make, &ready, asked))
        .map_err(|source| StartError::Io { doing: "starting the actors' thread".into(), source })?;
    started.recv().map_err(|_| StartError::Actors)?;
    crate::admin::orders::command::finish(&node);
    crate::crawl::readmit::go_on(&node);
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
