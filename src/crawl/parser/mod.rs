//! Parser.
//!
//! Owns: a pool of CPU threads fed by one bounded channel, as long as there are page permits, so that a hand-over never
//! fails. Receives: [`Parse`]. Sends: `Parsed` to the Deduper. Never: touches the disk's database; blocks its arbiter.
//! A panic costs one page, not a thread. After a restart: a new pool; pages in the old channel are still worked off.

pub mod inspect;
mod links;
mod page;
mod sitemap;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use crossbeam_channel::{Receiver, Sender, TrySendError, bounded};

use super::lease::{Lease, Stage};
use super::node::{Node, PagePermit};
use super::supervise::{Kind, panic_text};
use super::worker::{Behavior, Ctx, Handles};
use crate::base::clock::WorkWatch;
use crate::base::time::UnixMillis;
use crate::domain::outcome::Verdict;
use crate::domain::politeness::wait_for_work;
use crate::net::protocol::Fetched;
use crate::storage::values::PageRecord;

pub use page::{Reread, reread};

/// A document to be read. Dropping it gives back lease and permit.
#[expect(missing_docs, reason = "each name says it")]
pub struct Parse {
    pub lease: Lease,
    pub permit: PagePermit,
    pub fetched: Box<Fetched>,
    /// What the outcome table says of it.
    pub verdict: Verdict,
    /// What robots.txt says of the use of its content.
    pub usage: Option<String>,
    /// Its latest capture, when it is fetched once more.
    pub last: Option<Box<PageRecord>>,
    /// When the request was sent.
    pub begun: UnixMillis,
}

/// The actor.
pub struct Parser {
    node: Arc<Node>,
    jobs: Sender<Parse>,
}

impl Parser {
    /// A fresh one, with its threads.
    pub fn new(node: Arc<Node>) -> Self {
        node.faults.pass("parser.new");
        let (jobs, work) = bounded(node.permits.pages_total.max(1));
        for n in 0..node.crawl.rules.settings.parse_threads().max(1) {
            let (node, work) = (node.clone(), work.clone());
            let thread = std::thread::Builder::new().name(format!("parser-{n}")).spawn(move || run(&node, &work));
            if let Err(e) = thread {
                log::error!("a parser thread could not be started: {e}");
            }
        }
        Self { node, jobs }
    }
}

/// One thread: works until the last sender is gone.
fn run(node: &Arc<Node>, work: &Receiver<Parse>) {
    let (pulse, place) = (node.actors.pulses.worker("parser"), node.crawl.strikes.place());
    let mut tools = None;
    for job in work {
        let (core, url) = (job.lease.core().clone(), job.lease.url.clone());
        let in_hand = place.take(&core.url_key);
        let at_work = pulse.work(node.clock.now());
        let (host, bytes, watch) = (core.queue_key.host, job.fetched.wire_bytes, WorkWatch::start());
        core.take(Stage::Parser);
        node.permits.parsing.fetch_add(1, Ordering::Relaxed);
        let parsed = catch_unwind(AssertUnwindSafe(|| {
            let parsed = page::read(node, tools.get_or_insert_with(|| node.crawl.rules.archive_tools()), job);
            node.faults.pass("parser.done");
            parsed
        }));
        node.permits.parsing.fetch_sub(1, Ordering::Relaxed);
        drop((at_work, in_hand));
        node.slots.worked(&host, wait_for_work(watch.elapsed(), bytes));
        match parsed {
            Ok(parsed) => {
                core.let_go(Stage::Parser);
                node.mailboxes().deduper.tell(parsed);
            }
            Err(panic) => {
                log::warn!("parser panicked, URL requeued: url={url} why={:?}", panic_text(&*panic));
                tools = None; // may be half mutated
            }
        }
    }
}

impl Behavior for Parser {
    const KIND: Kind = Kind::Parser;
    const STARTED: Option<&str> = Some("parser.started");

    fn fresh(&self) -> Self {
        Self::new(self.node.clone())
    }
}

impl Handles<Parse> for Parser {
    const POINT: Option<&str> = Some("parser.parse");

    fn handle(&mut self, job: Parse, _: &mut Ctx<Self>) {
        match self.jobs.try_send(job) {
            Ok(()) => {}
            // The channel holds as many as there are page permits, so neither can happen; the lease comes back by Drop.
            Err(TrySendError::Full(_)) => log::error!("the parser's channel is full although permits bound it"),
            Err(TrySendError::Disconnected(_)) => log::error!("the parser has no threads"),
        }
    }
}
