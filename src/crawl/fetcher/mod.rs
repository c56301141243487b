//! Fetcher.
//!
//! Owns: the connections of its thread (a host is pinned to one Fetcher, so that its connection is found again).
//! Receives: [`Fetch`]. Sends: a [`Report`] to the Host that waits for it, `Parse` to the Parser, failures to the Deduper.
//! Never: decides whether or when to fetch; looks up names (but a proxy's own); keeps a slot longer than its response. After
//! a restart: no connections; requests under way go on, they are tasks of their own whose panic costs one page. One that
//! hangs is given up, and the Fetcher is replaced, for its connections may be the cause.

mod messages;
mod task;

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

use super::node::Node;
use super::supervise::{Kind, die, spawn_contained};
use super::worker::{Behavior, Ctx, Handles};
use crate::base::time::UnixMillis;
use crate::net::http::Http;
use crate::warc::exchange::Tools;

pub use messages::{Fetch, FetchPurpose, Hung, Report, RobotsAnswer};
pub use task::{ending_of, ending_of_verdict};

/// The actor.
pub struct Fetcher {
    node: Arc<Node>,
    number: usize,
    http: Rc<Http>,
    tools: Rc<RefCell<Tools>>,
    make: Arc<dyn Fn() -> Http + Send + Sync>,
    born: UnixMillis,
}

impl Fetcher {
    /// A fresh one; `make` gives it a pool of connections of its own.
    pub fn new(node: Arc<Node>, number: usize, make: Arc<dyn Fn() -> Http + Send + Sync>) -> Self {
        node.faults.pass("fetcher.new");
        let born = node.clock.now();
        Self {
            http: Rc::new(make()),
            born,
            tools: Rc::new(RefCell::new(node.crawl.rules.archive_tools())),
            node,
            number,
            make,
        }
    }
}

impl Behavior for Fetcher {
    const KIND: Kind = Kind::Fetcher;
    const STARTED: Option<&str> = Some("fetcher.started");

    fn instance(&self) -> String {
        self.number.to_string()
    }

    fn fresh(&self) -> Self {
        Self::new(self.node.clone(), self.number, self.make.clone())
    }
}

impl Handles<Fetch> for Fetcher {
    const POINT: Option<&str> = Some("fetcher.fetch");

    fn handle(&mut self, fetch: Fetch, _: &mut Ctx<Self>) {
        let task = task::run(self.node.clone(), self.http.clone(), self.tools.clone(), fetch);
        spawn_contained(task, |why| log::warn!("fetch panicked, URL requeued: why={why:?}"));
    }
}

impl Handles<Hung> for Fetcher {
    fn handle(&mut self, hung: Hung, _: &mut Ctx<Self>) {
        if hung.begun >= self.born {
            die(hung.why);
        }
    }
}
