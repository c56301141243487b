//! What actix runs: the worker around an actor. It meters each message, passes its fault point, and sees to it that what the
//! actor does by the clock, and whatever else lives on its thread, has its turn however many messages wait.
//!
//! One poll of an actix context handles every message of the mailbox before it looks at a timer. While messages come faster
//! than they are handled, no timer of the actor would fire, and no other task of its thread would run: neither the lanes of
//! hosts nor the beat that the watchdog listens for. So before each message the worker looks at the clock itself, does what is
//! due, and from time to time lets the thread go on with other things.

use std::ops::{Deref, DerefMut};
use std::time::Duration;

use actix::fut::wrap_future;
use actix::{Actor, ActorContext, AsyncContext, Context, Handler, Message, Supervised};

use super::mailbox::{Mailbox, Meter};
use super::node::Node;
use super::supervise::Kind;
use crate::base::clock::Clock;
use crate::base::fault::{Fault, Faults};

/// After so long the thread's other tasks have their turn.
const STRETCH: Duration = Duration::from_millis(5);

/// An actor: what it is and does by itself. What it does with a message says [`Handles`].
pub trait Behavior: Sized + Unpin + 'static {
    /// Its kind.
    const KIND: Kind;

    /// The fault point that is passed when a life begins.
    const STARTED: Option<&str> = None;

    /// Which of its kind: a host's name, a thread's number; empty for the only one.
    fn instance(&self) -> String {
        String::new()
    }

    /// A fresh one, for after its death; of this one, which may be half mutated, only what it was made with is used.
    fn fresh(&self) -> Self;

    /// A life begins.
    fn started(&mut self, _: &mut Ctx<Self>) {}

    /// How often [`tick`](Self::tick) is due as things stand, if ever; `idle`: while no message comes.
    fn every(&self, _idle: bool) -> Option<Duration> {
        None
    }

    /// What is done by the clock.
    fn tick(&mut self) {}
}

/// An actor that is told `M`.
pub trait Handles<M>: Behavior {
    /// The fault point that is passed before.
    const POINT: Option<&str> = None;

    /// Does what the message asks for.
    fn handle(&mut self, message: M, ctx: &mut Ctx<Self>);
}

/// The context of an actor.
pub type Ctx<A> = Context<Worker<A>>;

/// A message as actix carries it. None is answered: who wants an answer puts the way back into it.
pub struct Letter<M>(pub M);

impl<M> Message for Letter<M> {
    type Result = ();
}

/// What every worker is given.
#[derive(Clone)]
#[expect(missing_docs, reason = "each name says it")]
pub struct Tools {
    pub meter: Meter,
    pub faults: Faults,
    pub clock: Clock,
}

impl Tools {
    /// For the actor behind that mailbox.
    pub fn of<A: Behavior>(mailbox: &Mailbox<A>, node: &Node) -> Self {
        Self { meter: mailbox.meter.clone(), faults: node.faults.clone(), clock: node.clock.clone() }
    }
}

/// An actor and what is done around each of its messages.
pub struct Worker<A> {
    actor: A,
    tools: Tools,
    /// When it did last what is due by the clock.
    ticked: Duration,
    /// When it let others go on last.
    let_go: Duration,
}

impl<A: Behavior> Worker<A> {
    /// Around a fresh actor.
    pub fn new(actor: A, tools: Tools) -> Self {
        Self { actor, tools, ticked: Duration::ZERO, let_go: Duration::ZERO }
    }

    /// Before a message: does what is due; after it others have their turn when that is due.
    fn take_turn(&mut self, ctx: &mut Context<Self>) {
        let now = self.tools.clock.uptime();
        if self.actor.every(false).is_some_and(|every| now.saturating_sub(self.ticked) >= every) {
            self.tick();
        }
        if now.saturating_sub(self.let_go) >= STRETCH {
            self.let_go = now;
            ctx.wait(wrap_future(tokio::task::yield_now()));
        }
    }

    /// The next tick of its own, for when no message brings one before.
    fn arm(&self, ctx: &mut Context<Self>) {
        if let Some(every) = self.actor.every(true) {
            ctx.run_later(every, |worker, ctx| {
                worker.tick();
                worker.arm(ctx);
            });
        }
    }

    /// The time counts from its end: however long it takes (a sync of a slow disk), there is as much time for messages again.
    fn tick(&mut self) {
        self.actor.tick();
        self.ticked = self.tools.clock.uptime();
    }
}

impl<A: Behavior> Actor for Worker<A> {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Context<Self>) {
        if let Some(point) = A::STARTED {
            self.tools.faults.pass(point);
        }
        self.actor.started(ctx);
        let now = self.tools.clock.uptime();
        (self.ticked, self.let_go) = (now, now);
        self.arm(ctx);
    }
}

impl<A: Behavior> Supervised for Worker<A> {
    fn restarting(&mut self, _: &mut Context<Self>) {
        self.actor = self.actor.fresh();
    }
}

impl<A: Handles<M>, M> Handler<Letter<M>> for Worker<A> {
    type Result = ();

    fn handle(&mut self, Letter(message): Letter<M>, ctx: &mut Context<Self>) {
        let _at_work = self.tools.meter.enter();
        self.take_turn(ctx);
        if A::POINT.and_then(|point| self.tools.faults.pass(point)) == Some(Fault::Stop) {
            return ctx.stop();
        }
        self.actor.handle(message, ctx);
    }
}

/// So that what an actor puts off (`ctx.run_later`, `ctx.wait`) reaches it.
impl<A> Deref for Worker<A> {
    type Target = A;

    fn deref(&self) -> &A {
        &self.actor
    }
}

impl<A> DerefMut for Worker<A> {
    fn deref_mut(&mut self) -> &mut A {
        &mut self.actor
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use super::*;
    use crate::base::sync::lock;
    use crate::base::time::UnixMillis;
    use crate::telemetry::metrics::Metrics;

    /// What happened, in its order.
    type Story = Arc<Mutex<Vec<&'static str>>>;

    /// An actor that takes 2 ms of its clock for each message.
    struct Busy {
        clock: Clock,
        story: Story,
    }

    impl Behavior for Busy {
        const KIND: Kind = Kind::Store;

        fn fresh(&self) -> Self {
            Self { clock: self.clock.clone(), story: self.story.clone() }
        }

        fn started(&mut self, _: &mut Ctx<Self>) {
            let story = self.story.clone();
            actix_rt::spawn(async move {
                loop {
                    lock(&story).push("other");
                    tokio::task::yield_now().await;
                }
            });
        }

        fn every(&self, _: bool) -> Option<Duration> {
            Some(Duration::from_millis(20))
        }

        fn tick(&mut self) {
            lock(&self.story).push("tick");
        }
    }

    struct Work;

    impl Handles<Work> for Busy {
        fn handle(&mut self, _: Work, _: &mut Ctx<Self>) {
            self.clock.advance(Duration::from_millis(2));
            lock(&self.story).push("work");
        }
    }

    #[test]
    fn however_full_the_mailbox_timers_and_other_tasks_have_their_turn() {
        let story = Story::default();
        actix_rt::System::new().block_on(async {
            let clock = Clock::manual(UnixMillis(1));
            let (mailbox, receiver) = Mailbox::new(&Metrics::new(UnixMillis(1)));
            (0..1_000).for_each(|_| mailbox.tell(Work));
            let tools = Tools { meter: mailbox.meter.clone(), faults: Faults::default(), clock: clock.clone() };
            Context::with_receiver(receiver).run(Worker::new(Busy { clock, story: story.clone() }, tools));
            while lock(&story).iter().filter(|what| **what == "work").count() < 1_000 {
                tokio::task::yield_now().await;
            }
        });
        let story = lock(&story);
        let between = |what: &str| {
            let mut runs = story.split(|event| *event == what).map(|run| run.iter().filter(|e| **e == "work").count());
            runs.by_ref().max().unwrap_or(0)
        };
        assert!(between("tick") <= 11, "2 ms each, due every 20 ms: {}", between("tick"));
        assert!(between("other") <= 30, "others are let in again and again: {}", between("other"));
    }
}
