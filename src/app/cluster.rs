//! A member of a crawl on several machines: how this process becomes it, waits for the place of another, and leaves.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use super::notify;
use super::run::{RunError, entrance};
use super::signals::Ending;
use crate::admin::standby::Standby;
use crate::admin::{AdminServer, Listening, counts};
use crate::base::clock::{Clock, Stopwatch};
use crate::base::fault::Faults;
use crate::base::fence::Fence;
use crate::cluster::Who;
use crate::cluster::engine::{Nats, NatsOptions};
use crate::cluster::enter::{EnterError, Start, Won, before, enter};
use crate::cluster::folder::Identity;
use crate::cluster::keeper::Membership;
use crate::cluster::standby::StandBy;
use crate::config::Settings;
use crate::crawl::node::{Node, Stop};
use crate::domain::cluster::lease::{Facts, MemberState};
use crate::domain::cluster::map::Map;
use crate::recovery::checkpoint::fetch::{Archive, Wanted, import, keep_map, newest, read_map};
use crate::recovery::checkpoint::restore::Destination;
use crate::recovery::checkpoint::{CheckpointError, Target};
use crate::storage::folder::MARKER;

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
    membership: Option<Arc<Membership>>,
}

impl Member {
    /// Knows the engine; none without `[cluster]`. Nothing is written.
    ///
    /// # Errors
    /// Settings that the engine's client refuses.
    pub fn of(settings: &Settings) -> Result<Option<Self>, RunError> {
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
        let who = Who { engine, cluster: name, name: settings.member(), data, lease: cluster.lease, machine };
        Ok(Some(Self { who, membership: None }))
    }

    /// Waits until this folder may be a member, and makes it of a copy where it is to take the place of one that is lost. Gives false when
    /// there is nothing to do: the crawl has come to its end.
    ///
    /// # Errors
    /// [`EnterError`], or what kept it from making the folder.
    pub fn prepare(&mut self, settings: &mut Settings, at: &At<'_>) -> Result<bool, RunError> {
        let is_empty = !settings.store.data_dir.join(MARKER).exists();
        let is_spare =
            settings.cluster.spare && Identity::read(&settings.store.data_dir).map_err(EnterError::from)?.is_none();
        let standby = Arc::new(Standby::new(self.who.clone(), at.ending.asked.clone()));
        let serve =
            |listening: &Listening| AdminServer::standby(listening.again()?, entrance(settings)?, standby.clone());
        let server = at.listening.map(serve).transpose()?;
        let mut wait = at.waiting(&standby);
        let kept = kept_map(settings);
        let wanted = match is_spare {
            true if !is_empty => return Err(EnterError::NotEmpty.into()),
            true => None,
            false => match before(&self.who, is_empty, kept.clone(), &mut wait)? {
                Start::GoOn => return Ok(true),
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

    /// Enters with a folder whose database is open; gives the fence that its requests heed.
    ///
    /// # Errors
    /// [`EnterError`].
    pub fn enter(&mut self, seed: u64, settings: &Settings, at: &At<'_>) -> Result<Fence, RunError> {
        if let Some(membership) = &self.membership {
            return Ok(membership.fence());
        }
        let told = Arc::new(Standby::new(self.who.clone(), at.ending.asked.clone()));
        at.faults.pass("member.enter");
        let won = enter(&self.who, seed, &mut at.waiting(&told))?;
        at.faults.pass("member.entered");
        log::info!(
            "member enters: crawl={} member={} map={} lease_s={}",
            self.who.cluster,
            self.who.name,
            won.map.version,
            self.who.lease.as_secs()
        );
        if let Err(e) = store(settings).and_then(|store| keep_map(&store, endpoint(settings), &won.map.text())) {
            log::warn!(
                "map not kept in the store, an engine that loses everything would not be known by it: error={e}"
            );
        }
        let membership = Arc::new(Membership::keep(self.who.clone(), won, MemberState::Running)?);
        let fence = membership.fence();
        self.membership = Some(membership);
        Ok(fence)
    }

    /// The node crawls for it.
    pub fn serve(&self, node: &Arc<Node>) {
        let Some(membership) = &self.membership else { return };
        let looked = Arc::downgrade(node);
        let look = move || looked.upgrade().map(|node| facts(&node));
        membership.say(MemberState::Running, Box::new(look));
        let told = Arc::downgrade(node);
        membership.on_loss(Box::new(move |by| {
            if let Some(node) = told.upgrade() {
                node.stop_with(Stop::Replaced(by.to_owned()));
            }
        }));
        let _ = node.member.set(membership.clone());
    }

    /// The process ends, by this reason. `by_signal`: it will be started again.
    pub fn leave(&self, stop: &Stop, by_signal: bool) {
        let state = match stop {
            Stop::Done | Stop::Pages | Stop::Bytes | Stop::Time | Stop::Failures => MemberState::Done,
            Stop::Asked | Stop::Drained if !by_signal => MemberState::Stopped,
            Stop::Asked | Stop::Drained | Stop::Erase | Stop::Supervisor(_) | Stop::Disk(_) | Stop::Replaced(_) => {
                MemberState::Away
            }
        };
        if let Some(membership) = &self.membership {
            membership.leave(state);
        }
    }
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

/// What is said of a crawl with each beat.
fn facts(node: &Node) -> Facts {
    let counts = counts(node);
    let shelf = super::checkpoint::shelf(node);
    let names = shelf.names().unwrap_or_default();
    let copied = names.iter().rev().find(|name| shelf.copied(name).is_some());
    let made = copied.and_then(|name| shelf.find(Some(name)).ok());
    Facts {
        pages: counts.pages_stored,
        bytes: counts.bytes,
        failures: counts.errors,
        waiting: counts.waiting,
        checkpoint: made.as_ref().map(|made| made.name.clone()),
        checkpoint_ms: made.as_ref().map(|made| made.ts_ms),
        admin: node.crawl.rules.settings.admin_listen.map(|at| at.to_string()),
        ..Facts::default()
    }
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
