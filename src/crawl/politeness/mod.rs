//! Host: the politeness of one active host.
//!
//! Owns: the leases it was given and not yet begun, its robots.txt. Receives: [`Leases`], [`Retire`]. Sends: `Fetch` to its
//! Fetcher, `Want` and `GaveUp` to the Frontier, rejections, and a robots.txt that names sitemaps, to the Deduper, any other robots.txt to the Store. Never: sends a request
//! without the host's slot; keeps pace in itself (the slot's pacer outlives it). After a restart: no leases (they came back
//! by Drop), it asks for new ones; robots.txt is read from storage.

mod lane;
mod pacers;
mod robots;
mod robots_request;
mod sitemaps;
mod targets;

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use actix::fut::wrap_future;
use actix::{ActorContext, AsyncContext};
use tokio::sync::Notify;

use super::lease::Lease;
use super::mailbox::Mailbox;
use super::node::Node;
use super::supervise::{Guarded, Kind};
use super::worker::{Behavior, Ctx, Handles, Tools};
use crate::base::time::UnixMillis;
use crate::storage::keys::HostAt;
use crate::storage::values::HostState;

use lane::Lane;
pub(crate) use robots::{Nowhere, follow, rules_of, value_of};
pub use targets::Targets;

/// URLs for a Host.
pub struct Leases(pub Vec<Lease>);

/// There is nothing more for this Host: end.
pub struct Retire;

/// Leases waiting in memory; shared by the lanes of one Host.
#[derive(Default)]
struct Inbox {
    leases: RefCell<VecDeque<Lease>>,
    asked: Cell<bool>,
    news: Notify,
}

/// The actor.
pub struct Host {
    name: Arc<str>,
    retired: Arc<AtomicBool>,
    /// As each of its lanes begins.
    lane: Lane,
}

impl Host {
    /// A fresh one.
    pub fn new(node: Arc<Node>, at: HostAt, name: &str, retired: Arc<AtomicBool>) -> Self {
        node.faults.pass("host.new");
        let pacer = pacers::own(&node, at, name);
        let (inbox, robots, since) = (Rc::default(), Rc::default(), node.clock.now());
        let lane = Lane { node, at, pacer, inbox, robots, since, pages: 0, guess: false };
        Self { name: Arc::from(name), retired, lane }
    }
}

/// Starts the actor of a host on this thread, under supervision.
pub fn start(node: &Arc<Node>, at: HostAt, state: &HostState) -> Mailbox<Host> {
    let (mailbox, receiver) = Mailbox::of(state.name.as_str(), &node.telemetry.metrics);
    let retired = Arc::<AtomicBool>::default();
    let host = Host::new(node.clone(), at, &state.name, retired.clone());
    Guarded::spawn(receiver, host, Tools::of(&mailbox, node), node.clone(), retired);
    mailbox
}

impl Behavior for Host {
    const KIND: Kind = Kind::Politeness;
    const STARTED: Option<&str> = Some("host.started");

    fn instance(&self) -> String {
        self.name.to_string()
    }

    fn fresh(&self) -> Self {
        Self::new(self.lane.node.clone(), self.lane.at, &self.name, self.retired.clone())
    }

    fn started(&mut self, ctx: &mut Ctx<Self>) {
        self.lane.since = self.lane.node.clock.now();
        for _ in 0..self.lane.node.crawl.live().host_rules(&self.name).connections.max(1) {
            ctx.spawn(wrap_future(self.lane.clone().run()));
        }
    }
}

impl Handles<Leases> for Host {
    const POINT: Option<&str> = Some("host.leases");

    fn handle(&mut self, Leases(leases): Leases, _: &mut Ctx<Self>) {
        self.lane.inbox.asked.set(false);
        self.lane.inbox.leases.borrow_mut().extend(leases);
        self.lane.inbox.news.notify_waiters();
    }
}

impl Handles<Retire> for Host {
    const POINT: Option<&str> = Some("host.retire");

    fn handle(&mut self, _: Retire, ctx: &mut Ctx<Self>) {
        self.retired.store(true, Ordering::Release);
        self.lane.inbox.leases.borrow_mut().clear();
        ctx.stop();
    }
}

/// What a lane does after a URL.
enum Next {
    /// Takes the next one.
    GoOn,
    /// Gives up the host's place until a time, or to the end of the queue.
    GiveUp(Option<UnixMillis>),
}

#[cfg(test)]
mod tests;
