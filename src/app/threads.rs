//! The threads of the actors: which lives where, how they begin and end.

use std::sync::{Arc, mpsc};
use std::time::Duration;

use actix::System;
use actix::dev::channel::AddressReceiver;
use actix_rt::{Arbiter, ArbiterHandle};
use tokio::sync::oneshot;

use super::{DRAIN, Placement};
use crate::crawl::deduper::{Deduper, SaveFilter};
use crate::crawl::fetcher::Fetcher;
use crate::crawl::frontier::Frontier;
use crate::crawl::mailbox::Mailbox;
use crate::crawl::node::{Mailboxes, Node};
use crate::crawl::parser::Parser;
use crate::crawl::politeness;
use crate::crawl::store::{Close, Store};
use crate::crawl::supervise::{Guarded, Kind};
use crate::crawl::supervisor::Supervisor;
use crate::crawl::worker::{Behavior, Tools, Worker};
use crate::net::http::Http;
use crate::telemetry::StateChange;
use crate::telemetry::metrics::Metrics;

pub(super) struct Receivers {
    supervisor: AddressReceiver<Worker<Supervisor>>,
    frontier: AddressReceiver<Worker<Frontier>>,
    fetchers: Vec<AddressReceiver<Worker<Fetcher>>>,
    parser: AddressReceiver<Worker<Parser>>,
    deduper: AddressReceiver<Worker<Deduper>>,
    store: AddressReceiver<Worker<Store>>,
}

pub(super) fn open_mailboxes(fetchers: usize, metrics: &Metrics) -> (Mailboxes, Receivers) {
    let (supervisor, m_supervisor) = Mailbox::new(Kind::Supervisor, metrics);
    let (frontier, m_frontier) = Mailbox::new(Kind::Frontier, metrics);
    let (parser, m_parser) = Mailbox::new(Kind::Parser, metrics);
    let (deduper, m_deduper) = Mailbox::new(Kind::Deduper, metrics);
    let (store, m_store) = Mailbox::new(Kind::Store, metrics);
    let (fetchers, m_fetchers) =
        (0..fetchers.max(1)).map(|n| Mailbox::of(Kind::Fetcher, n.to_string(), metrics)).unzip();
    (
        Mailboxes { supervisor, frontier, fetchers, parser, deduper, store },
        Receivers {
            supervisor: m_supervisor,
            frontier: m_frontier,
            fetchers: m_fetchers,
            parser: m_parser,
            deduper: m_deduper,
            store: m_store,
        },
    )
}

/// The thread of the actors: starts them, waits for the end, drains. True when everything was closed cleanly.
pub(super) fn system(
    node: &Arc<Node>,
    placement: Placement,
    receivers: Receivers,
    make: Arc<dyn Fn() -> Http + Send + Sync>,
    ready: &mpsc::Sender<()>,
    asked: oneshot::Receiver<Duration>,
) -> bool {
    let runner = System::new();
    let (closed, arbiters) = runner.block_on(async {
        let arbiters = spawn(node, placement, receivers, make);
        let _ = ready.send(());
        let patience = asked.await.unwrap_or(DRAIN);
        (drain(node, patience).await, arbiters)
    });
    end_threads(arbiters);
    System::current().stop();
    closed
}

/// Ends the actors' threads and waits for them, so that none uses the database when it is closed.
fn end_threads(arbiters: Vec<Arbiter>) {
    arbiters.iter().for_each(|arbiter| {
        arbiter.stop();
    });
    let (done, ended) = mpsc::channel();
    let waiter = std::thread::Builder::new().name("waiter".into()).spawn(move || {
        for arbiter in arbiters {
            let _ = arbiter.join(); // an arbiter that panicked has ended too
        }
        let _ = done.send(());
    });
    if waiter.is_err() || ended.recv_timeout(DRAIN).is_err() {
        log::warn!("an actor's thread has not ended in time");
    }
}

/// The order matters only for the log; mailboxes exist already, so early messages wait in their mailboxes.
fn spawn(
    node: &Arc<Node>,
    placement: Placement,
    receivers: Receivers,
    make: Arc<dyn Fn() -> Http + Send + Sync>,
) -> Vec<Arbiter> {
    let mut arbiters = Vec::new();
    let mut place = |name| -> ArbiterHandle {
        let handle = match placement {
            Placement::Together => Arbiter::current(),
            Placement::Spread => {
                let arbiter = Arbiter::new();
                let handle = arbiter.handle();
                arbiters.push(arbiter);
                handle
            }
        };
        node.actors.pulses.beat(&handle, name);
        handle
    };
    let mailboxes = node.mailboxes();
    put(&Arbiter::current(), node, &mailboxes.supervisor, receivers.supervisor, Supervisor::new);
    put(&place("store"), node, &mailboxes.store, receivers.store, Store::new);
    put(&place("deduper"), node, &mailboxes.deduper, receivers.deduper, Deduper::new);
    put(&Arbiter::current(), node, &mailboxes.parser, receivers.parser, Parser::new);
    for (number, (receiver, mailbox)) in receivers.fetchers.into_iter().zip(&mailboxes.fetchers).enumerate() {
        let make = make.clone();
        put(&place("fetcher"), node, mailbox, receiver, move |node| Fetcher::new(node, number, make.clone()));
    }
    put(&place("frontier"), node, &mailboxes.frontier, receivers.frontier, |node| {
        Frontier::new(node, politeness::start)
    });
    arbiters
}

fn put<A: Behavior>(
    arbiter: &ArbiterHandle,
    node: &Arc<Node>,
    mailbox: &Mailbox<A>,
    receiver: AddressReceiver<Worker<A>>,
    make: impl Fn(Arc<Node>) -> A + Send + 'static,
) {
    let (node, stats, tools) = (node.clone(), mailbox.meter.stats.clone(), Tools::of(mailbox, node));
    arbiter.spawn_fn(move || {
        let listener = node.clone();
        Guarded::raise(receiver, move || Worker::new(make(node.clone()), tools.clone()), listener, stats);
    });
}

/// Lets what is in flight come to its commit, then closes the store and saves the filter.
async fn drain(node: &Arc<Node>, patience: Duration) -> bool {
    node.crawl.switches.draining.store(true, std::sync::atomic::Ordering::Release);
    node.changed(StateChange::Draining, "draining: nothing new is begun, what is in flight is stored");
    node.faults.pass("node.drain");
    let in_flight = async {
        while !node.is_quiet() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    let drained = tokio::time::timeout(patience, in_flight).await.is_ok();
    if !drained {
        log::warn!("drain ended by its time; what was in flight is fetched again at the next start");
    }
    node.faults.pass("node.drained");
    let (reply, closed) = oneshot::channel();
    node.mailboxes().store.tell(Close { drained, reply });
    let closed = tokio::time::timeout(DRAIN, closed).await.unwrap_or_else(|_| {
        log::error!(
            "the store was not closed in time, the disk is slow or stands still; what it has not synced is fetched again at the next start: waited={DRAIN:?}"
        );
        Ok(false)
    });
    let closed = matches!(closed, Ok(true));
    let (done, saved) = oneshot::channel();
    node.mailboxes().deduper.tell(SaveFilter(done));
    let _ = tokio::time::timeout(DRAIN, saved).await;
    node.faults.pass("node.closed");
    closed
}
