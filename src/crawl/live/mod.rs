//! The rules that may change while the node runs: what holds now, for whoever asks.
//!
//! A reader takes a snapshot ([`Crawl::live`](crate::crawl::state::Crawl::live)) and works by it; each change has a number, its
//! *generation*. The scope lies beside it under a lock of its own, for seeds and their redirects widen it: who judges by both
//! takes the scope first, and finds the snapshot that belongs to it, for both are replaced under that lock.
//!
//! A change is checked by the code that checks the file, committed by the Store, and put in force by that commit ([`change`]).

mod change;
#[cfg(feature = "cluster")]
mod members;
mod start;
mod trial;
pub mod views;

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use tokio::sync::{Mutex, OwnedMutexGuard};

use crate::config::{Layers, Origin, Settings};
use crate::crawl::node::Node;
use crate::crawl::rules::HostRules;
use crate::domain::fingerprint::ContentHasher;
use crate::domain::outcome::RetryRules;
use crate::domain::priority::Priorities;
use crate::domain::scope::{Scope, ScopeRules};
use crate::domain::traps::{ShapeRules, TrapRules};
use crate::domain::url::Canonicaliser;
use crate::net::proxy::Routes;

/// The rules of one generation, ready for use.
#[expect(missing_docs, reason = "each name says it")]
pub struct Live {
    /// Number of the change that made them; 1 for those that a data folder began with.
    pub generation: u32,
    /// What the user set: the start's settings with what was changed since.
    pub settings: Settings,
    /// File, environment and flags, without what was changed over HTTP.
    pub base: Arc<Layers>,
    /// Canonical form of what pages link to.
    pub canon: Canonicaliser,
    pub traps: TrapRules,
    /// Budgets of shapes.
    pub shapes: ShapeRules,
    pub retry: RetryRules,
    /// What is said of the importance of pages.
    pub priorities: Arc<Priorities>,
    pub routes: Routes,
}

impl Live {
    /// From checked settings.
    pub fn new(settings: Settings, base: Arc<Layers>, generation: u32) -> Self {
        Self {
            generation,
            base,
            canon: Canonicaliser::new(settings.clean_rules()),
            traps: settings.trap_rules(),
            shapes: settings.shape_rules(),
            retry: settings.retry_rules(),
            priorities: Arc::new(settings.priorities()),
            routes: settings.routes(),
            settings,
        }
    }

    /// The rules of the host with this name: those of the first `[[host]]` section that matches, else the general ones.
    pub fn host_rules(&self, name: &str) -> HostRules {
        let settings = &self.settings;
        let connections = usize::try_from(settings.max_connections(name)).unwrap_or(1);
        HostRules { pace: settings.pace_rules_for(name), connections, own_site: settings.is_own_site(name) }
    }
}

pub use change::{SettingsPatch, change, readmitted, reload, undo};
pub(crate) use change::{changed_views, draft, refused_by_storage, stored, undoing};
pub(crate) use change::{rerank_is_due, reranked};
#[cfg(feature = "cluster")]
pub use members::{put_back, take_up};
pub use start::resync;
pub(crate) use start::{AtStart, at_start};
pub(crate) use trial::{Trial, check_warnings, may_harm};

/// Where the rules in force are kept.
pub struct LiveCell {
    now: RwLock<Arc<Live>>,
    generation: AtomicU32,
    turn: Arc<Mutex<()>>,
    /// Held by whoever judges rejected URLs again.
    readmitting: Arc<()>,
}

/// The turn of whoever changes the rules: one at a time, until the change is committed or lost.
pub(crate) type Turn = OwnedMutexGuard<()>;

impl LiveCell {
    /// A cell with the first rules of a run.
    pub fn new(live: Live) -> Self {
        let generation = AtomicU32::new(live.generation);
        Self { now: RwLock::new(Arc::new(live)), generation, turn: Arc::default(), readmitting: Arc::default() }
    }

    /// What holds now.
    pub fn get(&self) -> Arc<Live> {
        self.now.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The number of what holds now: cheaper than the whole.
    pub fn generation(&self) -> u32 {
        self.generation.load(Ordering::Acquire)
    }

    /// True while rejected URLs are judged again: the work is not at its end, though no URL is queued.
    pub fn is_readmitting(&self) -> bool {
        Arc::strong_count(&self.readmitting) > 1
    }

    /// Waits for the turn to change them.
    async fn turn(&self) -> Turn {
        self.turn.clone().lock_owned().await
    }

    fn set(&self, live: Arc<Live>) {
        let mut now = self.now.write().unwrap_or_else(PoisonError::into_inner);
        self.generation.store(live.generation, Ordering::Release);
        *now = live;
    }
}

/// Rejected URLs are being judged again, or about to be, until it is dropped.
pub struct Readmitting(#[expect(dead_code, reason = "held for its count")] Arc<()>);

impl Readmitting {
    /// From here on.
    #[must_use]
    pub fn begin(node: &Arc<Node>) -> Self {
        Self(node.crawl.live.readmitting.clone())
    }
}

/// A digest of the rules that judge URLs, to notice at a start that the file has others than the last run.
fn digest(settings: &Settings) -> [u8; 16] {
    let unjudging =
        ScopeRules { remove_params: None, remove_sessions: None, record_rejected: true, ..settings.scope.clone() };
    let rules = (unjudging, settings.parse.assets, settings.max_depth(), settings.trap_rules());
    let mut hasher = ContentHasher::new();
    hasher.update(&serde_json::to_vec(&rules).unwrap_or_default());
    hasher.finish().0
}

/// Puts rules in force: scope and snapshot together, then whoever waits is told.
fn put_in_force(node: &Node, live: &Arc<Live>, scope: &Scope) {
    let former = node.crawl.live();
    {
        let mut now = node.crawl.scope.write().unwrap_or_else(PoisonError::into_inner);
        let mut scope = scope.clone();
        scope.join_all(&now);
        *now = scope;
        node.crawl.live.set(live.clone());
    }
    if former.settings.log != live.settings.log {
        take_up_log(&live.settings);
    }
    node.mailboxes().frontier.tell(crate::crawl::frontier::Look);
    node.crawl.progress.committed.send_modify(|n| *n += 1); // limits are looked at
}

/// A level set over HTTP wins over `RUST_LOG`, which wins over that of the file.
fn take_up_log(settings: &Settings) {
    let by_admin = settings.source.origin("log.level") == Origin::Admin;
    crate::telemetry::log::reconfigure(&settings.log, by_admin);
}
