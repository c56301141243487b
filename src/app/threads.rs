//! The threads of the actors: which lives where, how they begin and end.

use std::sync::{Arc, mpsc};
use std::time::Duration;

use actix::System;
use actix_rt::{Arbiter, ArbiterHandle};
use tokio::sync::oneshot;

use super::{DRAIN, End, Placement};
use crate::crawl::deduper::{Deduper, SaveFilter};
use crate::crawl::fetcher::Fetcher;
use crate::crawl::frontier::Frontier;
use crate::crawl::mailbox::Mailbox;
use crate::crawl::node::{Mailboxes, Node};
use crate::crawl::parser::Parser;
use crate::crawl::politeness;
use crate::crawl::stats::ONLY;
use crate::crawl::store::{Close, Store};
use crate::crawl::supervise::Guarded;
use crate::crawl::supervisor::Supervisor;
use crate::crawl::worker::{Behavior, Tools};
use crate::net::http::Http;
use crate::telemetry::StateChange;
use crate::telemetry::metrics::Metrics;

/// How an actor is started on an arbiter, and what the beats of its thread are called where it may have one of its own.
type Starter = (Option<&'static str>, Box<dyn FnOnce(&Arc<Node>, &ArbiterHandle) + Send>);

/// The actors that have mailboxes and are not started yet, in the order in which they will be.
#[derive(Default)]
pub(super) struct Starters(Vec<Starter>);

impl Starters {
    /// The mailboxes of all actors. They exist before the actors, so that what is told early waits in them.
    pub fn open(fetchers: usize, metrics: &Metrics, http: &Arc<dyn Fn() -> Http + Send + Sync>) -> (Mailboxes, Self) {
        let mut all = Self::default();
        let supervisor = all.add(None, ONLY, metrics, Supervisor::new);
        let store = all.add(Some("store"), ONLY, metrics, Store::new);
        let deduper = all.add(Some("deduper"), ONLY, metrics, Deduper::new);
        let parser = all.add(None, ONLY, metrics, Parser::new);
        let fetcher = |number: usize| {
            let http = http.clone();
            let make = move |node| Fetcher::new(node, number, http.clone());
            all.add(Some("fetcher"), number.to_string(), metrics, make)
        };
        let fetchers = (0..fetchers.max(1)).map(fetcher).collect();
        let frontier = all.add(Some("frontier"), ONLY, metrics, |node| Frontier::new(node, politeness::start));
        (Mailboxes { supervisor, frontier, fetchers, parser, deduper, store }, all)
    }

    fn add<A: Behavior>(
        &mut self,
        thread: Option<&'static str>,
        instance: impl Into<Arc<str>>,
        metrics: &Metrics,
        make: impl Fn(Arc<Node>) -> A + Send + 'static,
    ) -> Mailbox<A> {
        let (mailbox, receiver) = Mailbox::of(instance, metrics);
        let own = mailbox.clone();
        let start = move |node: &Arc<Node>, arbiter: &ArbiterHandle| {
            let (node, tools) = (node.clone(), Tools::of(&own, node));
            arbiter.spawn_fn(move || {
                let listener = node.clone();
                Guarded::raise(receiver, move || make(node.clone()), tools, listener);
            });
        };
        self.0.push((thread, Box::new(start)));
        mailbox
    }

    fn start(self, node: &Arc<Node>, placement: Placement) -> Vec<Arbiter> {
        let mut arbiters = Vec::new();
        for (thread, start) in self.0 {
            let mut handle = Arbiter::current();
            if let Some(name) = thread {
                if placement == Placement::Spread {
                    let arbiter = Arbiter::new();
                    handle = arbiter.handle();
                    arbiters.push(arbiter);
                }
                node.actors.pulses.beat(&handle, name);
            }
            start(node, &handle);
        }
        arbiters
    }
}

/// The thread of the actors: starts them, waits for the end, drains. True when everything was closed cleanly.
pub(super) fn system(
    node: &Arc<Node>,
    placement: Placement,
    starters: Starters,
    ready: &mpsc::Sender<()>,
    asked: oneshot::Receiver<End>,
) -> bool {
    let runner = System::new();
    let (closed, arbiters) = runner.block_on(async {
        let arbiters = starters.start(node, placement);
        let _ = ready.send(());
        let end = asked.await.unwrap_or_else(|_| End { patience: DRAIN, farewell: Box::new(|| ()) });
        (drain(node, end).await, arbiters)
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

/// Lets what is in flight come to its commit, then closes the store and saves the filter.
async fn drain(node: &Arc<Node>, End { patience, farewell }: End) -> bool {
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
    let (done, said) = oneshot::channel();
    let farewell = std::thread::Builder::new().name("farewell".into()).spawn(move || {
        farewell();
        let _ = done.send(()); // who waits waits to its end
    });
    if farewell.is_ok() {
        let _ = said.await;
    }
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
