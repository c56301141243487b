//! Fetcher.
//!
//! Owns: the connections of its thread (a host is pinned to one Fetcher, so that its connection is found again).
//! Receives: [`Fetch`]. Sends: a [`Report`] to the Host that waits for it, `Parse` to the Parser, failures to the Deduper.
//! Never: decides whether or when to fetch; looks up names (but a proxy's own); keeps a slot longer than its response. After
//! a restart: no connections; requests under way go on, they are tasks of their own whose panic costs one page. One that
//! hangs is given up, and the Fetcher is replaced, for its connections may be the cause.

mod task;

use std::cell::RefCell;
use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, oneshot};

use super::lease::Lease;
use super::node::{Node, PagePermit};
use super::slot::Slot;
use super::supervise::{Kind, die, spawn_contained};
use super::worker::{Behavior, Ctx, Handles};
use crate::base::time::UnixMillis;
use crate::domain::outcome::FetchOutcome;
use crate::domain::reason::Failure;
use crate::domain::url::PageUrl;
use crate::net::http::Http;
use crate::net::proxy::Proxy;
use crate::storage::values::PageRecord;
use crate::warc::exchange::Tools;
use crate::warc::page::PageRecords;

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

/// What the request is for.
pub enum FetchPurpose {
    /// A page: its document goes to the Parser.
    Page {
        /// The URL's lease.
        lease: Box<Lease>,
        /// What robots.txt says of the use of its content, to be recorded.
        usage: Option<String>,
        /// Its latest capture, when it is fetched once more.
        last: Option<Box<PageRecord>>,
        /// The page's permit, to its commit.
        permit: PagePermit,
    },
    /// robots.txt: its text goes back in the report.
    Robots {
        /// Another host's robots.txt redirects there.
        cross_host: bool,
    },
}

/// One request. Dropping it gives back lease, permit, slot and place on the wire.
#[expect(missing_docs, reason = "each name says it")]
pub struct Fetch {
    pub url: PageUrl,
    /// Where to connect to, in this order: resolved and checked. Empty where a proxy looks the name up.
    pub addresses: Vec<SocketAddr>,
    /// The proxy it goes through, if any.
    pub via: Option<Arc<Proxy>>,
    pub slot: Slot,
    pub on_wire: OwnedSemaphorePermit,
    /// It asks whether anybody speaks https there, for a seed without a scheme: that nobody does is no sign of how the host feels.
    pub guess: bool,
    pub purpose: FetchPurpose,
    pub reply: oneshot::Sender<Report>,
}

/// A request was given up because it hung.
pub struct Hung {
    /// When it began: connections of a later life have nothing to do with it.
    pub begun: UnixMillis,
    /// What hung.
    pub why: String,
}

/// What the Host is told when its slot is free again.
pub struct Report {
    /// What became of the request.
    pub outcome: FetchOutcome,
    /// The answer, when robots.txt was asked for.
    pub robots: Option<RobotsAnswer>,
}

impl Report {
    /// A request that was never sent.
    pub fn fault(failure: Failure) -> Self {
        Self { outcome: FetchOutcome::Fault(failure), robots: None }
    }
}

/// An answer to a request for robots.txt.
pub struct RobotsAnswer {
    /// Its status.
    pub status: u16,
    /// The decoded text, at most 500 KiB of whole lines; none when it did not come whole and so says nothing.
    pub text: Option<Vec<u8>>,
    /// Where it points to.
    pub location: Option<String>,
    /// The exchanges for the WARC, redirects included.
    pub records: Vec<PageRecords>,
}
