//! The thread that keeps a member's lease: a beat each so often, and the fence moved with each that is known to be written.
//!
//! It is a thread of the system, not a task: whatever else the process does, it beats. Without word from the engine the fence is over a little
//! before the lease is, and the crawl stands until the engine answers again.

use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, bounded};

use super::engine::EngineError;
use super::enter::{Won, put_back};
use super::folder::{FolderError, Identity, Replaced};
use super::{MAP, Who, node_key, read_beat, text};
use crate::base::clock::{Clock, since_boot};
use crate::base::fence::Fence;
use crate::base::sync::lock;
use crate::domain::cluster::lease::{Beat, Claim, Facts, Lease, MemberState, Standing, Watch};
use crate::domain::cluster::map::Map;
use crate::warc::date::iso;

/// Gives what is said with a beat; nothing between two lives of a crawl.
pub type Look = Box<dyn Fn() -> Option<Facts> + Send>;
/// Is told that the lease is lost.
pub type OnLoss = Box<dyn FnOnce(&Lost) + Send>;

/// How a lease was lost: a sentence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Lost {
    /// Another machine has the place, or the crawl's.
    To(String),
    /// It gave everything to the others and is no member any more.
    Left(String),
}

/// A lease that is kept until it is [left](Self::leave).
pub struct Membership {
    shared: Arc<Shared>,
    session: String,
    tell: Sender<Word>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

/// What the thread is told.
enum Word {
    /// There is news for the others: it beats at once.
    Beat,
    /// It beats for the last time, in that state.
    End(MemberState),
}

/// What the thread and its owner have in common.
struct Shared {
    who: Who,
    fence: Fence,
    state: Mutex<MemberState>,
    look: Mutex<Option<Look>>,
    loss: Mutex<Loss>,
    /// What the folder knows; none of one that is yet to be made of a copy.
    identity: Mutex<Option<Identity>>,
}

#[derive(Default)]
struct Loss {
    how: Option<Lost>,
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
        let (state, identity, session) = (Mutex::new(state), Mutex::new(won.identity), won.lease.session().to_owned());
        let shared = Shared { who, fence, state, look: Mutex::default(), loss: Mutex::default(), identity };
        let shared = Arc::new(shared);
        let (tell, told) = bounded(4);
        let keeper = Keeper {
            shared: shared.clone(),
            lease: won.lease,
            facts: Facts::default(),
            watch: Watch::default(),
            away: false,
        };
        let thread = std::thread::Builder::new().name("lease".into()).spawn(move || keeper.run(&told))?;
        Ok(Self { shared, session, tell, thread: Mutex::new(Some(thread)) })
    }

    /// Until when requests may be sent.
    pub fn fence(&self) -> Fence {
        self.shared.fence.clone()
    }

    /// For whom it is kept.
    pub fn who(&self) -> &Who {
        &self.shared.who
    }

    /// The session that holds it.
    pub fn session(&self) -> &str {
        &self.session
    }

    /// The session as a number.
    pub fn session_number(&self) -> u64 {
        super::asking::session_number(&self.session)
    }

    /// The newest map that the folder knows.
    pub fn map(&self) -> Option<Map> {
        lock(&self.shared.identity).as_ref().map(|identity| identity.map.clone())
    }

    /// Writes a newer map into the folder, so that it is known whatever becomes of the engine.
    ///
    /// # Errors
    /// The folder's.
    pub fn keep_map(&self, map: &Map) -> Result<(), FolderError> {
        let mut identity = lock(&self.shared.identity);
        let Some(identity) = identity.as_mut() else { return Ok(()) };
        let new = Identity { map: map.clone(), ..identity.clone() };
        new.write(&self.shared.who.data)?;
        *identity = new;
        Ok(())
    }

    /// There is news for the others: the next beat is now.
    pub fn beat_now(&self) {
        let _ = self.tell.try_send(Word::Beat); // when it has too much to do it beats anyway
    }

    /// What the next beats say.
    pub fn say(&self, state: MemberState, look: Look) {
        *lock(&self.shared.state) = state;
        *lock(&self.shared.look) = Some(look);
    }

    /// Who is told when the lease is lost; at once when it is by now.
    pub fn on_loss(&self, tell: OnLoss) {
        let mut loss = lock(&self.shared.loss);
        match &loss.how {
            Some(how) => tell(how),
            None => loss.tell = Some(tell),
        }
    }

    /// It is no member any more: it gave everything away, and its crawl ends here.
    pub fn left(&self) {
        let why = format!("{} has left the crawl: it gave everything to the others", self.shared.who.name);
        if self.shared.lose(Lost::Left(why)) {
            log::info!("member leaves: member={} crawl={}", self.shared.who.name, self.shared.who.cluster);
        }
    }

    /// How it was lost.
    pub fn lost(&self) -> Option<Lost> {
        lock(&self.shared.loss).how.clone()
    }

    /// Ends it: the last beat says how, and requests may be sent no more.
    pub fn leave(&self, state: MemberState) {
        let Some(thread) = lock(&self.thread).take() else { return };
        self.shared.fence.set(std::time::Duration::ZERO);
        let _ = self.tell.send(Word::End(state));
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
    /// As they were looked at last.
    facts: Facts,
    /// Of a record that is gone after the lease was over.
    watch: Watch,
    /// Told that the engine is away.
    away: bool,
}

impl Keeper {
    fn run(mut self, told: &Receiver<Word>) {
        loop {
            let wait = self.lease.due().saturating_sub(since_boot());
            let state = match told.recv_timeout(wait) {
                Ok(Word::End(state)) => Some(state),
                Ok(Word::Beat) | Err(RecvTimeoutError::Timeout) => None,
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
        let found = match read_beat(&*who.engine, &key) {
            Ok(found) => found,
            Err(error) => {
                self.is_away(&error);
                return false;
            }
        };
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
        let Some(map) = lock(&self.shared.identity).as_ref().map(|identity| identity.map.clone()) else { return false };
        let put = if map.members.len() > 1 { Ok(false) } else { put_back(who, &map) }; // among several: `mover`
        match put {
            Ok(false) if is_another(who, map.seed) => {
                let why = format!("the engine was emptied, and another crawl {} was begun in it", who.cluster);
                self.tell_loss(why);
                return true;
            }
            Ok(true) => {
                log::warn!("engine was emptied, the map of this folder is put back: version={}", map.version)
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
        if let (Some(identity), false) = (lock(&self.shared.identity).as_mut(), to.state == MemberState::Dead) {
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
        log::error!("lease lost: member={} why={why:?}", self.shared.who.name);
        self.shared.lose(Lost::To(why));
    }
}

impl Shared {
    /// Nothing is sent any more, and who wants to know is told. False when it was lost before.
    fn lose(&self, how: Lost) -> bool {
        self.fence.set(std::time::Duration::ZERO);
        let mut loss = lock(&self.loss);
        if loss.how.is_some() {
            return false;
        }
        if let Some(tell) = loss.tell.take() {
            tell(&how);
        }
        loss.how = Some(how);
        true
    }
}

/// Whether the engine has the map of a crawl with another seed.
fn is_another(who: &Who, seed: u64) -> bool {
    let there = who.engine.read(MAP).ok().flatten();
    there.and_then(|entry| Map::read(&entry.value).ok()).is_some_and(|map| map.seed != seed)
}
