//! Supervisor.
//!
//! Owns: nothing. Receives: [`Died`] from the guards of all actors, which have acted already by the same rules, so that a dead
//! Supervisor delays no rescue. Sends: each death as an event to whoever listens. Never: touches a page. After a restart: as
//! before; deaths that were told meanwhile wait in its mailbox.

use std::sync::Arc;

use super::{Death, Kind};
use crate::crawl::node::Node;
use crate::crawl::worker::{Behavior, Ctx, Handles};

/// An actor died; its guard has already acted.
pub struct Died(pub Death);

/// The actor.
pub struct Supervisor {
    node: Arc<Node>,
}

impl Supervisor {
    /// A fresh one.
    pub fn new(node: Arc<Node>) -> Self {
        node.faults.pass("supervisor.new");
        Self { node }
    }
}

impl Behavior for Supervisor {
    const KIND: Kind = Kind::Supervisor;
    const STARTED: Option<&str> = Some("supervisor.started");

    fn fresh(&self) -> Self {
        Self::new(self.node.clone())
    }
}

impl Handles<Died> for Supervisor {
    const POINT: Option<&str> = Some("supervisor.died");

    fn handle(&mut self, Died(death): Died, _: &mut Ctx<Self>) {
        self.node.tell_death(&death);
    }
}

#[cfg(test)]
mod tests {
    use actix::System;

    use super::*;
    use crate::crawl::bench::Bench;
    use crate::telemetry::events::{EventKind, Heard};

    #[test]
    fn a_death_is_told_to_whoever_listens() {
        let bench = Bench::new(&[]);
        System::new().block_on(async {
            let mut told = bench.node.telemetry.events.listen().unwrap();
            let mut supervisor = Supervisor::new(bench.node.clone());
            let death = Death { kind: Kind::Politeness, instance: "h.test".into(), why: "x".into(), rest: None };
            supervisor.handle(Died(death), &mut Ctx::new());
            let Some(Heard::Event(event)) = told.next().await else { panic!("no event") };
            assert_eq!((event.news.kind, event.news.host.as_deref()), (EventKind::Restart, Some("h.test")));
        });
    }
}
