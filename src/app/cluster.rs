//! A member of a crawl on several machines: how this process becomes it, waits for the place of another, and leaves.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::Handle;

use super::handing::Ways;
use super::life::{Objects, facts, life};
use super::memory::share_out;
#[cfg(feature = "rocksdb")]
use super::moves::{AtRest, at_rest};
use super::notify;
use super::open;
use super::run::{RunError, entrance};
use super::signals::Ending;
use super::taking::Inbox;
use super::together::{Others, Together};
use crate::admin::standby::Standby;
use crate::admin::{AdminServer, Listening};
use crate::base::clock::{Clock, Stopwatch};
use crate::base::fault::Faults;
use crate::base::fence::Fence;
use crate::cluster::Who;
use crate::cluster::engine::{Nats, NatsOptions};
use crate::cluster::enter::{EnterError, Start, Won, before, enter};
use crate::cluster::folder::Identity;
use crate::cluster::keeper::{Lost, Membership};
use crate::cluster::known::Watcher;
use crate::cluster::mover::{Life, Mover};
use crate::cluster::standby::StandBy;
use crate::config::Settings;
use crate::crawl::node::{Node, Stop};
use crate::domain::cluster::lease::MemberState;
use crate::domain::cluster::map::Map;
use crate::domain::partition::PartitionSet;
use crate::recovery::checkpoint::fetch::{Archive, Wanted, import, newest, read_map};
use crate::recovery::checkpoint::restore::Destination;
use crate::recovery::checkpoint::{CheckpointError, Target};
#[cfg(feature = "rocksdb")]
use crate::recovery::part::PartError;
use crate::storage::folder::{self, MARKER};
use crate::storage::read;
use crate::storage::share::Share;
use crate::storage::values::RunState;

/// How often it is told what is waited for.
const TOLD: Duration = Duration::from_secs(60);
/// What is waited for no longer is not told.
const MOMENT: Duration = Duration::from_secs(1);
/// How often is looked whether nobody wants to wait any more.
const LOOK: Duration = Duration::from_millis(50);
/// Rest before another try of a restore that failed.
const AGAIN: Duration = Duration::from_secs(10);

/// Takes the name that the data folder has: it stays that member, whatever the settings say by now.
///
/// # Errors
/// A file that cannot be read.
pub fn as_member(settings: &mut Settings) -> Result<(), EnterError> {
    if !settings.is_member() {
        return Ok(());
    }
    if let Some(identity) = Identity::read(&settings.store.data_dir)? {
        if settings.cluster.node.as_ref().is_some_and(|node| *node != identity.name) {
            log::info!(
                "this folder is another member than cluster.node says, and goes on as that: member={}",
                identity.name
            );
        }
        settings.cluster.node = Some(identity.name);
    }
    Ok(())
}

/// What a process has of a crawl on several machines, from its start to its end.
pub(super) struct Member {
    who: Who,
    /// The place of a member is to be taken, and none to be had anew.
    takes_place: bool,
    /// Seed of the keys of the crawl that this folder, which is empty, is to join.
    joins: Option<u64>,
    /// Its folder was empty, and there was no crawl to join.
    begins: bool,
    /// Its own, and nowhere to be had: looked for again by the next process.
    missing: PartitionSet,
    /// How far links between members have come.
    ways: Arc<Ways>,
    /// Dropped before the lease: it acts within it.
    moving: Option<Moving>,
    membership: Option<Arc<Membership>>,
}

/// What follows the others.
struct Moving {
    mover: Mover,
    watcher: Arc<Watcher>,
}

impl Member {
    /// Knows the engine; none without `[cluster]`. Nothing is written.
    ///
    /// # Errors
    /// Settings that the engine's client refuses.
    pub fn of(settings: &Settings, takes_place: bool) -> Result<Option<Self>, RunError> {
        if !settings.is_member() {
            return Ok(None);
        }
        let cluster = &settings.cluster;
        if settings.checkpoint.upload.is_some() {
            log::warn!("checkpoint.upload is not heeded: copies of a member's checkpoints go to cluster.store");
        }
        let name = cluster.name.clone().unwrap_or_default();
        let options = NatsOptions {
            name: name.clone(),
            servers: cluster.servers.clone(),
            credentials: cluster.credentials.clone(),
            authority: cluster.authority.clone(),
            certificate: cluster.certificate.clone().zip(cluster.key.clone()),
        };
        let engine = Arc::new(Nats::start(&options, Clock::real()).map_err(EnterError::from)?);
        let machine = nix::unistd::gethostname().ok().and_then(|n| n.into_string().ok()).unwrap_or_default();
        let data = settings.store.data_dir.clone();
        let (lease, weight) = (cluster.lease, cluster.weight);
        let who = Who { engine, cluster: name, name: settings.member(), data, lease, weight, machine };
        Ok(Some(Self {
            who,
            takes_place,
            joins: None,
            begins: false,
            missing: PartitionSet::none(),
            ways: Arc::default(),
            moving: None,
            membership: None,
        }))
    }

    /// Waits until this folder may be a member, and makes it of a copy where it is to take the place of one that is lost. Gives false when
    /// there is nothing to do: the crawl has come to its end.
    ///
    /// # Errors
    /// [`EnterError`], or what kept it from making the folder.
    pub fn prepare(&mut self, settings: &mut Settings, at: &At<'_>) -> Result<bool, RunError> {
        let data = &settings.store.data_dir;
        let is_empty = !data.join(MARKER).exists() || matches!(folder::find(data), Ok(None)) || unbegun(settings, at)?;
        let is_spare =
            settings.cluster.spare && Identity::read(&settings.store.data_dir).map_err(EnterError::from)?.is_none();
        let standby = Arc::new(Standby::new(self.who.clone(), at.ending.asked.clone(), "its place"));
        let serve =
            |listening: &Listening| AdminServer::standby(listening.again()?, entrance(settings)?, standby.clone());
        let server = at.listening.map(serve).transpose()?;
        let mut wait = at.waiting(&standby);
        let kept = kept_map(settings);
        let wanted = match is_spare {
            true if !is_empty => return Err(EnterError::NotEmpty.into()),
            true => None,
            false => match before(&self.who, is_empty, kept.clone(), &mut wait)? {
                Start::GoOn => {
                    self.begins = is_empty;
                    if is_empty {
                        store(settings).and_then(|store| store.is_writable()).map_err(super::StartError::from)?;
                    }
                    return Ok(true);
                }
                Start::Join(_) if self.takes_place => return Err(no_such(&self.who).into()),
                Start::Join(seed) => {
                    let mut kept = kept;
                    while kept.as_ref().is_none_or(|map| map.seed != seed) {
                        let what = format!(
                            "the map of this crawl in {}, is that the store (cluster.store) of the other members?",
                            settings.cluster.store.as_deref().unwrap_or_default()
                        );
                        if !wait(&what, AGAIN / 5) {
                            return Err(EnterError::Interrupted.into());
                        }
                        kept = kept_map(settings);
                    }
                    self.joins = Some(seed);
                    return Ok(true);
                }
                Start::Restore => Some(self.who.name.clone()),
            },
        };
        if let Some(server) = &server {
            log::info!("admin endpoint listens: address=http://{}", server.address());
        }
        let mut waits = StandBy::new(self.who.clone(), wanted);
        let won = self.restored(settings, at.faults, kept.as_ref(), &mut waits, &mut wait);
        waits.withdraw();
        drop(server);
        let Some((name, won)) = won? else { return Ok(false) };
        self.who.name.clone_from(&name);
        settings.cluster.node = Some(name);
        self.membership = Some(Arc::new(Membership::keep(self.who.clone(), won, MemberState::Restoring)?));
        Ok(true)
    }

    /// Waits for a place and takes it, with a folder made of the newest copy.
    fn restored(
        &self,
        settings: &Settings,
        faults: &Faults,
        kept: Option<&Map>,
        waits: &mut StandBy,
        wait: &mut dyn FnMut(&str, Duration) -> bool,
    ) -> Result<Option<(String, Won)>, RunError> {
        let endpoint = settings.checkpoint.s3_endpoint.as_deref();
        let store = store(settings).map_err(super::StartError::from)?;
        loop {
            let mut has_copy = |name: &str| match newest(&store.below(name), endpoint) {
                Ok(copy) => copy.is_some(),
                Err(e) => {
                    log::warn!("copies cannot be looked for: member={name} error={e}");
                    false
                }
            };
            let Some(name) = waits.lost(kept, &mut has_copy, wait)? else { return Ok(None) };
            let from = store.below(&name);
            log::warn!("member lost, its place is taken: member={name} from={from}");
            let wanted = Wanted { target: from, name: None };
            let (mut won, mut refused) = (None, None);
            let mut permit = |staging: &Path| {
                faults.pass("member.take");
                let taken = waits.take(&name, staging, wait);
                faults.pass("member.taken");
                taken.map(|taken| won = Some(taken)).map_err(|e| {
                    let told = CheckpointError::Node(e.to_string());
                    refused = Some(e);
                    told
                })
            };
            match import(&wanted, endpoint, &destination(settings), Archive::There, &mut permit, faults) {
                Ok(done) => {
                    let (checkpoint, pages, waiting) = (&done.name, done.pages, done.waiting);
                    log::info!("restored: member={name} checkpoint={checkpoint} pages={pages} waiting={waiting}");
                    return Ok(won.map(|won| (name, won)));
                }
                Err(e) => {
                    match refused {
                        Some(e @ EnterError::Interrupted) => return Err(e.into()),
                        Some(e) => log::info!("{e}"),
                        None => log::error!("place not taken, it is tried again: member={name} error={e}"),
                    }
                    if !wait(&format!("another try to take the place of {name}"), AGAIN) {
                        return Err(EnterError::Interrupted.into());
                    }
                }
            }
        }
    }

    /// Whether it has entered.
    pub fn is_in(&self) -> bool {
        self.moving.is_some()
    }

    /// The seed of the keys, as far as it is known before the database is opened: that of the crawl that an empty folder joins.
    pub fn seed(&self) -> Option<u64> {
        self.joins
    }

    /// Until when its requests may be sent.
    pub fn fence(&self) -> Fence {
        self.membership.as_ref().map(|membership| membership.fence()).unwrap_or_default()
    }

    /// Another was quicker to begin the crawl: what this start made of the empty folder is taken away, and it is looked at anew. False when
    /// the folder was not empty.
    ///
    /// # Errors
    /// As [`prepare`](Self::prepare); files that cannot be removed.
    pub fn gives_way(&mut self, settings: &Settings, at: &At<'_>) -> Result<bool, RunError> {
        if !std::mem::take(&mut self.begins) {
            return Ok(false);
        }
        log::info!("another member was quicker to begin the crawl, this one joins it: member={}", self.who.name);
        folder::clear(&settings.store.data_dir)?;
        self.prepare(&mut settings.clone(), at)
    }

    /// Enters with a folder whose keys are made by `seed`, unless it is in by now.
    ///
    /// # Errors
    /// [`EnterError`].
    pub fn enter(&mut self, seed: u64, settings: &Settings, at: &At<'_>) -> Result<(), RunError> {
        if self.membership.is_none() {
            let told = Arc::new(Standby::new(self.who.clone(), at.ending.asked.clone(), "its lease"));
            at.faults.pass("member.enter");
            let won = enter(&self.who, seed, self.joins.is_some(), &mut at.waiting(&told))?;
            at.faults.pass("member.entered");
            log::info!(
                "member enters: crawl={} member={} map={} lease_s={}",
                self.who.cluster,
                self.who.name,
                won.map.version,
                self.who.lease.as_secs()
            );
            self.membership = Some(Arc::new(Membership::keep(self.who.clone(), won, MemberState::Running)?));
        }
        if let (Some(membership), None) = (&self.membership, &self.moving) {
            let stock = Objects {
                store: store(settings).map_err(super::StartError::from)?,
                endpoint: endpoint(settings).map(str::to_owned),
            };
            if let Some(map) = membership.map() {
                stock.enter(&map);
            }
            let watcher = Arc::new(Watcher::start(&self.who.engine).map_err(EnterError::from)?);
            let mover = Mover::start(membership.clone(), watcher.clone(), Box::new(stock))?;
            self.moving = Some(Moving { mover, watcher });
        }
        Ok(())
    }

    /// Has the folder be what the map says, between two lives of the crawl. True when a start has to put its files right before.
    ///
    /// # Errors
    /// [`EnterError::Interrupted`]; what another try does not cure.
    #[cfg(feature = "rocksdb")]
    pub fn rest(&mut self, settings: &Settings, at: &At<'_>) -> Result<bool, RunError> {
        let Some(membership) = self.membership.clone() else { return Ok(false) };
        let store = store(settings).map_err(super::StartError::from)?;
        let begins_with = if self.joins.is_some() { PartitionSet::none() } else { PartitionSet::all() };
        let told = Arc::new(Standby::new(self.who.clone(), at.ending.asked.clone(), "partitions that go or come"));
        let serve = |listening: &Listening| AdminServer::standby(listening.again()?, entrance(settings)?, told.clone());
        let mut server = None;
        let mut wait = at.waiting(&told);
        loop {
            let Some(map) = membership.map() else { return Ok(false) };
            if map.members.len() > 1 && server.is_none() {
                server = at.listening.map(serve).transpose()?; // it may take minutes
            }
            let (name, session, faults) = (self.who.name.as_str(), membership.session_number(), at.faults);
            if let (Err(e), true) = (store.is_store(), map.members.len() > 1) {
                if !wait(&format!("what partitions go through, {e}"), AGAIN) {
                    return Err(EnterError::Interrupted.into());
                }
                continue;
            }
            let work = AtRest { settings, name, map: &map, begins_with: &begins_with, store: &store, session, faults };
            let mut tell = |what: &'static str, done| {
                let what = format!("partitions that go or come: {what}, {done}");
                notify::at_work(&what);
                told.tell(&what);
            };
            let again = match at_rest(&work, &mut tell) {
                Ok((_, rested)) => {
                    self.missing = rested.missing.into_iter().collect();
                    return Ok(false);
                }
                Err(PartError::Unclean(_)) => return Ok(true),
                Err(e @ (PartError::Store { .. } | PartError::OlderMap { .. })) => e.to_string(),
                Err(e) if e.is_full() => e.to_string(),
                Err(e) => return Err(e.into()),
            };
            if !wait(&format!("what partitions go through, {again}"), AGAIN) {
                return Err(EnterError::Interrupted.into());
            }
        }
    }

    /// Nothing is kept that could move.
    #[cfg(not(feature = "rocksdb"))]
    #[expect(clippy::unnecessary_wraps, clippy::unused_self, reason = "as with RocksDB")]
    pub fn rest(&mut self, _: &Settings, _: &At<'_>) -> Result<bool, RunError> {
        Ok(false)
    }

    /// The node crawls for it.
    pub fn serve(&self, node: &Arc<Node>, runtime: &Handle) {
        let (Some(membership), Some(moving)) = (&self.membership, &self.moving) else { return };
        let _ = node.member.set(membership.clone());
        let (looked, ways) = (Arc::downgrade(node), self.ways.clone());
        let look = move || looked.upgrade().map(|node| facts(&node, &ways));
        membership.say(MemberState::Running, Box::new(look));
        let told = Arc::downgrade(node);
        membership.on_loss(Box::new(move |how| {
            if let Some(node) = told.upgrade() {
                node.stop_with(match how {
                    Lost::To(why) => Stop::Replaced(why.clone()),
                    Lost::Left(why) => Stop::Left(why.clone()),
                });
            }
        }));
        moving.mover.lives(Some(Life { missing: self.missing.clone(), ..life(node, runtime) }));
    }

    /// What it does with the others while the node crawls.
    ///
    /// # Errors
    /// The engine's; threads that cannot be started.
    pub fn together(&self, node: &Arc<Node>, inbox: &Arc<Inbox>, runtime: &Handle) -> Result<Together, RunError> {
        let (Some(membership), Some(Moving { watcher, .. })) = (&self.membership, &self.moving) else {
            return Ok(Together::default());
        };
        Together::begin(node, &Others { membership, watcher, ways: &self.ways, inbox, runtime })
    }

    /// A life of the crawl is over.
    pub fn rests(&self) {
        if let Some(moving) = &self.moving {
            moving.mover.lives(None);
        }
    }

    /// The process ends, by this reason. `by_signal`: it will be started again.
    pub fn leave(&self, stop: &Stop, by_signal: bool) {
        let state = match stop {
            Stop::Done | Stop::Pages | Stop::Bytes | Stop::Time | Stop::Failures => MemberState::Done,
            Stop::Asked | Stop::Drained if !by_signal => MemberState::Stopped,
            Stop::Left(_) => MemberState::Stopped,
            Stop::Asked
            | Stop::Drained
            | Stop::Erase
            | Stop::Moves
            | Stop::Supervisor(_)
            | Stop::Disk(_)
            | Stop::Replaced(_) => MemberState::Away,
        };
        if let Some(membership) = &self.membership {
            membership.leave(state);
        }
    }
}

/// Takes away a database in which no crawl has begun: what a start leaves that was killed, or refused, before it was a member. True when it did.
fn unbegun(settings: &Settings, at: &At<'_>) -> Result<bool, RunError> {
    let data = &settings.store.data_dir;
    if Identity::read(data).map_err(EnterError::from)?.is_some() {
        return Ok(false);
    }
    open::settle_restore(settings, at.faults)?;
    let mut settings = settings.clone();
    share_out(&mut settings).map_err(super::StartError::from)?;
    let (storage, _) = open::open_storage(&settings, at.faults, None).map_err(super::StartError::from)?;
    let begun = read::meta::<RunState>(&*storage, ())
        .map(|run| run.is_some() || Share::load(&*storage).is_ok_and(|share| share.is_some()));
    storage.close();
    let is_unbegun = !begun.map_err(super::StartError::from)?;
    if is_unbegun {
        folder::clear(data)?;
    }
    Ok(is_unbegun)
}

fn no_such(who: &Who) -> EnterError {
    EnterError::NoSuch { name: who.name.clone(), cluster: who.cluster.clone() }
}

/// The store that all members see.
fn store(settings: &Settings) -> Result<Target, CheckpointError> {
    Target::parse(settings.cluster.store.as_deref().unwrap_or_default())
}

fn endpoint(settings: &Settings) -> Option<&str> {
    settings.checkpoint.s3_endpoint.as_deref()
}

/// The map that the store keeps; none when it keeps none, is away, or keeps what is no map.
fn kept_map(settings: &Settings) -> Option<Map> {
    let read = store(settings).and_then(|store| read_map(&store, endpoint(settings)));
    let text = read.inspect_err(|e| log::warn!("store cannot be asked for its map: error={e}")).ok()??;
    Map::read(&text).inspect_err(|e| log::warn!("the store keeps a map that is none: error={e}")).ok()
}

fn destination(settings: &Settings) -> Destination {
    let (data, warc_dir) = (settings.store.data_dir.clone(), settings.store.warc_dir.clone());
    Destination { data, warc_dir, force: false, incomplete: false, now: Clock::real().now() }
}

/// Where a process waits.
pub(super) struct At<'a> {
    pub listening: Option<&'a Listening>,
    pub ending: &'a Ending,
    pub faults: &'a Faults,
}

impl At<'_> {
    /// Tells what is waited for: the endpoint at once, log and service manager now and then. False when the process is to end.
    fn waiting<'w>(&'w self, standby: &'w Standby) -> impl FnMut(&str, Duration) -> bool + 'w {
        let (mut last, mut said, began_waiting) = (None::<(String, Stopwatch)>, false, Stopwatch::start());
        move |what, long| {
            standby.tell(what);
            // A moment is no waiting.
            let is_short = began_waiting.elapsed() < MOMENT;
            let subject = what.split(',').next().unwrap_or_default().to_owned();
            if !is_short && last.as_ref().is_none_or(|(before, at)| *before != subject || at.elapsed() >= TOLD) {
                log::info!("waiting for {what}");
                last = Some((subject, Stopwatch::start()));
            }
            if !std::mem::replace(&mut said, true) {
                notify::ready(); // it may last for months
            }
            notify::at_work(&format!("waiting for {what}"));
            let began = Stopwatch::start();
            while began.elapsed() < long {
                if self.ending.is_asked() {
                    return false;
                }
                std::thread::sleep(LOOK.min(long));
            }
            !self.ending.is_asked()
        }
    }
}
