//! Host: the politeness of one active host.
//!
//! Owns: the leases it was given and not yet begun, its robots.txt. Receives: [`Leases`], [`Retire`]. Sends: `Fetch` to its
//! Fetcher, `Want` and `GaveUp` to the Frontier, rejections, and a robots.txt that names sitemaps, to the Deduper, any other robots.txt to the Store. Never: sends a request
//! without the host's slot; keeps pace in itself (the slot's pacer outlives it). After a restart: no leases (they came back
//! by Drop), it asks for new ones; robots.txt is read from storage.

mod lane;
mod pacers;
mod reach;
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
use actix::{ActorContext, AsyncContext, Context, Message};
use tokio::sync::Notify;

use super::lease::Lease;
use super::mailbox::Mailbox;
use super::node::Node;
use super::slot::Pacer;
use super::supervise::{Guarded, Kind};
use super::worker::{Behavior, Ctx, Handles, Tools, Worker};
use crate::base::time::UnixMillis;
use crate::storage::keys::HostAt;
use crate::storage::values::HostState;

use lane::Lane;
pub(crate) use robots::{Nowhere, follow, rules_of, value_of};
pub use targets::Targets;

/// URLs for a Host.
#[derive(Message)]
#[rtype(result = "()")]
pub struct Leases(pub Vec<Lease>);

/// There is nothing more for this Host: end.
#[derive(Message)]
#[rtype(result = "()")]
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
    node: Arc<Node>,
    at: HostAt,
    name: Arc<str>,
    mailbox: Mailbox<Self>,
    retired: Arc<AtomicBool>,
    pacer: Arc<Pacer>,
    inbox: Rc<Inbox>,
    robots: Rc<robots::Cache>,
}

impl Host {
    /// A fresh one.
    pub fn new(node: Arc<Node>, at: HostAt, name: &str, mailbox: Mailbox<Self>, retired: Arc<AtomicBool>) -> Self {
        node.faults.pass("host.new");
        let pacer = pacers::own(&node, at, name);
        Self {
            name: Arc::from(name),
            inbox: Rc::new(Inbox::default()),
            robots: Rc::new(robots::Cache::default()),
            node,
            at,
            mailbox,
            retired,
            pacer,
        }
    }
}

/// Starts the actor of a host on this thread, under supervision.
pub fn start(node: &Arc<Node>, at: HostAt, state: &HostState) -> Mailbox<Host> {
    let (mailbox, receiver) = Mailbox::<Host>::of(Kind::Politeness, state.name.as_str(), &node.telemetry.metrics);
    let retired = Arc::new(AtomicBool::new(false));
    let host = Host::new(node.clone(), at, &state.name, mailbox.clone(), retired.clone());
    let (stats, worker) = (mailbox.meter.stats.clone(), Worker::new(host, Tools::of(&mailbox, node)));
    Guarded::spawn(Context::with_receiver(receiver), worker, node.clone(), retired, stats);
    mailbox
}

impl Behavior for Host {
    const KIND: Kind = Kind::Politeness;
    const STARTED: Option<&str> = Some("host.started");

    fn instance(&self) -> String {
        self.name.to_string()
    }

    fn fresh(&self) -> Self {
        Self::new(self.node.clone(), self.at, &self.name, self.mailbox.clone(), self.retired.clone())
    }

    fn started(&mut self, ctx: &mut Ctx<Self>) {
        for _ in 0..self.node.crawl.live().host_rules(&self.name).connections.max(1) {
            let lane = Lane {
                node: self.node.clone(),
                at: self.at,
                pacer: self.pacer.clone(),
                inbox: self.inbox.clone(),
                robots: self.robots.clone(),
                since: self.node.clock.now(),
                pages: 0,
                guess: false,
            };
            ctx.spawn(wrap_future(lane.run()));
        }
    }
}

impl Handles<Leases> for Host {
    const POINT: Option<&str> = Some("host.leases");

    fn handle(&mut self, Leases(leases): Leases, _: &mut Ctx<Self>) {
        self.inbox.asked.set(false);
        self.inbox.leases.borrow_mut().extend(leases);
        self.inbox.news.notify_waiters();
    }
}

impl Handles<Retire> for Host {
    const POINT: Option<&str> = Some("host.retire");

    fn handle(&mut self, _: Retire, ctx: &mut Ctx<Self>) {
        self.retired.store(true, Ordering::Release);
        self.inbox.leases.borrow_mut().clear();
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
