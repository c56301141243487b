//! Supervisor.
//!
//! Owns: the record of deaths. Receives: [`Died`] from the guards of all rooms. Sends: nothing; the guards act at once
//! by the same rules, so that a dead Supervisor delays no rescue. Never: touches a page. After a restart: an empty record
//! (the counts in the meters stay).

use std::collections::VecDeque;
use std::sync::Arc;

use actix::{Actor, ActorContext, Context, Handler, Message, Supervised};
use serde::Serialize;

use super::node::Node;
use super::supervise::{Death, Kind, Room};
use crate::base::fault::Fault;
use crate::base::time::UnixMillis;

/// Deaths kept for looking at.
const KEPT: usize = 100;

/// An actor died; its guard has already acted.
#[derive(Message)]
#[rtype(result = "()")]
pub struct Died(pub Death);

/// What is known of one death.
#[derive(Clone, Debug, Serialize)]
pub struct DeathNote {
    /// When.
    pub at: UnixMillis,
    /// Which kind.
    pub kind: &'static str,
    /// Which instance.
    pub instance: String,
    /// Why.
    pub why: String,
}

/// The deaths seen lately, newest last.
#[derive(Message)]
#[rtype(result = "Vec<DeathNote>")]
pub struct Deaths;

/// The actor.
pub struct Supervisor {
    node: Arc<Node>,
    deaths: VecDeque<DeathNote>,
}

impl Supervisor {
    /// A fresh one.
    #[must_use]
    pub fn new(node: Arc<Node>) -> Self {
        node.faults.pass("supervisor.new");
        Self { node, deaths: VecDeque::new() }
    }
}

impl Actor for Supervisor {
    type Context = Context<Self>;

    fn started(&mut self, _: &mut Context<Self>) {
        self.node.faults.pass("supervisor.started");
    }
}

impl Supervised for Supervisor {
    fn restarting(&mut self, _: &mut Context<Self>) {
        *self = Self::new(self.node.clone());
    }
}

impl Room for Supervisor {
    const KIND: Kind = Kind::Supervisor;
}

impl Handler<Died> for Supervisor {
    type Result = ();

    fn handle(&mut self, Died(death): Died, ctx: &mut Context<Self>) {
        let _at_work = self.node.mailboxes().supervisor.meter().enter();
        if self.node.faults.pass("supervisor.died") == Some(Fault::Stop) {
            return ctx.stop();
        }
        let at = self.node.clock.date();
        self.deaths.push_back(DeathNote { at, kind: death.kind.as_str(), instance: death.instance, why: death.why });
        while self.deaths.len() > KEPT {
            self.deaths.pop_front();
        }
    }
}

impl Handler<Deaths> for Supervisor {
    type Result = Vec<DeathNote>;

    fn handle(&mut self, _: Deaths, _: &mut Context<Self>) -> Vec<DeathNote> {
        self.deaths.iter().cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use actix::System;

    use super::*;
    use crate::crawl::bench::Bench;

    #[test]
    fn the_last_hundred_deaths_are_told_oldest_first() {
        let bench = Bench::new(&[]);
        System::new().block_on(async {
            let (mut supervisor, mut ctx) = (Supervisor::new(bench.node.clone()), Context::new());
            for n in 0..=KEPT {
                let death =
                    Death { kind: Kind::Politeness, instance: format!("h{n}.test"), why: "x".into(), rest: None };
                supervisor.handle(Died(death), &mut ctx);
            }
            let told = supervisor.handle(Deaths, &mut ctx);
            assert_eq!(
                (told.len(), told[0].instance.as_str(), told[99].instance.as_str()),
                (KEPT, "h1.test", "h100.test")
            );
        });
    }
}
