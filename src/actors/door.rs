//! Doors: an actor's address with a meter, because actix does not tell a mailbox's depth.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use actix::dev::{AddressReceiver, ToEnvelope, channel};
use actix::{Actor, Addr, Context, Handler, Message};

/// Counts what goes into and through a mailbox.
#[derive(Debug, Default)]
pub struct Meter {
    sent: AtomicU64,
    handled: AtomicU64,
    micros: AtomicU64,
    restarts: AtomicU64,
}

impl Meter {
    /// Messages waiting now.
    #[must_use]
    pub fn depth(&self) -> u64 {
        self.sent.load(Ordering::Relaxed).saturating_sub(self.handled.load(Ordering::Relaxed))
    }

    /// Messages taken out so far.
    #[must_use]
    pub fn handled(&self) -> u64 {
        self.handled.load(Ordering::Relaxed)
    }

    /// Microseconds spent in handlers so far.
    #[must_use]
    pub fn micros(&self) -> u64 {
        self.micros.load(Ordering::Relaxed)
    }

    /// Deaths so far.
    #[must_use]
    pub fn restarts(&self) -> u64 {
        self.restarts.load(Ordering::Relaxed)
    }

    /// Counts a message sent by another way than [`Door::tell`].
    pub fn note_sent(&self) {
        self.sent.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts a death.
    pub fn note_restart(&self) {
        self.restarts.fetch_add(1, Ordering::Relaxed);
    }

    /// A handler begins; its time is counted when the guard drops (also when it panics).
    #[must_use]
    pub fn enter(self: &Arc<Self>) -> Entered {
        self.handled.fetch_add(1, Ordering::Relaxed);
        Entered { meter: self.clone(), since: crate::clock::Stopwatch::start() }
    }
}

/// A handler at work.
pub struct Entered {
    meter: Arc<Meter>,
    since: crate::clock::Stopwatch,
}

impl Drop for Entered {
    fn drop(&mut self) {
        let micros = u64::try_from(self.since.elapsed().as_micros()).unwrap_or(u64::MAX);
        self.meter.micros.fetch_add(micros, Ordering::Relaxed);
    }
}

/// The way into an actor. It stays the same over the actor's deaths.
pub struct Door<A: Actor> {
    addr: Addr<A>,
    meter: Arc<Meter>,
}

impl<A: Actor> Clone for Door<A> {
    fn clone(&self) -> Self {
        Self { addr: self.addr.clone(), meter: self.meter.clone() }
    }
}

impl<A: Actor<Context = Context<A>>> Door<A> {
    /// A door and the receiving end that its actor is started with, so that doors exist before actors.
    #[must_use]
    pub fn new() -> (Self, AddressReceiver<A>) {
        let (tx, rx) = channel::channel(16);
        (Self { addr: Addr::new(tx), meter: Arc::new(Meter::default()) }, rx)
    }

    /// Sends without waiting and without the mailbox's own bound: what is sent this way is bounded by the permit or lease
    /// that travels inside it, or there is one of it (docs/architecture.md, back-pressure).
    pub fn tell<M>(&self, message: M)
    where
        M: Message + Send + 'static,
        M::Result: Send,
        A: Handler<M>,
        A::Context: ToEnvelope<A, M>,
    {
        self.meter.note_sent();
        self.addr.do_send(message);
    }

    /// The meter of this mailbox.
    #[must_use]
    pub fn meter(&self) -> &Arc<Meter> {
        &self.meter
    }
}
