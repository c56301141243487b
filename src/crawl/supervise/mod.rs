//! Own supervision: what `actix::Supervisor` cannot do (docs/adr/0004).
//!
//! A panic in an actor's handler, timer, spawned future or `started` is caught around the poll of its whole context.
//! The address and the queued messages stay; the actor itself is replaced by a fresh one from its factory
//! ([`Behavior::fresh`]), for the old one may be half mutated; pending futures are dropped (their leases, permits and slots come back by Drop);
//! after a back-off `started` runs again. An actor that stops by itself is restarted in the same way, unless it retired.
//! A wait that hangs ends its actor too ([`bounded`]).
//!
//! A restart that is asked for ([`ActorStats::ask_restart`]) takes the same way between two polls, when no handler runs, with no
//! rest (a rest under way ends) and no entry in the record of deaths: it is no fault, and must not bring the node nearer to its end.

mod deaths;
pub mod supervisor;

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context as TaskContext, Poll, Waker, ready};
use std::time::Duration;

use actix::dev::ContextFut;
use actix::dev::channel::AddressReceiver;
use actix::{ActorContext, Context};
use futures_util::FutureExt;

use super::stats::{ActorStats, Life};
use super::worker::{Behavior, Ctx, Tools, Worker};
use crate::base::time::UnixMillis;

pub use crate::telemetry::metrics::ActorKind as Kind;
pub use deaths::{Deaths, Jitter, RestartRules};

/// What the guard tells about a death.
#[derive(Clone, Debug)]
pub struct Death {
    /// Which kind died.
    pub kind: Kind,
    /// Its instance (host name, thread number), empty for single ones.
    pub instance: String,
    /// The panic's message, or "stopped".
    pub why: String,
    /// Rest before its next life; `None` when its budget is spent.
    pub rest: Option<Duration>,
}

/// Receives deaths: counts them, logs them, stops the node when a budget is spent. Lives outside every actor.
pub trait DeathListener: Send + Sync + 'static {
    /// Real time for the window.
    fn now(&self) -> UnixMillis;
    /// The rules in force.
    fn rules(&self) -> RestartRules;
    /// An actor died.
    fn died(&self, death: Death);
    /// An actor begins its next life because somebody asked for it.
    fn restarted(&self, kind: Kind);
}

enum Phase {
    Alive,
    /// The fresh actor waits for its first moment.
    Resting(Pin<Box<tokio::time::Sleep>>),
    /// The factory failed: it is tried again then.
    FactoryFailed(Pin<Box<tokio::time::Sleep>>),
    Ended,
}

/// The future that runs a supervised actor: `ctx.into_future(actor)` guarded.
pub struct Guarded<A: Behavior> {
    fut: Pin<Box<ContextFut<Worker<A>, Ctx<A>>>>,
    phase: Phase,
    record: Record,
    retired: Arc<AtomicBool>,
    /// Whom the card wakes.
    waker: Option<Waker>,
}

impl<A: Behavior> Guarded<A> {
    /// Runs `actor` on the current arbiter under supervision.
    /// `retired` is set by the actor before it stops on purpose.
    pub fn spawn(
        receiver: AddressReceiver<Worker<A>>,
        actor: A,
        tools: Tools,
        listener: Arc<dyn DeathListener>,
        retired: Arc<AtomicBool>,
    ) {
        let record = Record::new(actor.instance(), listener, tools.meter.stats.clone());
        actix_rt::spawn(Self::new(receiver, Worker::new(actor, tools), record, retired));
    }

    /// Makes an actor that never retires and runs it on the current arbiter. A factory that panics is tried again, by the
    /// same rules as an actor that dies.
    pub fn raise(
        receiver: AddressReceiver<Worker<A>>,
        make: impl Fn() -> A + 'static,
        tools: Tools,
        listener: Arc<dyn DeathListener>,
    ) {
        actix_rt::spawn(async move {
            let mut record = Record::new(String::new(), listener, tools.meter.stats.clone());
            let actor = loop {
                match catch_unwind(AssertUnwindSafe(&make)) {
                    Ok(actor) => break actor,
                    Err(panic) => match record.note(format!("while being made: {}", panic_text(&*panic))) {
                        Some(rest) => tokio::time::sleep(rest).await,
                        None => return record.stats.set_life(Life::Stopped),
                    },
                }
            };
            record.is_of(actor.instance());
            Self::new(receiver, Worker::new(actor, tools), record, Arc::default()).await;
        });
    }

    fn new(receiver: AddressReceiver<Worker<A>>, worker: Worker<A>, record: Record, retired: Arc<AtomicBool>) -> Self {
        record.stats.set_life(Life::Running);
        let fut = Box::pin(Context::with_receiver(receiver).into_future(worker));
        Self { fut, phase: Phase::Alive, record, retired, waker: None }
    }

    /// True when a restart was asked for. The card is told once whom to wake for one.
    fn is_to_restart(&mut self, waker: &Waker) -> bool {
        if !self.waker.as_ref().is_some_and(|known| known.will_wake(waker)) {
            self.record.stats.wakes(waker);
            self.waker = Some(waker.clone());
        }
        self.record.stats.take_restart()
    }

    /// Ends this life, or the rest after the last one, and begins the next, with nothing noted.
    fn restart(&mut self) -> Phase {
        let Record { instance, listener, .. } = &self.record;
        log::info!("actor restarts as asked: kind={} instance={instance}", A::KIND.as_str());
        listener.restarted(A::KIND);
        match self.phase {
            Phase::Alive | Phase::FactoryFailed(_) => self.replace(Duration::ZERO),
            Phase::Resting(_) => Phase::Alive,
            Phase::Ended => Phase::Ended,
        }
    }

    /// Enters a phase; the card tells.
    fn enter(&mut self, phase: Phase) {
        self.record.stats.set_life(match phase {
            Phase::Alive => Life::Running,
            Phase::Resting(_) | Phase::FactoryFailed(_) => Life::Restarting,
            Phase::Ended => Life::Stopped,
        });
        self.phase = phase;
    }

    /// Notes the death and brings in a fresh actor.
    fn on_death(&mut self, why: String) -> Phase {
        self.record.note(why).map_or(Phase::Ended, |rest| self.replace(rest))
    }

    /// Drops what the dead actor had pending and replaces it; also a factory that panics is contained.
    fn replace(&mut self, rest: Duration) -> Phase {
        let fut = &mut self.fut;
        match catch_unwind(AssertUnwindSafe(|| fut.restart())) {
            Ok(true) => Phase::Resting(Box::pin(tokio::time::sleep(rest))),
            Ok(false) => Phase::Ended,
            Err(panic) => match self.record.note(format!("while being replaced: {}", panic_text(&*panic))) {
                Some(rest) => Phase::FactoryFailed(Box::pin(tokio::time::sleep(rest))),
                None => Phase::Ended,
            },
        }
    }
}

/// The deaths of one actor and whom they are told to.
struct Record {
    instance: String,
    deaths: Deaths,
    jitter: Jitter,
    listener: Arc<dyn DeathListener>,
    stats: Arc<ActorStats>,
}

impl Record {
    fn new(instance: String, listener: Arc<dyn DeathListener>, stats: Arc<ActorStats>) -> Self {
        let jitter = Jitter::of(stats.kind.as_str(), &instance);
        Self { instance, deaths: Deaths::default(), jitter, listener, stats }
    }

    /// Whose it is, once that is known: one of several of a kind rests by numbers of its own.
    fn is_of(&mut self, instance: String) {
        (self.jitter, self.instance) = (Jitter::of(self.stats.kind.as_str(), &instance), instance);
    }

    /// Notes a death and tells it; gives the rest before the next life.
    fn note(&mut self, why: String) -> Option<Duration> {
        let now = self.listener.now();
        let rest = self.deaths.note(now, self.jitter.roll(), &self.listener.rules());
        self.stats.died(now, &why);
        self.listener.died(Death { kind: self.stats.kind, instance: self.instance.clone(), why, rest });
        rest
    }
}

/// A context that is dropped alive runs its actor once more, be it to start it or to handle what is in its mailbox: at the
/// end of an arbiter, without a runtime. What is in the mailbox comes back by Drop instead.
impl<A: Behavior> Drop for Guarded<A> {
    fn drop(&mut self) {
        self.fut.ctx().terminate();
    }
}

impl<A: Behavior> Future for Guarded<A> {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut TaskContext<'_>) -> Poll<()> {
        let this = self.get_mut();
        loop {
            if this.is_to_restart(cx.waker()) {
                let next = this.restart();
                this.enter(next);
            }
            match &mut this.phase {
                Phase::Ended => return Poll::Ready(()),
                Phase::Resting(sleep) => {
                    ready!(sleep.as_mut().poll(cx));
                    this.enter(Phase::Alive);
                }
                Phase::FactoryFailed(sleep) => {
                    ready!(sleep.as_mut().poll(cx));
                    let next = this.replace(Duration::ZERO);
                    this.enter(next);
                }
                Phase::Alive => {
                    let fut = &mut this.fut;
                    let next = match catch_unwind(AssertUnwindSafe(|| fut.as_mut().poll(cx))) {
                        Ok(Poll::Pending) => return Poll::Pending,
                        Ok(Poll::Ready(())) if this.retired.load(Ordering::Acquire) => Phase::Ended,
                        Ok(Poll::Ready(())) => this.on_death("stopped".into()),
                        Err(panic) => this.on_death(panic_text(&*panic)),
                    };
                    this.enter(next);
                }
            }
        }
    }
}

/// The message of a panic.
pub fn panic_text(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().copied().or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    text.unwrap_or("panic without a message").to_owned()
}

/// Spawns `fut` on the current arbiter, the only way in which rooms spawn tasks; its panic costs this task alone and is handed to
/// `on_panic`.
pub fn spawn_contained(fut: impl Future<Output = ()> + 'static, on_panic: impl FnOnce(String) + 'static) {
    actix_rt::spawn(async move {
        if let Err(panic) = AssertUnwindSafe(fut).catch_unwind().await {
            on_panic(panic_text(&*panic));
        }
    });
}

/// Waits for an answer, which has time-outs of its own (waits for a slot, an earliest time, a permit or news have no
/// bound). What is still not there after `limit` hangs: its task dies of it, and what it holds comes back by Drop.
pub async fn bounded<T>(limit: Duration, what: &str, wait: impl Future<Output = T>) -> T {
    let hung = |_| die(format!("hung for {} s: {what}", limit.as_secs_f32()));
    tokio::time::timeout(limit, wait).await.unwrap_or_else(hung)
}

/// Unwinds to the guard of this actor or task, as a panic does, but without a trace: nothing is wrong with the code here.
pub fn die(why: String) -> ! {
    std::panic::resume_unwind(Box::new(why))
}

#[cfg(test)]
mod tests;
