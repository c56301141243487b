//! The actors: messages, queues, deaths.

use std::time::Duration;

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;

use super::parts::{Each, Labels, count, narrow, set_all};
use super::{ActorKind, Metrics};

metrics! {
    Actors {
        handled: Each<Counter> = counters_of::<ActorKind>("lycosa_actor_handled", "Messages handled");
        restarts: Each<Counter> =
            counters_of::<ActorKind>("lycosa_actor_restarts", "Actors replaced after a panic or stop");
        asked: Each<Counter> =
            counters_of::<ActorKind>("lycosa_actor_restarts_asked", "Actors restarted by the operator");
        queue: Each<Gauge> = gauges_of::<ActorKind>("lycosa_actor_queue", "Messages waiting");
        handle: Each<Histogram> = times_of::<ActorKind>("lycosa_actor_handle", "Time of handling a message", narrow);
        permits: Each<Gauge> =
            gauges("lycosa_permits", "Page permits by state", ("state", &["free", "taken", "withheld"]));
    }
}

impl Metrics {
    /// An actor handled a message.
    pub fn handled(&self, actor: ActorKind, took: Duration) {
        count(&self.0.actors.handled, actor);
        self.0.actors.handle.with(actor.place(), |m| m.observe(took.as_secs_f64()));
    }

    /// Messages that actors of this kind have handled.
    pub fn handled_so_far(&self, actor: ActorKind) -> u64 {
        self.0.actors.handled.get(actor.place()).map_or(0, Counter::get)
    }

    /// A message was put into an actor's mailbox (`+1`) or taken out (`-1`).
    pub fn queue(&self, actor: ActorKind, change: i64) {
        self.0.actors.queue.with(actor.place(), |m| {
            m.inc_by(change);
        });
    }

    /// Messages in an actor's mailbox.
    pub fn queued(&self, actor: ActorKind) -> i64 {
        self.0.actors.queue.get(actor.place()).map_or(0, Gauge::get)
    }

    /// An actor was replaced.
    pub fn restarted(&self, actor: ActorKind) {
        count(&self.0.actors.restarts, actor);
    }

    /// An actor was restarted by the operator.
    pub fn restart_asked(&self, actor: ActorKind) {
        count(&self.0.actors.asked, actor);
    }

    /// How often that was asked for of actors of this kind.
    pub fn restarts_asked(&self, actor: ActorKind) -> u64 {
        self.0.actors.asked.get(actor.place()).map_or(0, Counter::get)
    }

    /// How often actors of this kind died.
    pub fn restarts(&self, actor: ActorKind) -> u64 {
        self.0.actors.restarts.get(actor.place()).map_or(0, Counter::get)
    }

    /// Page permits.
    pub fn permits(&self, free: u64, taken: u64, withheld: u64) {
        set_all(&self.0.actors.permits, &[free, taken, withheld]);
    }
}
