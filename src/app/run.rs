//! A whole run: opens the data folder, starts the node and the admin endpoint, waits for the end, drains; where a host is to be erased it is
//! at rest then, and another life follows in the same process.

#[cfg(feature = "rocksdb")]
use std::cell::Cell;
#[cfg(feature = "cluster")]
use std::cell::RefCell;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::runtime::Runtime;
use tokio::task::JoinHandle;

#[cfg(feature = "cluster")]
use super::cluster::{At, Member};
use super::credit::Creditor;
#[cfg(feature = "rocksdb")]
use super::erasing::Between;
use super::memory::share_out;
use super::signals::{Ending, heed};
use super::sinks::{Sinks, SinksError};
use super::taking::Taker;
use super::uploads::Uploader;
use super::watch::watch_since;
use super::webhooks::{WebhookError, Webhooks};
use super::{DRAIN, NodeControl, Parts, Placement, Running, StartError, next, notify, open, seeds, start};
use crate::admin::auth::Keys;
use crate::admin::{AdminError, AdminServer, Entrance, Listening, RejectedSeed, status};
use crate::base::clock::{Clock, Stopwatch};
use crate::base::fault::Faults;
use crate::base::fence::Fence;
use crate::base::sync::lock;
use crate::base::time::UnixMillis;
#[cfg(feature = "cluster")]
use crate::cluster::enter::{EnterError, alone};
use crate::config::Settings;
use crate::content::modules::MimeModules;
use crate::crawl::admit::{LINK, explain};
use crate::crawl::node::{Node, Stop};
use crate::crawl::pulse::Watchdog;
use crate::crawl::readmit;
use crate::domain::reason::Rejection;
use crate::domain::url::PageUrl;
#[cfg(feature = "rocksdb")]
use crate::recovery::erase::EraseError;
use crate::storage::Storage;
#[cfg(feature = "cluster")]
use crate::storage::share::Share;
use crate::telemetry::{State, StateChange, StatusSnapshot};

/// URLs left at the end that are looked at.
const LEFT: usize = 100_000;

/// Nobody wants it to wait any more.
#[cfg(feature = "cluster")]
const INTERRUPTED: &str = "stopped while it waited for its place in the crawl";

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
    #[cfg(feature = "rocksdb")]
    #[error(transparent)]
    Erase(#[from] EraseError),
    #[cfg(feature = "cluster")]
    #[error(transparent)]
    Member(#[from] EnterError),
    #[cfg(feature = "cluster")]
    #[error(transparent)]
    Part(#[from] crate::recovery::part::PartError),
    #[error("{0}")]
    System(#[from] std::io::Error),
}

/// Whether something that a life of the crawl left to itself has come to its end.
pub(super) type AtRest = Box<dyn Fn() -> bool + Send>;

/// Reads the settings again; `None` when they are no good, which it has told.
pub type ReadAgain = Arc<dyn Fn() -> Option<Settings> + Send + Sync>;

/// What stays the same over all lives of a crawl in one process.
struct Process {
    runtime: Runtime,
    ending: Ending,
    listening: Option<Listening>,
    faults: Faults,
    began: Stopwatch,
    /// A start has put files right that an erasure found unclean: it is not tried again and again.
    #[cfg(feature = "rocksdb")]
    mended: Cell<bool>,
    /// The settings as they were read last.
    latest: Arc<Mutex<Option<Settings>>>,
    /// In a crawl on several machines.
    #[cfg(feature = "cluster")]
    member: RefCell<Option<Member>>,
}

/// A checkpoint that is being made is waited for so long before the next life of the crawl.
const CHECKPOINT: std::time::Duration = std::time::Duration::from_secs(3);
const SHORT: std::time::Duration = std::time::Duration::from_millis(20);

/// What a run came to.
#[derive(Debug)]
pub enum Ended {
    /// A crawl was run.
    Crawl(Box<Outcome>),
    /// It was ended while a host was erased.
    Erasing,
    /// It waited for its place in a crawl on several machines, and was ended, or that crawl was: a sentence.
    Waiting(&'static str),
}

/// How a run begins.
#[derive(Clone, Copy, Debug, Default)]
pub struct Begin {
    /// What is held back is taken up first.
    pub held_back: bool,
    /// The place of a member of a crawl on several machines is taken.
    pub takes_place: bool,
}

/// Runs a crawl to its end; where the erasure of a host is ordered it is carried out in between, and the crawl begins anew; the
/// same where partitions go to another member of it, or come. `hangup` is called at each SIGHUP; `watched` is called at each beginning with a way to look at its counts,
/// and lives until it ends.
///
/// # Errors
/// What kept it from starting, or from erasing; later faults end it with a [`Stop`].
pub fn run<W>(
    mut settings: Settings,
    Begin { held_back, takes_place }: Begin,
    hangup: ReadAgain,
    watched: impl Fn(Arc<dyn Fn() -> StatusSnapshot + Send + Sync>) -> W,
) -> Result<Ended, RunError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    // From here on a signal waits for the end of the start instead of ending the process.
    let ending = Ending::listen()?;
    Keys::check(&settings).map_err(AdminError::from)?; // before anything is written
    let listening = settings.admin_listen.map(Listening::bind).transpose()?; // nor when its port is taken
    settings.admin_listen = listening.as_ref().map(Listening::address);
    crate::base::disk::outlive_file_limit()?;
    let faults = open::faults().map_err(std::io::Error::other)?;
    let latest = Arc::<Mutex<Option<Settings>>>::default();
    let read = latest.clone();
    let hangup: ReadAgain = Arc::new(move || hangup().inspect(|new| *lock(&read) = Some(new.clone())));
    let process = Process {
        runtime,
        ending,
        listening,
        faults,
        began: Stopwatch::start(),
        #[cfg(feature = "rocksdb")]
        mended: Cell::new(false),
        latest,
        #[cfg(feature = "cluster")]
        member: RefCell::new(Member::of(&settings, takes_place)?),
    };
    if let Some(why) = process.prepare(&mut settings)? {
        return Ok(Ended::Waiting(why));
    }
    let _ = takes_place; // without members nobody has a place
    let (mut held_back, mut left) = (held_back, Vec::new());
    loop {
        let is_mending = process.erase(&settings, std::mem::take(&mut left))?;
        if process.ending.is_asked() {
            return Ok(Ended::Erasing);
        }
        #[cfg(feature = "cluster")]
        let is_mending = match process.rest(&settings) {
            Err(RunError::Member(EnterError::Interrupted)) => return Ok(Ended::Waiting(INTERRUPTED)),
            rested => rested? || is_mending,
        };
        let (outcome, still) = process.live(settings.clone(), held_back, hangup.clone(), &watched, is_mending)?;
        if !outcome.stop.is_rest() || process.ending.is_asked() {
            if matches!(outcome.stop, Stop::Done | Stop::Pages | Stop::Bytes | Stop::Time) {
                process.erase(&settings, still)?; // ordered at its very end
            }
            process.leave(&outcome.stop);
            return Ok(Ended::Crawl(Box::new(outcome)));
        }
        (held_back, left) = (held_back && is_mending, still);
        settings = match lock(&process.latest).take() {
            Some(new) => settings.taking_up(&new).going_on(),
            None => settings.going_on(),
        };
    }
}

impl Process {
    /// Waits for its place in a crawl on several machines. Gives why nothing is to be done.
    #[cfg(feature = "cluster")]
    fn prepare(&self, settings: &mut Settings) -> Result<Option<&'static str>, RunError> {
        let mut member = self.member.borrow_mut();
        let Some(member) = member.as_mut() else { return Ok(alone(&settings.store.data_dir).map(|()| None)?) };
        match member.prepare(settings, &self.at()) {
            Ok(true) => Ok(None),
            Ok(false) => Ok(Some("the crawl has come to its end: there is nothing to stand by for")),
            Err(RunError::Member(EnterError::Interrupted)) => Ok(Some(INTERRUPTED)),
            Err(e) => Err(e),
        }
    }

    #[cfg(not(feature = "cluster"))]
    fn prepare(&self, _: &mut Settings) -> Result<Option<&'static str>, RunError> {
        Ok(None)
    }

    #[cfg(feature = "cluster")]
    fn at(&self) -> At<'_> {
        At { listening: self.listening.as_ref(), ending: &self.ending, faults: &self.faults }
    }

    /// Enters a crawl on several machines, and has the folder be what its map says. True when a start has to put its files right before.
    #[cfg(feature = "cluster")]
    fn rest(&self, settings: &Settings) -> Result<bool, RunError> {
        let mut member = self.member.borrow_mut();
        let Some(member) = member.as_mut() else { return Ok(false) };
        while !member.is_in() {
            open::settle_restore(settings, &self.faults)?;
            let mut settings = settings.clone();
            share_out(&mut settings).map_err(StartError::from)?;
            let (storage, seed) =
                open::open_storage(&settings, &self.faults, member.seed()).map_err(StartError::from)?;
            let closing = Closing(storage);
            if Share::load(&*closing.0).map_err(StartError::from)?.is_some_and(|share| share.by_hand) {
                return Err(EnterError::InParts.into());
            }
            drop(closing);
            match member.enter(seed, &settings, &self.at()) {
                Err(RunError::Member(EnterError::Seed { .. })) if member.gives_way(&settings, &self.at())? => {}
                entered => entered?,
            }
        }
        member.rest(settings, &self.at())
    }

    /// Until when requests may be sent.
    fn fence(&self) -> Fence {
        #[cfg(feature = "cluster")]
        if let Some(member) = &*self.member.borrow() {
            return member.fence();
        }
        Fence::default()
    }

    /// The process ends.
    fn leave(&self, stop: &Stop) {
        #[cfg(feature = "cluster")]
        if let Some(member) = &*self.member.borrow() {
            member.leave(stop, self.ending.by_signal());
        }
        let _ = stop;
    }

    /// Carries out an erasure that is ordered. True when the files must be put right by a start before.
    #[cfg(feature = "rocksdb")]
    fn erase(&self, settings: &Settings, before: Vec<AtRest>) -> Result<bool, RunError> {
        open::settle_restore(settings, &self.faults)?;
        let Self { ending, listening, faults, .. } = self;
        let between = Between { settings, listening: listening.as_ref(), ending, faults };
        match between.erase(&self.runtime, before) {
            Err(RunError::Erase(EraseError::Interrupted)) => Ok(false),
            Err(RunError::Erase(EraseError::Unclean(_))) if !self.mended.replace(true) => Ok(true),
            other => {
                self.mended.set(false);
                other.map(|()| false)
            }
        }
    }

    #[cfg(not(feature = "rocksdb"))]
    fn erase(&self, _: &Settings, _: Vec<AtRest>) -> Result<bool, RunError> {
        Ok(false)
    }

    /// One life of the crawl. `to_mend`: it puts its files right and ends, so that a host can be erased. Gives also what may still be at work
    /// when it is over.
    fn live<W>(
        &self,
        settings: Settings,
        held_back: bool,
        hangup: ReadAgain,
        watched: impl FnOnce(Arc<dyn Fn() -> StatusSnapshot + Send + Sync>) -> W,
        to_mend: bool,
    ) -> Result<(Outcome, Vec<AtRest>), RunError> {
        let (_closed_last, running) = self.open(settings)?; // dropped from the right: the node first, whatever fails below
        let node = running.node.clone();
        #[cfg(feature = "cluster")]
        if let Some(member) = &*self.member.borrow() {
            member.serve(&node, self.runtime.handle());
        }
        super::checkpoint::sweep(&node);
        if held_back {
            readmit::take_up_held_back(&node);
        }
        let listening = self.listening.as_ref().map(Listening::again).transpose()?;
        let admin = listening.map(|listening| serve_admin(&running, listening)).transpose()?;
        let looker = node.clone();
        let watched = watched(Arc::new(move || status(&looker)));
        let watchdog = Watchdog::start(&node)?;
        let uploader = Uploader::start(&node)?;
        #[cfg(feature = "search")]
        let indexer = super::index::Indexer::start(&node)?;
        let creditor = Creditor::start(&node)?;
        let taker = Taker::start(&node)?;
        #[cfg(feature = "cluster")]
        let together = match &*self.member.borrow() {
            Some(member) => Some(member.together(&node, taker.inbox(), self.runtime.handle())?),
            None => None,
        };
        let sinks = Sinks::start(&node)?;
        let webhooks = Webhooks::start(&node)?;
        if to_mend {
            node.stop_with(Stop::Erase);
        }
        let (why, heeding, refused, left) = self.runtime.block_on(self.crawl(&node, hangup))?;
        let next_try = Some(UnixMillis(node.crawl.progress.next_try.load(Ordering::Acquire))).filter(|at| at.0 > 0);
        drop(watchdog); // the end has time-outs of its own
        #[cfg(feature = "cluster")]
        if let Some(member) = &*self.member.borrow() {
            member.rests();
        }
        let in_peace = matches!(why, Stop::Done | Stop::Pages | Stop::Bytes | Stop::Time);
        if !in_peace {
            sinks.end_now();
        }
        creditor.finish();
        #[cfg(feature = "cluster")]
        together.into_iter().for_each(super::together::Together::finish);
        taker.finish();
        let clean = running.shutdown_after(patience(&node, &why), move || sinks.finish());
        #[cfg(feature = "search")]
        indexer.finish(in_peace);
        let mut still: Vec<AtRest> = Vec::new();
        match uploader {
            // What a member that was replaced has in its archive is nowhere else.
            Some(uploader) if in_peace || matches!(why, Stop::Replaced(_)) => uploader.finish(),
            // An operator who ends it does not wait for copies.
            Some(uploader) => still.push(uploader.leave()),
            None => {}
        }
        let checkpoints = node.checkpoints.clone();
        still.push(Box::new(move || checkpoints.available_permits() > 0));
        if why == Stop::Moves {
            // The next life would sweep away what is being made.
            let began = Stopwatch::start();
            while node.checkpoints.available_permits() == 0 && began.elapsed() < CHECKPOINT {
                std::thread::sleep(SHORT);
            }
        }
        let why = node.stop.borrow().clone().unwrap_or(why); // it may be ended for good by now
        webhooks.into_iter().for_each(|webhooks| webhooks.finish(&node, &why));
        heeding.abort();
        drop(watched);
        node.changed(StateChange::Stopped, format!("ended: why={why:?}"));
        drop(admin);
        Ok((Outcome { next_try, ..outcome(&node, why, clean, refused, left) }, still))
    }

    /// Opens the data folder and starts the node. The database is closed when the first of the two is dropped.
    fn open(&self, mut settings: Settings) -> Result<(Closing, Running), RunError> {
        open::allow_files(&settings)?;
        share_out(&mut settings).map_err(StartError::from)?;
        open::settle_restore(&settings, &self.faults)?;
        let (storage, seed) = open::open_storage(&settings, &self.faults, None).map_err(StartError::from)?;
        let (closing, fence) = (Closing(storage.clone()), self.fence());
        let clock = Clock::real();
        let (placement, modules) = (Placement::Spread, MimeModules::default());
        let faults = self.faults.clone();
        Ok((closing, start(settings, Parts { storage, seed, clock, faults, fence, placement, modules })?))
    }

    /// Crawls until there is a reason to end.
    async fn crawl(
        &self,
        node: &Arc<Node>,
        hangup: ReadAgain,
    ) -> std::io::Result<(Stop, JoinHandle<()>, Vec<RejectedSeed>, String)> {
        let heeding = heed(node.clone(), hangup, self.ending.clone())?;
        let keepers = [tokio::spawn(super::checkpoint::keep(node.clone())), tokio::spawn(notify::keep(node.clone()))];
        notify::ready();
        let refused = seeds::begin(node).await;
        let why = watch_since(node, &self.began).await;
        let left = status(node).idle_reason;
        match why {
            Stop::Erase => notify::at_work("closing its files, for a host is to be erased"),
            Stop::Moves => notify::at_work("closing its files, for partitions go to another member, or come"),
            _ => notify::stopping(&format!("coming to an end: {why:?}")),
        }
        log::info!("crawl stops: reason={why:?}");
        keepers.iter().for_each(JoinHandle::abort);
        Ok((why, heeding, refused, left))
    }
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
    let control = Arc::new(NodeControl(running.node.clone()));
    let entrance = entrance(&running.node.crawl.rules.settings)?;
    let server = AdminServer::serve(listening, entrance, control, Some(running.node.clone()))?;
    log::info!("admin endpoint listens: address=http://{}", server.address());
    Ok(server)
}

/// Who is let in.
pub(super) fn entrance(settings: &Settings) -> Result<Entrance, AdminError> {
    let keys = Keys::load(settings.admin.token_file.as_deref(), settings.admin.read_token_file.as_deref());
    Ok(Entrance::new(keys?))
}
