//! A whole run: opens the data folder, starts the node and the admin endpoint, waits for the end, drains.

use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use tokio::signal::unix::{Signal, SignalKind, signal};

use super::memory::share_out;
use super::uploads::Uploader;
use super::watch::watch;
use super::webhooks::{WebhookError, Webhooks};
use super::{DRAIN, NodeControl, Parts, Placement, Running, StartError, files, next, notify, start};
use crate::admin::auth::Keys;
use crate::admin::status;
use crate::admin::{AdminError, AdminServer, ControlError, Entrance, Listening, RejectedSeed, SeedReport};
use crate::base::clock::{Clock, Stopwatch};
use crate::base::fault::Faults;
use crate::base::time::UnixMillis;
use crate::base::units::format_duration;
use crate::config::{Settings, without_credentials, without_scheme};
use crate::content::modules::MimeModules;
use crate::crawl::admit::{LINK, explain};
use crate::crawl::node::{Node, Stop};
use crate::crawl::pulse::Watchdog;
use crate::crawl::readmit;
use crate::domain::reason::Rejection;
use crate::domain::url::PageUrl;
use crate::storage::values::RunState;
use crate::storage::{Storage, read};
use crate::telemetry::{State, StateChange, StatusSnapshot};

/// How often the seeds are handed in before the run gives up.
const SEED_TRIES: u32 = 5;
/// Time between.
const SEED_REST: Duration = Duration::from_millis(200);
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
pub enum RunError {
    /// The node.
    #[error(transparent)]
    Start(#[from] StartError),
    /// The admin endpoint.
    #[error(transparent)]
    Admin(#[from] AdminError),
    /// The webhooks.
    #[error(transparent)]
    Webhooks(#[from] WebhookError),
    /// The system.
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
    let wishes = runtime.block_on(async { Wishes::listen() })?;
    crate::base::disk::outlive_file_limit()?;
    files::allow(&settings)?;
    share_out(&mut settings).map_err(StartError::from)?;
    let faults = faults().map_err(std::io::Error::other)?;
    Keys::check(&settings).map_err(AdminError::from)?; // before anything is written
    let mailbox = settings.admin_listen.map(Listening::bind).transpose()?; // nor when its port is taken
    settings.admin_listen = mailbox.as_ref().map(Listening::address);
    settle_restore(&settings, &faults)?;
    let (storage, seed) = open_storage(&settings, &faults).map_err(StartError::from)?;
    let _closed_last = Closing(storage.clone());
    let clock = Clock::real();
    let (placement, modules) = (Placement::Spread, MimeModules::default());
    let parts = Parts { storage, seed, clock, faults, placement, modules };
    let running = start(settings, parts)?;
    super::checkpoint::sweep(&running.node);
    if held_back {
        readmit::take_up_held_back(&running.node);
    }
    let admin = mailbox.map(|mailbox| serve_admin(&running, mailbox)).transpose()?;
    let node = running.node.clone();
    let looker = node.clone();
    let watched = watched(Arc::new(move || status(&looker)));
    let watchdog = Watchdog::start(&node)?;
    let uploader = Uploader::start(&node)?;
    let webhooks = Webhooks::start(&node)?;
    let stop = runtime.block_on(async {
        let signals = heed(&running, hangup, wishes);
        let keepers = [tokio::spawn(super::checkpoint::keep(node.clone())), tokio::spawn(notify::keep(node.clone()))];
        notify::ready();
        let refused = begin(&running).await;
        let why = watch(&node).await;
        let left = status(&node).idle_reason;
        notify::stopping(&format!("coming to an end: {why:?}"));
        log::info!("coming to an end: why={why:?}");
        keepers.iter().for_each(tokio::task::JoinHandle::abort);
        (why, signals, refused, left)
    });
    let (why, signals, refused, left) = stop;
    let next_try = Some(UnixMillis(node.crawl.progress.next_try.load(Ordering::Acquire))).filter(|at| at.0 > 0);
    drop(watchdog); // the end has time-outs of its own
    let patience = match why {
        Stop::Disk(_) => Duration::from_secs(1),
        Stop::Drained => node.crawl.live().settings.hung_after().saturating_mul(2).saturating_add(DRAIN), // every wait ends before
        _ => DRAIN,
    };
    let clean = running.shutdown(patience);
    if matches!(why, Stop::Done | Stop::Pages | Stop::Bytes | Stop::Time) {
        uploader.into_iter().for_each(Uploader::finish); // an operator who ends it does not wait for copies
    }
    if let Some(webhooks) = webhooks {
        webhooks.finish(&node, &why);
    }
    drop(signals);
    drop(watched);
    node.changed(StateChange::Stopped, format!("ended: why={why:?}"));
    if let Some(admin) = admin {
        admin.stop();
    }
    let until_done = node.crawl.live().settings.crawl.until_done;
    let status = last_status(&node);
    let is_left = why == Stop::Done && status.waiting > 0;
    let never_tried = if is_left { next::never_tried(&*node.storage, LEFT).unwrap_or_default() } else { 0 };
    let left = if is_left { left } else { String::new() };
    Ok(Outcome { stop: why, status, until_done, clean, refused, left, next_try, never_tried, outside: outside(&node) })
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

/// The counts when every actor has ended: nobody has a URL in hands any more.
fn last_status(node: &Node) -> StatusSnapshot {
    let s = status(node);
    let waiting = s.waiting.saturating_add(s.processing);
    StatusSnapshot { state: State::Stopped, waiting, processing: 0, in_flight: 0, idle_reason: String::new(), ..s }
}

/// A restore that was killed half way is completed or taken back, before the database is opened.
fn settle_restore(settings: &Settings, faults: &Faults) -> Result<(), StartError> {
    if let Some(name) = crate::recovery::checkpoint::swap::settle(&settings.store.data_dir, faults)? {
        log::warn!("a restore that was killed half way is completed: checkpoint={name}");
    }
    Ok(())
}

#[cfg(feature = "faults")]
fn faults() -> Result<Faults, String> {
    Faults::from_env()
}

#[cfg(not(feature = "faults"))]
fn faults() -> Result<Faults, String> {
    Ok(Faults::default())
}

#[cfg(feature = "rocksdb")]
fn open_storage(settings: &Settings, faults: &Faults) -> Result<(Arc<dyn Storage>, u64), crate::storage::StorageError> {
    use crate::base::disk::Reserve;
    use crate::storage::values::Format;
    use crate::storage::{RocksOptions, RocksStorage};
    let memory = usize::try_from(settings.store.memory).unwrap_or(usize::MAX);
    let data = &settings.store.data_dir;
    let options = || RocksOptions { memory, faults: faults.clone(), ..RocksOptions::default() };
    let open = || RocksStorage::open(data, options());
    let storage = match open() {
        // The former run may have filled the disk: with the reserve's room this one can begin, and pause.
        Err(e) if e.is_full() && Reserve::of(data, 0).free() => {
            log::warn!("the reserve was given up, for there was no room to open the database: {e}");
            open()?
        }
        opened => opened?,
    };
    let seed = read::meta::<Format>(&storage, ())?.map_or(0, |f| f.seed);
    tell_of_loss(data, storage.sequence());
    Ok((Arc::new(storage), seed))
}

/// A database that is behind its mark has lost what was safe: its log is damaged, or an older copy was put in its place.
#[cfg(feature = "rocksdb")]
fn tell_of_loss(data: &std::path::Path, sequence: u64) {
    let Some(lost) = crate::storage::mark::read(data).and_then(|mark| mark.checked_sub(sequence)).filter(|n| *n > 0)
    else {
        return;
    };
    log::error!(
        "the database is behind what was synced, so its log (db/*.log) is damaged or db/ is an older copy; the crawl goes on from \
         the last whole commit, and what came after is fetched again; to have it back, stop now, look at the disk, and put a \
         copy of db/ in place or restore a newer checkpoint (`lycosa checkpoint list`): changes_lost={lost} \
         sequence={sequence}"
    );
}

#[cfg(not(feature = "rocksdb"))]
fn open_storage(_: &Settings, _: &Faults) -> Result<(Arc<dyn Storage>, u64), crate::storage::StorageError> {
    log::warn!("built without RocksDB: the crawl lives in memory and is gone at its end");
    Ok((Arc::new(crate::storage::MemoryStorage::new()), 1))
}

fn serve_admin(running: &Running, mailbox: Listening) -> Result<AdminServer, RunError> {
    let settings = &running.node.crawl.rules.settings;
    let control = Arc::new(NodeControl(running.node.clone()));
    let keys = Keys::load(settings.admin.token_file.as_deref(), settings.admin.read_token_file.as_deref());
    let entrance = Entrance::new(keys.map_err(AdminError::from)?);
    let server = AdminServer::serve(mailbox, entrance, control, Some(running.node.clone()))?;
    log::info!("admin endpoint listens: address=http://{}", server.address());
    Ok(server)
}

/// Seeds without a scheme that are told one by one.
const TOLD: usize = 10;

/// Hands in the seeds of the settings; those known from a former run change nothing. Gives those that were not taken. A crawl
/// that is to end by itself, and has nothing at all to do, ends.
async fn begin(running: &Running) -> Vec<RejectedSeed> {
    let node = &running.node;
    let run: Option<RunState> = read::meta(&*node.storage, ()).ok().flatten();
    let handed_in = tokio::select! {
        handed_in = hand_in(node) => handed_in,
        () = lose_patience(node) => return Vec::new(),
    };
    match handed_in {
        Ok(report) => {
            for refused in &report.rejected {
                log::warn!("seed not taken: seed={:?} why={:?}", without_credentials(&refused.url), refused.reason);
            }
            report.guessed.iter().take(TOLD).for_each(|url| log::info!("{}", without_scheme(url)));
            log::info!(
                "crawl begins: run={} new_seeds={} known_seeds={}",
                run.map_or(1, |r| r.runs),
                report.accepted,
                report.known
            );
            let live = node.crawl.live();
            let crawl = &live.settings.crawl;
            if crawl.seeds.is_empty() && !crawl.until_done && node.crawl.counters().queued == 0 {
                log::info!("no seeds: waiting for `lycosa ctl seeds add URL`");
            }
            if crawl.until_done && node.crawl.counters().discovered == 0 {
                node.stop_with(Stop::Done);
            }
            report.rejected
        }
        Err(e) => {
            log::error!("the seeds were not taken: {e}");
            node.stop_with(Stop::Disk(e.to_string()));
            Vec::new()
        }
    }
}

/// Until the seeds are committed nobody else looks at the disks. One that refuses is waited for as long as `disk.retry_for`,
/// be it full or broken; then the run ends.
async fn lose_patience(node: &Node) {
    let patience = node.crawl.rules.settings.disk.retry_for;
    let mut since = None;
    loop {
        tokio::time::sleep(SEED_REST).await;
        super::disk::look(node);
        let now = node.clock.now();
        let Some(why) = node.disk.why().filter(|_| node.disk.is_broken()) else { continue };
        let first = *since.get_or_insert_with(|| {
            let most = format_duration(patience);
            log::warn!("the seeds cannot be committed yet, the disk is waited for: for_at_most={most} (disk.retry_for) why={why:?}");
            now
        });
        if now.since(first) >= patience {
            let most = format_duration(patience);
            let told = format!("the seeds could not be committed for {most} (disk.retry_for), then start again: {why}");
            return node.stop_with(Stop::Disk(told));
        }
    }
}

/// A commit of seeds may be lost like any other (an actor died at that moment): they are handed in again.
async fn hand_in(node: &Arc<Node>) -> Result<SeedReport, ControlError> {
    let mut tries = 1;
    loop {
        match NodeControl::add_seeds(node.clone(), node.crawl.rules.settings.crawl.seeds.clone()).await {
            // While the disk refuses, and nothing else is wrong, it is waited for.
            Err(_) if node.disk.is_broken() && node.stop.borrow().is_none() => tokio::time::sleep(SEED_REST).await,
            Err(e) if tries < SEED_TRIES && node.stop.borrow().is_none() => {
                log::warn!("the seeds are handed in again: tries={tries} why={e}");
                tries += 1;
                tokio::time::sleep(SEED_REST).await;
            }
            other => return other,
        }
    }
}

/// Longest wait for settings that were read again to be committed.
const RELOAD: Duration = Duration::from_secs(10);
/// A second signal within this time of the first is the same wish.
const SAME_WISH: Duration = Duration::from_millis(500);

/// The signals that are heeded.
struct Wishes {
    term: Signal,
    int: Signal,
    hup: Signal,
    usr1: Signal,
}

impl Wishes {
    fn listen() -> std::io::Result<Self> {
        Ok(Self {
            term: signal(SignalKind::terminate())?,
            int: signal(SignalKind::interrupt())?,
            hup: signal(SignalKind::hangup())?,
            usr1: signal(SignalKind::user_defined1())?,
        })
    }
}

/// The task that listens for TERM and INT; ended by Drop.
struct Signals(tokio::task::JoinHandle<()>);

impl Drop for Signals {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// TERM and INT end the run; a second one ends the process at once. HUP reads the settings again, USR1 writes the state to
/// the log.
fn heed(running: &Running, hangup: ReadAgain, wishes: Wishes) -> Signals {
    let node = running.node.clone();
    let Wishes { mut term, mut int, mut hup, mut usr1 } = wishes;
    second_signal_ends_all();
    Signals(tokio::spawn(async move {
        loop {
            tokio::select! {
                _ = term.recv() => {}
                _ = int.recv() => {}
                _ = hup.recv() => {
                    notify::reloading();
                    tokio::spawn(take_up(node.clone(), hangup()));
                    continue;
                }
                _ = usr1.recv() => {
                    log::info!("state: {}", crate::telemetry::summary::line(&status(&node)));
                    continue;
                }
            }
            log::info!("signal received: finishing what is in flight; a second one ends at once");
            node.stop_with(Stop::Asked);
            return;
        }
    }))
}

/// Takes up what may change of settings that were read again.
async fn take_up(node: Arc<Node>, settings: Option<Settings>) {
    if let Some(settings) = settings {
        match tokio::time::timeout(RELOAD, crate::crawl::live::reload(&node, &settings)).await {
            Ok(Ok(_)) => {}
            Ok(Err(e)) => log::warn!("settings not taken up, the former ones hold: {e}"),
            Err(_) => log::warn!("settings not taken up yet: the store does not commit them"),
        }
    }
    notify::ready();
}

/// A thread that ends the process at the second signal, for while the runtime is busy with the drain.
fn second_signal_ends_all() {
    let spawned = std::thread::Builder::new().name("signals".into()).spawn(|| {
        let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_all().build() else { return };
        runtime.block_on(async {
            let (Ok(mut term), Ok(mut int)) = (signal(SignalKind::terminate()), signal(SignalKind::interrupt())) else {
                return;
            };
            tokio::select! { _ = term.recv() => {} _ = int.recv() => {} }
            // `timeout` and shells signal a process and its group: what comes at once is the same wish.
            let first = Stopwatch::start();
            loop {
                tokio::select! { _ = term.recv() => {} _ = int.recv() => {} }
                if first.elapsed() >= SAME_WISH {
                    break;
                }
            }
            log::warn!("second signal: ending at once; the next start repairs what was in flight");
            std::process::exit(crate::base::exit::Exit::Interrupted.code().into());
        });
    });
    if let Err(e) = spawned {
        log::warn!("a second signal will not end the process at once: {e}");
    }
}
