//! Own supervision: what `actix::Supervisor` cannot do (docs/adr/0004).
//!
//! A panic in an actor's handler, timer, spawned future or `started` is caught around the poll of its whole context.
//! The address and the queued messages stay; the actor itself is replaced by a fresh one from its factory (`Room::fresh`),
//! for the old one may be half mutated; pending futures are dropped (their leases, permits and slots come back by Drop);
//! after a back-off `started` runs again. An actor that stops by itself is restarted in the same way, unless it retired.

use std::any::Any;
use std::collections::VecDeque;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context as TaskContext, Poll};
use std::time::Duration;

use actix::dev::ContextFut;
use actix::{Actor, ActorContext, Context, Supervised};

use crate::domain::time::UnixMillis;

pub use crate::telemetry::metrics::ActorKind as Kind;

/// How often an actor may die before the node gives up, and how long it rests in between.
#[derive(Clone, Debug)]
pub struct RestartRules {
    /// Rest after the first death; doubled by each further one inside the window.
    pub backoff: Duration,
    /// Longest rest.
    pub backoff_max: Duration,
    /// Deaths inside `window` that stop the node.
    pub budget: usize,
    /// The window.
    pub window: Duration,
}

impl Default for RestartRules {
    fn default() -> Self {
        Self {
            backoff: Duration::from_millis(50),
            // So short that the budget can be spent inside the window: an actor that always dies stops the node.
            backoff_max: Duration::from_secs(1),
            budget: 20,
            window: Duration::from_secs(60),
        }
    }
}

/// The deaths of one actor inside the window.
#[derive(Debug, Default)]
pub struct Deaths(VecDeque<UnixMillis>);

impl Deaths {
    /// Notes a death at `now`; gives the rest before the next life, or `None` when the budget is spent.
    pub fn note(&mut self, now: UnixMillis, rules: &RestartRules) -> Option<Duration> {
        while self.0.front().is_some_and(|t| now.since(*t) > rules.window) {
            self.0.pop_front();
        }
        self.0.push_back(now);
        if self.0.len() > rules.budget {
            return None;
        }
        let doublings = u32::try_from(self.0.len() - 1).unwrap_or(u32::MAX).min(16);
        Some(rules.backoff.saturating_mul(1 << doublings).min(rules.backoff_max))
    }
}

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
pub trait Coroner: Send + Sync + 'static {
    /// Real time for the window.
    fn now(&self) -> UnixMillis;
    /// The rules in force.
    fn rules(&self) -> RestartRules;
    /// An actor died.
    fn died(&self, death: Death);
}

/// An actor under supervision.
pub trait Room: Actor<Context = Context<Self>> + Supervised {
    /// Its kind.
    const KIND: Kind;
    /// Its instance name.
    fn instance(&self) -> String {
        String::new()
    }
}

enum Phase {
    Alive,
    Resting(Pin<Box<tokio::time::Sleep>>),
    Ended,
}

/// The future that runs a supervised actor: `ctx.into_future(actor)` guarded.
pub struct Guarded<A: Room> {
    fut: Pin<Box<GuardedContext<A>>>,
    phase: Phase,
    deaths: Deaths,
    coroner: Arc<dyn Coroner>,
    instance: String,
    retired: Arc<AtomicBool>,
}

type GuardedContext<A> = ContextFut<A, Context<A>>;

impl<A: Room> Guarded<A> {
    /// Runs `actor` in `ctx` on the current arbiter under supervision.
    /// `retired` is set by the actor before it stops on purpose.
    pub fn spawn(ctx: Context<A>, actor: A, coroner: Arc<dyn Coroner>, retired: Arc<AtomicBool>) {
        let instance = actor.instance();
        let fut = Box::pin(ctx.into_future(actor));
        actix_rt::spawn(Self { fut, phase: Phase::Alive, deaths: Deaths::default(), coroner, instance, retired });
    }

    /// Notes the death and brings in a fresh actor; also a factory that panics is contained.
    fn bury(&mut self, why: String) -> Phase {
        let rest = self.deaths.note(self.coroner.now(), &self.coroner.rules());
        self.coroner.died(Death { kind: A::KIND, instance: self.instance.clone(), why, rest });
        let Some(rest) = rest else { return Phase::Ended };
        let fut = &mut self.fut;
        match catch_unwind(AssertUnwindSafe(|| fut.restart())) {
            Ok(true) => Phase::Resting(Box::pin(tokio::time::sleep(rest))),
            Ok(false) => Phase::Ended,
            Err(panic) => self.bury(format!("while being replaced: {}", panic_text(&*panic))),
        }
    }
}

/// A context that is dropped alive runs its actor once more, be it to start it or to handle what is in its mailbox: at the
/// end of an arbiter, without a runtime. What is in the mailbox comes back by Drop instead.
impl<A: Room> Drop for Guarded<A> {
    fn drop(&mut self) {
        self.fut.ctx().terminate();
    }
}

impl<A: Room> Future for Guarded<A> {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut TaskContext<'_>) -> Poll<()> {
        let this = self.get_mut();
        loop {
            match &mut this.phase {
                Phase::Ended => return Poll::Ready(()),
                Phase::Resting(sleep) => {
                    if sleep.as_mut().poll(cx).is_pending() {
                        return Poll::Pending;
                    }
                    this.phase = Phase::Alive;
                }
                Phase::Alive => {
                    let fut = &mut this.fut;
                    this.phase = match catch_unwind(AssertUnwindSafe(|| fut.as_mut().poll(cx))) {
                        Ok(Poll::Pending) => return Poll::Pending,
                        Ok(Poll::Ready(())) if this.retired.load(Ordering::Acquire) => Phase::Ended,
                        Ok(Poll::Ready(())) => this.bury("stopped".into()),
                        Err(panic) => this.bury(panic_text(&*panic)),
                    };
                }
            }
        }
    }
}

/// The message of a panic.
#[must_use]
pub fn panic_text(panic: &(dyn Any + Send)) -> String {
    panic
        .downcast_ref::<&str>()
        .map(|s| (*s).to_owned())
        .or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "panic without a message".into())
}

/// A future whose panic becomes `Err(message)`; the only way in which rooms spawn tasks.
pub struct Contained<F>(Pin<Box<F>>);

impl<F: Future> Future for Contained<F> {
    type Output = Result<F::Output, String>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut TaskContext<'_>) -> Poll<Self::Output> {
        let fut = &mut self.0;
        match catch_unwind(AssertUnwindSafe(|| fut.as_mut().poll(cx))) {
            Ok(Poll::Pending) => Poll::Pending,
            Ok(Poll::Ready(v)) => Poll::Ready(Ok(v)),
            Err(panic) => Poll::Ready(Err(panic_text(&*panic))),
        }
    }
}

/// Spawns `fut` on the current arbiter; its panic costs this task alone and is handed to `on_panic`.
pub fn spawn_contained<F>(fut: F, on_panic: impl FnOnce(String) + 'static)
where
    F: Future<Output = ()> + 'static,
{
    actix_rt::spawn(async move {
        if let Err(why) = Contained(Box::pin(fut)).await {
            on_panic(why);
        }
    });
}

/// A lock whose holder may have panicked: the data are still the best there is.
pub fn lock<T>(m: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    m.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
