//! Mailboxes: an actor's address with a meter, because actix does not tell a mailbox's depth.

use std::sync::Arc;

use actix::Addr;
use actix::dev::channel::{self, AddressReceiver};

use super::stats::{ActorStats, ONLY};
use super::worker::{Behavior, Handles, Letter, Worker};
use crate::base::clock::Stopwatch;
use crate::crawl::pulse::moved;
use crate::telemetry::metrics::Metrics;

/// Counts what goes into and through the mailbox of an actor, for its own statistics and for its kind.
#[derive(Clone)]
pub struct Meter {
    metrics: Metrics,
    /// The actor as it is seen from outside.
    pub stats: Arc<ActorStats>,
}

impl Meter {
    /// A handler begins; its time is counted when the guard drops (also when it panics).
    #[must_use]
    pub fn enter(&self) -> Entered {
        self.metrics.queue(self.stats.kind, -1);
        self.stats.queue(-1);
        Entered { meter: self.clone(), since: Stopwatch::start() }
    }

    /// Messages waiting now.
    pub fn depth(&self) -> u64 {
        self.stats.queued()
    }
}

/// A handler at work.
pub struct Entered {
    meter: Meter,
    since: Stopwatch,
}

impl Drop for Entered {
    fn drop(&mut self) {
        moved();
        let took = self.since.elapsed();
        self.meter.metrics.handled(self.meter.stats.kind, took);
        self.meter.stats.note_handled(took);
    }
}

/// The way into an actor. It stays the same over the actor's deaths.
pub struct Mailbox<A: Behavior> {
    addr: Addr<Worker<A>>,
    /// The meter of this mailbox.
    pub meter: Meter,
    /// Where what is told goes in place of the actor.
    #[cfg(test)]
    probe: Option<probe::Sender>,
}

impl<A: Behavior> Clone for Mailbox<A> {
    fn clone(&self) -> Self {
        Self {
            addr: self.addr.clone(),
            meter: self.meter.clone(),
            #[cfg(test)]
            probe: self.probe.clone(),
        }
    }
}

impl<A: Behavior> Mailbox<A> {
    /// A mailbox of the only actor of its kind, and the receiving end that it is started with, so that mailboxes exist before actors.
    pub fn new(metrics: &Metrics) -> (Self, AddressReceiver<Worker<A>>) {
        Self::of(ONLY, metrics)
    }

    /// The same for one of several: `instance` tells it apart.
    pub fn of(instance: impl Into<Arc<str>>, metrics: &Metrics) -> (Self, AddressReceiver<Worker<A>>) {
        let (tx, rx) = channel::channel(16);
        let stats = Arc::new(ActorStats::new(A::KIND, instance));
        let mailbox = Self {
            addr: Addr::new(tx),
            meter: Meter { metrics: metrics.clone(), stats },
            #[cfg(test)]
            probe: None,
        };
        (mailbox, rx)
    }

    /// Sends without waiting and without the mailbox's own bound: what is sent this way is bounded by the permit or lease
    /// that travels inside it, or there is one of it (docs/architecture.md, back-pressure).
    pub fn tell<M: Send + 'static>(&self, message: M)
    where
        A: Handles<M>,
    {
        #[cfg(test)]
        if let Some(probe) = &self.probe {
            return probe.send(message);
        }
        self.meter.metrics.queue(A::KIND, 1);
        self.meter.stats.queue(1);
        self.addr.do_send(Letter(message));
    }
}

/// A mailbox without an actor behind it: tests of one actor look at what the others are told.
#[cfg(test)]
pub(crate) mod probe {
    use std::any::Any;
    use std::collections::VecDeque;
    use std::sync::{Arc, Mutex};

    use tokio::sync::Notify;

    use super::*;
    use crate::base::sync::lock;

    /// What was told and not taken yet, in order.
    #[derive(Clone, Default)]
    pub struct Told(Arc<(Mutex<VecDeque<Message>>, Notify)>);

    type Message = Box<dyn Any + Send>;

    pub(super) type Sender = Told;

    impl Told {
        pub(super) fn send(&self, message: impl Any + Send) {
            lock(&self.0.0).push_back(Box::new(message));
            self.0.1.notify_one();
        }

        /// All messages of one type; others stay.
        pub fn take<M: 'static>(&self) -> Vec<M> {
            let mut all = lock(&self.0.0);
            let (of_type, others): (VecDeque<_>, _) =
                std::mem::take(&mut *all).into_iter().partition(|message| message.is::<M>());
            *all = others;
            of_type.into_iter().filter_map(|message| message.downcast().ok()).map(|message| *message).collect()
        }

        /// The next message, which must be of this type.
        pub async fn next<M: 'static>(&self) -> M {
            loop {
                let first = lock(&self.0.0).pop_front();
                match first {
                    Some(message) => return *message.downcast().ok().unwrap(),
                    None => self.0.1.notified().await,
                }
            }
        }
    }

    impl<A: Behavior> Mailbox<A> {
        /// Such a mailbox, and what is put into it.
        pub fn probe(metrics: &Metrics) -> (Self, Told) {
            let told = Told::default();
            (Self { probe: Some(told.clone()), ..Self::new(metrics).0 }, told)
        }
    }
}
