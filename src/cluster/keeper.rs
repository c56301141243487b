//! The thread that keeps a member's lease: a beat each so often, and the fence moved with each that is known to be written.
//!
//! It is a thread of the system, not a task: whatever else the process does, it beats. Without word from the engine the fence is over a little
//! before the lease is, and the crawl stands until the engine answers again.

use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, bounded};

use super::engine::EngineError;
use super::enter::{Won, put_back};
use super::folder::Identity;
use super::folder::Replaced;
use super::{MAP, Who, node_key, read_beat, text};
use crate::base::clock::{Clock, since_boot};
use crate::base::fence::Fence;
use crate::base::sync::lock;
use crate::domain::cluster::lease::{Beat, Claim, Facts, Lease, MemberState, Standing, Watch};
use crate::domain::cluster::map::Map;
use crate::warc::date::iso;

/// Gives what is said with a beat; nothing between two lives of a crawl.
pub type Look = Box<dyn Fn() -> Option<Facts> + Send>;
/// Is told that the lease is lost, and to whom.
pub type OnLoss = Box<dyn FnOnce(&str) + Send>;

/// A lease that is kept until it is [left](Self::leave).
pub struct Membership {
    shared: Arc<Shared>,
    end: Sender<MemberState>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

/// What the thread and its owner have in common.
struct Shared {
    who: Who,
    fence: Fence,
    state: Mutex<MemberState>,
    look: Mutex<Option<Look>>,
    loss: Mutex<Loss>,
}

#[derive(Default)]
struct Loss {
    to: Option<String>,
    tell: Option<OnLoss>,
}

impl Membership {
    /// Keeps the lease that was won.
    ///
    /// # Errors
    /// A thread that cannot be started.
    pub fn keep(who: Who, won: Won, state: MemberState) -> std::io::Result<Self> {
        let fence = Fence::new();
        fence.set(won.lease.until());
        let shared = Shared { who, fence, state: Mutex::new(state), look: Mutex::default(), loss: Mutex::default() };
        let shared = Arc::new(shared);
        let (end, ended) = bounded(1);
        let keeper = Keeper {
            shared: shared.clone(),
            lease: won.lease,
            identity: won.identity,
            facts: Facts::default(),
            watch: Watch::default(),
            away: false,
        };
        let thread = std::thread::Builder::new().name("lease".into()).spawn(move || keeper.run(&ended))?;
        Ok(Self { shared, end, thread: Mutex::new(Some(thread)) })
    }

    /// Until when requests may be sent.
    pub fn fence(&self) -> Fence {
        self.shared.fence.clone()
    }

    /// For whom it is kept.
    pub fn who(&self) -> &Who {
        &self.shared.who
    }

    /// What the next beats say.
    pub fn say(&self, state: MemberState, look: Look) {
        *lock(&self.shared.state) = state;
        *lock(&self.shared.look) = Some(look);
    }

    /// Who is told when the lease is lost; at once when it is by now.
    pub fn on_loss(&self, tell: OnLoss) {
        let mut loss = lock(&self.shared.loss);
        match &loss.to {
            Some(to) => tell(to),
            None => loss.tell = Some(tell),
        }
    }

    /// To whom it was lost.
    pub fn lost(&self) -> Option<String> {
        lock(&self.shared.loss).to.clone()
    }

    /// Ends it: the last beat says how, and requests may be sent no more.
    pub fn leave(&self, state: MemberState) {
        let Some(thread) = lock(&self.thread).take() else { return };
        self.shared.fence.set(std::time::Duration::ZERO);
        let _ = self.end.send(state);
        if thread.join().is_err() {
            log::error!("the thread of the lease panicked; the next start of this folder goes on all the same");
        }
    }
}

impl Drop for Membership {
    fn drop(&mut self) {
        self.leave(MemberState::Away);
    }
}

struct Keeper {
    shared: Arc<Shared>,
    lease: Lease,
    identity: Option<Identity>,
    /// As they were looked at last.
    facts: Facts,
    /// Of a record that is gone after the lease was over.
    watch: Watch,
    /// Told that the engine is away.
    away: bool,
}

impl Keeper {
    fn run(mut self, ended: &Receiver<MemberState>) {
        loop {
            let wait = self.lease.due().saturating_sub(since_boot());
            let state = match ended.recv_timeout(wait) {
                Ok(state) => Some(state),
                Err(RecvTimeoutError::Timeout) => None,
                Err(RecvTimeoutError::Disconnected) => Some(MemberState::Away),
            };
            let is_last = state.is_some();
            let state = state.unwrap_or_else(|| *lock(&self.shared.state));
            let is_lost = self.beat(state);
            if is_last || is_lost {
                return;
            }
            self.shared.fence.set(self.lease.until());
        }
    }

    /// One beat. True when the lease is lost.
    fn beat(&mut self, state: MemberState) -> bool {
        let who = self.shared.who.clone();
        let key = node_key(&who.name);
        let (beat, revision) = self.lease.begin(since_boot());
        if let Some(facts) = lock(&self.shared.look).as_ref().and_then(|look| look()) {
            self.facts = facts;
        }
        let beat = text(&who.beat(self.lease.session(), beat, state, self.facts.clone()));
        let sent = since_boot();
        let error = match who.engine.write_if(&key, &beat, revision) {
            Ok(revision) => {
                self.lease.written(sent, revision);
                self.is_there();
                return false;
            }
            Err(error) => error,
        };
        if !matches!(error, EngineError::Conflict { .. }) {
            self.is_away(&error);
        }
        let Ok(found) = read_beat(&*who.engine, &key) else { return false };
        let now = since_boot();
        match self.lease.found(&found, sent, now) {
            Standing::Held => found.is_none() && self.emptied(&who),
            Standing::Lost(to) => {
                self.lose(&to);
                true
            }
            Standing::Emptied => {
                if self.emptied(&who) {
                    return true;
                }
                if let Claim::Now(_) = self.watch.look(&None, &[], self.lease.length(), now) {
                    self.lease.forget();
                }
                false
            }
        }
    }

    fn is_there(&mut self) {
        self.watch = Watch::default();
        if std::mem::take(&mut self.away) {
            log::info!("engine answers again: member={} lease goes on", self.shared.who.name);
        }
    }

    fn is_away(&mut self, error: &EngineError) {
        if !std::mem::replace(&mut self.away, true) {
            let left = self.shared.fence.left().unwrap_or_default().as_secs();
            log::warn!("lease not renewed: member={} requests_for_s={left} error={error}", self.shared.who.name);
        }
    }

    /// The engine has lost everything: the map that this folder knows is put back. True when another crawl's is there by now, and this one
    /// has no place any more.
    fn emptied(&mut self, who: &Who) -> bool {
        let Some(identity) = &self.identity else { return false };
        match put_back(who, &identity.map) {
            Ok(false) if is_another(who, identity.map.seed) => {
                let why = format!("the engine was emptied, and another crawl {} was begun in it", who.cluster);
                self.tell_loss(why);
                return true;
            }
            Ok(true) => {
                log::warn!("engine was emptied, the map of this folder is put back: version={}", identity.map.version)
            }
            Ok(false) => {}
            Err(e) => log::warn!("engine was emptied, the map cannot be put back yet: error={e}"),
        }
        false
    }

    fn lose(&mut self, to: &Beat) {
        self.shared.fence.set(std::time::Duration::ZERO);
        let who = &self.shared.who;
        let why = match to.state {
            MemberState::Dead => format!("an operator has declared {} dead (`lycosa ctl nodes dead`)", who.name),
            _ => format!("the machine {} took the place of {}", to.machine, who.name),
        };
        if let (Some(identity), false) = (&mut self.identity, to.state == MemberState::Dead) {
            let by = format!("the machine {}", to.machine);
            identity.replaced = Some(Replaced { by, at: iso(Clock::real().date()) });
            if let Err(e) = identity.write(&who.data) {
                log::error!(
                    "this folder was replaced and cannot be marked so, the engine knows it all the same: error={e}"
                );
            }
        }
        self.tell_loss(why);
    }

    fn tell_loss(&self, why: String) {
        self.shared.fence.set(std::time::Duration::ZERO);
        log::error!("lease lost: member={} why={why:?}", self.shared.who.name);
        let mut loss = lock(&self.shared.loss);
        if let Some(tell) = loss.tell.take() {
            tell(&why);
        }
        loss.to = Some(why);
    }
}

/// Whether the engine has the map of a crawl with another seed.
fn is_another(who: &Who, seed: u64) -> bool {
    let there = who.engine.read(MAP).ok().flatten();
    there.and_then(|entry| Map::read(&entry.value).ok()).is_some_and(|map| map.seed != seed)
}
