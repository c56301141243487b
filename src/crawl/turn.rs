//! Turns: what an actor does by the clock, and whatever else lives on its thread, has its turn however many messages wait.
//!
//! One poll of an actix context handles every message of the mailbox before it looks at a timer. While messages come faster
//! than they are handled, no timer of the actor would fire, and no other task of its thread would run: neither the lanes of
//! hosts nor the beat that the watchdog listens for. So before each message the actor looks at the clock itself, does what is
//! due, and from time to time lets the thread go on with other things.

use std::time::Duration;

use actix::fut::wrap_future;
use actix::{AsyncContext, Context};

use super::supervise::Room;
use crate::base::clock::Clock;

/// After so long the thread's other tasks have their turn.
const STRETCH: Duration = Duration::from_millis(5);

/// An actor that has something to do by the clock. It says [`begin`] in `started`, and [`take`] before each message.
pub trait Timed: Room {
    /// How often that is due.
    const EVERY: Duration;

    /// How often it is due with the settings in force.
    fn every(&self) -> Duration {
        Self::EVERY
    }

    /// Its clock.
    fn clock(&self) -> &Clock;

    /// When it had its last turns.
    fn turns(&mut self) -> &mut Turns;

    /// What is to be done.
    fn tick(&mut self);
}

/// When an actor did last what is due by the clock, and let others go on.
#[derive(Clone, Copy, Debug, Default)]
pub struct Turns {
    ticked: Duration,
    let_go: Duration,
}

/// Begins the timer, for as long as no messages keep it from firing.
pub fn begin<A: Timed>(actor: &mut A, ctx: &mut Context<A>) {
    let now = actor.clock().uptime();
    *actor.turns() = Turns { ticked: now, let_go: now };
    ctx.run_interval(actor.every(), |actor, _| tick(actor));
}

/// Before a message: does what is due; after it others have their turn when that is due.
pub fn take<A: Timed>(actor: &mut A, ctx: &mut Context<A>) {
    let now = actor.clock().uptime();
    if now.saturating_sub(actor.turns().ticked) >= actor.every() {
        tick(actor);
    }
    if now.saturating_sub(actor.turns().let_go) >= STRETCH {
        actor.turns().let_go = now;
        ctx.wait(wrap_future(tokio::task::yield_now()));
    }
}

/// The time counts from its end: however long it takes (a sync of a slow disk), there is as much time for messages again.
fn tick<A: Timed>(actor: &mut A) {
    actor.tick();
    actor.turns().ticked = actor.clock().uptime();
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use actix::dev::channel;
    use actix::{Actor, Addr, Handler, Message, Supervised};

    use super::*;
    use crate::base::sync::lock;
    use crate::base::time::UnixMillis;
    use crate::crawl::supervise::Kind;

    /// What happened, in its order.
    type Story = Arc<Mutex<Vec<&'static str>>>;

    /// An actor that takes 2 ms of its clock for each message.
    struct Busy {
        clock: Clock,
        turns: Turns,
        story: Story,
    }

    impl Actor for Busy {
        type Context = Context<Self>;

        fn started(&mut self, ctx: &mut Context<Self>) {
            begin(self, ctx);
            let story = self.story.clone();
            actix_rt::spawn(async move {
                loop {
                    lock(&story).push("other");
                    tokio::task::yield_now().await;
                }
            });
        }
    }

    impl Supervised for Busy {}

    impl Room for Busy {
        const KIND: Kind = Kind::Store;
    }

    impl Timed for Busy {
        const EVERY: Duration = Duration::from_millis(20);

        fn clock(&self) -> &Clock {
            &self.clock
        }

        fn turns(&mut self) -> &mut Turns {
            &mut self.turns
        }

        fn tick(&mut self) {
            lock(&self.story).push("tick");
        }
    }

    #[derive(Message)]
    #[rtype(result = "()")]
    struct Work;

    impl Handler<Work> for Busy {
        type Result = ();

        fn handle(&mut self, _: Work, ctx: &mut Context<Self>) {
            take(self, ctx);
            self.clock.advance(Duration::from_millis(2));
            lock(&self.story).push("work");
        }
    }

    #[test]
    fn however_full_the_mailbox_timers_and_other_tasks_have_their_turn() {
        let story = Story::default();
        actix_rt::System::new().block_on(async {
            let (tx, rx) = channel::channel(16);
            let mailbox: Addr<Busy> = Addr::new(tx);
            (0..1_000).for_each(|_| mailbox.do_send(Work));
            let clock = Clock::manual(UnixMillis(1));
            Context::with_receiver(rx).run(Busy { clock, turns: Turns::default(), story: story.clone() });
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
