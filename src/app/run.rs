//! A whole run: opens the data folder, starts the node and the admin endpoint, waits for the end, drains.

use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use super::memory::share_out;
use super::signals::{Signals, heed};
use super::sinks::{Sinks, SinksError};
use super::uploads::Uploader;
use super::watch::watch;
use super::webhooks::{WebhookError, Webhooks};
use super::{DRAIN, NodeControl, Parts, Placement, Running, StartError, next, notify, open, seeds, start};
use crate::admin::auth::Keys;
use crate::admin::{AdminError, AdminServer, Entrance, Listening, RejectedSeed, status};
use crate::base::clock::Clock;
use crate::base::time::UnixMillis;
use crate::config::Settings;
use crate::content::modules::MimeModules;
use crate::crawl::admit::{LINK, explain};
use crate::crawl::node::{Node, Stop};
use crate::crawl::pulse::Watchdog;
use crate::crawl::readmit;
use crate::domain::reason::Rejection;
use crate::domain::url::PageUrl;
use crate::storage::Storage;
use crate::telemetry::{State, StateChange, StatusSnapshot};

/// URLs left at the end that are looked at.
const LEFT: usize = 100_000;

/// How a run ended.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Why.
    pub stop: Stop,
    /// The counts at the end.
    pub status: StatusSnapshot,
    /// True when the run was to go on until everything is done.
    pub until_done: bool,
    /// False when something could not be closed; the next start repairs it.
    pub clean: bool,
    /// Seeds of the settings that were not taken.
    pub refused: Vec<RejectedSeed>,
    /// Why what is left was not waited for; empty when nothing is left, or the end had another reason.
    pub left: String,
    /// When the first of that may be tried again.
    pub next_try: Option<UnixMillis>,
    /// How much of it was never tried, among so many URLs as are looked at.
    pub never_tried: u64,
    /// The rule by which the latest link outside the scope was turned away; empty when there was none.
    pub outside: String,
}

/// Why a run could not begin.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "each message says what its fields are")]
pub enum RunError {
    #[error(transparent)]
    Start(#[from] StartError),
    #[error(transparent)]
    Admin(#[from] AdminError),
    #[error(transparent)]
    Webhooks(#[from] WebhookError),
    #[error(transparent)]
    Sinks(#[from] SinksError),
    #[error("{0}")]
    System(#[from] std::io::Error),
}

/// Reads the settings again; `None` when they are no good, which it has told.
pub type ReadAgain = Box<dyn Fn() -> Option<Settings> + Send>;

/// Runs a crawl to its end. `held_back`: what is held back is taken up first. `hangup` is called at each SIGHUP; `watched` is called once
/// with a way to look at its counts, and lives until the end.
///
/// # Errors
/// What kept it from starting; later faults end it with a [`Stop`].
pub fn run<W>(
    mut settings: Settings,
    held_back: bool,
    hangup: ReadAgain,
    watched: impl FnOnce(Arc<dyn Fn() -> StatusSnapshot + Send + Sync>) -> W,
) -> Result<Outcome, RunError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    // From here on a signal waits for the end of the start instead of ending the process.
    let signals = runtime.block_on(async { Signals::listen() })?;
    Keys::check(&settings).map_err(AdminError::from)?; // before anything is written
    let listening = settings.admin_listen.map(Listening::bind).transpose()?; // nor when its port is taken
    settings.admin_listen = listening.as_ref().map(Listening::address);
    let (_closed_last, running) = open(settings)?; // dropped from the right: the node first, whatever fails below
    let node = running.node.clone();
    super::checkpoint::sweep(&node);
    if held_back {
        readmit::take_up_held_back(&node);
    }
    let admin = listening.map(|listening| serve_admin(&running, listening)).transpose()?;
    let looker = node.clone();
    let watched = watched(Arc::new(move || status(&looker)));
    let watchdog = Watchdog::start(&node)?;
    let uploader = Uploader::start(&node)?;
    #[cfg(feature = "search")]
    let indexer = super::index::Indexer::start(&node)?;
    let sinks = Sinks::start(&node)?;
    let webhooks = Webhooks::start(&node)?;
    let (why, heeding, refused, left) = runtime.block_on(async {
        let heeding = heed(node.clone(), hangup, signals);
        let keepers = [tokio::spawn(super::checkpoint::keep(node.clone())), tokio::spawn(notify::keep(node.clone()))];
        notify::ready();
        let refused = seeds::begin(&node).await;
        let why = watch(&node).await;
        let left = status(&node).idle_reason;
        notify::stopping(&format!("coming to an end: {why:?}"));
        log::info!("crawl stops: reason={why:?}");
        keepers.iter().for_each(tokio::task::JoinHandle::abort);
        (why, heeding, refused, left)
    });
    let next_try = Some(UnixMillis(node.crawl.progress.next_try.load(Ordering::Acquire))).filter(|at| at.0 > 0);
    drop(watchdog); // the end has time-outs of its own
    let in_peace = matches!(why, Stop::Done | Stop::Pages | Stop::Bytes | Stop::Time);
    if !in_peace {
        sinks.end_now();
    }
    let clean = running.shutdown_after(patience(&node, &why), move || sinks.finish());
    #[cfg(feature = "search")]
    indexer.finish(in_peace);
    if in_peace {
        uploader.into_iter().for_each(Uploader::finish); // an operator who ends it does not wait for copies
    }
    webhooks.into_iter().for_each(|webhooks| webhooks.finish(&node, &why));
    heeding.abort();
    drop(watched);
    node.changed(StateChange::Stopped, format!("ended: why={why:?}"));
    drop(admin);
    Ok(Outcome { next_try, ..outcome(&node, why, clean, refused, left) })
}

/// Opens the data folder and starts the node. The database is closed when the first of the two is dropped.
fn open(mut settings: Settings) -> Result<(Closing, Running), RunError> {
    crate::base::disk::outlive_file_limit()?;
    open::allow_files(&settings)?;
    share_out(&mut settings).map_err(StartError::from)?;
    let faults = open::faults().map_err(std::io::Error::other)?;
    open::settle_restore(&settings, &faults)?;
    let (storage, seed) = open::open_storage(&settings, &faults).map_err(StartError::from)?;
    let closing = Closing(storage.clone());
    let clock = Clock::real();
    let (placement, modules) = (Placement::Spread, MimeModules::default());
    Ok((closing, start(settings, Parts { storage, seed, clock, faults, placement, modules })?))
}

/// How long what is in flight is waited for.
fn patience(node: &Node, why: &Stop) -> Duration {
    match why {
        Stop::Disk(_) => Duration::from_secs(1),
        Stop::Drained => node.crawl.live().settings.hung_after().saturating_mul(2).saturating_add(DRAIN), // every wait ends before
        _ => DRAIN,
    }
}

/// How it ended, with the counts and what is left.
fn outcome(node: &Node, stop: Stop, clean: bool, refused: Vec<RejectedSeed>, left: String) -> Outcome {
    let s = status(node);
    let waiting = s.waiting.saturating_add(s.processing); // every actor has ended: nobody has a URL in hands any more
    let idle_reason = String::new();
    let status = StatusSnapshot { state: State::Stopped, waiting, processing: 0, in_flight: 0, idle_reason, ..s };
    let is_left = stop == Stop::Done && status.waiting > 0;
    let never_tried = if is_left { next::never_tried(&*node.storage, LEFT).unwrap_or_default() } else { 0 };
    let left = if is_left { left } else { String::new() };
    let until_done = node.crawl.live().settings.crawl.until_done;
    Outcome { stop, status, until_done, clean, refused, left, next_try: None, never_tried, outside: outside(node) }
}

/// The rule behind the latest link outside the scope.
fn outside(node: &Node) -> String {
    let latest = node.telemetry.troubles.all().remove(Rejection::Scope.as_str());
    let Some(url) = latest.and_then(|latest| PageUrl::from_canonical(&latest.example).ok()) else {
        return String::new();
    };
    let scope = node.crawl.scope.read().unwrap_or_else(PoisonError::into_inner);
    explain(&node.crawl.live(), &scope, &url, 1, LINK).1
}

/// Closes the database when the run is over, however it ends. Threads that end by themselves (the parser's) may still hold
/// the node: were the last of them to close RocksDB while the process ends, that would be a crash.
struct Closing(Arc<dyn Storage>);

impl Drop for Closing {
    fn drop(&mut self) {
        self.0.close();
    }
}

fn serve_admin(running: &Running, listening: Listening) -> Result<AdminServer, RunError> {
    let settings = &running.node.crawl.rules.settings;
    let control = Arc::new(NodeControl(running.node.clone()));
    let keys = Keys::load(settings.admin.token_file.as_deref(), settings.admin.read_token_file.as_deref());
    let entrance = Entrance::new(keys.map_err(AdminError::from)?);
    let server = AdminServer::serve(listening, entrance, control, Some(running.node.clone()))?;
    log::info!("admin endpoint listens: address=http://{}", server.address());
    Ok(server)
}
